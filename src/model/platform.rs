//! The kind of machine: what tasks and their variants are chosen by.

use serde::{Deserialize, Serialize};

use super::PackageManager;

/// What is known of the system we run on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// `linux` or `macos`.
    pub family: String,
    /// The distribution, as it calls itself: `debian`, `ubuntu`. On macOS the family again.
    pub id: String,
    /// Distributions it is like, nearest first.
    pub like: Vec<String>,
    /// `12`, `24.04`, `15.2`.
    pub release: Option<String>,
    /// `x86_64`, `aarch64`.
    pub arch: String,
    /// The package managers that are there.
    pub managers: Vec<PackageManager>,
}

/// Names that a catalog can use for platforms. Each may be followed by `-` and a release or an
/// architecture: `ubuntu-24.04`, `macos-arm64`.
pub const PLATFORMS: [&str; 30] = [
    "macos",
    "linux",
    "debian",
    "ubuntu",
    "fedora",
    "rhel",
    "centos",
    "arch",
    "manjaro",
    "opensuse",
    "suse",
    "alpine",
    "linuxmint",
    "pop",
    "raspbian",
    "darwin",
    "rocky",
    "almalinux",
    "ol",
    "amzn",
    "opensuse-leap",
    "opensuse-tumbleweed",
    "sles",
    "endeavouros",
    "kali",
    "elementary",
    "zorin",
    "gentoo",
    "void",
    "nixos",
];

/// Names of architectures, by pairs that mean the same.
const ARCHITECTURES: [(&str, &str); 2] = [("aarch64", "arm64"), ("x86_64", "amd64")];

impl Platform {
    /// Every name the machine answers to, the most particular first.
    pub fn names(&self) -> Vec<String> {
        let arches = self.arch_names();
        let mut names = Vec::new();
        let mut systems: Vec<&str> = vec![&self.id];
        systems.extend(self.like.iter().map(String::as_str));
        systems.push(&self.family);
        if self.family == "macos" {
            systems.push("darwin");
        }
        for (number, system) in systems.iter().enumerate() {
            if systems[..number].contains(system) || system.is_empty() {
                continue;
            }
            // A release is only known of the distribution itself.
            if let Some(release) = self.release.as_ref().filter(|_| number == 0) {
                names.push(format!("{system}-{release}"));
                if let Some((major, _)) = release.split_once('.') {
                    names.push(format!("{system}-{major}"));
                }
            }
            names.extend(arches.iter().map(|arch| format!("{system}-{arch}")));
            names.push((*system).to_owned());
        }
        names.extend(arches);
        names
    }

    /// Whether something for these platforms is for this machine; for none means for all.
    pub fn is_among(&self, platforms: &[String]) -> bool {
        let names = self.names();
        platforms.is_empty() || platforms.iter().any(|platform| names.contains(platform))
    }

    /// Whether a manager belongs to this system, installed already or not.
    pub fn has_native(&self, manager: PackageManager) -> bool {
        manager.platform().is_some_and(|platform| self.names().iter().any(|name| name == platform))
    }

    fn arch_names(&self) -> Vec<String> {
        let pair = ARCHITECTURES.iter().find(|pair| pair.0 == self.arch || pair.1 == self.arch);
        match pair {
            Some((one, other)) => vec![(*one).to_owned(), (*other).to_owned()],
            None => vec![self.arch.clone()],
        }
    }
}

/// Whether a machine that we have heard of could answer to `name`. There are others.
pub fn is_platform_name(name: &str) -> bool {
    let is_arch =
        |name: &str| ARCHITECTURES.iter().any(|(one, other)| name == *one || name == *other);
    let (system, rest) = name.split_once('-').map_or((name, None), |(a, b)| (a, Some(b)));
    let is_release = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    is_arch(name)
        || PLATFORMS.contains(&name)
        || PLATFORMS.contains(&system) && rest.is_none_or(|rest| is_arch(rest) || is_release(rest))
}

#[cfg(test)]
mod tests {
    use super::{Platform, is_platform_name};
    use crate::model::PackageManager;

    fn ubuntu() -> Platform {
        Platform {
            family: "linux".into(),
            id: "ubuntu".into(),
            like: vec!["debian".into()],
            release: Some("24.04".into()),
            arch: "aarch64".into(),
            managers: vec![PackageManager::Apt],
        }
    }

    #[test]
    fn a_machine_answers_to_its_most_particular_name_first() {
        let names = ubuntu().names();
        let some: Vec<_> = names.iter().map(String::as_str).collect();
        assert_eq!(
            some,
            [
                "ubuntu-24.04",
                "ubuntu-24",
                "ubuntu-aarch64",
                "ubuntu-arm64",
                "ubuntu",
                "debian-aarch64",
                "debian-arm64",
                "debian",
                "linux-aarch64",
                "linux-arm64",
                "linux",
                "aarch64",
                "arm64"
            ]
        );
        assert!(names.iter().all(|name| is_platform_name(name)), "{names:?}");
    }

    #[test]
    fn no_platform_means_every_platform() {
        assert!(ubuntu().is_among(&[]));
        assert!(ubuntu().is_among(&["macos".into(), "debian".into()]));
        assert!(!ubuntu().is_among(&["macos".into()]));
    }

    #[test]
    fn managers_belong_to_systems() {
        assert!(ubuntu().has_native(PackageManager::Apt));
        assert!(!ubuntu().has_native(PackageManager::Brew));
        assert!(!ubuntu().has_native(PackageManager::Cargo));
    }

    #[test]
    fn not_every_word_is_a_platform() {
        for name in ["macos-15", "macos-arm64", "debian-12", "x86_64"] {
            assert!(is_platform_name(name), "{name}");
        }
        for name in ["mac", "debian-", "debian-trixie", "neovim", ""] {
            assert!(!is_platform_name(name), "{name}");
        }
    }
}
