//! Drives sessions: the clock, the machine we are on, and the run that records what happens.

mod attempts;
pub mod clock;
mod commands;
mod data;
mod ending;
mod error;
mod machine;
mod pause;
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
pub use ending::Ended;
pub use error::{Missing, RunError};
pub use machine::machine;
pub use pause::{PauseAnswer, ask_to_pause};
pub use run::{Interrupted, Surroundings};
pub use script::{Script, ScriptError, run_script};
pub use sessions::{Approval, Failed, Wishes, apply, newest_unfinished, resume};
pub use tell::{Told, Watcher};
