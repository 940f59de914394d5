//! The package managers of a whole system, of which only one run can take place at a time: which
//! commands use them, and what they say when another run is in their way.

use super::shell_words::{Call, calls};
use crate::model::{PackageManager, PlanCommand, PlanTask, named};

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum SystemManager {
        Apt = "apt",
        Dnf = "dnf",
        Pacman = "pacman",
        Zypper = "zypper",
        Apk = "apk",
    }
}

impl SystemManager {
    /// The one whose lock goes by this name.
    pub(super) fn named(lock: &str) -> Option<Self> {
        let name = match lock {
            "yum" => "dnf",
            "dpkg" => "apt",
            lock => lock,
        };
        Self::ALL.into_iter().find(|manager| manager.name() == name)
    }

    fn of(manager: PackageManager) -> Option<Self> {
        match manager {
            PackageManager::Apt => Some(Self::Apt),
            PackageManager::Dnf => Some(Self::Dnf),
            PackageManager::Pacman => Some(Self::Pacman),
            PackageManager::Brew
            | PackageManager::Cask
            | PackageManager::Npm
            | PackageManager::Pipx
            | PackageManager::Cargo => None,
        }
    }

    /// The manager whose packages a call changes; `None` for one that only asks.
    fn changed_by(call: &Call) -> Option<Self> {
        const ASKS_DPKG: [&str; 12] = [
            "-l",
            "-s",
            "-L",
            "-S",
            "-p",
            "--list",
            "--status",
            "--listfiles",
            "--search",
            "--audit",
            "--print-architecture",
            "--compare-versions",
        ];
        const ASKS_APT: [&str; 8] =
            ["list", "show", "search", "policy", "depends", "rdepends", "download", "changelog"];
        match call.program.as_str() {
            "apt" | "apt-get" | "aptitude" => {
                call.verb().is_some_and(|verb| !ASKS_APT.contains(&verb)).then_some(Self::Apt)
            }
            "dpkg" => (!call.has(&ASKS_DPKG)).then_some(Self::Apt),
            "dnf" | "dnf5" | "yum" | "microdnf" => Some(Self::Dnf),
            "pacman" => {
                let is_query = |word: &String| word.starts_with("-Q") || word == "--query";
                (!call.arguments.iter().any(is_query)).then_some(Self::Pacman)
            }
            "zypper" => Some(Self::Zypper),
            "apk" => Some(Self::Apk),
            _ => None,
        }
    }
}

/// The managers whose packages a command of a task may change.
pub fn managers_of(task: &PlanTask, command: &PlanCommand) -> Vec<SystemManager> {
    let of_task = task.packages.as_ref().and_then(|packages| SystemManager::of(packages.manager));
    let by_lock = command.locks.iter().filter_map(|lock| SystemManager::named(lock));
    let mut found: Vec<_> = by_lock.collect();
    found.extend(of_task);
    found.extend(calls(&command.command).iter().filter_map(SystemManager::changed_by));
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a command does nothing but change packages: when the manager could not begin, nothing of
/// it was done.
pub fn only_changes_packages(command: &PlanCommand) -> bool {
    let calls = calls(&command.command);
    !calls.is_empty() && calls.iter().all(|call| SystemManager::changed_by(call).is_some())
}

/// Whether a command of a task fetches the index of apt's packages.
pub fn refreshes_index(command: &PlanCommand) -> bool {
    let is_refresh = |call: &Call| {
        matches!(call.program.as_str(), "apt" | "apt-get" | "aptitude")
            && call.verb() == Some("update")
    };
    calls(&command.command).iter().any(is_refresh)
}

#[cfg(test)]
mod tests {
    use super::{SystemManager, managers_of, only_changes_packages};
    use crate::model::{PackageManager, PlanTask};

    fn command(text: &str) -> crate::model::PlanCommand {
        let mut command = PackageManager::Npm.installation(&["x".into()]).remove(0);
        command.command = text.into();
        command.locks.clear();
        command
    }

    fn managers(text: &str) -> Vec<SystemManager> {
        managers_of(&PlanTask::new("x".parse().unwrap()), &command(text))
    }

    #[test]
    fn a_command_uses_the_manager_it_calls() {
        for (text, expected) in [
            ("apt-get install -y x", &[SystemManager::Apt][..]),
            ("sudo dpkg -i x.deb || sudo apt-get -f install", &[SystemManager::Apt]),
            ("dpkg --configure -a", &[SystemManager::Apt]),
            ("dpkg -s x", &[]),
            ("arch=$(dpkg --print-architecture)", &[]),
            ("apt list --installed", &[]),
            ("apt-get --version", &[]),
            ("yum install -y x", &[SystemManager::Dnf]),
            ("pacman -S x", &[SystemManager::Pacman]),
            ("pacman -Qi x", &[]),
            ("echo apt-get install x", &[]),
            ("zypper in x && apk add y", &[SystemManager::Zypper, SystemManager::Apk]),
        ] {
            assert_eq!(managers(text), expected, "{text}");
        }
    }

    #[test]
    fn a_named_lock_says_it_too() {
        let mut command = command("./install.sh");
        assert_eq!(managers_of(&PlanTask::new("x".parse().unwrap()), &command), []);
        command.locks.push("apt".into());
        let managers = managers_of(&PlanTask::new("x".parse().unwrap()), &command);
        assert_eq!(managers, [SystemManager::Apt]);
    }

    #[test]
    fn what_does_more_than_packages_is_told_apart() {
        assert!(only_changes_packages(&command("sudo apt-get update && apt-get install -y x")));
        assert!(!only_changes_packages(&command("echo >> file; apt-get install -y x")));
    }
}
