//! Drives sessions: the clock, the machine we are on, and the loop that records what happens.

pub mod clock;
mod machine;
mod script;

pub use crate::{
    flow::{Context, State},
    store::{Listing, SessionSummary},
};
pub use clock::Clock;
pub use machine::machine;
pub use script::{Script, ScriptError, run_script};
