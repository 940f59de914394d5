//! What the terminal and the system ask of a run.

use std::{
    future::poll_fn,
    io,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll},
};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::os;

/// Whether a run of this process has listened to keys: that cannot be taken back.
static KEYS_ARE_TAKEN: AtomicBool = AtomicBool::new(false);

fn keys() -> io::Result<(Signal, Signal)> {
    let suspend = SignalKind::from_raw(signal_hook::consts::SIGTSTP);
    Ok((signal(SignalKind::quit())?, signal(suspend)?))
}

#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
    /// Keys that are meant for a command while it has the terminal. Only listened to from then on:
    /// until then they do what they do to every program.
    keys: Option<(Signal, Signal)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Ctrl-C.
    Interrupt,
    /// We are to go, now.
    Terminate,
    /// The terminal is gone.
    HangUp,
    /// Ctrl-\\.
    Quit,
    /// Ctrl-Z.
    Suspend,
}

impl Heard {
    /// Whether somebody typed it: whoever has the terminal gets it too.
    pub(super) fn is_a_key(self) -> bool {
        matches!(self, Self::Interrupt | Self::Quit | Self::Suspend)
    }
}

impl Signals {
    /// A signal that we were started to ignore stays ignored.
    pub(super) fn listen() -> io::Result<Self> {
        let listen = |kind: SignalKind| {
            if os::is_ignored(kind.as_raw_value()) { Ok(None) } else { signal(kind).map(Some) }
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            // Once anyone has listened, nothing else happens when they are pressed.
            keys: if KEYS_ARE_TAKEN.load(Ordering::Relaxed) { Some(keys()?) } else { None },
        })
    }

    /// From now on no key ends or stops us: a command is about to get them.
    pub(super) fn leave_keys_to_command(&mut self) -> io::Result<()> {
        if self.keys.is_none() {
            self.keys = Some(keys()?);
            KEYS_ARE_TAKEN.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The next one. May be abandoned and called again.
    pub(super) async fn next(&mut self) -> Heard {
        poll_fn(|context| self.poll_next(context)).await
    }

    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Heard> {
        let (quit, suspend) = match &mut self.keys {
            Some((quit, suspend)) => (Some(quit), Some(suspend)),
            None => (None, None),
        };
        let all = [
            (quit, Heard::Quit),
            (suspend, Heard::Suspend),
            (self.interrupt.as_mut(), Heard::Interrupt),
            (self.terminate.as_mut(), Heard::Terminate),
            (self.hangup.as_mut(), Heard::HangUp),
        ];
        for (signal, heard) in all {
            if signal.is_some_and(|signal| signal.poll_recv(context) == Poll::Ready(Some(()))) {
                return Poll::Ready(heard);
            }
        }
        Poll::Pending
    }
}
