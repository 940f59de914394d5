//! Other ways to what a task was to bring, for whoever has seen its own way fail: another recipe of
//! the same task, or another task that does the same.

use super::{Offer, Recipe, RecipeSource, Situation, other_recipes, recipe};
use crate::model::{Plan, PlanTask, Platform, Task, TaskId, environment_name};

/// Another way, as a person is offered it.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The task whose place it takes.
    pub in_place_of: TaskId,
    /// In a few words.
    pub title: String,
    pub way: Way,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// The same task, with other commands.
    Recipe(Box<PlanTask>),
    /// Another task, with all that it needs.
    Task(TaskId),
    /// The same again, once the machine is mended.
    Repair,
}

/// Every other way to what `failed` was to bring: the same task first.
pub fn alternatives(
    failed: &PlanTask,
    plan: &Plan,
    offer: &Offer<'_>,
    platform: &Platform,
) -> Vec<Alternative> {
    let Some(offered) = offer.get(failed.id.as_str()) else { return Vec::new() };
    let task = offered.task;
    let recipes = other_recipes(task, platform, failed.variant.as_deref());
    let mut found: Vec<_> = recipes.into_iter().map(|other| same(failed, task, other)).collect();
    let mut others: Vec<&Task> = offer.tasks().filter(|other| does_the_same(task, other)).collect();
    others.retain(|other| {
        offer.mistake(other.id.as_str()).is_none()
            && plan.tasks.iter().all(|planned| planned.id != other.id)
            && recipe(other, platform, &Situation::default())
                .is_ok_and(|recipe| !recipe.commands.is_empty())
    });
    others.sort_by_key(|other| &other.id);
    found.extend(others.into_iter().map(|other| Alternative {
        in_place_of: failed.id.clone(),
        title: format!("{} in place of {}", other.name, task.name),
        way: Way::Task(other.id.clone()),
    }));
    found
}

/// Tasks that get in each other's way and stand in the same category do the same thing.
fn does_the_same(one: &Task, other: &Task) -> bool {
    one.id != other.id
        && one.category == other.category
        && (one.conflicts_with.contains(&other.id) || other.conflicts_with.contains(&one.id))
}

fn same(failed: &PlanTask, task: &Task, other: Recipe) -> Alternative {
    let name = if task.name.is_empty() { task.id.as_str() } else { &task.name };
    let title = match &other.source {
        RecipeSource::Packages(manager) => format!("{name} from {}", manager.name()),
        RecipeSource::Variant { key, .. } => format!("{name} by its steps for {key}"),
        RecipeSource::Steps | RecipeSource::Nothing => format!("{name} by its own steps"),
    };
    let (variant, packages) = (other.variant(), other.packages(task));
    let mut commands = other.commands;
    // What was chosen for the task counts for each of its ways.
    let first = failed.commands.first().map(|command| &command.env);
    let names = task.options.iter().map(|option| environment_name(&option.id));
    let chosen = names.filter_map(|name| Some((first?.get(&name)?.clone(), name)));
    let chosen: Vec<(String, String)> = chosen.map(|(value, name)| (name, value)).collect();
    for command in &mut commands {
        for (key, value) in &chosen {
            command.env.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    // It is run on its own: what it came after in the plan is not there to stand behind.
    let (after, manual) = (Vec::new(), Vec::new());
    let planned = PlanTask { variant, after, packages, commands, manual, ..failed.clone() };
    let in_place_of = failed.id.clone();
    Alternative { in_place_of, title, way: Way::Recipe(Box::new(planned)) }
}
