//! Decisions without side effects: what a session means and what comes next.

mod context;

pub use context::{Context, Current, Failed, Live, Progress, State, Timing};
