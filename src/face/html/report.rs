//! The report of a session: what it came to, what failed first, when what ran, and every command.

use maud::{Markup, Render, html};

use super::{
    commands::{ByTask, end_of, ending, output, state, tasks},
    page::{page, part, recorded},
    timeline::{Span, Timeline},
};
use crate::{
    engine::{Attempted, Chain, SessionReport, TaskLine},
    face::{
        durations::{took_exactly, took_seconds},
        plural,
        text::{comma_list, visible_lines},
    },
    model::{
        ApprovedBy, Checkpoint, Document, GateLevel, GateStatus, Impact, Phase, SessionStatus,
        Severity, TaskStatus,
    },
};

/// One page that tells all of a session.
pub fn report_html(report: &SessionReport) -> String {
    let session = &report.session;
    let by_task = ByTask::of(report);
    let profile = session.profile.selected.as_deref().unwrap_or("custom");
    let title = format!("{profile} on {}", session.meta.machine.hostname);
    let mut parts = vec![part("summary", "Summary", summary(report))];
    if !report.context.failed.is_empty() {
        parts.push(part("failures", "Failures", failures(report, &by_task)));
    }
    parts.push(part("phases", "Phases", phases(report)));
    if !report.attempts.is_empty() {
        parts.push(part("timeline", "Timeline", timeline(report)));
    }
    parts.push(part("tasks", "Tasks and commands", tasks(report, &by_task)));
    let done = report.context.tasks.iter().any(|task| task.status == TaskStatus::Completed);
    if done {
        parts.push(part("versions", "Versions", versions(report)));
    }
    parts.push(part("gates", "Gates", gates(session)));
    if has_decisions(session) {
        parts.push(part("decisions", "Violations and decisions", decisions(session)));
    }
    if let Some(chain) = &report.chain {
        parts.push(part("chain", "Sessions that add to each other", family(chain, session)));
    }
    if !session.choices.is_empty() || !session.user_data.is_empty() {
        parts.push(part("answers", "Answers", answers(session)));
    }
    let head = html! {
        h1 { (recorded(&title)) }
        p {
            span class={ "state " (status_paint(session.meta.status)) } {
                (report.context.status.name().replace('_', " "))
            }
            " · " code { (session.meta.id) }
        }
    };
    let foot = html! {
        p { "Made on " (report.made_at.readable()) " UTC from the record of the session. All times are UTC." }
        p { code { "provision status " (session.meta.id) } " tells where it stands now." }
    };
    page(&format!("Report: {title}"), &head, &parts, &foot)
}

fn status_paint(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Completed => "good",
        SessionStatus::Failed => "bad",
        SessionStatus::InProgress | SessionStatus::Paused => "warn",
    }
}

fn summary(report: &SessionReport) -> Markup {
    let (session, context) = (&report.session, &report.context);
    let count = |word: &str| context.tasks.iter().filter(|task| state(task).0 == word).count();
    let tiles: Vec<_> = ["set up", "there before", "failed", "skipped", "in progress", "not begun"]
        .into_iter()
        .map(|word| (count(word), word))
        .filter(|(count, word)| *count > 0 || *word == "set up")
        .collect();
    let again = report.attempts.iter().filter(|one| one.execution.attempt > 1).count();
    let machine = &session.meta.machine;
    html! {
        ul.tiles {
            @for (count, word) in tiles { li { b { (count) } (word) } }
            li { b { (report.attempts.len()) } "commands executed" }
            @if again > 0 { li { b { (again) } "of them again" } }
        }
        dl.facts {
            (fact("Machine", html! {
                (recorded(&machine.hostname)) ", " (recorded(&machine.os_version)) ", " (recorded(machine.arch.name()))
            }))
            (fact("Began", session.meta.created_at.readable()))
            (fact("Last change", session.meta.updated_at.readable()))
            @if let Some(total) = &context.timing.total_seconds {
                (fact("Took", took_seconds(total)))
            }
            @if context.timing.resume_count > 0 {
                @let times = usize::try_from(context.timing.resume_count).unwrap_or(usize::MAX);
                (fact("Resumed", plural(times, "time")))
            }
            @if let Some(objective) = &session.meta.objective {
                (fact("Objective", recorded(objective)))
            }
            @if let Some(digest) = &session.plan.digest {
                (fact("Plan", html! { code { (digest) } (approval(session)) }))
            }
            @if let Some(outcome) = &session.meta.outcome {
                (fact("Outcome", recorded(&outcome.summary)))
            }
            @if let Some(why) = &context.paused_because {
                (fact("Because", recorded(why)))
            }
            @if session.meta.status != SessionStatus::Completed {
                (fact("Next", recorded(&context.next)))
            }
        }
        @for note in &context.notes { p.warn { (recorded(note)) } }
    }
}

