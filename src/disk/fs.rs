//! Every call that reads or changes a file goes through [`Fs`] or [`File`] to a [`Backend`].
//!
//! A call that a signal interrupted is retried; every other error goes to the caller.

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Access, Backend, DiskError, Entry, Handle, Open, Operation, Stat, real::Real};

/// How often an interrupted call is retried before the interruption counts as an error.
const MAX_RETRIES: u32 = 100;

#[derive(Clone, Debug)]
pub struct Fs(Arc<dyn Backend>);

/// An open file or directory. Closing it releases the lock it holds.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    handle: Box<dyn Handle>,
}

impl Fs {
    pub fn real() -> Self {
        Self::new(Real)
    }

    pub fn new(backend: impl Backend + 'static) -> Self {
        Self(Arc::new(backend))
    }

    /// Creates a directory that only its owner can enter, whatever the umask.
    pub fn create_dir(&self, path: &Path) -> Result<(), DiskError> {
        self.make_dir(path, Access::Private)
    }

    /// Creates a directory that others may enter, as far as the umask allows.
    pub fn create_shared_dir(&self, path: &Path) -> Result<(), DiskError> {
        self.make_dir(path, Access::Shared)
    }

    /// Creates a file that only its owner can read, whatever the umask; fails if anything exists at
    /// `path`.
    pub fn create_new(&self, path: &Path) -> Result<File, DiskError> {
        self.make_file(path, Access::Private)
    }

    /// Creates a file that others may read, as far as the umask allows; fails if anything exists at
    /// `path`.
    pub fn create_shared(&self, path: &Path) -> Result<File, DiskError> {
        self.make_file(path, Access::Shared)
    }

    /// Returns the target of a symbolic link.
    pub fn read_link(&self, path: &Path) -> Result<PathBuf, DiskError> {
        attempt(Operation::Inspect, path, || self.0.read_link(path))
    }

    /// Returns the path of a directory with all symbolic links resolved.
    pub fn real_path(&self, path: &Path) -> Result<PathBuf, DiskError> {
        attempt(Operation::Inspect, path, || self.0.canonicalize(path))
    }

    /// Opens an existing regular file for reading and writing; never through a symbolic link.
    pub fn open_write(&self, path: &Path) -> Result<File, DiskError> {
        self.open(path, Open::ReadWrite)
    }

    /// Opens an existing regular file for reading; never through a symbolic link.
    pub fn open_read(&self, path: &Path) -> Result<File, DiskError> {
        self.open(path, Open::Read)
    }

    /// Opens a directory, to lock it.
    pub fn open_dir(&self, path: &Path) -> Result<File, DiskError> {
        self.open(path, Open::Directory)
    }

    /// Replaces `to` atomically. Durable once the directories on both sides are synced.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        attempt(Operation::Rename, from, || self.0.rename(from, to))
    }

    /// Gives a file a second name.
    pub fn link(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        attempt(Operation::Link, from, || self.0.link(from, to))
    }

    pub fn remove(&self, path: &Path) -> Result<(), DiskError> {
        attempt(Operation::Remove, path, || self.0.remove_file(path))
    }

    /// Removes an empty directory.
    pub fn remove_dir(&self, path: &Path) -> Result<(), DiskError> {
        attempt(Operation::Remove, path, || self.0.remove_dir(path))
    }

    /// Makes the names in a directory survive a power cut.
    pub fn sync_dir(&self, path: &Path) -> Result<(), DiskError> {
        attempt(Operation::Sync, path, || self.0.sync_dir(path))
    }

    /// Returns the names in a directory, in no particular order.
    pub fn list(&self, path: &Path) -> Result<Vec<Entry>, DiskError> {
        attempt(Operation::List, path, || self.0.list(path))
    }

    /// Describes the entry at `path`, a symbolic link itself; `None` if there is no entry.
    pub fn stat(&self, path: &Path) -> Result<Option<Stat>, DiskError> {
        match attempt(Operation::Inspect, path, || self.0.stat(path)) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn make_dir(&self, path: &Path, access: Access) -> Result<(), DiskError> {
        attempt(Operation::CreateDirectory, path, || self.0.create_dir(path, access))
    }

    fn make_file(&self, path: &Path, access: Access) -> Result<File, DiskError> {
        let handle = attempt(Operation::Create, path, || self.0.create_file(path, access))?;
        Ok(File { path: path.into(), handle })
    }

    fn open(&self, path: &Path, open: Open) -> Result<File, DiskError> {
        let handle = attempt(Operation::Open, path, || self.0.open(path, open))?;
        Ok(File { path: path.into(), handle })
    }
}

