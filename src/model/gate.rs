//! Gates between phases and what people decided about them: checkpoints, violations, overrides,
//! deferred verifications and revisions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Extra, Phase, TaskId, Timestamp, named};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateRecord {
    pub gate: String,
    pub level: GateLevel,
    pub status: GateStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Filled in by the event that recorded the evaluation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluated_at: Option<Timestamp>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl GateRecord {
    /// Whether this gate keeps the walk from leaving its phase.
    pub fn blocks(&self) -> bool {
        self.level == GateLevel::Must
            && matches!(self.status, GateStatus::Failed | GateStatus::Pending)
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum GateLevel {
        Must = "MUST",
        Should = "SHOULD",
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum GateStatus {
        Passed = "passed",
        Failed = "failed",
        Pending = "pending",
        /// A person went past it; the reason is among the violations.
        Forced = "forced",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Checkpoint {
    Passed,
    Failed,
    Pending,
}

impl Checkpoint {
    /// What a phase's gates amount to.
    pub fn of(gates: &[GateRecord]) -> Self {
        let failed = |gate: &GateRecord| gate.blocks() && gate.status == GateStatus::Failed;
        if gates.iter().any(failed) {
            Self::Failed
        } else if gates.iter().any(GateRecord::blocks) {
            Self::Pending
        } else {
            Self::Passed
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    pub timestamp: Timestamp,
    pub phase: Phase,
    pub requirement: String,
    pub severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Critical,
    Warning,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserOverride {
    pub task_id: TaskId,
    pub reason: String,
    /// What the verification found that is taken as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<String>,
    pub logged_at: Timestamp,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeferredVerification {
    pub task_id: TaskId,
    pub command: String,
    pub reason: DeferReason,
    pub added_at: Timestamp,
    #[serde(default)]
    pub resolved: bool,
    /// What was wrong when it could be told in the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeferReason {
    Timeout,
    ServiceUnavailable,
    NoResults,
}

impl DeferReason {
    /// What it means, for a person.
    pub fn words(self) -> &'static str {
        match self {
            Self::Timeout => "no answer in time",
            Self::ServiceUnavailable => "a service it needs does not answer",
            Self::NoResults => "it said nothing",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    pub phase_revisited: Phase,
    pub impact: Impact,
    pub reason: String,
    #[serde(default)]
    pub downstream_archived: Vec<String>,
    pub timestamp: Timestamp,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Impact {
    Minor,
    Moderate,
    Major,
}

#[cfg(test)]
mod tests {
    use super::{Checkpoint, Extra, GateLevel, GateRecord, GateStatus};

    fn gate(level: GateLevel, status: GateStatus) -> GateRecord {
        GateRecord {
            gate: "g".into(),
            level,
            status,
            evidence: None,
            evaluated_at: None,
            extra: Extra::new(),
        }
    }

    #[test]
    fn a_checkpoint_is_as_good_as_its_worst_must() {
        use GateLevel::{Must, Should};
        use GateStatus::{Failed, Forced, Passed, Pending};
        let of = |gates: &[(GateLevel, GateStatus)]| {
            Checkpoint::of(&gates.iter().map(|&(l, s)| gate(l, s)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), Checkpoint::Passed);
        assert_eq!(of(&[(Must, Passed), (Should, Failed)]), Checkpoint::Passed);
        assert_eq!(of(&[(Must, Forced)]), Checkpoint::Passed);
        assert_eq!(of(&[(Must, Pending)]), Checkpoint::Pending);
        assert_eq!(of(&[(Must, Pending), (Must, Failed)]), Checkpoint::Failed);
    }
}
