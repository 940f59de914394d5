//! The real side of the seam. Every open is close-on-exec and follows no symbolic link.

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

use super::{Entry, EntryKind, Stat};
use crate::os;

const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
const PRIVATE_DIRECTORY: Mode = Mode::RWXU;
const PUBLIC_FILE: Mode = PRIVATE_FILE.union(Mode::RGRP).union(Mode::ROTH);
const PUBLIC_DIRECTORY: Mode = Mode::from_raw_mode(0o755);

#[derive(Debug)]
pub(super) struct RealFile(fs::File);

pub(super) fn create_dir(path: &Path) -> io::Result<()> {
    rustix::fs::mkdir(path, PRIVATE_DIRECTORY)?;
    // A umask can only take bits away, and may have taken too many.
    Ok(rustix::fs::chmod(path, PRIVATE_DIRECTORY)?)
}

/// As open to others as the umask lets it be.
pub(super) fn create_shared_dir(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::mkdir(path, PUBLIC_DIRECTORY)?)
}

/// As open to others as the umask lets it be.
pub(super) fn create_shared(path: &Path) -> io::Result<RealFile> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(RealFile(rustix::fs::open(path, flags, PUBLIC_FILE)?.into()))
}

pub(super) fn create_new(path: &Path) -> io::Result<RealFile> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, PRIVATE_FILE)?;
    rustix::fs::fchmod(&file, PRIVATE_FILE)?;
    Ok(RealFile(file.into()))
}

pub(super) fn open_write(path: &Path) -> io::Result<RealFile> {
    open_regular(path, OFlags::RDWR)
}

pub(super) fn open_read(path: &Path) -> io::Result<RealFile> {
    open_regular(path, OFlags::RDONLY)
}

/// Non-blocking, so that a pipe in a file's place is refused rather than waited for.
fn open_regular(path: &Path, access: OFlags) -> io::Result<RealFile> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(RealFile(file))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

pub(super) fn open_dir(path: &Path) -> io::Result<RealFile> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(RealFile(rustix::fs::open(path, flags, Mode::empty())?.into()))
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rustix::fs::rename(from, to)?)
}

pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rustix::fs::linkat(CWD, from, CWD, to, AtFlags::empty())?)
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::unlink(path)?)
}

pub(super) fn remove_dir(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::rmdir(path)?)
}

pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    open_dir(path)?.0.sync_all()
}

pub(super) fn list(path: &Path) -> io::Result<Vec<Entry>> {
    let directory = open_dir(path)?;
    let mut entries = Vec::new();
    for entry in rustix::fs::Dir::read_from(&directory.0)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Symlink,
            // Some file systems do not say in the listing.
            FileType::Unknown => {
                stat(&path.join(entry.file_name().to_string_lossy().as_ref()))?.kind
            }
            _ => EntryKind::Other,
        };
        entries.push(Entry { name: std::ffi::OsString::from_vec(name.to_vec()), kind });
    }
    Ok(entries)
}

pub(super) fn read_link(path: &Path) -> io::Result<PathBuf> {
    fs::read_link(path)
}

pub(super) fn stat(path: &Path) -> io::Result<Stat> {
    Ok(stat_of(&fs::symlink_metadata(path)?))
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

impl RealFile {
    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }

    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    pub(super) fn stat(&self) -> io::Result<Stat> {
        Ok(stat_of(&self.0.metadata()?))
    }

    pub(super) fn is_at(&self, path: &Path) -> io::Result<bool> {
        let (ours, there) = (self.0.metadata()?, fs::symlink_metadata(path));
        Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
    }

    pub(super) fn set_owner(&self, owner: u32, group: u32) -> io::Result<()> {
        std::os::unix::fs::fchown(&self.0, Some(owner), Some(group))
    }

    pub(super) fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.0.set_permissions(fs::Permissions::from_mode(mode))
    }

    pub(super) fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    /// On macOS the standard library asks the drive, too, to write its cache: here and for
    /// directories.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    pub(super) fn reserve(&self, offset: u64, bytes: u64) -> io::Result<()> {
        os::reserve(&self.0, offset, bytes).map(drop)
    }

    pub(super) fn try_lock(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(fs::TryLockError::WouldBlock) => Ok(false),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    pub(super) fn for_children(&self, lowest: i32) -> io::Result<OwnedFd> {
        let copy = rustix::io::fcntl_dupfd_cloexec(&self.0, lowest)?;
        rustix::io::fcntl_setfd(&copy, FdFlags::empty())?;
        Ok(copy)
    }

    pub(super) fn is_locked(&self) -> io::Result<bool> {
        match self.0.try_lock_shared() {
            Ok(()) => self.0.unlock().map(|()| false),
            Err(fs::TryLockError::WouldBlock) => Ok(true),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}
