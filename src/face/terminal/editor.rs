//! A line being typed, and the part of it that can be seen. Pure.

use super::{
    key::Key,
    layout::{character_width, shown},
    prompt::Look,
};

/// Longer than any answer; what a slip of the paste key adds beyond it is dropped.
const LONGEST: usize = 16 * 1024;

#[derive(Default)]
pub(super) struct Editor {
    text: Vec<char>,
    /// How many characters stand before the cursor.
    cursor: usize,
}

impl Editor {
    pub(super) fn text(&self) -> String {
        self.text.iter().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn set(&mut self, text: &str) {
        self.text = text.chars().collect();
        self.cursor = self.text.len();
    }

    /// Does what a key means to a line. Whether its text is another now.
    pub(super) fn press(&mut self, key: Key) -> bool {
        let before = self.text.len();
        match key {
            Key::Character(character) if before < LONGEST => {
                self.text.insert(self.cursor, character);
                self.cursor += 1;
            }
            Key::Backspace => self.remove(self.cursor.saturating_sub(1), self.cursor),
            Key::Delete | Key::Control('d') => self.remove(self.cursor, self.cursor + 1),
            Key::Control('u') => self.remove(0, self.cursor),
            Key::Control('k') => self.remove(self.cursor, before),
            Key::Control('w') => self.remove(self.word_before(), self.cursor),
            Key::Left | Key::Control('b') => self.cursor = self.cursor.saturating_sub(1),
            Key::Right | Key::Control('f') => self.cursor = (self.cursor + 1).min(before),
            Key::Home | Key::Control('a') => self.cursor = 0,
            Key::End | Key::Control('e') => self.cursor = before,
            Key::Alt('b') => self.cursor = self.word_before(),
            Key::Alt('f') => self.cursor = self.word_after(),
            _ => {}
        }
        self.text.len() != before
    }

    fn remove(&mut self, from: usize, to: usize) {
        let to = to.min(self.text.len());
        if from < to {
            self.text.drain(from..to);
            self.cursor = from;
        }
    }

    fn word_before(&self) -> usize {
        let head = &self.text[..self.cursor];
        let end = head.iter().rposition(|it| !it.is_whitespace()).map_or(0, |at| at + 1);
        head[..end].iter().rposition(|it| it.is_whitespace()).map_or(0, |at| at + 1)
    }

    fn word_after(&self) -> usize {
        let tail = &self.text[self.cursor..];
        let start = tail.iter().position(|it| !it.is_whitespace()).unwrap_or(tail.len());
        let length = tail[start..].iter().position(|it| it.is_whitespace());
        self.cursor + length.map_or(tail.len(), |length| start + length)
    }

    /// What of it fits into `width`, and the column of the cursor in that.
    pub(super) fn view(&self, width: usize, look: Look) -> (String, usize) {
        let cells: Vec<(String, usize)> = self
            .text
            .iter()
            .map(|character| {
                let cell = shown(&character.to_string(), look);
                let wide = cell.chars().map(character_width).sum();
                (cell, wide)
            })
            .collect();
        let wide = |cells: &[(String, usize)]| cells.iter().map(|(_, wide)| wide).sum::<usize>();
        let mut start = 0;
        if wide(&cells) >= width {
            // What comes after the cursor can be seen too.
            let mut before = wide(&cells[..self.cursor]);
            while before > width * 2 / 3 {
                before -= cells[start].1;
                start += 1;
            }
        }
        let (mut text, mut used, mut column) = (String::new(), 0, 0);
        for (number, (cell, wide)) in cells.iter().enumerate().skip(start) {
            if used + wide > width {
                break;
            }
            text.push_str(cell);
            used += wide;
            if number < self.cursor {
                column = used;
            }
        }
        (text, column)
    }
}

#[cfg(test)]
mod tests {
    use super::{Editor, Key, Look};

    const LOOK: Look = Look { colour: false, unicode: true, can_move: true };

    fn typed(text: &str, keys: &[Key]) -> Editor {
        let mut editor = Editor::default();
        for character in text.chars() {
            editor.press(Key::Character(character));
        }
        for key in keys {
            editor.press(*key);
        }
        editor
    }

    #[test]
    fn a_line_is_edited_as_everywhere() {
        let text = |keys: &[Key]| typed("one two  three", keys).text();
        assert_eq!(text(&[Key::Home, Key::Delete, Key::Character('O')]), "One two  three");
        assert_eq!(text(&[Key::Control('w')]), "one two  ");
        assert_eq!(text(&[Key::Control('w'), Key::Control('w')]), "one ");
        assert_eq!(text(&[Key::Alt('b'), Key::Control('k')]), "one two  ");
        assert_eq!(text(&[Key::Alt('b'), Key::Control('u')]), "three");
        assert_eq!(text(&[Key::Control('a'), Key::Alt('f'), Key::Control('k')]), "one");
        assert_eq!(text(&[Key::Left, Key::Backspace, Key::End, Key::Backspace]), "one two  thr");
        assert_eq!(text(&[Key::Control('a'), Key::Backspace, Key::Left]), "one two  three");
        assert_eq!(text(&[Key::Right, Key::Delete, Key::Alt('f')]), "one two  three");
    }

    #[test]
    fn the_cursor_is_always_in_view_even_between_wide_characters() {
        for text in
            ["", "short", "日本語日本語日本語日本語", "x日\u{202e}y\u{301}zzzzzzzzzzzzzzzzzzz"]
        {
            let mut editor = typed(text, &[]);
            for _ in 0..=text.chars().count() {
                let (view, column) = editor.view(12, LOOK);
                let wide: usize = view.chars().map(super::character_width).sum();
                assert!(wide <= 12 && column <= wide, "{view:?} {column}");
                editor.press(Key::Left);
            }
            assert_eq!(editor.view(12, LOOK).1, 0);
        }
        assert_eq!(typed("日本", &[]).view(12, LOOK), ("日本".into(), 4));
        assert_eq!(typed("日本", &[Key::Left]).view(12, LOOK).1, 2);
    }

    #[test]
    fn what_is_pasted_without_end_is_bounded() {
        let editor = typed(&"x".repeat(super::LONGEST + 9), &[]);
        assert_eq!(editor.text().len(), super::LONGEST);
    }
}
