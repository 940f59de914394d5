//! Package managers that only one run can use at a time: a command that needs one is not started
//! while someone else has it. Who that is, is said once; the wait hears everything a run hears.

use std::{cell::RefCell, fmt, path::Path, time::Duration};

use super::{attending::TICK, calls::Call, commands::CommandEnd, run::Run};
use crate::{
    flow::{self, Diagnosis, SystemManager},
    model::{ErrorClass, PlanCommand, PlanTask},
    os::{self, LockHolder},
};

/// How long someone else is waited for.
const PATIENCE: Duration = Duration::from_mins(30);

/// A package manager that is taken.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    manager: SystemManager,
    by: LockHolder,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}'s lock is held by ", self.manager.name())?;
        match (&self.by.name, self.by.pid) {
            (Some(name), Some(pid)) => write!(f, "{name} ({pid})"),
            (None, Some(pid)) => write!(f, "process {pid}"),
            (_, None) => f.write_str("a process that cannot be seen from here"),
        }
    }
}

impl Run<'_> {
    /// Waits until nobody else is at work with the packages that a call is about to change. Its tasks
    /// are pending meanwhile, and leave their turn to others. `None` when nobody is.
    pub(super) async fn wait_for_packages(&self, call: &Call<'_>) -> Option<CommandEnd> {
        let managers = flow::managers_of(call.first(), call.command);
        let first = look(&managers)?;
        let reason = format!("{first}: waiting for it");
        let held = RefCell::new(Some(first));
        let wait = async {
            let end = tokio::time::sleep(PATIENCE);
            tokio::pin!(end);
            loop {
                tokio::select! {
                    () = &mut end => return,
                    () = tokio::time::sleep(TICK) => {}
                }
                let now = look(&managers);
                if let Some(now) = now.as_ref().filter(|now| held.borrow().as_ref() != Some(*now)) {
                    self.note(&format!("{now} now"));
                }
                let is_free = now.is_none();
                held.replace(now);
                if is_free {
                    return;
                }
            }
        };
        if !self.wait_pending(call.tasks, &reason, wait).await {
            return Some(CommandEnd::Stopped);
        }
        let held = held.take()?;
        let minutes = PATIENCE.as_secs() / 60;
        let error = format!("{held}, and was for {minutes} minutes");
        let diagnosis = Diagnosis::of(ErrorClass::PackageLockHeld);
        Some(CommandEnd::Failed { error, diagnosis })
    }
}

/// Whether somebody else is at work with the packages that a call is about to change.
pub(super) fn are_packages_taken(call: &Call<'_>) -> bool {
    look(&flow::managers_of(call.first(), call.command)).is_some()
}

/// Whether a command that failed only found a package manager taken, and did nothing else: it may be
/// started once more when that is over.
pub(super) fn found_locked(task: &PlanTask, command: &PlanCommand, diagnosis: &Diagnosis) -> bool {
    diagnosis.class == ErrorClass::PackageLockHeld
        && (command.idempotent || flow::only_changes_packages(command))
        && !flow::managers_of(task, command).is_empty()
}

fn look(managers: &[SystemManager]) -> Option<Held> {
    managers.iter().find_map(|manager| {
        holder_of(*manager).map(|holder| Held { manager: *manager, by: holder })
    })
}

/// Who is at work with the packages of a manager.
pub(super) fn holder_of(manager: SystemManager) -> Option<LockHolder> {
    match manager {
        SystemManager::Apt => locked(&[
            "/var/lib/dpkg/lock-frontend",
            "/var/lib/dpkg/lock",
            "/var/lib/apt/lists/lock",
            "/var/cache/apt/archives/lock",
        ]),
        SystemManager::Dnf => {
            let databases = ["/usr/lib/sysimage/rpm/.rpm.lock", "/var/lib/rpm/.rpm.lock"];
            let pid_files =
                ["/run/dnf.pid", "/run/yum.pid", "/var/lib/dnf/rpmdb_lock.pid", "/run/zypp.pid"];
            locked(&databases).or_else(|| pid_files.into_iter().find_map(named_in))
        }
        SystemManager::Zypper => named_in("/run/zypp.pid"),
        SystemManager::Apk => locked(&["/lib/apk/db/lock", "/usr/lib/apk/db/lock"]),
        SystemManager::Pacman => {
            // The file says nothing, and one that was killed leaves it: without a process that it
            // could be of, waiting would be in vain, and pacman itself says what to do.
            let users = ["pacman", "pamac", "pamac-daemon", "packagekitd", "yay", "paru"];
            let is_there = Path::new("/var/lib/pacman/db.lck").exists();
            is_there.then(|| os::named(&users).into_iter().next())?.map(Into::into)
        }
    }
}

fn locked(files: &[&str]) -> Option<LockHolder> {
    files.iter().find_map(|file| os::lock_holder(Path::new(file)))
}

/// The living process whose number stands in a file. Such a file may be older than the machine's last
/// start: a number that belongs to something else by now means nothing.
fn named_in(file: &str) -> Option<LockHolder> {
    const USERS: [&str; 8] =
        ["dnf", "dnf5", "dnf-3", "yum", "rpm", "zypper", "packagekitd", "dnf-automatic"];
    let text = std::fs::read_to_string(file).ok()?;
    let number: u32 = text.trim().parse().ok()?;
    let users = os::named(&USERS).into_iter();
    users.map(LockHolder::from).find(|user| user.pid == Some(number))
}
