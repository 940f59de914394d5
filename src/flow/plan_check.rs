//! What is wrong with a plan: everything at once, each with its place.

use std::collections::{HashMap, HashSet};

use super::has_marker;
use crate::model::{Plan, PlanCommand, PlanTask, environment_name, is_reserved};

/// The longest text the system takes as one argument, with some room.
const LONGEST_COMMAND: usize = 120_000;

/// A mistake in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// As in `tasks[2].commands[0].env.PATH`.
    pub place: String,
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Every mistake in `plan`. One that has none can be executed.
pub fn plan_problems(plan: &Plan) -> Vec<Problem> {
    let mut found = Found(Vec::new());
    if plan.tasks.is_empty() {
        found.add("tasks", "the plan has no task");
    }
    for (key, datum) in &plan.user_data {
        let place = format!("user_data.{key}");
        found.name(&place, key, &environment_name(key));
        if datum.secret && datum.value.is_some() {
            found.add(&place, "a secret must not stand in a plan: leave out `value`");
        }
        if let Some(value) = &datum.value {
            found.text(&format!("{place}.value"), value);
        }
    }
    if let Some(digest) = &plan.digest {
        let computed = plan.compute_digest();
        if *digest != computed {
            let message = format!(
                "the plan says it is {digest}, but its content has {computed}: it was changed"
            );
            found.add("digest", message);
        }
    }
    let mut places = HashMap::new();
    for (number, task) in plan.tasks.iter().enumerate() {
        let place = format!("tasks[{number}]");
        if let Some(first) = places.get(&task.id) {
            found.add(&place, format!("task `{}` stands here and in tasks[{first}]", task.id));
        }
        found.task(&place, task, &places);
        places.entry(&task.id).or_insert(number);
    }
    let all: HashSet<_> = plan.tasks.iter().map(|task| &task.id).collect();
    for (number, task) in plan.tasks.iter().enumerate() {
        for needed in task.depends_on.iter().filter(|needed| !all.contains(needed)) {
            let message =
                format!("task `{}` depends on `{needed}`, which is not in the plan", task.id);
            found.add(&format!("tasks[{number}].depends_on"), message);
        }
        for earlier in &task.after {
            let message = match places.get(earlier) {
                _ if *earlier == task.id => format!("task `{earlier}` comes after itself"),
                None => {
                    format!("task `{}` comes after `{earlier}`, which is not in the plan", task.id)
                }
                Some(at) if *at > number => {
                    format!("`{earlier}` must stand before `{}`, which comes after it", task.id)
                }
                Some(_) => continue,
            };
            found.add(&format!("tasks[{number}].after"), message);
        }
    }
    found.0
}

struct Found(Vec<Problem>);

impl Found {
    fn add(&mut self, place: &str, message: impl Into<String>) {
        self.0.push(Problem { place: place.into(), message: message.into() });
    }

