//! Something typed: the line, what is wrong with it, and what that looks like.

use super::{
    editor::Editor,
    key::Key,
    layout::{Row, Size, Tone, cut, footer, heading, one_line, transcript, wrapped},
    prompt::{Line, Look},
    screen::Frame,
    stage::{Prompt, Step},
};

pub(super) struct Typing<'a> {
    prompt: &'a Line<'a>,
    editor: Editor,
    mistake: Option<String>,
}

impl<'a> Typing<'a> {
    pub(super) fn new(prompt: &'a Line<'a>) -> Self {
        Self { prompt, editor: Editor::default(), mistake: None }
    }

    fn default(&self) -> Option<&str> {
        self.prompt.default.as_deref().filter(|text| !text.is_empty() && !self.prompt.hidden)
    }

    fn keys(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.prompt.hidden {
            parts.push("not shown while you type".into());
        }
        match self.default() {
            Some(_) if self.editor.is_empty() => {
                parts.push("Enter takes what is in [ ]".into());
                parts.push("Tab edits it".into());
            }
            _ => parts.push("Enter takes it".into()),
        }
        if self.prompt.can_go_back {
            parts.push("Esc back".into());
        }
        parts
    }

    fn enter(&mut self) -> Step<String> {
        let typed = self.editor.text();
        let answer = match self.default() {
            Some(default) if typed.is_empty() => default.to_owned(),
            _ => typed,
        };
        match (self.prompt.check)(&answer) {
            Ok(()) => Step::Done(answer),
            Err(mistake) => {
                self.mistake = Some(mistake);
                Step::Stay
            }
        }
    }
}

/// How an answer is named in the line that stays.
fn answered(answer: &str, hidden: bool) -> &str {
    if hidden {
        "given (not shown)"
    } else if answer.trim().is_empty() {
        "left empty"
    } else {
        answer
    }
}

