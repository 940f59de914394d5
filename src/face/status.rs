//! Where a session stands, for a person who may know nothing of it.

use std::{fmt::Write, time::Duration};

use super::{
    durations::{about, ago, took_seconds},
    plural,
    text::{comma_list, first_names, one_line},
    visible,
};
use crate::{
    engine::{Candidate, Chain, Context, Link, TaskLine},
    model::{Checkpoint, Phase, Seconds, SessionStatus, TaskStatus, Timestamp},
};

/// How many tasks of a kind are named: more are no help, and `--json` has them all.
const NAMED: usize = 12;

/// Lines with a name in front of them; one that is the same as before is not repeated.
#[derive(Default)]
struct Lines {
    text: String,
    last: &'static str,
}

impl Lines {
    fn line(&mut self, name: &'static str, value: &str) {
        let shown = if name == self.last { "" } else { name };
        let _ = writeln!(self.text, "{shown:<9} {value}");
        self.last = name;
    }
}

pub fn status_text(context: &Context) -> String {
    let mut lines = Lines::default();
    let session = match &context.profile {
        Some(profile) => format!("{} ({})", context.session_id, visible(profile)),
        None => context.session_id.to_string(),
    };
    lines.line("session", &session);
    lines.line("machine", &visible(&context.hostname));
    if let Some(step) = context.expansion_history.last() {
        lines.line("adds to", step.session_id.as_str());
    }
    lines.line("status", context.status.name());
    progress(&mut lines, context);
    phases(&mut lines, context);
    tasks(&mut lines, context);
    for current in &context.current {
        let command = one_line(&current.command);
        // Of one that nobody is at work on, nobody knows.
        let name = if current.silent_seconds.is_some() { "running" } else { "last ran" };
        let tasks = first_names(&current.task_ids, NAMED);
        lines.line(name, &format!("{tasks}: {command}"));
        if let Some(silent) = current.silent_seconds.as_ref().filter(|_| current.stalled) {
            let usual = current.usual_seconds.as_ref().map(about_seconds);
            let usual =
                usual.map_or_else(String::new, |usual| format!("; it used to take {usual}"));
            let what = format!("{tasks}: no output for {}{usual}", took_seconds(silent));
            lines.line("stalled", &what);
        }
    }
    for failed in &context.failed {
        let what = failed.command.as_deref().map(one_line).unwrap_or_default();
        lines.line("failed", &format!("{}: {what}", failed.task_id));
        let class = failed.error_type.as_deref().map(|class| format!(" ({})", visible(class)));
        if let Some(error) = &failed.error {
            lines.line("failed", &format!("{}{}", visible(error), class.unwrap_or_default()));
        }
        if let Some(reason) = &failed.overridden {
            lines.line("failed", &format!("taken as it is: {}", visible(reason)));
        } else if let Some(advice) = &failed.suggested_resolution {
            lines.line("failed", &visible(advice));
        }
    }
    if let Some(why) = &context.paused_because {
        lines.line("because", &visible(why));
    }
    for gate in &context.blocked_by {
        lines.line("gate", &super::gate_text(gate));
    }
    if !context.needs_review.is_empty() {
        let names = comma_list(&context.needs_review);
        let id = &context.session_id;
        let how = format!("`provision revise {id} --reviewed` once you have looked");
        lines.line("review", &format!("{names}; {how}"));
    }
    if let Some(pending) = &context.pending {
        lines.line("decision", &visible(pending));
    }
    lines.line("next", &visible(&context.next));
    lines.text
}

fn progress(lines: &mut Lines, context: &Context) {
    let (progress, timing) = (&context.progress, &context.timing);
    let phase = context.phase;
    let spent = timing.phase_seconds.as_ref();
    let spent = spent.map_or_else(String::new, |spent| format!(", for {}", took_seconds(spent)));
    lines.line("phase", &format!("{phase} ({} of {}){spent}", phase.number(), Phase::ALL.len()));
    lines.line("progress", &format!("{}%", progress.percent));
    if progress.tasks_total > 0 {
        let total = plural(progress.tasks_total, "task");
        lines.line("tasks", &format!("{} of {total} settled", progress.tasks_settled));
    }
    let each =
        timing.average_task_seconds.as_ref().map(|each| format!("{} a task", took_seconds(each)));
    let left = timing.estimated_remaining_seconds.as_ref();
    let left = left.map(|left| format!("{} left", about_seconds(left)));
    let pace: Vec<_> = each.into_iter().chain(left).collect();
    if !pace.is_empty() {
        lines.line("pace", &pace.join(", "));
    }
    let moment = |at: &Timestamp| format!("{} ({})", at.readable(), ago(&timing.as_of, at));
    lines.line("started", &moment(&timing.created_at));
    lines.line("updated", &moment(&timing.updated_at));
    if timing.resume_count > 0 {
        let times = plural(usize::try_from(timing.resume_count).unwrap_or(usize::MAX), "time");
        let last = timing.resumed_at.as_ref();
        let last = last.map_or_else(String::new, |at| format!(", last {}", ago(&timing.as_of, at)));
        lines.line("resumed", &format!("{times}{last}"));
    }
    if let Some(reason) = &context.last_revision {
        let times = plural(context.revisions, "time");
        lines.line("revised", &format!("{times}, last: {}", visible(reason)));
    }
    if let Some(total) = &timing.total_seconds {
        lines.line("took", &took_seconds(total));
    }
}

