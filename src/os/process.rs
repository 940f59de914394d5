//! Questions about other processes.

use rustix::{io::Errno, process::Pid};

/// Whether a process with this number exists now, ours or anyone's.
pub fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    match rustix::process::test_kill_process(pid) {
        Ok(()) | Err(Errno::PERM) => true,
        Err(_) => false,
    }
}