impl Prompt for Typing<'_> {
    type Answer = String;

    fn shows_cursor(&self) -> bool {
        true
    }

    fn wants_fresh_keys(&self) -> bool {
        self.prompt.hidden
    }

    fn frame(&self, size: Size, crowded: bool, look: Look) -> Frame {
        let width = size.width();
        let mut rows =
            heading(&self.prompt.heading, self.default(), self.prompt.place, width, look);
        let mut frame = Frame::default();
        if crowded {
            frame.fixed = std::mem::take(&mut rows);
        }
        let sign = if look.unicode { "❯ " } else { "> " };
        let (text, column) =
            if self.prompt.hidden { (String::new(), 0) } else { self.editor.view(width - 2, look) };
        frame.cursor = Some((rows.len(), 2 + column));
        rows.push(Row::painted(sign, Tone::Accent, look).and(&text, Tone::Plain, look));
        if let Some(mistake) = &self.mistake {
            let words = if crowded {
                vec![cut(&one_line(mistake, look), width, look)]
            } else {
                wrapped(mistake, width, look)
            };
            rows.extend(words.iter().map(|row| Row::painted(row, Tone::Bad, look)));
        }
        let keys = footer(&self.keys(), width, look);
        rows.extend(keys.into_iter().take(if crowded { 1 } else { usize::MAX }));
        frame.rows = rows;
        frame
    }

    fn press(&mut self, key: Key) -> Step<String> {
        match key {
            Key::Enter => return self.enter(),
            Key::Escape if self.prompt.can_go_back => return Step::Back,
            Key::Control('d') if self.editor.is_empty() => return Step::End,
            Key::Tab => {
                if let Some(default) = self.default()
                    && self.editor.is_empty()
                {
                    let default = default.to_owned();
                    self.editor.set(&default);
                    self.mistake = None;
                }
            }
            _ => {
                if self.editor.press(key) {
                    self.mistake = None;
                }
            }
        }
        Step::Stay
    }

    fn transcript(&self, answer: &String, width: usize, look: Look) -> Option<Row> {
        let answer = answered(answer, self.prompt.hidden);
        let summary = self.prompt.summary.as_deref();
        Some(transcript(&self.prompt.heading, summary, answer, width, look))
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Prompt, Step, Typing};
    use crate::face::terminal::{
        layout::Size,
        prompt::{Line, Look},
    };

    const PLAIN: Look = Look { colour: false, unicode: false, can_move: true };
    const NARROW: Size = Size { columns: 40, rows: 20 };

    fn no_spaces(text: &str) -> Result<(), String> {
        if text.contains(' ') { Err("no spaces, please\u{1b}[2J".into()) } else { Ok(()) }
    }

    fn name() -> Line<'static> {
        Line {
            heading: "What is your name?".into(),
            place: Some((1, 2)),
            default: Some("ada".into()),
            hidden: false,
            can_go_back: true,
            summary: Some("Your name".into()),
            check: &no_spaces,
        }
    }

    fn text(prompt: &Typing<'_>) -> String {
        let rows = prompt.frame(NARROW, false, PLAIN).rows;
        assert!(rows.iter().all(|row| row.width < 40 && row.text.is_ascii()), "{rows:?}");
        assert!(rows.iter().all(|row| !row.text.contains('\u{1b}')), "{rows:?}");
        rows.iter().flat_map(|row| [&*row.text, "\n"]).collect()
    }

    fn write(prompt: &mut Typing<'_>, text: &str) {
        for character in text.chars() {
            assert_eq!(prompt.press(Key::Character(character)), Step::Stay);
        }
    }

    #[test]
    fn enter_takes_the_default_where_nothing_was_typed() {
        let line = name();
        let mut prompt = Typing::new(&line);
        insta::assert_snapshot!(text(&prompt), @r"
        What is your name? [ada] (1 of 2)
        > 
        Enter takes what is in [ ]
        Tab edits it | Esc back
        ");
        assert_eq!(prompt.press(Key::Enter), Step::Done("ada".into()));
        prompt.press(Key::Tab);
        write(&mut prompt, "2");
        assert_eq!(prompt.press(Key::Enter), Step::Done("ada2".into()));
    }

    #[test]
    fn a_mistake_is_said_and_nothing_typed_is_lost() {
        let line = name();
        let mut prompt = Typing::new(&line);
        write(&mut prompt, "a b");
        assert_eq!(prompt.press(Key::Enter), Step::Stay);
        assert!(text(&prompt).contains("> a b\nno spaces, please\\u{1b}[2J\n"));
        prompt.press(Key::Backspace);
        assert!(!text(&prompt).contains("no spaces"), "it is gone once something changed");
    }

    #[test]
    fn nothing_of_a_hidden_answer_is_shown_not_even_its_length() {
        let line = Line { hidden: true, ..name() };
        let mut prompt = Typing::new(&line);
        let before = (text(&prompt), prompt.frame(NARROW, false, PLAIN).cursor);
        write(&mut prompt, "secret");
        assert_eq!((text(&prompt), prompt.frame(NARROW, false, PLAIN).cursor), before);
        assert!(!before.0.contains("ada"), "there is no default");
        assert_eq!(prompt.press(Key::Enter), Step::Done("secret".into()));
        let row = prompt.transcript(&"secret".into(), 39, PLAIN).unwrap();
        assert_eq!(row.text, "* Your name: given (not shown)");
    }

    #[test]
    fn the_end_of_input_is_only_heard_on_an_empty_line() {
        let line = name();
        let mut prompt = Typing::new(&line);
        assert_eq!(prompt.press(Key::Control('d')), Step::End);
        write(&mut prompt, "x");
        assert_eq!(prompt.press(Key::Control('d')), Step::Stay);
        assert_eq!(prompt.press(Key::Escape), Step::Back);
    }

    #[test]
    fn a_long_answer_stays_in_its_row_with_the_cursor_in_it() {
        let line = name();
        let mut prompt = Typing::new(&line);
        write(&mut prompt, &"日本語\u{202e}".repeat(2500));
        let frame = prompt.frame(NARROW, false, PLAIN);
        let (row, column) = frame.cursor.unwrap();
        assert!(column <= frame.rows[row].width && frame.rows[row].width < 40);
        text(&prompt);
        let crowded = prompt.frame(Size { columns: 40, rows: 3 }, true, PLAIN);
        assert!(crowded.rows.len() <= 3 && crowded.cursor.unwrap().0 == 0);
    }
}
