//! `provision history`

use std::time::Duration;

use serde_json::json;

use super::{args::HistoryArgs, failure::Failure, output, settings::Settings};
use crate::{
    engine::clock::pause,
    face,
    model::{EventKind, SessionId, SessionStatus},
    store::{Scan, Store, Tail},
};

const NO_JOURNAL: &str = "this session has no journal: it was not recorded by this program";

/// How often a followed journal is looked at.
const LOOK: Duration = Duration::from_millis(100);

pub(super) fn run(settings: &Settings, args: &HistoryArgs) -> Result<(), Failure> {
    let store = settings.store()?;
    let id = store.resolve(&args.session)?;
    if args.verify {
        return verify(settings, &store, &id);
    }
    let scan = store.journal(&id)?.filter(|scan| !scan.events.is_empty());
    let Some(scan) = scan else {
        // Unknown, or a document of someone else's making.
        store.load(&id)?;
        output::warning(NO_JOURNAL);
        return Ok(());
    };
    complain(&scan.tail);
    let mut history = face::History::new();
    show(settings, &mut history, &scan)?;
    if args.follow { follow(settings, &store, &id, &mut history, scan) } else { Ok(()) }
}

fn verify(settings: &Settings, store: &Store, id: &SessionId) -> Result<(), Failure> {
    let (loaded, scan) = store.verify(id)?;
    for note in &loaded.notes {
        output::warning(&note.to_string());
    }
    let Some(scan) = scan else {
        output::warning(NO_JOURNAL);
        return if settings.json {
            output::json_document(&json!({"session_id": id, "verified": false}))
        } else {
            Ok(())
        };
    };
    let lines = scan.end.seq;
    let revision = loaded.session.revision();
    if settings.json {
        let verdict =
            json!({"session_id": id, "verified": true, "lines": lines, "revision": revision});
        return output::json_document(&verdict);
    }
    let lines = face::plural(usize::try_from(lines).unwrap_or(usize::MAX), "line");
    output::data(&format!("{id}: {lines} verified, and the document follows from them\n"))
}

/// Shows what is recorded from the end of `scan` on, for as long as the session is in progress.
fn follow(
    settings: &Settings,
    store: &Store,
    id: &SessionId,
    history: &mut face::History,
    mut scan: Scan,
) -> Result<(), Failure> {
    let mut in_progress = true;
    let mut attended = true;
    loop {
        in_progress = goes_on(&scan).unwrap_or(in_progress);
        if !in_progress {
            return Ok(());
        }
        let held = store.is_locked(id)?;
        if attended && !held {
            output::warning("nobody is working on this session now; waiting until someone does");
        }
        attended = held;
        pause(LOOK);
        scan = store.journal_since(id, &scan.end)?;
        show(settings, history, &scan)?;
    }
}

/// Whether the session is in progress after these events; `None` if they do not say.
fn goes_on(scan: &Scan) -> Option<bool> {
    scan.events.iter().rev().find_map(|event| match &event.kind {
        EventKind::SessionCreated(_) | EventKind::SessionResumed {} => Some(true),
        EventKind::SessionPaused { .. }
        | EventKind::SessionFailed { .. }
        | EventKind::SessionCompleted { .. } => Some(false),
        EventKind::SessionImported { document, .. } => {
            Some(document.meta.status == SessionStatus::InProgress)
        }
        _ => None,
    })
}

/// For programs the lines as they stand on disk, for people a line about each.
fn show(settings: &Settings, history: &mut face::History, scan: &Scan) -> Result<(), Failure> {
    if settings.json {
        return output::data(&String::from_utf8_lossy(&scan.raw));
    }
    let lines = scan.events.iter().map(|event| format!("{}\n", history.line(event)));
    output::data(&lines.collect::<String>())
}

fn complain(tail: &Tail) {
    match tail {
        Tail::Whole => {}
        Tail::Torn { line, bytes } => {
            output::warning(&format!(
                "line {line} was never finished and is ignored ({bytes} bytes)"
            ));
        }
        Tail::Bad { line, error } => {
            output::warning(&format!("line {line} is damaged and left out: {error}"));
        }
    }
}
