//! YAML as a tree that remembers where everything stood and how it was written.
//!
//! Scalars keep their text: `3.10` is not 3.1, `012` not 10, `no` not false. What a file may cost
//! is bounded before it is known what is in it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::{
    DuplicateKeyPolicy, Error, Location, NonFiniteFloatPolicy, Options, Spanned,
    budget::BudgetBreach, options,
};

use super::place::{KeyPath, Place, Step};

/// The most values a file may hold, those that aliases repeat included.
pub const MOST_NODES: usize = 100_000;
/// How deep values may stand in each other.
const MOST_DEPTH: usize = 32;
/// The most text a file may hold, that which aliases repeat included.
const MOST_TEXT: usize = 8 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub place: Place,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Null,
    /// `true` or `false`, not quoted, and as it was written.
    Flag(bool, String),
    /// A number as it was written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: Node,
    pub value: Node,
}

/// Why a text is not a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub place: Place,
    pub message: String,
    /// It may be YAML, but it asks for more than any catalog needs.
    pub is_too_much: bool,
}

impl Node {
    /// Reads the one document in `text`.
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        let read = serde_yaml::from_str_with_options::<Spanned<Raw>>(text, limits());
        read.map(|root| Self::build(root, text)).map_err(|error| unreadable(&error, text))
    }

    fn build(raw: Spanned<Raw>, text: &str) -> Self {
        let place = place_of(&raw.referenced, text);
        let written = || {
            let place = place_of(&raw.defined, text);
            text[place.start..place.end].to_owned()
        };
        let content = match raw.value {
            Raw::Null => Content::Null,
            Raw::Flag(flag) => Content::Flag(flag, written()),
            Raw::Number => Content::Number(written()),
            Raw::Text(words) => Content::Text(words),
            Raw::List(items) => {
                Content::List(items.into_iter().map(|item| Self::build(item, text)).collect())
            }
            Raw::Map(entries) => {
                let entry = |(key, value): (Spanned<Raw>, Spanned<Raw>)| Entry {
                    key: Self::build(key, text),
                    value: Self::build(value, text),
                };
                Content::Map(entries.into_iter().map(entry).collect())
            }
        };
        Self { place, content }
    }

    /// The text of a scalar; of `null` there is none.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) | Content::Number(text) | Content::Flag(_, text) => Some(text),
            Content::Null | Content::List(_) | Content::Map(_) => None,
        }
    }

    pub fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The entry with this key: of several the last.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries().iter().rev().find(|entry| entry.key.text() == Some(name))
    }

    pub fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|entry| &entry.value)
    }

    /// The value at the end of a path.
    pub fn lookup(&self, path: &KeyPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, Self::step)
    }

    /// Returns the items of the list at the end of a path, each with its own path.
    pub fn items(&self, path: &KeyPath) -> Vec<(KeyPath, &Self)> {
        let items = match self.lookup(path).map(|node| &node.content) {
            Some(Content::List(items)) => items.as_slice(),
            _ => &[],
        };
        items.iter().enumerate().map(|(number, item)| (path.item(number), item)).collect()
    }

    /// As [`Node::lookup`]; where nothing is there, the last value on the way.
    pub fn find(&self, path: &KeyPath) -> &Self {
        let mut node = self;
        for step in path.steps() {
            match node.step(step) {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    fn step(&self, step: &Step) -> Option<&Self> {
        match (step, &self.content) {
            (Step::Key(name), _) => self.get(name),
            (Step::Item(number), Content::List(items)) => items.get(*number),
            (Step::Item(_), _) => None,
        }
    }

    /// As [`Node::find`], but where its key stands, if it has one.
    pub fn find_key(&self, path: &KeyPath) -> &Self {
        if let Some((Step::Key(name), way)) = path.steps().split_last()
            && let Some(above) = way.iter().try_fold(self, Self::step)
            && let Some(entry) = above.entry(name)
        {
            return &entry.key;
        }
        self.find(path)
    }

    /// How many values there are, keys included.
    pub fn count(&self) -> usize {
        match &self.content {
            Content::List(items) => items.iter().map(Self::count).sum::<usize>() + 1,
            Content::Map(entries) => {
                entries.iter().map(|e| e.key.count() + e.value.count()).sum::<usize>() + 1
            }
            _ => 1,
        }
    }

    /// What it is, in words: `the text "jq"`, `a list`.
    pub fn describe(&self) -> String {
        const LONGEST: usize = 40;
        match &self.content {
            Content::Null => "nothing".into(),
            Content::Flag(_, text) => format!("`{text}`"),
            Content::Number(text) => format!("the number `{text}`"),
            Content::Text(text) if text.contains('\n') => "a text of several lines".into(),
            Content::Text(text) if text.chars().count() > LONGEST => {
                format!("the text `{}…`", text.chars().take(LONGEST).collect::<String>())
            }
            Content::Text(text) => format!("the text `{text}`"),
            Content::List(_) => "a list".into(),
            Content::Map(_) => "a mapping".into(),
        }
    }
}

fn limits() -> Options {
    options! {
        budget: serde_yaml::budget! {
            max_depth: MOST_DEPTH,
            max_nodes: MOST_NODES,
            max_total_scalar_bytes: MOST_TEXT,
            // One anchor may well serve a hundred tasks: what aliases repeat is counted anyway.
            enforce_alias_anchor_ratio: false,
        },
        // They are let through to be reported, each with its place.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        // Any number goes, as long as nobody computes with it.
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    }
}

fn place_of(location: &Location, text: &str) -> Place {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let span = location.span();
    let start = number(span.byte_offset().unwrap_or(0)).min(text.len());
    let end = start.saturating_add(number(span.byte_len().unwrap_or(0))).min(text.len());
    Place {
        line: number(location.line()).max(1),
        column: number(location.column()).max(1),
        start: text.floor_char_boundary(start),
        end: text.ceil_char_boundary(end),
    }
}

fn unreadable(error: &Error, text: &str) -> Unreadable {
    let place = error.location().map_or(Place::BEGINNING, |location| place_of(&location, text));
    // Without a span of its own, a mistake still has a line and a column.
    let place = if place.start == 0 { by_line(text, place) } else { place };
    let (message, is_too_much) = words(error);
    Unreadable { place, message, is_too_much }
}

/// A place whose bytes are looked up by its line and column.
fn by_line(text: &str, place: Place) -> Place {
    let mut start = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number + 1 == place.line {
            let into = line.char_indices().nth(place.column - 1).map_or(line.len(), |(at, _)| at);
            return Place { start: start + into, end: start + into, ..place };
        }
        start += line.len();
    }
    Place { start: text.len(), end: text.len(), ..place }
}

fn words(error: &Error) -> (String, bool) {
    match error.without_snippet() {
        Error::AliasError { error, .. } => words(error),
        Error::Budget { breach, .. } => (breach_words(breach), true),
        Error::MultipleDocuments { .. } => {
            ("a second document begins here: write one document to a file".into(), false)
        }
        Error::ExternalMessage { msg, .. } if msg.contains("recursion limit") => {
            (format!("values stand too deep in each other: the most is {MOST_DEPTH}"), true)
        }
        other => {
            let text = other.to_string();
            if text.contains("recursive references") {
                return ("the alias stands inside of what it repeats".into(), false);
            }
            // The place is told elsewhere.
            let message = text.split(" at line ").next().unwrap_or_default();
            (message.to_owned(), false)
        }
    }
}

fn breach_words(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Depth { .. } => {
            format!("values stand too deep in each other: the most is {MOST_DEPTH}")
        }
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => {
            format!("there are too many values: the most is {MOST_NODES} to a file")
        }
        BudgetBreach::ScalarBytes { .. } => {
            "there is too much text, with what aliases repeat".into()
        }
        _ => "there are too many aliases: write out what is meant".into(),
    }
}

/// What the parser hands over, before texts are looked up in the source.
enum Raw {
    Null,
    Flag(bool),
    Number,
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Raw, E> {
        Ok(Raw::Flag(flag))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Raw, E> {
        Ok(Raw::Text(text))
    }

    fn visit_bytes<E: serde::de::Error>(self, _: &[u8]) -> Result<Raw, E> {
        Err(E::custom("a catalog holds text, nothing that is encoded"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
            within(list.len())?;
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
            within(map.len())?;
        }
        Ok(Raw::Map(map))
    }
}

/// The parser counts as well; this is for what it may not count, such as merged entries.
fn within<E: serde::de::Error>(length: usize) -> Result<(), E> {
    if length > MOST_NODES { Err(E::custom("there are too many values")) } else { Ok(()) }
}
