//! Output as a person would have read it: without orders to a terminal, line by line.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

/// More of the end of an output than this says nothing new.
const MOST_BYTES: usize = 64 * 1024;
const MOST_LINES: usize = 80;
const LONGEST_LINE: usize = 1000;
/// A progress bar writes one line over and over; only what stood there last matters.
const MOST_OVERWRITTEN: usize = 3;

/// Text without colours and other orders to a terminal.
pub(super) fn without_orders(text: &str) -> Cow<'_, str> {
    static ORDERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new("\u{1b}(\\[[0-9;?]*[ -/]*[@-~]|\\][^\u{7}\u{1b}]*(\u{7}|\u{1b}\\\\)?|[@-_])")
            .ok()
    });
    ORDERS.as_ref().map_or(text.into(), |orders| orders.replace_all(text, ""))
}

/// The last lines that say anything, with all kinds of quotation marks made plain ones.
pub(super) fn last_lines(output: &[u8]) -> Vec<String> {
    let end = &output[output.len().saturating_sub(MOST_BYTES)..];
    let text = String::from_utf8_lossy(end);
    let text = without_orders(&text);
    let mut lines: Vec<String> = text
        .rsplit('\n')
        .flat_map(|line| {
            let parts = line.rsplit('\r').map(plain).filter(|part| !part.trim().is_empty());
            parts.take(MOST_OVERWRITTEN)
        })
        .take(MOST_LINES)
        .collect();
    lines.reverse();
    lines
}

fn plain(line: &str) -> String {
    let line = line.trim_end();
    let shown = line.chars().filter(|c| *c == '\t' || !c.is_control()).take(LONGEST_LINE);
    shown
        .map(|c| match c {
            '‘' | '’' | '‛' | '`' | '´' => '\'',
            '“' | '”' => '"',
            '\u{a0}' => ' ',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST_LINES, last_lines};

    #[test]
    fn what_a_terminal_would_have_shown_is_kept() {
        let output = b"\x1b[31merror:\x1b[0m no \xe2\x80\x98space\xe2\x80\x99\r\n\n10%\r50%\r70%\r100%\rdone\n";
        assert_eq!(last_lines(output), ["error: no 'space'", "70%", "100%", "done"]);
    }

    #[test]
    fn of_much_output_only_the_end_is_read() {
        let output = "line\n".repeat(1000) + "last\n";
        let lines = last_lines(output.as_bytes());
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (MOST_LINES, Some("last")));
        assert!(last_lines(&vec![0xff; 200_000]).len() <= 1);
        assert!(last_lines(b"").is_empty());
    }
}
