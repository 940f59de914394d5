//! The journal's one writer: assigns sequence and chain, appends, syncs.

use std::path::{Path, PathBuf};

use super::{Position, StoreError, error::JournalError, line, scan, scan::Tail};
use crate::{
    disk::{self, DiskError, File, Fs, Operation},
    model::{Event, EventKind, SessionId, Timestamp},
};

/// Kept free behind the last line, so that the end of a command can be recorded on a full disk.
const RESERVE: u64 = 64 * 1024;
/// What must be left of that when a command starts: room for its end, and for a pause.
const FINISH: u64 = 16 * 1024;

#[derive(Debug)]
pub(super) struct Journal {
    fs: Fs,
    id: SessionId,
    path: PathBuf,
    file: File,
    /// The end of the last acknowledged line.
    end: Position,
    /// Up to where space has been taken.
    reserved: u64,
    /// Whether what stands behind `end`, or whether `end` is durable, is uncertain.
    suspect: bool,
}

impl Journal {
    /// A new, empty journal.
    pub(super) fn create(fs: &Fs, id: &SessionId, path: &Path) -> Result<Self, StoreError> {
        let file = fs.create_new(path)?;
        Ok(Self::over(fs, id, path, file, Position::default()))
    }

    /// The journal that ends at `end`; what is behind that goes.
    ///
    /// `synced` is how many of its lines are known to be durable. Those beyond were written by one
    /// who died, or gave up, without knowing: whether a later sync of that file would tell the truth
    /// about them nobody can say, so they are copied to a fresh file.
    pub(super) fn open(
        fs: &Fs,
        id: &SessionId,
        path: &Path,
        end: Position,
        synced: u64,
    ) -> Result<Self, StoreError> {
        let file = fs.open_write(path)?;
        let mut journal = Self::over(fs, id, path, file, end);
        if journal.end.seq > synced {
            journal.renew()?;
        } else if journal.file.stat()?.len > journal.end.offset {
            journal.file.set_len(journal.end.offset)?;
        }
        Ok(journal)
    }

    fn over(fs: &Fs, id: &SessionId, path: &Path, file: File, end: Position) -> Self {
        let reserved = end.offset;
        Self {
            fs: fs.clone(),
            id: id.clone(),
            path: path.into(),
            file,
            end,
            reserved,
            suspect: false,
        }
    }

    pub(super) fn end(&self) -> &Position {
        &self.end
    }

    /// Lays the next events out as lines, with the bytes to append. Writes nothing.
    pub(super) fn draft(&self, kinds: Vec<EventKind>, at: &Timestamp) -> (Vec<Event>, Vec<u8>) {
        let mut bytes = Vec::new();
        let mut events = Vec::<Event>::with_capacity(kinds.len());
        let batch =
            (kinds.len() > 1).then(|| (self.end.seq + 1, self.end.seq + kinds.len() as u64));
        let mut end = self.end.clone();
        for kind in kinds {
            let event = line::encode(&mut bytes, &end, batch, kind, at);
            end = Position::behind(&event);
            events.push(event);
        }
        (events, bytes)
    }

    /// As [`Journal::draft`], for one event.
    pub(super) fn draft_one(&self, kind: EventKind, at: &Timestamp) -> (Event, Vec<u8>) {
        let mut bytes = Vec::new();
        (line::encode(&mut bytes, &self.end, None, kind, at), bytes)
    }

    /// Appends drafted lines: one write, one sync. When this returns without an error, they
    /// survive a crash and, where the file system honours fdatasync, a power cut.
    ///
    /// After an error nothing of them counts; the next append starts from the same end.
    pub(super) fn append(&mut self, drafted: &[Event], bytes: &[u8]) -> Result<(), StoreError> {
        let Some(last) = drafted.last() else { return Ok(()) };
        if self.suspect {
            self.renew()?;
        }
        let starts = |event: &Event| matches!(event.kind, EventKind::CommandStarted(_));
        let spare = if drafted.iter().any(starts) { FINISH } else { 0 };
        self.reserve(bytes.len() as u64, spare)?;
        tracing::trace!(step = "append");
        self.write(bytes)?;
        tracing::trace!(step = "appended");
        if let Err(error) = self.file.sync() {
            // The kernel may have dropped the pages it could not write and call the next sync a
            // success: this descriptor is not asked again.
            self.suspect = true;
            // Best effort: what was not acknowledged should not be there after a restart.
            let _ = self.file.set_len(self.end.offset);
            return Err(error.into());
        }
        self.end = Position::behind(last);
        Ok(())
    }

    /// Gives back the space that was kept for what comes next.
    pub(super) fn release(&mut self) -> Result<(), StoreError> {
        if self.reserved > self.end.offset && !self.suspect {
            self.file.set_len(self.end.offset)?;
            self.reserved = self.end.offset;
        }
        Ok(())
    }

    /// Takes space for `needed` bytes, and so that `spare` are left after them.
    fn reserve(&mut self, needed: u64, spare: u64) -> Result<(), StoreError> {
        if self.end.offset + needed + RESERVE / 2 > self.reserved {
            let bytes = needed + RESERVE;
            match self.file.reserve(self.end.offset, bytes) {
                Ok(()) => self.reserved = self.end.offset + bytes,
                // This is what the space was kept for.
                Err(error)
                    if error.is_full() && self.end.offset + needed + spare <= self.reserved => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let error = match self.file.write_at(bytes, self.end.offset) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(_) => {
                let full = rustix::io::Errno::NOSPC;
                DiskError::new(Operation::Write, &self.path, full)
            }
            Err(error) => error,
        };
        // Half a line must not stand where the next one goes.
        self.reserved = self.end.offset;
        if self.file.set_len(self.end.offset).is_err() {
            self.suspect = true;
        }
        Err(error.into())
    }

    /// Copies every acknowledged line to a fresh file, which takes the place of this one.
    fn renew(&mut self) -> Result<(), StoreError> {
        let mut bytes = self.file.read_from(0)?;
        bytes.truncate(usize::try_from(self.end.offset).unwrap_or(usize::MAX));
        let damaged =
            |source| StoreError::Journal { id: self.id.clone(), path: self.path.clone(), source };
        let scanned = scan(&bytes, &Position::default())
            .map_err(|(line, source)| damaged(JournalError::Line { line, source }))?;
        if scanned.end != self.end || !matches!(scanned.tail, Tail::Whole) {
            let (line, revision) = (scanned.end.seq, self.end.seq);
            return Err(damaged(JournalError::Short { line, revision }));
        }
        disk::save(&self.fs, &self.path, &bytes, None)?;
        self.file = self.fs.open_write(&self.path)?;
        self.reserved = self.end.offset;
        self.suspect = false;
        Ok(())
    }
}
