//! A journal line for a person.

use std::collections::HashMap;

use super::{plural, text::comma_list, visible};
use crate::model::{
    AttemptOutcome, BaselineOrigin, CommandFinished, CommandVerdict, Event, EventKind, InFlight,
    TaskId,
};

/// Turns events into lines, in the order they happened: the end of a command names but one of the
/// tasks that it served, and its beginning all of them.
#[derive(Debug, Default)]
pub struct History {
    /// The attempts under way that serve several tasks, by their number.
    shared: HashMap<u64, Vec<TaskId>>,
}

impl History {
    pub fn new() -> Self {
        Self::default()
    }

    /// Number, time, what happened, and to what.
    pub fn line(&mut self, event: &Event) -> String {
        let what = match &event.kind {
            EventKind::CommandFinished(finished) => self.finished(finished),
            kind => about(kind),
        };
        match &event.kind {
            EventKind::CommandStarted(started) => self.began(event.seq, &started.task_ids),
            EventKind::SessionImported { document, .. } => {
                let open = document.tasks.values().flat_map(|task| &task.in_flight);
                open.for_each(|InFlight { seq, task_ids, .. }| self.began(*seq, task_ids));
            }
            _ => {}
        }
        let line = format!(
            "{:>5}  {}  {:<21}  {}",
            event.seq,
            event.timestamp.readable(),
            event.kind.name(),
            visible(&what)
        );
        line.trim_end().to_owned()
    }

    fn began(&mut self, seq: u64, task_ids: &[TaskId]) {
        if task_ids.len() > 1 {
            self.shared.insert(seq, task_ids.to_vec());
        }
    }

    fn finished(&mut self, finished: &CommandFinished) -> String {
        let served = self.shared.remove(&finished.started_seq);
        let served = served.unwrap_or_else(|| vec![finished.task_id.clone()]);
        format!("{}: {} ({})", comma_list(&served), finished.command, ending(finished))
    }
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
            format!("{}: {}", comma_list(&started.task_ids), started.command)
        }
        EventKind::CommandFinished(finished) => {
            format!("{}: {}", finished.task_id, finished.command)
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
        EventKind::BaselineRecorded { origin, sighting, .. } => {
            let how = match origin {
                BaselineOrigin::Completion => "when complete",
                BaselineOrigin::Adopted => "adopted",
            };
            format!("{}, {how}", plural(sighting.present.len(), "tool"))
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
