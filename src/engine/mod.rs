//! Drives sessions: the clock, the machine we are on, and the run that records what happens.

mod attempts;
pub mod clock;
mod data;
mod error;
mod machine;
mod probes;
mod run;
mod script;
mod sessions;
mod signals;
mod tasks;
mod tell;

pub use crate::{
    flow::{Context, State},
    store::{Listing, SessionSummary},
};
pub use clock::Clock;
pub use data::GivenData;
pub use error::{Missing, RunError};
pub use machine::machine;
pub use run::{Interrupted, Surroundings};
pub use script::{Script, ScriptError, run_script};
pub use sessions::{
    Approval, Ended, Failed, PauseAnswer, Wishes, apply, ask_to_pause, newest_unfinished,
    read_plan, resume,
};
pub use tell::{Told, Watcher};
