//! What a catalog offers: nothing that has a mistake, and nothing that needs what has one.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    diagnostic::{Code, Diagnostic, Source},
    layers::{Catalog, with_dependants},
    place::{KeyPath, Step},
};
use crate::model::TaskId;

impl Catalog {
    /// What is wrong with the task of this id, and with the circle it stands in.
    pub fn mistakes_of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Diagnostic> {
        let has = |cycle: &[TaskId], id: &str| cycle.iter().any(|task| task.as_str() == id);
        let in_circle =
            move |other: &str| self.cycles.iter().any(|cycle| has(cycle, id) && has(cycle, other));
        let is_about = move |found: &&Diagnostic| {
            task_of(&found.key).is_some_and(|task| {
                task == id || found.code == Code::DependencyCycle && in_circle(task)
            })
        };
        self.diagnostics.iter().filter(|found| found.is_error()).filter(is_about)
    }

    /// What is wrong with the profile of this id.
    pub fn mistakes_of_profile<'a>(&'a self, id: &str) -> impl Iterator<Item = &'a Diagnostic> {
        let source = self.profiles.get(id).map(|profile| Arc::clone(&profile.source));
        let is_its = move |found: &&Diagnostic| {
            source.as_ref().is_some_and(|source| Arc::ptr_eq(source, &found.source))
        };
        self.diagnostics.iter().filter(|found| found.is_error()).filter(is_its)
    }

    /// Every error that is about a task, with its id.
    pub fn mistakes_of_tasks(&self) -> impl Iterator<Item = (&str, &Diagnostic)> {
        let errors = self.diagnostics.iter().filter(|found| found.is_error());
        errors.filter_map(|found| Some((task_of(&found.key)?, found)))
    }

    /// What is wrong with a profile, or with any task it can bring.
    pub fn mistakes_behind_profile(&self, id: &str) -> Vec<&Diagnostic> {
        let mut found: Vec<_> = self.mistakes_of_profile(id).collect();
        let Some(profile) = self.profiles.get(id).map(|listed| &listed.item) else { return found };
        let brought = self.brought_by(profile.tasks());
        let brought: HashSet<&str> = brought.into_keys().map(TaskId::as_str).collect();
        let is_brought = |(id, _): &(&str, &Diagnostic)| brought.contains(*id);
        let of_tasks = self.mistakes_of_tasks().filter(is_brought).map(|(_, mistake)| mistake);
        found.extend(of_tasks);
        found
    }

    /// Takes what has a mistake out of what is offered, with everything that needs it.
    pub(super) fn withhold_the_unsound(&mut self) {
        for found in self.diagnostics.iter().filter(|found| found.is_error()) {
            if let Some(id) = task_of(&found.key) {
                let task = self.tasks.get_mut(id);
                if let Some(task) = task.filter(|task| Arc::ptr_eq(&task.source, &found.source)) {
                    task.is_sound = false;
                }
                continue;
            }
            for profile in self.profiles.values_mut() {
                profile.is_sound &= !Arc::ptr_eq(&profile.source, &found.source);
            }
        }
        // Of two with one id, and of those that wait for each other, nobody knows which is meant.
        let second = self.second_tasks.iter().map(|task| &task.item.id);
        for id in second.chain(self.cycles.iter().flatten()) {
            if let Some(task) = self.tasks.get_mut(id) {
                task.is_sound = false;
            }
        }
        for profile in &self.second_profiles {
            if let Some(profile) = self.profiles.get_mut(profile.item.id()) {
                profile.is_sound = false;
            }
        }
        self.withhold_what_needs_the_unsound();
    }

    /// Puts mistakes in the order of layers, files and lines.
    pub(super) fn sort_mistakes(&mut self) {
        let numbers: HashMap<*const Source, usize> = self
            .files
            .iter()
            .enumerate()
            .map(|(number, file)| (Arc::as_ptr(file), number))
            .collect();
        let order =
            |source: &Arc<Source>| (source.layer, numbers.get(&Arc::as_ptr(source)).copied());
        // Where they are: there may be very many, and no room for a second list of them.
        let place =
            |found: &Diagnostic| (order(&found.source), found.place.line, found.place.column);
        self.diagnostics.sort_by_cached_key(place);
    }

    fn withhold_what_needs_the_unsound(&mut self) {
        let needed_by = self.needed_by();
        let is_sound = |id: &TaskId| self.tasks.get(id).is_some_and(|task| task.is_sound);
        let unsound = self.tasks.keys().chain(needed_by.keys().copied());
        let withheld = with_dependants(&needed_by, unsound.filter(|id| !is_sound(id)));
        let withheld: HashSet<TaskId> = withheld.into_iter().cloned().collect();
        for (id, task) in &mut self.tasks {
            task.is_sound &= !withheld.contains(id);
        }
        for profile in self.profiles.values_mut() {
            profile.is_sound &= !profile.item.tasks().any(|id| withheld.contains(id));
        }
    }

    /// A task that a task or a profile needs, and that something is wrong with.
    pub fn unsound_need_of<'a>(&'a self, id: &str) -> Option<&'a TaskId> {
        let task = self.tasks.get(id).into_iter();
        let required = task.flat_map(|task| &task.item.dependencies.required);
        let profile = self.profiles.get(id).into_iter();
        let named = profile.flat_map(|profile| profile.item.tasks());
        let mut brought: Vec<_> = self.brought_by(required.chain(named)).into_keys().collect();
        brought.sort_unstable();
        brought.into_iter().find(|id| self.mistakes_of(id.as_str()).next().is_some())
    }
}

/// The task that a mistake is about.
fn task_of(key: &KeyPath) -> Option<&str> {
    match key.steps() {
        [Step::Key(tasks), Step::Key(id), ..] if tasks == "tasks" => Some(id),
        _ => None,
    }
}
