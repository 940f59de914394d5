//! A run as plain lines, for a terminal or a file.

use std::{fmt::Write, time::Duration};

use super::{doctor::repair_hint, durations::took, note_text, plural, visible};
use crate::{
    engine::{Ended, Told},
    model::{
        AttemptOutcome, CommandFinished, CommandVerdict, Digest, Event, EventKind, ResumeAction,
        SessionStatus, TaskId,
    },
};

/// Turns what a run tells into lines.
#[derive(Debug, Default)]
pub struct Progress {
    tasks: usize,
    begun: usize,
    /// The task that was named last.
    named: Option<TaskId>,
    /// Output that has not come to the end of its line.
    unfinished: Vec<u8>,
}

impl Progress {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn lines(&mut self, told: &Told<'_>) -> String {
        let mut text = String::new();
        match told {
            Told::Event(event) => self.event(event, &mut text),
            Told::Begins { settled, total, .. } => {
                (self.begun, self.tasks) = (*settled, *total);
            }
            Told::Resumes(context) => text.push_str(&super::resuming_text(context)),
            Told::TakenUp { task_id, command } => {
                self.name(task_id, &mut text);
                let _ = writeln!(text, "  $ {} (begun by an earlier run)", visible(command));
            }
            Told::Output { skipped, bytes, .. } => self.output(*skipped, bytes, &mut text),
            Told::Tick | Told::TerminalLent(_) => {}
            Told::Plan(plan) => text.push_str(&super::plan_text(plan, true)),
            Told::Repaired(ended) => text.push_str(&goodbye(ended)),
            Told::Note(note) => text.push_str(&note_text(note)),
        }
        text
    }

    fn output(&mut self, skipped: u64, bytes: &[u8], text: &mut String) {
        if skipped > 0 {
            self.end_line(text);
            let _ = writeln!(text, "  … {skipped} bytes of output not shown");
        }
        self.unfinished.extend_from_slice(bytes);
        let Some(end) = self.unfinished.iter().rposition(|byte| *byte == b'\n') else {
            // A line without an end is not waited for for ever.
            if self.unfinished.len() > LONGEST_LINE {
                self.end_line(text);
            }
            return;
        };
        let rest = self.unfinished.split_off(end + 1);
        let lines = std::mem::replace(&mut self.unfinished, rest);
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            output_line(line, text);
        }
    }

    fn end_line(&mut self, text: &mut String) {
        if !self.unfinished.is_empty() {
            output_line(&std::mem::take(&mut self.unfinished), text);
        }
    }

    /// Names a task once, when something of it begins in this run.
    fn name(&mut self, task_id: &TaskId, text: &mut String) {
        if self.named.as_ref() != Some(task_id) {
            self.named = Some(task_id.clone());
            if self.tasks == 0 {
                // How many there are is not known yet: something is decided before the run begins.
                let _ = writeln!(text, "{task_id}");
                return;
            }
            self.begun += 1;
            let _ = writeln!(text, "[{}/{}] {task_id}", self.begun, self.tasks);
        }
    }

    fn event(&mut self, event: &Event, text: &mut String) {
        let _ = match &event.kind {
            EventKind::SessionCreated(created) => writeln!(text, "session {}", created.session_id),
            EventKind::SessionResumed {} => writeln!(text, "resumed"),
            EventKind::PlanPresented { tasks, .. } => {
                writeln!(text, "plan of {}", plural(tasks.len(), "task"))
            }
            EventKind::TaskStarted { task_id } => {
                self.name(task_id, text);
                Ok(())
            }
            EventKind::CommandStarted(started) => {
                self.name(&started.task_id, text);
                let again = if started.attempt > 1 {
                    format!(" (try {})", started.attempt)
                } else {
                    String::new()
                };
                let lines: Vec<_> = started.command.trim_end().lines().map(visible).collect();
                writeln!(text, "  $ {}{again}", lines.join("\n    "))
            }
            EventKind::CommandFinished(finished) => {
                self.end_line(text);
                finished_line(finished, text)
            }
            EventKind::TaskCompleted { result, .. } => {
                let there = result.get("already_installed").is_some_and(|there| there == true);
                let what = if there { "already there" } else { "done" };
                match result.get("version").and_then(|version| version.as_str()) {
                    Some(version) => writeln!(text, "  {what}: {}", visible(version)),
                    None => writeln!(text, "  {what}"),
                }
            }
            EventKind::TaskFailed { error, failure_context, .. } => {
                let class = visible(&failure_context.error_type);
                let _ = writeln!(text, "  failed ({class}): {}", visible(error));
                writeln!(text, "  {}", visible(&failure_context.suggested_resolution))
            }
            EventKind::TaskSkipped { task_id, reason, .. } => {
                self.name(task_id, text);
                writeln!(text, "  skipped: {}", visible(reason))
            }
            EventKind::ShellBlockWritten(written) if written.error.is_none() => {
                let what = if written.changed { "added to" } else { "is in" };
                writeln!(text, "  {what} {}", visible(&written.file))
            }
            EventKind::TaskReset { reason, .. } => writeln!(text, "  {}", visible(reason)),
            _ => Ok(()),
        };
    }
}

