//! Loading a session: the newest valid snapshot, and what the journal knows beyond it.
//!
//! Reading takes no lock and changes nothing. A writer may be at work meanwhile: documents are
//! replaced whole and journals only grow, so a reader sees a state that was true a moment ago.

use std::path::PathBuf;

use super::{
    Position, Scan, Shelf, Store, StoreError, Tail,
    document::{self, Reading, Trust},
    error::JournalError,
    line, scan,
};
use crate::{
    disk::{File, if_there},
    model::{Adaptation, Digest, Event, EventKind, Illegal, Session, SessionId},
};

/// The most bytes of a journal that are read at once: some three million events.
const LARGEST_JOURNAL: u64 = 1024 * 1024 * 1024;

/// How often a document that is nowhere is looked for again.
const LOOKS: usize = 3;

/// A session as its record has it.
#[derive(Debug)]
pub struct Loaded {
    pub session: Session,
    /// The document, or where there is none the journal.
    pub path: PathBuf,
    pub notes: Vec<Note>,
    /// Where the document stands.
    pub(super) shelf: Option<Shelf>,
    /// Other copies of the document.
    pub(super) copies: Vec<Shelf>,
    /// Where the journal's last good line ends; `None` for a document that has no journal.
    pub(super) journal: Option<Position>,
    /// The revision of the document itself, before the journal's tail was applied.
    pub(super) snapshot_revision: u64,
    /// Whether a damaged last line stands behind that.
    pub(super) bad_tail: bool,
}

/// Something a person should know about a record that loads all the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Note {
    #[error("line {line} of the journal was never finished and is ignored ({bytes} bytes)")]
    TornTail { line: u64, bytes: usize },
    #[error("line {line} of the journal is damaged and left out: {why}")]
    BadTail { line: u64, why: String },
    #[error("the document is missing; the session was read from its journal")]
    NoDocument,
    #[error("legacy session format, limited resumption context (version {version})")]
    Legacy { version: String, adapted: Vec<Adaptation> },
    #[error("legacy session format, limited resumption context (taken over from version {0})")]
    TakenOver(String),
    #[error("there is another copy of the document: `{}`", .0.display())]
    Copy(PathBuf),
}

/// One copy of a document and what came of reading it.
struct Found {
    shelf: Shelf,
    reading: Result<Reading, StoreError>,
}

impl Store {
    pub fn load(&self, id: &SessionId) -> Result<Loaded, StoreError> {
        // Before the journal is read: an attempt begins after its line was written.
        let newest = self.newest_attempt(id)?;
        let loaded = match (self.load_lines(id), newest) {
            // Something ran: there was a session.
            (Err(StoreError::Unknown(_)), Some(attempt)) => {
                return Err(self.damaged(id, JournalError::Lost { line: 0, attempt }));
            }
            (Err(StoreError::Unknown(_)), None) if self.is_half_recovered(id, None)? => {
                return Err(self.damaged(id, JournalError::HalfRecovered));
            }
            (loaded, _) => loaded?,
        };
        if let Some(end) = &loaded.journal {
            let line = end.seq;
            if let Some(attempt) = newest.filter(|attempt| *attempt > line) {
                return Err(self.damaged(id, JournalError::Lost { line, attempt }));
            }
            if self.is_half_recovered(id, end.chain.as_ref())? {
                return Err(self.damaged(id, JournalError::HalfRecovered));
            }
        }
        Ok(loaded)
    }

    /// Whether attempts were put aside for a journal that was never put in the place of the one that
    /// ends with `chain`.
    pub(super) fn is_half_recovered(
        &self,
        id: &SessionId,
        chain: Option<&Digest>,
    ) -> Result<bool, StoreError> {
        Ok(self.fs.stat(&self.home.attempts_aside(id, chain))?.is_some())
    }

