//! What commands find when they call `sudo`: this program under that name, first in their PATH.
//!
//! As root it runs what it was given, sudo installed or not. Otherwise it becomes the real one,
//! told where a password comes from and which variables are to reach the command. It decides
//! nothing else: who may do what is up to sudo.

use std::{
    ffi::{OsStr, OsString},
    io::Write,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use super::{environment, helpers, sudo_words::SudoWords};
use crate::os;

/// The names of the variables that reach what runs as root.
pub(super) const KEEP: &str = "PROVISION_SUDO_KEEP";
/// Whether there is somebody to ask: without it a password that is needed is a failure.
pub(super) const ASK: &str = "PROVISION_SUDO_ASK";
/// What sudo shows when it wants the password itself, and nothing else asks with.
pub(super) const PROMPT: &str = "provision: the password for sudo";

/// The program `sudo`, as commands see it.
pub(super) fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<_> = words.into_iter().collect();
    let meant = SudoWords::new(words.iter().cloned());
    let real = real_sudo();
    if rustix::process::geteuid().is_root() {
        return as_root(&words, &meant, real.as_deref());
    }
    let Some(real) = real else {
        return give_up("sudo: it is not installed, and this is not root", 127);
    };
    let mut command = command(&real);
    if meant.may_take_a_password() && !meant.settles_the_password() {
        command.arg(if variable(ASK).is_some() { "-A" } else { "-n" });
        if !meant.has('p') {
            command.args(["-p", PROMPT]);
        }
    }
    become_it(command.args(keep(&meant)).args(&words))
}

/// The option that lets variables through, where something is run that could have them.
fn keep(meant: &SudoWords) -> Option<OsString> {
    let names = variable(KEEP).filter(|names| !names.is_empty() && meant.runs_something())?;
    let mut option = OsString::from("--preserve-env=");
    option.push(names);
    Some(option)
}

fn as_root(words: &[OsString], meant: &SudoWords, real: Option<&Path>) -> ExitCode {
    if meant.is_about_the_password() {
        return ExitCode::SUCCESS;
    }
    if meant.is_plain()
        && let [program, arguments @ ..] = &*meant.command
    {
        return become_it(
            command(program)
                .args(arguments)
                .envs(meant.variables.iter().map(|(name, value)| (name, value))),
        );
    }
    if let Some(real) = real {
        return become_it(command(real).args(keep(meant)).args(words));
    }
    // The one other thing that people do all the time.
    if let Some(user) = meant.user.as_deref().filter(|_| !meant.command.is_empty()) {
        let variables = meant.variables.iter().map(|(name, value)| (name, value));
        let mut runuser = command("runuser");
        return become_it(
            runuser.arg("-u").arg(user).arg("--").args(&meant.command).envs(variables),
        );
    }
    give_up("sudo: this takes sudo itself, which is not installed", 1)
}

/// The first `sudo` in PATH that is not this program.
fn real_sudo() -> Option<PathBuf> {
    let own = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let path = variable("PATH").unwrap_or_else(|| environment::USUAL_PATH.into());
    let places: Vec<_> = std::env::split_paths(&path).collect();
    let usual = std::env::split_paths(environment::USUAL_PATH);
    places.into_iter().chain(usual).map(|place| place.join("sudo")).find(|candidate| {
        // Beside one of ours lies its askpass, whichever copy of this program it is.
        let is_ours = candidate.with_file_name(helpers::ASKPASS).exists();
        os::is_executable(candidate) && !is_ours && candidate.canonicalize().ok() != own
    })
}

#[expect(clippy::disallowed_methods, reason = "it is a program of its own, and has no settings")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Does not return unless it fails.
fn become_it(command: &mut Command) -> ExitCode {
    let error = command.exec();
    let program = command.get_program().to_string_lossy().into_owned();
    match error.kind() {
        std::io::ErrorKind::NotFound => give_up(&format!("sudo: {program}: command not found"), 1),
        _ => give_up(&format!("sudo: unable to execute {program}: {error}"), 1),
    }
}

fn give_up(why: &str, code: u8) -> ExitCode {
    // Nobody reads it: the code says enough.
    let _ = writeln!(std::io::stderr(), "{why}");
    ExitCode::from(code)
}
