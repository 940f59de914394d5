//! A plan, for a person and for programs: grouped, with what is there already and in which version.

use std::{fmt::Write, time::Duration};

use serde_json::{Value, json};

use super::{Terminal, durations::about, plural, text::counted, visible};
use crate::{
    engine::Durations,
    model::{GateRecord, Plan, PlanAction, PlanCommand, PlanTask, TaskId},
};

/// How wide a line of the overview may be.
const WIDTH: usize = 80;
/// The layer that goes without saying.
const USUAL_LAYER: &str = "embedded";

/// What becomes of everything in a plan, by category; with its commands if asked for.
pub fn plan_text(plan: &Plan, with_commands: bool) -> String {
    let cut = |line: &str| cut(line, WIDTH);
    lines(plan, with_commands, WIDTH, &cut, &Durations::new())
}

/// The same for a person who is about to decide, with what earlier sessions know of how long it
/// takes. The first digits of the digest are enough to name it.
pub fn plan_screen(plan: &Plan, durations: &Durations, terminal: Terminal) -> String {
    let mut text = String::from("\n");
    let width = terminal.width();
    let cut = |line: &str| terminal.cut(line, width);
    text.push_str(&lines(plan, false, width, &cut, durations));
    let open = plan.tasks.iter().filter(|task| task.found.is_none() && !task.upkeep);
    let known: Vec<_> = open.clone().filter_map(|task| durations.get(&task.id)).collect();
    if !known.is_empty() {
        let unknown = open.count() - known.len();
        let sum = about(known.into_iter().sum());
        let rest = match unknown {
            0 => String::new(),
            some => format!(", and {} that nobody has timed here", plural(some, "task")),
        };
        let _ = writeln!(text, "\n{}", terminal.wrapped(&format!("It takes {sum}{rest}."), 0));
    }
    text.push('\n');
    text
}

fn lines(
    plan: &Plan,
    with_commands: bool,
    width: usize,
    cut: &dyn Fn(&str) -> String,
    durations: &Durations,
) -> String {
    let mut text = String::new();
    let of = plan.profile.as_deref().map_or_else(String::new, |id| format!(" of {}", visible(id)));
    let _ = writeln!(text, "plan{of}: {}", summary(plan));
    let _ = writeln!(text, "digest {}", plan.compute_digest());
    let widest = plan.tasks.iter().map(|task| task.id.as_str().chars().count()).max();
    let column = widest.unwrap_or(0).clamp(8, 26.min(width / 3).max(8));
    for category in categories(plan) {
        let _ = writeln!(text, "\n{}", visible(category));
        let tasks = plan.tasks.iter().filter(|task| !task.upkeep && category_of(task) == category);
        for task in tasks {
            let took = durations.get(&task.id).filter(|_| task.found.is_none());
            line(&mut text, task, column, cut, took);
            if with_commands {
                commands(&mut text, task);
            }
        }
    }
    let upkeep: Vec<_> = plan.tasks.iter().filter(|task| task.upkeep).collect();
    if !upkeep.is_empty() {
        text.push_str("\nmay also run\n");
        for command in upkeep.iter().flat_map(|task| &task.commands) {
            command_lines(&mut text, command, "  ");
        }
    }
    let values =
        plan.user_data.iter().filter_map(|(key, datum)| Some((key, datum.value.as_ref()?)));
    let values: Vec<_> =
        values.map(|(key, value)| format!("{}: {}", visible(key), visible(value))).collect();
    if with_commands && !values.is_empty() {
        let _ = writeln!(text, "\ncommands are told\n  {}", values.join("\n  "));
    }
    let secrets: Vec<_> = plan
        .user_data
        .iter()
        .filter(|(_, datum)| datum.secret)
        .map(|(key, _)| visible(key))
        .collect();
    if !secrets.is_empty() {
        let _ = writeln!(text, "\nasked for when it runs: {}", secrets.join(", "));
    }
    text
}

fn summary(plan: &Plan) -> String {
    let count =
        |action| plan.tasks.iter().filter(|task| !task.upkeep && task.action() == action).count();
    let parts = counted(&[
        (count(PlanAction::Install), "to install"),
        (count(PlanAction::Configure), "to configure"),
        (count(PlanAction::Manual), "by hand"),
        (count(PlanAction::AlreadyInstalled), "already there"),
    ]);
    if parts.is_empty() { "nothing to do".into() } else { parts }
}

fn category_of(task: &PlanTask) -> &str {
    task.category.as_deref().unwrap_or("other")
}

/// In the order in which the plan first names them.
fn categories(plan: &Plan) -> Vec<&str> {
    let mut categories = Vec::new();
    for task in plan.tasks.iter().filter(|task| !task.upkeep) {
        if !categories.contains(&category_of(task)) {
            categories.push(category_of(task));
        }
    }
    categories
}

fn line(
    text: &mut String,
    task: &PlanTask,
    column: usize,
    cut: &dyn Fn(&str) -> String,
    took: Option<&Duration>,
) {
    let (action, detail) = match task.action() {
        PlanAction::AlreadyInstalled => {
            let version = task.found.as_ref().and_then(|found| found.version.as_deref());
            // The version of a setting is that of the tool it is for.
            let detail = if task.configures { "already set" } else { version.unwrap_or("") };
            ("here", detail.to_owned())
        }
        PlanAction::Install => ("install", how(task)),
        PlanAction::Configure => ("configure", how(task)),
        PlanAction::Manual => ("by hand", task.manual.join("; ")),
    };
    let layer = match task.layer.as_deref() {
        Some(layer) if layer != USUAL_LAYER => format!(" [{layer}]"),
        _ => String::new(),
    };
    let id = visible(task.id.as_str());
    let took = took.map_or_else(String::new, |took| format!(", {}", about(*took)));
    let detail = visible(&format!("{detail}{layer}{took}")).into_owned();
    let whole = format!("  {action:<9} {id:<column$}  {detail}");
    let _ = writeln!(text, "{}", cut(whole.trim_end()));
}

