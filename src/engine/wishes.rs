//! How a run should go: what is approved, what becomes of what failed, and what was given for it.

use std::path::PathBuf;

use super::{
    GivenData,
    run::{Interrupted, Options},
    shell_blocks::ShellChoice,
};
use crate::model::{Agent, ApprovedBy, Digest, ExecutionMode, TaskId};

/// How a plan is approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Whatever it is.
    Unattended,
    /// If this is its digest.
    Digest(String),
}

impl Approval {
    /// Who approves in this way.
    pub(super) fn given_by(&self) -> ApprovedBy {
        match self {
            Self::Unattended => ApprovedBy::Unattended,
            Self::Digest(_) => ApprovedBy::User,
        }
    }
}

/// The fewest digits of a digest that are taken for it.
const FEWEST_DIGITS: usize = 6;

/// Whether what was typed means this digest: all of it, or its beginning.
pub(super) fn matches(typed: &str, digest: &Digest) -> bool {
    typed.len() >= FEWEST_DIGITS && digest.as_str().starts_with(&typed.to_ascii_lowercase())
}

/// What to do about tasks that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    Retry,
    Skip,
    /// They stay as they are, until somebody decides about them.
    Leave,
}

/// How a session is gone on with.
pub(super) struct Resumption {
    pub failed: Failed,
    /// A task that was set up in another way meanwhile.
    pub there: Option<TaskId>,
    /// A task that another one has taken the place of, and why it is passed by.
    pub replaced: Option<(TaskId, String)>,
    /// What was wrong with the machine and has had its repair.
    pub mended: Vec<&'static str>,
    /// Whether it is in progress again already, by the same hand.
    pub is_taken_up: bool,
    /// The task to go on at: those before it are passed by.
    pub from: Option<TaskId>,
}

impl Resumption {
    pub(super) fn of(failed: Failed) -> Self {
        Self {
            failed,
            there: None,
            replaced: None,
            mended: Vec::new(),
            is_taken_up: false,
            from: None,
        }
    }
}

/// How a run should go.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    pub approval: Option<Approval>,
    /// How the plan is to be run, where that is not on record yet.
    pub mode: Option<ExecutionMode>,
    /// Whether repairs of the machine are approved, too.
    pub repair: bool,
    pub keep_going: bool,
    pub interrupted: Option<Interrupted>,
    pub data: GivenData,
    /// The plan to go on with, where the session has none that can be read.
    pub plan: Option<PathBuf>,
    /// The task to go on at, where that is not the first that is not done.
    pub from: Option<TaskId>,
    /// Whether lines may be added to the configuration of shells, if that is decided.
    pub shell_integration: Option<ShellChoice>,
    /// Whether somebody is there who decides what comes up.
    pub attended: bool,
    /// How many tasks may go on at once, where that was said.
    pub jobs: Option<usize>,
}

impl Wishes {
    /// Those of nobody in particular.
    pub(super) fn unattended() -> Self {
        Self {
            approval: Some(Approval::Unattended),
            mode: None,
            repair: false,
            keep_going: false,
            interrupted: None,
            data: GivenData::default(),
            plan: None,
            from: None,
            shell_integration: None,
            attended: false,
            jobs: None,
        }
    }

    pub(super) fn options(&self, agent: Agent) -> Options {
        let Self { mode, keep_going, interrupted, shell_integration, attended, jobs, .. } = *self;
        let mode = mode.unwrap_or(ExecutionMode::AllAtOnce);
        Options {
            agent,
            keep_going,
            interrupted,
            shell_integration,
            attended,
            mode,
            review: mode == ExecutionMode::ReviewEachStep,
            jobs,
            mended: Vec::new(),
        }
    }
}
