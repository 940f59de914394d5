//! What is wrong between tasks and profiles: names of nothing, cycles, conflicts, data that
//! nobody asks for.

use std::collections::{BTreeSet, HashSet};

use super::{
    conflicts::Foes,
    cycles::cycles,
    diagnostic::{Code, Diagnostic},
    layers::{Catalog, Listed},
    lint::Lint,
    node::Node,
    place::KeyPath,
    task_lint::command_texts,
};
use crate::model::{Profile, Task, TaskId, environment_name, nearest};

/// Every such mistake, and the groups of tasks that wait for each other.
pub fn cross_lint(catalog: &Catalog) -> (Vec<Diagnostic>, Vec<Vec<TaskId>>) {
    let mut found = Vec::new();
    for task in catalog.tasks.values().chain(&catalog.second_tasks) {
        let mut lint = lint_of_task(task, &mut found);
        task_references(catalog, &mut lint, &task.item);
    }
    let cycles = cycles(catalog, &mut found);
    let foes = Foes::of(catalog);
    foes.within_tasks(&mut found);
    for profile in catalog.profiles.values().chain(&catalog.second_profiles) {
        let mut lint = Lint::of_file(&profile.source, &profile.root, &mut found);
        profile_references(catalog, &mut lint);
        foes.within_profile(&mut lint, &profile.item);
        unasked_data(catalog, &mut lint, profile);
    }
    (found, cycles)
}

pub(super) fn lint_of_task<'a>(
    listed: &'a Listed<Task>,
    found: &'a mut Vec<Diagnostic>,
) -> Lint<'a> {
    Lint::of_task(&listed.source, &listed.root, &listed.item.id, found)
}

/// Every task that a list in the file names, with its place there.
pub(super) fn named<'a>(root: &'a Node, at: &KeyPath) -> Vec<(KeyPath, &'a str)> {
    root.items(at).into_iter().filter_map(|(at, node)| Some((at, node.text()?))).collect()
}

/// Complains about a name that no task has. One that is no name at all has been reported.
fn reference(catalog: &Catalog, lint: &mut Lint<'_>, at: &KeyPath, id: &str) {
    if catalog.knows_task(id) || id.parse::<TaskId>().is_err() || id.contains(char::is_whitespace) {
        return;
    }
    let near = nearest(id, catalog.tasks.keys().map(TaskId::as_str));
    lint.at(Code::UnknownTask, at, format!("there is no task `{id}`")).hint =
        near.map(|name| format!("did you mean `{name}`?"));
}

fn task_references(catalog: &Catalog, lint: &mut Lint<'_>, task: &Task) {
    let root = lint.root;
    let top = KeyPath::root();
    let dependencies = top.key("dependencies");
    for field in ["required", "one_of", "optional"] {
        for (at, id) in named(root, &dependencies.key(field)) {
            reference(catalog, lint, &at, id);
        }
    }
    for (at, id) in named(root, &top.key("conflicts_with")) {
        reference(catalog, lint, &at, id);
        if id == task.id.as_str() {
            lint.at(Code::Conflict, &at, format!("`{id}` cannot conflict with itself"));
        }
    }
    let after = top.key("post_install");
    let mut entries = root.items(&after);
    // One entry may stand there by itself.
    entries.extend(root.lookup(&after).map(|entry| (after, entry)));
    for (at, entry) in entries {
        if let Some(id) = entry.get("task").and_then(Node::text) {
            reference(catalog, lint, &at.key("task"), id);
        }
    }
}

fn profile_references(catalog: &Catalog, lint: &mut Lint<'_>) {
    let root = lint.root;
    for field in ["required_tasks", "default_cli_tools", "post_install_suggestions"] {
        for (at, id) in named(root, &KeyPath::root().key(field)) {
            reference(catalog, lint, &at, id);
        }
    }
    for (at, _) in options(root) {
        for (at, id) in named(root, &at.key("tasks")) {
            reference(catalog, lint, &at, id);
        }
    }
}

/// Every option of every question, with its place.
pub(super) fn options(root: &Node) -> Vec<(KeyPath, &Node)> {
    let questions = root.items(&KeyPath::root().key("question_flow"));
    questions.iter().flat_map(|(at, _)| root.items(&at.key("options"))).collect()
}

/// Every user datum that some profile of a layer knows of.
fn data_keys(catalog: &Catalog, layer: usize) -> BTreeSet<&String> {
    let mut keys = BTreeSet::new();
    let of_layer = |profile: &&Listed<Profile>| profile.source.layer == layer;
    for profile in catalog.profiles.values().filter(of_layer).map(|listed| &listed.item) {
        keys.extend(profile.user_data.keys());
        keys.extend(profile.options().flat_map(|option| &option.user_data_required));
    }
    keys
}

/// Tasks that a profile brings, whose commands read user data that nobody is asked for. Nothing
/// says which variables are user data: those are taken for it that profiles beside this one ask
/// for, and that the task does not set by itself.
fn unasked_data(catalog: &Catalog, lint: &mut Lint<'_>, listed: &Listed<Profile>) {
    let profile = &listed.item;
    let asked: HashSet<&String> =
        profile.options().flat_map(|option| &option.user_data_required).collect();
    let mut unasked = data_keys(catalog, listed.source.layer);
    unasked.retain(|key| !asked.contains(key));
    if unasked.is_empty() {
        return;
    }
    let root = lint.root;
    let mut lists =
        vec![KeyPath::root().key("required_tasks"), KeyPath::root().key("default_cli_tools")];
    lists.extend(options(root).into_iter().map(|(at, _)| at.key("tasks")));
    let mut told = HashSet::new();
    for (at, id) in lists.iter().flat_map(|list| named(root, list)) {
        let Some((id, _)) = catalog.tasks.get_key_value(id) else { continue };
        let mut brought: Vec<_> = catalog.brought_by([id]).into_keys().collect();
        brought.sort_unstable();
        for task in brought.iter().filter_map(|id| catalog.tasks.get(*id)).map(|task| &task.item) {
            for key in &unasked {
                let is_option = task.options.iter().any(|option| option.id == **key);
                let variable = environment_name(key);
                if !is_option && needs(task, &variable) && told.insert((&task.id, *key)) {
                    let message =
                        format!("`{}` reads `${variable}`, but nobody asks for `{key}`", task.id);
                    lint.at(Code::UnaskedUserData, &at, message).hint =
                        Some(format!("user_data_required: [{key}] on an option that brings it"));
                }
            }
        }
    }
}

/// Whether a task reads a variable that it does not set.
fn needs(task: &Task, variable: &str) -> bool {
    let texts = command_texts(task);
    let steps = task.install.steps.iter();
    let mut steps = steps.chain(task.install.variants.values().flat_map(|variant| &variant.steps));
    texts.iter().any(|text| reads(text, variable))
        && !texts.iter().any(|text| sets(text, variable))
        && !steps.any(|step| step.env.contains_key(variable))
}

fn reads(text: &str, variable: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let rest = text[at + 1..].trim_start_matches('{');
        rest.strip_prefix(variable)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// Whether a command gives a variable a value, or has one for where it has none.
fn sets(text: &str, variable: &str) -> bool {
    let words = ["read -r ", "read ", "for ", "local ", "export ", "declare "];
    text.contains(&format!("{variable}="))
        || text.contains(&format!("${{{variable}:"))
        || words.iter().any(|word| text.contains(&format!("{word}{variable}")))
}
