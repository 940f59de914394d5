//! What a planned task stands on: the directories that come first in PATH for it, and the shell text
//! that sets up what it needs.

use std::{collections::HashSet, path::PathBuf};

use crate::{
    exec::Environment,
    model::{PlanTask, TaskId},
};

/// The directories that come first in PATH for a task: its own, and those of all it needs.
/// `find` gives the tasks of the plan.
pub(super) fn path_of<'p>(
    task: &'p PlanTask,
    find: impl Fn(&TaskId) -> Option<&'p PlanTask>,
    environment: &Environment,
) -> Vec<PathBuf> {
    let mut path = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![task];
    while let Some(task) = open.pop() {
        if seen.insert(&task.id) {
            path.extend(task.path.iter().map(|place| environment.expand(place)));
            open.extend(task.depends_on.iter().filter_map(&find));
        }
    }
    path
}

/// The shell text that sets up what a task needs: of all it depends on, the deepest first, and its
/// own for its probes.
pub(super) fn setup_of<'p>(
    task: &'p PlanTask,
    find: impl Fn(&TaskId) -> Option<&'p PlanTask>,
    with_own: bool,
) -> String {
    let mut texts: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![(task, false)];
    while let Some((at, is_left)) = open.pop() {
        if is_left {
            let own = at.env_setup.as_deref().filter(|_| with_own || at.id != task.id);
            texts.extend(own.map(str::trim_end));
        } else if seen.insert(&at.id) {
            open.push((at, true));
            open.extend(at.depends_on.iter().filter_map(&find).map(|task| (task, false)));
        }
    }
    texts.join("\n")
}
