//! What whoever comes to a session does next.

use super::{Live, State, is_indeterminate, place_of};
use crate::model::{Digest, Document, Phase, ResumeAction};

/// The plan that was shown and waits for approval.
pub(super) fn unapproved(document: &Document) -> Option<&Digest> {
    let is_waiting =
        document.phase.current == Phase::PresentPlan && document.plan.approved_at.is_none();
    document.plan.digest.as_ref().filter(|_| is_waiting)
}

pub(super) fn next_step(document: &Document, status: State, live: Live) -> String {
    let (id, phase) = (&document.meta.id, document.phase.current);
    let place = place_of(document);
    if status == State::Completed {
        return format!("nothing is left to do; `provision expand {id} TASK…` adds tools");
    }
    if live == Live::Running && phase < Phase::Execute {
        return format!("somebody is at {place}");
    }
    if let Some(digest) = unapproved(document) {
        let digest = digest.beginning();
        return format!(
            "`provision resume {id}` shows its plan; `provision approve {id} {digest}` approves it"
        );
    }
    if phase == Phase::PresentPlan && document.plan.approved_at.is_some() {
        return format!("`provision resume {id}` runs the approved plan");
    }
    let Some(point) = document.resume_point.as_ref().filter(|_| phase == Phase::Execute) else {
        return format!("`provision resume {id}` goes on with {place}");
    };
    let resume = format!("`provision resume {id}`");
    let task = document.tasks.get(&point.task_id);
    let open = task.is_some_and(|task| !task.in_flight.is_empty());
    let unknown = task.is_some_and(|task| is_indeterminate(task, point.command_index));
    let unverified = task.is_some_and(|task| task.has_failed_verification());
    let how = match (point.action, live) {
        _ if open && status == State::PossiblyStalled && live == Live::Running => format!(
            "it has been silent for long; `provision logs {id} {}` shows what it wrote, and \
             `provision pause {id}` has nothing more begun",
            point.task_id
        ),
        _ if open && live == Live::Running => "it is running".into(),
        _ if open => format!("it was left running; {resume} takes it up"),
        (ResumeAction::Skip, _) => "it will be skipped".into(),
        (ResumeAction::Choose, _) if unknown => {
            format!("nobody knows how it ended; {resume} with --interrupted retry or skip decides")
        }
        (ResumeAction::Choose, _) if unverified => format!(
            "{resume} tries it again, with --skip passes it by; `provision override {id} {} \
             --reason TEXT` takes it as it is",
            point.task_id
        ),
        (ResumeAction::Choose, _) => format!("{resume} tries it again, with --skip passes it by"),
        (ResumeAction::Retry, Live::Nobody) if unverified => {
            format!("it is taken as it is; {resume} goes on behind it")
        }
        (ResumeAction::Retry, Live::Running) => "it comes next".into(),
        (ResumeAction::Retry, Live::Nobody) => format!("{resume} goes on there"),
    };
    format!("{place}: {how}")
}
