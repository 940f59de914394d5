//! Text made safe, cut and wrapped to the width of a terminal, and the rows that are made of it.

use std::{borrow::Cow, fmt::Write};

use console::measure_text_width;

use super::prompt::Look;
use crate::face::{paint::Paint, visible};

/// How a piece of text is painted, where there is colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Bold,
    Dim,
    /// What is marked.
    Accent,
    Good,
    Bad,
}

/// One row of a terminal, and how wide it is to the eye.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) text: String,
    pub(super) width: usize,
}

impl Row {
    pub(super) fn painted(text: &str, paint: Tone, look: Look) -> Self {
        Self::default().and(text, paint, look)
    }

    /// With `text` after it, which must be safe already.
    pub(super) fn and(mut self, text: &str, paint: Tone, look: Look) -> Self {
        self.width += measure_text_width(text);
        let code = match paint {
            Tone::Plain => "",
            Tone::Bold => "1",
            Tone::Dim => "2",
            Tone::Accent => "1;36",
            Tone::Good => "32",
            Tone::Bad => "31",
        };
        self.text.push_str(&Paint(look).with(code, text));
        self
    }
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    /// How wide a row may be. The last column stays free: what a terminal does after a character
    /// there differs.
    pub(super) fn width(self) -> usize {
        self.columns.max(NARROWEST) - 1
    }
}

/// Narrower than this nothing is laid out.
pub(super) const NARROWEST: usize = 20;

/// One line, made safe to show by this terminal.
pub(super) fn shown(line: &str, look: Look) -> String {
    let line =
        if line.contains('\t') { Cow::from(line.replace('\t', "    ")) } else { line.into() };
    let safe = visible(&line);
    if look.unicode || safe.is_ascii() { safe.into_owned() } else { ascii(&safe) }
}

/// All of a text in one line.
pub(super) fn one_line(text: &str, look: Look) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    shown(&lines.join(" "), look)
}

/// What a terminal without UTF-8 can show of it.
pub(super) fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        plain.push_str(match character {
            '‐' | '‑' | '‒' | '–' | '—' | '·' | '−' => "-",
            '…' => "...",
            '‘' | '’' => "'",
            '“' | '”' | '„' => "\"",
            '•' => "*",
            '→' => "->",
            '←' => "<-",
            '×' => "x",
            '\u{a0}' | '\u{202f}' => " ",
            _ if character.is_ascii() => {
                plain.push(character);
                continue;
            }
            _ => {
                plain.extend(character.escape_default());
                continue;
            }
        });
    }
    plain
}

pub(super) fn character_width(character: char) -> usize {
    measure_text_width(character.encode_utf8(&mut [0; 4]))
}

/// As much of a safe line as fits, with a sign where something is missing.
pub(super) fn cut(line: &str, width: usize, look: Look) -> String {
    // A line of a million characters need not be measured to its end.
    let fits =
        line.len() <= width || (line.len() <= 16 * width && measure_text_width(line) <= width);
    if fits {
        return line.to_owned();
    }
    let sign = if look.unicode { "…" } else { "..." };
    let (head, _) = line.split_at(fitting(line, width.saturating_sub(measure_text_width(sign))));
    format!("{head}{sign}")
}

/// How many bytes of `line` fit into `width`.
fn fitting(line: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, character) in line.char_indices() {
        used += character_width(character);
        if used > width {
            return at;
        }
    }
    line.len()
}

/// A safe line in rows of at most `width`, broken between words, and within words that are longer.
/// The spaces it begins with stand before each row.
pub(super) fn wrap(line: &str, width: usize) -> Vec<String> {
    let line = line.trim_end();
    if line.len() <= width || measure_text_width(line) <= width {
        return vec![line.to_owned()];
    }
    let words = line.trim_start_matches(' ');
    let margin = &line[..(line.len() - words.len()).min(width / 2)];
    let room = width - margin.len();
    let mut rows = Vec::new();
    let (mut row, mut used) = (String::new(), 0);
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        let mut word = word;
        let mut wide = measure_text_width(word);
        if used > 0 && used + 1 + wide <= room {
            row.push(' ');
            row.push_str(word);
            used += 1 + wide;
            continue;
        }
        if used > 0 {
            rows.push(format!("{margin}{row}"));
        }
        while wide > room {
            // A character wider than the room is taken anyway: it must go somewhere.
            let first = word.chars().next().map_or(0, char::len_utf8);
            let (head, rest) = word.split_at(fitting(word, room).max(first));
            rows.push(format!("{margin}{head}"));
            word = rest;
            wide = measure_text_width(word);
        }
        row.clear();
        row.push_str(word);
        used = wide;
    }
    if used > 0 {
        rows.push(format!("{margin}{row}"));
    }
    rows
}

/// A text of one or more lines, made safe and wrapped.
pub(super) fn wrapped(text: &str, width: usize, look: Look) -> Vec<String> {
    text.lines().flat_map(|line| wrap(&shown(line, look), width)).collect()
}

