//! Starting a supervisor, and hearing from it.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Child, Command, Stdio},
};

use serde::{Deserialize, Serialize};

use super::{Finish, Spec, helpers};
use crate::os;

/// What a supervisor says of itself while the one who started it listens: a line of JSON each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// It is the one: a result will come.
    Claimed,
    /// Another one is: this one has done nothing.
    ClaimedByAnother,
    /// It could not even claim: nothing has run.
    NotClaimed {
        error: String,
        full: bool,
    },
    Spawned,
    Finished(Box<Finish>),
}

/// A supervisor that was started from here.
#[derive(Debug)]
pub struct Supervisor {
    child: Child,
}

/// The end of the line to a supervisor.
#[derive(Debug)]
pub struct WordReader(tokio::net::UnixStream, Vec<u8>);

impl Supervisor {
    /// Whether it has ended; collects it if so.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

/// Starts supervisors, one ahead: while a command runs, the supervisor of the next one comes up
/// and waits for its order. One that gets none sees its line end, and goes.
#[derive(Debug)]
pub struct Launcher {
    /// What supervisors show in a list of processes.
    label: String,
    spare: Option<(Supervisor, UnixStream)>,
}

impl Launcher {
    pub fn new(label: String) -> Self {
        Self { label, spare: None }
    }

    /// Gives `spec` to a supervisor. Must be called within a runtime.
    pub fn launch(&mut self, spec: &Spec) -> io::Result<(Supervisor, WordReader)> {
        let (supervisor, line) = if spec.on_terminal {
            // The spare has left the terminal for good.
            self.spawn(helpers::SUPERVISE_ON_TERMINAL)?
        } else {
            let spare = self.spare.take();
            let ready = spare.and_then(|(mut supervisor, line)| {
                (!supervisor.has_ended()).then_some((supervisor, line))
            });
            ready.map_or_else(|| self.spawn(helpers::SUPERVISE), Ok)?
        };
        // One that died meanwhile does not listen: that it claimed nothing is seen by what it says
        // next.
        let _ = spec.send(&line);
        line.set_nonblocking(true)?;
        let words = WordReader(tokio::net::UnixStream::from_std(line)?, Vec::new());
        // Without a spare the next command only takes longer to begin.
        if self.spare.is_none() {
            self.spare = self.spawn(helpers::SUPERVISE).ok();
        }
        Ok((supervisor, words))
    }

    #[expect(clippy::disallowed_methods, reason = "this room starts processes")]
    fn spawn(&self, word: &str) -> io::Result<(Supervisor, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        // No group of its own: it makes itself a session, which the leader of a group cannot.
        let child = Command::new(os::own_executable()?)
            .arg(word)
            .arg(&self.label)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok((Supervisor { child }, ours))
    }
}

impl WordReader {
    /// The next word; `None` when no more will come. May be abandoned and called again.
    pub async fn next(&mut self) -> Option<Word> {
        loop {
            if let Some(end) = self.1.iter().position(|byte| *byte == b'\n') {
                let line: Vec<_> = self.1.drain(..=end).collect();
                return serde_json::from_slice(&line).ok();
            }
            self.0.readable().await.ok()?;
            let mut buffer = [0; 4096];
            match self.0.try_read(&mut buffer) {
                Ok(0) => return None,
                Ok(read) => self.1.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }
}
