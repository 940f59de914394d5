//! Bringing a damaged record to a state it can be used in again.
//!
//! What was damaged is set aside, never deleted. A new journal takes the place of the old one in one
//! step, with everything there is to say about the recovery already in it: one who is interrupted
//! before that step finds the old damage and does the same again, one after it finds a whole record.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{
    Moment, Pen, Position, Recorder, Rescue, Shelf, Store, StoreError, Survey, Way, line,
    recorder::not_before, survey::attempts_in,
};
use crate::{
    disk::{self, Lock, create_if_absent},
    model::{EventKind, Illegal, Plan, Session, SessionId, Timestamp, VERSION},
};

/// Whoever works on a damaged record: its lock is held.
#[derive(Debug)]
pub struct Salvor {
    store: Store,
    pub survey: Survey,
    lock: Lock,
}

/// The directory of an attempt of which the kept lines of a journal do not say how it ended.
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
    /// Whether it begins with what a document says.
    from_document: bool,
    /// Where the others go.
    aside: PathBuf,
}

impl Store {
    /// Takes the lock of a session that cannot be used, and looks at what is left of it.
    pub fn take_wreck(&self, id: &SessionId, pen: &Pen) -> Result<Salvor, StoreError> {
        self.survey(id)?;
        self.home.prepare(&self.fs)?;
        create_if_absent(&self.fs, &self.home.record(id))?;
        let lock = self.lock(id, pen)?;
        let survey = self.survey(id)?;
        let salvor = Salvor { store: self.clone(), survey, lock };
        if !salvor.survey.damage.is_empty() {
            salvor.bring_back_attempts()?;
        }
        Ok(salvor)
    }
}

impl Store {
    /// Gives a file another name, under `set-aside`, that is durable before the file is touched.
    pub(super) fn keep_aside(
        &self,
        id: &SessionId,
        path: &Path,
        name: &str,
    ) -> Result<Option<PathBuf>, StoreError> {
        if self.fs.stat(path)?.is_none() {
            return Ok(None);
        }
        let aside = self.free_place_aside(id, name)?;
        self.fs.link(path, &aside)?;
        self.fs.sync_dir(&self.home.set_aside(id))?;
        Ok(Some(aside))
    }

    /// Makes room for an attempt whose number was used in an earlier life of its session.
    pub fn put_attempt_aside(&self, id: &SessionId, seq: u64) -> Result<(), StoreError> {
        let aside = self.free_place_aside(id, &format!("attempt-{seq}"))?;
        self.fs.rename(&self.home.attempt(id, seq), &aside)?;
        Ok(self.fs.sync_dir(&self.home.set_aside(id))?)
    }
}

impl Salvor {
    /// The journal that a rescue leads to, before anything is said of the recovery; `None` if the
    /// present one stays.
    pub fn rewrite(&self, rescue: &Rescue, now: &Moment) -> Result<Option<Rewrite>, StoreError> {
        let Some(aside) = self.attempts_aside(rescue) else { return Ok(None) };
        let mut rewrite = Rewrite::empty(now, aside);
        match &rescue.way {
            Way::Keep => return Ok(None),
            Way::Cut { end, .. } => {
                let bytes = self.survey.journal.as_deref().unwrap_or_default();
                let kept = usize::try_from(end.offset).unwrap_or(usize::MAX);
                rewrite.bytes = bytes.get(..kept).unwrap_or(bytes).to_vec();
                if kept > bytes.len() {
                    // All that was left of the last line but its end.
                    rewrite.bytes.push(b'\n');
                }
                rewrite.end = end.clone();
                rewrite.known = end.seq;
                rewrite.session = Some(rescue.session.clone());
            }
            Way::Anew { .. } => {
                let mut document = rescue.session.document().clone();
                document.relocate_logs(&format!("{}/", self.below_record(&rewrite.aside)));
                let (format, document) = (VERSION.into(), Box::new(document));
                let imported = EventKind::SessionImported { format, document };
                rewrite.record(imported).map_err(|source| self.illegal(source))?;
                rewrite.from_document = true;
            }
        }
        Ok(Some(rewrite))
    }

