//! What a plan needs of a machine, and what was seen of it: the two things a doctor goes by.

use super::{SystemManager, count, managers_of, refreshes_index};
use crate::model::{PackageManager, PlanTask};

const MIB: u64 = 1024 * 1024;

/// What a plan, or a part of it, needs of the machine. Only that is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is needed or not")]
pub struct Needs {
    pub apt: bool,
    /// Whether the index of apt's packages is fetched anyway.
    pub fresh_index: bool,
    /// Whether packages are put into the system.
    pub system: bool,
    /// Whether packages are put into the home directory.
    pub home: bool,
    /// Whether any command runs at all.
    pub commands: bool,
    /// Who needs the rights of root, in words.
    pub root: Option<String>,
}

impl Needs {
    /// What these tasks need that are not done yet.
    pub fn of<'t>(tasks: impl IntoIterator<Item = &'t PlanTask>) -> Self {
        let mut needs = Self::default();
        let mut as_root = Vec::new();
        for task in tasks.into_iter().filter(|task| task.found.is_none()) {
            let packages = task.packages.as_ref().map(|packages| packages.manager);
            needs.home |= packages.is_some_and(|manager| !manager.is_native());
            needs.system |= packages.is_some_and(PackageManager::is_native);
            for command in &task.commands {
                let managers = managers_of(task, command);
                needs.commands = true;
                needs.system |= !managers.is_empty();
                needs.apt |= managers.contains(&SystemManager::Apt);
                needs.fresh_index |= refreshes_index(command);
            }
            if task.commands.iter().any(|command| command.requires_sudo) {
                as_root.push(task.id.as_str());
            }
        }
        needs.root = match as_root.as_slice() {
            [] => None,
            [one] => Some(format!("{one} needs")),
            [first, second] => Some(format!("{first} and {second} need")),
            [first, rest @ ..] => Some(format!("{first} and {} need", count(rest.len(), "other"))),
        };
        needs
    }

    /// What any plan could need of a machine with or without apt.
    pub fn of_machine(has_apt: bool, has_manager: bool) -> Self {
        Self {
            apt: has_apt,
            fresh_index: false,
            system: has_manager,
            home: false,
            commands: true,
            root: has_manager.then(|| "installing packages needs".to_owned()),
        }
    }
}

/// What was seen of apt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AptFacts {
    /// Whether someone is at work with the packages: then what is half done is none of our
    /// business.
    pub in_use: bool,
    /// How many steps dpkg has noted down and not finished.
    pub unfinished_steps: usize,
    /// What [`super::doctor::HALF_DONE`] printed.
    pub half_done: String,
    pub index: Index,
    /// The fetched packages that apt keeps: the file system they are on, and their size.
    pub archives: Option<(u64, u64)>,
}

/// The list of packages that apt knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Index {
    /// Nothing could be found out.
    #[default]
    Unknown,
    Missing,
    Fetched {
        days_ago: u64,
    },
}

/// What a place is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Packages go there.
    Packages,
    /// Commands may put anything there: nobody knows how much.
    Scratch,
    /// Our own record. It stops in good order when there is no room.
    Record,
}

impl Use {
    /// Below how many bytes it blocks, and below how many it warns.
    pub(super) fn limits(self) -> (u64, u64) {
        match self {
            Self::Packages => (50 * MIB, 500 * MIB),
            Self::Scratch => (MIB, 50 * MIB),
            Self::Record => (0, 50 * MIB),
        }
    }

    /// The same for the number of files that can still be made.
    pub(super) fn file_limits(self) -> (u64, u64) {
        match self {
            Self::Packages => (200, 5_000),
            Self::Scratch => (1, 200),
            Self::Record => (0, 200),
        }
    }

    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Packages => "packages are put there",
            Self::Scratch => "commands put files there",
            Self::Record => "sessions are recorded there",
        }
    }
}

/// A file system that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// Where it is mounted.
    pub mount: String,
    pub device: u64,
    pub bytes: u64,
    pub files: Option<u64>,
    pub needed_for: Use,
}

/// What was seen of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `None` where apt is not needed.
    pub apt: Option<AptFacts>,
    pub rooms: Vec<Room>,
    pub is_root: bool,
    pub has_sudo: bool,
}

#[cfg(test)]
mod tests {
    use super::Needs;
    use crate::model::{Found, PackageManager, PlanCommand, PlanPackages, PlanTask};

    fn task(id: &str, commands: Vec<PlanCommand>) -> PlanTask {
        PlanTask { commands, ..PlanTask::new(id.parse().unwrap()) }
    }

    #[test]
    fn a_plan_needs_what_its_unfinished_tasks_use() {
        let apt = PackageManager::Apt.installation(&["x".into()]);
        let npm = PackageManager::Npm.installation(&["x".into()]);
        let with_npm = PlanTask {
            packages: Some(PlanPackages { manager: PackageManager::Npm, names: vec!["x".into()] }),
            ..task("b", npm)
        };
        let mut update = PackageManager::Apt.installation(&["x".into()]);
        update[0].command = "apt-get update".into();

        let needs = Needs::of(&[task("a", apt.clone())]);
        assert!(needs.apt && needs.system && !needs.home && !needs.fresh_index);
        assert_eq!(needs.root.as_deref(), Some("a needs"));
        let needs = Needs::of(&[with_npm]);
        assert!(!needs.apt && !needs.system && needs.home);
        assert!(Needs::of(&[task("c", update)]).fresh_index);
        let found = PlanTask { found: Some(Found::default()), ..task("d", apt) };
        assert_eq!(Needs::of(&[found]), Needs::default());
    }
}
