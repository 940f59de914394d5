//! What is left of a damaged record, and what can be made of it.
//!
//! Three things tell of a session: its document, the document before that, and its journal. The
//! journal is verified from its first line on; a document vouches for itself by its seal, or the
//! journal does. Whatever reaches furthest is offered first, and what may be lost is said.

use std::path::PathBuf;

use super::{
    Position, Shelf, Store, StoreError,
    document::{self, Reading, Trust},
    error::JournalError,
    line,
    scan::{Salvage, salvage},
};
use crate::{
    disk::{self, EntryKind, Fs, if_there},
    model::{Digest, Document, Event, EventKind, Illegal, Session, SessionId},
};

/// The record of one session, looked at from all sides.
#[derive(Debug)]
pub struct Survey {
    pub id: SessionId,
    /// What is wrong, file by file; empty if nothing is.
    pub damage: Vec<Damage>,
    /// What can be done about it without anybody's memory, best first.
    pub rescues: Vec<Rescue>,
    pub(super) journal: Option<Vec<u8>>,
    /// The chain of the journal's last good line.
    pub(super) end: Option<Digest>,
    /// Where a document stands that nothing can be made of.
    pub(super) bad_documents: Vec<Shelf>,
    pub(super) bad_backup: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub path: PathBuf,
    pub why: String,
}

/// A state that the record can be brought to.
#[derive(Clone, Debug)]
pub struct Rescue {
    pub source: Source,
    pub session: Session,
    pub way: Way,
}

/// What a rescue starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The document, where the journal is what was damaged.
    Document {
        revision: u64,
    },
    /// The document before the last.
    Backup {
        revision: u64,
    },
    Journal,
}

impl Source {
    /// 1: from a document that is whole. 2: from the journal alone.
    pub fn level(self) -> u8 {
        match self {
            Self::Document { .. } | Self::Backup { .. } => 1,
            Self::Journal => 2,
        }
    }
}

/// What becomes of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is whole, and stays.
    Keep,
    /// It stays up to where its damage begins.
    Cut { end: Position, broken: u64 },
    /// A new one begins with the document; whether lines behind the document could not be read.
    Anew { lost: bool },
}

/// A document that was found, on a shelf or as the backup.
struct Snapshot {
    shelf: Option<Shelf>,
    path: PathBuf,
    reading: Result<Reading, String>,
}

impl Snapshot {
    fn had_journal(&self) -> bool {
        let reading = self.reading.as_ref().ok();
        self.shelf.is_none() || reading.is_some_and(|r| r.document.meta.revision.is_some())
    }
}

/// What a document is worth beside its journal.
enum Verdict {
    /// The journal leads to it.
    Confirmed,
    /// The journal is damaged before it; the document is as it was written, and leads on to this.
    Beyond(Box<Session>, bool),
    Bad(String),
}

