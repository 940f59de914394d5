//! What was on a machine at a moment: what comes or goes without a session is told from it.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Agent, Extra, Found, TaskId, Timestamp};

/// Everything that was looked for, and whether it was there. What stands in neither list was not
/// looked for, or did not answer: nothing is said of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sighting {
    #[serde(default)]
    pub present: IndexMap<TaskId, Found>,
    #[serde(default)]
    pub absent: Vec<TaskId>,
}

/// How a baseline came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaselineOrigin {
    /// A session was complete.
    Completion,
    /// Somebody took the machine as it was: what sessions before it say of versions counts no more.
    Adopted,
}

/// The newest baseline of its origin that a session holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    pub recorded_at: Timestamp,
    pub agent: Agent,
    pub origin: BaselineOrigin,
    pub present: IndexMap<TaskId, Found>,
    pub absent: Vec<TaskId>,
    #[serde(flatten)]
    pub extra: Extra,
}
