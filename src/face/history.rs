//! A journal line for a person.

use super::{plural, visible};
use crate::model::{AttemptOutcome, CommandFinished, CommandVerdict, Event, EventKind};

/// Number, time, what happened, and to what.
pub fn history_line(event: &Event) -> String {
    let what = about(&event.kind);
    let line = format!(
        "{:>5}  {}  {:<21}  {}",
        event.seq,
        event.timestamp.readable(),
        event.kind.name(),
        visible(&what)
    );
    line.trim_end().to_owned()
}

fn about(kind: &EventKind) -> String {
    match kind {
        EventKind::SessionCreated(created) => {
            let objective = created.objective.as_deref().unwrap_or_default();
            format!("on {} {objective}", created.machine.hostname)
        }
        EventKind::SessionImported { document, .. } => {
            format!("a document of version {}", document.meta.version)
        }
        EventKind::SessionPaused { context, .. } => context.clone().unwrap_or_default(),
        EventKind::SessionResumed {} | EventKind::SessionAbandoned {} => String::new(),
        EventKind::SessionFailed { error } | EventKind::ErrorRecorded { error } => error.clone(),
        EventKind::SessionCompleted { outcome } => {
            outcome.as_ref().map(|outcome| outcome.summary.clone()).unwrap_or_default()
        }
        EventKind::SessionRecovered { level, done, lost } => {
            format!("level {level}: {done} {lost}")
        }
        EventKind::SessionRevised(revised) => {
            format!("back to {}: {}", revised.phase_revisited, revised.reason)
        }
        EventKind::PhaseCompleted { phase, .. } => phase.to_string(),
        EventKind::PhaseReopened { phase, reason } => format!("{phase}: {reason}"),
        EventKind::GatesEvaluated { phase, gates } => {
            let blocking = gates.iter().filter(|gate| gate.blocks()).count();
            format!("{phase}: {}, {blocking} blocking", plural(gates.len(), "gate"))
        }
        EventKind::ViolationRecorded { phase, requirement, .. } => {
            format!("{phase}: {requirement}")
        }
        EventKind::StackSelected { profile, .. } => profile.selected.clone().unwrap_or_default(),
        EventKind::AnswerGiven { question_id, value, .. } => format!("{question_id} = {value}"),
        EventKind::AnswerWithdrawn { question_id } => question_id.clone(),
        EventKind::UserDataGiven { key, .. } | EventKind::UserDataWithdrawn { key } => key.clone(),
        EventKind::PlanPresented { tasks, digest, .. } => {
            format!("{} {}", plural(tasks.len(), "task"), &digest.as_str()[..12])
        }
        EventKind::PlanApproved { digest, .. } => digest.as_str()[..12].to_owned(),
        EventKind::TaskStarted { task_id }
        | EventKind::TaskCompleted { task_id, .. }
        | EventKind::TaskReviewed { task_id } => task_id.to_string(),
        EventKind::TaskFailed { task_id, error, .. }
        | EventKind::VerificationRefuted { task_id, error, .. } => format!("{task_id}: {error}"),
        EventKind::TaskSkipped { task_id, reason, .. }
        | EventKind::TaskReset { task_id, reason }
        | EventKind::OverrideRecorded { task_id, reason, .. } => format!("{task_id}: {reason}"),
        EventKind::CommandStarted(started) => {
            let tasks: Vec<_> = started.task_ids.iter().map(ToString::to_string).collect();
            format!("{}: {}", tasks.join(", "), started.command)
        }
        EventKind::CommandFinished(finished) => {
            format!("{}: {} ({})", finished.task_id, finished.command, ending(finished))
        }
        EventKind::CommandSkipped(skipped) => format!("{}: {}", skipped.task_id, skipped.command),
        EventKind::ProbeFinished(probe) => format!("{}: {}", probe.task_id, probe.command),
        EventKind::ShellIntegrationDecided { allowed, .. } => {
            if *allowed {
                "allowed".into()
            } else {
                "not allowed".into()
            }
        }
        EventKind::ShellBlockWritten(written) => {
            let how = match (&written.error, written.changed) {
                (Some(error), _) => error.as_str(),
                (None, true) => "added",
                (None, false) => "there already",
            };
            format!("{}: {} ({how})", written.task_id, written.file)
        }
        EventKind::ResumeChosen { task_id, action, .. } => {
            format!("{task_id}: {}", action.name())
        }
        EventKind::VerificationDeferred { task_id, command, .. }
        | EventKind::VerificationResolved { task_id, command } => format!("{task_id}: {command}"),
    }
}

fn ending(finished: &CommandFinished) -> String {
    let how = match (finished.outcome, finished.exit_code, finished.signal) {
        (AttemptOutcome::Indeterminate, ..) => return "nobody knows how it ended".into(),
        (AttemptOutcome::TimedOut, ..) => "timed out".into(),
        (_, Some(code), _) => format!("exit {code}"),
        (_, None, Some(signal)) => format!("signal {signal}"),
        (_, None, None) if finished.status == CommandVerdict::Success => "ok".into(),
        _ => "failed".into(),
    };
    format!("{how}, {} ms", finished.duration_ms)
}
