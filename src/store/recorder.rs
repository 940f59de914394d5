//! The one who writes a session's record: holds its lock, and turns events into durable lines.

use std::time::Duration;

use super::{
    Moment, Position, Shelf, Store, StoreError, document, journal::Journal, load::Loaded, scan,
    snapshot::Snapshots,
};
use crate::{
    disk::{self, Holder, Lock, LockError, create_if_absent},
    model::{Event, EventKind, Illegal, Plan, Session, SessionId, TaskRecord, Timestamp, VERSION},
};

const LOCK: &str = "lock";

/// Who wants to write, and how long they wait for one who already does.
#[derive(Clone, Debug)]
pub struct Pen {
    pub holder: Holder,
    pub patience: Duration,
}

/// The writer of one session. Dropping it releases the lock; [`Recorder::close`] does so with
/// the document current.
#[derive(Debug)]
pub struct Recorder {
    session: Session,
    journal: Journal,
    snapshots: Snapshots,
    /// Why the document is not current, though it should be. The journal is.
    stale: Option<StoreError>,
    /// The first event of the journal, if it was begun with a document that had none.
    imported: Option<Event>,
    _lock: Lock,
}

impl Store {
    /// Begins the record of a new session with `first`, durably.
    pub fn create(
        &self,
        id: &SessionId,
        pen: &Pen,
        first: EventKind,
        now: &Moment,
    ) -> Result<(Recorder, Event), StoreError> {
        self.create_after(id, pen, first, now, || Ok(()))
    }

    /// Begins the record of a new session that will execute `plan`. The plan is kept before there
    /// is a session: none is ever without the plan it was begun with.
    pub fn create_with_plan(
        &self,
        id: &SessionId,
        pen: &Pen,
        plan: &Plan,
        first: EventKind,
        now: &Moment,
    ) -> Result<(Recorder, Event), StoreError> {
        self.create_after(id, pen, first, now, || self.save_plan(id, plan))
    }

