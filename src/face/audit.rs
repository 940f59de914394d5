//! What is on a machine and how it has changed, for a person and for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Sheet, durations::ago, plural, text::comma_list, visible};
use crate::{
    engine::{Audit, NowKnown, Reverified, Sessions, Share, Since, Tool},
    model::{BaselineOrigin, SessionId, Timestamp},
};

/// How wide a bar is.
const BAR: usize = 20;
/// The widest column of ids, and of versions.
const COLUMNS: (usize, usize) = (26, 18);

/// How much of something there is.
fn bar(sheet: Sheet, share: &Share) -> String {
    let (full, empty) = if sheet.terminal.look().unicode { ("█", "░") } else { ("#", "-") };
    let room = if sheet.width.is_some_and(|width| width < 60) { BAR / 2 } else { BAR };
    let filled = (share.installed * room).div_ceil(share.total.max(1)).min(room);
    full.repeat(filled) + &empty.repeat(room - filled)
}

/// The whole of it: a table by category, then what has changed.
pub fn audit_text(audit: &Audit, sheet: Sheet) -> String {
    let mut text = String::new();
    let machine = &audit.machine;
    let heading = format!("{}, {}", visible(&machine.hostname), visible(&machine.os_version));
    let total: usize = audit.shares().iter().map(|share| share.total).sum();
    sheet.line(&mut text, &heading);
    let here = format!("{} of {total} tools and settings are here", audit.installed());
    sheet.line(&mut text, &here);
    let column = |of: &dyn Fn(&Tool) -> usize, most: usize| {
        audit.tools.iter().filter(|tool| tool.found.is_some()).map(of).max().unwrap_or(0).min(most)
    };
    let ids = column(&|tool| tool.task_id.as_str().chars().count(), COLUMNS.0);
    let versions = column(&|tool| version(tool).chars().count(), COLUMNS.1);
    for share in audit.shares().iter().filter(|share| share.total > 0) {
        let tools = audit.tools.iter().filter(|tool| tool.category == share.category);
        let (here, not): (Vec<&Tool>, Vec<_>) = tools.partition(|tool| tool.found.is_some());
        text.push('\n');
        let category = visible(&share.category);
        let (bar, installed, total) = (bar(sheet, share), share.installed, share.total);
        sheet.line(&mut text, &format!("{category:<18} {bar} {installed} of {total}"));
        for tool in here {
            let place = tool.found.as_ref().and_then(|found| found.path.as_deref());
            let place = visible(place.unwrap_or_default());
            let (id, version) = (tool.task_id.as_str(), version(tool));
            sheet.line(&mut text, &format!("  {id:<ids$}  {version:<versions$}  {place}"));
        }
        let missing = not.iter().filter(|tool| tool.can_be_had && tool.doubt.is_none());
        let missing: Vec<_> = missing.map(|tool| tool.task_id.as_str()).collect();
        if !missing.is_empty() {
            sheet.names(&mut text, "not here:", &comma_list(&missing));
        }
    }
    doubts(&mut text, audit, sheet);
    verifications(&mut text, audit, sheet);
    changes(&mut text, audit, sheet);
    text
}

fn version(tool: &Tool) -> String {
    let version = tool.found.as_ref().and_then(|found| found.version.as_deref());
    visible(version.unwrap_or_default()).into_owned()
}

fn doubts(text: &mut String, audit: &Audit, sheet: Sheet) {
    let doubtful: Vec<_> = audit.tools.iter().filter(|tool| tool.doubt.is_some()).collect();
    if doubtful.is_empty() {
        return;
    }
    sheet.line(text, "\nNobody can tell");
    for tool in doubtful {
        let what = if tool.found.is_some() { "which version it is" } else { "whether it is here" };
        let why = tool.doubt.as_deref().unwrap_or_default();
        sheet.names(text, &format!("{}:", tool.task_id), &format!("{what}: {}", visible(why)));
    }
}

fn verifications(text: &mut String, audit: &Audit, sheet: Sheet) {
    if audit.verifications.is_empty() {
        return;
    }
    sheet.line(text, "\nChecks that were put off");
    for one in &audit.verifications {
        let (sign, what) = outcome(one);
        let mut said = what;
        if let NowKnown::Fails(_) = one.now {
            let (session, task) = (&one.session_id, &one.task_id);
            let _ = write!(
                said,
                "; `provision override {session} {task} --reason TEXT` takes it as it is"
            );
        }
        if let Some(why) = &one.unrecorded {
            let _ = write!(said, " (not recorded: {})", visible(why));
        }
        sheet.names(text, &format!("{sign:<8} {}:", one.task_id), &said);
    }
}

fn outcome(one: &Reverified) -> (&'static str, String) {
    match &one.now {
        NowKnown::Works if one.unrecorded.is_some() => ("works", "it passes now".into()),
        NowKnown::Works => ("works", "it is recorded as verified".into()),
        NowKnown::Fails(error) => ("fails", visible(error).into_owned()),
        NowKnown::StillOpen(why) => ("open", format!("still nobody can tell: {why}")),
    }
}

