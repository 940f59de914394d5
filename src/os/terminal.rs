//! The terminal that this process belongs to.

use std::{fs::File, io, os::fd::OwnedFd};

use rustix::{
    fs::{Mode, OFlags},
    termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr},
};

/// Whether there is one, wherever its input and output go.
pub fn has_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}

/// The terminal itself, to read from and to write to.
pub fn open_terminal() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/dev/tty", flags, Mode::empty())?)
}

/// How a terminal was set. It is set so again when this goes, whatever others did to it meanwhile.
#[derive(Debug)]
pub struct TerminalSettings {
    terminal: OwnedFd,
    before: Termios,
}

impl TerminalSettings {
    pub fn keep() -> io::Result<Self> {
        let terminal = open_terminal()?;
        let before = tcgetattr(&terminal)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for TerminalSettings {
    fn drop(&mut self) {
        // From the background it would stop us.
        if tcgetpgrp(&self.terminal) != Ok(rustix::process::getpgrp()) {
            return;
        }
        // One that is gone needs nothing.
        let _ = tcsetattr(&self.terminal, OptionalActions::Drain, &self.before);
    }
}
