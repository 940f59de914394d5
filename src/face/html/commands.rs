//! Every task of a session and every command that was executed for it, attempt by attempt, with what
//! it wrote folded away.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use maud::{Markup, html};

use super::page::recorded;
use crate::{
    engine::{Attempted, Output, SessionReport, TaskLine},
    face::{
        durations::{took_exactly, took_seconds},
        plural,
        text::{comma_list, visible_lines},
    },
    model::{
        AttemptOutcome, CommandRecord, CommandStatus, PlanTask, ProbeKind, TaskId, TaskRecord,
        TaskStatus,
    },
};

/// The attempts of a session by the task and the command they belong to.
pub(super) struct ByTask<'r>(HashMap<&'r TaskId, Vec<&'r Attempted>>);

impl<'r> ByTask<'r> {
    pub(super) fn of(report: &'r SessionReport) -> Self {
        let mut sorted: HashMap<_, Vec<_>> = HashMap::new();
        for attempt in &report.attempts {
            for task in &attempt.execution.task_ids {
                sorted.entry(task).or_default().push(attempt);
            }
        }
        Self(sorted)
    }

    fn of_task(&self, task: &TaskId) -> &[&'r Attempted] {
        self.0.get(task).map_or(&[], Vec::as_slice)
    }

    /// Tasks that a revision took out of the plan, and what was executed for them before; by id.
    fn not_in(&self, report: &SessionReport) -> Vec<(&'r TaskId, &[&'r Attempted])> {
        let planned: HashSet<_> = report.context.tasks.iter().map(|line| &line.task_id).collect();
        let others = self.0.iter().filter(|(id, _)| !planned.contains(*id));
        let mut others: Vec<_> = others.map(|(id, all)| (*id, all.as_slice())).collect();
        others.sort_by_key(|(id, _)| *id);
        others
    }

    fn of_command(&self, task: &TaskId, command: &CommandRecord) -> Vec<&'r Attempted> {
        let of_task = self.of_task(task).iter().copied();
        of_task.filter(|attempt| is_of(attempt, command)).collect()
    }

    /// Those of commands that are not in the plan any more.
    fn of_earlier_commands(&self, record: &TaskRecord) -> Vec<&'r Attempted> {
        let of_task = self.of_task(&record.task_id).iter().copied();
        let is_known =
            |attempt: &&Attempted| record.commands().iter().any(|command| is_of(attempt, command));
        of_task.filter(|attempt| !is_known(attempt)).collect()
    }

    /// The last attempt of any command of a task that did not succeed.
    pub(super) fn last_failure(&self, task: &TaskId) -> Option<&'r Attempted> {
        let attempts = self.of_task(task).iter();
        let failed = attempts.filter(|one| one.execution.succeeded == Some(false));
        failed.max_by_key(|one| one.execution.started_at.millis()).copied()
    }
}

/// Whether what was executed is what the record says of that command: a revision may have put another
/// in its place.
fn is_of(attempt: &Attempted, command: &CommandRecord) -> bool {
    let execution = &attempt.execution;
    command.kind.is_none()
        && execution.command_index == command.command_index
        && execution.command == command.command
}

/// How a task stands, in a word, and how that is painted.
pub(super) fn state(line: &TaskLine) -> (&'static str, &'static str) {
    match line.status {
        TaskStatus::Completed if line.already_installed => ("there before", "good"),
        TaskStatus::Completed => ("set up", "good"),
        TaskStatus::Failed => ("failed", "bad"),
        TaskStatus::Skipped => ("skipped", "warn"),
        TaskStatus::InProgress => ("in progress", "warn"),
        TaskStatus::Pending => ("not begun", "quiet"),
    }
}

/// All tasks, in plan order.
pub(super) fn tasks(report: &SessionReport, by_task: &ByTask<'_>) -> Markup {
    html! {
        div data-find="Find tasks" {}
        @for line in &report.context.tasks {
            @if let Some(record) = report.session.tasks.get(&line.task_id) {
                (task(report, by_task, line, record))
            }
        }
        @for (task_id, attempts) in by_task.not_in(report) {
            article #{ "task-" (task_id) } data-state=(DROPPED) {
                header { h3 { code { (task_id) } } span.state.quiet { (DROPPED) } }
                (earlier(task_id, attempts))
            }
        }
        @if report.context.tasks.is_empty() { p.quiet { "There was nothing to do." } }
    }
}

/// How a task stands that a revision took out of the plan.
const DROPPED: &str = "not planned any more";

