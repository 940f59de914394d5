//! `provision logs`

use std::io::{self, Write};

use serde_json::json;

use super::{failure::Failure, output, settings::Settings};
use crate::{
    exec::{Piece, read_all},
    face,
    model::{CommandFinished, CommandStarted, EventKind, SessionId, TaskId},
    store::{Store, StoreError},
};

/// One attempt of the journal. What it wrote is read when it is shown: all of it together may be
/// more than fits in memory.
struct Log {
    seq: u64,
    started: CommandStarted,
    finished: Option<CommandFinished>,
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
            let header = face::log_header(&log.started, log.finished.as_ref());
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
    Ok(read_all(store.fs(), &store.home().attempt(id, log.seq))?)
}

fn collect(store: &Store, id: &SessionId, task: Option<&TaskId>) -> Result<Vec<Log>, StoreError> {
    let mut logs = Vec::<Log>::new();
    for event in store.journal(id)?.map(|scan| scan.events).unwrap_or_default() {
        match event.kind {
            EventKind::CommandStarted(started)
                if task.is_none_or(|task| started.task_ids.contains(task)) =>
            {
                logs.push(Log { seq: event.seq, started: *started, finished: None });
            }
            EventKind::CommandFinished(finished) => {
                let log = logs.iter_mut().rev().find(|log| log.seq == finished.started_seq);
                if let Some(log) = log {
                    log.finished = Some(*finished);
                }
            }
            _ => {}
        }
    }
    Ok(logs)
}

fn as_json(log: &Log, pieces: &[Piece]) -> serde_json::Value {
    let output: Vec<u8> = pieces.iter().flat_map(|piece| piece.bytes.clone()).collect();
    let kept = output.len() as u64;
    let end = pieces.last().map_or(0, |piece| piece.start + piece.bytes.len() as u64);
    json!({
        "seq": log.seq,
        "task_id": log.started.task_id,
        "command": log.started.command,
        "attempt": log.started.attempt,
        "outcome": log.finished.as_ref().map(|finished| finished.outcome),
        "exit_code": log.finished.as_ref().and_then(|finished| finished.exit_code),
        "output": String::from_utf8_lossy(&output),
        "bytes_left_out": end.saturating_sub(kept),
    })
}

fn write(stdout: &mut impl Write, bytes: &[u8]) -> Result<(), Failure> {
    stdout.write_all(bytes).map_err(|error| Failure::output(&error))
}