    /// A journal for a session of which nothing is known.
    pub fn rewrite_anew(&self, now: &Moment) -> Rewrite {
        Rewrite::empty(now, self.attempts_after_journal())
    }

    /// Keeps the plan that the session goes on with.
    pub fn keep_plan(&self, plan: &Plan) -> Result<(), StoreError> {
        self.store.replace_plan(&self.survey.id, plan)
    }

    pub fn illegal(&self, source: Illegal) -> StoreError {
        StoreError::Illegal { id: self.survey.id.clone(), source }
    }

    /// Returns the attempts that the new journal does not mention and those that it leaves open, by
    /// number.
    pub fn attempts(&self, rewrite: &Rewrite) -> Result<Vec<LostAttempt>, StoreError> {
        let (store, id) = (&self.store, &self.survey.id);
        let aside = self.below_record(&rewrite.aside);
        let tasks = rewrite.session.iter().flat_map(|session| session.tasks.values());
        let mut found = BTreeMap::new();
        for seq in tasks.flat_map(|task| &task.in_flight).map(|open| open.seq) {
            let directory = store.home.attempt(id, seq);
            found.insert(seq, LostAttempt { seq, directory, log: format!("attempts/{seq}") });
        }
        for (seq, directory) in store.attempts(id)? {
            if seq > rewrite.known {
                let log = format!("{aside}/{seq}");
                found.insert(seq, LostAttempt { seq, directory, log });
            }
        }
        Ok(found.into_values().collect())
    }

    /// Where attempts go that the journal of a rescue does not know; nowhere if it stays.
    fn attempts_aside(&self, rescue: &Rescue) -> Option<PathBuf> {
        let last = match &rescue.way {
            Way::Keep => return None,
            Way::Cut { end, .. } => end.chain.as_ref(),
            Way::Anew { .. } => rescue.session.meta.chain.as_ref(),
        };
        Some(self.store.home.attempts_aside(&self.survey.id, last))
    }

    /// Where attempts go when nothing but the journal's good lines could be built on, and is not.
    fn attempts_after_journal(&self) -> PathBuf {
        self.store.home.attempts_aside(&self.survey.id, self.survey.end.as_ref())
    }

