//! Any number of many, found by typing: what matches, what is chosen, and what it looks like.

use super::{
    editor::Editor,
    found::{item_line, matching, names},
    key::Key,
    layout::{Row, Size, Tone, cut, footer, heading, one_line, transcript},
    prompt::{Look, Pick},
    screen::Frame,
    stage::{Prompt, Step},
};

/// More rows of matches than this are not easier to look through.
const MOST_ROWS: usize = 15;
const FEWEST_ROWS: usize = 3;
/// Rows above the block that are not pushed out of the terminal, if it is high enough.
const IN_SIGHT: usize = 3;

pub(super) struct Picking<'a> {
    prompt: &'a Pick,
    search: Editor,
    chosen: Vec<bool>,
    /// Which items match, best first.
    matches: Vec<usize>,
    /// Where in the matches we are.
    marked: usize,
}

impl<'a> Picking<'a> {
    pub(super) fn new(prompt: &'a Pick) -> Self {
        Self {
            prompt,
            search: Editor::default(),
            chosen: prompt.items.iter().map(|item| item.chosen).collect(),
            matches: matching(&prompt.items, ""),
            marked: 0,
        }
    }

    fn answer(&self) -> Vec<usize> {
        (0..self.chosen.len()).filter(|index| self.chosen[*index]).collect()
    }

    fn searched(&mut self) {
        self.matches = matching(&self.prompt.items, &self.search.text());
        self.marked = 0;
    }

    fn by(&mut self, steps: isize) {
        let last = self.matches.len().saturating_sub(1);
        self.marked = self.marked.saturating_add_signed(steps).min(last);
    }

    fn search_row(&self, width: usize, look: Look) -> Row {
        let row = Row::painted("Search: ", Tone::Accent, look);
        if self.search.is_empty() {
            return row.and("type to search", Tone::Dim, look);
        }
        let count = format!("  {} of {}", self.matches.len(), self.prompt.items.len());
        let room = width.saturating_sub("Search: _".len() + count.len());
        let (text, _) = self.search.view(room, look);
        row.and(&text, Tone::Plain, look).and("_", Tone::Accent, look).and(&count, Tone::Dim, look)
    }

    fn item_row(&self, number: usize, width: usize, look: Look) -> Option<Row> {
        let index = *self.matches.get(number)?;
        let (item, is_marked) = (self.prompt.items.get(index)?, number == self.marked);
        let sign = match (is_marked, look.unicode) {
            (true, true) => "❯",
            (true, false) => ">",
            (false, _) => " ",
        };
        let is_chosen = self.chosen[index];
        let sign = format!("{sign} {} ", box_of(is_chosen, look));
        let paint = if is_marked { Tone::Accent } else { Tone::Plain };
        let room = width.saturating_sub(console::measure_text_width(&sign));
        let line = cut(&one_line(&item_line(item), look), room, look);
        let row = Row::painted(&sign, if is_chosen { Tone::Good } else { paint }, look);
        Some(row.and(&line, paint, look))
    }

    fn item_rows(&self, room: usize, width: usize, look: Look) -> Vec<Row> {
        if self.matches.is_empty() {
            let text = if self.search.is_empty() {
                "nothing to choose from".to_owned()
            } else {
                format!("nothing matches \"{}\"", self.search.text())
            };
            let text = cut(&one_line(&text, look), width, look);
            return vec![Row::painted(&text, Tone::Plain, look)];
        }
        let first = self.marked.saturating_sub(room / 2);
        let first = first.min(self.matches.len().saturating_sub(room));
        (first..first + room).map_while(|number| self.item_row(number, width, look)).collect()
    }

    fn keys(&self, look: Look) -> Vec<String> {
        let arrows = if look.unicode { "↑↓" } else { "Up/Down" };
        let mut parts = vec![arrows.into(), "Space chooses".into(), "Enter done".into()];
        if !self.search.is_empty() {
            parts.push("Esc clears the search".into());
        } else if self.prompt.can_go_back {
            parts.push("Esc back".into());
        }
        parts
    }
}

