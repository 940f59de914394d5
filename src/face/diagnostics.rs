//! Mistakes in a catalog, each with the line it stands in.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::{plural, text::is_deceptive, visible};
use crate::engine::{Diagnostic, Severity};

/// How much of a line is shown before and behind a mistake, in characters.
const BEFORE: usize = 400;
const BEHIND: usize = 120;

pub fn diagnostic_text(found: &Diagnostic) -> String {
    let level = match found.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let message = visible(&found.message).into_owned();
    let name = visible(&found.source.name).into_owned();
    let mut group = Group::with_title(level.primary_title(message).id(found.code.name()));
    let line = Line::of(found);
    let key = visible(&found.key.to_string()).into_owned();
    group = match &line {
        None => group.element(Origin::path(name)),
        Some(line) => {
            let mark = AnnotationKind::Primary.span(line.start..line.end).label(key);
            let excerpt = Snippet::source(&line.text).line_start(found.place.line).annotation(mark);
            if line.is_cut {
                // The excerpt no longer knows its column.
                let (line, column) = (found.place.line, found.place.column);
                let origin = Origin::path(name).line(line).char_column(column);
                group.element(origin).element(excerpt)
            } else {
                group.element(excerpt.path(name))
            }
        }
    };
    if let Some(hint) = &found.hint {
        group = group.element(Level::HELP.message(visible(hint).into_owned()));
    }
    format!("{}\n", Renderer::plain().render(&[group]))
}

/// The line that a mistake stands in, safe to show, and where in it.
struct Line {
    text: String,
    start: usize,
    end: usize,
    /// Whether its beginning is left out.
    is_cut: bool,
}

impl Line {
    fn of(found: &Diagnostic) -> Option<Self> {
        let source = &found.source.text;
        if source.is_empty() {
            return None;
        }
        let place = found.place;
        let from = source[..place.start].rfind('\n').map_or(0, |at| at + 1);
        let to = source[place.start..].find('\n').map_or(source.len(), |at| place.start + at);
        let marked = source[place.start..place.end.clamp(place.start, to)].trim_end();
        let behind = source[place.start + marked.len()..to].trim_end();
        let before = source[from..place.start].trim_start_matches('\u{feff}');
        let cut = before.char_indices().rev().nth(BEFORE).map(|(at, _)| at);
        let mut text = shown(before[cut.unwrap_or(0)..].chars());
        let start = text.len();
        text.push_str(&shown(marked.chars().take(BEHIND)));
        let mut end = text.len();
        text.push_str(&shown(behind.chars().take(BEHIND)));
        if end == start {
            // Something has to be marked.
            end = text.ceil_char_boundary((start + 1).min(text.len()));
        }
        Some(Self { text, start, end, is_cut: cut.is_some() })
    }
}

/// A character for each character, so that columns stay what they are.
fn shown(characters: impl Iterator<Item = char>) -> String {
    characters.map(|c| if is_deceptive(c) && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// `3 files, 12 tasks, 1 profile: 2 errors, 1 warning`.
pub fn validation_summary(counts: &ValidationCounts, found: &[&Diagnostic]) -> String {
    let errors = found.iter().filter(|found| found.is_error()).count();
    let warnings = found.len() - errors;
    let mistakes = match (errors, warnings) {
        (0, 0) => "no mistakes".into(),
        (errors, 0) => plural(errors, "error"),
        (0, warnings) => plural(warnings, "warning"),
        (errors, warnings) => {
            format!("{}, {}", plural(errors, "error"), plural(warnings, "warning"))
        }
    };
    let ValidationCounts { files, tasks, profiles } = *counts;
    let (files, tasks, profiles) =
        (plural(files, "file"), plural(tasks, "task"), plural(profiles, "profile"));
    format!("{files}, {tasks}, {profiles}: {mistakes}\n")
}

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ValidationCounts {
    pub files: usize,
    pub tasks: usize,
    pub profiles: usize,
}

/// All of it, to be written as it is told: there may be very many mistakes.
#[derive(Debug, Serialize)]
pub struct ValidationReport<'a> {
    #[serde(flatten)]
    counts: ValidationCounts,
    diagnostics: Vec<Row<'a>>,
}

impl<'a> ValidationReport<'a> {
    pub fn new(counts: ValidationCounts, found: &[&'a Diagnostic]) -> Self {
        Self { counts, diagnostics: found.iter().map(|found| Row(found)).collect() }
    }
}

#[derive(Debug)]
struct Row<'a>(&'a Diagnostic);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(found) = self;
        let row = json!({
            "severity": found.severity.name(),
            "code": found.code.name(),
            "file": found.source.name,
            "line": found.place.line,
            "column": found.place.column,
            "key": found.key.to_string(),
            "message": found.message,
            "hint": found.hint,
        });
        row.serialize(serializer)
    }
}
