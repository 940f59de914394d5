//! The block of rows that a prompt has drawn: what must be written to replace it. Writes nothing
//! itself. A block is never taller than the terminal, else what has scrolled away could not be
//! reached again; what does not fit is fixed, written once and left.

use std::fmt::Write;

use super::layout::Row;

/// What is to be seen now.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Written above once, and never again.
    pub(super) fixed: Vec<Row>,
    pub(super) rows: Vec<Row>,
    /// Row and column of the cursor; else it is at the end of the last row.
    pub(super) cursor: Option<(usize, usize)>,
}

#[derive(Debug, Default)]
pub(super) struct Screen {
    /// How wide each row is that stands there.
    drawn: Vec<usize>,
    cursor: (usize, usize),
    has_fixed: bool,
}

impl Screen {
    /// The next frame in place of the last one.
    pub(super) fn draw(&mut self, frame: &Frame, columns: usize) -> String {
        let mut text = self.erase(columns);
        if !self.has_fixed && !frame.fixed.is_empty() {
            self.has_fixed = true;
            for row in &frame.fixed {
                text.push_str(&row.text);
                text.push_str("\r\n");
            }
        }
        for (number, row) in frame.rows.iter().enumerate() {
            if number > 0 {
                text.push_str("\r\n");
            }
            text.push_str(&row.text);
        }
        self.drawn = frame.rows.iter().map(|row| row.width).collect();
        let last = self.drawn.len().saturating_sub(1);
        let end = (last, self.drawn.last().copied().unwrap_or(0));
        self.cursor = frame.cursor.unwrap_or(end);
        if self.cursor != end {
            move_up(last - self.cursor.0.min(last), &mut text);
            text.push('\r');
            if self.cursor.1 > 0 {
                let _ = write!(text, "\u{1b}[{}C", self.cursor.1);
            }
        }
        text
    }

    /// Nothing in place of the last frame. A terminal that has become narrower since has broken
    /// its rows.
    pub(super) fn erase(&mut self, columns: usize) -> String {
        let mut text = String::new();
        let above: usize =
            self.drawn.iter().take(self.cursor.0).map(|width| taken(*width, columns)).sum();
        move_up(above + self.cursor.1 / columns.max(1), &mut text);
        text.push_str("\r\u{1b}[J");
        self.drawn.clear();
        self.cursor = (0, 0);
        text
    }

    /// The cursor under the block, which stays.
    pub(super) fn below(&mut self) -> String {
        let rows = self.drawn.len().max(1);
        let mut text = String::new();
        for _ in self.cursor.0..rows {
            text.push('\n');
        }
        text.push('\r');
        self.cursor = (rows, 0);
        text
    }

    /// What stands there is no longer ours.
    pub(super) fn forget(&mut self) {
        self.drawn.clear();
        self.cursor = (0, 0);
    }
}

fn taken(width: usize, columns: usize) -> usize {
    width.max(1).div_ceil(columns.max(1))
}

fn move_up(rows: usize, text: &mut String) {
    if rows > 0 {
        let _ = write!(text, "\u{1b}[{rows}A");
    }
}

#[cfg(test)]
mod tests {
    use super::{Frame, Screen};
    use crate::face::terminal::layout::Row;

    fn rows(widths: &[usize]) -> Vec<Row> {
        widths.iter().map(|width| Row { text: "x".repeat(*width), width: *width }).collect()
    }

    #[test]
    fn a_frame_replaces_the_one_before_it_in_place() {
        let mut screen = Screen::default();
        let frame = Frame { rows: rows(&[2, 1]), ..Frame::default() };
        assert_eq!(screen.draw(&frame, 40), "\r\u{1b}[Jxx\r\nx");
        assert_eq!(screen.draw(&frame, 40), "\u{1b}[1A\r\u{1b}[Jxx\r\nx");
        assert_eq!(screen.erase(40), "\u{1b}[1A\r\u{1b}[J");
        assert_eq!(screen.erase(40), "\r\u{1b}[J", "what is gone is not gone up over");
    }

    #[test]
    fn rows_that_a_narrower_terminal_has_broken_are_gone_up_over() {
        let mut screen = Screen::default();
        screen.draw(&Frame { rows: rows(&[39, 0, 39]), ..Frame::default() }, 40);
        assert_eq!(screen.erase(20), "\u{1b}[4A\r\u{1b}[J");
    }

    #[test]
    fn the_cursor_is_where_the_frame_says_and_found_again_from_there() {
        let mut screen = Screen::default();
        let frame = Frame { rows: rows(&[5, 5, 5]), cursor: Some((1, 3)), ..Frame::default() };
        assert!(screen.draw(&frame, 40).ends_with("\u{1b}[1A\r\u{1b}[3C"));
        assert_eq!(screen.below(), "\n\n\r");
        assert_eq!(screen.erase(40), "\u{1b}[3A\r\u{1b}[J");
    }

    #[test]
    fn what_is_fixed_is_written_once() {
        let mut screen = Screen::default();
        let frame = Frame { fixed: rows(&[3]), rows: rows(&[1]), cursor: None };
        assert!(screen.draw(&frame, 40).contains("xxx"));
        assert!(!screen.draw(&frame, 40).contains("xxx"));
    }
}