fn changes(text: &mut String, audit: &Audit, sheet: Sheet) {
    if audit.sessions == 0 {
        sheet.line(text, "\nNo session has set up this machine: there is nothing to compare with.");
        return;
    }
    let drift = &audit.drift;
    let sessions = plural(audit.sessions, "session");
    let kept = drift.still_installed.len();
    if drift.count() == 0 {
        let as_left = format!("\nAs {sessions} left it: {} still here", plural(kept, "tool"));
        sheet.line(text, &as_left);
    } else {
        sheet.line(text, &format!("\nChanged since {sessions}"));
    }
    let since = |since: &Sessions| said_by(since, &audit.taken_at);
    let lines = drift.version_changed.iter().map(|one| {
        let versions = format!("{} → {}", visible(&one.from), visible(&one.to));
        let versions = sheet.terminal.showable(&versions).into_owned();
        ("changed", &one.task_id, versions, since(&one.since))
    });
    let gone = drift.removed.iter().map(|one| {
        let version = visible(one.version.as_deref().unwrap_or_default()).into_owned();
        ("removed", &one.task_id, version, since(&one.since))
    });
    let added = drift.added_outside.iter().map(|one| {
        let version = visible(one.version.as_deref().unwrap_or_default()).into_owned();
        let when = format!("not there {} ({})", ago(&audit.taken_at, &one.since), one.session_id);
        ("outside", &one.task_id, version, when)
    });
    let lines: Vec<_> = lines.chain(gone).chain(added).collect();
    let width = |of: &dyn Fn(usize) -> usize, most: usize| {
        (0..lines.len()).map(of).max().unwrap_or(0).min(most)
    };
    let ids = width(&|at| lines[at].1.as_str().chars().count(), COLUMNS.0);
    let versions = width(&|at| lines[at].2.chars().count(), 2 * COLUMNS.1);
    for (what, id, version, since) in &lines {
        let id = id.as_str();
        sheet.line(text, &format!("  {what:<8} {id:<ids$}  {version:<versions$}  {since}"));
    }
    if drift.count() > 0 && kept > 0 {
        sheet.line(text, &format!("  {} still as they were", plural(kept, "other tool")));
    }
    if audit.baseline.is_none() {
        sheet.line(text, "What came besides is not known: no session wrote down what was there.");
    }
}

/// `since prov-… (3 days ago)`
fn said_by(since: &Sessions, now: &Timestamp) -> String {
    let when = ago(now, &since.since);
    match since.how {
        Since::Brought => format!("installed by {} ({when})", since.session_id),
        Since::Found => format!("found by {} ({when})", since.session_id),
        Since::Adopted => format!("adopted {when} ({})", since.session_id),
    }
}

/// What is left to do about it, for a person.
pub fn audit_hints(audit: &Audit) -> String {
    let drift = &audit.drift;
    let changed = drift.version_changed.iter().map(|one| &one.task_id);
    let gone = drift.removed.iter().map(|one| &one.task_id);
    let added = drift.added_outside.iter().map(|one| &one.task_id);
    let Some(first) = gone.chain(changed).chain(added).next() else { return String::new() };
    let mut hints = format!("hint: `provision audit --explain {first}` tells how it came here\n");
    hints.push_str("hint: `provision audit --adopt` takes the machine as it is now\n");
    hints
}

/// Drift in a line, for whoever comes back; nothing where there is none.
pub fn drift_line(drift: &crate::engine::Drift) -> Option<String> {
    let counts = [
        (drift.version_changed.len(), "has another version", "have other versions"),
        (drift.removed.len(), "is gone", "are gone"),
        (drift.added_outside.len(), "was added outside", "were added outside"),
    ];
    let some: Vec<_> = counts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, more)| format!("{count} {}", if *count == 1 { one } else { more }))
        .collect();
    (!some.is_empty()).then(|| {
        format!("The machine has changed since: {}. `provision audit` tells.", some.join(", "))
    })
}

/// The document for programs.
pub fn audit_json(audit: &Audit, adopted: Option<&SessionId>) -> Value {
    let drift = &audit.drift;
    let tool = |tool: &Tool| {
        let found = tool.found.as_ref();
        json!({
            "task_id": tool.task_id,
            "name": tool.name,
            "category": tool.category,
            "installed": found.is_some(),
            "version": found.and_then(|found| found.version.as_deref()),
            "path": found.and_then(|found| found.path.as_deref()),
            "available": tool.can_be_had,
            "doubt": tool.doubt,
            "expected": tool.expected,
        })
    };
    let verification = |one: &Reverified| {
        let (outcome, detail) = match &one.now {
            NowKnown::Works => ("works", None),
            NowKnown::Fails(error) => ("fails", Some(error.as_str())),
            NowKnown::StillOpen(why) => ("open", Some(*why)),
        };
        json!({
            "session_id": one.session_id, "task_id": one.task_id, "command": one.command,
            "outcome": outcome, "detail": detail, "unrecorded": one.unrecorded,
        })
    };
    let share = |share: &Share| json!({"category": share.category, "installed": share.installed, "total": share.total});
    let shares = audit.shares();
    json!({
        "machine": audit.machine,
        "taken_at": audit.taken_at,
        "quick": audit.quick,
        "tools": audit.tools.iter().map(tool).collect::<Vec<_>>(),
        "drift": drift,
        "baseline": audit.baseline.as_ref().map(|known| json!({
            "session_id": known.session_id,
            "recorded_at": known.at,
            "origin": match known.origin {
                BaselineOrigin::Completion => "completion",
                BaselineOrigin::Adopted => "adopted",
            },
        })),
        "verifications": audit.verifications.iter().map(verification).collect::<Vec<_>>(),
        "adopted": adopted,
        "notes": audit.notes,
        "summary": {
            "tools": shares.iter().map(|share| share.total).sum::<usize>(),
            "installed": audit.installed(),
            "doubtful": audit.tools.iter().filter(|tool| tool.doubt.is_some()).count(),
            "sessions": audit.sessions,
            "drift": drift.count(),
            "still_installed": drift.still_installed.len(),
            "version_changed": drift.version_changed.len(),
            "removed": drift.removed.len(),
            "added_outside": drift.added_outside.len(),
            "categories": shares.iter().map(share).collect::<Vec<_>>(),
        },
    })
}
