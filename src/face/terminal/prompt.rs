//! What a prompt is made of, and how it can end. Plain data.

use std::fmt;

/// How the terminal is to be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub colour: bool,
    /// Whether anything but ASCII can be shown.
    pub unicode: bool,
    /// Whether the cursor can be moved; `false` for `TERM=dumb`.
    pub can_move: bool,
}

/// Why a prompt ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Ctrl-C, or the signal that stands for it.
    Interrupted,
    /// We are to go: SIGTERM or Ctrl-\.
    Terminated,
    /// The terminal is gone.
    HungUp,
    /// Ctrl-D where nothing was typed.
    EndOfInput,
    /// Nobody wants the answer any more.
    NotWanted,
}

impl Left {
    /// What is recorded of somebody who left.
    pub fn why(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted with Ctrl-C",
            Self::Terminated => "the run was asked to terminate",
            Self::HungUp => "the terminal was closed",
            Self::EndOfInput => "left with Ctrl-D",
            Self::NotWanted => "the run was asked to stop",
        }
    }
}

/// How a prompt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<T> {
    Answer(T),
    /// The person wants the question before this one.
    Back,
    Left(Left),
}

/// One of several, by letter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The question; lines after the first explain it.
    pub heading: String,
    /// `(3, 9)` is shown as `3 of 9`.
    pub place: Option<(usize, usize)>,
    pub options: Vec<Lettered>,
    /// Marked at first; else the first option is.
    pub default: Option<char>,
    pub can_go_back: bool,
    /// A short name for the line that stays; else the first line of the heading.
    pub summary: Option<String>,
    /// Whether something is set in motion: Enter alone, which may have been meant for the question
    /// before, takes nothing. It does once something was marked.
    pub is_weighty: bool,
    /// Letters that only show something: they leave no line.
    pub passing: Vec<char>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lettered {
    pub letter: char,
    pub text: String,
    /// What it means.
    pub hint: Option<String>,
    /// A key that is only offered beside the others, and whose answer leaves no line.
    pub is_quiet: bool,
}

impl Choice {
    pub fn new(heading: impl Into<String>, options: Vec<Lettered>) -> Self {
        Self { heading: heading.into(), options, ..Self::default() }
    }
}

impl Lettered {
    pub fn new(letter: char, text: impl Into<String>) -> Self {
        Self { letter, text: text.into(), hint: None, is_quiet: false }
    }

    /// With what it means.
    #[must_use]
    pub fn meaning(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// A key that is only offered beside the others.
    pub fn quiet(letter: char, text: impl Into<String>) -> Self {
        Self { is_quiet: true, ..Self::new(letter, text) }
    }
}

/// Something typed.
#[derive(Clone)]
pub struct Line<'a> {
    pub heading: String,
    pub place: Option<(usize, usize)>,
    /// Taken by Enter where nothing was typed, and put into the line by Tab.
    pub default: Option<String>,
    /// Nothing of it is shown, not even its length.
    pub hidden: bool,
    pub can_go_back: bool,
    pub summary: Option<String>,
    /// What is wrong with an answer, if anything.
    pub check: &'a dyn Fn(&str) -> Result<(), String>,
}

impl fmt::Debug for Line<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Line")
            .field("heading", &self.heading)
            .field("hidden", &self.hidden)
            .finish_non_exhaustive()
    }
}

/// Any number of many, found by typing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    pub heading: String,
    pub items: Vec<Item>,
    pub can_go_back: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub name: String,
    pub text: String,
    /// Something to know about it, such as `installed 14.1`.
    pub note: Option<String>,
    /// Whether it is chosen at first.
    pub chosen: bool,
}
