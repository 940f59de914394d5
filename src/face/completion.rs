//! What a session has come to, when it is over: what is installed, what was skipped and why, what to
//! know and what to do next, and where the record is.

use std::fmt::Write;

use super::{
    Terminal,
    paint::Paint,
    plural,
    text::{comma_list, counted},
    visible,
};
use crate::{
    engine::Summary,
    model::{SessionStatus, TaskRecord, TaskStatus},
};

/// How many suggestions are made: more are no help.
const SUGGESTIONS: usize = 5;

pub fn completion_text(summary: &Summary, terminal: Terminal) -> String {
    let paint = Paint(terminal.look());
    let session = &summary.session;
    let is_upkeep = |task: &TaskRecord| {
        let planned = summary.plan.as_ref().and_then(|plan| plan.task(&task.task_id));
        planned.is_some_and(|planned| planned.upkeep)
    };
    let of = |status: TaskStatus| {
        let tasks = session.tasks.values().filter(move |task| task.status == status);
        tasks.filter(|task| !is_upkeep(task)).map(AsRef::as_ref)
    };
    let mut text = String::from("\n");
    let (there, new): (Vec<&TaskRecord>, Vec<_>) =
        of(TaskStatus::Completed).partition(|task| was_there(task));
    let title = if session.meta.status == SessionStatus::Completed { "Done" } else { "So far" };
    let profile = session.profile.selected.as_deref().unwrap_or("custom");
    let counts = counted(&[(new.len(), "set up"), (there.len(), "there before")]);
    let counts = if counts.is_empty() { "nothing to do".to_owned() } else { counts };
    let _ = writeln!(text, "{}", paint.bold(&format!("{title}: {}, {counts}", visible(profile))));
    list(&mut text, terminal, &paint.done(), &new);
    list(&mut text, terminal, &paint.there(), &there);
    let skipped: Vec<&TaskRecord> = of(TaskStatus::Skipped).collect();
    if !skipped.is_empty() {
        let _ = writeln!(text, "\n{} skipped", plural(skipped.len(), "task"));
        for task in skipped {
            let why = task.skipped_reason.as_deref().unwrap_or("no reason is on record");
            let line = terminal.wrapped(&format!("{}: {why}", task.task_id), 4);
            let _ = writeln!(text, "  {} {}", paint.passed(), line.trim());
        }
    }
    if !summary.suggestions.is_empty() {
        let some = summary.suggestions.iter().take(SUGGESTIONS);
        let some = comma_list(some.map(|(id, name)| format!("{id} ({name})")));
        let _ = writeln!(text, "\nGoes well with it");
        let _ = writeln!(text, "{}", terminal.wrapped(&some, 2));
        let (id, first) = (&session.meta.id, &summary.suggestions[0].0);
        let _ = writeln!(text, "  provision expand {id} {first}");
    }
    let id = &session.meta.id;
    let _ = writeln!(text, "\nThe record of it");
    let _ = writeln!(text, "  provision status {id}");
    let _ = writeln!(text, "  provision report {id}");
    // In one piece: whoever copies it wants all of it.
    let _ = writeln!(text, "  {}", visible(&summary.document.to_string_lossy()));
    text
}

fn was_there(task: &TaskRecord) -> bool {
    let result = task.result.as_ref();
    result.is_some_and(|result| result.get("already_installed").is_some_and(|there| there == true))
}

/// A line for each, its version behind it.
fn list(text: &mut String, terminal: Terminal, sign: &str, tasks: &[&TaskRecord]) {
    let widest = tasks.iter().map(|task| task.task_id.as_str().chars().count()).max();
    let column = widest.unwrap_or(0).min(26);
    for task in tasks {
        let version = task.result_text("version");
        let version = version.map(visible).unwrap_or_default();
        let line = format!("{:<column$}  {version}", task.task_id.as_str());
        let room = terminal.width().saturating_sub(4);
        let _ = writeln!(text, "  {sign} {}", terminal.cut(line.trim_end(), room));
    }
}
