//! Which locks a command needs: two that share one must not run at a time. A guess where nobody has
//! said it, and one on the safe side: what waits for nothing loses a little time, what does not wait
//! fails.

use std::collections::BTreeSet;

use super::{
    SystemManager, managers_of,
    shell_words::{Call, calls},
};
use crate::model::{PackageManager, PlanCommand, PlanTask};

/// The names of the locks a command of a task needs, in order and each once: those that its step
/// declares, that of the package manager by which the task is installed, and those of the programs
/// it calls.
pub fn locks_of(task: &PlanTask, command: &PlanCommand) -> Vec<String> {
    let mut locks: BTreeSet<String> = BTreeSet::new();
    locks.extend(command.locks.iter().map(|lock| one_name_for(lock).to_owned()));
    locks.extend(managers_of(task, command).iter().map(|manager| manager.name().to_owned()));
    locks.extend(task.packages.iter().map(|packages| packages.manager.lock().to_owned()));
    locks.extend(calls(&command.command).iter().filter_map(lock_of).map(str::to_owned));
    locks.into_iter().collect()
}

/// A declared lock by the name under which the others know it.
fn one_name_for(lock: &str) -> &str {
    match SystemManager::named(lock) {
        Some(manager) => manager.name(),
        None if lock == PackageManager::Cask.name() => PackageManager::Cask.lock(),
        None => lock,
    }
}

/// The lock of a manager that is not the whole system's, if a call changes what it keeps.
fn lock_of(call: &Call) -> Option<&'static str> {
    let (lock, changes) = match call.program.as_str() {
        "brew" => ("brew", brew_changes(call)),
        "npm" => {
            // What a project links is there for all.
            let links = matches!(call.verb(), Some("link" | "ln"));
            ("npm", links || is_global(call) && call.has(&NODE_CHANGES))
        }
        "pnpm" => ("pnpm", is_global(call) && call.has(&NODE_CHANGES)),
        "yarn" | "yarnpkg" => {
            let is_global = is_global(call) || call.verb() == Some("global");
            ("yarn", is_global && call.has(&NODE_CHANGES))
        }
        "pipx" => ("pipx", call.has(&PIPX_CHANGES)),
        python if python.starts_with("python") => {
            let is_pipx = call.arguments.windows(2).any(|two| two == ["-m", "pipx"]);
            ("pipx", is_pipx && call.has(&PIPX_CHANGES))
        }
        "cargo" => ("cargo", cargo_changes(call)),
        "snap" => {
            let changes = call.verb().is_some_and(|verb| SNAP_CHANGES.contains(&verb));
            ("snap", changes && !call.has(&["--list", "--time"]))
        }
        "flatpak" => {
            let changes = call.verb().is_some_and(|verb| FLATPAK_CHANGES.contains(&verb));
            ("flatpak", changes)
        }
        _ => return None,
    };
    changes.then_some(lock)
}

/// What npm, pnpm and yarn are told to change their packages.
const NODE_CHANGES: [&str; 16] = [
    "add",
    "ci",
    "dedupe",
    "env",
    "i",
    "install",
    "link",
    "prune",
    "rebuild",
    "remove",
    "rm",
    "un",
    "uninstall",
    "up",
    "update",
    "upgrade",
];

const PIPX_CHANGES: [&str; 11] = [
    "inject",
    "install",
    "install-all",
    "reinstall",
    "reinstall-all",
    "uninject",
    "uninstall",
    "uninstall-all",
    "upgrade",
    "upgrade-all",
    "upgrade-shared",
];

const SNAP_CHANGES: [&str; 12] = [
    "alias",
    "connect",
    "disable",
    "disconnect",
    "enable",
    "install",
    "prefer",
    "refresh",
    "remove",
    "revert",
    "switch",
    "unalias",
];

const FLATPAK_CHANGES: [&str; 10] = [
    "install",
    "mask",
    "pin",
    "remote-add",
    "remote-delete",
    "remote-modify",
    "remove",
    "repair",
    "uninstall",
    "update",
];

/// Whether it is about what all of the user's projects share; in a project, nobody is in the way.
fn is_global(call: &Call) -> bool {
    let is_location = |two: &[String]| two == ["--location", "global"];
    call.has(&["-g", "--global", "--location=global"]) || call.arguments.windows(2).any(is_location)
}

/// Homebrew has many verbs, and those that only ask are fewer.
fn brew_changes(call: &Call) -> bool {
    const ASKS: [&str; 27] = [
        "abv",
        "casks",
        "cat",
        "commands",
        "config",
        "deps",
        "desc",
        "docs",
        "doctor",
        "dr",
        "formulae",
        "help",
        "home",
        "homepage",
        "info",
        "leaves",
        "list",
        "livecheck",
        "log",
        "ls",
        "missing",
        "options",
        "outdated",
        "search",
        "shellenv",
        "tap-info",
        "uses",
    ];
    const ASKS_BY_OPTION: [&str; 10] = [
        "--cache",
        "--caskroom",
        "--cellar",
        "--config",
        "--env",
        "--help",
        "--prefix",
        "--repo",
        "--repository",
        "--version",
    ];
    let words: Vec<&str> =
        call.arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    match words[..] {
        _ if call.has(&ASKS_BY_OPTION) => false,
        // Without a name, it lists those that are there.
        [] | ["tap"] | ["services", "list" | "info"] | ["bundle", "check" | "list"] => false,
        [verb, ..] => !ASKS.contains(&verb),
    }
}

