//! Tasks that should not be there together: found, and decided by a person.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::{
    Requirements,
    selection::{Chosen, Ground},
};
use crate::model::TaskId;

/// Two tasks that should not be there together, as a decision to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub id: String,
    pub one: TaskId,
    pub other: TaskId,
    /// The other is not asked for, but there already.
    pub is_there: bool,
}

/// What conflicts are decided for.
pub const BOTH: &str = "both";
pub const LEAVE_OUT: &str = "leave_out";

impl Conflict {
    /// The one that was decided against.
    pub(super) fn loser(&self, wanted: &Requirements<'_>) -> Option<&TaskId> {
        match wanted.decision(&self.id)? {
            value if value == self.one.as_str() => Some(&self.other).filter(|_| !self.is_there),
            value if value == self.other.as_str() || value == LEAVE_OUT => Some(&self.one),
            _ => None,
        }
    }

    /// Whether a person has decided it.
    pub fn is_decided(&self, wanted: &Requirements<'_>) -> bool {
        let valid = [BOTH, LEAVE_OUT, self.one.as_str(), self.other.as_str()];
        wanted.decision(&self.id).is_some_and(|value| valid.contains(&value))
    }
}

/// Every pair of tasks that are, or would be, in each other's way.
pub(super) fn conflicts(tasks: &IndexMap<TaskId, Chosen<'_>>, ground: Ground<'_>) -> Vec<Conflict> {
    let mut pairs: Vec<(&TaskId, &TaskId)> = Vec::new();
    for (id, chosen) in tasks {
        pairs.extend(chosen.offered.task.conflicts_with.iter().map(|other| (id, other)));
    }
    // One that is there may be the only one to say so.
    for task in ground.offer.tasks() {
        if !tasks.contains_key(&task.id) && ground.facts.is_there(&task.id) {
            let known = task.conflicts_with.iter().filter_map(|id| tasks.get_key_value(id));
            pairs.extend(known.map(|(id, _)| (id, &task.id)));
        }
    }
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (id, other) in pairs {
        let is_selected = tasks.contains_key(other);
        let is_there = ground.facts.is_there(other);
        if id == other || !is_selected && !is_there || is_there && ground.facts.is_there(id) {
            continue;
        }
        // A pair has one name, whoever says it.
        let (one, other) = if is_selected { (id.min(other), id.max(other)) } else { (id, other) };
        let is_there = !is_selected;
        if seen.insert((one, other)) {
            found.push(Conflict {
                id: format!("conflict:{one}:{other}"),
                one: one.clone(),
                other: other.clone(),
                is_there,
            });
        }
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}
