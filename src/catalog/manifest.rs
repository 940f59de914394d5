//! One file of a catalog: tasks or a profile, and what is wrong with it by itself.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    check::Check,
    diagnostic::{Code, Diagnostic, Severity, Source},
    lint::Lint,
    node::{Content, Node},
    place::{KeyPath, Place},
    profile_lint::lint_profile,
    task_lint::lint_task,
};
use crate::model::{Profile, TASK_FILE, Task};

/// How a file is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Our own: nothing is let pass.
    Ours,
    /// Others': what we do not know is passed by with a warning.
    Others,
}

#[derive(Debug)]
pub struct Manifest {
    pub source: Arc<Source>,
    pub root: Arc<Node>,
    pub tasks: Vec<Task>,
    pub profile: Option<Profile>,
    pub found: Vec<Diagnostic>,
}

impl Manifest {
    pub fn read(source: Arc<Source>, rules: Rules) -> Self {
        let root = match parse(&source) {
            Ok(root) => root,
            Err(mistake) => {
                let root = Node { place: Place::BEGINNING, content: Content::Null };
                return Self {
                    source,
                    root: Arc::new(root),
                    tasks: Vec::new(),
                    profile: None,
                    found: vec![mistake],
                };
            }
        };
        let unknown_fields = match rules {
            Rules::Ours => Severity::Error,
            Rules::Others => Severity::Warning,
        };
        let mut check = Check { source: &source, unknown_fields, found: Vec::new() };
        let (mut tasks, mut profile) = (Vec::new(), None);
        if root.get("tasks").is_some() {
            tasks = read_tasks(&mut check, &root);
        } else if root.get("question_flow").is_some() || root.get("required_tasks").is_some() {
            profile = read_profile(&mut check, &root);
        } else {
            let message = if root.content == Content::Null {
                "there is nothing in it"
            } else {
                "it has neither `tasks` nor `question_flow` or `required_tasks`"
            };
            let top = KeyPath::root();
            check.found.push(Diagnostic::error(
                Code::NotAManifest,
                &source,
                root.place,
                top,
                message,
            ));
        }
        let mut found = check.found;
        // One that is wrong has been reported; it is not missing.
        let has_category = root.get("metadata").is_some_and(|data| data.get("category").is_some());
        for task in &tasks {
            let mut lint = Lint::of_task(&source, &root, &task.id, &mut found);
            lint_task(&mut lint, task, rules == Rules::Ours, has_category);
        }
        if let Some(profile) = &profile {
            let mut lint = Lint::of_file(&source, &root, &mut found);
            lint_profile(&mut lint, profile, rules == Rules::Ours);
        }
        Self { source, root: Arc::new(root), tasks, profile, found }
    }
}

/// Parses a file. Returns the mistake in its YAML if there is one.
pub(super) fn parse(source: &Arc<Source>) -> Result<Node, Diagnostic> {
    Node::parse(&source.text).map_err(|unreadable| {
        let code = if unreadable.is_too_much { Code::YamlLimit } else { Code::YamlSyntax };
        Diagnostic::error(code, source, unreadable.place, KeyPath::root(), unreadable.message)
    })
}

fn read_tasks(check: &mut Check<'_>, root: &Node) -> Vec<Task> {
    let Some(Value::Object(mut file)) = check.record(&TASK_FILE, root, &KeyPath::root()) else {
        return Vec::new();
    };
    let category = file.get("metadata").and_then(|metadata| metadata.get("category")).cloned();
    let Some(Value::Object(tasks)) = file.remove("tasks") else { return Vec::new() };
    let mut read = Vec::new();
    for (id, mut task) in tasks {
        let key = KeyPath::root().key("tasks").key(&id);
        task["id"] = json!(id);
        if task.get("category").is_none() {
            task["category"] = category.clone().unwrap_or_default();
            if task["category"].is_null() {
                task["category"] = json!("");
            }
        }
        read.extend(made(check, task, root, &key));
    }
    read
}

fn read_profile(check: &mut Check<'_>, root: &Node) -> Option<Profile> {
    let mut value = check.record(Profile::FORMAT, root, &KeyPath::root())?;
    // Without an id it is of no use, but what else is wrong with it is told all the same.
    if value.get("metadata").is_none() {
        value["metadata"] = json!({});
    }
    if value["metadata"].get("id").is_none() {
        value["metadata"]["id"] = json!(check.source.name);
    }
    made(check, value, root, &KeyPath::root())
}

/// What has its shape also has its type; were that not so, it is a mistake like others.
pub(super) fn made<T: serde::de::DeserializeOwned>(
    check: &mut Check<'_>,
    value: Value,
    root: &Node,
    key: &KeyPath,
) -> Option<T> {
    match serde_json::from_value(value) {
        Ok(made) => Some(made),
        Err(error) => {
            let place = root.find_key(key).place;
            let message = format!("it cannot be used: {error}");
            let mistake =
                Diagnostic::error(Code::InvalidValue, check.source, place, key.clone(), message);
            check.found.push(mistake);
            None
        }
    }
}
