//! The catalog: lists of tasks, and one of them in full.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{comma_list, plural, visible};
use crate::{
    engine::{Catalog, ChosenBy, Listed, Recipe, RecipeSource, TaskView},
    model::{Platform, Profile, Task},
};

/// Tasks by category, then the profiles.
pub fn catalog_text(
    tasks: &[&Listed<Task>],
    profiles: &[&Listed<Profile>],
    platform: &Platform,
) -> String {
    let mut text = String::new();
    let mut categories: Vec<&str> = tasks.iter().map(|task| task.item.category.as_str()).collect();
    categories.sort_unstable();
    categories.dedup();
    let width = tasks.iter().map(|task| task.item.id.as_str().chars().count()).max().unwrap_or(0);
    for category in categories {
        let _ = writeln!(text, "{}", visible(category));
        let of_it = tasks.iter().filter(|task| task.item.category == category);
        for task in of_it {
            let _ = writeln!(text, "  {}", task_line(task, width, platform));
        }
        text.push('\n');
    }
    if !profiles.is_empty() {
        text.push_str("profiles\n");
        let width = profiles.iter().map(|p| p.item.id().chars().count()).max().unwrap_or(0);
        for profile in profiles {
            let metadata = &profile.item.metadata;
            let words = sentence(&metadata.name, &metadata.description);
            let layer = layer_mark(profile);
            let _ = writeln!(text, "  {:<width$}  {}{layer}", metadata.id, visible(&words));
        }
        text.push('\n');
    }
    text.push_str(&plural(tasks.len(), "task"));
    if !profiles.is_empty() {
        let _ = write!(text, ", {}", plural(profiles.len(), "profile"));
    }
    text.push('\n');
    text
}

/// The best first, a line each.
pub fn search_text(tasks: &[&Listed<Task>], platform: &Platform) -> String {
    let width = tasks.iter().map(|task| task.item.id.as_str().chars().count()).max().unwrap_or(0);
    tasks.iter().fold(String::new(), |text, task| text + &task_line(task, width, platform) + "\n")
}

fn task_line(task: &Listed<Task>, width: usize, platform: &Platform) -> String {
    let Task { id, name, description, platforms, .. } = &task.item;
    let words = sentence(name, description);
    let elsewhere = if platform.is_among(platforms) {
        String::new()
    } else {
        format!(" ({} only)", platforms.join(", "))
    };
    let (id, words, elsewhere) = (visible(id.as_str()), visible(&words), visible(&elsewhere));
    format!("{id:<width$}  {words}{elsewhere}{}", layer_mark(task))
}

fn sentence(name: &str, description: &str) -> String {
    if description.is_empty() { name.to_owned() } else { format!("{name} - {description}") }
}

/// Where it comes from, if not from the program itself.
fn layer_mark<T>(listed: &Listed<T>) -> String {
    match &*listed.layer {
        "embedded" => String::new(),
        layer => format!(" [{}]", visible(layer)),
    }
}

pub fn task_text(view: &TaskView<'_>, platform: &Platform) -> String {
    let task = &view.listed.item;
    let mut text = format!("{} ({})\n", visible(&task.name), visible(task.id.as_str()));
    let mut line = |label: &str, words: &str| {
        if !words.is_empty() {
            let _ = writeln!(text, "{label:<16}{}", visible(words));
        }
    };
    line("", &task.description);
    line("category", &task.category);
    line("from", &origin(view.listed));
    line("read more", task.docs_url.as_deref().unwrap_or_default());
    line("needs", &comma_list(&task.dependencies.required));
    line("needs one of", &comma_list(&task.dependencies.one_of));
    line("after, if any", &comma_list(&task.dependencies.optional));
    if let Some(provider) = view.provider {
        line("needs also", &format!("{provider}, for the package manager"));
    }
    line("needed by", &comma_list(&view.needed_by));
    line("conflicts with", &comma_list(&task.conflicts_with));
    let state = match view.seems_installed {
        Some(true) => "yes",
        Some(false) => "no",
        None => "only its check can tell",
    };
    line("installed", state);
    for option in &task.options {
        let default = option.default.as_ref().map(|value| format!(" [{value}]"));
        line("asks", &format!("{}{}", option.prompt, default.unwrap_or_default()));
    }
    text.push('\n');
    recipe_text(view, platform, &mut text);
    let probes = [
        ("check", task.detection.check_command.as_ref()),
        ("or a path", task.detection.installed_indicator.as_ref()),
        ("version", task.detection.version_command.as_ref()),
        ("verify", task.verification.as_ref().map(|verification| &verification.command)),
    ];
    text.push_str("\nHow it is looked for:\n");
    for (label, command) in probes {
        if let Some(command) = command {
            let _ = writeln!(text, "  {label:<11} {}", visible(command.trim_end()));
        }
    }
    if let Some(notes) = &task.notes {
        text.push_str("\nNotes:\n");
        for note in notes.trim_end().lines() {
            let _ = writeln!(text, "  {}", visible(note));
        }
    }
    text
}

