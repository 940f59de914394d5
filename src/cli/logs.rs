//! `provision logs`

use std::io::{self, Write};

use serde_json::json;

use super::{failure::Failure, output, settings::Settings};
use crate::{
    exec::{Piece, read_all},
    face,
    model::{CommandFinished, CommandStarted, EventKind, TaskId},
    store::{Store, StoreError},
};

/// One attempt of the journal, with what it wrote.
struct Log {
    seq: u64,
    started: CommandStarted,
    finished: Option<CommandFinished>,
    pieces: Vec<Piece>,
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
        let shown: Vec<_> = logs.iter().map(as_json).collect();
        return output::json_document(&json!({"session_id": id, "logs": shown}));
    }
    let mut stdout = io::stdout().lock();
    for log in &logs {
        if !raw {
            let header = face::log_header(&log.started, log.finished.as_ref());
            write(&mut stdout, header.as_bytes())?;
        }
        for (number, piece) in log.pieces.iter().enumerate() {
            if raw {
                write(&mut stdout, &piece.bytes)?;
                continue;
            }
            let before = number.checked_sub(1).and_then(|before| log.pieces.get(before));
            let end = before.map_or(0, |before| before.start + before.bytes.len() as u64);
            let text = face::log_text(&piece.bytes, piece.start - end);
            write(&mut stdout, text.as_bytes())?;
        }
    }
    stdout.flush().map_err(|error| Failure::output(&error))
}

fn collect(
    store: &Store,
    id: &crate::model::SessionId,
    task: Option<&TaskId>,
) -> Result<Vec<Log>, StoreError> {
    let mut logs = Vec::<Log>::new();
    for event in store.journal(id)?.map(|scan| scan.events).unwrap_or_default() {
        match event.kind {
            EventKind::CommandStarted(started)
                if task.is_none_or(|task| started.task_ids.contains(task)) =>
            {
                let pieces = read_all(store.fs(), &store.home().attempt(id, event.seq))?;
                logs.push(Log { seq: event.seq, started: *started, finished: None, pieces });
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

fn as_json(log: &Log) -> serde_json::Value {
    let output: Vec<u8> = log.pieces.iter().flat_map(|piece| piece.bytes.clone()).collect();
    let kept: u64 = log.pieces.iter().map(|piece| piece.bytes.len() as u64).sum();
    let end = log.pieces.last().map_or(0, |piece| piece.start + piece.bytes.len() as u64);
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
