//! The part of a run that adds a task's lines to the configuration of shells, where that is allowed,
//! and says what to do where nobody decided.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value};

use super::{
    run::Run,
    shell_files::{BlockError, WantedBlock, is_done, wanted},
};
use crate::model::{Agent, ErrorClass, EventKind, FailureContext, PlanTask};

/// Whether lines may be added to the configuration of shells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShellChoice {
    pub allowed: bool,
    /// Whether a person was asked; else it was said beforehand.
    pub asked: bool,
}

impl ShellChoice {
    /// What is recorded of it in a run of `agent`.
    pub(super) fn event(self, agent: &Agent) -> EventKind {
        let agent = if self.asked { Agent::user() } else { agent.clone() };
        EventKind::ShellIntegrationDecided { allowed: self.allowed, agent }
    }
}

impl Run<'_> {
    /// Records what was decided, if it is not known yet: a resumed session is not asked again.
    pub(super) fn decide_about_shells(&self) {
        let known = self.session().shell_integration.as_ref().map(|known| known.allowed);
        if let Some(choice) = self.options.shell_integration
            && known != Some(choice.allowed)
        {
            self.queue(choice.event(&self.options.agent.clone()));
        }
    }

    /// Adds the lines of a task to the files of the shells that are in use, if that is allowed.
    /// Says whether it succeeded; if not, the task has failed.
    ///
    /// A file is changed before that is recorded. A run that dies in between does it again, and
    /// finds it done.
    pub(super) async fn add_to_shells(&self, task: &PlanTask) -> bool {
        if task.shell_integration.is_empty() {
            return true;
        }
        // What was decided may still be queued.
        self.ledger.is_durable().await;
        if !self.session().shell_integration.as_ref().is_some_and(|known| known.allowed) {
            return true;
        }
        for block in wanted(self.around, task) {
            let done = block.put();
            block.written(&done).into_iter().for_each(|event| self.queue(event));
            if let Some((file, Err(error))) = done.last() {
                self.fail_for_shell(&block, file, error).await;
                return false;
            }
        }
        true
    }

    async fn fail_for_shell(&self, block: &WantedBlock, file: &Path, error: &BlockError) {
        let (id, file) = (self.id(), file.to_string_lossy().into_owned());
        let lines = Value::String(block.lines.clone());
        let extra = Map::from_iter([("file".into(), file.clone().into()), ("lines".into(), lines)]);
        let mend = match error {
            BlockError::Flaw { .. } => "Repair the markers",
            BlockError::Foreign(_) => "Move the file away",
            BlockError::UnfitPath(_) => "Move the sessions to another --home",
            BlockError::Edit(_) if error.class() == ErrorClass::PermissionRequired => {
                "Make it writable"
            }
            BlockError::Edit(_) => "See what is wrong with the file",
        };
        let failure_context = FailureContext {
            error_type: error.class().name().into(),
            suggested_resolution: format!(
                "{mend}, then: provision resume {id}. Or add the lines yourself, then: \
                 provision resume {id} --shell-integration no"
            ),
            extra,
        };
        let task_id = block.task_id.clone();
        let error = format!(
            "its lines cannot be added to the configuration of {}: {}",
            block.shell.name(),
            error.text()
        );
        self.record(EventKind::TaskFailed { task_id, error, failure_context }).await;
        self.note(&format!(
            "the lines of {} for {}:\n{}",
            block.task_id,
            block.file.display(),
            block.lines.trim_end()
        ));
    }
}

/// What there is to know about the configuration of shells once all is done: which lines nobody
/// decided about, and which found no place.
pub(super) fn notes(run: &Run<'_>) -> Vec<String> {
    let session = run.session();
    let decided = session.shell_integration.as_ref().map(|known| known.allowed);
    let has_lines = |task: &&PlanTask| {
        !task.shell_integration.is_empty() && is_done(session.document(), task, false)
    };
    let tasks: Vec<_> = run.plan.tasks.iter().filter(has_lines).collect();
    if tasks.is_empty() || decided == Some(false) {
        return Vec::new();
    }
    let mut notes = Vec::new();
    let mut open: BTreeMap<_, Vec<WantedBlock>> = BTreeMap::new();
    let mut homeless = Vec::new();
    for task in tasks {
        let blocks = wanted(run.around, task);
        if blocks.is_empty() {
            homeless.push(task.id.as_str());
        }
        for block in blocks.into_iter().filter(|block| decided.is_none() && !block.is_there()) {
            open.entry(block.file.clone()).or_default().push(block);
        }
    }
    for (file, blocks) in open {
        let shell = blocks.first().map_or("", |block| block.shell.name());
        let lines: Vec<_> =
            blocks.iter().map(|b| format!("# {}\n{}", b.task_id, b.lines.trim_end())).collect();
        notes.push(format!(
            "lines for {shell} that `provision shell add {}` adds to {}:\n{}",
            session.meta.id,
            file.display(),
            lines.join("\n")
        ));
    }
    if !homeless.is_empty() {
        let shell = run.around.environment.variable("SHELL").unwrap_or("not set");
        notes.push(format!(
            "lines for the configuration of a shell were not added, for none of the shells they are \
             for seems to be in use (SHELL is {shell}): {}",
            homeless.join(", ")
        ));
    }
    notes
}
