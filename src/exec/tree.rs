//! Ending what a command started, all of it: by signals of our own where we may send them, through
//! sudo where a process belongs to root. sudo itself is asked to end and never killed: it would
//! leave what it started.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::Signal;

use super::{Spec, helpers};
use crate::os::{self, Process, Sent};

/// Between two calls of sudo: it takes a moment to do what it was asked.
const BETWEEN: Duration = Duration::from_millis(500);
/// How many of those that are left are named.
const NAMED: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The sudo that is just sending a signal.
    helper: Option<u32>,
    last: Option<Instant>,
}

impl Tree {
    /// Sends a signal to everything the command started.
    pub(super) fn signal(&mut self, signal: Signal, spec: &Spec, now: Instant) {
        let mut beyond = Vec::new();
        for process in os::tree(std::process::id()) {
            let is_sudo = process.name == helpers::SUDO;
            if Some(process.pid) == self.helper || (signal == Signal::KILL && is_sudo) {
                continue;
            }
            if os::signal(&process, signal) == Sent::Denied {
                beyond.push(process);
            }
        }
        let is_soon = self.last.is_some_and(|last| now.saturating_duration_since(last) < BETWEEN);
        let Some(sudo) = spec.sudo.as_deref() else { return };
        if !beyond.is_empty() && self.helper.is_none() && !is_soon {
            self.last = Some(now);
            self.helper = signal_through(sudo, spec, signal, &beyond);
        }
    }

    /// A child of ours has ended.
    pub(super) fn reaped(&mut self, pid: u32) {
        self.helper = self.helper.filter(|helper| *helper != pid);
    }
}

/// What is left, by name and number.
pub(super) fn survivors() -> (usize, Vec<String>) {
    let left = os::tree(std::process::id());
    let name = |process: &Process| format!("{} ({})", process.name, process.pid);
    (left.len(), left.iter().take(NAMED).map(name).collect())
}

#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
fn signal_through(sudo: &Path, spec: &Spec, signal: Signal, processes: &[Process]) -> Option<u32> {
    let number = signal.as_raw().to_string();
    let child = Command::new(sudo)
        .args(["/bin/sh", "-c", "kill -s \"$@\"", "kill", &number])
        .args(processes.iter().map(|process| process.pid.to_string()))
        .env_clear()
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    // Collected with all other children.
    child.ok().map(|child| child.id())
}
