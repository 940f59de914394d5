//! The session document on disk: reading one with care, and keeping the one of a recorder current.

use std::{path::Path, time::Duration};

use serde::Deserialize;

use super::{Home, Moment, Shelf, StoreError, error::DocumentError};
use crate::{
    disk::{self, Fs},
    model::{Document, Session, SessionId, VERSION},
};

/// The most bytes a document may have: a hundred times what ten thousand commands take.
pub(super) const LARGEST_DOCUMENT: u64 = 128 * 1024 * 1024;

/// How old a change may be before it is in the document. With the time a save takes, the
/// document stays less than a second behind.
const LAG: Duration = Duration::from_millis(800);
/// A document up to this size is saved whenever it is due, however slowly things happen.
const SMALL: u64 = 256 * 1024;
/// The saves of a larger one may in all write this many times the bytes of the journal: saved with
/// every event, a document that grows with its session would write the square of it.
const SHARE: u64 = 16;

/// Parses a document and checks that it is the one it should be.
pub(super) fn read(fs: &Fs, id: &SessionId, path: &Path) -> Result<Document, StoreError> {
    let bytes = read_bytes(fs, id, path)?;
    parse(id, path, &bytes)
}

pub(super) fn read_bytes(fs: &Fs, id: &SessionId, path: &Path) -> Result<Vec<u8>, StoreError> {
    let damaged = |source| StoreError::Document { id: id.clone(), path: path.into(), source };
    let limit = LARGEST_DOCUMENT;
    match disk::read_whole(fs, path, limit) {
        Err(error) if error.is_symlink() => Err(damaged(DocumentError::Symlink)),
        Err(error) => Err(error.into()),
        Ok(Err(found)) => Err(damaged(DocumentError::TooLarge { found, limit })),
        Ok(Ok(bytes)) if bytes.is_empty() => Err(damaged(DocumentError::Empty)),
        Ok(Ok(bytes)) => Ok(bytes),
    }
}

fn parse(id: &SessionId, path: &Path, bytes: &[u8]) -> Result<Document, StoreError> {
    let damaged = |source| StoreError::Document { id: id.clone(), path: path.into(), source };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| damaged(DocumentError::NotUtf8(error.valid_up_to())))?;
    let parsed = serde_json::from_str::<Document>(text);
    // A newer format may have any shape: look for its version before calling it damaged.
    let version = match &parsed {
        Ok(document) => Some(document.meta.version.clone()),
        Err(_) => version_of(text),
    };
    if let Some(version) = version.filter(|version| is_newer(version)) {
        return Err(StoreError::Newer { id: id.clone(), path: path.into(), version });
    }
    let document = parsed.map_err(|error| damaged(DocumentError::NotADocument(error)))?;
    if document.meta.id != *id {
        return Err(damaged(DocumentError::OtherSession(document.meta.id)));
    }
    Ok(document)
}

fn version_of(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Versioned {
        meta: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        version: String,
    }
    serde_json::from_str::<Versioned>(text).ok().map(|document| document.meta.version)
}

pub(super) fn is_newer(version: &str) -> bool {
    let major = |version: &str| version.split('.').next().and_then(|n| n.parse::<u64>().ok());
    major(version) > major(VERSION)
}

/// Keeps the document of one session current, for the one who holds its lock.
#[derive(Debug)]
pub(super) struct Snapshots {
    fs: Fs,
    home: Home,
    id: SessionId,
    /// Where the document stands; `None` before the first save.
    shelf: Option<Shelf>,
    /// When the first change happened that is not in the document yet.
    behind_since: Option<Duration>,
    last_size: u64,
    /// Bytes written by saves of a document that is not small.
    charged: u64,
}

impl Snapshots {
    pub(super) fn new(fs: &Fs, home: &Home, id: &SessionId, shelf: Option<Shelf>) -> Self {
        Self {
            fs: fs.clone(),
            home: home.clone(),
            id: id.clone(),
            shelf,
            behind_since: None,
            last_size: 0,
            charged: 0,
        }
    }

    /// Remembers that the session has changed.
    pub(super) fn fall_behind(&mut self, now: &Moment) {
        self.behind_since.get_or_insert(now.steady);
    }

    pub(super) fn is_behind(&self) -> bool {
        self.behind_since.is_some()
    }

    /// How long until a save is due; `None` while the document is current or must not grow yet.
    pub(super) fn due_in(&self, now: &Moment, journal_bytes: u64) -> Option<Duration> {
        let since = self.behind_since?;
        let affordable =
            self.last_size <= SMALL || self.charged + self.last_size <= SHARE * journal_bytes;
        affordable.then(|| (since + LAG).saturating_sub(now.steady))
    }

    /// Saves the session and puts it on the shelf its status belongs on.
    ///
    /// After a crash or a power cut at any point there is a whole document, the old or the new.
    pub(super) fn save(&mut self, session: &Session) -> Result<(), StoreError> {
        let target = Shelf::of(session.meta.status);
        let shelf = self.shelf.unwrap_or(target);
        if self.is_behind() || self.shelf.is_none() {
            tracing::trace!(step = "snapshot");
            let bytes = print(session);
            let backup = self.home.backup(&self.id);
            let path = self.home.document(shelf, &self.id);
            disk::save(&self.fs, &path, &bytes, Some(&backup))?;
            self.last_size = bytes.len() as u64;
            self.charged += if self.last_size > SMALL { self.last_size } else { 0 };
            self.shelf = Some(shelf);
            tracing::trace!(step = "snapshot-saved");
        }
        if shelf != target {
            tracing::trace!(step = "move");
            self.carry(shelf, target)?;
            tracing::trace!(step = "moved");
        }
        self.behind_since = None;
        Ok(())
    }

    fn carry(&mut self, from: Shelf, to: Shelf) -> Result<(), StoreError> {
        let (old, new) = (self.home.document(from, &self.id), self.home.document(to, &self.id));
        self.fs.rename(&old, &new)?;
        self.shelf = Some(to);
        // The new name first: between the two there may be both names, never none.
        self.fs.sync_dir(&self.home.shelf(to))?;
        Ok(self.fs.sync_dir(&self.home.shelf(from))?)
    }
}

fn print(session: &Session) -> Vec<u8> {
    // The model's types have string keys and no failing serializers: this cannot fail.
    let mut bytes = serde_json::to_vec_pretty(session.document()).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