    fn create_after(
        &self,
        id: &SessionId,
        pen: &Pen,
        first: EventKind,
        now: &Moment,
        before: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(Recorder, Event), StoreError> {
        let illegal = |source| StoreError::Illegal { id: id.clone(), source };
        Session::check_beginning(&first).map_err(illegal)?;
        self.home.prepare(&self.fs)?;
        self.home.check(&self.fs)?;
        create_if_absent(&self.fs, &self.home.record(id))?;
        self.fs.sync_dir(&self.home.records())?;
        let lock = self.lock(id, pen)?;
        // The name may have been taken by one who died before its first event: that is no session.
        match self.load(id) {
            Err(StoreError::Unknown(_)) => {
                before()?;
                self.begin(id, lock, first, now, None)
            }
            Err(error) => Err(error),
            Ok(_) => Err(StoreError::Exists(id.clone())),
        }
    }

    /// Takes over the record of an existing session, mending what a crash left undone.
    ///
    /// A document that never had a journal gets one, and is kept as it was among the artifacts.
    pub fn open_record(
        &self,
        id: &SessionId,
        pen: &Pen,
        now: &Moment,
    ) -> Result<Recorder, StoreError> {
        if self.fs.stat(&self.home.record(id))?.is_none() {
            // A document of someone else's making: look at it before anything is touched.
            self.load(id)?;
        }
        self.home.prepare(&self.fs)?;
        create_if_absent(&self.fs, &self.home.record(id))?;
        self.fs.sync_dir(&self.home.records())?;
        let lock = self.lock(id, pen)?;
        self.open_locked(id, lock, now)
    }

    /// As [`Store::open_record`], for one who has the lock.
    pub(super) fn open_locked(
        &self,
        id: &SessionId,
        lock: Lock,
        now: &Moment,
    ) -> Result<Recorder, StoreError> {
        // Nothing is built on a document that the journal does not lead to.
        let loaded = self.load_verified(id)?;
        self.put_copies_aside(id, &loaded)?;
        let Some(end) = loaded.journal.clone() else {
            return self.import(id, lock, &loaded, now);
        };
        self.put_bad_tail_aside(id, &loaded)?;
        let path = self.home.journal(id);
        let journal = Journal::open(&self.fs, id, &path, end, loaded.snapshot_revision)?;
        self.fs.sync_dir(&self.home.record(id))?;
        let mut recorder = Recorder {
            journal,
            snapshots: Snapshots::new(&self.fs, &self.home, id, loaded.shelf),
            session: loaded.session,
            stale: None,
            imported: None,
            _lock: lock,
        };
        if recorder.session.revision() > loaded.snapshot_revision {
            recorder.snapshots.fall_behind(now);
        }
        recorder.settle()?;
        Ok(recorder)
    }

    pub(super) fn lock(&self, id: &SessionId, pen: &Pen) -> Result<Lock, StoreError> {
        let directory = self.home.record(id);
        Lock::acquire(&self.fs, &directory, LOCK, &pen.holder, pen.patience).map_err(|source| {
            match source {
                LockError::Disk(error) => StoreError::Disk(error),
                held @ LockError::Held { .. } => {
                    StoreError::Locked { id: id.clone(), source: held }
                }
            }
        })
    }

    /// Whether a writer is at work on a session now.
    pub fn is_locked(&self, id: &SessionId) -> Result<bool, StoreError> {
        let held = disk::is_held(&self.fs, &self.home.record(id));
        Ok(disk::if_there(held)?.unwrap_or(false))
    }

    fn begin(
        &self,
        id: &SessionId,
        lock: Lock,
        first: EventKind,
        now: &Moment,
        shelf: Option<Shelf>,
    ) -> Result<(Recorder, Event), StoreError> {
        let path = self.home.journal(id);
        // Left by one who died before its first line was whole.
        if self.fs.stat(&path)?.is_some() {
            self.fs.remove(&path)?;
        }
        let mut journal = Journal::create(&self.fs, id, &path)?;
        self.fs.sync_dir(&self.home.record(id))?;
        let earliest = match &first {
            EventKind::SessionImported { document, .. } => document.meta.updated_at.millis(),
            _ => i64::MIN,
        };
        let (event, bytes) = journal.draft_one(first, &not_before(earliest, &now.wall));
        let illegal = |source| StoreError::Illegal { id: id.clone(), source };
        let session = Session::begin(&event).map_err(illegal)?;
        if scan(&bytes, &Position::default()).is_err() {
            // A document nested just as deeply as can be read is too deep inside of an event.
            return Err(illegal(Illegal::TooDeep));
        }
        journal.append(std::slice::from_ref(&event), &bytes)?;
        let mut recorder = Recorder {
            session,
            journal,
            snapshots: Snapshots::new(&self.fs, &self.home, id, shelf),
            stale: None,
            imported: None,
            _lock: lock,
        };
        recorder.snapshots.fall_behind(now);
        recorder.settle()?;
        Ok((recorder, event))
    }

    fn import(
        &self,
        id: &SessionId,
        lock: Lock,
        loaded: &Loaded,
        now: &Moment,
    ) -> Result<Recorder, StoreError> {
        let original = document::read_bytes(&self.fs, id, &loaded.path)?;
        let artifacts = self.home.artifacts(id);
        create_if_absent(&self.fs, &artifacts)?;
        disk::save(&self.fs, &artifacts.join("imported.json"), &original, None)?;
        let mut document = Box::new(loaded.session.document().clone());
        if document.meta.version != VERSION {
            document.meta.imported_from = Some(document.meta.version.clone());
        }
        let first = EventKind::SessionImported { format: VERSION.into(), document };
        let (mut recorder, event) = self.begin(id, lock, first, now, loaded.shelf)?;
        recorder.imported = Some(event);
        Ok(recorder)
    }

    fn put_copies_aside(&self, id: &SessionId, loaded: &Loaded) -> Result<(), StoreError> {
        for shelf in &loaded.copies {
            let aside = self.free_place_aside(id, shelf.name())?;
            self.fs.rename(&self.home.document(*shelf, id), &aside)?;
            self.fs.sync_dir(&self.home.set_aside(id))?;
            self.fs.sync_dir(&self.home.shelf(*shelf))?;
        }
        Ok(())
    }

    fn put_bad_tail_aside(&self, id: &SessionId, loaded: &Loaded) -> Result<(), StoreError> {
        let Some(end) = loaded.journal.as_ref().filter(|_| loaded.bad_tail) else { return Ok(()) };
        let bytes = self.fs.open_read(&self.home.journal(id))?.read_from(end.offset)?;
        let aside = self.free_place_aside(id, "journal-tail")?;
        Ok(disk::save(&self.fs, &aside, &bytes, None)?)
    }

    pub(super) fn free_place_aside(
        &self,
        id: &SessionId,
        name: &str,
    ) -> Result<std::path::PathBuf, StoreError> {
        let directory = self.home.set_aside(id);
        create_if_absent(&self.fs, &directory)?;
        let mut number = 1;
        loop {
            let path = directory.join(format!("{name}.{number}"));
            if self.fs.stat(&path)?.is_none() {
                return Ok(path);
            }
            number += 1;
        }
    }
}

impl Recorder {
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The event that began the journal when this was opened, for a document that had none.
    pub fn imported(&self) -> Option<&Event> {
        self.imported.as_ref()
    }

