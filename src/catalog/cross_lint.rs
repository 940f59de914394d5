//! What is wrong between tasks and profiles: names of nothing, cycles, conflicts, data that
//! nobody asks for.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    diagnostic::{Code, Diagnostic},
    layers::{Catalog, Listed},
    lint::Lint,
    nearest::nearest,
    node::{Content, Node},
    place::KeyPath,
    task_lint::command_texts,
};
use crate::model::{Profile, Task, TaskId, environment_name};

pub fn cross_lint(catalog: &Catalog) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for task in catalog.tasks.values().chain(&catalog.second_tasks) {
        let mut lint = lint_of(task, &mut found);
        task_references(catalog, &mut lint, &task.item);
        own_conflicts(catalog, &mut lint, &task.item);
    }
    cycles(catalog, &mut found);
    let data = data_keys(catalog);
    for profile in catalog.profiles.values().chain(&catalog.second_profiles) {
        let mut lint = lint_of(profile, &mut found);
        profile_references(catalog, &mut lint);
        profile_conflicts(catalog, &mut lint, &profile.item);
        unasked_data(catalog, &mut lint, &profile.item, &data);
    }
    found
}

fn lint_of<'a, T>(listed: &'a Listed<T>, found: &'a mut Vec<Diagnostic>) -> Lint<'a> {
    Lint { source: &listed.source, root: &listed.root, found }
}

/// Every task that a list in the file names, with its place there.
fn named<'a>(root: &'a Node, at: &KeyPath) -> Vec<(KeyPath, &'a str)> {
    items(root, at).into_iter().filter_map(|(at, node)| Some((at, node.text()?))).collect()
}

