//! The seam: every call that reads or changes a file goes through [`Fs`] or [`File`], to the real
//! file system or to its faulty twin, and is counted.
//!
//! A call that a signal interrupted is made again; everything else is for the caller to decide.

use std::{
    ffi::OsString,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    DiskError, FaultyFs, Operation,
    faulty::FaultyFile,
    real::{self, RealFile},
};

/// How often an interrupted call is made again before the interruption is taken for an error.
const PERSISTENCE: u32 = 100;

#[derive(Clone, Debug)]
pub enum Fs {
    Real(Arc<Counters>),
    Faulty(FaultyFs),
}

/// An open file or directory. Closing it releases the lock it holds.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    side: Side,
    counters: Arc<Counters>,
}

#[derive(Debug)]
enum Side {
    Real(RealFile),
    Faulty(FaultyFile),
}

/// What went through the seam so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub bytes_written: u64,
    pub bytes_read: u64,
    pub writes: u64,
    pub syncs: u64,
}

#[derive(Debug, Default)]
pub struct Counters {
    bytes_written: AtomicU64,
    bytes_read: AtomicU64,
    writes: AtomicU64,
    syncs: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Directory,
    Symlink,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: OsString,
    pub kind: EntryKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub kind: EntryKind,
    pub len: u64,
    pub mode: u32,
    pub owner: u32,
    pub group: u32,
    /// When it was last written to, in milliseconds since 1970.
    pub modified_millis: i64,
}

impl Fs {
    pub fn real() -> Self {
        Self::Real(Arc::default())
    }

    pub fn traffic(&self) -> Traffic {
        let counters = self.counters();
        Traffic {
            bytes_written: counters.bytes_written.load(Ordering::Relaxed),
            bytes_read: counters.bytes_read.load(Ordering::Relaxed),
            writes: counters.writes.load(Ordering::Relaxed),
            syncs: counters.syncs.load(Ordering::Relaxed),
        }
    }

    /// A directory only its owner can enter, whatever the umask.
    pub fn create_dir(&self, path: &Path) -> Result<(), DiskError> {
        attempt(Operation::CreateDirectory, path, || match self {
            Self::Real(_) => real::create_dir(path),
            Self::Faulty(fs) => fs.create_dir(path),
        })
    }

    /// A new file only its owner can read, whatever the umask; an error if anything is there.
    pub fn create_new(&self, path: &Path) -> Result<File, DiskError> {
        let side = attempt(Operation::Create, path, || match self {
            Self::Real(_) => real::create_new(path).map(Side::Real),
            Self::Faulty(fs) => fs.create_new(path).map(Side::Faulty),
        })?;
        Ok(self.file(path, side))
    }

    /// A directory that others may look into, as far as the umask lets them.
    pub fn create_shared_dir(&self, path: &Path) -> Result<(), DiskError> {
        attempt(Operation::CreateDirectory, path, || match self {
            Self::Real(_) => real::create_shared_dir(path),
            Self::Faulty(fs) => fs.create_dir(path),
        })
    }

    /// A new file that others may read, as far as the umask lets them; an error if anything is
    /// there.
    pub fn create_shared(&self, path: &Path) -> Result<File, DiskError> {
        let side = attempt(Operation::Create, path, || match self {
            Self::Real(_) => real::create_shared(path).map(Side::Real),
            Self::Faulty(fs) => fs.create_new(path).map(Side::Faulty),
        })?;
        Ok(self.file(path, side))
    }

    /// What a symbolic link says. The faulty twin has none.
    pub fn read_link(&self, path: &Path) -> Result<PathBuf, DiskError> {
        attempt(Operation::Inspect, path, || match self {
            Self::Real(_) => real::read_link(path),
            Self::Faulty(_) => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        })
    }

    /// A directory without links on the way to it.
    pub fn real_path(&self, path: &Path) -> Result<PathBuf, DiskError> {
        attempt(Operation::Inspect, path, || match self {
            Self::Real(_) => path.canonicalize(),
            Self::Faulty(_) => Ok(path.into()),
        })
    }

    /// An existing regular file, for reading and writing; never through a symbolic link.
    pub fn open_write(&self, path: &Path) -> Result<File, DiskError> {
        let side = attempt(Operation::Open, path, || match self {
            Self::Real(_) => real::open_write(path).map(Side::Real),
            Self::Faulty(fs) => fs.open_file(path).map(Side::Faulty),
        })?;
        Ok(self.file(path, side))
    }

    /// An existing regular file, for reading; never through a symbolic link.
    pub fn open_read(&self, path: &Path) -> Result<File, DiskError> {
        let side = attempt(Operation::Open, path, || match self {
            Self::Real(_) => real::open_read(path).map(Side::Real),
            Self::Faulty(fs) => fs.open_file(path).map(Side::Faulty),
        })?;
        Ok(self.file(path, side))
    }

    /// A directory, to lock it.
    pub fn open_dir(&self, path: &Path) -> Result<File, DiskError> {
        let side = attempt(Operation::Open, path, || match self {
            Self::Real(_) => real::open_dir(path).map(Side::Real),
            Self::Faulty(fs) => fs.open_dir(path).map(Side::Faulty),
        })?;
        Ok(self.file(path, side))
    }

