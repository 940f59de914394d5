//! The programs that this one is besides itself: each is started by a name or a word that nobody
//! types, and knows nothing of the rest.

use std::{
    ffi::OsString,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitCode},
};

use super::{askpass, sudo_shim, supervisor};

/// The names under which links to this program lie about.
pub(super) const SUDO: &str = "sudo";
pub(super) const ASKPASS: &str = "askpass";
/// Words that follow the program's own name.
pub(super) const SUPERVISE: &str = "__supervise";
pub(super) const SUPERVISE_ON_TERMINAL: &str = "__supervise_on_terminal";
pub(super) const DETACHED: &str = "__detached";

/// Acts as one of them, if that is what was started.
pub fn act_as_helper(mut words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let name = words.next()?;
    match Path::new(&name).file_name()?.to_str()? {
        SUDO => return Some(sudo_shim::run(words)),
        ASKPASS => return Some(askpass::run(words)),
        _ => {}
    }
    match words.next()?.to_str()? {
        SUPERVISE => Some(supervisor::supervise(false)),
        SUPERVISE_ON_TERMINAL => Some(supervisor::supervise(true)),
        DETACHED => Some(detached(words)),
        _ => None,
    }
}

/// Becomes another program, away from every terminal: it cannot ask there, nor be stopped by it.
#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
fn detached(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(program) = words.next() else { return ExitCode::FAILURE };
    if rustix::process::setsid().is_err() {
        return ExitCode::FAILURE;
    }
    // Only what could not be started comes back.
    let _ = Command::new(program).args(words).exec();
    ExitCode::from(127)
}
