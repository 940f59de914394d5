//! Replacing a file whole, and reading one whole.

use std::path::{Path, PathBuf};

use super::{DiskError, Fs, Operation};

/// Replaces the content of `path` with `bytes`; what was there becomes `backup`.
///
/// After a crash or a power cut at any point, `path` holds the old content or the new, whole.
/// When this returns, it holds the new, provided the file system honours fsync. The backup is
/// not synced for itself: after a power cut it may be the one before.
///
/// The caller must hold the lock that makes it the only writer of `path`.
pub fn save(fs: &Fs, path: &Path, bytes: &[u8], backup: Option<&Path>) -> Result<(), DiskError> {
    let temporary = sibling(path, ".tmp");
    let result = write_temporary(fs, &temporary, bytes)
        .and_then(|()| backup.map_or(Ok(()), |backup| keep(fs, path, backup)))
        .and_then(|()| fs.rename(&temporary, path));
    if let Err(error) = result {
        // Best effort: a left-over is overwritten by the next save.
        let _ = fs.remove(&temporary);
        return Err(error);
    }
    fs.sync_dir(path.parent().unwrap_or(Path::new(".")))
}

/// Writes to what is no file, such as a pipe or a terminal: it cannot be replaced, nor synced.
#[expect(clippy::disallowed_methods, reason = "this room writes")]
pub fn write_into(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    let opened = std::fs::OpenOptions::new().write(true).open(path);
    let written = opened.and_then(|mut open| std::io::Write::write_all(&mut open, bytes));
    written.map_err(|error| DiskError::new(Operation::Write, path, error))
}

/// A whole file, unless it is longer than `limit`: then the length it has.
pub fn read_whole(fs: &Fs, path: &Path, limit: u64) -> Result<Result<Vec<u8>, u64>, DiskError> {
    let file = fs.open_read(path)?;
    let len = file.stat()?.len;
    if len > limit {
        return Ok(Err(len));
    }
    // Some files hold more than they say.
    let bytes = file.read_up_to(limit.saturating_add(1))?;
    if bytes.len() as u64 > limit { Ok(Err(bytes.len() as u64)) } else { Ok(Ok(bytes)) }
}

/// Where a path leads when links are followed; `None` if that is nowhere.
pub fn resolve(path: &Path) -> Result<Option<PathBuf>, DiskError> {
    match path.canonicalize() {
        Ok(place) => Ok(Some(place)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DiskError::new(Operation::Inspect, path, error)),
    }
}

fn write_temporary(fs: &Fs, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    let file = match fs.create_new(path) {
        // The one before us died in the middle of this.
        Err(error) if error.already_exists() => {
            fs.remove(path)?;
            fs.create_new(path)?
        }
        created => created?,
    };
    file.write_all_at(bytes, 0)?;
    file.sync()
}

/// Gives the present content of `path` the name `backup` as well.
fn keep(fs: &Fs, path: &Path, backup: &Path) -> Result<(), DiskError> {
    let temporary = sibling(backup, ".tmp");
    remove_if_there(fs, &temporary)?;
    if if_there(fs.link(path, &temporary))?.is_none() {
        return Ok(());
    }
    fs.rename(&temporary, backup)?;
    // Renaming one name of a file onto another of the same file does nothing at all.
    remove_if_there(fs, &temporary)
}

/// Creates a directory that only its owner can enter; whether it was not there before.
pub fn create_if_absent(fs: &Fs, path: &Path) -> Result<bool, DiskError> {
    match fs.create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.already_exists() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a file, unless it is gone already.
pub fn remove_if_there(fs: &Fs, path: &Path) -> Result<(), DiskError> {
    if_there(fs.remove(path)).map(drop)
}

/// Returns `None` for the result of an operation on a file or directory that does not exist.
pub fn if_there<T>(result: Result<T, DiskError>) -> Result<Option<T>, DiskError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// `.name.tmp` beside `name`: hidden, and never taken for the file itself.
pub(super) fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(suffix);
    path.with_file_name(name)
}