    /// Replaces `to`, atomically. Durable once the directories on both sides are synced.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        attempt(Operation::Rename, from, || match self {
            Self::Real(_) => real::rename(from, to),
            Self::Faulty(fs) => fs.rename(from, to),
        })
    }

    /// A second name for a file.
    pub fn link(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        attempt(Operation::Link, from, || match self {
            Self::Real(_) => real::link(from, to),
            Self::Faulty(fs) => fs.link(from, to),
        })
    }

    pub fn remove(&self, path: &Path) -> Result<(), DiskError> {
        attempt(Operation::Remove, path, || match self {
            Self::Real(_) => real::remove(path),
            Self::Faulty(fs) => fs.remove(path),
        })
    }

    /// Removes a directory that is empty.
    pub fn remove_dir(&self, path: &Path) -> Result<(), DiskError> {
        attempt(Operation::Remove, path, || match self {
            Self::Real(_) => real::remove_dir(path),
            Self::Faulty(fs) => fs.remove(path),
        })
    }

    /// Makes the names in a directory survive a power cut.
    pub fn sync_dir(&self, path: &Path) -> Result<(), DiskError> {
        self.counters().syncs.fetch_add(1, Ordering::Relaxed);
        attempt(Operation::Sync, path, || match self {
            Self::Real(_) => real::sync_dir(path),
            Self::Faulty(fs) => fs.sync_dir(path),
        })
    }

    /// The names in a directory, in no particular order.
    pub fn list(&self, path: &Path) -> Result<Vec<Entry>, DiskError> {
        attempt(Operation::List, path, || match self {
            Self::Real(_) => real::list(path),
            Self::Faulty(fs) => fs.list(path),
        })
    }

    /// What is at `path`, the link itself where it is one; `None` where nothing is.
    pub fn stat(&self, path: &Path) -> Result<Option<Stat>, DiskError> {
        let found = attempt(Operation::Inspect, path, || match self {
            Self::Real(_) => real::stat(path),
            Self::Faulty(fs) => fs.stat(path),
        });
        match found {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn counters(&self) -> &Arc<Counters> {
        match self {
            Self::Real(counters) => counters,
            Self::Faulty(fs) => fs.counters(),
        }
    }

    fn file(&self, path: &Path, side: Side) -> File {
        File { path: path.into(), side, counters: Arc::clone(self.counters()) }
    }
}

impl File {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// One write; returns how many bytes it took, which may be fewer.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<usize, DiskError> {
        let written = attempt(Operation::Write, &self.path, || match &self.side {
            Side::Real(file) => file.write_at(bytes, offset),
            Side::Faulty(file) => file.write_at(bytes, offset),
        })?;
        self.counters.writes.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_written.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
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
        let mut read = || match &self.side {
            Side::Real(file) => file.read_at(buffer, offset),
            Side::Faulty(file) => file.read_at(buffer, offset),
        };
        let read = attempt(Operation::Read, &self.path, &mut read)?;
        self.counters.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
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
        attempt(Operation::Inspect, &self.path, || match &self.side {
            Side::Real(file) => file.stat(),
            Side::Faulty(file) => file.stat(),
        })
    }

    /// Whether the file is still the one that `path` names.
    pub fn is_at(&self, path: &Path) -> Result<bool, DiskError> {
        attempt(Operation::Inspect, path, || match &self.side {
            Side::Real(file) => file.is_at(path),
            Side::Faulty(file) => file.is_at(path),
        })
    }

    pub fn set_owner(&self, owner: u32, group: u32) -> Result<(), DiskError> {
        attempt(Operation::Own, &self.path, || match &self.side {
            Side::Real(file) => file.set_owner(owner, group),
            Side::Faulty(file) => file.set_attributes(),
        })
    }

    pub fn set_mode(&self, mode: u32) -> Result<(), DiskError> {
        attempt(Operation::Own, &self.path, || match &self.side {
            Side::Real(file) => file.set_mode(mode),
            Side::Faulty(file) => file.set_attributes(),
        })
    }

    pub fn set_len(&self, len: u64) -> Result<(), DiskError> {
        attempt(Operation::Truncate, &self.path, || match &self.side {
            Side::Real(file) => file.set_len(len),
            Side::Faulty(file) => file.set_len(len),
        })
    }

    /// Makes the content, and the length needed to read it, survive a power cut.
    pub fn sync(&self) -> Result<(), DiskError> {
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        attempt(Operation::Sync, &self.path, || match &self.side {
            Side::Real(file) => file.sync(),
            Side::Faulty(file) => file.sync(),
        })
    }

    /// Takes space for the next `bytes` after `offset`, where the file system can.
    pub fn reserve(&self, offset: u64, bytes: u64) -> Result<(), DiskError> {
        attempt(Operation::Reserve, &self.path, || match &self.side {
            Side::Real(file) => file.reserve(offset, bytes),
            Side::Faulty(file) => file.reserve(),
        })
    }

    /// Whether the file is now ours alone, until it is closed.
    pub fn try_lock(&self) -> Result<bool, DiskError> {
        attempt(Operation::Lock, &self.path, || match &self.side {
            Side::Real(file) => file.try_lock(),
            Side::Faulty(file) => file.try_lock(),
        })
    }

    /// The open file under another descriptor, at least `lowest`, that programs started by this
    /// process inherit: the lock on it is held for as long as one of them lives and keeps it.
    pub fn for_children(&self, lowest: i32) -> Result<OwnedFd, DiskError> {
        attempt(Operation::Open, &self.path, || match &self.side {
            Side::Real(file) => file.for_children(lowest),
            Side::Faulty(_) => Err(io::Error::from(io::ErrorKind::Unsupported)),
        })
    }

    /// Whether someone holds it alone. Looking takes a shared lock for a moment.
    pub fn is_locked(&self) -> Result<bool, DiskError> {
        attempt(Operation::Lock, &self.path, || match &self.side {
            Side::Real(file) => file.is_locked(),
            Side::Faulty(file) => file.is_locked(),
        })
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
            Err(error) if error.kind() == io::ErrorKind::Interrupted && tries < PERSISTENCE => {
                tries += 1;
            }
            result => return result.map_err(|error| DiskError::new(operation, path, error)),
        }
    }
}
