//! Package managers: what they are called, how they are asked, and who brings them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlanCommand, named};

named! {
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    #[serde(rename_all = "lowercase")]
    pub enum PackageManager {
        Apt = "apt",
        Dnf = "dnf",
        Pacman = "pacman",
        Brew = "brew",
        Cask = "cask",
        Npm = "npm",
        Pipx = "pipx",
        Cargo = "cargo",
    }
}

impl PackageManager {
    /// The program whose presence means that the manager is there.
    pub fn program(self) -> &'static str {
        match self {
            Self::Apt => "apt-get",
            Self::Cask => "brew",
            other => other.name(),
        }
    }

    /// Whether it is the system's own: what it installs, the system keeps up to date.
    pub fn is_native(self) -> bool {
        !matches!(self, Self::Npm | Self::Pipx | Self::Cargo)
    }

    /// The platform whose own manager it is.
    pub fn platform(self) -> Option<&'static str> {
        match self {
            Self::Apt => Some("debian"),
            Self::Dnf => Some("fedora"),
            Self::Pacman => Some("arch"),
            Self::Brew | Self::Cask => Some("macos"),
            Self::Npm | Self::Pipx | Self::Cargo => None,
        }
    }

    /// The task that brings the manager itself, or makes it ready.
    pub fn provider(self) -> Option<&'static str> {
        match self {
            Self::Apt => Some("apt-index"),
            Self::Dnf | Self::Pacman => None,
            Self::Brew | Self::Cask => Some("homebrew"),
            Self::Npm => Some("nodejs"),
            Self::Pipx => Some("pipx"),
            Self::Cargo => Some("rust"),
        }
    }

    /// What it is told to install these. Done twice, it does no more than once.
    pub fn installation(self, packages: &[String]) -> Vec<PlanCommand> {
        let at_once = if self.takes_several() { packages.len().max(1) } else { 1 };
        packages.chunks(at_once).map(|some| self.invocation(some)).collect()
    }

    /// Whether one call can install several packages. Older releases of pipx take one name at a time.
    pub fn takes_several(self) -> bool {
        self != Self::Pipx
    }

    fn invocation(self, packages: &[String]) -> PlanCommand {
        let (before, requires_sudo) = match self {
            Self::Apt => ("apt-get install -y --no-install-recommends", true),
            Self::Dnf => ("dnf install -y", true),
            Self::Pacman => ("pacman -S --noconfirm --needed", true),
            Self::Brew => ("brew install --formula", false),
            Self::Cask => ("brew install --cask", false),
            Self::Npm => ("npm install --global", false),
            Self::Pipx => ("pipx install", false),
            Self::Cargo => ("cargo install --locked", false),
        };
        // Names are checked when a catalog is read: none begins with `-` or means more to a shell.
        let packages = packages.join(" ");
        PlanCommand {
            command: format!("{before} {packages}"),
            description: Some(format!("Install {packages} with {}", self.program())),
            idempotent: true,
            requires_sudo,
            locks: vec![self.lock().into()],
            ..PlanCommand::default()
        }
    }

    /// The lock that keeps two of its runs apart.
    pub(crate) fn lock(self) -> &'static str {
        match self {
            Self::Cask => "brew",
            other => other.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PackageManager;

    #[test]
    fn packages_go_together_where_the_manager_takes_several() {
        let packages = ["a".to_owned(), "b".to_owned()];
        let commands = |manager: PackageManager| {
            let commands = manager.installation(&packages).into_iter();
            commands.map(|command| command.command).collect::<Vec<_>>()
        };
        assert_eq!(commands(PackageManager::Npm), ["npm install --global a b"]);
        assert_eq!(commands(PackageManager::Pipx), ["pipx install a", "pipx install b"]);
    }
}
