//! `provision logs`

use std::{
    io::{self, Write},
    path::{Component, Path},
};

use serde_json::json;

use super::{failure::Failure, output, settings::Settings};
use crate::{
    exec::{Piece, read_all},
    face,
    model::{AttemptOutcome, Document, EventKind, SessionId, TaskId},
    store::{Store, StoreError},
};

/// One attempt that is on record. What it wrote is read when it is shown: all of it together may be
/// more than fits in memory.
struct Log {
    /// Its number in the journal; `None` for one of a journal that had to be begun anew.
    seq: Option<u64>,
    /// Where it is, below the session's record.
    place: String,
    task_id: TaskId,
    /// Every task that it served; the one above is the first of them.
    task_ids: Vec<TaskId>,
    command: String,
    attempt: u32,
    outcome: Option<AttemptOutcome>,
    exit_code: Option<i32>,
    signal: Option<i32>,
}

pub(super) fn run(
    settings: &Settings,
    session: &str,
    task: Option<&TaskId>,
    raw: bool,
) -> Result<(), Failure> {
    let store = settings.store()?;
    let id = store.resolve(session)?;
    let known = store.load(&id)?.session;
    if let Some(task) = task
        && !known.tasks.contains_key(task)
    {
        return Err(Failure::no_task(&id, task));
    }
    let logs = collect(&store, &id, task)?;
    if settings.json {
        let read = |log: &Log| Ok(as_json(log, &pieces(&store, &id, log)?));
        let shown: Vec<_> = logs.iter().map(read).collect::<Result<_, StoreError>>()?;
        return output::json_document(&json!({"session_id": id, "logs": shown}));
    }
    let mut stdout = io::stdout().lock();
    for log in &logs {
        if !raw {
            let header = face::log_header(
                &log.task_ids,
                &log.command,
                log.outcome,
                log.exit_code,
                log.signal,
            );
            write(&mut stdout, header.as_bytes())?;
        }
        let mut end = 0;
        for piece in pieces(&store, &id, log)? {
            if raw {
                write(&mut stdout, &piece.bytes)?;
            } else {
                write(&mut stdout, face::log_text(&piece.bytes, piece.start - end).as_bytes())?;
            }
            end = piece.start + piece.bytes.len() as u64;
        }
    }
    stdout.flush().map_err(|error| Failure::output(&error))
}

fn pieces(store: &Store, id: &SessionId, log: &Log) -> Result<Vec<Piece>, StoreError> {
    Ok(read_all(store.fs(), &store.home().record(id).join(&log.place))?)
}

fn collect(store: &Store, id: &SessionId, task: Option<&TaskId>) -> Result<Vec<Log>, StoreError> {
    let mut logs = Vec::<Log>::new();
    for event in store.journal(id)?.map(|scan| scan.events).unwrap_or_default() {
        match event.kind {
            EventKind::SessionImported { document, .. } => logs.extend(carried_over(&document)),
            EventKind::CommandStarted(started)
                if task.is_none_or(|task| started.task_ids.contains(task)) =>
            {
                logs.push(Log {
                    seq: Some(event.seq),
                    place: format!("attempts/{}", event.seq),
                    task_id: started.task_id,
                    task_ids: started.task_ids,
                    command: started.command,
                    attempt: started.attempt,
                    outcome: None,
                    exit_code: None,
                    signal: None,
                });
            }
            EventKind::CommandFinished(finished) => {
                let seq = Some(finished.started_seq);
                if let Some(log) = logs.iter_mut().rev().find(|log| log.seq == seq) {
                    log.outcome = Some(finished.outcome);
                    (log.exit_code, log.signal) = (finished.exit_code, finished.signal);
                    if let Some(place) = finished.log.filter(|place| is_below(place)) {
                        log.place = place;
                    }
                }
            }
            _ => {}
        }
    }
    logs.retain(|log| task.is_none_or(|task| log.task_ids.contains(task)));
    Ok(logs)
}

/// What a document knows of attempts that the journal begun with it does not. One that served several
/// tasks is on record with each of them, and is told of once.
fn carried_over(document: &Document) -> Vec<Log> {
    let commands = document
        .tasks
        .values()
        .flat_map(|task| task.commands().iter().map(|command| (&task.task_id, command)));
    let mut logs = Vec::<Log>::new();
    for (task_id, command) in commands {
        let Some(place) = command.log.clone().filter(|place| is_below(place)) else { continue };
        let task_ids = match command.task_ids.as_slice() {
            [] => vec![task_id.clone()],
            several => several.to_vec(),
        };
        if logs.iter().any(|log| log.place == place && log.task_ids == task_ids) {
            continue;
        }
        logs.push(Log {
            seq: None,
            place,
            task_id: task_ids.first().unwrap_or(task_id).clone(),
            task_ids,
            command: command.command.clone(),
            attempt: command.attempts.unwrap_or(1),
            outcome: command.outcome,
            exit_code: command.exit_code,
            signal: None,
        });
    }
    logs
}

/// Whether a place that a record names is within it.
fn is_below(place: &str) -> bool {
    let steps = Path::new(place).components();
    !place.is_empty() && steps.into_iter().all(|step| matches!(step, Component::Normal(_)))
}

fn as_json(log: &Log, pieces: &[Piece]) -> serde_json::Value {
    let output: Vec<u8> = pieces.iter().flat_map(|piece| piece.bytes.clone()).collect();
    let kept = output.len() as u64;
    let end = pieces.last().map_or(0, |piece| piece.start + piece.bytes.len() as u64);
    json!({
        "seq": log.seq,
        "task_id": log.task_id,
        "task_ids": log.task_ids,
        "command": log.command,
        "attempt": log.attempt,
        "outcome": log.outcome,
        "exit_code": log.exit_code,
        "output": String::from_utf8_lossy(&output),
        "bytes_left_out": end.saturating_sub(kept),
    })
}

fn write(stdout: &mut impl Write, bytes: &[u8]) -> Result<(), Failure> {
    stdout.write_all(bytes).map_err(|error| Failure::output(&error))
}
