//! Keeping the document of a session current: when it is saved, and on which shelf.

use std::time::Duration;

use super::{Home, Moment, Shelf, StoreError, document};
use crate::{
    disk::{self, Fs},
    model::{Session, SessionId},
};

/// How old a change may be before it is in the document. With the time a save takes, the
/// document stays less than a second behind.
const LAG: Duration = Duration::from_millis(800);
/// A document up to this size is saved whenever it is due, however slowly things happen.
const SMALL: u64 = 256 * 1024;
/// The saves of a larger one may in all write this many times the bytes of the journal: saved with
/// every event, a document that grows with its session would write the square of it.
const SHARE: u64 = 16;

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
            let bytes = document::print(session);
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