    fn load_lines(&self, id: &SessionId) -> Result<Loaded, StoreError> {
        // A document on its way to another shelf is missed by one who looks at the wrong moment.
        let mut found = self.find_documents(id)?;
        for _ in 0..LOOKS {
            if !found.is_empty() {
                break;
            }
            found = self.find_documents(id)?;
        }
        let journal = self.open_journal(id)?;
        let Some((chosen, copies)) = choose(found)? else {
            return self.load_without_document(id, journal);
        };
        let mut loaded = self.apply_journal(id, chosen.shelf, chosen.reading?, journal)?;
        // While someone is writing, the document was seen on its way from shelf to shelf.
        if !copies.is_empty() && !self.is_locked(id)? {
            for copy in copies.iter().map(|shelf| self.home.document(*shelf, id)) {
                if self.fs.stat(&copy)?.is_some() {
                    loaded.notes.push(Note::Copy(copy));
                }
            }
        }
        loaded.copies = copies;
        Ok(loaded)
    }

    /// Every good line of the journal, verified from the first; an error names the first bad one.
    /// `None` for a document that has no journal.
    pub fn journal(&self, id: &SessionId) -> Result<Option<Scan>, StoreError> {
        match self.open_journal(id)? {
            Some(file) => self.scan_tail(id, &file, &Position::default()).map(Some),
            None => Ok(None),
        }
    }

    /// The lines that have come to the journal since `position`.
    pub fn journal_since(&self, id: &SessionId, position: &Position) -> Result<Scan, StoreError> {
        match self.open_journal(id)? {
            Some(file) => self.scan_tail(id, &file, position),
            None => Err(self.damaged(id, JournalError::Missing(position.seq))),
        }
    }

    /// Checks the whole record: every line of the journal, and that the document follows from it.
    pub fn verify(&self, id: &SessionId) -> Result<(Loaded, Option<Scan>), StoreError> {
        let loaded = self.load(id);
        let scan = self.journal(id)?;
        if let Some(Scan { tail: Tail::Bad { line, error }, .. }) = scan {
            return Err(self.damaged(id, JournalError::Line { line, source: error }));
        }
        // The first bad line says more than what a load makes of it.
        let loaded = loaded?;
        self.check_against(id, &loaded, scan.as_ref())?;
        Ok((loaded, scan))
    }

    /// A load that trusts nothing; a bad last line is left out as in any load.
    pub(super) fn load_verified(&self, id: &SessionId) -> Result<Loaded, StoreError> {
        let loaded = self.load(id)?;
        self.check_against(id, &loaded, self.journal(id)?.as_ref())?;
        Ok(loaded)
    }

    /// Whether replaying the journal gives what was loaded.
    fn check_against(
        &self,
        id: &SessionId,
        loaded: &Loaded,
        scan: Option<&Scan>,
    ) -> Result<(), StoreError> {
        let Some(scan) = scan else { return Ok(()) };
        // A writer may have gone on since the load.
        let revision = loaded.session.revision();
        let known = usize::try_from(revision).unwrap_or(usize::MAX).min(scan.events.len());
        match self.replay(id, None, &scan.events[..known])? {
            Some(replayed) if replayed != loaded.session => {
                let differences = replayed.differences(&loaded.session);
                Err(StoreError::Edited { id: id.clone(), path: loaded.path.clone(), differences })
            }
            _ => Ok(()),
        }
    }

    fn find_documents(&self, id: &SessionId) -> Result<Vec<Found>, StoreError> {
        let mut found = Vec::new();
        for shelf in Shelf::ALL {
            let path = self.home.document(shelf, id);
            match document::read(&self.fs, id, &path) {
                Err(StoreError::Disk(error)) if error.not_found() => {}
                Err(StoreError::Disk(error)) => return Err(error.into()),
                reading => found.push(Found { shelf, reading }),
            }
        }
        Ok(found)
    }

