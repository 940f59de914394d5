//! What can be planned: the tasks of a catalog, and what was found of them on this machine.

use std::collections::{HashMap, HashSet};

use crate::model::{Found, OptionKind, Task, TaskId};

/// A task that can be planned, and where it came from.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'a> {
    pub task: &'a Task,
    pub layer: &'a str,
}

/// Every task that can be planned, and why some cannot.
#[derive(Clone, Debug, Default)]
pub struct Offer<'a> {
    tasks: HashMap<&'a str, Offered<'a>>,
    /// What is wrong with a task, other than what planning finds by itself.
    mistakes: HashMap<&'a str, String>,
    /// The names of secrets: what is one for any task is one for all, for all share its name.
    secrets: HashSet<&'a str>,
}

impl<'a> Offer<'a> {
    pub fn new(tasks: impl IntoIterator<Item = Offered<'a>>) -> Self {
        let tasks: HashMap<_, _> =
            tasks.into_iter().map(|offered| (offered.task.id.as_str(), offered)).collect();
        let options = tasks.values().flat_map(|offered: &Offered<'a>| &offered.task.options);
        let secrets = options.filter(|option| option.kind == OptionKind::Secret);
        let secrets = secrets.map(|option| option.id.as_str()).collect();
        Self { tasks, mistakes: HashMap::new(), secrets }
    }

    /// Says what is wrong with a task: it is not planned.
    pub fn withhold(&mut self, id: &'a str, mistake: &str) {
        let told = self.mistakes.entry(id).or_default();
        if !told.is_empty() {
            told.push_str("; ");
        }
        told.push_str(mistake);
    }

    /// Whether what has this name must never be written down.
    pub fn is_secret(&self, name: &str) -> bool {
        self.secrets.contains(name)
    }

    pub fn get(&self, id: &str) -> Option<Offered<'a>> {
        self.tasks.get(id).copied()
    }

    pub fn mistake(&self, id: &str) -> Option<&str> {
        self.mistakes.get(id).map(String::as_str)
    }

    /// In the order of the alphabet.
    pub fn ids(&self) -> Vec<&'a str> {
        let mut ids: Vec<_> = self.tasks.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    pub fn tasks(&self) -> impl Iterator<Item = &'a Task> {
        self.tasks.values().map(|offered| offered.task)
    }
}

/// What detection found. A task that nobody looked for is not there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Presence {
    found: HashMap<TaskId, Found>,
    /// Looked for in vain, because nobody answered: the task, and what is known of why.
    pub unanswered: Vec<(TaskId, String)>,
    /// There, and asked for their version in vain: the task, and what is known of why.
    pub unversioned: Vec<(TaskId, String)>,
}

impl Presence {
    pub fn add(&mut self, id: TaskId, found: Found) {
        self.found.insert(id, found);
    }

    pub fn found(&self, id: &TaskId) -> Option<&Found> {
        self.found.get(id)
    }

    pub fn is_there(&self, id: &TaskId) -> bool {
        self.found.contains_key(id)
    }

    /// What somebody else has found as well.
    pub fn absorb(&mut self, other: Self) {
        self.found.extend(other.found);
        self.unanswered.extend(other.unanswered);
        self.unversioned.extend(other.unversioned);
    }

    /// By id.
    pub fn all(&self) -> Vec<(&TaskId, &Found)> {
        let mut all: Vec<_> = self.found.iter().collect();
        all.sort_by_key(|(id, _)| *id);
        all
    }
}
