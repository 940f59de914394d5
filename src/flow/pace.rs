//! How a session has come along: how much of it is done, how long its phases and tasks took, and
//! what that says about the rest.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use serde::Serialize;

use super::Around;
use crate::model::{
    Checkpoint, CommandRecord, CommandStatus, Document, GateStatus, Phase, Seconds, SessionStatus,
    TaskId, TaskRecord, TaskStatus, Timestamp,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    pub phases_completed: usize,
    pub phases_total: usize,
    pub tasks_settled: usize,
    pub tasks_total: usize,
    pub percent: usize,
}

impl Progress {
    pub(super) fn of(document: &Document) -> Self {
        let completed = document.meta.status == SessionStatus::Completed;
        let phases_total =
            document.workflow_structure.as_ref().map_or(Phase::ALL.len(), |w| w.total_phases);
        let phases_completed =
            if completed { phases_total } else { document.phase.current.number() - 1 };
        // What was settled before the plan was another one is on record, and not part of it.
        let known = document.workflow_structure.as_ref().map(|w| w.task_ids.as_slice());
        let known: HashSet<&TaskId> = known.unwrap_or_default().iter().collect();
        let planned =
            || document.tasks.values().filter(|t| known.is_empty() || known.contains(&t.task_id));
        let tasks_total = planned().count();
        let tasks_settled = planned().filter(|task| task.status.is_settled()).count();
        let in_execute = document.phase.current == Phase::Execute && tasks_total > 0;
        let within = if in_execute { 100 * tasks_settled / tasks_total } else { 0 };
        let done = phases_completed.saturating_mul(100).saturating_add(within);
        let percent = (done / phases_total.max(1)).min(100);
        Self { phases_completed, phases_total, tasks_settled, tasks_total, percent }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timing {
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub phase_started_at: Option<Timestamp>,
    /// How long it has been in its phase, without the time it was paused.
    pub phase_seconds: Option<Seconds>,
    /// How long it took from its beginning to its end, if it has come to that.
    pub total_seconds: Option<Seconds>,
    /// What a task of it took on average, of those that had something to do.
    pub average_task_seconds: Option<Seconds>,
    /// What is left will take about this long, by that and by earlier sessions.
    pub estimated_remaining_seconds: Option<Seconds>,
    pub resume_count: u64,
    pub resumed_at: Option<Timestamp>,
    /// When this was said.
    pub as_of: Timestamp,
}

impl Timing {
    pub(super) fn of(document: &Document, around: &Around<'_>) -> Self {
        let lifecycle = document.lifecycle.as_ref();
        let phase = document.phase_timing.get(&document.phase.current);
        let is_over = document.meta.status == SessionStatus::Completed;
        let phase_millis = phase.filter(|_| !is_over).map(|timing| {
            // What nobody works on takes no time.
            let end = if around.is_at_work() { around.now } else { &document.meta.updated_at };
            let paused = timing.paused_seconds.as_ref().map_or(0, Seconds::millis);
            end.millis_since(&timing.started_at).saturating_sub(paused)
        });
        let average = average(document);
        let in_execute = document.phase.current == Phase::Execute && !is_over;
        let remaining = || remaining(document, average, around.usual);
        Self {
            created_at: document.meta.created_at.clone(),
            updated_at: document.meta.updated_at.clone(),
            phase_started_at: phase.map(|timing| timing.started_at.clone()),
            phase_seconds: phase_millis.map(Seconds::from_millis),
            total_seconds: lifecycle.and_then(|l| l.total_duration_seconds.clone()),
            average_task_seconds: average.map(Seconds::from_duration),
            estimated_remaining_seconds: in_execute
                .then(remaining)
                .flatten()
                .map(Seconds::from_duration),
            resume_count: lifecycle.map_or(0, |l| l.resume_count),
            resumed_at: lifecycle.and_then(|l| l.resumed_at.clone()),
            as_of: around.now.clone(),
        }
    }
}

/// How long the commands of a task took, if all of them succeeded. Of one that served several tasks
/// it is this one's share.
pub fn duration_of(task: &TaskRecord) -> Option<Duration> {
    let planned = || task.commands().iter().filter(|command| command.command_index.is_some());
    let done = task.status == TaskStatus::Completed
        && planned().all(|command| command.status == CommandStatus::Success);
    let shares = planned().filter_map(CommandRecord::share);
    let took = shares.fold(Duration::ZERO, Duration::saturating_add);
    (done && !took.is_zero()).then_some(took)
}

/// What a task took on average, of those whose end is known and that had something to do. Other
/// programs have written down only when a task began and ended.
fn average(document: &Document) -> Option<Duration> {
    let done = document.tasks.values().filter(|task| task.status == TaskStatus::Completed);
    let took = done.filter(|task| !task.was_there()).filter_map(|task| {
        let span = || {
            let has_times = task.commands().iter().any(|command| command.duration_ms.is_some());
            let (began, ended) = (task.started_at.as_ref()?, task.completed_at.as_ref()?);
            (!has_times).then(|| Duration::from_millis(ended.millis_since(began)))
        };
        duration_of(task).or_else(span)
    });
    let (sum, count) = took
        .fold((Duration::ZERO, 0_u32), |(sum, count), took| (sum.saturating_add(took), count + 1));
    (count > 0).then(|| sum / count)
}

/// How long what is left may take: each as long as it took in earlier sessions, else as the others
/// of this one. `None` where nothing is known of one.
fn remaining(
    document: &Document,
    average: Option<Duration>,
    usual: &HashMap<TaskId, Duration>,
) -> Option<Duration> {
    let mut open = document.tasks.values().filter(|task| !task.status.is_settled());
    let sum = open.try_fold(Duration::ZERO, |sum, task| {
        let each = usual.get(&task.task_id).copied().or(average)?;
        Some(sum.saturating_add(each))
    });
    sum.filter(|sum| !sum.is_zero())
}

/// A phase that a session has been in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseCourse {
    pub phase: Phase,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub duration_seconds: Option<Seconds>,
    pub paused_seconds: Option<Seconds>,
    pub checkpoint: Option<Checkpoint>,
    /// Gates that did not hold, or were forced: `name: what was found`.
    pub issues: Vec<String>,
}

/// The phases that are behind a session, and how their checkpoints went.
pub(super) fn completed_phases(document: &Document) -> Vec<PhaseCourse> {
    let is_done = |phase: &Phase| document.phase.history.iter().any(|entry| entry.phase == *phase);
    Phase::ALL.into_iter().filter(is_done).map(|phase| course(document, phase)).collect()
}

fn course(document: &Document, phase: Phase) -> PhaseCourse {
    let timing = document.phase_timing.get(&phase);
    let entry = document.phase.history.iter().rfind(|entry| entry.phase == phase);
    let gates = document.gates.get(&phase).map(Vec::as_slice).unwrap_or_default();
    let open = gates.iter().filter(|gate| {
        matches!(gate.status, GateStatus::Failed | GateStatus::Forced | GateStatus::Pending)
    });
    let issues = open.map(|gate| match gate.evidence.as_deref() {
        Some(evidence) => format!("{}: {evidence}", gate.gate),
        None => gate.gate.clone(),
    });
    PhaseCourse {
        phase,
        started_at: timing.map(|timing| timing.started_at.clone()),
        completed_at: timing
            .and_then(|timing| timing.completed_at.clone())
            .or_else(|| entry.map(|entry| entry.completed_at.clone())),
        duration_seconds: timing.and_then(|timing| timing.duration_seconds.clone()),
        paused_seconds: timing.and_then(|timing| timing.paused_seconds.clone()),
        checkpoint: document.checkpoints.get(&phase).copied(),
        issues: issues.collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::duration_of;
    use crate::model::TaskRecord;

    fn task(commands: &serde_json::Value) -> TaskRecord {
        let task = json!({"task_id": "a", "status": "completed", "commands": commands});
        serde_json::from_value(task).unwrap()
    }

    fn command(index: usize, millis: u64, served: &[&str]) -> serde_json::Value {
        json!({"command": "get", "status": "success", "executed_at": "2026-02-02T14:30:52Z",
            "command_index": index, "duration_ms": millis, "task_ids": served})
    }

    #[test]
    fn a_command_that_served_several_counts_for_each_by_its_share() {
        let task = task(&json!([command(0, 3000, &["a", "b", "c"]), command(1, 500, &[])]));
        assert_eq!(duration_of(&task), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn one_that_took_no_time_says_nothing() {
        assert_eq!(duration_of(&task(&json!([command(0, 0, &["a", "b"])]))), None);
    }
}
