//! Finding sessions: what ids there are, which one is meant, and a line about each.
//!
//! A line is read from the document alone where the journal says nothing more, and nothing of it
//! is kept but what the line needs: ten thousand sessions are listed in the time of reading them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{Loaded, Shelf, Store, StoreError, document};
use crate::{
    disk::{Entry, EntryKind, if_there},
    model::{
        Document, Expansion, Meta, Phase, PhaseState, ProfileChoice, REPAIR, SessionId,
        SessionStatus, TaskStatus, Timestamp,
    },
};

/// The sessions of a home, newest first.
#[derive(Debug, Default)]
pub struct Listing {
    pub sessions: Vec<SessionSummary>,
    pub unreadable: Vec<Unreadable>,
    /// How many there are beyond those listed.
    pub more: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SessionSummary {
    pub id: SessionId,
    pub status: SessionStatus,
    pub phase: Phase,
    pub profile: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub tasks: TaskCounts,
    /// The sessions it adds to, oldest first.
    pub expands: Vec<SessionId>,
    /// Whether it only mended the machine for others: nobody means it unless they name it.
    pub is_repair: bool,
    pub path: PathBuf,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCounts {
    pub completed: usize,
    pub failed: usize,
    pub skipped: usize,
    /// Not started, or not finished.
    pub pending: usize,
}

#[derive(Debug)]
pub struct Unreadable {
    pub id: SessionId,
    pub error: StoreError,
}

impl TaskCounts {
    pub fn of(statuses: impl Iterator<Item = TaskStatus>) -> Self {
        let mut counts = Self::default();
        for status in statuses {
            match status {
                TaskStatus::Completed => counts.completed += 1,
                TaskStatus::Failed => counts.failed += 1,
                TaskStatus::Skipped => counts.skipped += 1,
                TaskStatus::Pending | TaskStatus::InProgress => counts.pending += 1,
            }
        }
        counts
    }
}

impl Store {
    /// The newest `limit` sessions, or all. One that cannot be read does not hide the others.
    pub fn list(&self, limit: Option<usize>) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        let ids = self.ids()?;
        for (id, shelves) in ids.into_iter().rev() {
            if limit.is_some_and(|limit| listing.sessions.len() + listing.unreadable.len() >= limit)
            {
                listing.more += 1;
                continue;
            }
            match self.summary(&id, &shelves) {
                Ok(summary) => listing.sessions.push(summary),
                Err(error) => listing.unreadable.push(Unreadable { id, error }),
            }
        }
        // Ids know the second only.
        listing.sessions.sort_by(|a, b| b.age().cmp(&a.age()));
        Ok(listing)
    }

    /// The ids of the newest sessions, newest first to the second.
    pub fn newest_ids(&self, most: usize) -> Result<Vec<SessionId>, StoreError> {
        Ok(self.ids()?.into_keys().rev().take(most).collect())
    }

    /// The session that `text` means: an id, the beginning of just one, or `latest`.
    pub fn resolve(&self, text: &str) -> Result<SessionId, StoreError> {
        if text == "latest" {
            let newest = self.newest()?;
            return newest.ok_or_else(|| StoreError::Empty(self.home.path().into()));
        }
        if !SessionId::is_prefix(text) {
            return Err(StoreError::NotAnId(text.into()));
        }
        if let Ok(id) = text.parse() {
            return Ok(id);
        }
        let ids = self.ids()?.into_keys();
        let mut candidates: Vec<_> = ids.filter(|id| id.as_str().starts_with(text)).collect();
        match candidates.len() {
            0 => Err(StoreError::Unknown(text.into())),
            1 => Ok(candidates.remove(0)),
            _ => Err(StoreError::Ambiguous { prefix: text.into(), candidates }),
        }
    }

    /// The session that was begun last. One that only mends the machine is meant where there is no
    /// other; one that cannot be read may be the one that is meant.
    fn newest(&self) -> Result<Option<SessionId>, StoreError> {
        let ids = self.ids()?;
        let mut found: Option<(SessionId, Option<SessionSummary>)> = None;
        for (id, shelves) in ids.iter().rev() {
            if found.as_ref().is_some_and(|(known, _)| known.second() != id.second()) {
                break;
            }
            let summary = self.summary(id, shelves).ok();
            if summary.as_ref().is_some_and(|summary| summary.is_repair) {
                continue;
            }
            let created = |summary: &Option<SessionSummary>| {
                summary.as_ref().map(|summary| summary.created_at.clone())
            };
            if found.as_ref().is_none_or(|(_, known)| created(&summary) > created(known)) {
                found = Some((id.clone(), summary));
            }
        }
        let last = || ids.last_key_value().map(|(id, _)| id.clone());
        Ok(found.map(|(id, _)| id).or_else(last))
    }

    /// Every id that has a document or a record, oldest first, with the shelves it stands on.
    fn ids(&self) -> Result<BTreeMap<SessionId, BTreeSet<Shelf>>, StoreError> {
        let mut ids = BTreeMap::<SessionId, BTreeSet<Shelf>>::new();
        for shelf in Shelf::ALL {
            for (name, kind) in self.names(&self.home.shelf(shelf))? {
                let id = name.strip_suffix(".json").and_then(|name| name.parse().ok());
                if let Some(id) = id.filter(|_| kind != EntryKind::Directory) {
                    ids.entry(id).or_default().insert(shelf);
                }
            }
        }
        for (name, kind) in self.names(&self.home.records())? {
            let Ok(id) = name.parse() else { continue };
            // A record that died before its first event is no session.
            if kind == EntryKind::Directory
                && !ids.contains_key(&id)
                && !matches!(self.load(&id), Err(StoreError::Unknown(_)))
            {
                ids.insert(id, BTreeSet::new());
            }
        }
        Ok(ids)
    }

    fn names(&self, directory: &Path) -> Result<Vec<(String, EntryKind)>, StoreError> {
        let entries = if_there(self.fs.list(directory))?.unwrap_or_default();
        let named = |entry: Entry| Some((entry.name.into_string().ok()?, entry.kind));
        Ok(entries.into_iter().filter_map(named).collect())
    }

    fn summary(
        &self,
        id: &SessionId,
        shelves: &BTreeSet<Shelf>,
    ) -> Result<SessionSummary, StoreError> {
        if let [shelf] = *shelves.iter().copied().collect::<Vec<_>>().as_slice()
            && let Some(summary) = self.glance(id, shelf)?
        {
            return Ok(summary);
        }
        let Loaded { session, path, .. } = self.load(id)?;
        let Document { meta, phase, profile, tasks, expansion_history, .. } = session.document();
        let statuses = tasks.values().map(|task| task.status);
        Ok(SessionSummary::of(meta, phase, profile, statuses, expansion_history, path))
    }

    /// The summary from the document alone; `None` where the whole record must be read.
    fn glance(&self, id: &SessionId, shelf: Shelf) -> Result<Option<SessionSummary>, StoreError> {
        let path = self.home.document(shelf, id);
        let bytes = match document::read_bytes(&self.fs, id, &path) {
            Err(StoreError::Disk(error)) if error.not_found() => return Ok(None),
            bytes => bytes?,
        };
        let Ok(glance) = serde_json::from_slice::<Glance>(&bytes) else { return Ok(None) };
        let journal = self.fs.stat(&self.home.journal(id))?.map(|stat| stat.len);
        let current = journal == glance.meta.journal_offset
            && glance.meta.id == *id
            && document::is_sealed(&bytes);
        let Glance { meta, phase, profile, tasks, expansion_history } = glance;
        let statuses = tasks.into_values().map(|task| task.status);
        let summary =
            || SessionSummary::of(&meta, &phase, &profile, statuses, &expansion_history, path);
        Ok(current.then(summary))
    }
}

impl SessionSummary {
    /// Greater for what was begun later.
    fn age(&self) -> (&str, &Timestamp, &SessionId) {
        (self.id.second(), &self.created_at, &self.id)
    }

    fn of(
        meta: &Meta,
        phase: &PhaseState,
        profile: &ProfileChoice,
        statuses: impl Iterator<Item = TaskStatus>,
        expansions: &[Expansion],
        path: PathBuf,
    ) -> Self {
        let objective = meta.objective.as_deref();
        Self {
            id: meta.id.clone(),
            status: meta.status,
            phase: phase.current,
            profile: profile.selected.clone(),
            created_at: meta.created_at.clone(),
            updated_at: meta.updated_at.clone(),
            tasks: TaskCounts::of(statuses),
            expands: expansions.iter().map(|step| step.session_id.clone()).collect(),
            is_repair: objective.is_some_and(|objective| objective.starts_with(REPAIR)),
            path,
        }
    }
}

/// The parts of a document that a summary needs: of a task only its status.
#[derive(Deserialize)]
struct Glance {
    meta: Meta,
    phase: PhaseState,
    #[serde(default)]
    profile: ProfileChoice,
    #[serde(default)]
    tasks: BTreeMap<String, GlanceTask>,
    #[serde(default)]
    expansion_history: Vec<Expansion>,
}

#[derive(Deserialize)]
struct GlanceTask {
    status: TaskStatus,
}
