//! What the terminal and the system ask of a run.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::os;

#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Ctrl-C.
    Interrupt,
    /// We are to go, now.
    Terminate,
    /// The terminal is gone.
    HangUp,
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
        })
    }

    /// The next one. May be abandoned and called again.
    pub(super) async fn next(&mut self) -> Heard {
        async fn one(signal: Option<&mut Signal>) {
            let Some(signal) = signal else { return std::future::pending().await };
            if signal.recv().await.is_none() {
                std::future::pending::<()>().await;
            }
        }
        tokio::select! {
            () = one(self.interrupt.as_mut()) => Heard::Interrupt,
            () = one(self.terminate.as_mut()) => Heard::Terminate,
            () = one(self.hangup.as_mut()) => Heard::HangUp,
        }
    }
}
