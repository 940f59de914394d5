//! The operations of a file system. [`real`](super::real) implements them; tests bring a file system
//! of their own, with faults in it. An operation that a signal interrupted is retried as a whole.

use std::{
    ffi::OsString,
    fmt, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

/// Selects the users that may use a new file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only its owner, whatever the umask.
    Private,
    /// All users, as far as the umask allows.
    Shared,
}

/// Selects the operations on an opened file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    Read,
    ReadWrite,
    Directory,
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

/// A file system.
pub trait Backend: fmt::Debug + Send + Sync {
    fn create_dir(&self, path: &Path, access: Access) -> io::Result<()>;
    /// Creates a file; fails if anything exists at `path`.
    fn create_file(&self, path: &Path, access: Access) -> io::Result<Box<dyn Handle>>;
    /// Opens a regular file or a directory; never follows a symbolic link.
    fn open(&self, path: &Path, open: Open) -> io::Result<Box<dyn Handle>>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    fn list(&self, path: &Path) -> io::Result<Vec<Entry>>;
    /// Describes the entry at `path`; a symbolic link itself, not its target.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf>;
}

/// An open file or directory.
pub trait Handle: fmt::Debug + Send + Sync {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    fn stat(&self) -> io::Result<Stat>;
    fn is_at(&self, path: &Path) -> io::Result<bool>;
    fn set_owner(&self, owner: u32, group: u32) -> io::Result<()>;
    fn set_mode(&self, mode: u32) -> io::Result<()>;
    fn set_len(&self, len: u64) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
    fn reserve(&self, offset: u64, bytes: u64) -> io::Result<()>;
    fn try_lock(&self) -> io::Result<bool>;
    fn is_locked(&self) -> io::Result<bool>;
    /// Duplicates the handle, at descriptor `lowest` or above, so that child processes inherit it.
    fn for_children(&self, lowest: i32) -> io::Result<OwnedFd>;
}
