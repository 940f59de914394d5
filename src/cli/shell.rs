//! `provision shell`, and the question whether tasks may add lines to the configuration of shells.

use std::sync::atomic::AtomicBool;

use super::{
    args::ShellCommand,
    ask,
    failure::{Failure, Kind},
    output,
    settings::Settings,
};
use crate::{
    engine::{self, AddedBlock, BlockError, RunError, ShellChoice, ShellFile, WantedBlock, Wishes},
    face::{self, Reply},
    model::{SessionId, TaskId},
};

const NO_LINES: &str = "nothing of ours is in the configuration of your shells";

pub(super) fn run(settings: &Settings, command: Option<ShellCommand>) -> Result<(), Failure> {
    match command.unwrap_or(ShellCommand::List) {
        ShellCommand::List => list(settings),
        ShellCommand::Add { session, all, yes } => add(settings, &session, all, yes),
        ShellCommand::Remove { tasks } => remove(settings, &tasks),
    }
}

/// What was said beforehand, or else what a person says now, if there is anything to ask about and
/// someone to ask.
pub(super) fn decide(
    settings: &Settings,
    wishes: &Wishes,
    asked: impl FnOnce() -> Vec<WantedBlock>,
) -> Result<Option<ShellChoice>, RunError> {
    if wishes.shell_integration.is_some() || settings.json || !ask::can_ask(settings) {
        return Ok(wishes.shell_integration);
    }
    let blocks = asked();
    if blocks.is_empty() {
        return Ok(None);
    }
    let nobody = AtomicBool::new(false);
    match face::ask_about_shells(settings.screen.terminal(), &blocks, &nobody) {
        Ok(Reply::Answer(allowed)) => Ok(Some(ShellChoice { allowed, asked: true })),
        Ok(Reply::Back) => Ok(None),
        Ok(Reply::Left(_)) | Err(_) => Err(RunError::Interrupted),
    }
}

fn list(settings: &Settings) -> Result<(), Failure> {
    let files = settings.shell_files();
    if settings.json {
        output::json_document(&face::shell_files_json(&files))?;
    } else {
        output::data(&face::shell_files_text(&files))?;
        if files.iter().all(|file| file.tasks.as_ref().is_ok_and(Vec::is_empty)) {
            output::note(settings, NO_LINES);
        }
        for file in files.iter().filter(|file| file.tasks.as_ref().is_ok_and(|t| !t.is_empty())) {
            if let (Some(rc), Some(line)) = (file.sourced_by(), file.missing_line()) {
                let (rc, file) = (rc.display(), file.file.display());
                let message = format!("{rc} does not source {file}; it lacks this line:\n{line}");
                output::note(settings, &message);
            }
        }
    }
    complain(files.iter().filter_map(|file| file.tasks.as_ref().err()), "read")
}

fn add(settings: &Settings, session: &str, all: bool, yes: bool) -> Result<(), Failure> {
    let around = settings.surroundings()?;
    let id = around.store.resolve(session)?;
    let replaced = engine::blocks_to_replace(&around, &id, all)?;
    if !replaced.is_empty() && !yes {
        confirm_replacing(settings, &id, &replaced)?;
    }
    let added = engine::add_shell_blocks(&around, &id, all)?;
    if settings.json {
        output::json_document(&face::added_json(&id, &added))?;
    } else {
        output::data(&face::added_text(&added))?;
        if added.is_empty() {
            output::note(
                settings,
                &format!(
                    "nothing that session {id} has installed has lines for a shell of yours; \
                     --all takes in what was there before"
                ),
            );
        }
    }
    let failed: Vec<_> = added.iter().filter(|added| added.changed.is_err()).collect();
    for AddedBlock { block, .. } in &failed {
        output::note(
            settings,
            &format!(
                "the lines of {} for {}:\n{}",
                block.task_id,
                block.file.display(),
                block.lines.trim_end()
            ),
        );
    }
    let errors = failed.iter().filter_map(|added| added.changed.as_ref().err());
    complain(errors, "changed").map_err(|mut failure| {
        let again = format!("repair it, then: provision shell add {id}; or add the lines yourself");
        failure.hints = vec![again];
        failure.session(id)
    })
}

/// Asks before blocks of an earlier version are replaced in a person's files.
fn confirm_replacing(
    settings: &Settings,
    id: &SessionId,
    replaced: &[WantedBlock],
) -> Result<(), Failure> {
    let mut blocks: Vec<_> = replaced
        .iter()
        .map(|block| format!("{} in {}", block.task_id, block.file.display()))
        .collect();
    blocks.sort();
    let blocks = blocks.join(", ");
    if ask::can_ask(settings) && ask::confirm(settings, &format!("Replace the blocks of {blocks}?"))
    {
        return Ok(());
    }
    let message = format!("earlier blocks would be replaced: {blocks}");
    Err(Failure::new(Kind::Undecided, message)
        .hint(format!("`provision shell add {id} --yes` replaces them without asking"))
        .session(id.clone()))
}

fn remove(settings: &Settings, tasks: &[TaskId]) -> Result<(), Failure> {
    let files = settings.shell_files();
    complain(files.iter().filter_map(|file| file.tasks.as_ref().err()), "read")?;
    let mut known: Vec<TaskId> =
        files.iter().flat_map(|file| file.tasks.iter().flatten()).cloned().collect();
    known.sort();
    known.dedup();
    if let Some(unknown) = tasks.iter().find(|task| !known.contains(task)) {
        return Err(no_block(unknown, &known));
    }
    let meant = if tasks.is_empty() { &known } else { tasks };
    let mut removed: Vec<(&ShellFile, Vec<TaskId>)> = Vec::new();
    let mut errors = Vec::new();
    for file in &files {
        match file.remove(meant) {
            Ok(gone) => removed.push((file, gone)),
            Err(error) => errors.push(error),
        }
    }
    if settings.json {
        output::json_document(&face::removed_json(&removed))?;
    } else {
        output::data(&face::removed_text(&removed))?;
        if removed.iter().all(|(_, gone)| gone.is_empty()) && errors.is_empty() {
            output::note(settings, NO_LINES);
        }
    }
    complain(errors.iter(), "changed")
}

fn no_block(unknown: &TaskId, known: &[TaskId]) -> Failure {
    let message = format!("no shell's configuration has lines of `{unknown}`");
    let names: Vec<&str> = known.iter().map(TaskId::as_str).collect();
    let mut failure =
        Failure::new(Kind::Usage, message).did_you_mean(unknown.as_str(), names.iter().copied());
    if failure.hints.is_empty() && !names.is_empty() {
        failure = failure.hint(format!("there are: {}", names.join(", ")));
    }
    failure.hint("`provision shell` lists them")
}

/// One failure for all files that something is wrong with.
fn complain<'e>(errors: impl Iterator<Item = &'e BlockError>, what: &str) -> Result<(), Failure> {
    let mut causes: Vec<String> = errors.map(BlockError::text).collect();
    causes.dedup();
    if causes.is_empty() {
        return Ok(());
    }
    let message = format!("a shell's configuration could not be {what}");
    Err(Failure::new(Kind::ShellFile, message)
        .causes(causes)
        .hint("repair the file or move it away, then try again"))
}
