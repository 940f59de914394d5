//! Locks of the operating system: gone with their holder, however it died.
//!
//! A lock is on a directory. The file in it says who holds the lock and is locked too, so that
//! `lslocks` shows it; but what decides is the directory, which nobody can unlink while it holds
//! what the lock protects. Whoever deletes the file therefore fools nobody.

use std::{path::Path, thread, time::Duration};

use serde::{Deserialize, Serialize};

use super::{DiskError, File, Fs};
use crate::os;

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How long a holder that has the lock may take to say who it is.
const INTRODUCTION: Duration = Duration::from_millis(500);
/// A lock held for a moment by someone who only looked is waited for, whatever the patience.
const A_LOOK: Duration = Duration::from_millis(50);

/// Who holds a lock: the content of the lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub started_at: String,
    pub command: String,
}

/// Held until dropped. Keeping the files open is what holds it.
#[derive(Debug)]
pub struct Lock {
    _directory: File,
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("`{path}` is locked by {}", describe(holder.as_ref()))]
    Held { path: String, holder: Option<Holder> },
    #[error(transparent)]
    Disk(#[from] DiskError),
}

fn describe(holder: Option<&Holder>) -> String {
    holder.map_or_else(
        || "another process, which does not say which it is".into(),
        |h| format!("process {} since {} (`{}`)", h.pid, h.started_at, h.command),
    )
}

impl Lock {
    /// Locks `directory` for `holder`, waiting up to `patience`, ever longer between tries.
    ///
    /// `name` is the file in it that says who holds the lock.
    pub fn acquire(
        fs: &Fs,
        directory: &Path,
        name: &str,
        holder: &Holder,
        patience: Duration,
    ) -> Result<Self, LockError> {
        let path = directory.join(name);
        let file = wait(patience, || try_file(fs, &path))?;
        let directory = fs.open_dir(directory)?;
        // Whoever looks whether the lock is held takes the directory for a moment.
        let held =
            wait(patience.max(A_LOOK), || directory.try_lock().map(|ours| ours.then_some(())))?;
        let (Some(file), Some(())) = (file, held) else {
            let holder = who(fs, &path, holder.pid);
            return Err(LockError::Held { path: path.display().to_string(), holder });
        };
        let text = serde_json::to_vec(holder).unwrap_or_default();
        file.set_len(0)?;
        file.write_all_at(&text, 0)?;
        Ok(Self { _directory: directory, _file: file })
    }
}

/// Whether someone holds the lock of `directory`, without waiting and without taking it.
pub fn is_held(fs: &Fs, directory: &Path) -> Result<bool, DiskError> {
    fs.open_dir(directory)?.is_locked()
}

/// The lock file, locked.
fn try_file(fs: &Fs, path: &Path) -> Result<Option<File>, DiskError> {
    let file = match fs.open_write(path) {
        Err(error) if error.not_found() => match fs.create_new(path) {
            // Another one was quicker to create it.
            Err(error) if error.already_exists() => fs.open_write(path)?,
            created => created?,
        },
        opened => opened?,
    };
    Ok(file.try_lock()?.then_some(file))
}

/// Tries until it succeeds or the pauses between tries add up to `patience`.
pub(super) fn wait<T>(
    patience: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, DiskError>,
) -> Result<Option<T>, DiskError> {
    let mut waited = Duration::ZERO;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(success) = attempt()? {
            return Ok(Some(success));
        }
        if waited >= patience {
            return Ok(None);
        }
        let now = pause.min(patience.saturating_sub(waited));
        thread::sleep(now);
        waited += now;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Who the lock file says it is. A name of the dead is an earlier holder's: the present one has
/// not introduced itself yet, and is given the time to.
fn who(fs: &Fs, path: &Path, us: u32) -> Option<Holder> {
    let read = || -> Option<Holder> {
        let bytes = fs.open_read(path).ok()?.read_from(0).ok()?;
        let holder: Holder = serde_json::from_slice(&bytes).ok()?;
        (holder.pid != us && os::is_alive(holder.pid)).then_some(holder)
    };
    wait(INTRODUCTION, || Ok(read())).ok().flatten()
}