    fn load_without_document(
        &self,
        id: &SessionId,
        journal: Option<File>,
    ) -> Result<Loaded, StoreError> {
        let unknown = || StoreError::Unknown(id.to_string());
        let journal = journal.ok_or_else(unknown)?;
        let path = self.home.journal(id);
        let scanned = self.scan_tail(id, &journal, &Position::default())?;
        // A record that died before its first event was acknowledged is no session.
        let session = self.replay(id, None, &scanned.events)?.ok_or_else(unknown)?;
        let mut loaded = Loaded {
            session,
            path,
            notes: vec![Note::NoDocument],
            shelf: None,
            copies: Vec::new(),
            journal: Some(scanned.end),
            snapshot_revision: 0,
            bad_tail: false,
        };
        loaded.judge_tail(scanned.tail);
        Ok(loaded)
    }

    /// What the journal knows beyond the document.
    fn apply_journal(
        &self,
        id: &SessionId,
        shelf: Shelf,
        reading: Reading,
        journal: Option<File>,
    ) -> Result<Loaded, StoreError> {
        let Reading { document, trust } = reading;
        let revision = document.meta.revision.unwrap_or(0);
        let mut loaded = Loaded {
            session: Session::from_snapshot(document),
            path: self.home.document(shelf, id),
            notes: Vec::new(),
            shelf: Some(shelf),
            copies: Vec::new(),
            journal: None,
            snapshot_revision: revision,
            bad_tail: false,
        };
        let version = loaded.session.meta.version.clone();
        let legacy = || match &trust {
            Trust::Legacy(adapted) => Some(Note::Legacy { version, adapted: adapted.clone() }),
            _ => None,
        };
        let Some(journal) = journal else {
            loaded.notes.extend(legacy());
            return match revision {
                0 => Ok(loaded),
                _ => Err(self.damaged(id, JournalError::Missing(revision))),
            };
        };
        let start = self.anchor(id, &loaded.session, &journal)?;
        let scanned = self.scan_tail(id, &journal, &start)?;
        if revision == 0 && scanned.events.is_empty() {
            // Whoever began to take it over died before the first line: it is what it was.
            loaded.notes.extend(legacy());
            return Ok(loaded);
        }
        if revision == 0 {
            self.check_imported(id, &loaded, scanned.events.first())?;
        }
        // A document without a revision has taken in nothing: the journal tells it all.
        let base = (revision > 0).then_some(loaded.session.clone());
        if let Some(session) = self.replay(id, base, &scanned.events)? {
            loaded.session = session;
            loaded.journal = Some(scanned.end);
        }
        loaded.judge_tail(scanned.tail);
        let before = loaded.session.meta.imported_from.clone();
        loaded.notes.extend(before.map(Note::TakenOver));
        if matches!(trust, Trust::Unsealed) && revision > 0 {
            self.check_against(id, &loaded, self.journal(id)?.as_ref())?;
        }
        Ok(loaded)
    }

    /// A document without a revision beside a journal is the one that the journal was begun with, or
    /// it was edited.
    fn check_imported(
        &self,
        id: &SessionId,
        loaded: &Loaded,
        first: Option<&Event>,
    ) -> Result<(), StoreError> {
        let Some(first) = first else { return Ok(()) };
        let mut found = loaded.session.document().clone();
        if let EventKind::SessionImported { document, .. } = &first.kind {
            found.meta.imported_from.clone_from(&document.meta.imported_from);
            if found == **document {
                return Ok(());
            }
        }
        let replayed = self.replay(id, None, std::slice::from_ref(first))?;
        let differences = replayed.map(|replayed| replayed.differences(&found));
        let differences = differences.unwrap_or_default();
        Err(StoreError::Edited { id: id.clone(), path: loaded.path.clone(), differences })
    }

    /// The place in the journal that the snapshot was made at, if the journal agrees.
    fn anchor(
        &self,
        id: &SessionId,
        session: &Session,
        journal: &File,
    ) -> Result<Position, StoreError> {
        let meta = &session.meta;
        let (Some(seq), Some(chain), Some(offset)) =
            (meta.revision, &meta.chain, meta.journal_offset)
        else {
            return Ok(Position::default());
        };
        if journal.stat()?.len < offset {
            let line = self.scan_tail(id, journal, &Position::default())?.end.seq;
            return Err(self.damaged(id, JournalError::Short { line, revision: seq }));
        }
        let other = || self.damaged(id, JournalError::OtherLine { line: seq });
        let mut seal = [0; line::SEAL + 1];
        let start = offset.checked_sub(seal.len() as u64).ok_or_else(other)?;
        journal.read_exact_at(&mut seal, start)?;
        let written = seal.strip_suffix(b"\n").and_then(line::unseal).map(|(_, chain)| chain);
        if written.as_ref() == Some(chain) {
            Ok(Position { seq, chain: Some(chain.clone()), offset })
        } else {
            Err(other())
        }
    }