fn cargo_changes(call: &Call) -> bool {
    let mut words = call.arguments.iter().map(String::as_str);
    // `+nightly` comes before the verb.
    let verb = words.find(|word| !word.starts_with(['-', '+']));
    verb.is_some_and(|verb| matches!(verb, "install" | "uninstall" | "binstall"))
        && !call.has(&["--list"])
}

#[cfg(test)]
mod tests {
    use super::locks_of;
    use crate::model::{PackageManager, PlanCommand, PlanPackages, PlanTask};

    fn command(text: &str, declared: &[&str]) -> PlanCommand {
        let mut command = PackageManager::Npm.installation(&["x".into()]).remove(0);
        command.command = text.into();
        command.locks = declared.iter().map(|&lock| lock.to_owned()).collect();
        command
    }

    fn task() -> PlanTask {
        PlanTask::new("x".parse().unwrap())
    }

    #[test]
    fn a_command_needs_the_locks_of_the_programs_that_change_packages() {
        for (text, expected) in [
            ("sudo apt-get install -y x", &["apt"][..]),
            ("dpkg -i x.deb", &["apt"]),
            ("yum install -y x", &["dnf"]),
            ("pacman -S x", &["pacman"]),
            ("zypper in x; apk add y", &["apk", "zypper"]),
            ("brew install x", &["brew"]),
            ("brew --verbose install --cask x", &["brew"]),
            ("eval \"x\"; /opt/homebrew/bin/brew tap a/b", &["brew"]),
            ("brew services start x", &["brew"]),
            ("npm i -g x", &["npm"]),
            ("npm --global update", &["npm"]),
            ("npm install --location=global x", &["npm"]),
            ("npm install --location global x", &["npm"]),
            ("npm --prefix /opt install -g x", &["npm"]),
            ("npm link", &["npm"]),
            ("pnpm add --global x", &["pnpm"]),
            ("yarn global add x", &["yarn"]),
            ("pipx install x", &["pipx"]),
            ("pipx inject x y && pipx upgrade-all", &["pipx"]),
            ("python3 -m pipx uninstall x", &["pipx"]),
            ("cargo install --locked x", &["cargo"]),
            ("cargo +nightly install x", &["cargo"]),
            ("sudo snap install --classic x", &["snap"]),
            ("flatpak install -y flathub x", &["flatpak"]),
            ("flatpak remote-add --if-not-exists flathub y", &["flatpak"]),
            ("sh -c 'apt-get update && npm i -g x' | tee log", &["apt", "npm"]),
        ] {
            assert_eq!(locks_of(&task(), &command(text, &[])), expected, "{text}");
        }
    }

    #[test]
    fn what_only_asks_or_stays_in_its_project_needs_none() {
        for text in [
            "",
            "apt list --installed",
            "dpkg -s x",
            "pacman -Qi x",
            "echo apt-get install x",
            "# brew install x",
            "brew list",
            "brew list --versions install",
            "brew info x",
            "brew search x",
            "brew --version",
            "brew --prefix install",
            "eval \"$(/opt/homebrew/bin/brew shellenv)\"",
            "brew tap",
            "brew services list",
            "brew",
            "npm ci",
            "npm install",
            "npm install x",
            "npm ls -g",
            "npm root --global",
            "npm run install-g",
            "npm run link",
            "pnpm install",
            "pnpm ls -g",
            "yarn add x",
            "yarn",
            "yarn global list",
            "pipx list",
            "pipx run x",
            "pipx ensurepath",
            "python3 -m pip install x",
            "cargo build",
            "cargo install --list",
            "cargo run install",
            "snap list",
            "snap refresh --list",
            "flatpak list",
            "flatpak run x",
        ] {
            assert_eq!(locks_of(&task(), &command(text, &[])), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_is_declared_counts_too_under_the_name_that_others_know() {
        for (declared, expected) in [
            (&["database"][..], &["database"][..]),
            (&["dpkg", "apt", "yum"], &["apt", "dnf"]),
            (&["cask", "brew"], &["brew"]),
            (&["b", "a", "b"], &["a", "b"]),
        ] {
            let command = command("./install.sh", declared);
            assert_eq!(locks_of(&task(), &command), expected, "{declared:?}");
        }
        let command = command("npm i -g x && apt-get update", &["x", "dpkg"]);
        assert_eq!(locks_of(&task(), &command), ["apt", "npm", "x"]);
    }

    #[test]
    fn each_command_of_a_task_of_packages_needs_its_managers_lock() {
        for manager in PackageManager::ALL {
            let names = vec!["x".to_owned()];
            let packages = Some(PlanPackages { manager, names: names.clone() });
            let task = PlanTask { packages, ..task() };
            let expected = match manager {
                PackageManager::Cask => "brew",
                other => other.name(),
            };
            assert_eq!(locks_of(&task, &command("true", &[])), [expected]);
            assert_eq!(locks_of(&task, &manager.installation(&names)[0]), [expected]);
        }
    }
}