/// How a task is installed, in short.
fn how(task: &PlanTask) -> String {
    let name = task.name.as_deref().filter(|name| *name != task.id.as_str());
    let with = match (&task.packages, task.variant.as_deref()) {
        (Some(packages), _) => format!("with {}", packages.manager.name()),
        (None, Some(variant)) => format!("{}, variant {variant}", commands_of(task)),
        (None, None) => commands_of(task),
    };
    let hand = if task.manual.is_empty() { "" } else { ", then by hand" };
    match name {
        Some(name) => format!("{name}, {with}{hand}"),
        None => format!("{with}{hand}"),
    }
}

fn commands_of(task: &PlanTask) -> String {
    match task.commands.len() {
        0 => "nothing to run".into(),
        count => plural(count, "command"),
    }
}

fn cut(line: &str, width: usize) -> String {
    console::truncate_str(line, width, "…").into_owned()
}

/// Everything of a task that can execute: what is approved must be seen.
fn commands(text: &mut String, task: &PlanTask) {
    const INDENT: &str = "      ";
    let detection = task.detection.as_ref();
    let indicator = detection.and_then(|found| found.installed_indicator.as_deref());
    let probes = [
        ("there if", detection.and_then(|found| found.check_command.as_deref())),
        ("there with", indicator),
        ("version by", detection.and_then(|found| found.version_command.as_deref())),
        ("verified by", task.verification.as_ref().map(|found| found.command.as_str())),
    ];
    for command in &task.commands {
        command_lines(text, command, INDENT);
    }
    for step in &task.manual {
        let _ = writeln!(text, "{INDENT}by hand: {}", visible(step));
    }
    for (what, command) in probes {
        let Some(command) = command else { continue };
        said(text, INDENT, what, command);
    }
    if !task.path.is_empty() {
        said(text, INDENT, "looks in", &task.path.join(", "));
    }
    if let Some(setup) = &task.env_setup {
        said(text, INDENT, "before what builds on it", setup);
    }
    for (shell, lines) in &task.shell_integration {
        said(text, INDENT, &format!("for {} if you allow it", visible(shell)), lines);
    }
}

fn said(text: &mut String, indent: &str, what: &str, lines: &str) {
    let mut lines = lines.trim_end().lines();
    let first = lines.next().unwrap_or_default();
    let _ = writeln!(text, "{indent}{what}: {}", visible(first));
    for line in lines {
        let _ = writeln!(text, "{indent}  {}", visible(line));
    }
}

/// All of a command, line by line: what is approved must be seen.
fn command_lines(text: &mut String, command: &PlanCommand, indent: &str) {
    let mut mark = "$";
    for line in command.command.lines() {
        let _ = writeln!(text, "{indent}{mark} {}", visible(line));
        mark = " ";
    }
    let mut about = Vec::new();
    if command.requires_sudo {
        about.push("as root".to_owned());
    }
    about.extend(command.working_dir.as_deref().map(|place| format!("in {}", visible(place))));
    let values = command.env.iter();
    about.extend(values.map(|(name, value)| format!("{}={}", visible(name), visible(value))));
    if !about.is_empty() {
        let _ = writeln!(text, "{indent}  ({})", about.join(", "));
    }
}

pub fn plan_json(plan: &Plan) -> Value {
    let upkeep = || plan.tasks.iter().filter(|task| task.upkeep);
    let is_upkeep = |id: &TaskId| upkeep().any(|task| task.id == *id);
    let tasks = plan.tasks.iter().filter(|task| !task.upkeep).map(|task| {
        let needs: Vec<_> = task.depends_on.iter().filter(|id| !is_upkeep(id)).collect();
        json!({
            "id": task.id,
            "name": task.name,
            "category": task.category,
            "layer": task.layer,
            "action": task.action(),
            "version": task.found.as_ref().and_then(|found| found.version.clone()),
            "path": task.found.as_ref().and_then(|found| found.path.clone()),
            "variant": task.variant,
            "packages": task.packages,
            "commands": task.commands.iter().map(command_json).collect::<Vec<_>>(),
            "manual": task.manual,
            "shell_integration": task.shell_integration,
            "depends_on": needs,
        })
    });
    json!({
        "digest": plan.compute_digest(),
        "profile": plan.profile,
        "tasks": tasks.collect::<Vec<_>>(),
        "may_also_run": upkeep().flat_map(|task| &task.commands).map(command_json).collect::<Vec<_>>(),
        "user_data": plan.user_data,
    })
}

fn command_json(command: &PlanCommand) -> Value {
    json!({
        "command": command.command,
        "description": command.description.as_ref().or(command.name.as_ref()),
        "requires_sudo": command.requires_sudo,
        "env": command.env,
        "working_dir": command.working_dir,
    })
}

/// `plan_approved (MUST, pending): the plan … waits for approval`
pub fn gate_text(gate: &GateRecord) -> String {
    let (level, status) = (gate.level.name(), gate.status.name());
    let evidence =
        gate.evidence.as_deref().map_or_else(String::new, |e| format!(": {}", visible(e)));
    format!("{} ({level}, {status}){evidence}", visible(&gate.gate))
}
