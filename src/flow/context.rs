//! Where a session stands, for someone who knows nothing of it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use serde::Serialize;

use super::{
    Expiry, gates,
    next_step::{next_step, unapproved},
    pace::{PhaseCourse, Progress, Timing, completed_phases, duration_of},
};
use crate::model::{
    Checkpoint, CommandStatus, DeferReason, Document, Expansion, GateRecord, InFlight, PauseReason,
    Phase, ProbeKind, ResumeAction, ResumePoint, Seconds, SessionId, SessionStatus, TaskId,
    TaskRecord, TaskStatus, Timestamp, named,
};

/// A command that has said nothing for this long may hang, where nobody knows how long it takes.
const LONG_SILENCE: Duration = Duration::from_mins(10);
/// And one that is known to be quick is not suspected before this.
const SHORT_SILENCE: Duration = Duration::from_mins(1);

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Context {
    pub session_id: SessionId,
    pub status: State,
    pub phase: Phase,
    pub profile: Option<String>,
    pub hostname: String,
    pub progress: Progress,
    pub timing: Timing,
    /// The phases that are behind it.
    pub phases: Vec<PhaseCourse>,
    /// Every task, in plan order.
    pub tasks: Vec<TaskLine>,
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
    /// Tasks that somebody should look at again.
    pub needs_review: Vec<TaskId>,
    /// How often it was answered otherwise after there was a plan.
    pub revisions: usize,
    /// Why, the last time.
    pub last_revision: Option<String>,
    /// The sessions it adds to, oldest first.
    pub expansion_history: Vec<Expansion>,
    pub next: String,
    /// What should be known about the record, its age and its surroundings.
    pub notes: Vec<String>,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum State {
        Active = "active",
        Paused = "paused",
        CheckpointFailed = "checkpoint_failed",
        PossiblyStalled = "possibly_stalled",
        Failed = "failed",
        Completed = "completed",
        Abandoned = "abandoned",
    }
}

/// A task in a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskLine {
    pub task_id: TaskId,
    pub status: TaskStatus,
    pub version: Option<String>,
    /// Whether it was there before this session.
    pub already_installed: bool,
    pub seconds: Option<Seconds>,
    /// Why it is not done, or how it counts as done.
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Current {
    /// The first of `task_ids`.
    pub task_id: TaskId,
    /// Every task that it serves.
    pub task_ids: Vec<TaskId>,
    pub command_index: usize,
    pub command: String,
    pub attempt: u32,
    pub started_at: Timestamp,
    /// How long it has said nothing, if somebody is at work on it.
    pub silent_seconds: Option<Seconds>,
    /// How long its tasks took in an earlier session.
    pub usual_seconds: Option<Seconds>,
    /// Whether it has been silent for longer than it should.
    pub stalled: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failed {
    pub task_id: TaskId,
    pub command: Option<String>,
    pub exit_code: Option<i32>,
    pub error: Option<String>,
    pub error_type: Option<String>,
    pub suggested_resolution: Option<String>,
    /// Why a person takes it as it is: whoever resumes the session counts it as done.
    pub overridden: Option<String>,
}

/// Whether someone is at work on the session now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Live {
    Running,
    Nobody,
}

/// What is known around a session.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub live: Live,
    pub expiry: Expiry,
    pub now: &'a Timestamp,
    /// When each open attempt was last heard of, by its number.
    pub heard: &'a HashMap<u64, Timestamp>,
    /// How long tasks took in earlier sessions.
    pub usual: &'a HashMap<TaskId, Duration>,
}

impl Around<'_> {
    pub(super) fn is_at_work(&self) -> bool {
        self.live == Live::Running
    }
}

impl Context {
    pub fn of(document: &Document, around: &Around<'_>) -> Self {
        let open =
            document.tasks.values().flat_map(|task| task.in_flight.iter().map(move |o| (task, o)));
        // One that serves several tasks is open for each of them, and runs once.
        let mut seen = HashSet::new();
        let open = open.filter(|(_, open)| seen.insert(open.seq));
        let current: Vec<_> = open.map(|(task, open)| running(task, open, around)).collect();
        let is_stalled = current.iter().any(|current| current.stalled);
        let status = state(document, around, is_stalled);
        let tasks = document.tasks.values();
        Self {
            session_id: document.meta.id.clone(),
            status,
            phase: document.phase.current,
            profile: document.profile.selected.clone(),
            hostname: document.meta.machine.hostname.clone(),
            progress: Progress::of(document),
            timing: Timing::of(document, around),
            phases: completed_phases(document),
            tasks: tasks.clone().map(|task| task_line(document, task)).collect(),
            current,
            failed: tasks
                .clone()
                .filter(|task| task.status == TaskStatus::Failed)
                .map(|task| failed(document, task))
                .collect(),
            resume_point: document.resume_point.clone(),
            resume_points: document.resume_points.clone(),
            paused_because: document
                .lifecycle
                .as_ref()
                .filter(|_| document.meta.status == SessionStatus::Paused)
                .and_then(|lifecycle| lifecycle.paused_context.clone()),
            pending: waiting(document)
                .map(|point| format!("{}: {}", point.task_id, point.context))
                .or_else(|| unapproved(document).map(|_| "whether its plan may run".into())),
            // Of one that is at work, everybody sees that it is not done.
            blocked_by: match status {
                State::Active | State::Completed => Vec::new(),
                _ => gates::standing_in_the_way(document),
            },
            needs_review: tasks
                .filter(|task| task.needs_review)
                .map(|task| task.task_id.clone())
                .collect(),
            revisions: document.revision_history.len(),
            last_revision: document.revision_history.last().map(|known| known.reason.clone()),
            expansion_history: document.expansion_history.clone(),
            next: next_step(document, status, around.live),
            notes: Vec::new(),
        }
    }
}

