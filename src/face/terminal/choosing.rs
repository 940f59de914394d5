//! One of several, by letter: what is marked, and what it looks like.

use super::{
    key::Key,
    layout::{Row, Size, Tone, cut, footer, heading, one_line, shown, transcript, wrapped},
    prompt::{Choice, Lettered, Look},
    screen::Frame,
    stage::{Prompt, Step},
};

pub(super) struct Choosing<'a> {
    prompt: &'a Choice,
    /// The options that have a line of their own.
    listed: Vec<&'a Lettered>,
    marked: usize,
    /// Whether Enter takes what is marked.
    is_ready: bool,
}

impl<'a> Choosing<'a> {
    pub(super) fn new(prompt: &'a Choice) -> Self {
        let listed: Vec<_> = prompt.options.iter().filter(|option| !option.is_quiet).collect();
        let is_default = |option: &&Lettered| Some(option.letter) == prompt.default;
        let marked = listed.iter().position(is_default).unwrap_or(0);
        Self { prompt, listed, marked, is_ready: !prompt.is_weighty }
    }

    fn by(&mut self, steps: isize) {
        let count = self.listed.len();
        if count > 0 {
            let steps = steps.rem_euclid(isize::try_from(count).unwrap_or(1)).unsigned_abs();
            self.marked = (self.marked + steps) % count;
        }
    }

    fn back(&self) -> Step<char> {
        if self.prompt.can_go_back { Step::Back } else { Step::Stay }
    }

    fn keys(&self, look: Look) -> Vec<String> {
        let mut parts = Vec::new();
        let arrows = if look.unicode { "↑↓" } else { "Up/Down" };
        if let Some(marked) = self.listed.get(self.marked) {
            if self.is_ready {
                parts.push(format!("{arrows} or a letter"));
                parts.push(format!("Enter takes {}", marked.letter));
            } else {
                parts.push(format!("press a letter, or {arrows} and Enter"));
            }
        }
        if self.prompt.can_go_back {
            parts.push("Esc back".into());
        }
        let quiet = self.prompt.options.iter().filter(|option| option.is_quiet);
        parts.extend(quiet.map(|option| format!("{} {}", option.letter, option.text)));
        parts
    }
}

/// The option that a key stands for: exactly, else whatever its case.
pub(super) fn lettered(options: &[Lettered], key: char) -> Option<&Lettered> {
    let same = |option: &&Lettered| option.letter.to_lowercase().eq(key.to_lowercase());
    let exact = options.iter().find(|option| option.letter == key);
    exact.or_else(|| options.iter().find(same))
}

/// An option in full: its letter, what it says, and what that means.
pub(super) fn option_rows(
    option: &Lettered,
    is_marked: bool,
    width: usize,
    look: Look,
) -> Vec<Row> {
    let sign = if look.unicode { "❯" } else { ">" };
    let sign = if is_marked { sign } else { " " };
    let paint = if is_marked { Tone::Accent } else { Tone::Plain };
    let letter = shown(&option.letter.to_string(), look);
    let first = format!("{sign} {letter}  ");
    let indent = console::measure_text_width(&first).min(width / 2);
    let margin = " ".repeat(indent);
    let mut rows = Vec::new();
    for (number, text) in wrapped(&option.text, width - indent, look).iter().enumerate() {
        let before = if number == 0 { &first } else { &margin };
        rows.push(Row::painted(before, paint, look).and(text, paint, look));
    }
    if rows.is_empty() {
        rows.push(Row::painted(&first, paint, look));
    }
    let hint = option.hint.as_deref().unwrap_or_default();
    // Beside it, where there is room.
    let beside = one_line(hint, look);
    let text = console::measure_text_width(&one_line(&option.text, look));
    let both = indent + text + 2 + console::measure_text_width(&beside);
    if rows.len() == 1 && !beside.is_empty() && both <= width {
        let only = rows.remove(0);
        return vec![only.and("  ", Tone::Plain, look).and(&beside, Tone::Dim, look)];
    }
    for text in wrapped(hint, width - indent - 2, look) {
        rows.push(Row::painted(&format!("{margin}  "), Tone::Plain, look).and(
            &text,
            Tone::Dim,
            look,
        ));
    }
    rows
}

