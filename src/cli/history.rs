//! `provision history`

use std::time::Duration;

use serde_json::json;

use super::{args::HistoryArgs, failure::Failure, output, settings::Settings};
use crate::{
    engine::clock::pause,
    face,
    model::{SessionId, SessionStatus},
    store::{Position, Scan, Store, Tail},
};

/// How often a followed journal is looked at.
const LOOK: Duration = Duration::from_millis(100);

pub(super) fn run(settings: &Settings, args: &HistoryArgs) -> Result<(), Failure> {
    let store = settings.store()?;
    let id = store.resolve(&args.session)?;
    if args.verify {
        return verify(settings, &store, &id);
    }
    let Some(scan) = store.journal(&id)? else {
        // Unknown, or a document of someone else's making.
        store.load(&id)?;
        output::warning("this session has no journal: it was not recorded by this program");
        return Ok(());
    };
    complain(&scan.tail);
    show(settings, &scan)?;
    if args.follow { follow(settings, &store, &id, scan.end) } else { Ok(()) }
}

fn verify(settings: &Settings, store: &Store, id: &SessionId) -> Result<(), Failure> {
    let (loaded, scan) = store.verify(id)?;
    for note in &loaded.notes {
        output::warning(&note.to_string());
    }
    let lines = scan.map_or(0, |scan| scan.end.seq);
    let revision = loaded.session.revision();
    if settings.json {
        let verdict =
            json!({"session_id": id, "verified": true, "lines": lines, "revision": revision});
        return output::json_document(&verdict);
    }
    let lines = face::plural(usize::try_from(lines).unwrap_or(usize::MAX), "line");
    output::data(&format!("{id}: {lines} verified, and the document follows from them\n"))
}

/// Shows what is recorded from `position` on, for as long as the session is in progress.
fn follow(
    settings: &Settings,
    store: &Store,
    id: &SessionId,
    mut position: Position,
) -> Result<(), Failure> {
    loop {
        // The status first: what was recorded before it changed is then shown in the same round.
        let status = store.load(id)?.session.meta.status;
        let scan = store.journal_since(id, position)?;
        show(settings, &scan)?;
        position = scan.end;
        if status != SessionStatus::InProgress {
            return Ok(());
        }
        pause(LOOK);
    }
}

/// For programs the lines as they stand on disk, for people a line about each.
fn show(settings: &Settings, scan: &Scan) -> Result<(), Failure> {
    if settings.json {
        return output::data(&String::from_utf8_lossy(&scan.raw));
    }
    let lines = scan.events.iter().map(|event| format!("{}\n", face::history_line(event)));
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
        Tail::Bad { line, error, .. } => {
            output::warning(&format!("line {line} is damaged and left out: {error}"));
        }
    }
}