/// Attempts of commands that are not in the plan any more, each with its text.
fn earlier(task_id: &TaskId, attempts: &[&Attempted]) -> Markup {
    html! {
        ol.commands {
            @for attempt in attempts {
                li {
                    pre { (visible_lines(&attempt.execution.command)) }
                    p {
                        @if attempt.execution.attempt > 1 { "attempt " (attempt.execution.attempt) ": " }
                        (end_of(attempt))
                    }
                    (output_with(task_id, attempt))
                }
            }
        }
    }
}

fn task(
    report: &SessionReport,
    by_task: &ByTask<'_>,
    line: &TaskLine,
    record: &TaskRecord,
) -> Markup {
    let planned = report.plan.as_ref().and_then(|plan| plan.task(&line.task_id));
    let (word, paint) = state(line);
    let name = planned.and_then(|task| task.name.as_deref());
    let name = name.filter(|name| *name != line.task_id.as_str());
    html! {
        article #{ "task-" (line.task_id) } data-state=(word) {
            header {
                h3 { code { (line.task_id) } }
                span class={ "state " (paint) } { (word) }
                @if let Some(name) = name { span { (recorded(name)) } }
                @if let Some(version) = &line.version { span { (recorded(version)) } }
                @if let Some(seconds) = &line.seconds { span.quiet { (took_seconds(seconds)) } }
                @if let Some(category) = planned.and_then(|task| task.category.as_deref()) {
                    span.quiet { (recorded(category)) }
                }
            }
            @if let Some(reason) = &line.reason { p { (recorded(reason)) } }
            (commands(by_task, record))
            (not_executed(record, planned))
            @let before = by_task.of_earlier_commands(record);
            @if !before.is_empty() {
                p.quiet.small { "Executed for an earlier plan:" }
                (earlier(&record.task_id, &before))
            }
            (shell_blocks(record))
            (probes(record))
        }
    }
}

/// The planned commands that were executed or passed by.
fn commands(by_task: &ByTask<'_>, record: &TaskRecord) -> Markup {
    let planned = record.commands().iter().filter(|command| command.kind.is_none());
    html! {
        ol.commands {
            @for command in planned {
                li class=(command_paint(command)) {
                    @if let Some(description) = &command.description {
                        p { (recorded(description)) }
                    }
                    pre { (visible_lines(&command.command)) }
                    @if command.task_ids.len() > 1 {
                        p.quiet.small { "in one call for " (comma_list(&command.task_ids)) }
                    }
                    @if let Some(choice) = &command.user_choice {
                        p.small { "chosen by a person: " (recorded(choice)) }
                    }
                    (attempts(record, command, &by_task.of_command(&record.task_id, command)))
                }
            }
        }
    }
}

fn command_paint(command: &CommandRecord) -> &'static str {
    match command.status {
        CommandStatus::Success => "ok",
        CommandStatus::Failed => "ko",
        CommandStatus::Skipped => "",
    }
}

fn attempts(record: &TaskRecord, command: &CommandRecord, attempts: &[&Attempted]) -> Markup {
    if attempts.is_empty() {
        return html! { p { (end_of_record(command)) } };
    }
    let last = attempts.len();
    html! {
        ol.attempts {
            @for (number, attempt) in attempts.iter().enumerate() {
                li {
                    @if last > 1 { "attempt " (number + 1) " of " (last) ": " }
                    (end_of(attempt))
                    (output_with(&record.task_id, attempt))
                }
            }
        }
    }
}

/// What an attempt wrote. That of one that served several tasks stands with the first of them.
fn output_with(task_id: &TaskId, attempt: &Attempted) -> Markup {
    let first = &attempt.execution.task_id;
    html! {
        @if first == task_id { (output(attempt, "output", false)) } @else {
            p.small { "its output stands with " a href={ "#task-" (first) } { (first) } }
        }
    }
}

/// How an attempt ended, how long it took, and when it began.
pub(super) fn end_of(attempt: &Attempted) -> Markup {
    let execution = &attempt.execution;
    let paint = match execution.succeeded {
        Some(true) => "good",
        Some(false) => "bad",
        None => "warn",
    };
    html! {
        span class={ "state " (paint) } { (ending(attempt)) }
        @if let Some(duration) = execution.duration { ", " (took_exactly(duration)) }
        ", began " (execution.started_at.readable())
        @if execution.recovered { ", taken up by a later run" }
        @if let Some(error) = what_else(attempt) { ": " (recorded(error)) }
    }
}

