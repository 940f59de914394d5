//! The end of what a command wrote: its last whole lines, and the one under way.

use crate::face::progress;

/// How many of the last lines of a command that failed are shown.
const LAST_LINES: usize = 10;
/// The most that is kept of a line that has not come to its end.
const LONGEST_LINE: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Tail {
    /// Output that has not come to the end of its line.
    unfinished: Vec<u8>,
    last_lines: Vec<String>,
}

impl Tail {
    /// Takes in what was written; returns the line that says most about it, if there is one.
    pub(super) fn push(&mut self, skipped: u64, bytes: &[u8]) -> Option<String> {
        if skipped > 0 {
            self.unfinished.clear();
        }
        self.unfinished.extend_from_slice(bytes);
        let mut last = None;
        if let Some(end) = self.unfinished.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.unfinished.split_off(end + 1);
            let whole = std::mem::replace(&mut self.unfinished, rest);
            // Only the last of them are ever shown, however many there are.
            let lines = whole.rsplit(|byte| *byte == b'\n').map(progress::shown);
            let mut lines: Vec<_> =
                lines.filter(|line| !line.trim().is_empty()).take(LAST_LINES).collect();
            last = lines.first().cloned();
            lines.reverse();
            self.last_lines.extend(lines);
        }
        let extra = self.last_lines.len().saturating_sub(LAST_LINES);
        self.last_lines.drain(..extra);
        if self.unfinished.len() > LONGEST_LINE {
            let cut = self.unfinished.len() - LONGEST_LINE;
            self.unfinished.drain(..cut);
        }
        // A line under way says more than the one before it: a percentage that counts up.
        let unfinished = progress::shown(&self.unfinished);
        Some(unfinished).filter(|line| !line.trim().is_empty()).or(last)
    }

    /// The last lines, which are then no longer there: they are shown once.
    pub(super) fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.last_lines)
    }
}

#[cfg(test)]
mod tests {
    use super::{LAST_LINES, Tail};

    #[test]
    fn the_line_under_way_is_shown_before_the_last_whole_one() {
        let mut tail = Tail::default();
        assert_eq!(tail.push(0, b"one\ntwo\n").as_deref(), Some("two"));
        assert_eq!(tail.push(0, b"50%").as_deref(), Some("50%"));
        assert_eq!(tail.push(0, b"\r60%").as_deref(), Some("60%"));
        assert_eq!(tail.push(0, b"\n\n").as_deref(), Some("60%"));
        assert_eq!(tail.push(0, b"\n"), None);
        assert_eq!(tail.take_lines(), ["one", "two", "60%"]);
        assert!(tail.take_lines().is_empty());
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let mut tail = Tail::default();
        for number in 0..30 {
            tail.push(0, format!("{number}\n").as_bytes());
        }
        let lines = tail.take_lines();
        assert_eq!(lines.len(), LAST_LINES);
        assert_eq!(lines.last().map(String::as_str), Some("29"));
    }

    #[test]
    fn what_was_not_kept_ends_the_line_before_it() {
        let mut tail = Tail::default();
        tail.push(0, b"left ");
        assert_eq!(tail.push(7, b"right").as_deref(), Some("right"));
    }
}