fn box_of(is_chosen: bool, look: Look) -> &'static str {
    match (is_chosen, look.unicode) {
        (true, true) => "◉",
        (false, true) => "◯",
        (true, false) => "[x]",
        (false, false) => "[ ]",
    }
}

impl Prompt for Picking<'_> {
    type Answer = Vec<usize>;

    fn frame(&self, size: Size, crowded: bool, look: Look) -> Frame {
        let width = size.width();
        let head = heading(&self.prompt.heading, None, None, width, look);
        let mut keys = footer(&self.keys(look), width, look);
        if crowded {
            keys.truncate(1);
        }
        // The search and what is chosen have a row each. What stands above stays in sight.
        let above = if crowded { 0 } else { head.len() + IN_SIGHT };
        let room = size.rows.saturating_sub(above + 2 + keys.len());
        let fewest = if crowded { 1 } else { FEWEST_ROWS };
        let (fixed, mut rows) = if crowded { (head, Vec::new()) } else { (Vec::new(), head) };
        rows.push(self.search_row(width, look));
        rows.extend(self.item_rows(room.clamp(fewest, MOST_ROWS), width, look));
        let chosen = self.answer();
        let text = match chosen.len() {
            0 => "nothing chosen".to_owned(),
            count => format!("{count} chosen: {}", names(&self.prompt.items, &chosen)),
        };
        let text = cut(&one_line(&text, look), width, look);
        rows.push(Row::painted(&text, Tone::Good, look));
        rows.extend(keys);
        Frame { fixed, rows, cursor: None }
    }

    fn press(&mut self, key: Key) -> Step<Vec<usize>> {
        match key {
            Key::Enter => {
                // Whoever has found one and chosen none means that one.
                if let Some(index) = self.matches.get(self.marked)
                    && !self.search.is_empty()
                    && self.answer().is_empty()
                {
                    self.chosen[*index] = true;
                }
                return Step::Done(self.answer());
            }
            Key::Escape if !self.search.is_empty() => {
                self.search = Editor::default();
                self.searched();
            }
            Key::Escape if self.prompt.can_go_back => return Step::Back,
            Key::Control('d') if self.search.is_empty() => return Step::End,
            Key::Character(' ') | Key::Tab => {
                if let Some(index) = self.matches.get(self.marked) {
                    self.chosen[*index] ^= true;
                }
            }
            Key::Up | Key::BackTab | Key::Control('p') => self.by(-1),
            Key::Down | Key::Control('n') => self.by(1),
            Key::PageUp => self.by(-10),
            Key::PageDown => self.by(10),
            Key::Home => self.marked = 0,
            Key::End => self.marked = self.matches.len().saturating_sub(1),
            // The search is short: it is typed and taken back, not walked in.
            Key::Character(_) | Key::Backspace | Key::Control('u' | 'w')
                if self.search.press(key) =>
            {
                self.searched();
            }
            _ => {}
        }
        Step::Stay
    }

    fn transcript(&self, answer: &Vec<usize>, width: usize, look: Look) -> Option<Row> {
        let names = names(&self.prompt.items, answer);
        Some(transcript(&self.prompt.heading, None, &names, width, look))
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Picking, Prompt, Step};
    use crate::face::terminal::{
        layout::Size,
        prompt::{Item, Look, Pick},
    };

    const PLAIN: Look = Look { colour: false, unicode: false, can_move: true };
    const NARROW: Size = Size { columns: 40, rows: 20 };

    fn item(name: &str, text: &str) -> Item {
        Item { name: name.into(), text: text.into(), note: None, chosen: false }
    }

    fn tools() -> Pick {
        let ripgrep = Item {
            note: Some("installed 14.1".into()),
            ..item("ripgrep", "searches directories for a pattern")
        };
        let items = vec![
            item("jq", "works with JSON"),
            ripgrep,
            Item { chosen: true, ..item("fd", "finds files, faster than find") },
            item("日本語", "日本語日本語日本語日本語日本語日本語日本語日本語"),
        ];
        Pick { heading: "Tools".into(), items, can_go_back: true }
    }

    fn text(prompt: &Picking<'_>, size: Size, look: Look) -> String {
        let rows = prompt.frame(size, false, look).rows;
        assert!(rows.iter().all(|row| row.width < size.columns), "{rows:?}");
        rows.iter().flat_map(|row| [&*row.text, "\n"]).collect()
    }

    fn search(prompt: &mut Picking<'_>, text: &str) {
        for character in text.chars() {
            prompt.press(Key::Character(character));
        }
    }

    #[test]
    fn forty_columns_without_colour_or_unicode_are_enough() {
        let pick = tools();
        let mut prompt = Picking::new(&pick);
        prompt.press(Key::Down);
        let text = text(&prompt, NARROW, PLAIN);
        assert!(text.is_ascii() && !text.contains('\u{1b}'));
        insta::assert_snapshot!(text, @r"
        Tools
        Search: type to search
          [ ] jq - works with JSON
        > [ ] ripgrep (installed 14.1) - sea...
          [x] fd - finds files, faster than ...
          [ ] \u{65e5}\u{672c}\u{8a9e} - \u{...
        1 chosen: fd
        Up/Down | Space chooses | Enter done
        Esc back
        ");
    }

    #[test]
    fn space_chooses_what_is_marked_and_keeps_the_search() {
        let pick = tools();
        let mut prompt = Picking::new(&pick);
        search(&mut prompt, "jq");
        prompt.press(Key::Character(' '));
        assert!(text(&prompt, NARROW, PLAIN).contains("Search: jq_  1 of 4\n> [x] jq"));
        assert_eq!(prompt.press(Key::Escape), Step::Stay, "the search is cleared first");
        assert!(text(&prompt, NARROW, PLAIN).contains("2 chosen: jq, fd"));
        assert_eq!(prompt.press(Key::Enter), Step::Done(vec![0, 2]));
        assert_eq!(prompt.press(Key::Escape), Step::Back);
        let row = prompt.transcript(&vec![0, 2], 39, PLAIN).unwrap();
        assert_eq!(row.text, "* Tools: jq, fd");
    }

    #[test]
    fn nothing_that_matches_is_said_and_chooses_nothing() {
        let pick = tools();
        let mut prompt = Picking::new(&pick);
        search(&mut prompt, "xyz");
        prompt.press(Key::Tab);
        prompt.press(Key::Down);
        assert!(text(&prompt, NARROW, PLAIN).contains("nothing matches \"xyz\""));
        assert_eq!(prompt.press(Key::Enter), Step::Done(vec![2]));
    }

    #[test]
    fn many_items_are_scrolled_and_the_block_fits_its_terminal() {
        let evil = "\u{1b}[2J\u{202e}\n".to_owned() + &"x".repeat(10_000);
        let items = (0..200).map(|number| item(&format!("tool{number}"), &evil)).collect();
        let pick = Pick { heading: "Tools".into(), items, can_go_back: false };
        for rows in [9, 20, 60] {
            let size = Size { columns: 40, rows };
            let mut prompt = Picking::new(&pick);
            for _ in 0..199 {
                let text = text(&prompt, size, Look { unicode: true, ..PLAIN });
                assert!(text.lines().count() <= rows && text.lines().any(|it| it.contains('❯')));
                assert!(!text.contains(['\u{1b}', '\u{202e}', '\r']));
                prompt.press(Key::Down);
            }
            assert!(text(&prompt, size, PLAIN).contains("> [ ] tool199"));
        }
        let low = Picking::new(&pick).frame(Size { columns: 40, rows: 4 }, true, PLAIN);
        assert_eq!((low.fixed.len(), low.rows.len()), (1, 4));
    }
}
