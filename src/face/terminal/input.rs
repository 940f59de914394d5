//! What reaches a prompt: bytes from standard input, and the signals that end or disturb it.
//! Nothing here waits for long, so that neither is missed.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use signal_hook::{
    SigId,
    consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH},
    flag,
};

use super::prompt::Left;

/// How long is waited for a byte; also what tells the Escape key from a sequence.
const SLICE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Signals that came while a prompt was there. Others may listen to the same ones.
#[derive(Debug, Default)]
pub(super) struct Signals {
    interrupted: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
    hung_up: Arc<AtomicBool>,
    resized: Arc<AtomicBool>,
    continued: Arc<AtomicBool>,
    ids: Vec<SigId>,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        let mut signals = Self::default();
        for (signal, flag) in [
            (SIGINT, &signals.interrupted),
            (SIGTERM, &signals.terminated),
            (SIGHUP, &signals.hung_up),
            (SIGWINCH, &signals.resized),
            (SIGCONT, &signals.continued),
        ] {
            signals.ids.push(flag::register(signal, Arc::clone(flag))?);
        }
        Ok(signals)
    }

    /// Also Ctrl-\, where the terminal makes a signal of it that would end us with echo off.
    pub(super) fn listen_to_quit(&mut self) -> io::Result<()> {
        self.ids.push(flag::register(SIGQUIT, Arc::clone(&self.terminated))?);
        Ok(())
    }

    /// Why the prompt is to end without an answer, if it is.
    pub(super) fn left(&self, cancelled: &AtomicBool) -> Option<Left> {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        [
            (&*self.hung_up, Left::HungUp),
            (&*self.terminated, Left::Terminated),
            (&*self.interrupted, Left::Interrupted),
            (cancelled, Left::NotWanted),
        ]
        .into_iter()
        .find_map(|(flag, left)| is_set(flag).then_some(left))
    }

    /// Whether the terminal has another size since this was last asked.
    pub(super) fn has_resized(&self) -> bool {
        self.resized.swap(false, Ordering::Relaxed)
    }

    /// Whether we were stopped and continued since this was last asked.
    pub(super) fn has_continued(&self) -> bool {
        self.continued.swap(false, Ordering::Relaxed)
    }

    /// The same, without taking note of it.
    pub(super) fn is_continued(&self) -> bool {
        self.continued.load(Ordering::Relaxed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}

/// What standard input had.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Nothing,
    Bytes(usize),
    /// It gives no more: of a terminal that edits lines, Ctrl-D may have been meant.
    Ended {
        is_gone: bool,
    },
}

/// Waits a moment for something to read. As much is taken as `buffer` holds; the rest stays for
/// whoever asks next, which is how people can type ahead.
pub(super) fn read(buffer: &mut [u8]) -> io::Result<Read> {
    let stdin = io::stdin();
    let mut source = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut source, Some(&SLICE)) {
        Ok(0) | Err(Errno::INTR) => return Ok(Read::Nothing),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let is_gone = source[0].revents().intersects(PollFlags::HUP | PollFlags::ERR);
    match rustix::io::read(&stdin, buffer) {
        Ok(0) => Ok(Read::Ended { is_gone }),
        Ok(count) => Ok(Read::Bytes(count)),
        Err(Errno::INTR | Errno::AGAIN) => Ok(Read::Nothing),
        Err(Errno::IO) => Ok(Read::Ended { is_gone: true }),
        Err(error) => Err(error.into()),
    }
}

/// Whether something more is there already.
pub(super) fn has_more() -> bool {
    let stdin = io::stdin();
    let mut source = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut source, Some(&AT_ONCE)).unwrap_or(0) > 0
}