impl Prompt for Choosing<'_> {
    type Answer = char;

    fn wants_fresh_keys(&self) -> bool {
        self.prompt.is_weighty
    }

    fn frame(&self, size: Size, crowded: bool, look: Look) -> Frame {
        let width = size.width();
        let mut rows = heading(&self.prompt.heading, None, self.prompt.place, width, look);
        for (number, option) in self.listed.iter().enumerate() {
            let is_marked = number == self.marked && self.is_ready && !crowded;
            rows.extend(option_rows(option, is_marked, width, look));
        }
        let keys = self.keys(look);
        if !crowded {
            rows.extend(footer(&keys, width, look));
            return Frame { rows, ..Frame::default() };
        }
        let mut last = Vec::new();
        if let Some(marked) = self.listed.get(self.marked) {
            let sign = if look.unicode { "❯" } else { ">" };
            let line = format!("{sign} {}  {}", marked.letter, marked.text);
            last.push(Row::painted(&cut(&one_line(&line, look), width, look), Tone::Accent, look));
        }
        last.extend(footer(&keys, width, look).into_iter().take(size.rows.saturating_sub(1)));
        Frame { fixed: rows, rows: last, cursor: None }
    }

    fn press(&mut self, key: Key) -> Step<char> {
        if let Key::Character(character) = key
            && let Some(option) = lettered(&self.prompt.options, character)
        {
            return Step::Done(option.letter);
        }
        let moves = matches!(key, Key::Up | Key::Down | Key::Home | Key::End | Key::Tab);
        match key {
            Key::Enter if !self.is_ready => {}
            // What was not marked before is marked first.
            _ if moves && !self.is_ready => {}
            Key::Enter => {
                return self.listed.get(self.marked).map_or(Step::Stay, |it| Step::Done(it.letter));
            }
            Key::Escape | Key::Backspace | Key::Left | Key::Character('<') => return self.back(),
            Key::Control('d') => return Step::End,
            Key::Up | Key::BackTab | Key::Control('p') | Key::Character('k') => self.by(-1),
            Key::Down | Key::Tab | Key::Control('n') | Key::Character('j') => self.by(1),
            Key::Home | Key::PageUp => self.marked = 0,
            Key::End | Key::PageDown => self.marked = self.listed.len().saturating_sub(1),
            _ => {}
        }
        self.is_ready |= moves;
        Step::Stay
    }

    fn transcript(&self, answer: &char, width: usize, look: Look) -> Option<Row> {
        let option = lettered(&self.prompt.options, *answer).filter(|option| !option.is_quiet)?;
        if self.prompt.passing.contains(&option.letter) {
            return None;
        }
        let answer = format!("{} {}", option.letter, option.text);
        let summary = self.prompt.summary.as_deref();
        Some(transcript(&self.prompt.heading, summary, &answer, width, look))
    }
}

#[cfg(test)]
mod tests {
    use super::{Choosing, Key, Prompt, Step};
    use crate::face::terminal::{
        layout::Size,
        prompt::{Choice, Lettered, Look},
    };

    const PLAIN: Look = Look { colour: false, unicode: false, can_move: true };
    const RICH: Look = Look { colour: true, unicode: true, can_move: true };
    const NARROW: Size = Size { columns: 40, rows: 20 };

    fn option(letter: char, text: &str) -> Lettered {
        Lettered { letter, text: text.into(), hint: None, is_quiet: false }
    }

    fn editor() -> Choice {
        let neovim = "Neovim - a modal editor in the terminal, for those who know it";
        Choice {
            heading: "Which editor do you want?\nIt opens files for you — nothing more.".into(),
            place: Some((3, 9)),
            options: vec![
                Lettered {
                    hint: Some("the usual one".into()),
                    ..option('A', "Visual Studio Code")
                },
                option('B', neovim),
                Lettered { is_quiet: true, ..option('o', "show the output") },
            ],
            default: Some('B'),
            can_go_back: true,
            summary: Some("Editor".into()),
            ..Choice::default()
        }
    }

    fn text(prompt: &Choosing<'_>, look: Look) -> String {
        let rows = prompt.frame(NARROW, false, look).rows;
        for row in &rows {
            assert!(row.width < NARROW.columns, "{row:?}");
        }
        rows.iter().flat_map(|row| [&*row.text, "\n"]).collect()
    }

