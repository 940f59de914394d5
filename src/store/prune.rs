//! Removing what is no longer needed: first what commands wrote, then whole records that nothing
//! refers to.

use std::path::{Path, PathBuf};

use super::{Pen, Recorder, Shelf, Store, StoreError};
use crate::{
    disk::{DiskError, EntryKind, Fs, create_if_absent, remove_if_there},
    model::SessionId,
};

/// Says that logs were removed on purpose.
const REMOVED: &str = "removed";
/// What a command wrote, in the directory of its attempt.
const LOGS: [&str; 3] = ["output.log", "tail.0", "tail.1"];

impl Store {
    /// What the commands of a session wrote, and how much that is; the page that shows it, too.
    pub fn logs(&self, id: &SessionId) -> Result<Vec<(PathBuf, u64)>, StoreError> {
        let mut found = Vec::new();
        for directory in self.all_attempts(id)? {
            for name in LOGS {
                let path = directory.join(name);
                if let Some(stat) = self.fs.stat(&path)? {
                    found.push((path, stat.len));
                }
            }
        }
        let report = self.home.report(id);
        if let Some(stat) = self.fs.stat(&report)?.filter(|_| !found.is_empty()) {
            found.push((report, stat.len));
        }
        Ok(found)
    }

    /// Whether logs of a session were removed on purpose.
    pub fn were_logs_removed(&self, id: &SessionId) -> Result<bool, StoreError> {
        Ok(self.fs.stat(&self.home.attempts(id).join(REMOVED))?.is_some())
    }

    /// Removes what the commands of a session wrote. The holder has looked: nothing still runs.
    pub fn remove_logs(&self, holder: &Recorder) -> Result<u64, StoreError> {
        let id = &holder.session().meta.id;
        let logs = self.logs(id)?;
        if logs.is_empty() {
            return Ok(0);
        }
        // First the word that it was on purpose: one who is interrupted misses nothing.
        match self.fs.create_new(&self.home.attempts(id).join(REMOVED)) {
            Err(error) if !error.already_exists() => return Err(error.into()),
            _ => {}
        }
        let mut bytes = 0;
        for (path, length) in logs {
            self.fs.remove(&path)?;
            bytes += length;
        }
        Ok(bytes)
    }

    /// Removes all there is of a session that nothing refers to.
    ///
    /// The journal goes last: until then the session is there, whoever interrupts this.
    /// Whether it was: one that has changed since `revision` is left alone.
    pub fn remove_session(
        &self,
        id: &SessionId,
        pen: &Pen,
        revision: u64,
    ) -> Result<bool, StoreError> {
        let record = self.home.record(id);
        self.home.prepare(&self.fs)?;
        create_if_absent(&self.fs, &record)?;
        let _lock = self.lock(id, pen)?;
        if self.load(id)?.session.revision() != revision {
            return Ok(false);
        }
        for shelf in Shelf::ALL {
            remove_if_there(&self.fs, &self.home.document(shelf, id))?;
            self.fs.sync_dir(&self.home.shelf(shelf))?;
        }
        let journal = self.home.journal(id);
        for entry in self.fs.list(&record)? {
            let path = record.join(&entry.name);
            if path != journal {
                remove_tree(&self.fs, &path, entry.kind)?;
            }
        }
        remove_if_there(&self.fs, &journal)?;
        self.fs.remove_dir(&record)?;
        self.fs.sync_dir(&self.home.records())?;
        Ok(true)
    }
}

fn remove_tree(fs: &Fs, path: &Path, kind: EntryKind) -> Result<(), DiskError> {
    if kind != EntryKind::Directory {
        return fs.remove(path);
    }
    for entry in fs.list(path)? {
        remove_tree(fs, &path.join(&entry.name), entry.kind)?;
    }
    fs.remove_dir(path)
}