/// The question, with where in the walk it stands; the lines after the first explain it.
pub(super) fn heading(
    text: &str,
    addition: Option<&str>,
    place: Option<(usize, usize)>,
    width: usize,
    look: Look,
) -> Vec<Row> {
    let mut lines = text.trim_end().lines();
    let mut first = lines.next().unwrap_or_default().to_owned();
    if let Some(addition) = addition {
        let _ = write!(first, " [{}]", shown(addition, look));
    }
    if let Some((at, of)) = place {
        let _ = write!(first, " ({at} of {of})");
    }
    let mut rows: Vec<_> = wrapped(&first, width, look)
        .iter()
        .map(|row| Row::painted(row, Tone::Bold, look))
        .collect();
    for line in lines {
        rows.extend(
            wrapped(line, width, look).iter().map(|row| Row::painted(row, Tone::Plain, look)),
        );
    }
    rows
}

/// Which keys do what, in as many rows as it takes.
pub(super) fn footer(parts: &[String], width: usize, look: Look) -> Vec<Row> {
    let between = if look.unicode { " · " } else { " | " };
    let rows = gathered(parts, between, width, look);
    rows.iter().map(|row| Row::painted(row, Tone::Dim, look)).collect()
}

/// Things that belong together, as many in a row as fit; none is broken that need not be.
pub(super) fn gathered(parts: &[String], between: &str, width: usize, look: Look) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    let mut used = 0;
    for part in parts {
        let part = one_line(part, look);
        let wide = measure_text_width(between) + measure_text_width(&part);
        match rows.last_mut() {
            Some(row) if used + wide <= width => {
                row.push_str(between);
                row.push_str(&part);
                used += wide;
            }
            _ => {
                rows.extend(wrap(&part, width));
                used = rows.last().map_or(0, |row| measure_text_width(row));
            }
        }
    }
    rows
}

/// The one line that stays when a question is answered.
pub(super) fn transcript(
    heading: &str,
    summary: Option<&str>,
    answer: &str,
    width: usize,
    look: Look,
) -> Row {
    let name = summary.unwrap_or_else(|| heading.lines().next().unwrap_or_default());
    let name = name.trim_end().trim_end_matches(':');
    let colon = if name.ends_with('?') { "" } else { ":" };
    let (name, answer) = (one_line(&format!("{name}{colon}"), look), one_line(answer, look));
    // The answer says more than the question: that is cut first, but not to nothing.
    let room = width.saturating_sub(3 + measure_text_width(&answer)).max(width / 3);
    let line = format!("{} {answer}", cut(&name, room, look));
    let mark = if look.unicode { "✓" } else { "*" };
    Row::painted(mark, Tone::Good, look).and(" ", Tone::Plain, look).and(
        &cut(&line, width - 2, look),
        Tone::Plain,
        look,
    )
}

#[cfg(test)]
mod tests {
    use super::{Look, cut, footer, measure_text_width, transcript, wrap, wrapped};

    const LOOK: Look = Look { colour: false, unicode: true, can_move: true };
    const ASCII: Look = Look { unicode: false, ..LOOK };

    #[test]
    fn lines_are_broken_between_words_and_long_words_within() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("  one two three", 8), ["  one", "  two", "  three"]);
        assert_eq!(wrap("a bcdefghijkl m", 5), ["a", "bcdef", "ghijk", "l m"]);
        assert_eq!(wrap("as  it   is", 20), ["as  it   is"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("日本語 日本", 5), ["日本", "語", "日本"]);
        assert_eq!(wrap("日本", 1), ["日", "本"], "what is too wide must still go somewhere");
    }

    #[test]
    fn no_text_is_wider_than_it_may_be_or_does_anything() {
        let evil = "\u{1b}[31m\u{202e}日本語\t\u{7}".repeat(99) + "\r\n\n  x";
        for look in [LOOK, ASCII] {
            for row in wrapped(&evil, 19, look) {
                assert!(measure_text_width(&row) <= 19, "{row:?}");
                assert!(!row.contains(['\u{1b}', '\u{202e}', '\u{7}', '\r']), "{row:?}");
                assert!(look.unicode || row.is_ascii(), "{row:?}");
            }
        }
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(cut("abcdef", 6, LOOK), "abcdef");
        assert_eq!(cut("abcdefg", 6, LOOK), "abcde…");
        assert_eq!(cut("abcdefg", 6, ASCII), "abc...");
        assert_eq!(cut("日本語日", 6, LOOK), "日本…");
    }

    #[test]
    fn a_key_and_what_it_does_stay_together() {
        let parts = ["Enter takes B", "Esc back", "o show the output"].map(str::to_owned);
        let rows: Vec<_> = footer(&parts, 26, LOOK).into_iter().map(|row| row.text).collect();
        assert_eq!(rows, ["Enter takes B · Esc back", "o show the output"]);
    }

    #[test]
    fn the_line_that_stays_reads_as_a_sentence() {
        let line = |heading: &str, summary| transcript(heading, summary, "x", 39, LOOK).text;
        assert_eq!(line("Which?\nmore", None), "✓ Which? x");
        assert_eq!(line("Name:", None), "✓ Name: x");
        assert_eq!(line("Which?", Some("Editor")), "✓ Editor: x");
    }
}
