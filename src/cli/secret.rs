//! Asking at the terminal for something that is not shown while it is typed.

use std::{
    fs::File,
    io::{self, Read, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr},
};

use crate::face::visible;

/// How often it is looked whether an answer is still wanted.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// The longest line that is read.
const LONGEST: usize = 4096;

/// Brings back what the terminal showed of typing, whatever happens in between.
struct Hidden<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Hidden<'a> {
    fn begin(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        hidden.local_modes.insert(LocalModes::ICANON | LocalModes::ISIG);
        // Whoever stops us here comes back to a terminal that shows everything.
        hidden.special_codes[SpecialCodeIndex::VSUSP] = 0;
        // What was typed before the question is no answer to it.
        tcsetattr(terminal, OptionalActions::Flush, &hidden)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
        let _ = writeln!(io::stderr());
    }
}

/// Asks, and waits for a line. `None` when it is ended without one, or no longer wanted.
pub(super) fn ask_secret(question: &str, cancelled: &AtomicBool) -> io::Result<Option<String>> {
    let mut terminal = File::open("/dev/tty")?;
    let hidden = Hidden::begin(&terminal)?;
    let mut talk = io::stderr();
    let lines: Vec<_> = question.lines().map(visible).collect();
    write!(talk, "{} (not shown): ", lines.join("\n"))?;
    talk.flush()?;
    let mut line = Vec::new();
    let ended = loop {
        if cancelled.load(Ordering::Relaxed) {
            break false;
        }
        let mut source = [PollFd::new(hidden.terminal, PollFlags::IN)];
        // A signal that comes meanwhile is not ours to mind.
        if poll(&mut source, Some(&LOOK)).unwrap_or(0) == 0 {
            continue;
        }
        let mut buffer = [0; 256];
        let read = (&terminal).read(&mut buffer)?;
        line.extend_from_slice(&buffer[..read]);
        if line.ends_with(b"\n") {
            line.pop();
            break true;
        }
        if read == 0 || line.len() > LONGEST {
            break false;
        }
    };
    drop(hidden);
    let _ = terminal.flush();
    Ok(if ended { String::from_utf8(line).ok() } else { None })
}
