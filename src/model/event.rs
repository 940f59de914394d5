//! Everything that can happen to a session. Events are the state: the journal keeps them, the
//! document is what they amount to, and every face shows them.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Agent, ApprovedBy, AttemptOutcome, BaselineOrigin, Category, DeferReason, Digest, Document,
    ExecutionMode, Expansion, FailureContext, GateRecord, Impact, Machine, Outcome, PauseReason,
    Phase, ProbeKind, ProfileChoice, ResumeAction, SessionId, Severity, Sighting, TaskId,
    Timestamp,
};

/// An event with its place in the record, as it stands on disk.
///
/// Serialized, it is its journal line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// 1 for the first; no gaps.
    pub seq: u64,
    pub timestamp: Timestamp,
    /// The first and the last event that were written together with this one, where there are
    /// several: what was lost of them by a power cut was lost before any was acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<(u64, u64)>,
    #[serde(flatten)]
    pub kind: EventKind,
    /// The `chain` of this event's journal line.
    pub chain: Digest,
    /// Where that line ends in the journal.
    #[serde(skip)]
    pub end: u64,
}

/// What happened. On disk the kind is `event` and its fields stand beside it.
///
/// Unknown kinds and unknown fields are refused: a journal that says more than this program
/// understands must not be replayed as if it said less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum EventKind {
    // The session as a whole.
    SessionCreated(Box<SessionCreated>),
    /// A document that had no journal: it begins one.
    SessionImported {
        format: String,
        document: Box<Document>,
    },
    SessionPaused {
        reason: PauseReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<String>,
    },
    SessionResumed {},
    SessionFailed {
        error: String,
    },
    SessionCompleted {
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
    },
    SessionAbandoned {},
    /// An earlier answer was changed; what follows from it starts again.
    SessionRevised(SessionRevised),
    /// The record was damaged; this is what was made of what was left.
    SessionRecovered {
        level: u8,
        done: String,
        lost: String,
    },
    ErrorRecorded {
        error: String,
    },

    // The walk.
    PhaseCompleted {
        phase: Phase,
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        evidence: Map<String, Value>,
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        outputs: Map<String, Value>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        commands_executed: Vec<String>,
    },
    /// Back to an earlier phase, before anything was executed.
    PhaseReopened {
        phase: Phase,
        reason: String,
    },
    GatesEvaluated {
        phase: Phase,
        gates: Vec<GateRecord>,
    },
    ViolationRecorded {
        phase: Phase,
        requirement: String,
        severity: Severity,
        #[serde(skip_serializing_if = "Option::is_none")]
        recovery: Option<String>,
    },
    StackSelected {
        profile: ProfileChoice,
        question: String,
        answer: String,
    },
    AnswerGiven {
        question_id: String,
        question: String,
        answer: String,
        value: String,
    },
    AnswerWithdrawn {
        question_id: String,
    },
    UserDataGiven {
        key: String,
        value: Value,
    },
    UserDataWithdrawn {
        key: String,
    },
    PlanPresented {
        digest: Digest,
        categories: Vec<Category>,
        tasks: Vec<PlannedTask>,
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        manifest_digests: IndexMap<String, String>,
    },
    PlanApproved {
        digest: Digest,
        approved_by: ApprovedBy,
        execution_mode: ExecutionMode,
    },

    // The work.
    TaskStarted {
        task_id: TaskId,
    },
    TaskCompleted {
        task_id: TaskId,
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        result: Map<String, Value>,
    },
    TaskFailed {
        task_id: TaskId,
        error: String,
        failure_context: FailureContext,
    },
    TaskSkipped {
        task_id: TaskId,
        reason: String,
        /// The task it needs and that is not there.
        #[serde(skip_serializing_if = "Option::is_none")]
        because_of: Option<TaskId>,
    },
    /// The task waits for another try.
    TaskReset {
        task_id: TaskId,
        reason: String,
    },
    TaskReviewed {
        task_id: TaskId,
    },
    CommandStarted(Box<CommandStarted>),
    CommandFinished(Box<CommandFinished>),
    CommandSkipped(CommandSkipped),
    ProbeFinished(Box<ProbeFinished>),
    /// Whether lines may be added to the configuration of shells.
    ShellIntegrationDecided {
        allowed: bool,
        agent: Agent,
    },
    /// The lines of a task are in the configuration of a shell, or could not be put there.
    ShellBlockWritten(Box<ShellBlockWritten>),
    /// What a person decided about an interrupted or failed command, before it is carried out.
    ResumeChosen {
        task_id: TaskId,
        action: ResumeAction,
        context: String,
    },

    /// What is on the machine now.
    BaselineRecorded {
        origin: BaselineOrigin,
        agent: Agent,
        sighting: Sighting,
    },

    // What people decided about verifications.
    OverrideRecorded {
        task_id: TaskId,
        reason: String,
        /// What the verification found that is taken as it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verification: Option<String>,
    },
    VerificationDeferred {
        task_id: TaskId,
        command: String,
        reason: DeferReason,
    },
    VerificationResolved {
        task_id: TaskId,
        command: String,
    },
    /// One that was put off could be told in the end, and is not content.
    VerificationRefuted {
        task_id: TaskId,
        command: String,
        error: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionCreated {
    /// The version of the record's format.
    pub format: String,
    pub session_id: SessionId,
    pub machine: Machine,
    pub agent: Agent,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting_commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expanded_from: Option<ExpandedFrom>,
}

/// The completed session that a new one adds to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpandedFrom {
    pub session_id: SessionId,
    pub tasks_added: Vec<TaskId>,
    /// The steps before this one, oldest first, as that session knows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Expansion>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRevised {
    pub phase_revisited: Phase,
    pub impact: Impact,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub downstream_archived: Vec<String>,
    /// Tasks that are pending again, whatever they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks_reset: Vec<TaskId>,
    /// Those of them that are there as this session made them, and are to be made otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks_to_redo: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks_to_review: Vec<TaskId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedTask {
    pub task_id: TaskId,
    pub commands: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandStarted {
    /// The first of `task_ids`.
    pub task_id: TaskId,
    /// Every task this one execution serves.
    pub task_ids: Vec<TaskId>,
    pub command_index: usize,
    /// 1 for the first try of this command.
    pub attempt: u32,
    /// The approved text.
    pub command: String,
    /// The names of the environment variables it is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    pub agent: Agent,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_choice: Option<String>,
    /// Whether running it twice does no more than running it once.
    #[serde(default)]
    pub idempotent: bool,
    /// The approved plan it belongs to.
    pub digest: Digest,
    /// Marks every process of the attempt, in their environment.
    pub cookie: String,
    pub boot_id: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandFinished {
    /// The `seq` of its `command_started`.
    pub started_seq: u64,
    pub task_id: TaskId,
    pub command: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    pub agent: Agent,
    pub status: CommandVerdict,
    pub outcome: AttemptOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_summary: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// After a failure: may it run again without asking?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeAction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandVerdict {
    Success,
    Failure,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandSkipped {
    pub task_id: TaskId,
    pub command_index: usize,
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_choice: Option<String>,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeFinished {
    pub task_id: TaskId,
    pub kind: ProbeKind,
    pub command: String,
    pub agent: Agent,
    pub status: CommandVerdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_summary: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShellBlockWritten {
    pub task_id: TaskId,
    pub shell: String,
    pub file: String,
    pub status: CommandVerdict,
    /// Whether the file is another one now: the lines may have been there.
    pub changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl CommandFinished {
    /// Whether nobody can know how the attempt ended.
    pub fn is_unknown(&self) -> bool {
        self.outcome == AttemptOutcome::Indeterminate
    }
}

impl EventKind {
    /// The value of `event` in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SessionCreated(_) => "session_created",
            Self::SessionImported { .. } => "session_imported",
            Self::SessionPaused { .. } => "session_paused",
            Self::SessionResumed {} => "session_resumed",
            Self::SessionFailed { .. } => "session_failed",
            Self::SessionCompleted { .. } => "session_completed",
            Self::SessionAbandoned {} => "session_abandoned",
            Self::SessionRevised(_) => "session_revised",
            Self::SessionRecovered { .. } => "session_recovered",
            Self::ErrorRecorded { .. } => "error_recorded",
            Self::PhaseCompleted { .. } => "phase_completed",
            Self::PhaseReopened { .. } => "phase_reopened",
            Self::GatesEvaluated { .. } => "gates_evaluated",
            Self::ViolationRecorded { .. } => "violation_recorded",
            Self::StackSelected { .. } => "stack_selected",
            Self::AnswerGiven { .. } => "answer_given",
            Self::AnswerWithdrawn { .. } => "answer_withdrawn",
            Self::UserDataGiven { .. } => "user_data_given",
            Self::UserDataWithdrawn { .. } => "user_data_withdrawn",
            Self::PlanPresented { .. } => "plan_presented",
            Self::PlanApproved { .. } => "plan_approved",
            Self::TaskStarted { .. } => "task_started",
            Self::TaskCompleted { .. } => "task_completed",
            Self::TaskFailed { .. } => "task_failed",
            Self::TaskSkipped { .. } => "task_skipped",
            Self::TaskReset { .. } => "task_reset",
            Self::TaskReviewed { .. } => "task_reviewed",
            Self::CommandStarted(_) => "command_started",
            Self::CommandFinished(_) => "command_finished",
            Self::CommandSkipped(_) => "command_skipped",
            Self::ProbeFinished(_) => "probe_finished",
            Self::ShellIntegrationDecided { .. } => "shell_integration_decided",
            Self::ShellBlockWritten(_) => "shell_block_written",
            Self::ResumeChosen { .. } => "resume_chosen",
            Self::BaselineRecorded { .. } => "baseline_recorded",
            Self::OverrideRecorded { .. } => "override_recorded",
            Self::VerificationDeferred { .. } => "verification_deferred",
            Self::VerificationResolved { .. } => "verification_resolved",
            Self::VerificationRefuted { .. } => "verification_refuted",
        }
    }

    /// Whether the session's status or phase is different afterwards: the document on disk must
    /// say so at once.
    pub fn turns_the_page(&self) -> bool {
        matches!(
            self,
            Self::SessionCreated(_)
                | Self::SessionImported { .. }
                | Self::SessionPaused { .. }
                | Self::SessionResumed {}
                | Self::SessionFailed { .. }
                | Self::SessionCompleted { .. }
                | Self::SessionAbandoned {}
                | Self::SessionRevised(_)
                | Self::PhaseCompleted { .. }
                | Self::PhaseReopened { .. }
        )
    }
}
