//! What of old sessions can be removed, and removing it: logs first, records only if nothing refers
//! to them.

use std::{collections::BTreeMap, time::Duration};

use super::{Clock, examine::expiry_under_lock, liveliness};
use crate::{
    flow::{Expiry, Live, how_long},
    model::{
        AttemptOutcome, CommandStatus, Document, EventKind, PauseReason, SessionId, SessionStatus,
        TaskRecord, TaskStatus, Timestamp,
    },
    store::{Pen, Store, StoreError},
};

/// What would be removed, and what would not.
#[derive(Debug, Default)]
pub struct Pruning {
    pub logs: Vec<OldLogs>,
    pub records: Vec<OldRecord>,
    /// Old sessions whose record stays, and why.
    pub kept: Vec<(SessionId, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldLogs {
    pub id: SessionId,
    pub bytes: u64,
    revision: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldRecord {
    pub id: SessionId,
    revision: u64,
}

impl Pruning {
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty() && self.records.is_empty()
    }
}

/// Looks for what is older than `age` and no longer needed. Changes nothing.
pub fn what_to_prune(store: &Store, clock: &Clock, age: Duration) -> Result<Pruning, StoreError> {
    let mut pruning = Pruning::default();
    let listing = store.list(None)?;
    let mut unreadable: Vec<_> = listing.unreadable.into_iter().map(|session| session.id).collect();
    let mut loaded = Vec::new();
    for summary in listing.sessions {
        match store.load(&summary.id) {
            Ok(found) => loaded.push(found.session),
            Err(error) if error.is_damage() => unreadable.push(summary.id),
            Err(error) => return Err(error),
        }
    }
    let may_be_referred_to = !unreadable.is_empty();
    for id in unreadable {
        pruning.kept.push((id, "its record cannot be read".into()));
    }
    let expanded = expanded_by(loaded.iter().map(crate::model::Session::document));
    let baselines = loaded.iter().filter_map(|session| Some((session.baseline.as_ref()?, session)));
    let newest = baselines.max_by_key(|(baseline, _)| baseline.recorded_at.clone());
    let with_baseline = newest.map(|(_, session)| &session.meta.id);
    let now = clock.now().wall;
    for session in &loaded {
        let id = &session.meta.id;
        let (live, expiry) = liveliness(store, session, clock)?;
        let mut keep = |why: String| pruning.kept.push((id.clone(), why));
        if !is_older(&session.meta.updated_at, &now, age) {
            // A clock that is behind makes everything young.
            if let (Expiry::ClockBehind { .. }, Some(note)) = (expiry, expiry.note()) {
                keep(note);
            }
            continue;
        }
        if live == Live::Running {
            keep("someone is working on it".into());
            continue;
        }
        if let Some(why) = still_open(session, expiry) {
            keep(why);
            continue;
        }
        let revision = session.revision();
        let is_compared_with = with_baseline == Some(id);
        let kept = why_kept(session, expanded.get(id))
            .or_else(|| is_compared_with.then(|| "it says what was on the machine".into()))
            .or_else(|| {
                may_be_referred_to.then(|| "one that cannot be read may refer to it".into())
            });
        match kept {
            Some(why) => {
                keep(why);
                let bytes = store.logs(id)?.iter().map(|(_, bytes)| bytes).sum();
                if bytes > 0 {
                    pruning.logs.push(OldLogs { id: id.clone(), bytes, revision });
                }
            }
            None => pruning.records.push(OldRecord { id: id.clone(), revision }),
        }
    }
    Ok(pruning)
}

/// Removes what was found, except for sessions that someone has worked on since. Returns how many
/// bytes of logs and how many records are gone.
pub fn prune(
    store: &Store,
    clock: &Clock,
    pen: &Pen,
    pruning: &Pruning,
) -> Result<(u64, usize), StoreError> {
    let mut bytes = 0;
    for old in &pruning.logs {
        let mut recorder = match store.open_record(&old.id, pen, &clock.now()) {
            // Someone works on it again, or it cannot be read: the others are not to wait for that.
            Err(error) if error.is_damage() || matches!(error, StoreError::Locked { .. }) => {
                continue;
            }
            recorder => recorder?,
        };
        if recorder.session().revision() != old.revision {
            continue;
        }
        bytes += store.remove_logs(&recorder)?;
        // Whoever holds the lock writes down what readers have been shown.
        let expiry = expiry_under_lock(store, recorder.session(), clock)?;
        if let Some(kinds) = expired(expiry) {
            recorder.record(kinds, &clock.now())?;
        }
        recorder.close()?;
    }
    let mut records = 0;
    for old in &pruning.records {
        match store.remove_session(&old.id, pen, old.revision) {
            Err(StoreError::Locked { .. }) => {}
            removed => records += usize::from(removed?),
        }
    }
    Ok((bytes, records))
}

/// What is recorded of a session whose time is over.
pub(super) fn expired(expiry: Expiry) -> Option<Vec<EventKind>> {
    let millis = match expiry {
        Expiry::Inactive { millis } | Expiry::Abandoned { millis } => millis,
        Expiry::None | Expiry::ClockBehind { .. } => return None,
    };
    let context = Some(format!("no activity for {}", how_long(millis)));
    let mut kinds = vec![EventKind::SessionPaused { reason: PauseReason::Inactivity, context }];
    if matches!(expiry, Expiry::Abandoned { .. }) {
        kinds.push(EventKind::SessionAbandoned {});
    }
    Some(kinds)
}

fn is_older(updated: &Timestamp, now: &Timestamp, age: Duration) -> bool {
    let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    now.millis_since(updated) >= age
}

/// Why a session may still be gone on with.
fn still_open(session: &Document, expiry: Expiry) -> Option<String> {
    if session.tasks.values().any(|task| !task.in_flight.is_empty()) {
        return Some("how a command of it ended is not recorded yet".into());
    }
    let open = session.meta.status == SessionStatus::InProgress
        && !matches!(expiry, Expiry::Abandoned { .. });
    open.then(|| "it is in progress".into())
}

/// Why the record of a session stays, whatever its age.
fn why_kept(session: &Document, expanded_by: Option<&SessionId>) -> Option<String> {
    if let Some(other) = expanded_by {
        return Some(format!("session {other} was expanded from it"));
    }
    if session.adopted.is_some() {
        return Some("it keeps what was on the machine when that was adopted".into());
    }
    if !session.recoveries.is_empty() {
        return Some("it was recovered, and may have done more than it says".into());
    }
    if session.meta.status == SessionStatus::Paused {
        return Some("it is paused, and can be resumed".into());
    }
    let changed: Vec<_> = session
        .tasks
        .values()
        .filter(|task| has_changed_something(task))
        .map(|task| task.task_id.as_str())
        .collect();
    (!changed.is_empty()).then(|| format!("it installed {}", changed.join(", ")))
}

/// Whether something of a task is, or may be, on the machine.
fn has_changed_something(task: &TaskRecord) -> bool {
    task.status == TaskStatus::Completed
        || task.commands().iter().any(|command| {
            command.kind.is_none()
                && (command.status == CommandStatus::Success
                    || command.outcome == Some(AttemptOutcome::Indeterminate))
        })
}

/// Which session was expanded from which.
fn expanded_by<'a>(sessions: impl Iterator<Item = &'a Document>) -> BTreeMap<SessionId, SessionId> {
    let mut found = BTreeMap::new();
    for session in sessions {
        for expansion in &session.expansion_history {
            found.insert(expansion.session_id.clone(), session.meta.id.clone());
        }
    }
    found
}
