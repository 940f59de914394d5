//! Where things are in a home, and whether the home can be trusted.

use std::path::{Path, PathBuf};

use super::{StoreError, error::HomeProblem};
use crate::{
    disk::{EntryKind, Fs, create_if_absent},
    model::{Digest, SessionId, SessionStatus, named},
};

/// `~/.agentic-provision`, or wherever else it was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

named! {
    /// The directory a document stands in. The status inside is the truth, the shelf an index.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Shelf {
        Active = "active",
        Completed = "completed",
        Failed = "failed",
    }
}

impl Shelf {
    pub fn of(status: SessionStatus) -> Self {
        match status {
            SessionStatus::InProgress | SessionStatus::Paused => Self::Active,
            SessionStatus::Completed => Self::Completed,
            SessionStatus::Failed => Self::Failed,
        }
    }
}

impl Home {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn shelf(&self, shelf: Shelf) -> PathBuf {
        self.0.join("sessions").join(shelf.name())
    }

    pub fn document(&self, shelf: Shelf, id: &SessionId) -> PathBuf {
        self.shelf(shelf).join(format!("{id}.json"))
    }

    pub fn records(&self) -> PathBuf {
        self.0.join("records")
    }

    pub fn record(&self, id: &SessionId) -> PathBuf {
        self.records().join(id.as_str())
    }

    pub fn journal(&self, id: &SessionId) -> PathBuf {
        self.record(id).join("history.jsonl")
    }

    pub fn backup(&self, id: &SessionId) -> PathBuf {
        self.record(id).join("state.bak.json")
    }

    pub fn plan(&self, id: &SessionId) -> PathBuf {
        self.artifacts(id).join("plan.json")
    }

    /// The page that tells of a session that is complete.
    pub fn report(&self, id: &SessionId) -> PathBuf {
        self.artifacts(id).join("report.html")
    }

    pub fn attempts(&self, id: &SessionId) -> PathBuf {
        self.record(id).join("attempts")
    }

    /// What is known of the attempt that the event number `seq` began.
    pub fn attempt(&self, id: &SessionId, seq: u64) -> PathBuf {
        self.attempts(id).join(seq.to_string())
    }

    /// Programs that the commands of a session find under names they know.
    pub fn helpers(&self, id: &SessionId) -> PathBuf {
        self.record(id).join("bin")
    }

    /// Requests from other processes to the one who holds the session.
    pub fn inbox(&self, id: &SessionId) -> PathBuf {
        self.record(id).join("inbox")
    }

    pub fn artifacts(&self, id: &SessionId) -> PathBuf {
        self.record(id).join("artifacts")
    }

    /// What was found in the way, kept for whoever wants to look.
    pub fn set_aside(&self, id: &SessionId) -> PathBuf {
        self.record(id).join("set-aside")
    }

    /// Where attempts go that a journal says nothing of, of which `chain` is the last line that
    /// counts, if there is one: the same place for the same damage, so that an interrupted recovery
    /// finds them again.
    pub(super) fn attempts_aside(&self, id: &SessionId, chain: Option<&Digest>) -> PathBuf {
        let last = chain.map_or("nothing", |chain| &chain.as_str()[..16]);
        self.set_aside(id).join(format!("attempts-after-{last}"))
    }

    fn directories(&self) -> [PathBuf; 5] {
        let [active, completed, failed] = Shelf::ALL.map(|shelf| self.shelf(shelf));
        [self.0.join("sessions"), active, completed, failed, self.records()]
    }

    /// Refuses a home that others could have put something into.
    pub(super) fn check(&self, fs: &Fs) -> Result<(), StoreError> {
        let ours = rustix::process::geteuid().as_raw();
        for path in std::iter::once(self.0.clone()).chain(self.directories()) {
            let Some(stat) = fs.stat(&path)? else { continue };
            let problem = match stat.kind {
                EntryKind::Symlink => HomeProblem::Symlink,
                EntryKind::File | EntryKind::Other => HomeProblem::NotADirectory,
                EntryKind::Directory if stat.owner != ours => {
                    HomeProblem::Foreign { owner: stat.owner }
                }
                EntryKind::Directory if stat.mode & 0o022 != 0 => {
                    HomeProblem::Writable { mode: stat.mode & 0o777 }
                }
                EntryKind::Directory => continue,
            };
            return Err(StoreError::Home { path, problem });
        }
        Ok(())
    }

    /// Makes every directory that is not there yet, and all of them durable: one that is there may
    /// have been made by a process that died before it could see to that.
    pub(super) fn prepare(&self, fs: &Fs) -> Result<(), StoreError> {
        create_with_parents(fs, &self.0)?;
        for directory in self.directories() {
            create_if_absent(fs, &directory)?;
        }
        fs.sync_dir(&self.0)?;
        Ok(fs.sync_dir(&self.0.join("sessions"))?)
    }
}

fn create_with_parents(fs: &Fs, path: &Path) -> Result<(), StoreError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    if fs.stat(parent)?.is_none() {
        create_with_parents(fs, parent)?;
    }
    let created = create_if_absent(fs, path)?;
    match fs.sync_dir(parent) {
        // Above a home that was made for us we may not be allowed to.
        Err(error) if error.is_denied() && !created => Ok(()),
        synced => Ok(synced?),
    }
}
