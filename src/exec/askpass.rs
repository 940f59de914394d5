//! The way a password takes: sudo starts this program under the name `askpass`, it asks the runner
//! over a socket that only this user can reach, and prints what it is told. Nothing is kept.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    process::ExitCode,
};

use serde::{Deserialize, Serialize};

use super::sudo_shim::PROMPT;

/// Where the runner listens.
pub(super) const SOCKET: &str = "PROVISION_ASKPASS";
/// The longest question that is listened to.
const LONGEST: u64 = 16 * 1024;

/// What is asked of the runner: a line of JSON. The answer is a line too, which holds a secret, or
/// nothing at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordRequest {
    pub prompt: String,
}

impl PasswordRequest {
    /// Whether sudo wants its password, rather than something of someone else's.
    pub fn is_for_sudo(&self) -> bool {
        self.prompt.trim() == PROMPT
    }
}

/// The program `askpass`.
pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let prompt = words.next().unwrap_or_default().to_string_lossy().into_owned();
    match ask(&PasswordRequest { prompt }) {
        Some(secret) => {
            let told = writeln!(std::io::stdout(), "{secret}");
            if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        None => ExitCode::FAILURE,
    }
}

#[expect(clippy::disallowed_methods, reason = "it is a program of its own, and has no settings")]
fn ask(request: &PasswordRequest) -> Option<String> {
    let mut runner = UnixStream::connect(std::env::var_os(SOCKET)?).ok()?;
    let mut line = serde_json::to_vec(request).ok()?;
    line.push(b'\n');
    runner.write_all(&line).ok()?;
    let mut answer = String::new();
    BufReader::new(runner.take(LONGEST)).read_line(&mut answer).ok()?;
    let secret = answer.strip_suffix('\n')?;
    (!secret.is_empty()).then(|| secret.to_owned())
}
