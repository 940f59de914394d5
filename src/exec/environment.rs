//! What commands find around them: little, and nothing that would change what they mean.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use super::{Answer, check, probe};

/// Marks every process of an attempt.
pub const COOKIE: &str = "PROVISION_ATTEMPT";

/// Taken over from whoever runs us, where they have it.
const KEPT: [&str; 31] = [
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TERM",
    "ZDOTDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    // Whom to trust where all traffic is opened on its way.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
];

/// Nobody is there to answer.
const UNATTENDED: [(&str, &str); 14] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("APT_LISTCHANGES_FRONTEND", "none"),
    ("APT_LISTBUGS_FRONTEND", "none"),
    // A file of the person's own stays theirs; the first two are what dpkg has without this.
    ("DPKG_FORCE", "security-mac,downgrade,confdef,confold"),
    ("UCF_FORCE_CONFFOLD", "1"),
    ("NEEDRESTART_MODE", "a"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("npm_config_yes", "true"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("NONINTERACTIVE", "1"),
    ("PIP_NO_INPUT", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Where programs are looked for when nobody says.
pub(super) const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The part of the environment that is passed on to commands.
#[derive(Clone, Debug)]
pub struct Environment {
    kept: Vec<(String, String)>,
    path: Vec<PathBuf>,
    home: PathBuf,
}

/// How a command's text is run.
pub(super) struct Shell {
    pub program: &'static str,
    pub arguments: &'static [&'static str],
}

/// bash where there is one. It reads no file of anyone's: a command means the same everywhere.
pub(super) fn shell() -> Shell {
    let bash = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"];
    match bash.into_iter().find(|place| Path::new(place).exists()) {
        Some(program) => Shell { program, arguments: &["--noprofile", "--norc"] },
        None => Shell { program: "/bin/sh", arguments: &[] },
    }
}

/// A command's text behind what is set up for it.
pub fn with_setup(setup: &str, command: &str) -> String {
    if setup.is_empty() { command.to_owned() } else { format!("{setup}\n{command}") }
}

impl Environment {
    /// What of `variables` is passed on.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut kept = Vec::new();
        let mut path = USUAL_PATH.to_owned();
        for (name, value) in variables {
            if name == "PATH" {
                path = value;
            } else if KEPT.contains(&&*name) || name.starts_with("LC_") {
                kept.push((name, value));
            }
        }
        let home = kept.iter().find(|(name, _)| name == "HOME").map(|(_, value)| value.into());
        Self {
            home: home.unwrap_or_else(|| PathBuf::from("/")),
            // `.`, and the empty name that means the same, would run whatever lies about.
            path: std::env::split_paths(&path).filter(|place| place.is_absolute()).collect(),
            kept,
        }
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The value of a variable that is passed on.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.kept.iter().find(|(kept, _)| kept == name).map(|(_, value)| value.as_str())
    }

    /// `~` and `~/…` below the home directory; everything else as it is.
    pub fn expand(&self, path: &str) -> PathBuf {
        match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            _ => path.into(),
        }
    }

    /// Where programs are looked for, `first` before all others.
    pub fn search_path(&self, first: &[PathBuf]) -> Vec<PathBuf> {
        first.iter().chain(&self.path).cloned().collect()
    }

    /// Where a program is that commands can call by its name.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        probe::find_program(program, &self.path)
    }

    /// Answers a check without a process: the place of a program, or tests of files. `None` if that
    /// takes a shell. `first` are directories that come first in PATH, and `setup` is the shell text
    /// that runs before the check.
    pub fn answer(&self, check: &str, first: &[PathBuf], setup: &str) -> Option<Answer> {
        check::answer(check, self, first, setup)
    }

    /// Where the program of this name is. `first` are directories that come first in PATH.
    pub(super) fn program(&self, name: &str, first: &[PathBuf]) -> Option<PathBuf> {
        probe::find_program(name, &self.search_path(first))
    }

    /// The names of what is to reach a command that becomes root: all that keeps package managers
    /// from asking, the way out to the network, the language, and what was `given` to it.
    pub fn names_for_root(&self, given: impl IntoIterator<Item = String>) -> Vec<String> {
        let kept = self.kept.iter().map(|(name, _)| name.as_str());
        let kept = kept.filter(|name| {
            name.to_ascii_lowercase().ends_with("_proxy")
                || ["LC_", "SSL_CERT_"].iter().any(|start| name.starts_with(start))
                || matches!(*name, "LANG" | "LANGUAGE" | "TZ" | "GIT_SSL_CAINFO")
                || matches!(*name, "CURL_CA_BUNDLE" | "REQUESTS_CA_BUNDLE" | "NODE_EXTRA_CA_CERTS")
        });
        let unattended = UNATTENDED.iter().map(|(name, _)| *name);
        unattended.chain(kept).map(str::to_owned).chain(given).collect()
    }

    /// Shell text for root, whose sudo gives it a PATH of its own: the usual places first, as sudo
    /// has it for a reason, then what the command was promised. `helpers` come before all.
    pub fn path_for_root(&self, first: &[PathBuf]) -> String {
        let (helpers, rest) = first.split_at(first.len().min(1));
        let usual = std::env::split_paths(USUAL_PATH);
        let places = helpers.iter().cloned().chain(usual).chain(self.search_path(rest));
        let mut seen = HashSet::new();
        let places = places.filter(|place| seen.insert(place.clone()));
        let path = std::env::join_paths(places).unwrap_or_else(|_| USUAL_PATH.into());
        format!("export PATH='{}'", path.to_string_lossy().replace('\'', r"'\''"))
    }

    /// The variables of one process; `given` are its own.
    pub fn variables(
        &self,
        first: &[PathBuf],
        given: impl IntoIterator<Item = (String, String)>,
    ) -> Vec<(String, String)> {
        let places = self.search_path(first);
        let path = std::env::join_paths(places).unwrap_or_else(|_| USUAL_PATH.into());
        let mut variables = self.kept.clone();
        variables.push(("PATH".into(), path.to_string_lossy().into_owned()));
        let unattended = UNATTENDED.map(|(name, value)| (name.to_owned(), value.to_owned()));
        // The last one of a name is the one that counts.
        variables.extend(unattended.into_iter().chain(given));
        variables
    }

    /// Those of one that talks with a person: nothing answers in their place.
    pub fn variables_on_terminal(
        &self,
        first: &[PathBuf],
        given: impl IntoIterator<Item = (String, String)>,
    ) -> Vec<(String, String)> {
        let answers = |name: &str| UNATTENDED.iter().any(|(unattended, _)| *unattended == name);
        let mut variables = self.variables(first, []);
        variables.retain(|(name, _)| !answers(name));
        variables.extend(given);
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::Environment;

    fn environment(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Environment::new(variables).variables(&["/opt/x".into()], [])
    }

    #[test]
    fn what_would_change_the_meaning_of_commands_is_not_passed_on() {
        let given = [
            ("LD_PRELOAD", "/evil.so"),
            ("BASH_ENV", "/evil"),
            ("BASH_FUNC_ls%%", "() { evil; }"),
            ("SHELLOPTS", "xtrace"),
            ("PATH", ".:/usr/bin::bin"),
            ("LC_ALL", "C"),
            ("IFS", "x"),
        ];
        let variables = environment(&given);
        let value = |name: &str| variables.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(value("PATH"), Some("/opt/x:/usr/bin"));
        assert_eq!(value("LC_ALL"), Some("C"));
        for (name, _) in given {
            assert!(value(name).is_none() || name == "PATH" || name == "LC_ALL", "{name}");
        }
    }

    #[test]
    fn a_tilde_is_the_home_directory() {
        let environment = Environment::new([("HOME".to_owned(), "/home/ada".to_owned())]);
        for (path, meant) in
            [("~", "/home/ada"), ("~/x", "/home/ada/x"), ("/x", "/x"), ("~bob/x", "~bob/x")]
        {
            assert_eq!(environment.expand(path).to_str(), Some(meant));
        }
    }
}
