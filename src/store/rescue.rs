//! Bringing a damaged record to a state it can be used in again.
//!
//! What was damaged is set aside, never deleted. A new journal takes the place of the old one in one
//! step, with everything there is to say about the recovery already in it: one who is interrupted
//! before that step finds the old damage and does the same again, one after it finds a whole record.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{
    Moment, Pen, Position, Recorder, Rescue, Shelf, Store, StoreError, Survey, Way,
    layout::create_if_absent, line, recorder::not_before, survey::attempts_in,
};
use crate::{
    disk::{self, Lock},
    model::{Digest, Document, Event, EventKind, Illegal, Session, SessionId, Timestamp, VERSION},
};

/// Whoever works on a damaged record: its lock is held.
#[derive(Debug)]
pub struct Salvor {
    store: Store,
    pub survey: Survey,
    lock: Lock,
}

/// The directory of an attempt that the kept lines of a journal say nothing of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostAttempt {
    pub seq: u64,
    /// Where it is now.
    pub directory: PathBuf,
    /// Where it will be, below the session's record.
    pub log: String,
}

/// A new journal in the making.
#[derive(Debug)]
pub struct Rewrite {
    bytes: Vec<u8>,
    end: Position,
    session: Option<Session>,
    now: Timestamp,
    /// Attempts up to this one stay where they are: the journal knows them.
    known: u64,
}

impl Store {
    /// Takes the lock of a session that cannot be used, and looks at what is left of it.
    pub fn take_wreck(&self, id: &SessionId, pen: &Pen) -> Result<Salvor, StoreError> {
        self.survey(id)?;
        self.home.prepare(&self.fs)?;
        create_if_absent(&self.fs, &self.home.record(id))?;
        let lock = self.lock(id, pen)?;
        let survey = self.survey(id)?;
        Ok(Salvor { store: self.clone(), survey, lock })
    }
}

impl Salvor {
    /// The journal that a rescue leads to, before anything is said of the recovery; `None` if the
    /// present one stays.
    pub fn rewrite(&self, rescue: &Rescue, now: &Moment) -> Result<Option<Rewrite>, StoreError> {
        let bytes = self.survey.journal.as_deref().unwrap_or_default();
        match &rescue.way {
            Way::Keep => Ok(None),
            Way::Cut { end, .. } => {
                let kept = usize::try_from(end.offset).unwrap_or(usize::MAX);
                Ok(Some(Rewrite {
                    bytes: bytes.get(..kept).unwrap_or_default().to_vec(),
                    end: end.clone(),
                    known: end.seq,
                    session: Some(rescue.session.clone()),
                    now: now.wall.clone(),
                }))
            }
            Way::Anew { .. } => {
                let mut document = rescue.session.document().clone();
                document.relocate_logs(&format!("{}/", self.attempts_aside()));
                let mut rewrite = Rewrite::empty(now);
                rewrite.import(document).map_err(|source| self.illegal(source))?;
                Ok(Some(rewrite))
            }
        }
    }

    /// A journal for a session of which nothing is known.
    pub fn rewrite_anew(&self, now: &Moment) -> Rewrite {
        Rewrite::empty(now)
    }

    pub fn illegal(&self, source: Illegal) -> StoreError {
        StoreError::Illegal { id: self.survey.id.clone(), source }
    }

    /// The attempts beyond the `known` ones, wherever an earlier recovery may have left them.
    pub fn lost_attempts(&self, known: u64) -> Result<Vec<LostAttempt>, StoreError> {
        let (id, home) = (&self.survey.id, &self.store.home);
        let aside = self.attempts_aside();
        let mut found = attempts_in(&self.store.fs, &home.attempts(id))?;
        found.extend(attempts_in(&self.store.fs, &home.record(id).join(&aside))?);
        found.sort_unstable();
        let lost = found
            .into_iter()
            .filter(|(seq, _)| *seq > known)
            .map(|(seq, directory)| LostAttempt { seq, directory, log: format!("{aside}/{seq}") });
        Ok(lost.collect())
    }

    /// Where attempts go that a new journal does not know: the same place for the same damage, so
    /// that an interrupted recovery finds them again.
    fn attempts_aside(&self) -> String {
        let damaged = self.survey.journal.as_deref().unwrap_or_default();
        let sum = Digest::of(Sha256::digest(damaged).into());
        format!("set-aside/attempts-{}", &sum.as_str()[..8])
    }

