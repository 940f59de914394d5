//! The file system of the machine. Every open is close-on-exec and follows no symbolic link.

use std::{
    fs, io,
    os::{
        fd::OwnedFd,
        unix::{
            ffi::OsStringExt,
            fs::{FileExt, MetadataExt, PermissionsExt},
        },
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags},
    io::FdFlags,
};

use super::{Access, Backend, Entry, EntryKind, Handle, Open, Stat};
use crate::os;

const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
const PRIVATE_DIRECTORY: Mode = Mode::RWXU;
const SHARED_FILE: Mode = PRIVATE_FILE.union(Mode::RGRP).union(Mode::ROTH);
const SHARED_DIRECTORY: Mode = Mode::from_raw_mode(0o755);

/// The file system of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Real;

impl Backend for Real {
    fn create_dir(&self, path: &Path, access: Access) -> io::Result<()> {
        match access {
            Access::Shared => rustix::fs::mkdir(path, SHARED_DIRECTORY)?,
            Access::Private => {
                rustix::fs::mkdir(path, PRIVATE_DIRECTORY)?;
                // The umask may have removed bits of the owner's.
                rustix::fs::chmod(path, PRIVATE_DIRECTORY)?;
            }
        }
        Ok(())
    }

    fn create_file(&self, path: &Path, access: Access) -> io::Result<Box<dyn Handle>> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let file = match access {
            Access::Shared => rustix::fs::open(path, flags, SHARED_FILE)?,
            Access::Private => {
                let file = rustix::fs::open(path, flags, PRIVATE_FILE)?;
                rustix::fs::fchmod(&file, PRIVATE_FILE)?;
                file
            }
        };
        Ok(Box::new(fs::File::from(file)))
    }

    fn open(&self, path: &Path, open: Open) -> io::Result<Box<dyn Handle>> {
        Ok(Box::new(match open {
            Open::Read => open_regular(path, OFlags::RDONLY)?,
            Open::ReadWrite => open_regular(path, OFlags::RDWR)?,
            Open::Directory => open_directory(path)?,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::rename(from, to)?)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::linkat(CWD, from, CWD, to, AtFlags::empty())?)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        Ok(rustix::fs::unlink(path)?)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        Ok(rustix::fs::rmdir(path)?)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        open_directory(path)?.sync_all()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let directory = open_directory(path)?;
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Directory,
                FileType::Symlink => EntryKind::Symlink,
                // Some file systems leave the type out of the listing.
                FileType::Unknown => {
                    self.stat(&path.join(entry.file_name().to_string_lossy().as_ref()))?.kind
                }
                _ => EntryKind::Other,
            };
            entries.push(Entry { name: std::ffi::OsString::from_vec(name.to_vec()), kind });
        }
        Ok(entries)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(stat_of(&fs::symlink_metadata(path)?))
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        path.canonicalize()
    }
}

/// Opens without blocking, so that a pipe in the place of a file is refused and not waited for.
fn open_regular(path: &Path, access: OFlags) -> io::Result<fs::File> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

fn open_directory(path: &Path) -> io::Result<fs::File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

fn stat_of(metadata: &fs::Metadata) -> Stat {
    let kind = match metadata.file_type() {
        kind if kind.is_file() => EntryKind::File,
        kind if kind.is_dir() => EntryKind::Directory,
        kind if kind.is_symlink() => EntryKind::Symlink,
        _ => EntryKind::Other,
    };
    Stat {
        kind,
        len: metadata.len(),
        mode: metadata.mode() & 0o7777,
        owner: metadata.uid(),
        group: metadata.gid(),
        modified_millis: metadata.mtime().saturating_mul(1000) + metadata.mtime_nsec() / 1_000_000,
    }
}

impl Handle for fs::File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(stat_of(&self.metadata()?))
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let (ours, there) = (self.metadata()?, fs::symlink_metadata(path));
        Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
    }

    fn set_owner(&self, owner: u32, group: u32) -> io::Result<()> {
        std::os::unix::fs::fchown(self, Some(owner), Some(group))
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.set_permissions(fs::Permissions::from_mode(mode))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        fs::File::set_len(self, len)
    }

    /// On macOS the standard library also flushes the cache of the drive.
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn reserve(&self, offset: u64, bytes: u64) -> io::Result<()> {
        os::reserve(self, offset, bytes).map(drop)
    }

    fn try_lock(&self) -> io::Result<bool> {
        match fs::File::try_lock(self) {
            Ok(()) => Ok(true),
            Err(fs::TryLockError::WouldBlock) => Ok(false),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    fn is_locked(&self) -> io::Result<bool> {
        match self.try_lock_shared() {
            Ok(()) => self.unlock().map(|()| false),
            Err(fs::TryLockError::WouldBlock) => Ok(true),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    fn for_children(&self, lowest: i32) -> io::Result<OwnedFd> {
        let copy = rustix::io::fcntl_dupfd_cloexec(self, lowest)?;
        rustix::io::fcntl_setfd(&copy, FdFlags::empty())?;
        Ok(copy)
    }
}