/// Returns an entry of a list of facts.
fn fact(name: impl Render, value: impl Render) -> Markup {
    html! { dt { (name) } dd { (value) } }
}

fn approval(session: &Document) -> Markup {
    let by = session.plan.approved_by.map(|by| match by {
        ApprovedBy::User => "approved by a person",
        ApprovedBy::Unattended => "approved unattended",
        ApprovedBy::Elicitation => "approved by a person, asked by an agent",
        ApprovedBy::Agent => "approved by an agent",
    });
    html! {
        @match (by, &session.plan.approved_at) {
            (Some(by), Some(at)) => { ", " (by) " on " (at.readable()) }
            (Some(by), None) => { ", " (by) }
            (None, _) => ", not approved"
        }
    }
}

/// What failed, why, and what to do about it, with the end of what it said.
fn failures(report: &SessionReport, by_task: &ByTask<'_>) -> Markup {
    html! {
        @for failed in &report.context.failed {
            article {
                header {
                    h3 { a href={ "#task-" (failed.task_id) } { code { (failed.task_id) } } }
                    span.state.bad { (recorded(failed.error_type.as_deref().unwrap_or("failed"))) }
                }
                @if let Some(error) = &failed.error { p { (recorded(error)) } }
                @if let Some(advice) = &failed.suggested_resolution {
                    p { b { "Advice: " } (recorded(advice)) }
                }
                @if let Some(reason) = &failed.overridden {
                    p { b { "Taken as it is: " } (recorded(reason)) }
                }
                @if let Some(attempt) = by_task.last_failure(&failed.task_id) {
                    pre { (visible_lines(&attempt.execution.command)) }
                    p { (end_of(attempt)) }
                    (output(attempt, "last output", true))
                } @else if let Some(command) = &failed.command {
                    pre { (visible_lines(command)) }
                }
            }
        }
    }
}

fn phases(report: &SessionReport) -> Markup {
    let session = &report.session;
    let is_over = session.meta.status == SessionStatus::Completed;
    html! {
        ol.phases {
            @for phase in Phase::ALL {
                @let timing = session.phase_timing.get(&phase);
                @let is_done = is_over || phase < session.phase.current;
                @let checkpoint = session.checkpoints.get(&phase);
                @let is_stuck = checkpoint == Some(&Checkpoint::Failed);
                @let paint = if is_stuck { "stuck" } else if is_done { "done" }
                    else if phase == session.phase.current { "now" } else { "" };
                li class=(paint) {
                    b { (phase.name().replace('_', " ")) }
                    br;
                    @if is_done { "done" } @else if phase == session.phase.current { "here" } @else { "to come" }
                    @match checkpoint {
                        Some(Checkpoint::Passed) => ", passed"
                        Some(Checkpoint::Failed) => ", not passed"
                        Some(Checkpoint::Pending) => ", not decided"
                        None => {}
                    }
                    @if let Some(took) = timing.and_then(|timing| timing.duration_seconds.as_ref()) {
                        br;
                        (took_seconds(took))
                    }
                }
            }
        }
    }
}

