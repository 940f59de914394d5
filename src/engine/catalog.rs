//! What a catalog means on this machine.

use std::collections::HashSet;

use super::{Layers, RunError, Surroundings, platform::seems_installed};
use crate::{
    catalog::{Catalog, Listed},
    exec::Environment,
    flow::{self, NoRecipe, Recipe, RecipeSource, Situation},
    model::{PackageManager, Platform, Task, TaskId},
};

/// A task as it would be installed here.
#[derive(Debug)]
pub struct TaskView<'a> {
    pub listed: &'a Listed<Task>,
    pub recipe: Result<Recipe, NoRecipe>,
    /// The task that brings the package manager it is installed with, if it is not there yet.
    pub provider: Option<&'static str>,
    /// Whether it is there, as far as that can be told without running anything.
    pub seems_installed: Option<bool>,
    /// Tasks that name it as a dependency.
    pub needed_by: Vec<&'a TaskId>,
}

pub fn view<'a>(
    catalog: &'a Catalog,
    listed: &'a Listed<Task>,
    platform: &Platform,
    environment: &Environment,
) -> TaskView<'a> {
    let task = &listed.item;
    let is_there = |id: &&TaskId| {
        let listed = catalog.task(id.as_str());
        listed.is_some_and(|listed| seems_installed(&listed.item, environment) == Some(true))
    };
    // Nobody has chosen yet: what would be chosen by default.
    let chosen = task.options.iter().filter_map(|option| option.default.as_deref()).collect();
    let present: HashSet<_> = task.dependencies.one_of.iter().filter(is_there).collect();
    let recipe = flow::recipe(task, platform, &Situation { chosen, present });
    let manager = match &recipe {
        Ok(Recipe { source: RecipeSource::Packages(manager), .. }) => Some(*manager),
        _ => None,
    };
    let missing = manager.filter(|manager| !platform.managers.contains(manager));
    let needs =
        |other: &Listed<Task>| other.item.dependencies.all().any(|(_, _, id)| *id == task.id);
    TaskView {
        listed,
        provider: missing.and_then(PackageManager::provider),
        seems_installed: seems_installed(task, environment)
            .filter(|is_there| *is_there || !is_set_up_by_shell(catalog, task)),
        needed_by: catalog
            .tasks()
            .filter(|other| needs(other))
            .map(|other| &other.item.id)
            .collect(),
        recipe,
    }
}

/// Whether the check of a task sees more than we do: something is set up for it first.
fn is_set_up_by_shell(catalog: &Catalog, task: &Task) -> bool {
    let sets_up = |(_, _, id): (_, _, &TaskId)| {
        catalog.task(id.as_str()).is_some_and(|other| other.item.env_setup.is_some())
    };
    task.env_setup.is_some() || task.dependencies.all().any(sets_up)
}

/// Whether a machine like this can have a task, given what it builds on.
pub fn can_be_had(task: &Task, platform: &Platform) -> bool {
    let chosen = task.options.iter().filter_map(|option| option.default.as_deref()).collect();
    let present = task.dependencies.one_of.iter().collect();
    flow::recipe(task, platform, &Situation { chosen, present }).is_ok()
}

/// The catalog in these layers.
pub fn load_catalog(around: &Surroundings, layers: &Layers) -> Result<Catalog, RunError> {
    layers.load(around.store.fs()).map_err(|error| RunError::Catalog(error.to_string()))
}
