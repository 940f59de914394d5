//! Explicit lifecycle flags and phase timing: set by events, never computed from phase numbers.

use std::time::Duration;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::{Extra, Phase, TaskId, Timestamp};

/// The contract a session started with and completes against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowStructure {
    pub total_phases: usize,
    pub starting_phase: Phase,
    pub workflow_version: String,
    #[serde(default)]
    pub phases: Vec<Phase>,
    #[serde(default)]
    pub task_ids: Vec<TaskId>,
    #[serde(default)]
    pub manifest_digests: IndexMap<String, String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl WorkflowStructure {
    /// The walk this program takes, before any task is planned.
    pub fn current() -> Self {
        Self {
            total_phases: Phase::ALL.len(),
            starting_phase: Phase::SessionCheck,
            workflow_version: super::VERSION.into(),
            phases: Phase::ALL.to_vec(),
            task_ids: Vec::new(),
            manifest_digests: IndexMap::new(),
            extra: Extra::new(),
        }
    }
}

/// Absent moments are written as `null`: a reader sees every flag there is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Lifecycle {
    pub completed: bool,
    pub completed_at: Option<Timestamp>,
    pub paused: bool,
    pub paused_at: Option<Timestamp>,
    pub paused_reason: Option<PauseReason>,
    /// What was being worked on when the session paused.
    pub paused_context: Option<String>,
    pub resumed_at: Option<Timestamp>,
    pub resume_count: u64,
    pub last_error: Option<String>,
    pub last_error_at: Option<Timestamp>,
    pub total_duration_seconds: Option<Seconds>,
    pub abandoned: bool,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseReason {
    UserRequest,
    CheckpointFailed,
    SystemError,
    Inactivity,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseTiming {
    pub started_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<Seconds>,
    /// How much of the duration the session was paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_seconds: Option<Seconds>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseArtifact {
    #[serde(default)]
    pub evidence: Map<String, Value>,
    #[serde(default)]
    pub outputs: Map<String, Value>,
    #[serde(default)]
    pub commands_executed: Vec<String>,
    pub timestamp: Timestamp,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A length of time in seconds, whole or with milliseconds, kept exactly as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seconds(Number);

impl Seconds {
    pub fn from_millis(millis: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "exact for the next 285,000 years")]
        let fraction =
            (!millis.is_multiple_of(1000)).then(|| Number::from_f64(millis as f64 / 1000.0));
        Self(fraction.flatten().unwrap_or_else(|| (millis / 1000).into()))
    }

    pub fn from_duration(duration: Duration) -> Self {
        Self::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    /// Nobody measures that, but anybody can write it.
    pub fn is_negative(&self) -> bool {
        self.0.as_f64().is_some_and(|seconds| seconds < 0.0)
    }

    pub fn millis(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates, and a negative length counts as none"
        )]
        self.0.as_u64().map_or_else(
            || (self.0.as_f64().unwrap_or(0.0) * 1000.0).round() as u64,
            |seconds| seconds.saturating_mul(1000),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Seconds;

    #[test]
    fn seconds_are_whole_where_they_can_be() {
        for (millis, text) in [(0, "0"), (2000, "2"), (1500, "1.5"), (7, "0.007")] {
            let seconds = Seconds::from_millis(millis);
            assert_eq!(serde_json::to_string(&seconds).unwrap(), text);
            assert_eq!(seconds.millis(), millis);
        }
    }

    #[test]
    fn seconds_keep_the_form_they_were_read_in() {
        let seconds: Seconds = serde_json::from_str("1800.0").unwrap();
        assert_eq!(serde_json::to_string(&seconds).unwrap(), "1800.0");
        assert_eq!(seconds.millis(), 1_800_000);
    }
}
