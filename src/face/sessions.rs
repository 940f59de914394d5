//! The list of sessions.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{plural, text::counted, visible};
use crate::{
    engine::{Expiries, Expiry, Listing, SessionSummary},
    model::SessionStatus,
};

/// One line for each session, newest first.
pub fn session_table(listing: &Listing, expiries: &Expiries) -> String {
    let mut text = String::new();
    if listing.sessions.is_empty() && listing.unreadable.is_empty() {
        return "no sessions yet\n".into();
    }
    for session in &listing.sessions {
        let _ = writeln!(
            text,
            "{}  {:<11}  {:.16}  {}",
            session.id,
            session.status.name(),
            session.updated_at.readable(),
            details(session)
        );
        if let Some(note) = expiries.get(&session.id).and_then(|expiry| expiry.note()) {
            let _ = writeln!(text, "    {note}");
        }
    }
    if listing.more > 0 {
        let _ = writeln!(text, "… and {} (--all)", plural(listing.more, "older session"));
    }
    text
}

fn details(session: &SessionSummary) -> String {
    let tasks = &session.tasks;
    let profile = session.profile.as_deref().map_or_else(|| "no profile yet".into(), visible);
    let counts = counted(&[
        (tasks.completed, "done"),
        (tasks.failed, "failed"),
        (tasks.skipped, "skipped"),
        (tasks.pending, "to do"),
    ]);
    let place = match session.status {
        SessionStatus::Completed => String::new(),
        _ => format!("{}, ", session.phase),
    };
    let counts = if counts.is_empty() { counts } else { format!(": {counts}") };
    format!("{place}{profile}{counts}")
}

pub fn sessions_json(listing: &Listing, expiries: &Expiries) -> Value {
    let unreadable: Vec<_> = listing
        .unreadable
        .iter()
        .map(|session| {
            json!({
                "id": session.id,
                "message": session.error.to_string(),
                "path": session.error.path().map(|path| path.to_string_lossy()),
            })
        })
        .collect();
    let sessions: Vec<_> = listing
        .sessions
        .iter()
        .map(|session| summary_json(session, expiries.get(&session.id).copied()))
        .collect();
    json!({"sessions": sessions, "unreadable": unreadable, "more": listing.more})
}

fn summary_json(session: &SessionSummary, expiry: Option<Expiry>) -> Value {
    let tasks = &session.tasks;
    json!({
        "id": session.id,
        "status": session.status,
        "phase": session.phase,
        "profile": session.profile,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "tasks": {
            "completed": tasks.completed,
            "failed": tasks.failed,
            "skipped": tasks.skipped,
            "pending": tasks.pending,
        },
        "expiry": expiry.and_then(Expiry::name),
        // A path need not be text; JSON must be.
        "path": session.path.to_string_lossy(),
    })
}
