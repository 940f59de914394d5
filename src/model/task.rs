//! One task of a session: where it stands and what was executed for it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CommandVerdict, Extra, TaskId, Timestamp, named};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRecord {
    pub task_id: TaskId,
    pub status: TaskStatus,
    #[serde(default)]
    pub skipped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_reason: Option<String>,
    /// The task it needs and that is not there: once that one is, this one can still be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_because_of: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Timestamp>,
    /// How many commands the plan has for this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_commands: Option<usize>,
    /// One element for each executed planned command, in plan order, with the task's probes
    /// around them: detection before, verification and version after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<CommandRecord>>,
    /// Attempts that started and whose end is not recorded yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<InFlight>,
    /// Its lines in the configuration of shells, a file each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shell_blocks: Vec<ShellBlockRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_context: Option<FailureContext>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_review: bool,
    /// Whether it is to be done though it is there: this session made it, and otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_redo: bool,
    #[serde(flatten)]
    pub extra: Extra,
}

impl TaskRecord {
    /// Whether it was found done: nothing had to be run for it.
    pub fn was_there(&self) -> bool {
        self.result.as_ref().is_some_and(|result| result.contains_key("already_installed"))
    }

    /// What its result says under a key: `version`, `path`.
    pub fn result_text(&self, key: &str) -> Option<&str> {
        self.result.as_ref()?.get(key)?.as_str()
    }

    /// Whether the last failure of the task was its verification.
    pub fn has_failed_verification(&self) -> bool {
        let context = self.failure_context.as_ref();
        context.is_some_and(|context| context.error_type == "verification_failed")
    }

    pub fn pending(task_id: TaskId, planned_commands: Option<usize>) -> Self {
        Self {
            task_id,
            status: TaskStatus::Pending,
            skipped: false,
            skipped_reason: None,
            skipped_because_of: None,
            started_at: None,
            completed_at: None,
            failed_at: None,
            planned_commands,
            commands: None,
            in_flight: Vec::new(),
            shell_blocks: Vec::new(),
            result: None,
            failure_context: None,
            needs_review: false,
            to_redo: false,
            extra: Extra::new(),
        }
    }

    pub fn commands(&self) -> &[CommandRecord] {
        self.commands.as_deref().unwrap_or_default()
    }

    /// The record of the planned command at `index`, once it was executed or skipped.
    pub fn command(&self, index: usize) -> Option<&CommandRecord> {
        let commands = self.commands();
        let at = commands.binary_search_by_key(&(1, index), CommandRecord::place).ok()?;
        commands.get(at).filter(|command| command.command_index == Some(index))
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum TaskStatus {
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
        Failed = "failed",
        Skipped = "skipped",
    }
}

impl TaskStatus {
    /// Whether nothing is left to do for the task.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped)
    }

    /// Whether the task has begun and something is left to do for it.
    pub fn is_under_way(self) -> bool {
        matches!(self, Self::InProgress | Self::Failed)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRecord {
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub status: CommandStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_choice: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u32>,
    pub executed_at: Timestamp,
    /// Which of the plan's commands for this task; a probe has a `kind` instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ProbeKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Whether the result was adopted after the runner that started the command had died.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
    /// The attempt's directory below the session's record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<AttemptOutcome>,
    /// Every task this one execution served, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task_ids: Vec<TaskId>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl CommandRecord {
    /// How long it took, as far as that counts for one of the tasks it served: each has the same
    /// share in it. `None` where nobody knows.
    pub fn share(&self) -> Option<Duration> {
        let served = u32::try_from(self.task_ids.len()).unwrap_or(u32::MAX).max(1);
        self.duration_ms.map(|millis| Duration::from_millis(millis) / served)
    }

    /// Detection first, then the plan's commands in order, then verification and version.
    pub(super) fn place(&self) -> (u8, usize) {
        match (self.kind, self.command_index) {
            (Some(ProbeKind::Detection), _) => (0, 0),
            (None, index) => (1, index.unwrap_or(0)),
            (Some(ProbeKind::Verification), _) => (2, 0),
            (Some(ProbeKind::Version), _) => (3, 0),
            (Some(ProbeKind::Environment), _) => (4, 0),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandStatus {
    Success,
    Failed,
    Skipped,
}

impl From<CommandVerdict> for CommandStatus {
    fn from(verdict: CommandVerdict) -> Self {
        match verdict {
            CommandVerdict::Success => Self::Success,
            CommandVerdict::Failure => Self::Failed,
        }
    }
}

/// How an attempt came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    Exited,
    Signaled,
    TimedOut,
    /// It could not be started: nothing of it ran.
    NotStarted,
    /// It started, and nobody can know how it ended.
    Indeterminate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    Detection,
    Version,
    Verification,
    /// What a task sets up for those that need it.
    Environment,
}

/// An attempt under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InFlight {
    /// The sequence number of its `command_started`: the attempt's name on disk.
    pub seq: u64,
    /// Every task this one execution serves.
    pub task_ids: Vec<TaskId>,
    pub attempt: u32,
    pub command_index: usize,
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_choice: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    pub started_at: Timestamp,
    pub cookie: String,
    pub boot_id: String,
    #[serde(flatten)]
    pub extra: Extra,
}

/// The lines of a task in one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShellBlockRecord {
    pub shell: String,
    pub file: String,
    pub status: CommandStatus,
    /// Whether this session changed the file.
    pub changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub written_at: Timestamp,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureContext {
    pub error_type: String,
    pub suggested_resolution: String,
    #[serde(flatten)]
    pub extra: Extra,
}
