//! What a person decides while a run goes on: what they are asked, as plain data, and what they can
//! say. Asking is done beside the run, and never in its way.

use crate::model::{Plan, SessionId, TaskId};

/// What is to be decided.
#[derive(Clone, Debug)]
pub enum Matter {
    /// Whether a command is to run, for whoever wants to see each before it does.
    Step(NextStep),
    /// What is to become of a task that failed.
    Failure(FailedTask),
    /// What is to become of a command that nobody knows the end of.
    Unknown { task_id: TaskId, what: String },
    /// Whether a person has done by hand what only they can do.
    ByHand { task_id: TaskId, name: String, steps: Vec<String> },
    /// Whether this plan is to run in place of what failed.
    Alternative { title: String, plan: Box<Plan> },
}

/// A command that is about to run.
#[derive(Clone, Debug)]
pub struct NextStep {
    pub task_id: TaskId,
    pub name: String,
    /// Which command of the task it is, 1 for the first.
    pub number: usize,
    pub of: usize,
    pub command: String,
    pub description: Option<String>,
    pub as_root: bool,
}

/// A task that failed, and what is known of why.
#[derive(Clone, Debug)]
pub struct FailedTask {
    pub session_id: SessionId,
    pub task_id: TaskId,
    pub name: String,
    pub command: Option<String>,
    pub class: String,
    /// The end of what its last command wrote, without secrets.
    pub output: Vec<u8>,
    /// How many bytes came before that.
    pub left_out: u64,
    /// Other ways to the same end, in a few words each.
    pub alternatives: Vec<String>,
    /// What cannot be set up without it.
    pub dependants: Vec<TaskId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Do it; or: it is done.
    Go,
    /// Do it, and all that follows without asking.
    GoOnAlone,
    /// Try it again.
    Again,
    /// Take that one of the other ways.
    Instead(usize),
    PassBy,
    /// Take it as it is, for this reason, though its verification is not content.
    TakeAsItIs(String),
    Pause,
    /// They would rather not decide: why.
    Left(&'static str),
}
