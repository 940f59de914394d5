//! The session document: what a session file holds, key by key.
//!
//! Required sections come first and in the order of the published schema; the optional ones
//! appear once there is something to say. Keys nobody here knows are kept in `extra`.

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Agent, Baseline, Checkpoint, DeferredVerification, Digest, GateRecord, Lifecycle, Phase,
    PhaseArtifact, PhaseState, PhaseTiming, PlanRecord, ResumePoint, Revision, SessionId, TaskId,
    TaskRecord, Timestamp, UserOverride, Violation, WorkflowStructure, named,
};

/// The version of the document format this program writes.
pub const VERSION: &str = "1.1.0";

/// How the objective of a session begins that only mends the machine for others.
pub const REPAIR: &str = "repair ";
/// What a session is for that asks a person before it has a plan.
pub const WALK: &str = "a walk with a person";

/// Fields of a document that this program does not know; they are written back as they came.
pub type Extra = Map<String, Value>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Session document")]
pub struct Document {
    pub meta: Meta,
    pub phase: PhaseState,
    #[serde(default)]
    pub profile: ProfileChoice,
    #[serde(default)]
    pub choices: IndexMap<String, Choice>,
    #[serde(default)]
    pub user_data: Map<String, Value>,
    /// In plan order. Shared, so that a copy of a long session costs little.
    #[serde(default)]
    pub tasks: IndexMap<TaskId, Arc<TaskRecord>>,
    #[serde(default)]
    pub plan: PlanRecord,
    /// The first of `resume_points`.
    #[serde(default)]
    pub resume_point: Option<ResumePoint>,
    #[serde(default)]
    pub expansion_history: Vec<Expansion>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_structure: Option<WorkflowStructure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub phase_timing: IndexMap<Phase, PhaseTiming>,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub phase_artifacts: IndexMap<Phase, PhaseArtifact>,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub checkpoints: IndexMap<Phase, Checkpoint>,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub gates: IndexMap<Phase, Vec<GateRecord>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_overrides: Vec<UserOverride>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred_verifications: Vec<DeferredVerification>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revision_history: Vec<Revision>,
    /// How often the record had to be made again from what was left of it, and what that cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recoveries: Vec<Recovery>,
    /// What was on the machine when the session was complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// What was on the machine when somebody took it as it was, whatever had been said of it before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopted: Option<Baseline>,
    /// Whether lines may be added to the configuration of shells, once somebody has decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell_integration: Option<ShellDecision>,
    /// Every unsettled task that has been touched, in plan order, and the first unsettled one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resume_points: Vec<ResumePoint>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meta {
    pub id: SessionId,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub status: SessionStatus,
    /// Documents older than this field are of the first format.
    #[serde(default = "first_version")]
    pub version: String,
    pub machine: Machine,
    /// The version of the format it had before a journal was begun for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<String>,
    /// The sequence number of the last journal line this document has taken in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The `chain` of that line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<Digest>,
    /// Where that line ends in the journal: a load reads on from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting_commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(flatten)]
    pub extra: Extra,
}

fn first_version() -> String {
    "1.0.0".into()
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum SessionStatus {
        InProgress = "in_progress",
        Completed = "completed",
        Failed = "failed",
        Paused = "paused",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    pub hostname: String,
    pub os_version: String,
    pub arch: Arch,
    #[serde(default)]
    pub chip: String,
    /// A hash of the machine's own identifier: tells machines apart without naming them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `arm64`, `x86_64`, or whatever else the machine calls itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Arch {
    #[serde(rename = "arm64")]
    Arm64,
    #[serde(rename = "x86_64")]
    X86_64,
    #[serde(untagged)]
    Other(String),
}

impl Arch {
    /// From the names compilers and kernels use.
    pub fn from_name(name: &str) -> Self {
        match name {
            "arm64" | "aarch64" => Self::Arm64,
            "x86_64" | "amd64" => Self::X86_64,
            other => Self::Other(other.into()),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Arm64 => "arm64",
            Self::X86_64 => "x86_64",
            Self::Other(name) => name,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_session_notes: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_decisions: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileChoice {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_tasks: Option<Vec<TaskId>>,
    /// The folders whose catalogs were added, the strongest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub catalogs: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    pub question: String,
    pub answer: String,
    pub value: String,
    pub timestamp: Timestamp,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A damaged record that was made again from what was left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    pub timestamp: Timestamp,
    pub level: u8,
    pub done: String,
    pub lost: String,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expansion {
    pub session_id: SessionId,
    pub expanded_at: Timestamp,
    pub tasks_added: Vec<TaskId>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// What was decided about the configuration of shells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShellDecision {
    pub allowed: bool,
    pub decided_by: Agent,
    pub decided_at: Timestamp,
    #[serde(flatten)]
    pub extra: Extra,
}
