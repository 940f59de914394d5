//! Mistakes in a catalog, each with the line it stands in.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use super::{plural, text::is_deceptive, visible};
use crate::engine::{Diagnostic, Severity};

/// How much of a line is shown behind a mistake.
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
    group = match &line {
        Some(line) => group.element(
            Snippet::source(&line.text)
                .path(name)
                .line_start(found.place.line)
                .annotation(AnnotationKind::Primary.span(line.start..line.end)),
        ),
        None => group.element(Origin::path(name)),
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
        let mut text = shown(source[from..place.start].trim_start_matches('\u{feff}').chars());
        let start = text.len();
        text.push_str(&shown(marked.chars().take(BEHIND)));
        let mut end = text.len();
        text.push_str(&shown(behind.chars().take(BEHIND)));
        if end == start {
            // Something has to be marked.
            end = text.ceil_char_boundary((start + 1).min(text.len()));
        }
        Some(Self { text, start, end })
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValidationCounts {
    pub files: usize,
    pub tasks: usize,
    pub profiles: usize,
}

pub fn validation_json(counts: &ValidationCounts, found: &[&Diagnostic]) -> Value {
    let diagnostic = |found: &&Diagnostic| {
        json!({
            "severity": found.severity.name(),
            "code": found.code.name(),
            "file": found.source.name,
            "line": found.place.line,
            "column": found.place.column,
            "key": found.key.to_string(),
            "message": found.message,
            "hint": found.hint,
        })
    };
    json!({
        "files": counts.files,
        "tasks": counts.tasks,
        "profiles": counts.profiles,
        "diagnostics": found.iter().map(diagnostic).collect::<Vec<_>>(),
    })
}
