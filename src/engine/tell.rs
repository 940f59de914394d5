//! What a run tells whoever watches: plain data, in the order in which it became true.

use crate::model::{Event, Plan, TaskId};

#[derive(Debug)]
pub enum Told<'a> {
    /// Durable before it is told.
    Event(&'a Event),
    /// How many of the session's tasks are settled as the run begins.
    Begins { settled: usize, total: usize },
    /// A command is there again that an earlier run began.
    TakenUp { task_id: &'a TaskId, command: &'a str },
    /// What a command wrote, without secrets. `skipped` bytes before it were not kept.
    Output { task_id: &'a TaskId, skipped: u64, bytes: &'a [u8] },
    /// The plan that was shown.
    Plan(&'a Plan),
    /// Something to know.
    Note(&'a str),
}

/// Whoever watches a run.
pub type Watcher<'a> = dyn FnMut(Told<'_>) + 'a;