    /// Records events, in this order, all or none: one write and one sync for all of them.
    ///
    /// When this returns without an error, they survive a crash and, where the file system
    /// honours fdatasync, a power cut. Only then has the session taken them in. After an error
    /// nothing has changed, and the same events may be recorded again.
    pub fn record(
        &mut self,
        kinds: Vec<EventKind>,
        now: &Moment,
    ) -> Result<Vec<Event>, StoreError> {
        if kinds.is_empty() {
            return Ok(Vec::new());
        }
        let turns_the_page = kinds.iter().any(EventKind::turns_the_page);
        let earliest = self.session.meta.updated_at.millis();
        let (events, bytes) = self.journal.draft(kinds, &not_before(earliest, &now.wall));
        self.take_in(&events, &bytes)?;
        self.snapshots.fall_behind(now);
        if turns_the_page || self.due_in(now) == Some(Duration::ZERO) {
            // The events are recorded whether or not the document can be written just now.
            self.stale = self.snapshots.save(&self.session).err();
        }
        Ok(events)
    }

    /// Checks events, appends them, and takes them in.
    fn take_in(&mut self, events: &[Event], bytes: &[u8]) -> Result<(), StoreError> {
        let id = self.session.meta.id.clone();
        let illegal = |source| StoreError::Illegal { id: id.clone(), source };
        if let [event] = events {
            self.session.check(&event.kind).map_err(illegal)?;
            self.journal.append(events, bytes)?;
            return self.session.apply(event).map_err(illegal);
        }
        // Each must be legal after those before it. The session is ours alone until this returns:
        // what could not be written is forgotten.
        let undo = self.session.apply_all(events).map_err(illegal)?;
        let appended = self.journal.append(events, bytes);
        if appended.is_err() {
            self.session.undo(undo);
        }
        appended
    }

    /// Keeps another plan in the place of the one that was shown, which stays beside it.
    /// Says what that one is called now, if there was one.
    pub fn replace_plan(&self, store: &Store, plan: &Plan) -> Result<Option<String>, StoreError> {
        store.supersede_plan(&self.session.meta.id, plan)
    }

    /// Keeps what is on record of a task that begins anew; says what that is called.
    pub fn archive_task(&self, store: &Store, task: &TaskRecord) -> Result<String, StoreError> {
        store.archive_task(&self.session.meta.id, task)
    }

    /// Keeps a plan for the session in place of one that is gone or cannot be read.
    pub fn keep_plan(&self, store: &Store, plan: &Plan) -> Result<(), StoreError> {
        store.replace_plan(&self.session.meta.id, plan)
    }

    /// Keeps the page that tells of the session, in the place of an earlier one.
    pub fn keep_report(&self, store: &Store, page: &str) -> Result<(), StoreError> {
        let id = &self.session.meta.id;
        create_if_absent(&store.fs, &store.home.artifacts(id))?;
        Ok(disk::save(&store.fs, &store.home.report(id), page.as_bytes(), None)?)
    }

    /// How long until [`Recorder::settle`] should be called if nothing is recorded meanwhile.
    pub fn due_in(&self, now: &Moment) -> Option<Duration> {
        self.snapshots.due_in(now, self.journal.end().offset)
    }

    /// Brings the document up to date: before a prompt, at a pause, at the end.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        self.snapshots.save(&self.session)?;
        self.stale = None;
        Ok(())
    }

    /// As [`Recorder::settle`]; where it cannot be done now, [`Recorder::stale`] says why.
    pub fn try_to_settle(&mut self) {
        self.stale = self.snapshots.save(&self.session).err();
    }

    /// Why the document on disk is older than the journal, where the last save of it failed.
    pub fn stale(&self) -> Option<&StoreError> {
        self.stale.as_ref()
    }

    /// Leaves the record with its document current and the reserved space given back.
    pub fn close(mut self) -> Result<Session, StoreError> {
        self.settle()?;
        self.journal.release()?;
        Ok(self.session)
    }
}

/// Now, but not before what is recorded already: a clock that was set back must not reorder it.
pub(super) fn not_before(earliest: i64, now: &Timestamp) -> Timestamp {
    Timestamp::clamped(now.millis().max(earliest))
}
