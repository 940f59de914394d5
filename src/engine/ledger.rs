//! What a run writes down. Tasks queue what happened and wait until it is durable; it is written
//! when all of them wait, with one sync for all that came together meanwhile. So the session never
//! changes under one who reads it, and nothing is told before it is durable.

use std::cell::{Cell, Ref, RefCell, RefMut};

use super::attending::until;
use crate::{
    model::{Event, EventKind, Session},
    store::{Moment, Recorder, StoreError},
};

pub(super) struct Ledger {
    recorder: RefCell<Recorder>,
    queue: RefCell<Vec<EventKind>>,
    /// How many events were ever queued, and how many of them are durable.
    queued: Cell<u64>,
    durable: Cell<u64>,
}

impl Ledger {
    pub(super) fn new(recorder: Recorder) -> Self {
        let (queued, durable) = (Cell::new(0), Cell::new(0));
        Self { recorder: RefCell::new(recorder), queue: RefCell::default(), queued, durable }
    }

    pub(super) fn session(&self) -> Ref<'_, Session> {
        Ref::map(self.recorder.borrow(), Recorder::session)
    }

    pub(super) fn recorder(&self) -> RefMut<'_, Recorder> {
        self.recorder.borrow_mut()
    }

    pub(super) fn into_recorder(self) -> Recorder {
        self.recorder.into_inner()
    }

    pub(super) fn queue(&self, kind: EventKind) {
        self.queue.borrow_mut().push(kind);
        self.queued.set(self.queued.get() + 1);
    }

    pub(super) fn has_news(&self) -> bool {
        !self.queue.borrow().is_empty()
    }

    /// Waits until all that was queued by now is durable.
    pub(super) async fn is_durable(&self) {
        let queued = self.queued.get();
        until(|| self.durable.get() >= queued).await;
    }

    /// Makes all that is queued durable, with one sync. After an error it is still queued.
    pub(super) fn write(&self, now: &Moment) -> Result<Vec<Event>, StoreError> {
        let kinds = self.queue.borrow().clone();
        if kinds.is_empty() {
            return Ok(Vec::new());
        }
        let events = self.recorder.borrow_mut().record(kinds, now)?;
        self.queue.borrow_mut().clear();
        self.durable.set(self.queued.get());
        Ok(events)
    }

    /// Gives up what is queued: it could not be recorded.
    pub(super) fn forget(&self) {
        self.queue.borrow_mut().clear();
    }
}
