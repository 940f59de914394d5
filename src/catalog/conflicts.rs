//! Tasks that conflict, and would always come together.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    cross_lint::{lint_of_task, named, options},
    diagnostic::{Code, Diagnostic},
    layers::{Brought, Catalog, with_dependants},
    lint::Lint,
    node::Node,
    place::KeyPath,
};
use crate::model::{Profile, TaskId};

/// Who conflicts with whom. It is enough that one of the two says so.
pub(super) struct Foes<'a> {
    catalog: &'a Catalog,
    foes: HashMap<&'a TaskId, BTreeSet<&'a TaskId>>,
}

impl<'a> Foes<'a> {
    pub(super) fn of(catalog: &'a Catalog) -> Self {
        let mut foes: HashMap<&TaskId, BTreeSet<&TaskId>> = HashMap::new();
        for (id, task) in &catalog.tasks {
            for foe in task.item.conflicts_with.iter().filter(|foe| *foe != id) {
                foes.entry(id).or_default().insert(foe);
                foes.entry(foe).or_default().insert(id);
            }
        }
        Self { catalog, foes }
    }

    /// Tasks that cannot be together with what they need. Told of the task that brings two foes
    /// together, not of everyone who needs that one.
    pub(super) fn within_tasks(&self, found: &mut Vec<Diagnostic>) {
        let needed_by = self.catalog.needed_by();
        let those_with = |id| with_dependants(&needed_by, [id]);
        let mut pairs: Vec<(&TaskId, &TaskId)> = Vec::new();
        for (one, foes) in &self.foes {
            pairs.extend(foes.iter().filter(|other| one < *other).map(|other| (*one, *other)));
        }
        pairs.sort_unstable();
        let mut told: HashSet<&TaskId> = HashSet::new();
        let Some((first, _)) = pairs.first() else { return };
        let mut with_one = (*first, those_with(*first));
        for (one, other) in pairs {
            if one != with_one.0 {
                with_one = (one, those_with(one));
            }
            let with_other = those_with(other);
            let both: HashSet<_> = with_one.1.intersection(&with_other).copied().collect();
            let mut ids: Vec<_> = both.iter().copied().collect();
            ids.sort_unstable();
            for id in ids {
                let Some(task) = self.catalog.tasks.get(id) else { continue };
                let needed = &task.item.dependencies.required;
                if needed.iter().any(|needed| both.contains(needed)) || !told.insert(id) {
                    continue;
                }
                let all = self.catalog.brought_by([id]);
                let at = KeyPath::root().key("dependencies");
                let (one, other) = (with_bringer(&all, one), with_bringer(&all, other));
                let message = format!("{one} conflicts with {other}, and `{id}` needs both");
                lint_of_task(task, found).at_key(Code::Conflict, &at, message);
            }
        }
    }

    pub(super) fn within_profile(&self, lint: &mut Lint<'_>, profile: &'a Profile) {
        let mut base = self.catalog.brought_by(&profile.required_tasks);
        if let Some((one, other)) = self.conflict(&base, &base) {
            let message = format!("{one} conflicts with {other}, and everyone gets both");
            lint.at_key(Code::Conflict, &KeyPath::root().key("required_tasks"), message);
            // Whatever else there is would be told again with each option.
            return;
        }
        let defaults = self.catalog.brought_by(&profile.default_cli_tools);
        let together = self
            .catalog
            .brought_by(profile.required_tasks.iter().chain(&profile.default_cli_tools));
        match self.conflict(&together, &defaults) {
            Some((one, other)) => {
                let message = format!("{one} conflicts with {other}, and both come by default");
                lint.at_key(Code::Conflict, &KeyPath::root().key("default_cli_tools"), message);
            }
            None => base = together,
        }
        let root = lint.root;
        for (at, node) in options(root) {
            let ids = named(root, &at.key("tasks"));
            let ids =
                ids.iter().filter_map(|(_, id)| Some(self.catalog.tasks.get_key_value(*id)?.0));
            let more = self.catalog.brought_by(ids);
            let mut all = more.clone();
            all.extend(base.iter().map(|(id, by)| (*id, *by)));
            if let Some((one, other)) = self.conflict(&all, &more) {
                let letter = node.get("letter").and_then(Node::text).unwrap_or_default();
                let message =
                    format!("option `{letter}` brings {one} and {other} together, which conflict");
                lint.at(Code::Conflict, &at.key("tasks"), message);
            }
        }
    }

    /// Returns the first of `more`, by name, that has a foe in `all`, and that foe, each with the
    /// task that brings it.
    fn conflict(&self, all: &Brought<'a>, more: &Brought<'a>) -> Option<(String, String)> {
        let foe = |id: &'a TaskId| self.foes.get(id)?.iter().find(|foe| all.contains_key(**foe));
        let (one, other) = more.keys().filter_map(|id| Some((*id, *foe(id)?))).min()?;
        Some((with_bringer(all, one), with_bringer(all, other)))
    }
}

/// `fnm`, or `fnm` (brought by `node-lts`).
fn with_bringer(all: &Brought<'_>, id: &TaskId) -> String {
    match all.get(id).copied().flatten() {
        Some(by) => format!("`{id}` (brought by `{by}`)"),
        None => format!("`{id}`"),
    }
}
