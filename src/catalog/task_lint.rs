//! What is wrong with one task, beyond its shape.

use std::collections::HashSet;

use super::{
    diagnostic::{Code, Severity},
    lint::Lint,
    node::{Content, Node},
    place::KeyPath,
    shell_text::{literal_sudo, newer_than_3_2, pasted},
};
use crate::model::{
    OptionKind, PLATFORMS, PackageManager, ShellConfig, ShellIntegration, Step, Task, TaskId,
    TaskOption, is_platform_name, nearest,
};

/// Looks at one task; `is_ours` is stricter.
pub fn lint_task(lint: &mut Lint<'_>, task: &Task, is_ours: bool, has_category: bool) {
    let top = KeyPath::root();
    let root = lint.root;
    let says = |field: &str| root.get(field).is_some_and(|node| node.content != Content::Null);
    let id = root.get("id").and_then(|id| id.text());
    if let Some(id) = id.filter(|id| *id != task.id.as_str()) {
        let message = format!("the id is `{id}`, but the task stands under `{}`", task.id);
        lint.at(Code::IdMismatch, &top.key("id"), message);
    }
    if !has_category && !says("category") {
        let message = "a task needs `category`, its own or in the file's `metadata`";
        lint.at_key(Code::MissingField, &top, message);
    }
    detection(lint, task, &top, says("detection"));
    let does_something = ["install", "packages", "shell_integration", "post_install"];
    if !does_something.iter().any(|field| root.get(field).is_some_and(holds_something)) {
        let message = format!("task `{}` says how to find it, but not how to install it", task.id);
        lint.at_key(Code::NothingToDo, &top, message).hint =
            Some("give it `packages`, or `install` with `steps`".into());
    }
    for (manager, packages) in &task.packages {
        let at = top.key("packages").key(manager.name());
        let is_empty =
            matches!(&lint.root.find(&at).content, Content::List(items) if items.is_empty());
        if packages.is_empty() && is_empty {
            lint.at(Code::InvalidValue, &at, "the list names no package");
        }
    }
    platforms(lint, task, &top.key("platforms"));
    options(lint, task, &top.key("options"));
    variants(lint, task, &top.key("install").key("variants"));
    for (number, entry) in task.post_install.iter().enumerate() {
        let told = [&entry.message, &entry.notes, &entry.note];
        let at = top.key("post_install").item(number);
        let tells = told.iter().any(|text| text.is_some()) || entry.shell_config.is_some();
        if entry.task.is_none() && !tells && is_complete(lint, &at) {
            let message = "an entry needs `task`, or something to tell such as `message`";
            lint.at(Code::MissingField, &at, message);
        }
    }
    for (at, step, _) in steps(task, &top) {
        let configures = step.shell_config.as_ref().is_some_and(ShellConfig::has_text);
        let does = step.command.is_some() || step.manual.is_some() || configures;
        if !does && is_complete(lint, &at) {
            lint.at(Code::MissingField, &at, "a step needs `command`, `manual` or `shell_config`");
        }
    }
    for (at, text, runs_on_macos) in commands(task, &top) {
        command(lint, &at, text, is_ours, runs_on_macos);
    }
    for (at, text) in other_texts(task, &top) {
        for remark in pasted(text) {
            lint.within(Code::PastedValue, &at, text, remark.at, remark.message).hint = remark.hint;
        }
    }
}

/// Whether there is anything in a field: in a list, in a mapping, or in the lists in a mapping.
fn holds_something(node: &Node) -> bool {
    match &node.content {
        Content::Null => false,
        Content::List(items) => !items.is_empty(),
        Content::Map(entries) => entries.iter().any(|entry| holds_something(&entry.value)),
        Content::Flag(..) | Content::Number(_) | Content::Text(_) => true,
    }
}

fn platforms(lint: &mut Lint<'_>, task: &Task, at: &KeyPath) {
    let unknown = |name: &&str| !is_platform_name(name);
    for (at, node) in lint.root.items(at) {
        // One that cannot be a platform at all has been reported.
        let is_kept = |name: &&str| task.platforms.iter().any(|kept| kept == name);
        if let Some(name) = node.text().filter(is_kept).filter(unknown) {
            let message = format!("we know of no platform `{name}`");
            let mistake = lint.at(Code::UnknownPlatform, &at, message);
            mistake.severity = Severity::Warning;
            mistake.hint = nearest(name, PLATFORMS).map(|name| format!("did you mean `{name}`?"));
        }
    }
}

