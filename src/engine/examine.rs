//! A loaded session held against the world around it: its files, its machine, its age.

use std::{collections::HashMap, path::Path};

use super::{Clock, machine};
use crate::{
    exec::Attempt,
    flow::{self, Expiry, Facts, Finding, Live, MissingFile},
    model::{Document, SessionId, Timestamp},
    store::{Listing, Loaded, Note, Store, StoreError},
};

/// What is to be known about a session that loads.
#[derive(Debug)]
pub struct Examination {
    pub live: Live,
    pub expiry: Expiry,
    pub findings: Vec<Finding>,
    /// Whether only its own word counts, in the present format: then what is found must be mended
    /// before anything is built on it.
    pub is_foreign: bool,
}

pub fn examine(store: &Store, loaded: &Loaded, clock: &Clock) -> Result<Examination, StoreError> {
    let document = loaded.session.document();
    let id = &document.meta.id;
    let (live, expiry) = liveliness(store, document, clock)?;
    let (plan, unreadable) = match store.plan_of(document) {
        Ok(plan) => (plan, None),
        Err(error @ StoreError::Plan { .. }) => (None, Some(error)),
        Err(error) => return Err(error),
    };
    let mut missing = missing_files(store, document)?;
    let hint = format!("`provision resume {id} --plan FILE` takes it from elsewhere");
    if document.plan.digest.is_some() && plan.is_none() && unreadable.is_none() {
        let path = store.home().plan(id).to_string_lossy().into_owned();
        let place = "plan.digest".into();
        missing.insert(0, MissingFile { place, path, error: None, hint: Some(hint.clone()) });
    }
    let facts = Facts { plan: plan.as_ref(), machine: &machine(), missing };
    let mut findings = flow::examine(document, facts);
    if let Some(error) = unreadable {
        let why = std::error::Error::source(&error).map_or_else(String::new, ToString::to_string);
        let message = format!("the plan is damaged: {why}");
        findings.push(Finding { place: "plan".into(), message, hint: Some(hint) });
    }
    let legacy = loaded.notes.iter().any(|note| matches!(note, Note::Legacy { .. }));
    let is_foreign = !loaded.has_journal() && !legacy;
    Ok(Examination { live, expiry, findings, is_foreign })
}

/// Whether someone works on a session, and what its age means.
pub fn liveliness(
    store: &Store,
    document: &Document,
    clock: &Clock,
) -> Result<(Live, Expiry), StoreError> {
    let id = &document.meta.id;
    let live = if store.is_locked(id)? { Live::Running } else { Live::Nobody };
    let (last, goes_on) = last_activity(store, document, clock)?;
    let busy = live == Live::Running || goes_on;
    Ok((live, Expiry::of(document, &last, busy, &clock.now().wall)))
}

/// What the age of a session means to the one who holds its lock.
pub(super) fn expiry_under_lock(
    store: &Store,
    document: &Document,
    clock: &Clock,
) -> Result<Expiry, StoreError> {
    let (last, goes_on) = last_activity(store, document, clock)?;
    Ok(Expiry::of(document, &last, goes_on, &clock.now().wall))
}

/// What the age of each listed session means, where it means something.
pub type Expiries = HashMap<SessionId, Expiry>;

pub fn expiries(store: &Store, listing: &Listing, clock: &Clock) -> Result<Expiries, StoreError> {
    let now = clock.now().wall;
    let mut found = HashMap::new();
    for summary in &listing.sessions {
        // Only where the line itself says that there is something to look at.
        if !Expiry::may_be(summary.status, &summary.updated_at, &now) {
            continue;
        }
        // One that cannot be read is for `status` to explain.
        let Ok(loaded) = store.load(&summary.id) else { continue };
        let (_, expiry) = liveliness(store, &loaded.session, clock)?;
        if expiry != Expiry::None {
            found.insert(summary.id.clone(), expiry);
        }
    }
    Ok(found)
}

/// When a session was last heard of, and whether a command of it still runs: one that outlived the
/// runner is activity, too.
fn last_activity(
    store: &Store,
    document: &Document,
    clock: &Clock,
) -> Result<(Timestamp, bool), StoreError> {
    let now = clock.now().wall;
    let mut last = document.meta.updated_at.clone();
    for open in document.tasks.values().flat_map(|task| &task.in_flight) {
        let directory = store.home().attempt(&document.meta.id, open.seq);
        let attempt = Attempt::new(store.fs(), &directory);
        if attempt.is_claimed()? {
            return Ok((last, true));
        }
        if let Some(at) = last_heard(store, &document.meta.id, open.seq, &now)? {
            last = last.max(at);
        }
    }
    Ok((last, false))
}

/// When an attempt last wrote something.
pub(super) fn last_heard(
    store: &Store,
    id: &SessionId,
    seq: u64,
    now: &Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let directory = store.home().attempt(id, seq);
    let mut last = None;
    for name in ["output.log", "tail.0", "tail.1", "result"] {
        if let Some(stat) = store.fs().stat(&directory.join(name))? {
            let written = Timestamp::clamped(stat.modified_millis);
            // A time to come tells nothing.
            last = last.max(Some(written).filter(|written| written <= now));
        }
    }
    Ok(last)
}

fn missing_files(store: &Store, document: &Document) -> Result<Vec<MissingFile>, StoreError> {
    let id: &SessionId = &document.meta.id;
    let record = store.home().record(id);
    // What was removed on purpose is not missed.
    let pruned = store.were_logs_removed(id)?;
    let mut missing = Vec::new();
    for (task_id, task) in &document.tasks {
        for (at, command) in task.commands().iter().enumerate() {
            let Some(log) = command.log.as_deref().filter(|_| !pruned) else { continue };
            let hint = "what the command wrote is gone; how it ended is recorded";
            let place = || format!("tasks.{task_id}.commands[{at}].log");
            missing.extend(look_for(store, &record.join(log), place, Some(hint)));
        }
    }
    let manifest = document.profile.manifest_path.as_deref().filter(|path| path.starts_with('/'));
    if let Some(manifest) = manifest {
        let place = || "profile.manifest_path".into();
        missing.extend(look_for(store, Path::new(manifest), place, None));
    }
    Ok(missing)
}

/// A file that a document names, if it is not there. Documents can name anything, also what may not
/// be looked at: that is something to know of the document, and no failure of ours.
fn look_for(
    store: &Store,
    path: &Path,
    place: impl Fn() -> String,
    hint: Option<&str>,
) -> Option<MissingFile> {
    let error = match store.fs().stat(path) {
        Ok(Some(_)) => return None,
        Ok(None) => None,
        Err(error) => Some(error.source.to_string()),
    };
    let path = path.to_string_lossy().into_owned();
    Some(MissingFile { place: place(), path, error, hint: hint.map(Into::into) })
}
