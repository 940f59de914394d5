//! Programs: this very one, to start it again, and whether others can be started.

use std::{
    io,
    path::{Path, PathBuf},
};

/// On Linux a name for the program that runs, even after its file was replaced or removed.
#[cfg(target_os = "linux")]
pub fn own_executable() -> io::Result<PathBuf> {
    Ok("/proc/self/exe".into())
}

#[cfg(not(target_os = "linux"))]
pub fn own_executable() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Where this program is, for others to start it later: its own name if that still stands, else one
/// that holds as long as we run.
pub fn own_path() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    if path.exists() {
        return Ok(path);
    }
    if cfg!(target_os = "linux") {
        return Ok(format!("/proc/{}/exe", std::process::id()).into());
    }
    Err(io::Error::from(io::ErrorKind::NotFound))
}

/// Whether there is a file that we may execute.
pub fn is_executable(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}
