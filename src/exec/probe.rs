//! Probes: commands that look and change nothing. They get no terminal, no user data, ten seconds,
//! and a process group of their own that ends with the probe. One that is cut off takes everything
//! with it that it started, wherever that has gone.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rustix::process::{Pid, Signal};
use tokio::net::unix::pipe::Receiver;

use super::{COOKIE, Environment, environment, helpers};
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

/// How often is looked for what a probe that was cut off has left: it may be starting more.
const SWEEPS: usize = 5;

/// Ends all of a probe, whatever becomes of the one who waits for it.
struct Group {
    leader: Option<Pid>,
    /// Marks every process of the probe, in their environment.
    cookie: String,
    has_ended: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(group) = self.leader else { return };
        // Whose parent has been killed descends from it no more.
        let descendants = match u32::try_from(group.as_raw_nonzero().get()) {
            Ok(leader) if !self.has_ended => os::tree(leader),
            _ => Vec::new(),
        };
        // It may have ended by itself.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
        if self.has_ended {
            return;
        }
        end_all(&descendants);
        for _ in 0..SWEEPS {
            let left = os::carrying(&self.cookie);
            if left.is_empty() {
                return;
            }
            end_all(&left);
        }
    }
}

fn end_all(processes: &[os::Process]) {
    for process in processes {
        os::signal(process, Signal::KILL);
    }
}

/// A mark that no other probe has while it runs.
fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("probe-{}-{}.", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Runs a probe. Being abandoned ends it.
pub async fn probe(probe: &Probe<'_>) -> ProbeEnd {
    if let Some(answer) = probe.environment.answer(probe.command, probe.path, probe.setup) {
        let lines = answer.paths.iter().map(|path| format!("{}\n", path.display()));
        let output = lines.collect::<String>().into_bytes();
        return ProbeEnd::Exited { code: i32::from(!answer.succeeds), output };
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
    let cookie = mark();
    let (program, arguments) = starter(probe);
    // From a terminal it would be stopped where it wants to ask, and nobody would know why.
    let is_detached = os::has_terminal();
    let mut command = if is_detached {
        let mut command = Command::new(os::own_executable()?);
        command.arg(helpers::DETACHED).arg(program);
        command
    } else {
        let mut command = Command::new(program);
        command.process_group(0);
        command
    };
    command
        .args(arguments)
        .env_clear()
        .envs(probe.environment.variables(probe.path, [(COOKIE.to_owned(), cookie.clone())]))
        .current_dir(
            Some(probe.environment.home()).filter(|home| home.is_dir()).unwrap_or(Path::new("/")),
        )
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let mut group = Group { leader, cookie, has_ended: false };
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
    group.has_ended = true;
    drop(group);
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => ProbeEnd::Exited { code, output: kept },
        (None, signal) => ProbeEnd::Signaled(signal.unwrap_or(0)),
    })
}

/// What is started for a probe: the very program, where the text does no more than name one with its
/// arguments; else a shell.
fn starter(probe: &Probe<'_>) -> (OsString, Vec<OsString>) {
    if probe.setup.is_empty()
        && let Some((name, arguments)) = plain_call(probe.command)
        && let Some(program) = probe.environment.program(name, probe.path)
        && starts_by_itself(&program)
    {
        return (program.into(), arguments.into_iter().map(OsString::from).collect());
    }
    let shell = environment::shell();
    let mut arguments: Vec<OsString> = shell.arguments.iter().map(OsString::from).collect();
    arguments.push("-c".into());
    arguments.push(environment::with_setup(probe.setup, probe.command).into());
    (shell.program.into(), arguments)
}

/// Whether the system can run a file; one without a first line that says how is for a shell.
fn starts_by_itself(program: &Path) -> bool {
    const KINDS: [&[u8]; 6] = [
        b"#!",
        b"\x7fELF",
        b"\xcf\xfa\xed\xfe",
        b"\xce\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe",
        b"\xca\xfe\xba\xbf",
    ];
    let mut begin = Vec::new();
    let read = File::open(program).and_then(|file| file.take(4).read_to_end(&mut begin));
    read.is_ok() && KINDS.iter().any(|kind| begin.starts_with(kind))
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

/// A program and its arguments, of a command in which a shell would find nothing else to do.
fn plain_call(command: &str) -> Option<(&str, Vec<&str>)> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_.+/:=,@%".contains(c);
    if !command.chars().all(is_plain) {
        return None;
    }
    let mut words = command.split_ascii_whitespace();
    let name = words.next()?;
    let is_program = !name.contains(['/', '=']) && !is_builtin(name);
    is_program.then(|| (name, words.collect()))
}

/// Names that a shell answers for itself, whatever is on PATH.
const BUILTINS: &str = "\
    . alias bg bind break builtin caller case cd command compgen complete compopt \
    continue coproc declare dirs disown do done echo elif else enable esac eval exec \
    exit export false fc fg fi for function getopts hash help history if in jobs kill \
    let local logout mapfile popd printf pushd pwd read readarray readonly return select \
    set shift shopt source suspend test then time times trap true type typeset ulimit \
    umask unalias unset until wait while";

/// Whether a shell has its own meaning for a name.
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.split(' ').any(|builtin| builtin == name)
}

/// The first of `places` with a program of this name.
pub(super) fn find_program(name: &str, places: &[PathBuf]) -> Option<PathBuf> {
    places.iter().map(|place| place.join(name)).find(|program| os::is_executable(program))
}

#[cfg(test)]
mod tests {
    use super::plain_call;

    #[test]
    fn only_a_plain_call_is_made_without_a_shell() {
        assert_eq!(plain_call(" git --version "), Some(("git", vec!["--version"])));
        assert_eq!(plain_call("g++ -v"), Some(("g++", vec!["-v"])));
        for command in [
            "",
            "cd x",
            "A=b git",
            "git | cat",
            "git\nls",
            "echo $HOME",
            "git 'x'",
            "~/bin/x",
            "./x",
            "git > x",
            "git *",
            "git #x",
            "! git",
            "git {a,b}",
            "while x",
            "git -c x=\"y\"",
        ] {
            assert_eq!(plain_call(command), None, "{command}");
        }
    }
}
