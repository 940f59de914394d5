//! A session that exists in memory only: to see where a walk leads before anything of it is
//! written down.

use std::ops::Deref;

use crate::model::{Digest, Event, EventKind, Illegal, Session, SessionCreated, Timestamp};

#[derive(Clone, Debug)]
pub struct Rehearsal {
    session: Session,
    at: Timestamp,
    /// What happened, apart from its beginning.
    events: Vec<EventKind>,
}

fn event(seq: u64, timestamp: &Timestamp, kind: EventKind) -> Event {
    let chain = Digest::of([0; 32]);
    Event { seq, timestamp: timestamp.clone(), batch: None, kind, chain, end: 0 }
}

impl Rehearsal {
    pub fn begin(created: SessionCreated, at: Timestamp) -> Result<Self, Illegal> {
        let first = event(1, &at, EventKind::SessionCreated(Box::new(created)));
        Ok(Self { session: Session::begin(&first)?, at, events: Vec::new() })
    }

    /// How a session that there is would go on.
    pub fn going_on(session: &Session, now: Timestamp) -> Self {
        let at = now.max(session.meta.updated_at.clone());
        Self { session: session.clone(), at, events: Vec::new() }
    }

    pub fn record(&mut self, kinds: impl IntoIterator<Item = EventKind>) -> Result<(), Illegal> {
        for kind in kinds {
            let next = self.session.revision().saturating_add(1);
            self.session.apply(&event(next, &self.at, kind.clone()))?;
            self.events.push(kind);
        }
        Ok(())
    }

    pub fn events(&self) -> &[EventKind] {
        &self.events
    }

    pub fn into_events(self) -> Vec<EventKind> {
        self.events
    }
}

impl Deref for Rehearsal {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}
