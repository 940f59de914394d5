//! The list of sessions.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{plural, visible};
use crate::engine::store::{Listing, SessionSummary};

/// One line for each session, newest first.
pub fn session_table(listing: &Listing) -> String {
    let mut text = String::new();
    if listing.sessions.is_empty() && listing.unreadable.is_empty() {
        return "no sessions yet\n".into();
    }
    for session in &listing.sessions {
        let _ = writeln!(
            text,
            "{}  {:<11}  {:<19}  {}  {}",
            session.id,
            session.status.name(),
            session.phase,
            session.updated_at.readable(),
            details(session)
        );
    }
    if listing.more > 0 {
        let _ = writeln!(text, "… and {} (--all)", plural(listing.more, "older session"));
    }
    text
}

fn details(session: &SessionSummary) -> String {
    let tasks = &session.tasks;
    let profile = session.profile.as_deref().map_or_else(|| "-".into(), visible);
    let counts = [
        (tasks.completed, "done"),
        (tasks.failed, "failed"),
        (tasks.skipped, "skipped"),
        (tasks.pending, "to do"),
    ];
    let counts: Vec<_> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if counts.is_empty() { profile.into() } else { format!("{profile}: {}", counts.join(", ")) }
}

pub fn sessions_json(listing: &Listing) -> Value {
    let unreadable: Vec<_> = listing
        .unreadable
        .iter()
        .map(|session| {
            json!({
                "id": session.id,
                "message": session.error.to_string(),
                "path": session.error.path(),
            })
        })
        .collect();
    json!({"sessions": listing.sessions, "unreadable": unreadable, "more": listing.more})
}
