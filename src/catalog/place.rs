//! Where in a file something stands.

use std::fmt;

/// A stretch of a file. Lines and columns count characters, from 1; the range counts bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    pub start: usize,
    pub end: usize,
}

impl Place {
    /// The beginning of a file: where mistakes stand that are about all of it.
    pub const BEGINNING: Self = Self { line: 1, column: 1, start: 0, end: 0 };

    /// The stretch of `text` that `start` and `end` enclose, in bytes.
    pub fn of(text: &str, start: usize, end: usize) -> Self {
        let start = text.floor_char_boundary(start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        // A byte order mark is no character of the first line.
        let column = before[line_start..].trim_start_matches('\u{feff}').chars().count() + 1;
        Self { line, column, start, end: text.ceil_char_boundary(end).max(start) }
    }
}

/// The way from the top of a document to a value in it: `tasks.jq.install.steps[0].command`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Item(usize),
}

impl KeyPath {
    pub fn root() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn key(&self, name: &str) -> Self {
        self.then(Step::Key(name.to_owned()))
    }

    #[must_use]
    pub fn item(&self, number: usize) -> Self {
        self.then(Step::Item(number))
    }

    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Where the value stands in: the way without its last step.
    #[must_use]
    pub fn above(&self) -> Self {
        Self(self.0.iter().take(self.0.len().saturating_sub(1)).cloned().collect())
    }

    /// This way, and on from its end.
    #[must_use]
    pub fn join(&self, further: &Self) -> Self {
        Self(self.0.iter().chain(&further.0).cloned().collect())
    }

    fn then(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(name) if number == 0 => f.write_str(name)?,
                Step::Key(name) => write!(f, ".{name}")?,
                Step::Item(item) => write!(f, "[{item}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyPath, Place};

    #[test]
    fn columns_count_characters_and_lines_count_from_one() {
        let text = "a: ü\nbé: {{x}}\n";
        let at = text.find("{{").unwrap();
        let place = Place::of(text, at, at + 5);
        assert_eq!((place.line, place.column), (2, 5));
        assert_eq!(&text[place.start..place.end], "{{x}}");
    }

    #[test]
    fn a_path_reads_like_the_file() {
        let path = KeyPath::root().key("tasks").key("jq").key("steps").item(2).key("command");
        assert_eq!(path.to_string(), "tasks.jq.steps[2].command");
    }
}
