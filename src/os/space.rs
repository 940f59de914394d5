//! How much room a file system has left.

use std::{io, os::unix::fs::MetadataExt, path::Path};

/// What is left on the file system of some place, for the user we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// The same for all places on one file system.
    pub device: u64,
    pub bytes: u64,
    /// How many files can still be made; `None` where the file system does not count them.
    pub files: Option<u64>,
}

pub fn space(path: &Path) -> io::Result<Space> {
    let device = path.metadata()?.dev();
    let told = rustix::fs::statvfs(path)?;
    Ok(Space {
        device,
        bytes: told.f_bavail.saturating_mul(told.f_frsize),
        files: (told.f_files > 0).then_some(told.f_favail),
    })
}
