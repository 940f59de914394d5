//! Which supervisor runs an attempt: at most one, ever.
//!
//! A claim is written and locked under a name of its own and then linked to `claim`, which only
//! one can do. So `claim` is never seen unlocked while its supervisor lives: *claim locked* means
//! that a result will come.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::finish::Room;
use crate::{
    disk::{DiskError, File, Fs, if_there},
    model::{Digest, TaskId},
};

pub(super) const CLAIM: &str = "claim";
pub(super) const ALIVE: &str = "alive";
pub(super) const RESULT: &str = "result";

/// Far above what scripts use for redirections of their own.
const ALIVE_DESCRIPTOR: i32 = 200;

/// Who claimed an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub pid: u32,
    pub sid: u32,
    pub pgid: u32,
    pub start_time: u64,
    pub boot_id: String,
    /// What it runs, for one who has lost the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
}

/// Which command an attempt is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The plan it belongs to.
    pub plan: Digest,
    pub task_ids: Vec<TaskId>,
    pub command_index: usize,
    /// The approved text; claims did not have it from the first day.
    #[serde(default)]
    pub command: String,
    #[serde(default)]
    pub idempotent: bool,
    pub cookie: String,
}

/// A claim that is ours. Everything the attempt needs on the disk is there.
#[derive(Debug)]
pub(super) struct Claimed {
    /// Held until the result is published; no child inherits it.
    pub lock: File,
    /// Locked; the command inherits it, and with it the lock.
    pub alive: File,
    pub room: Room,
}

impl Claim {
    fn ours(boot_id: &str, start_time: u64, order: Order) -> Self {
        let pid = std::process::id();
        Self {
            pid,
            // A supervisor leads the session it is in, unless it stays on the terminal.
            sid: rustix::process::getsid(None)
                .map_or(pid, |sid| u32::try_from(sid.as_raw_nonzero().get()).unwrap_or(pid)),
            pgid: pid,
            start_time,
            boot_id: boot_id.into(),
            order: Some(order),
        }
    }

    fn unreadable() -> Self {
        Self { pid: 0, sid: 0, pgid: 0, start_time: 0, boot_id: String::new(), order: None }
    }

    pub(super) fn read(fs: &Fs, directory: &Path) -> Result<Option<(Self, File)>, DiskError> {
        let opened = if_there(fs.open_read(&directory.join(CLAIM)))?;
        let Some(file) = opened else { return Ok(None) };
        let bytes = file.read_from(0)?;
        // An unreadable claim still proves that a supervisor claimed the attempt.
        let claim = serde_json::from_slice(&bytes).unwrap_or_else(|_| Self::unreadable());
        Ok(Some((claim, file)))
    }
}

impl Claimed {
    /// Claims the attempt in `directory`; `None` if another one did.
    ///
    /// What can fail fails before the claim is made: afterwards only the command is left to do.
    pub(super) fn take(
        fs: &Fs,
        directory: &Path,
        boot_id: &str,
        started: u64,
        order: Order,
    ) -> Result<Option<Self>, DiskError> {
        let claim = Claim::ours(boot_id, started, order);
        let own = |name: &str| directory.join(format!("{name}.{}.tmp", claim.pid));
        let room = Room::take(fs, &own(RESULT))?;
        let alive = locked(fs, &own(ALIVE))?;
        let lock = locked(fs, &own(CLAIM))?;
        lock.write_all_at(&serde_json::to_vec(&claim).unwrap_or_default(), 0)?;
        match fs.link(&own(CLAIM), &directory.join(CLAIM)) {
            Ok(()) => {}
            Err(error) => {
                for name in [CLAIM, ALIVE, RESULT] {
                    // Best effort: a left-over says nothing.
                    let _ = fs.remove(&own(name));
                }
                return if error.already_exists() { Ok(None) } else { Err(error) };
            }
        }
        // The claim is made: what fails from here on must not keep the command from running.
        let _ = fs.rename(&own(ALIVE), &directory.join(ALIVE));
        let _ = fs.remove(&own(CLAIM));
        Ok(Some(Self { lock, alive, room }))
    }

    /// What the command inherits to show that it lives.
    pub(super) fn token(&self) -> Result<std::os::fd::OwnedFd, DiskError> {
        self.alive.for_children(ALIVE_DESCRIPTOR)
    }
}

fn locked(fs: &Fs, path: &Path) -> Result<File, DiskError> {
    let file = create_own(fs, path)?;
    // Nobody else knows the name: it is free.
    file.try_lock()?;
    Ok(file)
}

/// A file whose name holds our number. One that is there was left by another of that number, who
/// is dead: it is not in use.
pub(super) fn create_own(fs: &Fs, path: &Path) -> Result<File, DiskError> {
    match fs.create_new(path) {
        Err(error) if error.already_exists() => {
            fs.remove(path)?;
            fs.create_new(path)
        }
        created => created,
    }
}
