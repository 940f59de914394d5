//! Probes: commands that look and change nothing. They get no terminal, no user data, ten seconds,
//! and a process group of their own that ends with the probe.

use std::{
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal};
use tokio::net::unix::pipe::Receiver;

use super::{Environment, environment, helpers};
use crate::os;

pub const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// The most of its output that is looked at.
const OUTPUT_LIMIT: usize = 256 * 1024;

#[derive(Debug)]
pub struct Probe<'a> {
    pub command: &'a str,
    pub environment: &'a Environment,
    /// Directories that come first in PATH.
    pub path: &'a [PathBuf],
    /// Shell text that runs first.
    pub setup: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeEnd {
    Exited { code: i32, output: Vec<u8> },
    Signaled(i32),
    TimedOut,
    NotStarted(String),
}

/// Ends the whole group of a probe, whatever becomes of the one who waits for it.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended by itself.
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

/// Runs a probe. Being abandoned ends it.
pub async fn probe(probe: &Probe<'_>) -> ProbeEnd {
    match probe.environment.answer(probe.command, probe.path) {
        Some(Some(found)) => {
            let output = format!("{}\n", found.display()).into_bytes();
            return ProbeEnd::Exited { code: 0, output };
        }
        // What is set up first may bring it.
        Some(None) if probe.setup.is_empty() => {
            return ProbeEnd::Exited { code: 1, output: Vec::new() };
        }
        _ => {}
    }
    match tokio::time::timeout(PROBE_LIMIT, run(probe)).await {
        Ok(Ok(end)) => end,
        Ok(Err(error)) => ProbeEnd::NotStarted(error.to_string()),
        Err(_) => ProbeEnd::TimedOut,
    }
}

#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
async fn run(probe: &Probe<'_>) -> io::Result<ProbeEnd> {
    let (reader, writer) = io::pipe()?;
    let shell = environment::shell();
    // From a terminal it would be stopped where it wants to ask, and nobody would know why.
    let is_detached = os::has_terminal();
    let mut command = if is_detached {
        let mut command = Command::new(os::own_executable()?);
        command.arg(helpers::DETACHED).arg(shell.program);
        command
    } else {
        let mut command = Command::new(shell.program);
        command.process_group(0);
        command
    };
    command
        .args(shell.arguments)
        .arg("-c")
        .arg(environment::with_setup(probe.setup, probe.command))
        .env_clear()
        .envs(probe.environment.variables(probe.path, []))
        .current_dir(
            Some(probe.environment.home()).filter(|home| home.is_dir()).unwrap_or(Path::new("/")),
        )
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
    let group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
    let output = Receiver::from_owned_fd(reader.into())?;
    let mut kept = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    // The end of the output is not the end of the command, nor the other way round: a daemon may
    // hold the one, and a command may close the other.
    let mut open = true;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            ready = output.readable(), if open => {
                ready?;
                open = take(&output, &mut buffer, &mut kept);
            }
        }
    };
    if open {
        take(&output, &mut buffer, &mut kept);
    }
    drop(group);
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => ProbeEnd::Exited { code, output: kept },
        (None, signal) => ProbeEnd::Signaled(signal.unwrap_or(0)),
    })
}

/// Reads what is there; whether more can come.
fn take(from: &Receiver, buffer: &mut [u8], kept: &mut Vec<u8>) -> bool {
    loop {
        match from.try_read(buffer) {
            Ok(0) => return false,
            Ok(read) => {
                let room = OUTPUT_LIMIT.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..read.min(room)]);
            }
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

/// NAME, of a command that only asks where NAME is: `command -v NAME`, output sent away or not.
pub(super) fn plain_lookup(command: &str) -> Option<&str> {
    let rest = command.trim().strip_prefix("command -v ")?.trim();
    let (name, redirections) = rest.split_once(' ').unwrap_or((rest, ""));
    let harmless = [
        "",
        ">/dev/null",
        "> /dev/null",
        ">/dev/null 2>&1",
        "> /dev/null 2>&1",
        "&>/dev/null",
        "2>/dev/null",
    ];
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let is_name = !name.is_empty() && !name.starts_with('-') && name.chars().all(plain);
    (is_name && harmless.contains(&redirections.trim()) && !BUILTINS.contains(&name))
        .then_some(name)
}

/// What a shell answers for itself, whatever is on PATH.
const BUILTINS: [&str; 75] = [
    ".",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
];

/// The first of `places` with a program of this name.
pub(super) fn find_program(name: &str, places: &[PathBuf]) -> Option<PathBuf> {
    places.iter().map(|place| place.join(name)).find(|program| os::is_executable(program))
}

#[cfg(test)]
mod tests {
    use super::plain_lookup;

    #[test]
    fn only_a_plain_question_is_answered_without_a_shell() {
        for (command, name) in [
            ("command -v git", Some("git")),
            (" command -v python3.12 >/dev/null 2>&1 ", Some("python3.12")),
            ("command -v g++ &>/dev/null", Some("g++")),
            ("command -v cd", None),
            ("command -v git && false", None),
            ("command -v $(evil)", None),
            ("command -v git; rm x", None),
            ("command -v git > file", None),
            ("command -V git", None),
            ("command -v -p git", None),
        ] {
            assert_eq!(plain_lookup(command), name, "{command}");
        }
    }
}
