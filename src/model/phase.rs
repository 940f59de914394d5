//! The six phases of a walk, in their order.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Extra, Timestamp};

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    SessionCheck,
    StackSelection,
    GatherRequirements,
    PresentPlan,
    Execute,
    Completion,
}

impl Phase {
    pub const ALL: [Self; 6] = [
        Self::SessionCheck,
        Self::StackSelection,
        Self::GatherRequirements,
        Self::PresentPlan,
        Self::Execute,
        Self::Completion,
    ];

    /// The phase after this one; the last has none, and a session stays in it for good.
    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }

    /// 1 for `session_check` … 6 for `completion`.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::SessionCheck => "session_check",
            Self::StackSelection => "stack_selection",
            Self::GatherRequirements => "gather_requirements",
            Self::PresentPlan => "present_plan",
            Self::Execute => "execute",
            Self::Completion => "completion",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where the walk is, and which phases it has left behind, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseState {
    pub current: Phase,
    #[serde(default)]
    pub history: Vec<PhaseEntry>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseEntry {
    pub phase: Phase,
    pub completed_at: Timestamp,
    #[serde(flatten)]
    pub extra: Extra,
}
