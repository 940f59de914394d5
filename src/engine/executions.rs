//! Every attempt of a session that is on record, in the order they began, and what each wrote.

use std::{
    path::{Component, Path},
    sync::Arc,
    time::Duration,
};

use crate::{
    model::{
        AttemptOutcome, CommandRecord, CommandStatus, CommandVerdict, Document, EventKind,
        SessionId, TaskId, TaskRecord, Timestamp,
    },
    store::{Store, StoreError},
};

/// One attempt. What it wrote is read when it is shown: all of it together may be more than fits in
/// memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// Its number in the journal; `None` for one of a journal that had to be begun anew.
    pub seq: Option<u64>,
    /// Where it is, below the session's record.
    pub place: String,
    pub task_id: TaskId,
    /// Every task that it served; the one above is the first of them.
    pub task_ids: Vec<TaskId>,
    pub command_index: Option<usize>,
    pub command: String,
    pub description: Option<String>,
    pub attempt: u32,
    pub started_at: Timestamp,
    /// `None` while it runs, and where nobody knows.
    pub duration: Option<Duration>,
    pub succeeded: Option<bool>,
    pub outcome: Option<AttemptOutcome>,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub error: Option<String>,
    /// Whether its result was adopted after the runner that started it had died.
    pub recovered: bool,
}

/// The attempts of a session, or those that served one of its tasks.
pub fn executions(
    store: &Store,
    id: &SessionId,
    task: Option<&TaskId>,
) -> Result<Vec<Execution>, StoreError> {
    let mut all = Vec::<Execution>::new();
    for event in store.journal(id)?.map(|scan| scan.events).unwrap_or_default() {
        match event.kind {
            EventKind::SessionImported { document, .. } => all.extend(carried_over(&document)),
            EventKind::CommandStarted(started)
                if task.is_none_or(|task| started.task_ids.contains(task)) =>
            {
                all.push(Execution {
                    seq: Some(event.seq),
                    place: format!("attempts/{}", event.seq),
                    task_id: started.task_id,
                    task_ids: started.task_ids,
                    command_index: Some(started.command_index),
                    command: started.command,
                    description: started.description,
                    attempt: started.attempt,
                    started_at: event.timestamp,
                    duration: None,
                    succeeded: None,
                    outcome: None,
                    exit_code: None,
                    signal: None,
                    error: None,
                    recovered: false,
                });
            }
            EventKind::CommandFinished(finished) => {
                let seq = Some(finished.started_seq);
                if let Some(one) = all.iter_mut().rev().find(|one| one.seq == seq) {
                    one.duration = Some(Duration::from_millis(finished.duration_ms))
                        .filter(|_| finished.outcome != AttemptOutcome::Indeterminate);
                    one.succeeded = Some(finished.status == CommandVerdict::Success);
                    one.outcome = Some(finished.outcome);
                    (one.exit_code, one.signal) = (finished.exit_code, finished.signal);
                    (one.error, one.recovered) = (finished.error, finished.recovered);
                    if let Some(place) = finished.log.filter(|place| is_below(place)) {
                        one.place = place;
                    }
                }
            }
            _ => {}
        }
    }
    all.retain(|one| task.is_none_or(|task| one.task_ids.contains(task)));
    Ok(all)
}

/// What a document knows of attempts that no journal tells of, as far as they have written something.
/// One that served several tasks is on record with each of them, and is told of once.
fn carried_over(document: &Document) -> Vec<Execution> {
    let commands = document
        .tasks
        .values()
        .flat_map(|task| task.commands().iter().map(|command| (&task.task_id, command)));
    let mut all = Vec::<Execution>::new();
    for (task_id, command) in commands {
        let Some(place) = command.log.clone().filter(|place| is_below(place)) else { continue };
        let one = Execution::on_record(task_id, command, place);
        if !all.iter().any(|known| known.place == one.place && known.task_ids == one.task_ids) {
            all.push(one);
        }
    }
    all
}

/// The planned commands of a document that has no journal, in the order they were executed.
pub(super) fn on_paper(document: &Document) -> Vec<Execution> {
    let of_task = |task: &Arc<TaskRecord>| {
        let executed = task
            .commands()
            .iter()
            .filter(|command| command.kind.is_none() && command.status != CommandStatus::Skipped);
        let at = |command: &CommandRecord| command.log.clone().filter(|place| is_below(place));
        let one =
            |command| Execution::on_record(&task.task_id, command, at(command).unwrap_or_default());
        executed.map(one).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = document.tasks.values().flat_map(of_task).collect();
    all.sort_by_key(|one| one.started_at.millis());
    all
}

/// Where what an attempt wrote is found.
pub fn output_of(store: &Store, id: &SessionId, execution: &Execution) -> std::path::PathBuf {
    store.home().record(id).join(&execution.place)
}

impl Execution {
    /// From what a document says of a command.
    fn on_record(task_id: &TaskId, command: &CommandRecord, place: String) -> Self {
        let task_ids = match command.task_ids.as_slice() {
            [] => vec![task_id.clone()],
            several => several.to_vec(),
        };
        Self {
            seq: None,
            place,
            task_id: task_ids.first().unwrap_or(task_id).clone(),
            task_ids,
            command_index: command.command_index,
            command: command.command.clone(),
            description: command.description.clone(),
            attempt: command.attempts.unwrap_or(1),
            started_at: command.executed_at.clone(),
            duration: command.duration_ms.map(Duration::from_millis),
            succeeded: match command.status {
                CommandStatus::Success => Some(true),
                CommandStatus::Failed => Some(false),
                CommandStatus::Skipped => None,
            },
            outcome: command.outcome,
            exit_code: command.exit_code,
            signal: None,
            error: command.error.clone(),
            recovered: command.recovered,
        }
    }
}

/// Whether a place that a record names is within it.
pub(super) fn is_below(place: &str) -> bool {
    let steps = Path::new(place).components();
    !place.is_empty() && steps.into_iter().all(|step| matches!(step, Component::Normal(_)))
}
