//! The file system of the machine, with a count of the bytes that are read and written.

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use agentic_provision::disk::{Access, Backend, Entry, Handle, Open, Real, Stat};

#[derive(Clone, Debug, Default)]
pub struct CountingFs(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    read: AtomicU64,
    written: AtomicU64,
}

#[derive(Debug)]
struct CountingHandle {
    inner: Box<dyn Handle>,
    counts: Arc<Counts>,
}

impl CountingFs {
    pub fn bytes_read(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed)
    }

    pub fn bytes_written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    fn count(&self, inner: io::Result<Box<dyn Handle>>) -> io::Result<Box<dyn Handle>> {
        Ok(Box::new(CountingHandle { inner: inner?, counts: Arc::clone(&self.0) }))
    }
}

impl Backend for CountingFs {
    fn create_dir(&self, path: &Path, access: Access) -> io::Result<()> {
        Real.create_dir(path, access)
    }

    fn create_file(&self, path: &Path, access: Access) -> io::Result<Box<dyn Handle>> {
        self.count(Real.create_file(path, access))
    }

    fn open(&self, path: &Path, open: Open) -> io::Result<Box<dyn Handle>> {
        self.count(Real.open(path, open))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Real.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        Real.link(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        Real.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        Real.remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        Real.sync_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        Real.list(path)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Real.stat(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        Real.read_link(path)
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        Backend::canonicalize(&Real, path)
    }
}

impl Handle for CountingHandle {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.inner.read_at(buffer, offset)?;
        self.counts.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let written = self.inner.write_at(bytes, offset)?;
        self.counts.written.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn stat(&self) -> io::Result<Stat> {
        self.inner.stat()
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.inner.is_at(path)
    }

    fn set_owner(&self, owner: u32, group: u32) -> io::Result<()> {
        self.inner.set_owner(owner, group)
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.inner.set_mode(mode)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn reserve(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.inner.reserve(offset, bytes)
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.inner.try_lock()
    }

    fn is_locked(&self) -> io::Result<bool> {
        self.inner.is_locked()
    }

    fn for_children(&self, lowest: i32) -> io::Result<OwnedFd> {
        self.inner.for_children(lowest)
    }
}