    fn scan_tail(
        &self,
        id: &SessionId,
        journal: &File,
        start: &Position,
    ) -> Result<Scan, StoreError> {
        self.check_length(id, journal.stat()?.len.saturating_sub(start.offset))?;
        let bytes = journal.read_from(start.offset)?;
        scan(&bytes, start)
            .map_err(|(line, source)| self.damaged(id, JournalError::Line { line, source }))
    }

    pub(super) fn check_length(&self, id: &SessionId, found: u64) -> Result<(), StoreError> {
        let limit = LARGEST_JOURNAL;
        if found > limit {
            return Err(self.damaged(id, JournalError::TooLarge { found, limit }));
        }
        Ok(())
    }

    fn replay(
        &self,
        id: &SessionId,
        base: Option<Session>,
        events: &[Event],
    ) -> Result<Option<Session>, StoreError> {
        let mut session = base;
        for event in events {
            let applied = match &mut session {
                Some(session) => session.apply(event),
                None => Session::begin(event).map(|begun| session = Some(begun)),
            };
            let line = event.seq;
            applied.map_err(|source| self.damaged(id, JournalError::Illegal { line, source }))?;
        }
        if let Some(session) = &session
            && session.meta.id != *id
        {
            let (expected, found) = (id.clone(), session.meta.id.clone());
            let source = Illegal::OtherSession { expected, found };
            return Err(self.damaged(id, JournalError::Illegal { line: 1, source }));
        }
        Ok(session)
    }

    pub(super) fn open_journal(&self, id: &SessionId) -> Result<Option<File>, StoreError> {
        match if_there(self.fs.open_read(&self.home.journal(id))) {
            Err(error) if error.is_symlink() => Err(self.damaged(id, JournalError::Symlink)),
            opened => Ok(opened?),
        }
    }

    pub(super) fn damaged(&self, id: &SessionId, source: JournalError) -> StoreError {
        StoreError::Journal { id: id.clone(), path: self.home.journal(id), source }
    }
}

impl Loaded {
    /// Whether the session has a journal: then what it says follows from that.
    pub fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// A last line that is wrong was beyond the document, or the scan would not have met it.
    fn judge_tail(&mut self, tail: Tail) {
        match tail {
            Tail::Whole => {}
            Tail::Torn { line, bytes } => self.notes.push(Note::TornTail { line, bytes }),
            Tail::Bad { line, error } => {
                self.notes.push(Note::BadTail { line, why: error.to_string() });
                self.bad_tail = true;
            }
        }
    }
}

/// The copy with the highest revision; among equals the one on the shelf of its status. The
/// others, readable or not, are copies. An error if none can be read.
fn choose(mut found: Vec<Found>) -> Result<Option<(Found, Vec<Shelf>)>, StoreError> {
    let rank = |found: &Found| {
        found.reading.as_ref().ok().map(|Reading { document, .. }| {
            (document.meta.revision, found.shelf == Shelf::of(document.meta.status))
        })
    };
    let best = (0..found.len()).max_by_key(|&at| rank(&found[at]));
    let Some(best) = best else { return Ok(None) };
    // A newer program's copy outranks whatever this one can read.
    let newer = |found: &Found| matches!(found.reading, Err(StoreError::Newer { .. }));
    if let Some(at) = found.iter().position(newer) {
        return found.swap_remove(at).reading.map(|_| None);
    }
    let chosen = found.remove(best);
    Ok(Some((chosen, found.into_iter().map(|other| other.shelf).collect())))
}
