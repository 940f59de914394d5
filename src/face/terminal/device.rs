//! The terminal as the walk knows it.

use std::{
    borrow::Cow,
    io::{self, IsTerminal},
    sync::atomic::AtomicBool,
};

use super::{
    choosing::Choosing,
    layout::{self, NARROWEST},
    mode::{self, Mode, Wish},
    picking::Picking,
    plain::Plain,
    prompt::{Choice, Line, Look, Pick, Reply},
    stage,
    typing::Typing,
};

/// Asks a person. Standard input and standard error must be terminals.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    look: Look,
}

impl Terminal {
    pub fn new(look: Look) -> Self {
        Self { look }
    }

    pub fn look(&self) -> Look {
        self.look
    }

    /// Its columns now.
    pub fn width(&self) -> usize {
        mode::size().columns.max(NARROWEST)
    }

    /// Writes text that is safe already.
    pub fn say(&self, text: &str) {
        mode::write(&self.showable(text));
    }

    /// Safe text as this terminal can show it.
    pub fn showable<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.look.unicode || text.is_ascii() { text.into() } else { layout::ascii(text).into() }
    }

    /// As much of a safe line as fits into `room` columns.
    pub fn cut(&self, line: &str, room: usize) -> String {
        layout::cut(&self.showable(line), room, self.look)
    }

    /// Shows nothing of what is typed until what this gives is dropped.
    pub fn unechoed(&self) -> Option<Mode> {
        if mode::is_foreground() { Mode::enter(Wish::NoEcho, false).ok() } else { None }
    }

    /// Whether somebody else has the terminal now, and we run in the background.
    pub fn is_lent(&self) -> bool {
        io::stdin().is_terminal() && !mode::is_foreground()
    }

    /// Throws away what was typed so far: it was not meant for what comes next.
    pub fn forget_typed(&self) {
        mode::forget_typed();
    }

    /// Text made safe, each line wrapped by words and `indent` columns in. Ends without a line
    /// break.
    pub fn wrapped(&self, text: &str, indent: usize) -> String {
        let width = mode::size().width();
        let indent = indent.min(width / 2);
        let margin = " ".repeat(indent);
        let rows = layout::wrapped(text, width - indent, self.look).into_iter();
        let rows = rows.map(|row| if row.is_empty() { row } else { format!("{margin}{row}") });
        rows.collect::<Vec<_>>().join("\n")
    }

    /// One of several. Gives the letter as the option has it.
    pub fn choose(&self, prompt: &Choice, cancelled: &AtomicBool) -> io::Result<Reply<char>> {
        if self.look.can_move {
            stage::run(Choosing::new(prompt), self.look, cancelled)
        } else {
            Plain::new(self.look, false)?.choose(prompt, cancelled)
        }
    }

    /// Something typed, which `prompt.check` has nothing against.
    pub fn line(&self, prompt: &Line<'_>, cancelled: &AtomicBool) -> io::Result<Reply<String>> {
        if self.look.can_move {
            stage::run(Typing::new(prompt), self.look, cancelled)
        } else {
            Plain::new(self.look, prompt.hidden)?.line(prompt, cancelled)
        }
    }

    /// Any number of many, as indices into `prompt.items`, in their order.
    pub fn pick(&self, prompt: &Pick, cancelled: &AtomicBool) -> io::Result<Reply<Vec<usize>>> {
        if self.look.can_move {
            stage::run(Picking::new(prompt), self.look, cancelled)
        } else {
            Plain::new(self.look, false)?.pick(prompt, cancelled)
        }
    }
}