fn recipe_text(view: &TaskView<'_>, platform: &Platform, text: &mut String) {
    let name = match &platform.release {
        Some(release) => format!("{} {release}, {}", platform.id, platform.arch),
        None => format!("{}, {}", platform.id, platform.arch),
    };
    let recipe = match &view.recipe {
        Ok(recipe) => recipe,
        Err(why) => {
            let _ = writeln!(
                text,
                "On this machine ({name}) it cannot be installed: {}",
                visible(&why.to_string())
            );
            return;
        }
    };
    let _ = writeln!(text, "On this machine ({name}) it would run, {}:", how(recipe));
    for command in &recipe.commands {
        let root = if command.requires_sudo { " (as root)" } else { "" };
        let mut lines = command.command.lines();
        let _ = writeln!(text, "  $ {}{root}", visible(lines.next().unwrap_or_default()));
        for line in lines {
            let _ = writeln!(text, "    {}", visible(line));
        }
    }
    for step in &recipe.manual {
        let _ = writeln!(text, "  by hand: {}", visible(step));
    }
    if recipe.commands.is_empty() && recipe.manual.is_empty() {
        text.push_str("  nothing\n");
    }
}

fn how(recipe: &Recipe) -> String {
    match &recipe.source {
        RecipeSource::Packages(manager) => format!("by {}", manager.program()),
        RecipeSource::Variant { key, by } => {
            let by = match by {
                ChosenBy::Option => "its option",
                ChosenBy::Dependency => "a tool it builds on",
                ChosenBy::Platform => "the platform",
                ChosenBy::Manager => "the package manager",
            };
            format!("variant `{}` chosen by {by}", visible(key))
        }
        RecipeSource::Steps => "as everywhere".into(),
        RecipeSource::Nothing => "as it only configures".into(),
    }
}

fn origin<T>(listed: &Listed<T>) -> String {
    let replaces = match &listed.replaces {
        Some(layer) => format!(", in place of the one that is {layer}"),
        None => String::new(),
    };
    format!("{} ({}){replaces}", listed.source.name, listed.layer)
}

pub fn profile_text(profile: &Listed<Profile>) -> String {
    let Profile { metadata, required_tasks, question_flow, .. } = &profile.item;
    let mut text = format!("{} ({})\n", visible(&metadata.name), visible(&metadata.id));
    let mut line = |label: &str, words: &str| {
        if !words.is_empty() {
            let _ = writeln!(text, "{label:<16}{}", visible(words));
        }
    };
    line("", &metadata.description);
    line("from", &origin(profile));
    line("always installs", &comma_list(required_tasks));
    line("by default", &comma_list(&profile.item.default_cli_tools));
    line("suggests", &comma_list(&profile.item.post_install_suggestions));
    for question in question_flow {
        let _ = writeln!(text, "\n{} ({})", visible(&question.question), visible(&question.id));
        for answer in &question.options {
            let tasks = comma_list(&answer.tasks);
            let tasks = if tasks.is_empty() { tasks } else { format!(" [{tasks}]") };
            let _ =
                writeln!(text, "  {}) {}{tasks}", visible(&answer.letter), visible(&answer.text));
        }
    }
    text
}

pub fn catalog_json(
    catalog: &Catalog,
    tasks: &[&Listed<Task>],
    profiles: &[&Listed<Profile>],
    platform: &Platform,
) -> Value {
    let profile = |profile: &&Listed<Profile>| {
        let metadata = &profile.item.metadata;
        json!({
            "id": metadata.id,
            "name": metadata.name,
            "description": metadata.description,
            "letter": profile.item.letter(),
            "layer": profile.layer,
            "file": profile.source.name,
        })
    };
    let errors = catalog.diagnostics.iter().filter(|found| found.is_error()).count();
    json!({
        "tasks": tasks_json(tasks, platform),
        "profiles": profiles.iter().map(profile).collect::<Vec<_>>(),
        "errors": errors,
    })
}

pub fn search_json(tasks: &[&Listed<Task>], platform: &Platform) -> Value {
    json!({"tasks": tasks_json(tasks, platform)})
}

fn tasks_json(tasks: &[&Listed<Task>], platform: &Platform) -> Vec<Value> {
    let task = |listed: &&Listed<Task>| {
        let Task { id, name, category, description, tags, platforms, .. } = &listed.item;
        json!({
            "id": id,
            "name": name,
            "category": category,
            "description": description,
            "tags": tags,
            "layer": listed.layer,
            "file": listed.source.name,
            "for_this_machine": platform.is_among(platforms),
        })
    };
    tasks.iter().map(task).collect()
}

pub fn task_json(view: &TaskView<'_>, platform: &Platform) -> Value {
    let recipe = match &view.recipe {
        Ok(recipe) => {
            let (manager, variant) = match &recipe.source {
                RecipeSource::Packages(manager) => (Some(manager.name()), None),
                RecipeSource::Variant { key, .. } => (None, Some(key)),
                RecipeSource::Steps | RecipeSource::Nothing => (None, None),
            };
            json!({
                "manager": manager,
                "variant": variant,
                "commands": recipe.commands,
                "manual": recipe.manual,
            })
        }
        Err(why) => json!({"reason": why.to_string()}),
    };
    json!({
        "task": view.listed.item,
        "layer": view.listed.layer,
        "file": view.listed.source.name,
        "replaces": view.listed.replaces,
        "platform": platform,
        "recipe": recipe,
        "provider": view.provider,
        "seems_installed": view.seems_installed,
        "needed_by": view.needed_by,
    })
}

pub fn profile_json(profile: &Listed<Profile>) -> Value {
    json!({
        "profile": profile.item,
        "layer": profile.layer,
        "file": profile.source.name,
        "replaces": profile.replaces,
    })
}
