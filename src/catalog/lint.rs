//! What a lint has at hand: one file, the tree of it, and where to put what it finds.

use std::{ops::Range, sync::Arc};

use super::{
    diagnostic::{Code, Diagnostic, Source},
    node::Node,
    place::{KeyPath, Place},
};

pub struct Lint<'a> {
    pub source: &'a Arc<Source>,
    pub root: &'a Node,
    pub found: &'a mut Vec<Diagnostic>,
}

impl Lint<'_> {
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
        let place = self.root.find_key(key).place;
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
        self.found.push(Diagnostic::error(code, self.source, place, key.clone(), message));
        &mut self.found[at]
    }
}
