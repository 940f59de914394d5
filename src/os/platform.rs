//! The kind of system we run on.

use sysinfo::System;

/// As the system tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformFacts {
    /// `linux` or `macos`.
    pub family: &'static str,
    pub id: String,
    /// Systems it says it is like, nearest first.
    pub like: Vec<String>,
    pub release: Option<String>,
    pub arch: &'static str,
}

pub fn platform_facts() -> PlatformFacts {
    let family = std::env::consts::OS;
    let facts = PlatformFacts { family, arch: std::env::consts::ARCH, ..PlatformFacts::default() };
    if family == "linux" {
        let places = ["/etc/os-release", "/usr/lib/os-release"];
        let text = places.iter().find_map(|place| std::fs::read_to_string(place).ok());
        return of_os_release(facts, &text.unwrap_or_default());
    }
    PlatformFacts { id: family.into(), release: System::os_version().ok(), ..facts }
}

/// What `/etc/os-release` says.
fn of_os_release(mut facts: PlatformFacts, text: &str) -> PlatformFacts {
    for line in text.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = value.trim().trim_matches(['"', '\'']);
        match key.trim() {
            "ID" => facts.id = value.to_ascii_lowercase(),
            "ID_LIKE" => {
                facts.like = value.split_whitespace().map(str::to_ascii_lowercase).collect();
            }
            "VERSION_ID" if !value.is_empty() => facts.release = Some(value.to_owned()),
            _ => {}
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::{PlatformFacts, of_os_release};

    fn read(text: &str) -> (String, Vec<String>, Option<String>) {
        let facts = of_os_release(PlatformFacts::default(), text);
        (facts.id, facts.like, facts.release)
    }

    #[test]
    fn distributions_say_who_they_are() {
        let debian = "PRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_ID=\"12\"\nID=debian\n";
        assert_eq!(read(debian), ("debian".into(), vec![], Some("12".into())));
        let mint = "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID='22'\n# x=y\n";
        let like = vec!["ubuntu".into(), "debian".into()];
        assert_eq!(read(mint), ("linuxmint".into(), like, Some("22".into())));
    }

    #[test]
    fn one_that_says_nothing_is_just_linux() {
        assert_eq!(read(""), (String::new(), vec![], None));
        assert_eq!(read("nonsense\nVERSION_ID=\n"), (String::new(), vec![], None));
    }
}
