//! Where a session stands, for someone who knows nothing of it.

use serde::Serialize;

use super::{Expiry, gates};

use crate::model::{
    Checkpoint, CommandStatus, Digest, Document, GateRecord, PauseReason, Phase, ResumeAction,
    ResumePoint, SessionId, SessionStatus, TaskId, TaskRecord, TaskStatus, Timestamp,
};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Context {
    pub session_id: SessionId,
    pub status: State,
    pub phase: Phase,
    pub progress: Progress,
    pub timing: Timing,
    /// What is running, or was when the session was last heard of.
    pub current: Vec<Current>,
    pub failed: Vec<Failed>,
    pub resume_point: Option<ResumePoint>,
    pub resume_points: Vec<ResumePoint>,
    /// Why nobody is at work on it.
    pub paused_because: Option<String>,
    /// The decision a person has to make before the session can go on.
    pub pending: Option<String>,
    /// Gates of the phase it is in that do not hold yet.
    pub blocked_by: Vec<GateRecord>,
    pub next: String,
    /// What should be known about the record, its age and its surroundings.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Active,
    Paused,
    CheckpointFailed,
    PossiblyStalled,
    Failed,
    Completed,
    Abandoned,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::CheckpointFailed => "checkpoint_failed",
            Self::PossiblyStalled => "possibly_stalled",
            Self::Failed => "failed",
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    pub phases_completed: usize,
    pub phases_total: usize,
    pub tasks_settled: usize,
    pub tasks_total: usize,
    pub percent: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timing {
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub phase_started_at: Option<Timestamp>,
    pub resume_count: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Current {
    pub task_id: TaskId,
    pub command_index: usize,
    pub command: String,
    pub attempt: u32,
    pub started_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failed {
    pub task_id: TaskId,
    pub command: Option<String>,
    pub exit_code: Option<i32>,
    pub error: Option<String>,
    pub error_type: Option<String>,
    pub suggested_resolution: Option<String>,
}

/// Whether someone is at work on the session now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Live {
    Running,
    Nobody,
}

impl Context {
    pub fn of(document: &Document, live: Live, expiry: Expiry) -> Self {
        let status = state(document, live, expiry);
        let waiting = waiting(document);
        Self {
            session_id: document.meta.id.clone(),
            status,
            phase: document.phase.current,
            progress: Progress::of(document),
            timing: Timing {
                created_at: document.meta.created_at.clone(),
                updated_at: document.meta.updated_at.clone(),
                phase_started_at: document
                    .phase_timing
                    .get(&document.phase.current)
                    .map(|timing| timing.started_at.clone()),
                resume_count: document.lifecycle.as_ref().map_or(0, |l| l.resume_count),
            },
            current: document.tasks.values().flat_map(|task| running(task)).collect(),
            failed: document
                .tasks
                .values()
                .filter(|task| task.status == TaskStatus::Failed)
                .map(|task| failed(task))
                .collect(),
            resume_point: document.resume_point.clone(),
            resume_points: document.resume_points.clone(),
            paused_because: document
                .lifecycle
                .as_ref()
                .filter(|_| document.meta.status == SessionStatus::Paused)
                .and_then(|lifecycle| lifecycle.paused_context.clone()),
            pending: waiting
                .map(|point| format!("{}: {}", point.task_id, point.context))
                .or_else(|| unapproved(document).map(|_| "whether its plan may run".into())),
            // Of one that is at work, everybody sees that it is not done.
            blocked_by: match status {
                State::Active | State::Completed => Vec::new(),
                _ => gates::standing_in_the_way(document),
            },
            next: next(document, status, live),
            notes: Vec::new(),
        }
    }
}

impl Progress {
    fn of(document: &Document) -> Self {
        let completed = document.meta.status == SessionStatus::Completed;
        let phases_total =
            document.workflow_structure.as_ref().map_or(Phase::ALL.len(), |w| w.total_phases);
        let phases_completed =
            if completed { phases_total } else { document.phase.current.number() - 1 };
        let tasks_total = document.tasks.len();
        let tasks_settled = document.tasks.values().filter(|task| task.status.is_settled()).count();
        let in_execute = document.phase.current == Phase::Execute && tasks_total > 0;
        let within = if in_execute { 100 * tasks_settled / tasks_total } else { 0 };
        let done = phases_completed.saturating_mul(100).saturating_add(within);
        let percent = (done / phases_total.max(1)).min(100);
        Self { phases_completed, phases_total, tasks_settled, tasks_total, percent }
    }
}

fn state(document: &Document, live: Live, expiry: Expiry) -> State {
    let lifecycle = document.lifecycle.as_ref();
    let abandoned = lifecycle.is_some_and(|lifecycle| lifecycle.abandoned);
    let at_gate = document.checkpoints.get(&document.phase.current) == Some(&Checkpoint::Failed)
        || lifecycle.and_then(|l| l.paused_reason) == Some(PauseReason::CheckpointFailed);
    match document.meta.status {
        SessionStatus::Completed => State::Completed,
        _ if abandoned => State::Abandoned,
        SessionStatus::Failed => State::Failed,
        SessionStatus::Paused if at_gate => State::CheckpointFailed,
        SessionStatus::Paused => State::Paused,
        SessionStatus::InProgress if live == Live::Running => State::Active,
        SessionStatus::InProgress => match expiry {
            Expiry::Inactive { .. } => State::Paused,
            Expiry::Abandoned { .. } => State::Abandoned,
            Expiry::None | Expiry::ClockBehind { .. } => State::PossiblyStalled,
        },
    }
}

/// The first point at which a person must decide. A command whose end nobody has looked for needs no
/// decision: it may still run, or have ended well.
fn waiting(document: &Document) -> Option<&ResumePoint> {
    let points = document.resume_points.iter().chain(&document.resume_point);
    points.filter(|point| point.action == ResumeAction::Choose).find(|point| {
        document
            .tasks
            .get(&point.task_id)
            .is_none_or(|task| !task.status.is_settled() && task.in_flight.is_empty())
    })
}

/// The plan that was shown and waits for approval.
fn unapproved(document: &Document) -> Option<&Digest> {
    let is_waiting =
        document.phase.current == Phase::PresentPlan && document.plan.approved_at.is_none();
    document.plan.digest.as_ref().filter(|_| is_waiting)
}

fn next(document: &Document, status: State, live: Live) -> String {
    let phase = document.phase.current;
    if let Some(digest) = unapproved(document).filter(|_| status != State::Completed) {
        let id = &document.meta.id;
        return format!(
            "`provision resume {id}` shows its plan; `provision approve {id} {}` approves it",
            digest.beginning()
        );
    }
    if phase == Phase::PresentPlan && document.plan.approved_at.is_some() {
        return format!("`provision resume {}` runs the approved plan", document.meta.id);
    }
    let finish = || format!("finish {phase}, phase {} of {}", phase.number(), Phase::ALL.len());
    if status == State::Completed {
        return "nothing is left to do".into();
    }
    let Some(point) = document.resume_point.as_ref().filter(|_| phase == Phase::Execute) else {
        return finish();
    };
    let resume = format!("`provision resume {}`", document.meta.id);
    let task = document.tasks.get(&point.task_id);
    let open = task.is_some_and(|task| !task.in_flight.is_empty());
    let unknown = task.is_some_and(|task| super::is_indeterminate(task, point.command_index));
    let how = match (point.action, live) {
        _ if open && live == Live::Running => "it is running".into(),
        _ if open => format!("it was left running; {resume} takes it up"),
        (ResumeAction::Skip, _) => "it will be skipped".into(),
        (ResumeAction::Choose, _) if unknown => {
            format!("nobody knows how it ended; {resume} with --interrupted retry or skip decides")
        }
        (ResumeAction::Choose, _) => format!("{resume} tries it again, with --skip passes it by"),
        (ResumeAction::Retry, Live::Running) => "it comes next".into(),
        (ResumeAction::Retry, Live::Nobody) => format!("{resume} goes on there"),
    };
    format!("command {} of {}: {how}", point.command_index.saturating_add(1), point.task_id)
}

fn running(task: &TaskRecord) -> impl Iterator<Item = Current> {
    task.in_flight.iter().map(|open| Current {
        task_id: task.task_id.clone(),
        command_index: open.command_index,
        command: open.command.clone(),
        attempt: open.attempt,
        started_at: open.started_at.clone(),
    })
}

fn failed(task: &TaskRecord) -> Failed {
    let command = task.commands().iter().rev().find(|c| c.status == CommandStatus::Failed);
    let context = task.failure_context.as_ref();
    Failed {
        task_id: task.task_id.clone(),
        command: command.map(|command| command.command.clone()),
        exit_code: command.and_then(|command| command.exit_code),
        error: command.and_then(|command| command.error.clone()),
        error_type: context.map(|context| context.error_type.clone()),
        suggested_resolution: context.map(|context| context.suggested_resolution.clone()),
    }
}
