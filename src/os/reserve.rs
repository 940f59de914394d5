//! Space for a file's growth, taken in advance.

use std::{fs::File, io};

/// Makes sure that `bytes` after `offset` can be written without running out of space, leaving
/// the file's length alone. Truncating the file to its own length gives the space back.
///
/// Returns whether anything was reserved: some file systems cannot, and that is no error.
#[cfg(target_os = "linux")]
pub fn reserve(file: &File, offset: u64, bytes: u64) -> io::Result<bool> {
    use rustix::{fs::FallocateFlags, io::Errno};
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, offset, bytes) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Apple's call for this, as rustix offers it, changes the file's length: we do without.
#[cfg(not(target_os = "linux"))]
pub fn reserve(_: &File, _: u64, _: u64) -> io::Result<bool> {
    Ok(false)
}
