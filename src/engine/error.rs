//! Why a session was not run, or not run on.

use std::{io, path::PathBuf};

use super::{changed_plan::Change, unready::Unready};
use crate::{
    disk::DiskError,
    flow::{Finding, Problem, gates::NotForced},
    model::{Digest, Illegal, Phase, Plan, SessionId, SessionStatus, TaskId},
    store::StoreError,
};

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot read the plan `{}`", .path.display())]
    PlanFile { path: PathBuf, source: io::Error },
    #[error("`{}` has more than {limit} bytes, the most that a plan may have", .path.display())]
    PlanTooLarge { path: PathBuf, limit: u64 },
    #[error("`{}` is not a plan", .path.display())]
    NotAPlan { path: PathBuf, source: serde_json::Error },
    #[error("the plan `{}` cannot be run", .path.display())]
    BadPlan { path: PathBuf, problems: Vec<Problem> },
    #[error("the plan is not approved")]
    NotApproved { plan: Box<Plan>, digest: Digest, session: Option<SessionId> },
    #[error("the digest of the plan is {found}, not {approved}")]
    OtherDigest { approved: String, found: Digest },
    #[error("the walk does not lead to a plan")]
    Unready(Box<Unready>),
    #[error(
        "the plan of session {id} is not what the catalog says any more, and nothing of it was run"
    )]
    PlanChanged {
        id: SessionId,
        difference: Vec<String>,
        /// The plan as it would be now.
        now: Option<Digest>,
    },
    #[error("the plan that was kept for session {id} is not the one that was shown")]
    PlanEdited { id: SessionId, path: PathBuf, difference: Vec<String> },
    #[error("there is no plan of session {id} to approve: it is in {phase}")]
    NothingToApprove { id: SessionId, phase: Phase },
    #[error("session {id} cannot be forced on")]
    NotForced { id: SessionId, source: NotForced },
    #[error("these need root's rights, and there is no sudo to get them with: {}", .tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", "))]
    NeedsRoot { tasks: Vec<TaskId> },
    #[error("the catalog cannot be read: {0}")]
    Catalog(String),
    #[error("the walk went where it cannot go")]
    Walk(#[from] Illegal),
    #[error("values are missing that the plan's commands need")]
    MissingData { missing: Vec<Missing> },
    #[error("the plan has no user data `{0}`")]
    UnknownDatum(String),
    #[error("the plan has another value for `{0}`, and that is part of what is approved")]
    DatumFixed(String),
    #[error("interrupted before anything was begun")]
    Interrupted,
    #[error("`{0}` is a secret, and a command line is no place for one")]
    SecretInSight(String),
    #[error("the value of `{0}` holds a NUL character, which can be given to no command")]
    NulInDatum(String),
    #[error("session {id} is {}; there is nothing to resume", .status.name())]
    NotResumable { id: SessionId, status: SessionStatus },
    #[error("session {id} is {}, and only one that is complete can be added to", .status.name())]
    NotExpandable { id: SessionId, status: SessionStatus },
    #[error("task `{task}` of session {id} cannot be taken as it is: {why}")]
    NotOverridable { id: SessionId, task: TaskId, why: String },
    #[error("the catalog does not have what is left of session {id}: {}", .tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", "))]
    NotInCatalog { id: SessionId, tasks: Vec<TaskId> },
    #[error("session {id} cannot go on at `{task}`: {why}")]
    NotFromThere { id: SessionId, task: TaskId, why: String },
    #[error("session {id} cannot be revised: {why}")]
    NotRevisable { id: SessionId, why: String },
    #[error("session {id} has changed meanwhile, and nothing of the revision was recorded")]
    ChangedMeanwhile { id: SessionId },
    #[error("there is no session of this machine that could keep what is there now")]
    NothingToAdopt,
    #[error("a session has set something up since the machine was looked at")]
    SetUpMeanwhile,
    #[error("there is no complete session to add to")]
    NothingToExpand,
    #[error("there is no session to resume")]
    NothingToResume,
    #[error("session {id} belongs to another machine ({hostname})")]
    OtherMachine { id: SessionId, hostname: String },
    #[error("session {id} waits for answers in {phase}, and nobody is here to give them")]
    Unanswered { id: SessionId, phase: Phase },
    #[error("session {id} is to be reviewed step by step, and nobody is here to do that")]
    Unreviewed { id: SessionId },
    #[error("session {id} has no plan")]
    NoPlan { id: SessionId },
    #[error("the document of session {id} says what cannot be")]
    NotTrue { id: SessionId, path: PathBuf, findings: Vec<Finding> },
    #[error("session {id} has approved the plan {approved}, and this one is {found}")]
    OtherPlan { id: SessionId, approved: Digest, found: Digest },
    #[error("the plan `{}` has no task `{task}`, which session {id} has executed", .path.display())]
    PlanLacks { id: SessionId, path: PathBuf, task: TaskId },
    #[error("the record could not be written, so nothing more was run")]
    Unrecorded { id: SessionId, source: Box<StoreError> },
    #[error("a command could not be begun: {error}")]
    Unclaimed { id: SessionId, error: String, full: bool },
    #[error("a command could not be begun")]
    Attempt { id: SessionId, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("this machine gives us no runtime")]
    Runtime(#[source] io::Error),
}

/// A value that a plan asks for and nobody gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub key: String,
    pub secret: bool,
    pub prompt: Option<String>,
}

impl RunError {
    /// A plan that changed before its first command. What `--yes` would approve is not what was
    /// read: it does not help.
    pub(super) fn changed(id: &SessionId, change: Change) -> Self {
        let now = change.now.map(|(_, digest, _)| digest);
        Self::PlanChanged { id: id.clone(), difference: change.difference, now }
    }
}

impl From<DiskError> for RunError {
    fn from(error: DiskError) -> Self {
        Self::Store(error.into())
    }
}
