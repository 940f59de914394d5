//! Running commands: the only room that starts processes.
//!
//! Each attempt of a planned command has a supervisor of its own, a process that outlives the one
//! that started it. What it promises, and how, is written in `docs/durability.md`. Probes change
//! nothing and are run without one.

mod askpass;
mod attempt;
mod check;
mod claim;
mod environment;
mod finish;
mod helpers;
mod launch;
mod output;
mod probe;
mod redact;
mod spec;
mod sudo;
mod sudo_shim;
mod sudo_words;
mod supervisor;
mod tree;

pub use askpass::PasswordRequest;
pub use attempt::{Attempt, Standing};
pub use check::Answer;
pub use claim::{Claim, Order};
pub use environment::{COOKIE, Environment, with_setup};
pub use finish::Finish;
pub use helpers::act_as_helper;
pub use launch::{Launcher, Supervisor, Word, WordReader};
pub use output::{Ends, Piece, read_all, read_ends, read_next};
pub use probe::{PROBE_LIMIT, Probe, ProbeEnd, probe};
pub use redact::{SHORTEST_SECRET, redact};
pub use spec::Spec;
pub use sudo::{Rights, SudoDesk, finish_check, sudo_wants_password};
