//! Words and characters.

use std::{borrow::Cow, fmt::Display};

pub use crate::engine::count as plural;

/// `a, b, c`.
pub fn comma_list(names: impl IntoIterator<Item: Display>) -> String {
    names.into_iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns the first `most` of some names, and how many there are besides.
pub(super) fn first_names(names: &[impl Display], most: usize) -> String {
    let named = comma_list(names.iter().take(most));
    match names.len().saturating_sub(most) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// `3 done, 1 failed`: returns the counts that are not zero.
pub(super) fn counted(counts: &[(usize, &str)]) -> String {
    let some = counts.iter().filter(|(count, _)| *count > 0);
    comma_list(some.map(|(count, what)| format!("{count} {what}")))
}

/// `a, b and c`.
pub(super) fn and_list(names: &[impl Display]) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => format!("{} and {}", comma_list(first), last),
    }
}

/// Something to know, line by line.
pub fn note_text(note: &str) -> String {
    let mut text = String::new();
    for (number, line) in note.lines().enumerate() {
        text.push_str(if number == 0 { "note: " } else { "  " });
        text.push_str(&visible(line));
        text.push('\n');
    }
    text
}

/// Text from a record or a command, made safe to show: control characters, escape sequences and
/// characters that reorder a line are written out instead of obeyed.
pub fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, is_deceptive)
}

/// The same for text of several lines and columns, which are kept.
pub(super) fn visible_lines(text: &str) -> Cow<'_, str> {
    let is_odd = |character| is_deceptive(character) && !matches!(character, '\n' | '\t');
    if text.contains("\r\n") {
        return written_out(&text.replace("\r\n", "\n"), is_odd).into_owned().into();
    }
    written_out(text, is_odd)
}

fn written_out(text: &str, is_odd: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_odd) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_odd(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// The first line of a command, and whether there is more of it.
pub(super) fn one_line(command: &str) -> String {
    let mut lines = command.trim().lines();
    let first = visible(lines.next().unwrap_or_default()).into_owned();
    if lines.next().is_some() { format!("{first} …") } else { first }
}

/// Whether a terminal would do something other than show it.
pub(super) fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{and_list, plural, visible, visible_lines};

    #[test]
    fn ordinary_text_in_any_language_is_left_alone() {
        for text in ["", "apt-get install -y jq", "Zoë 🦀 日本"] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn what_would_move_the_cursor_or_turn_the_line_around_is_written_out() {
        assert_eq!(visible("a\u{1b}[2Jb\r\n"), "a\\u{1b}[2Jb\\r\\n");
        assert_eq!(visible("evil\u{202e}txt"), "evil\\u{202e}txt");
        for hidden in ['\u{ad}', '\u{61c}', '\u{2060}', '\u{3164}', '\u{e0041}'] {
            assert!(visible(&hidden.to_string()).starts_with("\\u{"), "{hidden:?}");
        }
    }

    #[test]
    fn lines_and_columns_are_kept() {
        assert_eq!(visible_lines("a\r\nb\tc\rd\n"), "a\nb\tc\\rd\n");
        assert_eq!(visible_lines("שלום\n"), "שלום\n");
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(plural(1, "session"), "1 session");
        assert_eq!(plural(0, "session"), "0 sessions");
    }

    #[test]
    fn names_are_listed_as_they_are_said() {
        assert_eq!(and_list(&["a"]), "a");
        assert_eq!(and_list(&["a", "b"]), "a and b");
        assert_eq!(and_list(&["a", "b", "c"]), "a, b and c");
    }
}