impl File {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// One write; returns how many bytes it took, which may be fewer.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<usize, DiskError> {
        attempt(Operation::Write, &self.path, || self.handle.write_at(bytes, offset))
    }

    /// Writes until all is written.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<(), DiskError> {
        let mut done = 0;
        while done < bytes.len() {
            match self.write_at(&bytes[done..], offset + done as u64)? {
                0 => {
                    let source = io::Error::from(io::ErrorKind::WriteZero);
                    return Err(DiskError::new(Operation::Write, &self.path, source));
                }
                more => done += more,
            }
        }
        Ok(())
    }

    /// Reads what is there, at most `buffer` full; 0 at the end.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, DiskError> {
        attempt(Operation::Read, &self.path, || self.handle.read_at(buffer, offset))
    }

    /// Fills the buffer, or says that the file ends before that.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), DiskError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_at(&mut buffer[filled..], offset.saturating_add(filled as u64))? {
                0 => {
                    let source = io::Error::from(io::ErrorKind::UnexpectedEof);
                    return Err(DiskError::new(Operation::Read, &self.path, source));
                }
                more => filled += more,
            }
        }
        Ok(())
    }

    /// Everything from `offset` to the end.
    pub fn read_from(&self, offset: u64) -> Result<Vec<u8>, DiskError> {
        self.read_range(offset, u64::MAX)
    }

    /// Everything from the start, but no more than `most` bytes.
    pub fn read_up_to(&self, most: u64) -> Result<Vec<u8>, DiskError> {
        self.read_range(0, most)
    }

    fn read_range(&self, offset: u64, most: u64) -> Result<Vec<u8>, DiskError> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let expected = self.stat()?.len.saturating_sub(offset);
        let expected = usize::try_from(expected).unwrap_or(0).saturating_add(1);
        let mut bytes = vec![0; expected.min(most)];
        let mut filled = 0;
        while filled < most {
            match self.read_at(&mut bytes[filled..], offset + filled as u64)? {
                0 => break,
                more => filled += more,
            }
            if filled == bytes.len() {
                bytes.resize(filled.saturating_mul(2).min(most), 0);
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    pub fn stat(&self) -> Result<Stat, DiskError> {
        attempt(Operation::Inspect, &self.path, || self.handle.stat())
    }

    /// Whether the file is still the one that `path` names.
    pub fn is_at(&self, path: &Path) -> Result<bool, DiskError> {
        attempt(Operation::Inspect, path, || self.handle.is_at(path))
    }

    pub fn set_owner(&self, owner: u32, group: u32) -> Result<(), DiskError> {
        attempt(Operation::Own, &self.path, || self.handle.set_owner(owner, group))
    }

    pub fn set_mode(&self, mode: u32) -> Result<(), DiskError> {
        attempt(Operation::Own, &self.path, || self.handle.set_mode(mode))
    }

    pub fn set_len(&self, len: u64) -> Result<(), DiskError> {
        attempt(Operation::Truncate, &self.path, || self.handle.set_len(len))
    }

    /// Makes the content, and the length needed to read it, survive a power cut.
    pub fn sync(&self) -> Result<(), DiskError> {
        attempt(Operation::Sync, &self.path, || self.handle.sync())
    }

    /// Takes space for the next `bytes` after `offset`, where the file system can.
    pub fn reserve(&self, offset: u64, bytes: u64) -> Result<(), DiskError> {
        attempt(Operation::Reserve, &self.path, || self.handle.reserve(offset, bytes))
    }

    /// Whether the file is now ours alone, until it is closed.
    pub fn try_lock(&self) -> Result<bool, DiskError> {
        attempt(Operation::Lock, &self.path, || self.handle.try_lock())
    }

    /// The open file under another descriptor, at least `lowest`, that programs started by this
    /// process inherit: the lock on it is held for as long as one of them lives and keeps it.
    pub fn for_children(&self, lowest: i32) -> Result<OwnedFd, DiskError> {
        attempt(Operation::Open, &self.path, || self.handle.for_children(lowest))
    }

    /// Whether someone holds it alone. Looking takes a shared lock for a moment.
    pub fn is_locked(&self) -> Result<bool, DiskError> {
        attempt(Operation::Lock, &self.path, || self.handle.is_locked())
    }
}

fn attempt<T>(
    operation: Operation,
    path: &Path,
    mut call: impl FnMut() -> io::Result<T>,
) -> Result<T, DiskError> {
    let mut tries = 0;
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted && tries < MAX_RETRIES => {
                tries += 1;
            }
            result => return result.map_err(|error| DiskError::new(operation, path, error)),
        }
    }
}