impl Store {
    /// Looks at everything that is left of a session. Changes nothing.
    pub fn survey(&self, id: &SessionId) -> Result<Survey, StoreError> {
        let whole = match self.load_verified(id) {
            Ok(_) => true,
            Err(error @ (StoreError::Disk(_) | StoreError::Newer { .. })) => return Err(error),
            Err(_) => false,
        };
        let snapshots = if whole { Vec::new() } else { self.snapshots(id)? };
        let (journal, unreadable) = if whole { (None, None) } else { self.journal_bytes(id)? };
        if !whole && snapshots.is_empty() && journal.is_none() && unreadable.is_none() {
            let plan = self.fs.stat(&self.home.plan(id))?.is_some();
            if !plan && self.all_attempts(id)?.is_empty() {
                return Err(StoreError::Unknown(id.to_string()));
            }
        }
        let mut survey = Survey {
            id: id.clone(),
            damage: Vec::new(),
            rescues: Vec::new(),
            journal: None,
            end: None,
            bad_documents: Vec::new(),
            bad_backup: false,
        };
        if whole {
            return Ok(survey);
        }
        // A document of someone else's making never had a journal.
        let had_journal = snapshots.iter().any(Snapshot::had_journal)
            || self.fs.stat(&self.home.record(id))?.is_some();
        let bytes = journal.as_deref().unwrap_or_default();
        let mut history = History::of(id, bytes);
        if let Some(newer) = history.newer.take() {
            return Err(self.damaged(id, newer));
        }
        let lost = self.lost_after(id, &history.end)?;
        history.miss(lost);
        for snapshot in snapshots {
            survey.weigh(snapshot, &history, bytes);
        }
        survey.rescues.extend(history.rescue(Source::Journal));
        // What reaches furthest; among equals what is nearest to the document.
        survey.rescues.sort_by_key(|rescue| {
            (std::cmp::Reverse(rescue.session.revision()), rescue.source.level())
        });
        let journal_path = self.home.journal(id);
        let why = match (unreadable, &history.broken) {
            (Some(why), _) => Some(why),
            (None, _) if journal.is_none() => had_journal.then(|| "it is missing".into()),
            (None, Some((line, why))) => Some(format!("line {line}: {why}")),
            (None, None) if self.is_half_recovered(id, history.end.chain.as_ref())? => {
                Some(JournalError::HalfRecovered.to_string())
            }
            (None, None) => match survey.taken_in() {
                Some(revision) => {
                    let line = history.end.seq;
                    Some(format!("it ends after line {line}, and {revision} lines were taken in"))
                }
                None => history.session.is_none().then(|| "it is empty".into()),
            },
        };
        survey.damage.extend(why.map(|why| Damage { path: journal_path, why }));
        survey.journal = journal;
        survey.end = history.end.chain;
        Ok(survey)
    }

    fn snapshots(&self, id: &SessionId) -> Result<Vec<Snapshot>, StoreError> {
        let shelves = Shelf::ALL.map(|shelf| (Some(shelf), self.home.document(shelf, id)));
        let mut found = Vec::new();
        for (shelf, path) in shelves.into_iter().chain([(None, self.home.backup(id))]) {
            let reading = match document::read(&self.fs, id, &path) {
                Ok(reading) => Ok(reading),
                Err(StoreError::Document { source, .. }) => Err(source.to_string()),
                Err(StoreError::Disk(error)) if error.not_found() => continue,
                Err(error) => return Err(error),
            };
            found.push(Snapshot { shelf, path, reading });
        }
        Ok(found)
    }

    /// The journal's bytes, or why there are none to read.
    fn journal_bytes(
        &self,
        id: &SessionId,
    ) -> Result<(Option<Vec<u8>>, Option<String>), StoreError> {
        match self.open_journal(id) {
            Ok(Some(file)) => match self.check_length(id, file.stat()?.len) {
                Err(StoreError::Journal { source, .. }) => Ok((None, Some(source.to_string()))),
                Err(error) => Err(error),
                Ok(()) => Ok((Some(file.read_from(0)?), None)),
            },
            Ok(None) => Ok((None, None)),
            Err(StoreError::Journal { source, .. }) => Ok((None, Some(source.to_string()))),
            Err(error) => Err(error),
        }
    }

    /// The directories of all attempts, also of those that a recovery has put elsewhere.
    pub fn all_attempts(&self, id: &SessionId) -> Result<Vec<PathBuf>, StoreError> {
        let aside = self.home.set_aside(id);
        let mut places = if_there(self.fs.list(&aside))?.unwrap_or_default();
        places.retain(|entry| entry.kind == EntryKind::Directory);
        let places = places.into_iter().map(|entry| aside.join(entry.name));
        let mut found = Vec::new();
        for place in places.chain([self.home.attempts(id)]) {
            found.extend(attempts_in(&self.fs, &place)?);
        }
        Ok(found.into_iter().map(|(_, directory)| directory).collect())
    }

    /// The last attempt that began, as its directory says.
    pub(super) fn newest_attempt(&self, id: &SessionId) -> Result<Option<u64>, StoreError> {
        Ok(self.attempts(id)?.last().map(|(seq, _)| *seq))
    }