    #[test]
    fn forty_columns_without_colour_or_unicode_are_enough() {
        let choice = editor();
        let prompt = Choosing::new(&choice);
        let text = text(&prompt, PLAIN);
        assert!(text.is_ascii() && !text.contains('\u{1b}'), "{text:?}");
        insta::assert_snapshot!(text, @r"
        Which editor do you want? (3 of 9)
        It opens files for you - nothing more.
          A  Visual Studio Code  the usual one
        > B  Neovim - a modal editor in the
             terminal, for those who know it
        Up/Down or a letter | Enter takes B
        Esc back | o show the output
        ");
        let line = prompt.transcript(&'B', 39, PLAIN).unwrap();
        assert_eq!(line.text, "* Editor: B Neovim - a modal editor ...");
        assert_eq!(prompt.transcript(&'o', 39, PLAIN), None, "a quiet key leaves no line");
    }

    #[test]
    fn hostile_text_is_seen_and_not_obeyed() {
        let long = "x".repeat(10_000);
        let mut choice = editor();
        choice.heading = "\u{1b}[2Jgone\u{202e}".into();
        choice.options[0].text = format!("a\u{1b}]0;t\u{7}b\u{202e}c\r {long}");
        choice.options[0].hint = Some("日本".repeat(500));
        choice.options[2].text = "\u{9b}31m\nover".into();
        let prompt = Choosing::new(&choice);
        for look in [PLAIN, Look { colour: false, ..RICH }] {
            let text = text(&prompt, look);
            let is_raw = |character: char| {
                (character.is_control() && character != '\n') || character == '\u{202e}'
            };
            assert!(!text.contains(is_raw), "{look:?}");
            assert_eq!(text.matches('x').count(), 10_000, "nothing of an option is cut");
            assert!(text.contains("\\u{1b}]0;t\\u{7}b\\u{202e}c\\r"));
            let line = prompt.transcript(&'A', 39, look).unwrap();
            assert!(line.width <= 39 && !line.text.contains(is_raw), "{line:?}");
        }
        assert!(text(&prompt, PLAIN).is_ascii());
    }

    #[test]
    fn a_letter_of_either_case_is_taken_at_once() {
        let choice = editor();
        let mut prompt = Choosing::new(&choice);
        assert_eq!(prompt.press(Key::Character('a')), Step::Done('A'));
        assert_eq!(prompt.press(Key::Character('O')), Step::Done('o'));
        assert_eq!(prompt.press(Key::Character('x')), Step::Stay);
        assert_eq!(prompt.press(Key::Enter), Step::Done('B'), "the default is marked");
        prompt.press(Key::Character('k'));
        assert_eq!(prompt.press(Key::Enter), Step::Done('A'));
        prompt.press(Key::Up);
        assert_eq!(prompt.press(Key::Enter), Step::Done('B'), "up from the first is the last");
    }

    #[test]
    fn a_letter_wins_over_a_key_that_moves() {
        let mut choice = editor();
        choice.options.push(option('K', "keep it"));
        let mut prompt = Choosing::new(&choice);
        assert_eq!(prompt.press(Key::Character('k')), Step::Done('K'));
    }

    #[test]
    fn back_is_only_where_there_is_something_to_go_back_to() {
        let mut choice = editor();
        for (can_go_back, step) in [(true, Step::Back), (false, Step::Stay)] {
            choice.can_go_back = can_go_back;
            for key in [Key::Escape, Key::Backspace, Key::Left, Key::Character('<')] {
                assert_eq!(Choosing::new(&choice).press(key), step);
            }
        }
        assert!(!text(&Choosing::new(&choice), PLAIN).contains("Esc"));
    }

    #[test]
    fn in_a_low_terminal_only_the_last_rows_are_drawn_again() {
        let choice = editor();
        let size = Size { columns: 40, rows: 4 };
        let frame = Choosing::new(&choice).frame(size, true, RICH);
        assert_eq!(frame.fixed.len(), 5);
        assert!(frame.rows.len() <= 4 && frame.rows[0].text.contains("❯ B  Neovim"));
        assert!(frame.rows.iter().all(|row| row.width < 40));
    }

    #[test]
    fn a_hint_without_room_beside_its_option_stands_below_it() {
        let long =
            Lettered::new('A', "Visual Studio Code").meaning("the one with a window of its own");
        let rows = super::option_rows(&long, false, 39, PLAIN);
        let rows: Vec<_> = rows.iter().map(|row| row.text.as_str()).collect();
        assert_eq!(rows, ["  A  Visual Studio Code", "       the one with a window of its own"]);
    }

    #[test]
    fn where_something_is_set_in_motion_enter_alone_takes_nothing() {
        let choice = Choice { is_weighty: true, ..editor() };
        let mut prompt = Choosing::new(&choice);
        assert!(!text(&prompt, PLAIN).contains("Enter takes"));
        assert!(!text(&prompt, PLAIN).contains("> "), "nothing is marked");
        assert_eq!(prompt.press(Key::Enter), Step::Stay);
        assert_eq!(prompt.press(Key::Down), Step::Stay);
        assert!(text(&prompt, PLAIN).contains("> B"));
        assert_eq!(prompt.press(Key::Enter), Step::Done('B'));
    }

    #[test]
    fn without_options_there_is_still_a_way_out() {
        let choice = Choice { options: Vec::new(), ..editor() };
        let mut prompt = Choosing::new(&choice);
        for key in [Key::Enter, Key::Down, Key::End] {
            assert_eq!(prompt.press(key), Step::Stay);
        }
        assert_eq!(prompt.press(Key::Control('d')), Step::End);
    }
}
