//! Forgetting events again that could not be written.
//!
//! Events of the work touch a few tasks and little else: only that is kept, so that a session of
//! ten thousand tasks is not copied for each of them.

use std::sync::Arc;

use super::{Document, Event, EventKind, Meta, ResumePoint, TaskId, TaskRecord};

/// A session as it was before some events.
#[derive(Debug)]
pub struct Undo(Before);

#[derive(Debug)]
enum Before {
    Whole(Box<Document>),
    Work(Box<Work>),
}

#[derive(Debug)]
struct Work {
    meta: Meta,
    resume_point: Option<ResumePoint>,
    resume_points: Vec<ResumePoint>,
    tasks: Vec<(TaskId, Arc<TaskRecord>)>,
}

impl Undo {
    pub(super) fn before(document: &Document, events: &[Event]) -> Self {
        let mut touched = Vec::new();
        for event in events {
            match touched_by(document, &event.kind) {
                Some(tasks) => touched.extend(tasks),
                None => return Self(Before::Whole(Box::new(document.clone()))),
            }
        }
        let known = touched.into_iter().filter_map(|id| Some((id, document.tasks.get(id)?)));
        Self(Before::Work(Box::new(Work {
            meta: document.meta.clone(),
            resume_point: document.resume_point.clone(),
            resume_points: document.resume_points.clone(),
            tasks: known.map(|(id, task)| (id.clone(), Arc::clone(task))).collect(),
        })))
    }

    pub(super) fn restore(self, document: &mut Document) {
        match self.0 {
            Before::Whole(before) => *document = *before,
            Before::Work(before) => {
                document.meta = before.meta;
                document.resume_point = before.resume_point;
                document.resume_points = before.resume_points;
                document.tasks.extend(before.tasks);
            }
        }
    }
}

/// The tasks that an event of the work touches; `None` for events that may touch anything.
fn touched_by<'a>(document: &'a Document, kind: &'a EventKind) -> Option<Vec<&'a TaskId>> {
    match kind {
        EventKind::TaskStarted { task_id }
        | EventKind::TaskCompleted { task_id, .. }
        | EventKind::TaskFailed { task_id, .. }
        | EventKind::TaskSkipped { task_id, .. }
        | EventKind::TaskReset { task_id, .. }
        | EventKind::ResumeChosen { task_id, .. } => Some(vec![task_id]),
        EventKind::CommandStarted(started) => Some(started.task_ids.iter().collect()),
        EventKind::CommandSkipped(skipped) => Some(vec![&skipped.task_id]),
        EventKind::ProbeFinished(probe) => Some(vec![&probe.task_id]),
        EventKind::ShellBlockWritten(written) => Some(vec![&written.task_id]),
        EventKind::CommandFinished(finished) => {
            // It names one task, and touches all that the same execution served. If that began
            // among the same events, they are known from there.
            let seq = finished.started_seq;
            let open = document.tasks.get(&finished.task_id).map(|task| task.in_flight.iter());
            let open = open.into_iter().flatten().filter(|open| open.seq == seq);
            let served = open.flat_map(|open| &open.task_ids);
            Some(served.chain([&finished.task_id]).collect())
        }
        _ => None,
    }
}
