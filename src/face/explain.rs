//! How one tool came to a machine, for a person and for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{
    Sheet,
    durations::{ago, took},
    text::{comma_list, one_line},
    visible,
};
use crate::{
    engine::{Appearance, Dependant, Explanation, Since, Verdict},
    model::{CommandRecord, TaskStatus, Timestamp},
};

/// How wide the column of labels is, with the space behind it.
const LABELS: usize = 11;

pub fn explanation_text(told: &Explanation, now: &Timestamp, sheet: Sheet) -> String {
    let mut text = String::new();
    let line =
        |text: &mut String, label: &str, what: &str| sheet.labelled(text, label, LABELS, what);
    line(&mut text, "tool", &format!("{} ({})", told.task_id, visible(&told.name)));
    if let Some(description) = &told.description {
        line(&mut text, "what", &visible(description));
    }
    line(&mut text, "now", &now_text(told));
    if let Some(expected) = &told.expected {
        let version = expected.version.as_deref().unwrap_or("a version nobody asked for");
        let how = match expected.how {
            Since::Brought => "installed by",
            Since::Found => "found by",
            Since::Adopted => "adopted in",
        };
        let when = ago(now, &expected.since);
        let then = format!("{}, {how} {} ({when})", visible(version), expected.session_id);
        line(&mut text, "then", &then);
    }
    line(&mut text, "so", &verdict_text(&told.verdict, now));
    for (number, appearance) in told.appearances.iter().enumerate() {
        line(&mut text, if number == 0 { "sessions" } else { "" }, &appearance_text(appearance));
        for command in &appearance.commands {
            // A command stays one line, to be copied.
            let _ = writeln!(text, "{:LABELS$}  $ {}", "", one_line(&command.command));
            sheet.labelled(&mut text, "", LABELS + 4, &command_text(command));
        }
    }
    if told.appearances.is_empty() {
        line(&mut text, "sessions", "none has had to do with it");
    }
    let (here, not): (Vec<_>, Vec<_>) = told.dependants.iter().partition(|one| one.is_there);
    let names = |list: &[&Dependant]| {
        let name = |one: &&Dependant| {
            let doubt = if one.needs_it { "" } else { " (can do without)" };
            format!("{}{doubt}", one.task_id)
        };
        comma_list(list.iter().map(name))
    };
    match here.as_slice() {
        [] => line(&mut text, "needed by", "nothing that is here"),
        some => line(&mut text, "needed by", &names(some)),
    }
    if !not.is_empty() {
        line(&mut text, "", &format!("and, not here: {}", names(&not)));
    }
    if let Some(url) = &told.docs_url {
        line(&mut text, "more", &visible(url));
    }
    text
}

fn now_text(told: &Explanation) -> String {
    let doubt = told.doubt.as_deref().map(visible);
    let Some(found) = &told.found else {
        return doubt
            .map_or_else(|| "not here".to_owned(), |why| format!("nobody can tell: {why}"));
    };
    let version = found.version.as_deref().map(visible);
    let version = version.unwrap_or_else(|| "here, in a version it does not tell".into());
    let place = found.path.as_deref().map(|path| format!(" at {}", visible(path)));
    let doubt = doubt.map(|why| format!(" ({why})"));
    format!("{version}{}{}", place.unwrap_or_default(), doubt.unwrap_or_default())
}

fn verdict_text(verdict: &Verdict, now: &Timestamp) -> String {
    match verdict {
        Verdict::AsItWas(_) => "it is as it was".into(),
        Verdict::Changed(changed) => {
            format!("it has changed since: {} → {}", visible(&changed.from), visible(&changed.to))
        }
        Verdict::Removed(_) => "it was removed since, and no session did that".into(),
        Verdict::AddedOutside(added) => format!(
            "it came without a session: {} it was not there ({})",
            ago(now, &added.since),
            added.session_id
        ),
        Verdict::Unknown => "whether it is still there cannot be told".into(),
        Verdict::Unfinished => {
            "it is here, and a session that did not complete it may have brought it".into()
        }
        Verdict::Unaccounted => "it is here, and no session says since when".into(),
        Verdict::NotHere => "it is not here, and no session says that it ought to be".into(),
    }
}

fn appearance_text(appearance: &Appearance) -> String {
    let version = appearance.version.as_deref().map_or("it".into(), visible);
    let what = match appearance.status {
        TaskStatus::Completed if appearance.was_there => format!("found {version}"),
        TaskStatus::Completed => format!("installed {version}"),
        TaskStatus::Failed => "failed to install it".into(),
        TaskStatus::Skipped => "skipped it".into(),
        TaskStatus::InProgress => "was at it".into(),
        TaskStatus::Pending => "has not come to it".into(),
    };
    let place = appearance.path.as_deref().map(|path| format!(" at {}", visible(path)));
    let reason = appearance.reason.as_deref().map(|reason| format!(": {}", visible(reason)));
    format!(
        "{} {what}{} on {}{}",
        appearance.session_id,
        place.unwrap_or_default(),
        appearance.at.readable(),
        reason.unwrap_or_default()
    )
}

fn command_text(command: &CommandRecord) -> String {
    let end = match command.exit_code {
        Some(code) => format!("exit code {code}"),
        None => visible(command.error.as_deref().unwrap_or("no exit code")).into_owned(),
    };
    let mut parts = vec![end];
    if let Some(millis) = command.duration_ms {
        parts.push(took(std::time::Duration::from_millis(millis)));
    }
    if let Some(attempts) = command.attempts.filter(|attempts| *attempts > 1) {
        parts.push(format!("{attempts} attempts"));
    }
    parts.push(format!("on {}", command.executed_at.readable()));
    if command.task_ids.len() > 1 {
        parts.push(format!("for {}", comma_list(&command.task_ids)));
    }
    parts.join(", ")
}

pub fn explanation_json(told: &Explanation) -> Value {
    let (verdict, detail) = match &told.verdict {
        Verdict::AsItWas(kept) => ("still_installed", json!(kept)),
        Verdict::Changed(changed) => ("version_changed", json!(changed)),
        Verdict::Removed(removed) => ("removed", json!(removed)),
        Verdict::AddedOutside(added) => ("added_outside", json!(added)),
        Verdict::Unknown => ("unknown", Value::Null),
        Verdict::Unfinished => ("unfinished", Value::Null),
        Verdict::Unaccounted => ("unaccounted", Value::Null),
        Verdict::NotHere => ("not_here", Value::Null),
    };
    let appearance = |one: &Appearance| {
        json!({
            "session_id": one.session_id, "status": one.status, "already_installed": one.was_there,
            "at": one.at, "version": one.version, "path": one.path, "reason": one.reason,
            "commands": one.commands,
        })
    };
    let dependants: Vec<_> = told
        .dependants
        .iter()
        .map(|one| {
            json!({"task_id": one.task_id, "required": one.needs_it, "installed": one.is_there})
        })
        .collect();
    json!({
        "task_id": told.task_id,
        "name": told.name,
        "category": told.category,
        "installed": told.found.is_some(),
        "version": told.found.as_ref().and_then(|found| found.version.as_deref()),
        "path": told.found.as_ref().and_then(|found| found.path.as_deref()),
        "doubt": told.doubt,
        "expected": told.expected,
        "verdict": verdict,
        "detail": detail,
        "sessions": told.appearances.iter().map(appearance).collect::<Vec<_>>(),
        "needed_by": dependants,
        "notes": told.notes,
    })
}
