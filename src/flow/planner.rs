//! The plan: from what was asked for, the catalog and what is there, the exact commands in their
//! order. Pure: the same asked of the same gives the same.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use indexmap::IndexMap;

use super::{
    Offer, Recipe, Requirements,
    order::{Edges, ordered},
    problem::PlanProblem,
    selection::{Chosen, Ground, Selection, select},
};
use crate::model::{
    Detection, Plan, PlanFormat, PlanTask, ShellConfig, Task, TaskId, TaskOption, UserDatum,
    environment_name,
};

/// What planning came to.
#[derive(Clone, Debug)]
pub struct Planned<'a> {
    pub selection: Selection<'a>,
    /// The plan, or every reason why there is none.
    pub plan: Result<Plan, Vec<PlanProblem>>,
}

/// Plans what was asked for. Values that are missing do not keep a plan from being made: the walk
/// asks for them.
pub fn plan<'a>(wanted: &Requirements<'a>, ground: Ground<'a>) -> Planned<'a> {
    let selection = select(wanted, ground);
    let mut problems = selection.problems.clone();
    let order = order(&selection);
    if let Err(circles) = &order {
        for circle in circles {
            let chain = circle.first().map(|id| selection.chain(id, wanted)).unwrap_or_default();
            problems.push(PlanProblem::Circle { circle: circle.clone(), chain });
        }
    }
    problems.extend(selection.undecided(wanted));
    if selection.untold > 0 {
        problems.push(PlanProblem::More { count: selection.untold });
    }
    let plan = match order {
        Ok(order) if problems.is_empty() => {
            let mut plan = Plan {
                format: PlanFormat::V1,
                digest: None,
                profile: wanted.profile.map(|profile| profile.id().to_owned()),
                user_data: user_data(wanted, ground.offer, &selection),
                tasks: Vec::new(),
            };
            let covered: HashSet<String> = plan.user_data.keys().cloned().collect();
            plan.tasks = order
                .iter()
                .filter_map(|id| selection.tasks.get(id))
                .map(|chosen| planned(chosen, &selection, wanted, ground, &covered))
                .collect();
            note_what_comes_first(&mut plan.tasks, &selection);
            plan.digest = Some(plan.compute_digest());
            Ok(plan)
        }
        _ => Err(problems),
    };
    Planned { selection, plan }
}

fn order(selection: &Selection<'_>) -> Result<Vec<TaskId>, Vec<Vec<TaskId>>> {
    let mut edges = Edges { after: selection.after(), ..Edges::default() };
    for (id, chosen) in &selection.tasks {
        let known = |need: &TaskId| selection.tasks.get_key_value(need).map(|(need, _)| need);
        edges.needs.insert(id, chosen.needs().into_iter().filter_map(known).collect());
    }
    let tasks: Vec<_> = selection.tasks.keys().collect();
    Ok(ordered(&tasks, &edges)?.into_iter().cloned().collect())
}

/// Notes in each task which others it comes behind without needing them: the order of the plan alone
/// does not keep two tasks apart that run side by side. Wishes that the order gave up are left out.
fn note_what_comes_first(tasks: &mut [PlanTask], selection: &Selection<'_>) {
    let places: HashMap<TaskId, usize> =
        tasks.iter().enumerate().map(|(at, task)| (task.id.clone(), at)).collect();
    let mut earlier: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); tasks.len()];
    for (id, other) in selection.after() {
        if let (Some(at), Some(before)) = (places.get(id), places.get(other))
            && before < at
            && !tasks[*at].depends_on.contains(other)
        {
            earlier[*at].insert(*before);
        }
    }
    for (at, earlier) in earlier.into_iter().enumerate() {
        tasks[at].after = earlier.into_iter().map(|before| tasks[before].id.clone()).collect();
    }
}

/// What the session's commands are told, all of them alike: what chosen answers require, and the
/// secrets of tasks. By key, so that it does not matter who asked first.
fn user_data(
    wanted: &Requirements<'_>,
    offer: &Offer<'_>,
    selection: &Selection<'_>,
) -> IndexMap<String, UserDatum> {
    let mut data: BTreeMap<String, UserDatum> = BTreeMap::new();
    for key in required_data(wanted) {
        let request = wanted.profile.and_then(|profile| profile.user_data.get(key));
        let secret = wanted.is_secret(key, offer);
        data.insert(
            key.to_owned(),
            UserDatum {
                value: wanted.datum(key).filter(|_| !secret).map(str::to_owned),
                secret,
                prompt: request.and_then(|request| request.prompt.clone()),
            },
        );
    }
    for chosen in selection.tasks.values() {
        for option in secrets(chosen.offered.task, wanted, offer) {
            data.entry(option.id.clone()).or_insert_with(|| UserDatum {
                value: None,
                secret: true,
                prompt: Some(option.prompt.clone()),
            });
        }
    }
    data.into_iter().collect()
}