/// In words.
pub(super) fn ending(attempt: &Attempted) -> String {
    let execution = &attempt.execution;
    match (execution.outcome, execution.exit_code, execution.signal) {
        (Some(AttemptOutcome::Indeterminate), ..) => "nobody knows how it ended".into(),
        (Some(AttemptOutcome::TimedOut), ..) => "timed out".into(),
        (Some(AttemptOutcome::NotStarted), ..) => "could not be started".into(),
        (_, Some(code), _) => format!("exit code {code}"),
        (_, None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None, None) if execution.succeeded.is_none() => "not ended yet".into(),
        (_, None, None) => "no exit code on record".into(),
    }
}

/// What the error says beyond how it ended.
fn what_else(attempt: &Attempted) -> Option<&str> {
    let error = attempt.execution.error.as_deref()?;
    let rest = error.strip_prefix(&ending(attempt)).map(|rest| rest.trim_start_matches(": "));
    Some(rest.unwrap_or(error)).filter(|said| !said.is_empty())
}

/// What a document says of a command that no journal tells of.
fn end_of_record(command: &CommandRecord) -> Markup {
    let word = match command.status {
        CommandStatus::Success => "succeeded",
        CommandStatus::Failed => "failed",
        CommandStatus::Skipped => "skipped",
    };
    html! {
        span.state { (word) }
        @if let Some(code) = command.exit_code { ", exit code " (code) }
        @if let Some(millis) = command.duration_ms { ", " (took_exactly(Duration::from_millis(millis))) }
        @if let Some(attempts) = command.attempts.filter(|count| *count > 1) {
            ", " (plural(usize::try_from(attempts).unwrap_or(usize::MAX), "attempt"))
        }
        ", " (command.executed_at.readable())
        @if let Some(error) = &command.error { ": " (recorded(error)) }
    }
}

/// What an attempt wrote, folded or not.
pub(super) fn output(attempt: &Attempted, name: &str, is_open: bool) -> Markup {
    match &attempt.output {
        Output::Nothing => html! { p.quiet.small { "It wrote nothing that is kept." } },
        Output::Unreadable(why) => {
            html! { p.warn { "Its output cannot be read: " (recorded(why)) } }
        }
        Output::Elsewhere { bytes } => html! {
            p.quiet.small { "It wrote " (bytes) " bytes, for which there is no room here." }
        },
        Output::Kept { head, left_out, tail } => html! {
            details open[is_open] {
                summary {
                    (name) " of " (attempt.execution.task_id)
                    @if attempt.execution.attempt > 1 { ", attempt " (attempt.execution.attempt) }
                }
                pre { (visible_lines(head)) }
                @if *left_out > 0 { p.quiet.small { "… " (left_out) " bytes are left out here" } }
                @if !tail.is_empty() { pre { (visible_lines(tail)) } }
            }
        },
    }
}

/// What was planned and is not on record, because it was not needed or not reached.
fn not_executed(record: &TaskRecord, planned: Option<&PlanTask>) -> Markup {
    let planned = planned.map(|task| task.commands.as_slice()).unwrap_or_default();
    let is_open = |index: &usize| record.command(*index).is_none();
    let open: Vec<_> = (0..planned.len()).filter(is_open).collect();
    html! {
        @if !open.is_empty() {
            p.quiet.small {
                @if record.was_there() { "Not needed:" } @else { "Not executed:" }
            }
            @for index in open { pre.quiet { (visible_lines(&planned[index].command)) } }
        }
    }
}

fn shell_blocks(record: &TaskRecord) -> Markup {
    html! {
        @for block in &record.shell_blocks {
            p.small {
                "Lines for " (block.shell) " in " code { (recorded(&block.file)) }
                @match (&block.error, block.changed) {
                    (Some(error), _) => { ": " span.bad { (recorded(error)) } }
                    (None, true) => ": added"
                    (None, false) => ": there already"
                }
            }
        }
    }
}

/// What was looked at around the commands.
fn probes(record: &TaskRecord) -> Markup {
    let probes: Vec<_> =
        record.commands().iter().filter_map(|command| Some((command.kind?, command))).collect();
    html! {
        @if !probes.is_empty() {
            ul.plain.small.quiet {
                @for (kind, command) in probes {
                    li {
                        (probe_name(kind)) ": "
                        code { (recorded(command.command.trim())) } " "
                        @match (command.exit_code, &command.error) {
                            (Some(code), None) => { "exit code " (code) }
                            (_, Some(error)) => (recorded(error))
                            (None, None) => "ok"
                        }
                        @if let Some(said) = &command.output_summary { ", said " (recorded(said)) }
                    }
                }
            }
        }
    }
}

fn probe_name(kind: ProbeKind) -> &'static str {
    match kind {
        ProbeKind::Detection => "looked for",
        ProbeKind::Version => "asked for its version",
        ProbeKind::Verification => "verified",
        ProbeKind::Environment => "what it sets up",
    }
}
