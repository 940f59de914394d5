//! Text for a terminal of some width, or for a file, which takes any: lines are cut or wrapped only
//! where they would not fit.

use std::fmt::Write;

use super::Terminal;

/// Where text goes.
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    pub terminal: Terminal,
    /// How wide a line may be; `None` where it goes to a file, which takes any.
    pub width: Option<usize>,
}

impl Sheet {
    pub(super) fn line(self, text: &mut String, line: &str) {
        let line = line.trim_end();
        let shown = match self.width {
            Some(width) => self.terminal.cut(line, width),
            None => self.terminal.showable(line).into_owned(),
        };
        let _ = writeln!(text, "{shown}");
    }

    /// Names that take as many lines as they need.
    pub(super) fn names(self, text: &mut String, label: &str, names: &str) {
        let whole = format!("  {label} {names}");
        if self.width.is_none() {
            return self.line(text, &whole);
        }
        let _ = writeln!(text, "{}", self.terminal.wrapped(&format!("{label} {names}"), 2));
    }

    /// Text behind a label, in a column of its own.
    pub(super) fn labelled(self, text: &mut String, label: &str, indent: usize, what: &str) {
        let shown = match self.width {
            Some(_) => self.terminal.wrapped(what, indent),
            None => self.terminal.showable(what).into_owned(),
        };
        let _ = writeln!(text, "{label:<indent$}{}", shown.trim_start());
    }
}