/// Lanes for what ran side by side. Every bar stands in words below it, with its task.
fn timeline(report: &SessionReport) -> Markup {
    let spans: Vec<_> = report.attempts.iter().map(|attempt| span(attempt, report)).collect();
    let drawn = Timeline::of(&spans);
    let label = format!(
        "{} in {}; each is told of in words with its task",
        plural(spans.len(), "command"),
        plural(drawn.lanes, "lane")
    );
    html! {
        div.chart role="img" aria-label=(label) {
            @for lane in 0..drawn.lanes {
                div.lane {
                    @for (bar, attempt) in drawn.bars.iter().zip(&report.attempts) {
                        @if bar.lane == lane {
                            @let again = if attempt.execution.attempt > 1 { " again" } else { "" };
                            div class={ "bar " (bar_paint(attempt)) (again) }
                                title=(bar_title(attempt))
                                style={ "left:" (bar.left) "%;width:" (bar.width) "%" }
                            {
                                @if bar.width > 3.0 { (comma_list(&attempt.execution.task_ids)) }
                            }
                        }
                    }
                }
            }
            @for pause in &drawn.pauses { div.fold style={ "left:" (pause.at) "%" } {} }
            div.axis {
                @for tick in &drawn.ticks {
                    @if tick.at < 92.0 {
                        span style={ "left:" (tick.at) "%" } {
                            (took_exactly(std::time::Duration::from_millis(tick.millis)))
                        }
                    }
                }
            }
        }
        @if !drawn.pauses.is_empty() {
            p.small.quiet {
                "Dashed lines stand for time in which nothing ran: "
                @for (number, pause) in drawn.pauses.iter().enumerate() {
                    @if number > 0 { ", " }
                    (took_exactly(std::time::Duration::from_millis(pause.millis)))
                }
            }
        }
        ul.legend.small {
            li.ok { i {} "succeeded" }
            li.ko { i {} "failed" }
            li.unsure { i {} "nobody knows, or not ended" }
            li.again { i {} "tried again" }
        }
    }
}

fn span(attempt: &Attempted, report: &SessionReport) -> Span {
    let start = attempt.execution.started_at.millis();
    let end = match attempt.execution.duration {
        Some(took) => start.saturating_add(i64::try_from(took.as_millis()).unwrap_or(i64::MAX)),
        // It runs still, or nobody knows.
        None if attempt.execution.succeeded.is_none() => report.made_at.millis().max(start),
        None => start,
    };
    Span { start, end }
}

fn bar_paint(attempt: &Attempted) -> &'static str {
    use crate::model::AttemptOutcome::Indeterminate;
    match attempt.execution.succeeded {
        _ if attempt.execution.outcome == Some(Indeterminate) => "unsure",
        Some(true) => "ok",
        Some(false) => "ko",
        None => "unsure",
    }
}

fn bar_title(attempt: &Attempted) -> String {
    let execution = &attempt.execution;
    let tasks = comma_list(&execution.task_ids);
    let time =
        execution.duration.map(|time| format!(", {}", took_exactly(time))).unwrap_or_default();
    let again = match execution.attempt {
        0 | 1 => String::new(),
        number => format!(", attempt {number}"),
    };
    format!("{tasks}{again}: {}{time}", ending(attempt))
}

fn versions(report: &SessionReport) -> Markup {
    let done = |line: &&TaskLine| line.status == TaskStatus::Completed;
    let place = |line: &TaskLine| {
        report.session.tasks.get(&line.task_id)?.result_text("path").map(str::to_owned)
    };
    html! {
        table {
            thead { tr { th scope="col" { "Tool" } th scope="col" { "Version" } th scope="col" { "How" } th scope="col" { "Where" } } }
            tbody {
                @for line in report.context.tasks.iter().filter(done) {
                    tr {
                        th scope="row" { code { (line.task_id) } }
                        td { @if let Some(version) = &line.version { (recorded(version)) } @else { "not told" } }
                        td { (state(line).0) }
                        td { @if let Some(place) = place(line) { code { (recorded(&place)) } } @else { "not told" } }
                    }
                }
            }
        }
    }
}

