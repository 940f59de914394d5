//! A file with answers, for a walk that nobody attends.

use std::path::Path;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{
    check::Check,
    diagnostic::{Diagnostic, Severity},
    manifest::{made, parse},
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
    let root = parse(&source).map_err(|mistake| vec![mistake])?;
    let mut check = Check { source: &source, unknown_fields: Severity::Error, found: Vec::new() };
    let top = KeyPath::root();
    let value = check.record(Answers::FORMAT, &root, &top);
    // Answers from a file with a mistake are not used.
    if check.found.is_empty()
        && let Some(answers) = value.and_then(|value| made(&mut check, value, &root, &top))
    {
        return Ok(answers);
    }
    Err(check.found)
}
