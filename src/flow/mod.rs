//! Decisions without side effects: what a session means and what comes next.

mod context;
mod plan_check;
mod walk;
mod work;

pub use context::{Context, Current, Failed, Live, Progress, State, Timing};
pub use plan_check::{Problem, plan_problems};
pub use walk::{completed, passed, walk_to_execution};
pub use work::{
    count, has_begun, is_indeterminate, judge, last_line, missing_dependency, version_in,
    waiting_for,
};
