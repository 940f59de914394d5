//! How the terminal is set while a prompt has it. It is set back when this goes, whatever happened.

use std::io::{self, Write};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, Termios, Winsize, tcflush,
    tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

use super::layout::Size;

/// What a prompt needs of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Each key as it is pressed, and nothing shown by the terminal itself.
    Keys { shows_cursor: bool },
    /// Whole lines, as the terminal edits them; nothing is shown while they are typed.
    HiddenLines,
    /// No echo: typed keys would break the drawn lines.
    NoEcho,
}

/// The settings of the terminal during a prompt or a drawing. Dropping them restores those before.
#[derive(Debug)]
pub struct Mode {
    before: Termios,
    own: Termios,
    hides_cursor: bool,
}

impl Mode {
    /// With `forgets`, what was typed before now is thrown away: it was not meant for this prompt.
    pub(super) fn enter(wish: Wish, forgets: bool) -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut own = before.clone();
        match wish {
            Wish::Keys { .. } => {
                own.make_raw();
                // Only the keys are ours: lines are still ended as everybody ends them.
                own.output_modes.insert(before.output_modes & OutputModes::all());
                own.output_modes.insert(OutputModes::OPOST);
                own.input_modes.insert(before.input_modes & InputModes::IUTF8);
            }
            Wish::HiddenLines => {
                own.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
            }
            Wish::NoEcho => own.local_modes.remove(LocalModes::ECHO),
        }
        let mode = Self { before, own, hides_cursor: wish == Wish::Keys { shows_cursor: false } };
        mode.set(if forgets { OptionalActions::Flush } else { OptionalActions::Now })?;
        Ok(mode)
    }

    /// Sets it once more: somebody else had the terminal.
    pub(super) fn again(&self) -> io::Result<()> {
        self.set(OptionalActions::Now)
    }

    fn set(&self, when: OptionalActions) -> io::Result<()> {
        tcsetattr(io::stdin(), when, &self.own)?;
        if self.hides_cursor {
            write("\u{1b}[?25l");
        }
        Ok(())
    }

    /// Sets the terminal as it was.
    pub(super) fn leave(&self) {
        // From the background it would stop us.
        if !is_foreground() {
            return;
        }
        if self.hides_cursor {
            write("\u{1b}[?25h");
        }
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

impl Drop for Mode {
    fn drop(&mut self) {
        self.leave();
    }
}

/// To the terminal, in one piece. One that is gone is noticed where keys are read.
pub(super) fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

/// Whether the terminal is ours to write on: others have it while we are in the background.
pub(super) fn is_foreground() -> bool {
    tcgetpgrp(io::stdin()) == Ok(rustix::process::getpgrp())
}

/// Throws away what was typed and not read.
pub(super) fn forget_typed() {
    // A terminal that is gone is noticed where keys are read.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

/// How large the terminal is now.
pub(super) fn size() -> Size {
    let (columns, rows) = match tcgetwinsize(io::stderr()) {
        Ok(Winsize { ws_col, ws_row, .. }) => (usize::from(ws_col), usize::from(ws_row)),
        Err(_) => (0, 0),
    };
    let known = |number: usize, usual: usize| if number == 0 { usual } else { number };
    Size { columns: known(columns, 80), rows: known(rows, 24) }
}
