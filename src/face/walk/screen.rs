//! The one screen that a run is shown on and a person is asked on. Whoever asks takes the bars away
//! first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    engine::{Durations, Told},
    face::{Live, Look, Progress, terminal::Terminal},
};

#[derive(Clone, Debug)]
pub struct Screen {
    terminal: Terminal,
    shown: Arc<Mutex<Shown>>,
}

#[derive(Debug)]
enum Shown {
    /// Lines that are drawn again and again.
    Live(Box<Live>),
    /// One line after the other.
    Plain(Progress),
}

impl Screen {
    /// A screen that can be drawn on, if `is_live`; else one that can only be written to.
    pub fn new(terminal: Terminal, is_live: bool) -> Self {
        let shown = if is_live {
            Shown::Live(Box::new(Live::new(terminal)))
        } else {
            Shown::Plain(Progress::new())
        };
        Self { terminal, shown: Arc::new(Mutex::new(shown)) }
    }

    pub fn look(&self) -> Look {
        self.terminal.look()
    }

    /// The terminal, with nothing on it that would be drawn over.
    pub fn terminal(&self) -> Terminal {
        if let Shown::Live(live) = &mut *self.shown() {
            live.hide();
        }
        self.terminal
    }

    /// How long tasks took before.
    pub fn knows(&self, durations: Durations) {
        if let Shown::Live(live) = &mut *self.shown() {
            live.knows(durations);
        }
    }

    pub fn show(&self, told: &Told<'_>) {
        match &mut *self.shown() {
            Shown::Live(live) => live.show(told),
            Shown::Plain(progress) => self.terminal.say(&progress.lines(told)),
        }
    }

    /// Nothing more runs.
    pub fn end(&self) {
        if let Shown::Live(live) = &mut *self.shown() {
            live.end();
        }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