/// What stands in a list of the file, with its places.
fn items<'a>(root: &'a Node, at: &KeyPath) -> Vec<(KeyPath, &'a Node)> {
    match root.lookup(at).map(|node| &node.content) {
        Some(Content::List(nodes)) => {
            nodes.iter().enumerate().map(|(number, node)| (at.item(number), node)).collect()
        }
        _ => Vec::new(),
    }
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
    let top = KeyPath::root().key("tasks").key(task.id.as_str());
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
    for (at, entry) in items(root, &top.key("post_install")) {
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
fn options(root: &Node) -> Vec<(KeyPath, &Node)> {
    let questions = items(root, &KeyPath::root().key("question_flow"));
    questions.iter().flat_map(|(at, _)| items(root, &at.key("options"))).collect()
}

/// Tells every group of tasks that wait for each other, once, with the whole way around.
fn cycles(catalog: &Catalog, found: &mut Vec<Diagnostic>) {
    let mut told: HashSet<&TaskId> = HashSet::new();
    for (id, task) in &catalog.tasks {
        if told.contains(id) {
            continue;
        }
        let Some(way) = way_back(catalog, id) else { continue };
        told.extend(way.iter().copied());
        let chain: Vec<_> = way.iter().chain([&way[0]]).map(|id| id.as_str()).collect();
        let next = way.get(1).unwrap_or(&way[0]);
        let mut all = task.item.dependencies.all();
        let Some((field, ..)) = all.find(|(_, _, id)| id == next) else { continue };
        let list = KeyPath::root().key("tasks").key(id.as_str()).key("dependencies").key(field);
        let mut lint = lint_of(task, found);
        let at = named(lint.root, &list).into_iter().find(|(_, id)| *id == next.as_str());
        let at = at.map_or(list, |(at, _)| at);
        let message = format!("`{id}` waits for itself: {}", chain.join(" → "));
        lint.at(Code::DependencyCycle, &at, message);
    }
}

/// The shortest way along dependencies from a task back to itself.
fn way_back<'a>(catalog: &'a Catalog, id: &'a TaskId) -> Option<Vec<&'a TaskId>> {
    let mut before: HashMap<&TaskId, &TaskId> = HashMap::new();
    let mut open = VecDeque::from([id]);
    while let Some(current) = open.pop_front() {
        let Some(task) = catalog.tasks.get(current) else { continue };
        for (_, _, next) in task.item.dependencies.all() {
            if next == id {
                let mut way = vec![current];
                while let Some(step) = before.get(way[way.len() - 1]) {
                    way.push(step);
                }
                way.reverse();
                return Some(way);
            }
            if next != id && !before.contains_key(next) {
                before.insert(next, current);
                open.push_back(next);
            }
        }
    }
    None
}

/// The tasks that come along with some, each with the one that brings it.
type Brought<'a> = HashMap<&'a TaskId, Option<&'a TaskId>>;

fn closure<'a>(catalog: &'a Catalog, tasks: impl IntoIterator<Item = &'a TaskId>) -> Brought<'a> {
    let mut brought = Brought::new();
    let mut open: Vec<(&TaskId, Option<&TaskId>)> =
        tasks.into_iter().map(|id| (id, None)).collect();
    while let Some((id, by)) = open.pop() {
        if brought.contains_key(id) {
            continue;
        }
        brought.insert(id, by);
        if let Some(task) = catalog.tasks.get(id) {
            open.extend(task.item.dependencies.required.iter().map(|next| (next, Some(id))));
        }
    }
    brought
}

/// A pair of tasks in `more` and `all` that conflict, in a lasting order.
fn conflict<'a>(
    catalog: &'a Catalog,
    all: &Brought<'a>,
    more: &Brought<'a>,
) -> Option<(&'a TaskId, &'a TaskId)> {
    let mut ids: Vec<_> = more.keys().copied().collect();
    ids.sort();
    let mut others: Vec<_> = all.keys().copied().collect();
    others.sort();
    let conflicts = |one: &TaskId, other: &TaskId| {
        catalog.tasks.get(one).is_some_and(|task| task.item.conflicts_with.contains(other))
    };
    ids.iter().find_map(|one| {
        let is_foe =
            |other: &&&TaskId| *other != one && (conflicts(one, other) || conflicts(other, one));
        others.iter().find(is_foe).map(|other| (*one, *other))
    })
}

/// `fnm`, or `fnm` (brought by `node-lts`).
fn with_bringer(all: &Brought<'_>, id: &TaskId) -> String {
    match all.get(id).copied().flatten() {
        Some(by) => format!("`{id}` (brought by `{by}`)"),
        None => format!("`{id}`"),
    }
}

/// A task that cannot be together with what it needs.
fn own_conflicts(catalog: &Catalog, lint: &mut Lint<'_>, task: &Task) {
    let all = closure(catalog, [&task.id]);
    // Told of the task that brings them together, not of everyone who needs that one.
    let told = task.dependencies.required.iter().any(|id| {
        let theirs = closure(catalog, [id]);
        *id != task.id && conflict(catalog, &theirs, &theirs).is_some()
    });
    if told || all.len() < 2 {
        return;
    }
    if let Some((one, other)) = conflict(catalog, &all, &all) {
        let at = KeyPath::root().key("tasks").key(task.id.as_str()).key("dependencies");
        let (one, other) = (with_bringer(&all, one), with_bringer(&all, other));
        let message = format!("{one} conflicts with {other}, and `{}` needs both", task.id);
        lint.at_key(Code::Conflict, &at, message);
    }
}

fn profile_conflicts(catalog: &Catalog, lint: &mut Lint<'_>, profile: &Profile) {
    let mut base = closure(catalog, &profile.required_tasks);
    if let Some((one, other)) = conflict(catalog, &base, &base) {
        let (one, other) = (with_bringer(&base, one), with_bringer(&base, other));
        let message = format!("{one} conflicts with {other}, and everyone gets both");
        lint.at_key(Code::Conflict, &KeyPath::root().key("required_tasks"), message);
        // Whatever else there is would be told again with each option.
        return;
    }
    let defaults = closure(catalog, &profile.default_cli_tools);
    let with_defaults =
        closure(catalog, profile.required_tasks.iter().chain(&profile.default_cli_tools));
    match conflict(catalog, &with_defaults, &defaults) {
        Some((one, other)) => {
            let (one, other) =
                (with_bringer(&with_defaults, one), with_bringer(&with_defaults, other));
            let message = format!("{one} conflicts with {other}, and both come by default");
            lint.at_key(Code::Conflict, &KeyPath::root().key("default_cli_tools"), message);
        }
        None => base = with_defaults,
    }
    let root = lint.root;
    for (at, node) in options(root) {
        let ids = named(root, &at.key("tasks"));
        let ids = ids.iter().filter_map(|(_, id)| Some(catalog.tasks.get_key_value(*id)?.0));
        let more = closure(catalog, ids);
        let mut all = more.clone();
        all.extend(base.iter().map(|(id, by)| (*id, *by)));
        if let Some((one, other)) = conflict(catalog, &all, &more) {
            let letter = node.get("letter").and_then(Node::text).unwrap_or_default();
            let (one, other) = (with_bringer(&all, one), with_bringer(&all, other));
            let message =
                format!("option `{letter}` brings {one} and {other} together, which conflict");
            lint.at(Code::Conflict, &at.key("tasks"), message);
        }
    }
}

/// Every user datum that some profile knows of.
fn data_keys(catalog: &Catalog) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for profile in catalog.profiles.values().map(|listed| &listed.item) {
        keys.extend(profile.user_data.keys().cloned());
        let answers = profile.question_flow.iter().flat_map(|question| &question.options);
        keys.extend(answers.flat_map(|answer| answer.user_data_required.iter().cloned()));
    }
    keys.sort();
    keys.dedup();
    keys
}

/// A task that an option brings, whose commands read user data that nobody is asked for.
fn unasked_data(catalog: &Catalog, lint: &mut Lint<'_>, profile: &Profile, keys: &[String]) {
    let answers = || profile.question_flow.iter().flat_map(|question| &question.options);
    let asked: HashSet<&String> = answers().flat_map(|answer| &answer.user_data_required).collect();
    let root = lint.root;
    let mut lists =
        vec![KeyPath::root().key("required_tasks"), KeyPath::root().key("default_cli_tools")];
    lists.extend(options(root).into_iter().map(|(at, _)| at.key("tasks")));
    for (at, id) in lists.iter().flat_map(|list| named(root, list)) {
        let Some(task) = catalog.tasks.get(id).map(|listed| &listed.item) else { continue };
        for key in keys.iter().filter(|key| !asked.contains(key)) {
            let is_option = task.options.iter().any(|option| option.id == *key);
            let variable = environment_name(key);
            if !is_option && command_texts(task).iter().any(|text| reads(text, &variable)) {
                let message = format!("`{id}` reads `${variable}`, but nobody asks for `{key}`");
                lint.at(Code::UnaskedUserData, &at, message).hint =
                    Some(format!("user_data_required: [{key}] on an option that brings it"));
            }
        }
    }
}

/// Whether a command reads a variable.
fn reads(text: &str, variable: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let rest = text[at + 1..].trim_start_matches('{');
        rest.strip_prefix(variable)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}
