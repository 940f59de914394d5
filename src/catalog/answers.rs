//! A file with answers, for a walk that nobody attends.

use std::path::Path;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{
    check::Check,
    diagnostic::{Code, Diagnostic, Severity},
    node::Node,
    place::KeyPath,
    source::read_source,
};
use crate::{
    disk::Fs,
    model::{
        ExecutionMode, TASK_IDS, TaskId,
        format::{
            Form,
            Shape::{Choice, Map, Text},
            record,
        },
    },
};

record! {
    /// A file with answers, for a walk without a terminal.
    #[derive(Default)]
    pub struct Answers: "an answers file" {
        /// The profile that is chosen
        optional profile: Option<String> = Text(Form::Name),
        /// The letter or the value of an option, by question
        optional answers: IndexMap<String, String> = Map(Form::Some, &Text(Form::Some)),
        /// Data for commands; never a secret
        optional user_data: IndexMap<String, String> = Map(Form::DataKey, &Text(Form::Any)),
        /// Options of tasks, by task
        optional options: IndexMap<TaskId, IndexMap<String, String>> =
            Map(Form::TaskId, &Map(Form::DataKey, &Text(Form::Any))),
        /// Tasks beside those of the profile
        optional add: Vec<TaskId> = TASK_IDS,
        /// Tasks that are left out
        optional without: Vec<TaskId> = TASK_IDS,
        /// Run everything, or ask before each step
        optional mode: Option<ExecutionMode> = Choice(&["all_at_once", "review_each_step"]),
    }
}

/// Reads a file with answers; otherwise everything that is wrong with it.
pub fn read_answers(fs: &Fs, path: &Path) -> Result<Answers, Vec<Diagnostic>> {
    let source = read_source(fs, path, 0).map_err(|mistake| vec![mistake])?;
    let root = match Node::parse(&source.text) {
        Ok(root) => root,
        Err(unreadable) => {
            let code = if unreadable.is_too_much { Code::YamlLimit } else { Code::YamlSyntax };
            let (place, top) = (unreadable.place, KeyPath::root());
            return Err(vec![Diagnostic::error(code, &source, place, top, unreadable.message)]);
        }
    };
    let mut check = Check { source: &source, unknown_fields: Severity::Error, found: Vec::new() };
    let value = check.record(Answers::FORMAT, &root, &KeyPath::root());
    let mut found = check.found;
    match value.map(serde_json::from_value) {
        Some(Ok(answers)) if found.is_empty() => return Ok(answers),
        Some(Err(error)) if found.is_empty() => {
            let message = format!("it cannot be used: {error}");
            let (place, top) = (root.place, KeyPath::root());
            found.push(Diagnostic::error(Code::InvalidValue, &source, place, top, message));
        }
        _ => {}
    }
    Err(found)
}