/// The data that chosen answers require, each once.
pub fn required_data<'a>(wanted: &Requirements<'a>) -> Vec<&'a str> {
    let mut keys: Vec<&str> = Vec::new();
    for question in wanted.questions() {
        let Some(answer) = wanted.answer(question) else { continue };
        for key in &answer.user_data_required {
            if !keys.contains(&key.as_str()) {
                keys.push(key);
            }
        }
    }
    keys
}

fn planned<'a>(
    chosen: &Chosen<'a>,
    selection: &Selection<'a>,
    wanted: &Requirements<'a>,
    ground: Ground<'a>,
    covered: &HashSet<String>,
) -> PlanTask {
    let task = chosen.offered.task;
    let recipe = chosen.recipe.clone();
    let recipe = recipe.unwrap_or_else(Recipe::nothing);
    let (variant, packages) = (recipe.variant(), recipe.packages(task));
    let (shell_integration, notes) = (shell_lines(task, &recipe), notes(task, &recipe));
    let values = option_values(task, wanted, ground.offer, covered);
    let mut commands = recipe.commands;
    for command in &mut commands {
        for (name, value) in &values {
            // What a step says for itself counts more than what was chosen for the task.
            command.env.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    PlanTask {
        name: some(&task.name),
        description: some(&task.description),
        category: some(&task.category),
        layer: some(chosen.offered.layer),
        variant,
        depends_on: chosen
            .needs()
            .into_iter()
            .filter(|id| selection.tasks.contains_key(*id))
            .cloned()
            .collect(),
        path: task.path.clone(),
        env_setup: task.env_setup.clone(),
        detection: Some(task.detection.clone()).filter(|found| *found != Detection::default()),
        packages,
        commands,
        verification: task.verification.clone(),
        shell_integration,
        manual: recipe.manual,
        secrets: secrets(task, wanted, ground.offer).map(|option| option.id.clone()).collect(),
        configures: task.tags.iter().any(|tag| tag == "configuration"),
        upkeep: task.is_upkeep(),
        found: ground.facts.found(&task.id).cloned(),
        notes,
        ..PlanTask::new(task.id.clone())
    }
}

/// What was chosen for a task's options, as its commands find it. What is told to all commands
/// is not told again.
fn option_values(
    task: &Task,
    wanted: &Requirements<'_>,
    offer: &Offer<'_>,
    covered: &HashSet<String>,
) -> BTreeMap<String, String> {
    let own = |option: &&TaskOption| {
        !covered.contains(&option.id) || wanted.datum(&super::option_key(task, option)).is_some()
    };
    let options = task.options.iter().filter(|option| !wanted.is_secret(&option.id, offer));
    options
        .filter(own)
        .filter_map(|option| {
            let value = wanted.option(task, option)?;
            Some((environment_name(&option.id), value.to_owned()))
        })
        .collect()
}

fn secrets<'t>(
    task: &'t Task,
    wanted: &Requirements<'_>,
    offer: &Offer<'_>,
) -> impl Iterator<Item = &'t TaskOption> {
    task.options.iter().filter(|option| wanted.is_secret(&option.id, offer))
}

/// What stands in the task for the configuration of shells: in itself, in the steps that are taken,
/// and in what comes after them. What is said twice counts once.
fn shell_lines(task: &Task, recipe: &Recipe) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut add = |shell: &str, text| texts.entry(shell.to_owned()).or_default().push(text);
    for (shell, text) in task.shell_integration.texts() {
        add(shell, text);
    }
    for config in shell_configs(task, recipe) {
        if let Some(text) = config.text.as_deref() {
            // Lines for no shell in particular are those of POSIX, which fish does not speak: one it
            // cannot parse would keep it from reading all of its configuration.
            add("zsh", text);
            add("bash", text);
        }
        for (shell, text) in config.by_shell.texts() {
            add(shell, text);
        }
    }
    let joined = texts.into_iter().map(|(shell, texts)| {
        let mut once: Vec<&str> = Vec::new();
        for text in texts.into_iter().map(str::trim_end) {
            if !text.is_empty() && !once.contains(&text) {
                once.push(text);
            }
        }
        (shell, once.join("\n"))
    });
    joined.filter(|(_, text)| !text.is_empty()).collect()
}

fn shell_configs<'t>(task: &'t Task, recipe: &'t Recipe) -> impl Iterator<Item = &'t ShellConfig> {
    let after = task.post_install.iter().filter_map(|entry| entry.shell_config.as_ref());
    recipe.shell_configs.iter().chain(after)
}

/// What there is to know once it is done.
fn notes(task: &Task, recipe: &Recipe) -> Option<String> {
    let after = task.post_install.iter().flat_map(|p| [&p.message, &p.notes, &p.note]).flatten();
    let of_shells = shell_configs(task, recipe).filter_map(|config| config.note.as_ref());
    let all = task.notes.iter().chain(after).chain(of_shells);
    let all: Vec<&str> = all.map(|note| note.trim()).filter(|note| !note.is_empty()).collect();
    some(&all.join("\n"))
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}
