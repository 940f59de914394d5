//! Other processes: which there are, whose children they are, and signals to them.

use std::collections::HashSet;

use rustix::{
    io::Errno,
    process::{Pid, Signal},
};

/// A process as it was a moment ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub session: u32,
    pub name: String,
    /// When it began, in the system's own count: with the pid it names one process for good.
    pub started: u64,
}

/// Whether a process with this number exists now, ours or anyone's.
pub fn is_alive(pid: u32) -> bool {
    let Some(pid) = number(pid) else { return false };
    match rustix::process::test_kill_process(pid) {
        Ok(()) | Err(Errno::PERM) => true,
        Err(_) => false,
    }
}

/// When a process began; `None` if there is none of that number.
pub fn started(pid: u32) -> Option<u64> {
    read(pid).map(|process| process.started)
}

/// Who started a process, or took it over from whoever did.
pub fn parent(pid: u32) -> Option<u32> {
    read(pid).map(|process| process.parent)
}

/// Whether a process acts with the rights of root now.
#[cfg(target_os = "linux")]
pub fn has_rights_of_root(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    // The real one first, then the one that counts.
    users.and_then(|users| users.split_ascii_whitespace().nth(1)) == Some("0")
}

#[cfg(not(target_os = "linux"))]
pub fn has_rights_of_root(pid: u32) -> bool {
    let Some(system) = system() else { return false };
    let process = system.process(sysinfo::Pid::from_u32(pid));
    process.and_then(|process| process.effective_user_id()).is_some_and(|user| **user == 0)
}

/// Every process that one of `names` was given to, as the system cuts it off.
pub fn named(names: &[&str]) -> Vec<Process> {
    let mut found = all();
    found.retain(|process| names.contains(&process.name.as_str()));
    found
}

/// Everything that descends from `root`, and everything in the session it leads. Not itself.
pub fn tree(root: u32) -> Vec<Process> {
    let mut rest = all();
    rest.retain(|process| process.pid != root);
    let mut found = Vec::new();
    let mut family = HashSet::from([root]);
    loop {
        let (mut kin, others): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|process| family.contains(&process.parent) || process.session == root);
        if kin.is_empty() {
            return found;
        }
        family.extend(kin.iter().map(|process| process.pid));
        found.append(&mut kin);
        rest = others;
    }
}

/// What is left of an attempt whose supervisor is gone: the processes of the session it led, and
/// those that carry `cookie` in their environment.
///
/// `leader` and `began` are the supervisor's. Its number belongs to someone else if a process of
/// that number began at another time.
pub fn remains(leader: u32, began: u64, cookie: &str) -> Vec<Process> {
    let renamed = started(leader).is_some_and(|other| other != began);
    let us = std::process::id();
    let mut found = all();
    found.retain(|process| {
        process.pid != us
            && ((process.session == leader && !renamed) || has_in_environment(process.pid, cookie))
    });
    found
}

/// The processes that carry `cookie` in their environment, wherever they have gone.
pub fn carrying(cookie: &str) -> Vec<Process> {
    let us = std::process::id();
    let mut found = all();
    found.retain(|process| process.pid != us && has_in_environment(process.pid, cookie));
    found
}

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Sent,
    /// There is no such process any more.
    Gone,
    /// It belongs to somebody else.
    Denied,
}

impl From<Result<(), Errno>> for Sent {
    fn from(sent: Result<(), Errno>) -> Self {
        match sent {
            Ok(()) => Self::Sent,
            Err(Errno::PERM) => Self::Denied,
            Err(_) => Self::Gone,
        }
    }
}

/// Sends a signal to the process that was seen, and to no other that has its number by now.
#[cfg(target_os = "linux")]
pub fn signal(process: &Process, signal: Signal) -> Sent {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = number(process.pid) else { return Sent::Gone };
    let handle = pidfd_open(pid, PidfdFlags::empty());
    if matches!(handle, Err(Errno::SRCH)) || started(process.pid) != Some(process.started) {
        return Sent::Gone;
    }
    match handle {
        Ok(handle) => pidfd_send_signal(handle, signal).into(),
        // Old kernels, and some containers, have no such handles.
        Err(_) => rustix::process::kill_process(pid, signal).into(),
    }
}

#[cfg(not(target_os = "linux"))]
pub fn signal(process: &Process, signal: Signal) -> Sent {
    number(process.pid).map_or(Sent::Gone, |pid| rustix::process::kill_process(pid, signal).into())
}

fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(target_os = "linux")]
fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(read).collect()
}

/// Zombies have ended and only wait to be collected: they are not there.
#[cfg(target_os = "linux")]
pub(super) fn read(pid: u32) -> Option<Process> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name may hold spaces and brackets of its own; what follows the last one does not.
    let (before, after) = text.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let fields: Vec<_> = after.split_ascii_whitespace().collect();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        name: name.into(),
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(target_os = "linux")]
fn has_in_environment(pid: u32, text: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry.windows(text.len()).any(|window| window == text.as_bytes()))
}

#[cfg(not(target_os = "linux"))]
fn system() -> Option<sysinfo::System> {
    use sysinfo::{ProcessRefreshKind, RefreshKind, UpdateKind};
    let processes = ProcessRefreshKind::nothing().with_environ(UpdateKind::OnlyIfNotSet);
    sysinfo::System::new_with_specifics(RefreshKind::nothing().with_processes(processes)).ok()
}

#[cfg(not(target_os = "linux"))]
fn all() -> Vec<Process> {
    let Some(system) = system() else { return Vec::new() };
    system.processes().values().map(described).collect()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn read(pid: u32) -> Option<Process> {
    system()?.process(sysinfo::Pid::from_u32(pid)).map(described)
}

#[cfg(not(target_os = "linux"))]
fn described(process: &sysinfo::Process) -> Process {
    Process {
        pid: process.pid().as_u32(),
        parent: process.parent().map_or(0, sysinfo::Pid::as_u32),
        session: process.session_id().map_or(0, sysinfo::Pid::as_u32),
        name: process.name().to_string_lossy().into_owned(),
        started: process.start_time(),
    }
}

#[cfg(not(target_os = "linux"))]
fn has_in_environment(pid: u32, text: &str) -> bool {
    let Some(system) = system() else { return false };
    let process = system.process(sysinfo::Pid::from_u32(pid));
    process.is_some_and(|process| {
        process.environ().iter().any(|entry| entry.to_string_lossy().contains(text))
    })
}
