//! A session: a document that only events can change.

use std::ops::Deref;

use super::{Document, Event, EventKind, Illegal, Undo, VERSION};

/// Read it like the [`Document`] it derefs to; change it with [`Session::apply`] and no other way.
#[derive(Clone, Debug, PartialEq)]
pub struct Session(Document);

impl Session {
    /// The session that `event`, the first of its record, brings about.
    pub fn begin(event: &Event) -> Result<Self, Illegal> {
        Self::check_beginning(&event.kind)?;
        if event.seq != 1 {
            return Err(Illegal::Sequence { last: 0, found: event.seq });
        }
        let document = match &event.kind {
            EventKind::SessionCreated(created) => Document::created(created, &event.timestamp),
            EventKind::SessionImported { document, .. } => {
                if event.timestamp < document.meta.updated_at {
                    return Err(Illegal::BackInTime {
                        last: document.meta.updated_at.clone(),
                        found: event.timestamp.clone(),
                    });
                }
                Document::imported(document)
            }
            other => return Err(Illegal::NoBeginning(other.name())),
        };
        let mut session = Self(document);
        session.stamp(event);
        Ok(session)
    }

    /// Whether a record may begin with `kind`.
    pub fn check_beginning(kind: &EventKind) -> Result<(), Illegal> {
        let format = match kind {
            EventKind::SessionCreated(created) => &created.format,
            EventKind::SessionImported { format, .. } => format,
            other => return Err(Illegal::NoBeginning(other.name())),
        };
        let major = |version: &str| version.split('.').next().map(str::to_owned);
        if major(format) == major(VERSION) {
            Ok(())
        } else {
            Err(Illegal::Format { found: format.clone() })
        }
    }

    /// A session as a snapshot says it is. What the journal knows beyond that is applied by the
    /// store, which alone reads snapshots.
    pub fn from_snapshot(document: Document) -> Self {
        Self(document)
    }

    /// Whether `kind` may happen now. Changes nothing.
    pub fn check(&self, kind: &EventKind) -> Result<(), Illegal> {
        self.0.check(kind)
    }

    /// Takes in the next event of the record. On an error nothing has changed.
    pub fn apply(&mut self, event: &Event) -> Result<(), Illegal> {
        let last = self.0.meta.revision.unwrap_or(0);
        if Some(event.seq) != last.checked_add(1) {
            return Err(Illegal::Sequence { last, found: event.seq });
        }
        if event.timestamp < self.0.meta.updated_at {
            return Err(Illegal::BackInTime {
                last: self.0.meta.updated_at.clone(),
                found: event.timestamp.clone(),
            });
        }
        self.0.check(&event.kind)?;
        self.0.change(event);
        self.stamp(event);
        Ok(())
    }

    /// Takes in the next events of the record, all or none; returns how to forget them again.
    pub fn apply_all(&mut self, events: &[Event]) -> Result<Undo, Illegal> {
        let undo = Undo::before(&self.0, events);
        match events.iter().try_for_each(|event| self.apply(event)) {
            Ok(()) => Ok(undo),
            Err(illegal) => {
                self.undo(undo);
                Err(illegal)
            }
        }
    }

    /// Forgets the events that were taken in since `undo` was made.
    pub fn undo(&mut self, undo: Undo) {
        undo.restore(&mut self.0);
    }

    /// The sequence number of the last event taken in; 0 for a document that has no journal.
    pub fn revision(&self) -> u64 {
        self.0.meta.revision.unwrap_or(0)
    }

    pub fn document(&self) -> &Document {
        &self.0
    }

    fn stamp(&mut self, event: &Event) {
        let meta = &mut self.0.meta;
        meta.updated_at = event.timestamp.clone();
        meta.revision = Some(event.seq);
        meta.chain = Some(event.chain.clone());
        meta.journal_offset = Some(event.end);
    }
}

impl Deref for Session {
    type Target = Document;

    fn deref(&self) -> &Document {
        &self.0
    }
}