const LONGEST_LINE: usize = 64 * 1024;

fn output_line(line: &[u8], text: &mut String) {
    let _ = writeln!(text, "  | {}", shown(line));
}

/// A line of output as a terminal would show it in the end, and that orders none about.
pub(super) fn shown(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches(['\n', '\r']);
    // A terminal would show what was written last over what it replaces.
    let shown = line.rsplit('\r').next().unwrap_or_default();
    safe_line(shown)
}

/// A line of output that orders no terminal about; tabs stay.
fn safe_line(line: &str) -> String {
    line.split('\t').map(visible).collect::<Vec<_>>().join("\t")
}

fn finished_line(finished: &CommandFinished, text: &mut String) -> std::fmt::Result {
    let took = took(Duration::from_millis(finished.duration_ms));
    let recovered = if finished.recovered { ", taken up from an earlier run" } else { "" };
    if finished.status == CommandVerdict::Success {
        writeln!(text, "  ok, {took}{recovered}")
    } else if finished.resume == Some(ResumeAction::Choose) && !finished.is_unknown() {
        // What becomes of its task is said next, and why.
        Ok(())
    } else {
        let error = finished.error.as_deref().unwrap_or("failed");
        if finished.is_unknown() {
            // How long it took is not known either.
            return writeln!(text, "  {}", visible(error));
        }
        writeln!(text, "  {} ({took}{recovered})", visible(error))
    }
}

/// What is left to say when a run is over.
pub fn goodbye(ended: &Ended) -> String {
    let id = &ended.session_id;
    let reason =
        ended.reason.as_deref().map_or_else(String::new, |why| format!(": {}", visible(why)));
    let place =
        ended.place.as_deref().map_or_else(String::new, |place| format!(" goes on at {place}"));
    match ended.status {
        SessionStatus::Completed => format!("completed: session {id}\n"),
        SessionStatus::Failed => format!(
            "failed{reason}\nhint: `provision logs {id}` shows the output; when it is mended: provision resume {id}\n{}",
            ended.troubles.iter().map(|trouble| repair_hint(trouble, id)).collect::<String>()
        ),
        SessionStatus::Paused | SessionStatus::InProgress if ended.unapproved.is_some() => {
            let digest = ended.unapproved.as_ref().map_or("", Digest::beginning);
            format!(
                "paused{reason}; nothing has been run\nhint: read what it would run, above; then: provision resume {id} --approve {digest}\nhint: or approve it now and run it later: provision approve {id} {digest}\n"
            )
        }
        SessionStatus::Paused | SessionStatus::InProgress if ended.undecided => format!(
            "paused{reason}\nhint: look at what it did, then: provision resume {id} --interrupted retry (or skip)\n"
        ),
        SessionStatus::Paused | SessionStatus::InProgress if !ended.troubles.is_empty() => {
            let hints = ended.troubles.iter().map(|trouble| {
                let repair = repair_hint(trouble, id);
                format!("hint: {}; then: provision resume {id}\n{repair}", visible(&trouble.advice))
            });
            format!("paused{reason}\n{}", hints.collect::<String>())
        }
        SessionStatus::Paused | SessionStatus::InProgress => {
            format!("paused{reason}\nhint: provision resume {id}{place}\n")
        }
    }
}

/// The line above the output of an attempt.
pub fn log_header(
    task_id: &TaskId,
    command: &str,
    outcome: Option<AttemptOutcome>,
    exit_code: Option<i32>,
    signal: Option<i32>,
) -> String {
    let ended = match (outcome, exit_code, signal) {
        (None, ..) => "not recorded how it ended".into(),
        (Some(AttemptOutcome::Indeterminate), ..) => "nobody knows how it ended".into(),
        (Some(AttemptOutcome::TimedOut), ..) => "timed out".into(),
        (Some(AttemptOutcome::NotStarted), ..) => "could not be started".into(),
        (_, Some(code), _) => format!("exit code {code}"),
        (_, _, Some(signal)) => format!("signal {signal}"),
        _ => "ended".into(),
    };
    format!("== {task_id} $ {} ({ended})\n", visible(command))
}

/// Output that orders no terminal about, with a word about what is missing before it.
pub fn log_text(bytes: &[u8], left_out: u64) -> String {
    let mut text = String::new();
    if left_out > 0 {
        let _ = writeln!(text, "… {left_out} bytes were not kept");
    }
    for line in String::from_utf8_lossy(bytes).lines() {
        let _ = writeln!(text, "{}", safe_line(line.trim_end_matches('\r')));
    }
    text
}
