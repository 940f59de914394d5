//! What a lint has at hand: one file, the tree of it, and where to put what it finds.

use std::{ops::Range, sync::Arc};

use crate::model::TaskId;

use super::{
    diagnostic::{Code, Diagnostic, Source},
    node::Node,
    place::{KeyPath, Place},
};

pub struct Lint<'a> {
    source: &'a Arc<Source>,
    /// What is looked at: a whole file, or one task of it. Paths begin here.
    pub root: &'a Node,
    /// The way to it from the top of the file, and where its name stands.
    base: KeyPath,
    name: Place,
    found: &'a mut Vec<Diagnostic>,
}

impl<'a> Lint<'a> {
    pub fn of_file(
        source: &'a Arc<Source>,
        root: &'a Node,
        found: &'a mut Vec<Diagnostic>,
    ) -> Self {
        Self { source, root, base: KeyPath::root(), name: root.place, found }
    }

    pub fn of_task(
        source: &'a Arc<Source>,
        file: &'a Node,
        id: &TaskId,
        found: &'a mut Vec<Diagnostic>,
    ) -> Self {
        let entry = file.get("tasks").and_then(|tasks| tasks.entry(id.as_str()));
        Self {
            source,
            root: entry.map_or(file, |entry| &entry.value),
            base: KeyPath::root().key("tasks").key(id.as_str()),
            name: entry.map_or(file.place, |entry| entry.key.place),
            found,
        }
    }

    /// A mistake in the value at `key`.
    pub fn at(&mut self, code: Code, key: &KeyPath, message: impl Into<String>) -> &mut Diagnostic {
        let place = self.root.find(key).place;
        self.push(code, place, key, message.into())
    }

    /// A mistake that is told where the name of the value stands.
    pub fn at_key(
        &mut self,
        code: Code,
        key: &KeyPath,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let is_all = key.steps().is_empty();
        let place = if is_all { self.name } else { self.root.find_key(key).place };
        self.push(code, place, key, message.into())
    }

    /// A mistake in a part of a text, found again in the file if it stands there as it is.
    pub fn within(
        &mut self,
        code: Code,
        key: &KeyPath,
        text: &str,
        part: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let place = self.root.find(key).place;
        let place = self.part_of(place, text, part).unwrap_or(place);
        self.push(code, place, key, message.into())
    }

    /// Where a part of a scalar stands in the file. Quoting and folding change what stands where:
    /// it is looked for by what it says, and by how often that was said before.
    fn part_of(&self, whole: Place, text: &str, part: Range<usize>) -> Option<Place> {
        let words = &text[part.clone()];
        let before = text[..part.start].matches(words).count();
        let written = self.source.text.get(whole.start..whole.end)?;
        let (at, _) = written.match_indices(words).nth(before)?;
        let start = whole.start + at;
        Some(Place::of(&self.source.text, start, start + words.len()))
    }

    fn push(
        &mut self,
        code: Code,
        place: Place,
        key: &KeyPath,
        message: String,
    ) -> &mut Diagnostic {
        let at = self.found.len();
        let key = self.base.join(key);
        self.found.push(Diagnostic::error(code, self.source, place, key, message));
        &mut self.found[at]
    }
}