    fn task<'a>(
        &mut self,
        place: &str,
        task: &'a PlanTask,
        before: &HashMap<&'a crate::model::TaskId, usize>,
    ) {
        for needed in &task.depends_on {
            if *needed == task.id {
                self.add(
                    &format!("{place}.depends_on"),
                    format!("task `{needed}` depends on itself"),
                );
            } else if !before.contains_key(needed) {
                let message =
                    format!("`{needed}` must stand before `{}`, which depends on it", task.id);
                self.add(&format!("{place}.depends_on"), message);
            }
        }
        for (number, directory) in task.path.iter().enumerate() {
            self.absolute(&format!("{place}.path[{number}]"), directory);
            if directory.contains(':') {
                self.add(&format!("{place}.path[{number}]"), "a directory of PATH holds no colon");
            }
        }
        if let Some(detection) = &task.detection {
            let place = format!("{place}.detection");
            let probes = [
                ("check_command", &detection.check_command),
                ("version_command", &detection.version_command),
            ];
            for (name, command) in probes {
                if let Some(command) = command {
                    self.command(&format!("{place}.{name}"), command);
                }
            }
            if let Some(path) = &detection.installed_indicator {
                self.absolute(&format!("{place}.installed_indicator"), path);
            }
        }
        for (number, command) in task.commands.iter().enumerate() {
            self.planned(&format!("{place}.commands[{number}]"), command);
        }
        for (shell, lines) in &task.shell_integration {
            if has_marker(lines) {
                let message = "a line looks like a marker that provision writes into shell files";
                self.add(&format!("{place}.shell_integration.{shell}"), message);
            }
        }
        if let Some(verification) = &task.verification {
            let place = format!("{place}.verification");
            self.command(&format!("{place}.command"), &verification.command);
            if let Some(pattern) = &verification.expected_pattern
                && let Err(error) = regex::Regex::new(pattern)
            {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim();
                let message = format!("`{pattern}` is not a regular expression: {reason}");
                self.add(&format!("{place}.expected_pattern"), message);
            }
        }
    }

    fn planned(&mut self, place: &str, command: &PlanCommand) {
        self.command(&format!("{place}.command"), &command.command);
        if command.timeout_seconds == Some(0) {
            self.add(&format!("{place}.timeout_seconds"), "a command needs at least one second");
        }
        if let Some(directory) = &command.working_dir {
            self.absolute(&format!("{place}.working_dir"), directory);
        }
        for (name, value) in &command.env {
            let place = format!("{place}.env.{name}");
            self.name(&place, name, name);
            self.text(&place, value);
        }
    }

    fn command(&mut self, place: &str, command: &str) {
        if command.trim().is_empty() {
            self.add(place, "the command is empty");
        } else if command.len() > LONGEST_COMMAND {
            let message =
                format!("the command has {} bytes; the most is {LONGEST_COMMAND}", command.len());
            self.add(place, message);
        }
        self.text(place, command);
    }

    fn text(&mut self, place: &str, text: &str) {
        if text.contains('\0') {
            self.add(place, "a NUL character can be given to no command");
        }
    }

    /// `key` is what stands in the plan, `name` what the command will see.
    fn name(&mut self, place: &str, key: &str, name: &str) {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_name = name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit());
        if name.is_empty() || !is_name {
            let message = format!("`{key}` is not a name: letters, digits and _ make one");
            self.add(place, message);
        } else if is_reserved(name) {
            let message = format!("`{key}` would set ${name}, which means something to the system");
            self.add(place, message);
        }
    }

    fn absolute(&mut self, place: &str, path: &str) {
        self.text(place, path);
        if !(path.starts_with('/') || path == "~" || path.starts_with("~/")) {
            self.add(place, format!("`{path}` does not begin with / or ~/"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::plan_problems;

    fn problems(tasks: &Value, user_data: &Value) -> Vec<String> {
        let plan = json!({"format": "plan-v1", "tasks": tasks, "user_data": user_data});
        let plan = serde_json::from_value(plan).unwrap();
        plan_problems(&plan).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn all_mistakes_are_found_in_one_go() {
        let tasks = json!([
            {"id": "b", "depends_on": ["a", "b", "nowhere"], "path": ["bin"]},
            {"id": "a", "commands": [
                {"command": " ", "env": {"LD_PRELOAD": "x", "1X": "y"}, "timeout_seconds": 0},
                {"command": "x\u{0}y", "working_dir": "here"}
            ]},
            {"id": "a", "detection": {"installed_indicator": "x", "check_command": ""},
             "verification": {"command": "x", "expected_pattern": "("}}
        ]);
        let user_data = json!({"path": {"value": "/evil"}, "k": {"value": "v", "secret": true}});
        let found = problems(&tasks, &user_data);
        let places: Vec<_> =
            found.iter().map(|problem| problem.split(": ").next().unwrap()).collect();
        assert_eq!(
            places,
            [
                "user_data.path",
                "user_data.k",
                "tasks[0].depends_on",
                "tasks[0].depends_on",
                "tasks[0].depends_on",
                "tasks[0].path[0]",
                "tasks[1].commands[0].command",
                "tasks[1].commands[0].timeout_seconds",
                "tasks[1].commands[0].env.1X",
                "tasks[1].commands[0].env.LD_PRELOAD",
                "tasks[1].commands[1].command",
                "tasks[1].commands[1].working_dir",
                "tasks[2]",
                "tasks[2].detection.check_command",
                "tasks[2].detection.installed_indicator",
                "tasks[2].verification.expected_pattern",
                "tasks[0].depends_on",
            ]
        );
    }

    #[test]
    fn what_a_task_comes_after_stands_before_it_in_the_plan() {
        let tasks = json!([
            {"id": "first", "after": ["second", "first", "nowhere"]},
            {"id": "second", "after": ["first"]}
        ]);
        assert_eq!(
            problems(&tasks, &json!({})),
            [
                "tasks[0].after: `second` must stand before `first`, which comes after it",
                "tasks[0].after: task `first` comes after itself",
                "tasks[0].after: task `first` comes after `nowhere`, which is not in the plan",
            ]
        );
    }

    #[test]
    fn a_plan_that_says_another_digest_than_it_has_is_refused() {
        let mut plan = json!({"format": "plan-v1", "tasks": [{"id": "a"}]});
        plan["digest"] = json!("0".repeat(64));
        let plan = serde_json::from_value(plan).unwrap();
        assert_eq!(plan_problems(&plan)[0].place, "digest");
    }

    #[test]
    fn a_sound_plan_has_none() {
        let tasks = json!([
            {"id": "a", "path": ["~/.local/bin"], "commands": [{"command": "true"}]},
            {"id": "b", "depends_on": ["a"]},
            {"id": "c", "after": ["a", "b"]}
        ]);
        assert_eq!(problems(&tasks, &json!({"git_name": {"value": "Ada"}})), Vec::<String>::new());
    }
}