    /// The first attempt that began behind the end of the journal: what was lost there.
    fn lost_after(&self, id: &SessionId, end: &Position) -> Result<Option<u64>, StoreError> {
        let mut began = self.attempts(id)?;
        let aside = self.home.attempts_aside(id, end.chain.as_ref());
        began.extend(attempts_in(&self.fs, &aside)?);
        Ok(began.into_iter().map(|(seq, _)| seq).filter(|seq| *seq > end.seq).min())
    }

    /// The attempts that have a directory of their own, in the order they began.
    pub fn attempts(&self, id: &SessionId) -> Result<Vec<(u64, PathBuf)>, StoreError> {
        attempts_in(&self.fs, &self.home.attempts(id))
    }
}

/// The directories of attempts in `place`, by their number.
pub(super) fn attempts_in(
    fs: &Fs,
    place: &std::path::Path,
) -> Result<Vec<(u64, PathBuf)>, StoreError> {
    let entries = if_there(fs.list(place))?.unwrap_or_default();
    let number = |entry: &disk::Entry| entry.name.to_str()?.parse::<u64>().ok();
    let mut found: Vec<_> = entries
        .iter()
        .filter_map(|entry| Some((number(entry)?, place.join(&entry.name))))
        .collect();
    found.sort_unstable();
    Ok(found)
}

impl Survey {
    /// The best rescue of a level.
    pub fn rescue(&self, level: u8) -> Option<&Rescue> {
        self.rescues.iter().find(|rescue| rescue.source.level() == level)
    }

    /// How much of the journal a document has taken in that the journal no longer has.
    fn taken_in(&self) -> Option<u64> {
        let beyond = |rescue: &Rescue| match (&rescue.way, rescue.source) {
            (Way::Anew { .. }, Source::Document { revision } | Source::Backup { revision }) => {
                Some(revision)
            }
            _ => None,
        };
        self.rescues.iter().filter_map(beyond).max()
    }

    fn weigh(&mut self, snapshot: Snapshot, history: &History, bytes: &[u8]) {
        let Snapshot { shelf, path, reading } = snapshot;
        let revision = reading.as_ref().map_or(0, |r| r.document.meta.revision.unwrap_or(0));
        let source = match shelf {
            Some(_) => Source::Document { revision },
            None => Source::Backup { revision },
        };
        let verdict = match reading {
            Ok(reading) => history.judge(reading, bytes),
            Err(why) => Verdict::Bad(why),
        };
        match verdict {
            Verdict::Confirmed => self.rescues.extend(history.rescue(source)),
            Verdict::Beyond(session, lost) => {
                let way = Way::Anew { lost };
                self.rescues.push(Rescue { source, session: *session, way });
            }
            Verdict::Bad(why) => {
                self.damage.push(Damage { path, why });
                match shelf {
                    Some(shelf) => self.bad_documents.push(shelf),
                    None => self.bad_backup = true,
                }
            }
        }
    }
}

/// The journal as far as it can be verified from its first line on.
struct History {
    events: Vec<Event>,
    end: Position,
    broken: Option<(u64, String)>,
    /// A line that was written whole by a program that knows more than this one. That is no damage,
    /// and nothing may be made of the rest without it.
    newer: Option<JournalError>,
    session: Option<Session>,
}

impl History {
    fn of(id: &SessionId, bytes: &[u8]) -> Self {
        let salvage = salvage(bytes, Position::default());
        let Salvage { mut events, mut end, mut broken, newer } = salvage;
        let mut newer = newer.map(|(line, source)| JournalError::Line { line, source });
        let mut session = None;
        for at in 0..events.len() {
            if let Err(source) = step(&mut session, id, &events[at]) {
                let line = events[at].seq;
                broken = Some((line, source.to_string()));
                let is_newer = matches!(source, Illegal::Format { .. });
                newer = is_newer.then_some(JournalError::Illegal { line, source });
                events.truncate(at);
                end = events.last().map(Position::behind).unwrap_or_default();
                break;
            }
        }
        Self { events, end, broken, newer, session }
    }