fn about_seconds(seconds: &Seconds) -> String {
    about(Duration::from_millis(seconds.millis()))
}

fn phases(lines: &mut Lines, context: &Context) {
    for course in &context.phases {
        let took = course.duration_seconds.as_ref().map(took_seconds).unwrap_or_default();
        let paused = course.paused_seconds.as_ref().filter(|paused| paused.millis() > 0);
        let paused = paused
            .map_or_else(String::new, |paused| format!(", {} of it paused", took_seconds(paused)));
        let checkpoint = match course.checkpoint {
            Some(Checkpoint::Passed) => "passed",
            Some(Checkpoint::Failed) => "not passed",
            Some(Checkpoint::Pending) => "not decided",
            None => "",
        };
        let details: Vec<_> =
            [checkpoint.to_owned(), took + &paused].into_iter().filter(|d| !d.is_empty()).collect();
        let line = format!("{:<20} {}", course.phase, details.join(", "));
        lines.line("phases", line.trim_end());
        for issue in &course.issues {
            lines.line("phases", &format!("  {}", visible(issue)));
        }
    }
}

/// Each kind of task in a line or a few: what is done, what was passed by, and what is left.
fn tasks(lines: &mut Lines, context: &Context) {
    let of = |wanted: &[TaskStatus]| -> Vec<&TaskLine> {
        context.tasks.iter().filter(|task| wanted.contains(&task.status)).collect()
    };
    let with_version = |task: &TaskLine| match &task.version {
        Some(version) => format!("{} {}", task.task_id, visible(version)),
        None => task.task_id.to_string(),
    };
    let (there, new): (Vec<_>, Vec<_>) =
        of(&[TaskStatus::Completed]).into_iter().partition(|task| task.already_installed);
    for (name, tasks) in [("done", &new), ("there", &there)] {
        if !tasks.is_empty() {
            let names: Vec<_> = tasks.iter().map(|task| with_version(task)).collect();
            lines.line(name, &first_names(&names, NAMED));
        }
    }
    for task in new.iter().chain(&there) {
        if let Some(doubt) = &task.reason {
            lines.line("doubtful", &format!("{}: {}", task.task_id, visible(doubt)));
        }
    }
    for task in of(&[TaskStatus::Skipped]) {
        let why = task.reason.as_deref().unwrap_or("no reason is on record");
        lines.line("skipped", &format!("{}: {}", task.task_id, visible(why)));
    }
    let left = of(&[TaskStatus::Pending, TaskStatus::InProgress]);
    if !left.is_empty() {
        let names: Vec<_> = left.iter().map(|task| &task.task_id).collect();
        lines.line("left", &first_names(&names, NAMED));
    }
}

/// The sessions that add to each other, and which of them brought what.
pub fn chain_text(chain: &Chain) -> String {
    let mut lines = Lines::default();
    for link in &chain.links {
        lines.line("chain", &link_text(link));
        for (what, tasks) in [("brought", &chain.tools), ("found", &chain.there_before)] {
            let of_link = tasks.iter().filter(|(_, session)| **session == link.session_id);
            let names = comma_list(of_link.map(|(task, _)| task));
            if !names.is_empty() {
                lines.line("chain", &format!("  {what} {names}"));
            }
        }
    }
    lines.text
}

fn link_text(link: &Link) -> String {
    let Some(status) = link.status else {
        return format!("{}: its record is gone or cannot be read", link.session_id);
    };
    let profile = link.profile.as_deref().map(|profile| format!(" ({})", visible(profile)));
    let mut text = format!("{}{}", link.session_id, profile.unwrap_or_default());
    if status != SessionStatus::Completed {
        let _ = write!(text, ", {}", status.name());
    }
    if let Some(from) = &link.expands {
        let _ = write!(text, ", adds to {from}");
    }
    text
}

/// What whoever comes back to a session should have in mind: what is done, what failed, what is
/// left.
pub fn resuming_text(context: &Context) -> String {
    let mut lines = Lines::default();
    let profile = context.profile.as_deref().map(|profile| format!(" ({})", visible(profile)));
    let heading = format!("Resuming {}{}", context.session_id, profile.unwrap_or_default());
    tasks(&mut lines, context);
    for failed in &context.failed {
        let error = failed.error.as_deref().map(|error| format!(": {}", visible(error)));
        let taken = failed.overridden.as_ref().map_or("", |_| ", and is taken as it is");
        lines.line("failed", &format!("{}{}{taken}", failed.task_id, error.unwrap_or_default()));
    }
    let mut text = heading + "\n";
    for line in lines.text.lines() {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// A session that can be gone on with, in a line: what it is, where it stands, and since when.
pub fn candidate_text(candidate: &Candidate, now: &Timestamp) -> String {
    let profile = match &candidate.profile {
        Some(profile) => visible(profile).into_owned(),
        None if candidate.tools.is_empty() => "no stack chosen yet".into(),
        None => first_names(&candidate.tools, NAMED),
    };
    let expands = candidate.expands.as_ref().map(|id| format!(", beside {id}")).unwrap_or_default();
    let state = match candidate.status {
        _ if candidate.is_running => ", at work right now",
        SessionStatus::Failed => ", failed",
        _ => "",
    };
    let done = match candidate.total {
        0 => String::new(),
        total => format!(", {} of {} done", candidate.done, plural(total, "task")),
    };
    format!(
        "{profile}{expands}: at {}{done}{state}, last active {}",
        candidate.place,
        ago(now, &candidate.last_activity)
    )
}