/// Whether what is missing from the entry at `key` is really not there, rather than wrong and
/// reported already.
fn is_complete(lint: &Lint<'_>, key: &KeyPath) -> bool {
    let names = ["task", "message", "notes", "note", "shell_config", "command", "manual"];
    let node = lint.root.find(key);
    matches!(node.content, Content::Map(_))
        && names.iter().all(|name| {
            node.get(name)
                .is_none_or(|value| matches!(value.content, Content::Null | Content::Flag(..)))
        })
}

fn detection(lint: &mut Lint<'_>, task: &Task, top: &KeyPath, is_there: bool) {
    let at = top.key("detection");
    let says = ["check_command", "installed_indicator"];
    if !is_there {
        let message =
            format!("task `{}` has no `detection`: nobody can tell whether it is there", task.id);
        lint.at_key(Code::NoDetection, top, message).hint =
            Some(format!("detection: {{check_command: command -v {}}}", task.id));
    } else if let node = lint.root.find(&at)
        && matches!(node.content, Content::Map(_))
        && says.iter().all(|field| node.get(field).is_none_or(|n| n.content == Content::Null))
    {
        let message = "detection needs `check_command` or `installed_indicator`";
        lint.at_key(Code::NoDetection, &at, message);
    }
}

fn options(lint: &mut Lint<'_>, task: &Task, at: &KeyPath) {
    let mut ids = HashSet::new();
    let nodes = lint.root.items(at);
    for option in &task.options {
        // Options that were wrong are not in the list: this one is looked for by its id.
        let is_it = |node: &Node| node.get("id").and_then(Node::text) == Some(&option.id);
        let mut places = nodes.iter().filter(|(_, node)| is_it(node)).map(|(at, _)| at);
        if !ids.insert(&option.id) {
            if let Some(at) = places.nth(1) {
                let message = format!("option `{}` stands here a second time", option.id);
                lint.at(Code::InvalidValue, &at.key("id"), message);
            }
            continue;
        }
        if let Some(at) = places.next() {
            one_option(lint, option, at);
        }
    }
}

fn one_option(lint: &mut Lint<'_>, option: &TaskOption, at: &KeyPath) {
    let is_choice = option.kind == OptionKind::Choice;
    if is_choice && lint.root.find(at).get("choices").is_none() {
        lint.at(Code::MissingField, at, "an option of type `choice` needs `choices`");
    }
    let Some(default) = &option.default else { return };
    let wrong = match option.kind {
        OptionKind::Number => default.parse::<f64>().is_err().then(|| "is not a number".to_owned()),
        OptionKind::Boolean => (!matches!(default.as_str(), "true" | "false"))
            .then(|| "is not `true` or `false`".into()),
        OptionKind::Secret => {
            Some("stands in a file that others read: a secret has no default".into())
        }
        OptionKind::String | OptionKind::Choice => {
            let given = !option.choices.is_empty();
            (given && !option.choices.contains(default)).then(|| "is not one of the choices".into())
        }
    };
    if let Some(wrong) = wrong {
        let shown = if option.kind == OptionKind::Secret {
            "the default".into()
        } else {
            format!("`{default}`")
        };
        lint.at(Code::InvalidValue, &at.key("default"), format!("{shown} {wrong}"));
    }
}

fn variants(lint: &mut Lint<'_>, task: &Task, at: &KeyPath) {
    for key in task.install.variants.keys() {
        let is_choice = task.options.iter().any(|option| match option.kind {
            OptionKind::Boolean => key == "true" || key == "false",
            // What is typed freely may be anything.
            _ => option.choices.is_empty() || option.choices.contains(key),
        });
        let is_dependency = task.dependencies.one_of.iter().any(|id| id.as_str() == key);
        let is_manager = PackageManager::ALL
            .iter()
            .any(|manager| manager.name() == key || manager.provider() == Some(key));
        if !(is_choice || is_dependency || is_manager || is_platform_name(key)) {
            let names = PLATFORMS.into_iter().chain(PackageManager::ALL.map(PackageManager::name));
            let choices = task.options.iter().flat_map(|option| &option.choices);
            let others = task.dependencies.one_of.iter().map(TaskId::as_str);
            let names = names.chain(choices.map(String::as_str)).chain(others);
            let message = format!("we know of nothing that would choose the variant `{key}`");
            let hint = match nearest(key, names) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "a variant is chosen by an option, a `one_of` dependency, a platform or a \
                         package manager"
                    .into(),
            };
            let mistake = lint.at_key(Code::UnknownVariant, &at.key(key), message);
            mistake.severity = Severity::Warning;
            mistake.hint = Some(hint);
        }
    }
}