    /// An attempt began that no line tells of: there were more lines than there are.
    fn miss(&mut self, attempt: Option<u64>) {
        if let (Some(attempt), None) = (attempt, &self.broken) {
            let why = format!("it is missing: attempt {attempt} began behind the last line");
            self.broken = Some((self.end.seq.saturating_add(1), why));
        }
    }

    fn rescue(&self, source: Source) -> Option<Rescue> {
        let session = self.session.clone()?;
        let way = match &self.broken {
            None => Way::Keep,
            Some((broken, _)) => Way::Cut { end: self.end.clone(), broken: *broken },
        };
        Some(Rescue { source, session, way })
    }

    fn judge(&self, reading: Reading, bytes: &[u8]) -> Verdict {
        let Reading { document, trust } = reading;
        let Some(revision) = document.meta.revision.filter(|revision| *revision > 0) else {
            return Verdict::Bad("it has no revision: it says nothing beside a journal".into());
        };
        if self.supersedes(&document) {
            return Verdict::Bad("the journal was begun anew since it was written".into());
        }
        if revision <= self.end.seq {
            return self.confirm(&document, revision);
        }
        if !matches!(trust, Trust::Sealed) {
            return Verdict::Bad(
                "it was changed since it was written, and the journal does not reach it".into(),
            );
        }
        let (session, lost) = go_on(document, bytes);
        Verdict::Beyond(Box::new(session), lost)
    }

    /// Whether the journal was begun anew, by a recovery, after `document` was written. Every
    /// document that follows from such a journal tells of that recovery.
    fn supersedes(&self, document: &Document) -> bool {
        self.events.first().is_some_and(|first| match &first.kind {
            EventKind::SessionImported { document: imported, .. } => {
                imported.meta.revision.is_some()
                    && document.recoveries.len() <= imported.recoveries.len()
            }
            _ => false,
        })
    }

    /// Whether the journal leads to `document` at its revision.
    fn confirm(&self, document: &Document, revision: u64) -> Verdict {
        let known = usize::try_from(revision).unwrap_or(usize::MAX);
        let mut session = None;
        for event in self.events.iter().take(known) {
            // They were legal a moment ago.
            if step(&mut session, &document.meta.id, event).is_err() {
                break;
            }
        }
        let Some(session) = session else { return Verdict::Bad("the journal is empty".into()) };
        if session.document() == document {
            return Verdict::Confirmed;
        }
        let found = session.differences(document);
        let first = found.first().map_or_else(String::new, |first| format!(": {first}"));
        Verdict::Bad(format!("it does not say what the journal says{first}"))
    }
}

fn step(session: &mut Option<Session>, id: &SessionId, event: &Event) -> Result<(), Illegal> {
    if let Some(session) = session {
        return session.apply(event);
    }
    let begun = Session::begin(event)?;
    if begun.meta.id != *id {
        let (expected, found) = (id.clone(), begun.meta.id.clone());
        return Err(Illegal::OtherSession { expected, found });
    }
    *session = Some(begun);
    Ok(())
}

/// A document with the lines behind it, as far as they are good; whether some may be lost.
fn go_on(document: Document, bytes: &[u8]) -> (Session, bool) {
    let meta = &document.meta;
    let anchor = meta.journal_offset.and_then(|offset| {
        let at = usize::try_from(offset).ok()?;
        let sealed = bytes.get(..at)?.strip_suffix(b"\n").and_then(line::unseal)?;
        (Some(&sealed.1) == meta.chain.as_ref()).then(|| Position {
            seq: meta.revision.unwrap_or(0),
            chain: meta.chain.clone(),
            offset,
        })
    });
    let mut session = Session::from_snapshot(document);
    let Some(anchor) = anchor else { return (session, true) };
    let at = usize::try_from(anchor.offset).unwrap_or(usize::MAX);
    let tail = salvage(bytes.get(at..).unwrap_or_default(), anchor);
    let good = tail.events.iter().try_for_each(|event| session.apply(event)).is_ok();
    (session, !good || tail.broken.is_some() || tail.newer.is_some())
}