fn gates(session: &Document) -> Markup {
    html! {
        @if session.gates.is_empty() { p.quiet { "None was evaluated." } } @else {
            table {
                thead { tr { th scope="col" { "Gate" } th scope="col" { "State" } th scope="col" { "Evidence" } } }
                tbody {
                    @for (phase, gates) in &session.gates {
                        @for gate in gates {
                            tr {
                                th scope="row" {
                                    (recorded(&gate.gate.replace('_', " ")))
                                    br;
                                    span.quiet.small {
                                        (phase.name().replace('_', " ")) ", "
                                        @match gate.level { GateLevel::Must => "must", GateLevel::Should => "should" }
                                    }
                                }
                                td { (gate_state(gate.status)) }
                                td { (recorded(gate.evidence.as_deref().unwrap_or("none"))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn gate_state(status: GateStatus) -> Markup {
    let paint = match status {
        GateStatus::Passed => "good",
        GateStatus::Failed => "bad",
        GateStatus::Pending | GateStatus::Forced => "warn",
    };
    html! { span class={ "state " (paint) } { (status.name()) } }
}

fn has_decisions(session: &Document) -> bool {
    !session.violations.is_empty()
        || !session.user_overrides.is_empty()
        || !session.deferred_verifications.is_empty()
        || !session.revision_history.is_empty()
        || !session.recoveries.is_empty()
}

fn decisions(session: &Document) -> Markup {
    html! {
        ul.plain {
            @for violation in &session.violations {
                li {
                    @let (word, paint) = match violation.severity {
                        Severity::Critical => ("critical violation", "bad"),
                        Severity::Warning => ("violation", "warn"),
                    };
                    span class={ "state " (paint) } { (word) } " in " (violation.phase) ": "
                    (recorded(&violation.requirement))
                    @if let Some(recovery) = &violation.recovery { "; " (recorded(recovery)) }
                    span.quiet { " (" (violation.timestamp.readable()) ")" }
                }
            }
            @for taken in &session.user_overrides {
                li {
                    span.state { "taken as it is" } " " code { (taken.task_id) } ": " (recorded(&taken.reason))
                    @if let Some(said) = &taken.verification { ", though its check said " (recorded(said)) }
                    span.quiet { " (" (taken.logged_at.readable()) ")" }
                }
            }
            @for deferred in &session.deferred_verifications {
                li {
                    span.state { "check put off" } " " code { (deferred.task_id) } ": " (deferred.reason.words())
                    @match (&deferred.error, deferred.resolved) {
                        (_, true) => "; it passed later"
                        (Some(error), false) => { "; later it said " (recorded(error)) }
                        (None, false) => "; still open"
                    }
                    span.quiet { " (" (deferred.added_at.readable()) ")" }
                }
            }
            @for revision in &session.revision_history {
                li {
                    span.state { "revised" } " back to " (revision.phase_revisited) ", "
                    @match revision.impact { Impact::Minor => "minor", Impact::Moderate => "moderate", Impact::Major => "major" }
                    ": " (recorded(&revision.reason))
                    span.quiet { " (" (revision.timestamp.readable()) ")" }
                }
            }
            @for recovery in &session.recoveries {
                li {
                    span.state.warn { "record recovered" } " at level " (recovery.level) ": "
                    (recorded(&recovery.done)) " " (recorded(&recovery.lost))
                    span.quiet { " (" (recovery.timestamp.readable()) ")" }
                }
            }
        }
    }
}

fn family(chain: &Chain, session: &Document) -> Markup {
    html! {
        ol {
            @for link in &chain.links {
                li {
                    @let is_this = link.session_id == session.meta.id;
                    code { (link.session_id) }
                    @if is_this { b { " this one" } }
                    // Of itself a page knows best: its record may be about to say so.
                    @match Some(session.meta.status).filter(|_| is_this).or(link.status) {
                        Some(status) => { ", " (status.name().replace('_', " ")) }
                        None => ", its record is gone or cannot be read"
                    }
                    @if let Some(profile) = &link.profile { ", " (recorded(profile)) }
                    @if let Some(from) = &link.expands { ", adds to " code { (from) } }
                    @let brought: Vec<_> = chain.tools.iter()
                        .filter(|(_, by)| **by == link.session_id).map(|(task, _)| task).collect();
                    @if !brought.is_empty() { br; "brought " (comma_list(&brought)) }
                }
            }
        }
    }
}

fn answers(session: &Document) -> Markup {
    html! {
        dl.facts {
            @for choice in session.choices.values() {
                (fact(recorded(&choice.question), recorded(&choice.value)))
            }
            @for (key, value) in &session.user_data {
                @let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                (fact(recorded(key), recorded(&value)))
            }
        }
    }
}