fn command(lint: &mut Lint<'_>, at: &KeyPath, text: &str, is_ours: bool, runs_on_macos: bool) {
    for remark in pasted(text) {
        lint.within(Code::PastedValue, at, text, remark.at, remark.message).hint = remark.hint;
    }
    if is_ours && let Some(part) = literal_sudo(text) {
        let message = "`sudo` in a command of our own";
        lint.within(Code::LiteralSudo, at, text, part, message).hint =
            Some("use `requires_sudo: true`, or `packages`".into());
    }
    if runs_on_macos {
        for remark in newer_than_3_2(text) {
            let mistake = lint.within(Code::NewBash, at, text, remark.at, remark.message);
            mistake.severity = Severity::Warning;
        }
    }
}

/// Every step with its place, and whether macOS may run it.
fn steps<'a>(task: &'a Task, top: &KeyPath) -> Vec<(KeyPath, &'a Step, bool)> {
    let is_for_macos = for_macos(&task.platforms);
    let install = top.key("install");
    let mut all = Vec::new();
    for (number, step) in task.install.steps.iter().enumerate() {
        all.push((install.key("steps").item(number), step, is_for_macos));
    }
    for (key, variant) in &task.install.variants {
        let at = install.key("variants").key(key).key("steps");
        let elsewhere = is_platform_name(key) && !for_macos(std::slice::from_ref(key));
        let by_key = |manager: &PackageManager| manager.name() == key;
        let manager = PackageManager::ALL.into_iter().find(by_key);
        let manager = manager.and_then(PackageManager::platform);
        let is_for_macos =
            is_for_macos && !elsewhere && manager.is_none_or(|platform| platform == "macos");
        for (number, step) in variant.steps.iter().enumerate() {
            all.push((at.item(number), step, is_for_macos));
        }
    }
    all
}

/// Every command with its place, and whether macOS may run it.
fn commands<'a>(task: &'a Task, top: &KeyPath) -> Vec<(KeyPath, &'a str, bool)> {
    let is_for_macos = for_macos(&task.platforms);
    let (detection, verification) = (top.key("detection"), top.key("verification"));
    let around = [
        (detection.key("check_command"), task.detection.check_command.as_deref()),
        (detection.key("version_command"), task.detection.version_command.as_deref()),
        (verification.key("command"), task.verification.as_ref().map(|v| v.command.as_str())),
        (top.key("env_setup"), task.env_setup.as_deref()),
    ];
    let around = around.into_iter().filter_map(|(at, text)| Some((at, text?, is_for_macos)));
    let steps = steps(task, top).into_iter();
    let steps = steps.filter_map(|(at, step, is_for_macos)| {
        Some((at.key("command"), step.command.as_deref()?, is_for_macos))
    });
    let shell = task.shell_integration.bash.as_deref();
    let shell = shell.map(|text| (top.key("shell_integration").key("bash"), text, is_for_macos));
    around.chain(steps).chain(shell).collect()
}

/// Texts that are no commands, but in which someone might expect values to be filled in.
fn other_texts<'a>(task: &'a Task, top: &KeyPath) -> Vec<(KeyPath, &'a str)> {
    let mut all = Vec::new();
    let shells = |at: &KeyPath, texts: &'a ShellIntegration| {
        let at = at.clone();
        texts
            .texts()
            .filter(|(shell, _)| *shell != "bash")
            .map(move |(shell, text)| (at.key(shell), text))
            .collect::<Vec<_>>()
    };
    all.extend(shells(&top.key("shell_integration"), &task.shell_integration));
    for (at, step, _) in steps(task, top) {
        all.extend(step.env.iter().map(|(name, value)| (at.key("env").key(name), value.as_str())));
        all.extend(step.working_dir.as_deref().map(|text| (at.key("working_dir"), text)));
        if let Some(config) = &step.shell_config {
            all.extend(config.text.as_deref().map(|text| (at.key("shell_config"), text)));
            all.extend(shells(&at.key("shell_config"), &config.by_shell));
        }
    }
    all
}

/// The text of every command of a task, whichever variant it belongs to.
pub fn command_texts(task: &Task) -> Vec<&str> {
    commands(task, &KeyPath::root()).into_iter().map(|(_, text, _)| text).collect()
}

fn for_macos(platforms: &[String]) -> bool {
    let is_macos = |name: &String| {
        let system = name.split('-').next().unwrap_or_default();
        matches!(system, "macos" | "darwin" | "aarch64" | "arm64" | "x86_64" | "amd64")
    };
    platforms.is_empty() || platforms.iter().any(is_macos)
}