    /// Does it: from here on the record can be used again. Returns what was set aside, too.
    pub fn commit(
        self,
        rewrite: Option<&Rewrite>,
        now: &Moment,
    ) -> Result<(Recorder, Vec<PathBuf>), StoreError> {
        let (store, id) = (&self.store, &self.survey.id);
        let mut aside = Vec::new();
        create_if_absent(&store.fs, &store.home.set_aside(id))?;
        let everything = rewrite.is_some();
        if let Some(rewrite) = rewrite {
            aside.extend(self.put_attempts_aside(rewrite.known)?);
            aside.extend(self.replace_journal(&rewrite.bytes)?);
        }
        for shelf in Shelf::ALL {
            if everything || self.survey.bad_documents.contains(&shelf) {
                let path = store.home.document(shelf, id);
                aside.extend(self.put_aside(&path, shelf.name())?);
                store.fs.sync_dir(&store.home.shelf(shelf))?;
            }
        }
        if everything || self.survey.bad_backup {
            aside.extend(self.put_aside(&store.home.backup(id), "backup")?);
        }
        store.fs.sync_dir(&store.home.set_aside(id))?;
        store.fs.sync_dir(&store.home.record(id))?;
        tracing::trace!(step = "recovered");
        let recorder = store.open_locked(id, self.lock, now)?;
        Ok((recorder, aside))
    }

    fn put_attempts_aside(&self, known: u64) -> Result<Option<PathBuf>, StoreError> {
        let (store, id) = (&self.store, &self.survey.id);
        let lost: Vec<_> = attempts_in(&store.fs, &store.home.attempts(id))?
            .into_iter()
            .filter(|(seq, _)| *seq > known)
            .collect();
        if lost.is_empty() {
            return Ok(None);
        }
        let place = store.home.record(id).join(self.attempts_aside());
        create_if_absent(&store.fs, &place)?;
        for (seq, directory) in lost {
            store.fs.rename(&directory, &place.join(seq.to_string()))?;
        }
        store.fs.sync_dir(&place)?;
        Ok(Some(place))
    }

    /// Puts a new journal in the place of the old one, which gets another name.
    fn replace_journal(&self, bytes: &[u8]) -> Result<Option<PathBuf>, StoreError> {
        let (store, id) = (&self.store, &self.survey.id);
        let path = store.home.journal(id);
        let there = store.fs.stat(&path)?.is_some();
        let aside = store.free_place_aside(id, "journal")?;
        tracing::trace!(step = "replace");
        disk::save(&store.fs, &path, bytes, Some(&aside))?;
        tracing::trace!(step = "replaced");
        Ok(there.then_some(aside))
    }

    fn put_aside(&self, path: &Path, name: &str) -> Result<Option<PathBuf>, StoreError> {
        let (store, id) = (&self.store, &self.survey.id);
        if store.fs.stat(path)?.is_none() {
            return Ok(None);
        }
        let aside = store.free_place_aside(id, name)?;
        store.fs.rename(path, &aside)?;
        Ok(Some(aside))
    }
}

impl Rewrite {
    fn empty(now: &Moment) -> Self {
        Self {
            bytes: Vec::new(),
            end: Position::default(),
            session: None,
            now: now.wall.clone(),
            known: 0,
        }
    }

    fn import(&mut self, document: Document) -> Result<(), Illegal> {
        let format = VERSION.into();
        self.record(EventKind::SessionImported { format, document: Box::new(document) }).map(drop)
    }

    /// The session as the new journal has it so far.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Adds an event; returns its number. After an error nothing has changed.
    pub fn record(&mut self, kind: EventKind) -> Result<u64, Illegal> {
        let earliest = match (&self.session, &kind) {
            (Some(session), _) => session.meta.updated_at.millis(),
            (None, EventKind::SessionImported { document, .. }) => {
                document.meta.updated_at.millis()
            }
            (None, _) => i64::MIN,
        };
        let at = not_before(earliest, &self.now);
        let seq = self.end.seq.saturating_add(1);
        let mut bytes = Vec::new();
        let chain = line::encode(&mut bytes, seq, &at, None, &kind, self.end.chain.as_ref());
        let end = self.end.offset.saturating_add(bytes.len() as u64);
        let event = Event { seq, timestamp: at, batch: None, kind, chain: chain.clone(), end };
        match &mut self.session {
            Some(session) => session.apply(&event)?,
            None => self.session = Some(Session::begin(&event)?),
        }
        self.bytes.extend_from_slice(&bytes);
        self.end = Position { seq, chain: Some(chain), offset: end };
        Ok(seq)
    }
}
