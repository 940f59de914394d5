//! The six phases of a walk, in their order.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Extra, Timestamp, named};

named! {
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum Phase {
        SessionCheck = "session_check",
        StackSelection = "stack_selection",
        GatherRequirements = "gather_requirements",
        PresentPlan = "present_plan",
        Execute = "execute",
        Completion = "completion",
    }
}

impl Phase {
    /// The phase after this one; the last has none, and a session stays in it for good.
    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }

    /// 1 for `session_check` … 6 for `completion`.
    pub fn number(self) -> usize {
        self as usize + 1
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
