//! Where sessions stand: one of them in full, and those that somebody could go on with.

use std::collections::HashMap;

use super::{
    Clock, Context, Durations, Expiry, RunError, Surroundings,
    estimates::known_durations,
    examine::{last_heard, liveliness},
    sessions::check_machine,
};
use crate::{
    flow::{Around, CUSTOM, Live, TOOLS_ADDED, place_of, tools_named},
    model::{Document, Phase, SessionId, SessionStatus, TaskId, TaskStatus, Timestamp},
    store::Store,
};

/// How many of the newest sessions are looked at: nobody comes back to the others.
const LOOKED_AT: usize = 50;

/// Where a session stands that has been loaded.
pub fn standing(
    store: &Store,
    session: &Document,
    clock: &Clock,
    (live, expiry): (Live, Expiry),
) -> Result<Context, RunError> {
    let now = clock.now().wall;
    let open = session.tasks.values().flat_map(|task| &task.in_flight);
    let mut heard = HashMap::new();
    for open in open {
        heard.insert(open.seq, last_heard(store, &session.meta.id, open.seq, &now)?);
    }
    let heard = heard.into_iter().filter_map(|(seq, at)| Some((seq, at?))).collect();
    let is_under_way =
        session.meta.status != SessionStatus::Completed && session.phase.current == Phase::Execute;
    // How long things take matters only where there is something to wait for.
    let usual = if is_under_way { known_durations(store)? } else { Durations::new() };
    let around = Around { live, expiry, now: &now, heard: &heard, usual: &usual };
    Ok(Context::of(session, &around))
}

/// Where a session stands.
pub fn context_of(around: &Surroundings, id: &SessionId) -> Result<Context, RunError> {
    let session = around.store.load(id)?.session;
    let seen = liveliness(&around.store, &session, &around.clock)?;
    standing(&around.store, &session, &around.clock, seen)
}

/// A session that can be gone on with.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub id: SessionId,
    pub status: SessionStatus,
    pub profile: Option<String>,
    /// The single tools that it was asked for.
    pub tools: Vec<TaskId>,
    /// The session that it adds to.
    pub expands: Option<SessionId>,
    /// What whoever goes on with it comes to first.
    pub place: String,
    pub last_activity: Timestamp,
    pub done: usize,
    pub total: usize,
    /// Whether another process works on it right now.
    pub is_running: bool,
    pub expiry: Expiry,
}

/// The sessions of this machine that are not finished, newest first.
pub fn candidates(around: &Surroundings) -> Result<Vec<Candidate>, RunError> {
    let mut found = Vec::new();
    for summary in around.store.list(Some(LOOKED_AT))?.sessions {
        if summary.is_repair || summary.status == SessionStatus::Completed {
            continue;
        }
        // One that cannot be read is for `status` to explain.
        let Ok(loaded) = around.store.load(&summary.id) else { continue };
        let session = loaded.session;
        if check_machine(&session).is_err() {
            continue;
        }
        let (live, expiry) = liveliness(&around.store, &session, &around.clock)?;
        let done = session.tasks.values().filter(|task| task.status == TaskStatus::Completed);
        found.push(Candidate {
            id: summary.id,
            status: session.meta.status,
            profile: session.profile.selected.clone().filter(|profile| profile != CUSTOM),
            tools: tools_named(&session, TOOLS_ADDED),
            expands: session.expansion_history.last().map(|step| step.session_id.clone()),
            place: place_of(&session),
            last_activity: session.meta.updated_at.clone(),
            done: done.count(),
            total: session.tasks.len(),
            is_running: live == Live::Running,
            expiry,
        });
    }
    Ok(found)
}
