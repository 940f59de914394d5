//! Asking a person: on the terminal, a line at a time. Whoever has no terminal is not asked.

use std::{
    io::{self, BufRead, IsTerminal},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use super::{output, settings::Settings};
use crate::os;

/// How often it is looked whether somebody would rather not.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Whether there is someone to ask, and nobody has forbidden it.
pub(super) fn can_ask(settings: &Settings) -> bool {
    !settings.no_input
        && io::stdin().is_terminal()
        && io::stderr().is_terminal()
        && os::has_terminal()
}

/// Somebody would rather end the program than answer.
#[derive(Debug)]
pub(super) struct Interrupted;

/// What was typed, like [`line`], where signals no longer end the program by themselves: once a run
/// has listened to them, somebody must.
pub(super) fn line_or_signal(question: &str) -> Result<Option<String>, Interrupted> {
    let heard = Arc::new(AtomicBool::new(false));
    let ids = [SIGINT, SIGTERM, SIGHUP].map(|signal| flag::register(signal, Arc::clone(&heard)));
    output::talk(question);
    let answer = loop {
        if heard.load(Ordering::Relaxed) {
            output::talk("\n");
            break Err(Interrupted);
        }
        let stdin = io::stdin();
        let mut source = [PollFd::new(&stdin, PollFlags::IN)];
        // A terminal gives a line at a time, and only a whole one.
        if poll(&mut source, Some(&LOOK)).unwrap_or(0) > 0 {
            let mut buffer = [0; 4096];
            let read = rustix::io::read(&stdin, &mut buffer).unwrap_or(0);
            let text = String::from_utf8_lossy(&buffer[..read]).trim().to_owned();
            break Ok(Some(text).filter(|text| !text.is_empty()));
        }
    };
    for id in ids.into_iter().flatten() {
        signal_hook::low_level::unregister(id);
    }
    answer
}

/// A question to be answered with yes; anything else is no.
pub(super) fn confirm(question: &str) -> bool {
    let answer = line(&format!("{question} [y/N] ")).unwrap_or_default();
    matches!(answer.to_lowercase().as_str(), "y" | "yes")
}

/// What was typed; `None` if nothing was, or nobody is there any more.
pub(super) fn line(question: &str) -> Option<String> {
    output::talk(question);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).ok()?;
    Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty())
}
