//! `provision logs`

use std::io::{self, Write};

use serde_json::json;

use super::{failure::Failure, output, settings::Settings};
use crate::{
    engine::{self, Execution},
    exec::{Piece, read_all},
    face,
    model::{SessionId, TaskId},
    store::{Store, StoreError},
};

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
    let logs = engine::executions(&store, &id, task)?;
    if settings.json {
        let read = |log: &Execution| Ok(as_json(log, &pieces(&store, &id, log)?));
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

fn pieces(store: &Store, id: &SessionId, log: &Execution) -> Result<Vec<Piece>, StoreError> {
    Ok(read_all(store.fs(), &engine::output_of(store, id, log))?)
}

fn as_json(log: &Execution, pieces: &[Piece]) -> serde_json::Value {
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