    fn below_record(&self, path: &Path) -> String {
        let record = self.store.home.record(&self.survey.id);
        path.strip_prefix(record).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Undoes what a recovery did that was cut short before the new journal was in place.
    fn bring_back_attempts(&self) -> Result<(), StoreError> {
        let (store, id) = (&self.store, &self.survey.id);
        let rescues = &self.survey.rescues;
        let mut places: Vec<_> = rescues.iter().filter_map(|r| self.attempts_aside(r)).collect();
        // Without a line to name it after, the place may be that of an earlier life of the session:
        // it counts only where nothing is left of this one.
        if self.survey.end.is_some() || rescues.is_empty() {
            places.push(self.attempts_after_journal());
        }
        for aside in places {
            if store.fs.stat(&aside)?.is_none() {
                continue;
            }
            create_if_absent(&store.fs, &store.home.attempts(id))?;
            for (seq, directory) in attempts_in(&store.fs, &aside)? {
                let place = store.home.attempt(id, seq);
                if store.fs.stat(&place)?.is_none() {
                    store.fs.rename(&directory, &place)?;
                }
            }
            store.fs.sync_dir(&store.home.attempts(id))?;
            // The name says that a recovery was cut short: it must go, whatever is left in it.
            if store.fs.list(&aside)?.is_empty() {
                store.fs.remove_dir(&aside)?;
            } else {
                store.fs.rename(&aside, &store.free_place_aside(id, "attempts")?)?;
            }
            store.fs.sync_dir(&store.home.set_aside(id))?;
        }
        Ok(())
    }

    /// Does it: from here on the record can be used again. Returns what was set aside, too.
    ///
    /// Every step keeps what it replaces before it replaces it, also through a power cut. Documents
    /// that the new journal does not come from go first: behind the switch one of them could be
    /// taken for a later state. The one that it comes from goes last.
    pub fn commit(
        self,
        rewrite: Option<&Rewrite>,
        now: &Moment,
    ) -> Result<(Recorder, Vec<PathBuf>), StoreError> {
        let (store, id) = (&self.store, &self.survey.id);
        let mut aside = Vec::new();
        create_if_absent(&store.fs, &store.home.set_aside(id))?;
        store.fs.sync_dir(&store.home.record(id))?;
        let Survey { bad_documents, bad_backup, .. } = &self.survey;
        match rewrite {
            None => aside.extend(self.put_documents_aside(bad_documents, *bad_backup)?),
            Some(rewrite) => {
                if !rewrite.from_document {
                    aside.extend(self.put_documents_aside(&Shelf::ALL, true)?);
                }
                aside.extend(self.put_attempts_aside(rewrite)?);
                aside.extend(self.replace_journal(&rewrite.bytes)?);
                if rewrite.from_document {
                    aside.extend(self.put_documents_aside(&Shelf::ALL, true)?);
                }
            }
        }
        tracing::trace!(step = "recovered");
        let recorder = store.open_locked(id, self.lock, now)?;
        Ok((recorder, aside))
    }

    fn put_documents_aside(
        &self,
        shelves: &[Shelf],
        backup: bool,
    ) -> Result<Vec<PathBuf>, StoreError> {
        let (store, id) = (&self.store, &self.survey.id);
        let mut aside = Vec::new();
        for shelf in shelves {
            aside.extend(self.put_aside(&store.home.document(*shelf, id), shelf.name())?);
            store.fs.sync_dir(&store.home.shelf(*shelf))?;
        }
        if backup {
            aside.extend(self.put_aside(&store.home.backup(id), "backup")?);
            store.fs.sync_dir(&store.home.record(id))?;
        }
        Ok(aside)
    }

    fn put_attempts_aside(&self, rewrite: &Rewrite) -> Result<Option<PathBuf>, StoreError> {
        let (store, place) = (&self.store, &rewrite.aside);
        let mut lost = store.attempts(&self.survey.id)?;
        lost.retain(|(seq, _)| *seq > rewrite.known);
        if lost.is_empty() {
            return Ok(None);
        }
        create_if_absent(&store.fs, place)?;
        store.fs.sync_dir(&store.home.set_aside(&self.survey.id))?;
        for (seq, directory) in lost {
            let target = place.join(seq.to_string());
            if store.fs.stat(&target)?.is_some() {
                // Of an earlier life of this session.
                let before = store.free_place_aside(&self.survey.id, &format!("attempt-{seq}"))?;
                store.fs.rename(&target, &before)?;
            }
            store.fs.rename(&directory, &target)?;
        }
        // The new names first: between the two there may be both, never none.
        store.fs.sync_dir(place)?;
        store.fs.sync_dir(&store.home.attempts(&self.survey.id))?;
        Ok(Some(place.clone()))
    }

    /// Puts a new journal in the place of the old one, which gets another name.
    fn replace_journal(&self, bytes: &[u8]) -> Result<Option<PathBuf>, StoreError> {
        let (store, id) = (&self.store, &self.survey.id);
        let path = store.home.journal(id);
        let aside = store.keep_aside(id, &path, "journal")?;
        tracing::trace!(step = "replace");
        disk::save(&store.fs, &path, bytes, None)?;
        tracing::trace!(step = "replaced");
        Ok(aside)
    }

    fn put_aside(&self, path: &Path, name: &str) -> Result<Option<PathBuf>, StoreError> {
        let aside = self.store.keep_aside(&self.survey.id, path, name)?;
        if aside.is_some() {
            self.store.fs.remove(path)?;
        }
        Ok(aside)
    }
}

impl Rewrite {
    fn empty(now: &Moment, aside: PathBuf) -> Self {
        Self {
            aside,
            bytes: Vec::new(),
            end: Position::default(),
            session: None,
            now: now.wall.clone(),
            known: 0,
            from_document: false,
        }
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
        let mut bytes = Vec::new();
        let event = line::encode(&mut bytes, &self.end, None, kind, &at);
        match &mut self.session {
            Some(session) => session.apply(&event)?,
            None => self.session = Some(Session::begin(&event)?),
        }
        self.bytes.extend_from_slice(&bytes);
        self.end = Position::behind(&event);
        Ok(event.seq)
    }
}
