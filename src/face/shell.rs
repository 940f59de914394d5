//! Lines in the configuration of shells: what is asked about them, and what became of them.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use serde_json::{Value, json};

use super::visible;
use crate::{
    engine::{AddedBlock, Shell, ShellFile, WantedBlock},
    model::TaskId,
};

/// What a person is asked, with every file by its name.
pub fn shell_question(blocks: &[WantedBlock]) -> String {
    let mut files: BTreeMap<(&Path, Shell), Vec<&str>> = BTreeMap::new();
    for block in blocks {
        files.entry((&block.file, block.shell)).or_default().push(block.task_id.as_str());
    }
    let mut text = "These would add lines to the configuration of your shells:\n".to_owned();
    for ((file, shell), tasks) in files {
        let file = file.to_string_lossy();
        let _ = writeln!(
            text,
            "  {} ({}): {}",
            visible(&file),
            shell.name(),
            visible(&tasks.join(", "))
        );
    }
    text
}

/// Every line that would be added.
pub fn shell_lines(blocks: &[WantedBlock]) -> String {
    let mut text = String::new();
    for block in blocks {
        let (task, file) = (block.task_id.as_str(), block.file.to_string_lossy());
        let _ = writeln!(text, "{}, for {}:", visible(task), visible(&file));
        for line in block.lines.trim_end().lines() {
            let _ = writeln!(text, "  {}", visible(line));
        }
    }
    text
}

/// A block on a line, as lists have it: which file, which shell, whose.
fn line(text: &mut String, what: &str, file: &Path, shell: Shell, task: &TaskId) {
    let file = file.to_string_lossy();
    let _ =
        writeln!(text, "{what}{}  {}  {}", visible(&file), shell.name(), visible(task.as_str()));
}

fn json_of(file: &Path, sourced_by: Option<&Path>, shell: Shell, task: &TaskId) -> Value {
    let mut value = json!({"file": file.to_string_lossy(), "shell": shell, "task_id": task});
    if let Some(rc) = sourced_by {
        value["sourced_by"] = json!(rc.to_string_lossy());
    }
    value
}

fn json_of_file(file: &ShellFile, task: &TaskId) -> Value {
    json_of(&file.file, file.sourced_by(), file.shell, task)
}

pub fn shell_files_text(files: &[ShellFile]) -> String {
    let mut text = String::new();
    for file in files {
        for task in file.tasks.iter().flatten() {
            line(&mut text, "", &file.file, file.shell, task);
        }
    }
    text
}

pub fn shell_files_json(files: &[ShellFile]) -> Value {
    let blocks = files
        .iter()
        .flat_map(|file| file.tasks.iter().flatten().map(|task| json_of_file(file, task)));
    let problems = files.iter().filter_map(|file| {
        let error = file.tasks.as_ref().err()?.text();
        Some(json!({"file": file.file.to_string_lossy(), "shell": file.shell, "error": error}))
    });
    json!({"blocks": blocks.collect::<Vec<_>>(), "problems": problems.collect::<Vec<_>>()})
}

pub fn added_text(added: &[AddedBlock]) -> String {
    let mut text = String::new();
    for AddedBlock { block, changed } in added {
        let what = match changed {
            Ok(true) => "added  ",
            Ok(false) => "there already  ",
            Err(_) => continue,
        };
        line(&mut text, what, &block.file, block.shell, &block.task_id);
    }
    text
}

pub fn added_json(session_id: &impl serde::Serialize, added: &[AddedBlock]) -> Value {
    let blocks = added.iter().map(|AddedBlock { block, changed }| {
        let sourced_by = Some(block.file.as_path());
        let mut value = json_of(&block.env_file, sourced_by, block.shell, &block.task_id);
        value["changed"] = json!(matches!(changed, Ok(true)));
        value["error"] = json!(changed.as_ref().err().map(crate::engine::BlockError::text));
        value
    });
    json!({"session_id": session_id, "blocks": blocks.collect::<Vec<_>>()})
}

/// What was taken out of which file.
pub fn removed_text(removed: &[(&ShellFile, Vec<TaskId>)]) -> String {
    let mut text = String::new();
    for (file, tasks) in removed {
        for task in tasks {
            line(&mut text, "removed  ", &file.file, file.shell, task);
        }
    }
    text
}

pub fn removed_json(removed: &[(&ShellFile, Vec<TaskId>)]) -> Value {
    let blocks =
        removed.iter().flat_map(|(file, tasks)| tasks.iter().map(|task| json_of_file(file, task)));
    json!({"removed": blocks.collect::<Vec<_>>()})
}