fn state(document: &Document, around: &Around<'_>, is_stalled: bool) -> State {
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
        SessionStatus::InProgress if around.is_at_work() && is_stalled => State::PossiblyStalled,
        SessionStatus::InProgress if around.is_at_work() => State::Active,
        SessionStatus::InProgress => match around.expiry {
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

fn running(task: &TaskRecord, open: &InFlight, around: &Around<'_>) -> Current {
    let heard = around.heard.get(&open.seq).unwrap_or(&open.started_at).max(&open.started_at);
    let silent = Duration::from_millis(around.now.millis_since(heard));
    let task_ids = match open.task_ids.as_slice() {
        [] => vec![task.task_id.clone()],
        served => served.to_vec(),
    };
    // Each of them knows its share.
    let usual = task_ids.iter().try_fold(Duration::ZERO, |sum, id| {
        around.usual.get(id).map(|share| sum.saturating_add(*share))
    });
    let patience = usual.map_or(LONG_SILENCE, |usual| usual.saturating_mul(2).max(SHORT_SILENCE));
    let is_at_work = around.is_at_work();
    Current {
        task_id: task_ids.first().unwrap_or(&task.task_id).clone(),
        task_ids,
        command_index: open.command_index,
        command: open.command.clone(),
        attempt: open.attempt,
        started_at: open.started_at.clone(),
        silent_seconds: is_at_work.then(|| Seconds::from_duration(silent)),
        usual_seconds: usual.map(Seconds::from_duration),
        stalled: is_at_work && silent > patience,
    }
}

fn task_line(document: &Document, task: &Arc<TaskRecord>) -> TaskLine {
    let text = |key: &str| task.result_text(key).map(str::to_owned);
    TaskLine {
        task_id: task.task_id.clone(),
        status: task.status,
        version: text("version"),
        already_installed: task.was_there(),
        seconds: duration_of(task).map(Seconds::from_duration),
        reason: match task.status {
            TaskStatus::Skipped => task.skipped_reason.clone(),
            TaskStatus::Failed => task.failure_context.as_ref().map(|f| f.error_type.clone()),
            TaskStatus::Completed => doubt(document, &task.task_id),
            TaskStatus::Pending | TaskStatus::InProgress => None,
        },
    }
}

/// What there is to say against a task that counts as done.
fn doubt(document: &Document, task_id: &TaskId) -> Option<String> {
    let said = document.user_overrides.iter().rfind(|said| said.task_id == *task_id);
    if let Some(said) = said {
        return Some(format!("taken as it is: {}", said.reason));
    }
    let open = document.deferred_verifications.iter().rfind(|d| d.task_id == *task_id);
    let open = open.filter(|open| !open.resolved)?;
    Some(match &open.error {
        Some(error) => format!("its verification failed: {error}"),
        None => format!("not verified yet: {}", DeferReason::words(open.reason)),
    })
}

fn failed(document: &Document, task: &TaskRecord) -> Failed {
    let mut said = document.user_overrides.iter().rev();
    let said = said.find(|said| said.task_id == task.task_id);
    let said = said.filter(|said| task.started_at.as_ref().is_none_or(|at| said.logged_at >= *at));
    let context = task.failure_context.as_ref();
    let is_check = task.has_failed_verification();
    let failed = task.commands().iter().filter(|c| c.status == CommandStatus::Failed);
    let mut failed = failed.rev().filter(|c| match c.kind {
        None => !is_check,
        Some(kind) => is_check && kind == ProbeKind::Verification,
    });
    let command = failed.next();
    Failed {
        task_id: task.task_id.clone(),
        command: command.map(|command| command.command.clone()),
        exit_code: command.and_then(|command| command.exit_code),
        error: command.and_then(|command| command.error.clone()),
        error_type: context.map(|context| context.error_type.clone()),
        suggested_resolution: context.map(|context| context.suggested_resolution.clone()),
        overridden: said.filter(|_| is_check).map(|said| said.reason.clone()),
    }
}
