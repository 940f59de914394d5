//! A file with answers, for a walk that nobody attends.

use std::path::Path;

use indexmap::IndexMap;
use serde::Deserialize;

use super::{
    check::Check,
    diagnostic::{Code, Diagnostic, Severity},
    format::ANSWERS,
    node::Node,
    place::KeyPath,
    source::read_source,
};
use crate::{
    disk::Fs,
    model::{ExecutionMode, TaskId},
};

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Answers {
    pub profile: Option<String>,
    /// Letters or values, by question.
    pub answers: IndexMap<String, String>,
    pub user_data: IndexMap<String, String>,
    /// By task.
    pub options: IndexMap<TaskId, IndexMap<String, String>>,
    pub add: Vec<TaskId>,
    pub without: Vec<TaskId>,
    pub mode: Option<ExecutionMode>,
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
    let value = check.record(&ANSWERS, &root, &KeyPath::root());
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
