//! An I/O error that names its path and what was being done to it.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} `{}`", .path.display())]
pub struct DiskError {
    pub operation: Operation,
    pub path: PathBuf,
    pub source: io::Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    CreateDirectory,
    Create,
    Open,
    Read,
    Write,
    Truncate,
    Sync,
    Reserve,
    Rename,
    Link,
    Remove,
    List,
    Inspect,
    Lock,
    Own,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CreateDirectory => "create directory",
            Self::Create => "create",
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::Truncate => "truncate",
            Self::Sync => "sync",
            Self::Reserve => "reserve space for",
            Self::Rename => "rename",
            Self::Link => "link",
            Self::Remove => "remove",
            Self::List => "list",
            Self::Inspect => "inspect",
            Self::Lock => "lock",
            Self::Own => "set the owner and mode of",
        })
    }
}

impl DiskError {
    pub fn new(operation: Operation, path: &Path, source: impl Into<io::Error>) -> Self {
        Self { operation, path: path.into(), source: source.into() }
    }

    pub fn not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }

    pub fn already_exists(&self) -> bool {
        self.source.kind() == io::ErrorKind::AlreadyExists
    }

    /// A file was asked for and a symbolic link is there.
    pub fn is_symlink(&self) -> bool {
        Errno::from_io_error(&self.source) == Some(Errno::LOOP)
    }

    pub fn is_full(&self) -> bool {
        matches!(Errno::from_io_error(&self.source), Some(Errno::NOSPC | Errno::DQUOT))
    }

    pub fn is_denied(&self) -> bool {
        let errno = Errno::from_io_error(&self.source);
        matches!(errno, Some(Errno::ACCESS | Errno::PERM | Errno::ROFS))
    }
}
