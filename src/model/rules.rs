//! Which event may follow: every rule of the record in one place, checked before anything is
//! written and again when a journal is replayed.

use std::sync::Arc;

use serde_json::Value;

use super::{
    CommandFinished, CommandSkipped, CommandStarted, CommandStatus, Digest, Document, EventKind,
    Phase, PlannedTask, SessionId, SessionRevised, SessionStatus, TaskId, TaskRecord, TaskStatus,
    Timestamp,
};

/// Why an event may not happen to a session as it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    #[error("a record begins with session_created or session_imported, not {0}")]
    NoBeginning(&'static str),
    #[error("{0} can only be the first event of a record")]
    BeginsAgain(&'static str),
    #[error("event {found} follows event {last}: one is missing or out of order")]
    Sequence { last: u64, found: u64 },
    #[error("the time {found} is before {last}, the time of the event before")]
    BackInTime { last: Timestamp, found: Timestamp },
    #[error("the record's format is {found}; this program reads 1.x")]
    Format { found: String },
    #[error("this record belongs to session {found}, not {expected}")]
    OtherSession { expected: SessionId, found: SessionId },
    #[error("{event} cannot happen while the session is {}", .status.name())]
    Session { event: &'static str, status: SessionStatus },
    #[error("{event} cannot happen in phase {phase}")]
    Phase { event: &'static str, phase: Phase },
    #[error("phase {asked} cannot be completed: the session is in {current}")]
    OtherPhase { asked: Phase, current: Phase },
    #[error("phase {asked} cannot be reopened from {current}")]
    NotBack { asked: Phase, current: Phase },
    #[error("phase {phase} cannot be left: gate `{gate}` blocks it")]
    Blocked { phase: Phase, gate: String },
    #[error("the plan has no task `{0}`")]
    UnknownTask(TaskId),
    #[error("task `{task_id}` cannot go from {} to {}", .from.name(), .to.name())]
    Task { task_id: TaskId, from: TaskStatus, to: TaskStatus },
    #[error("task `{0}` is planned twice")]
    PlannedTwice(TaskId),
    #[error("task `{0}` is under way and cannot leave the plan")]
    Executed(TaskId),
    #[error("task `{task_id}` is {} and not finished, so the session cannot be completed", .status.name())]
    Unsettled { task_id: TaskId, status: TaskStatus },
    #[error("attempt {seq} of task `{task_id}` has not finished")]
    InFlight { task_id: TaskId, seq: u64 },
    #[error("no attempt {seq} of task `{task_id}` is under way")]
    NoAttempt { task_id: TaskId, seq: u64 },
    #[error(
        "command {index} of task `{task_id}` has been tried {known} times; attempt {found} cannot be next"
    )]
    Attempt { task_id: TaskId, index: usize, known: u32, found: u32 },
    #[error("task `{task_id}` has {planned} planned commands; there is no command {index}")]
    CommandIndex { task_id: TaskId, planned: usize, index: usize },
    #[error("command {index} of task `{task_id}` has already succeeded")]
    Succeeded { task_id: TaskId, index: usize },
    #[error("the plan presented is {presented}, not {found}")]
    Digest { presented: String, found: Digest },
    #[error("the plan is not approved")]
    NotApproved,
    #[error("nothing is waiting in task `{0}`")]
    NothingToResume(TaskId),
    #[error("question `{0}` has no answer to withdraw")]
    NoAnswer(String),
    #[error("there is no user data `{0}` to withdraw")]
    NoUserData(String),
    #[error("a value is nested more than {DEEPEST} levels deep")]
    TooDeep,
    #[error("no verification `{command}` of task `{task_id}` is deferred")]
    NotDeferred { task_id: TaskId, command: String },
}

type Verdict = Result<(), Illegal>;

/// How deeply a value that someone gave may be nested; readers of JSON give up somewhere.
const DEEPEST: usize = 64;

impl Document {
    /// Whether `kind` may happen now. Changes nothing.
    pub(super) fn check(&self, kind: &EventKind) -> Verdict {
        self.check_status(kind)?;
        self.check_phase(kind)?;
        match kind {
            EventKind::SessionCreated(_) | EventKind::SessionImported { .. } => {
                Err(Illegal::BeginsAgain(kind.name()))
            }
            EventKind::SessionPaused { .. }
            | EventKind::SessionResumed {}
            | EventKind::SessionAbandoned {}
            | EventKind::SessionRecovered { .. }
            | EventKind::ErrorRecorded { .. }
            | EventKind::GatesEvaluated { .. }
            | EventKind::ViolationRecorded { .. }
            | EventKind::StackSelected { .. }
            | EventKind::AnswerGiven { .. }
            | EventKind::BaselineRecorded { .. }
            | EventKind::ShellIntegrationDecided { .. } => Ok(()),
            EventKind::UserDataGiven { value, .. } => check_depth([value]),
            EventKind::SessionFailed { .. } => self.nothing_in_flight(),
            EventKind::SessionCompleted { .. } => self.check_completed(),
            EventKind::SessionRevised(revised) => self.check_revised(revised),
            EventKind::PhaseCompleted { phase, evidence, outputs, .. } => {
                check_depth(evidence.values().chain(outputs.values()))?;
                self.check_phase_completed(*phase)
            }
            EventKind::PhaseReopened { phase, .. } => self.check_back(*phase),
            EventKind::AnswerWithdrawn { question_id } => {
                require(self.choices.contains_key(question_id), || {
                    Illegal::NoAnswer(question_id.clone())
                })
            }
            EventKind::UserDataWithdrawn { key } => {
                require(self.user_data.contains_key(key), || Illegal::NoUserData(key.clone()))
            }
            EventKind::PlanPresented { tasks, .. } => self.check_presented(tasks),
            EventKind::PlanApproved { digest, .. } => self.check_digest(digest),
            EventKind::TaskStarted { task_id } => self.check_task(task_id, TaskStatus::InProgress),
            EventKind::TaskCompleted { task_id, result } => {
                check_depth(result.values())?;
                self.check_task(task_id, TaskStatus::Completed)
            }
            EventKind::TaskFailed { task_id, .. } => self.check_task(task_id, TaskStatus::Failed),
            EventKind::TaskSkipped { task_id, .. } => self.check_task(task_id, TaskStatus::Skipped),
            EventKind::TaskReset { task_id, .. } => self.check_task(task_id, TaskStatus::Pending),
            EventKind::TaskReviewed { task_id } | EventKind::OverrideRecorded { task_id, .. } => {
                self.task(task_id).map(drop)
            }
            EventKind::CommandStarted(started) => self.check_started(started),
            EventKind::CommandFinished(finished) => self.check_finished(finished),
            EventKind::CommandSkipped(skipped) => self.check_command_skipped(skipped),
            EventKind::ProbeFinished(probe) => self.task(&probe.task_id).map(drop),
            EventKind::ShellBlockWritten(written) => self.task(&written.task_id).map(drop),
            EventKind::ResumeChosen { task_id, .. } => {
                require(self.resume_point_of(task_id).is_some(), || {
                    Illegal::NothingToResume(task_id.clone())
                })
            }
            EventKind::VerificationDeferred { task_id, .. } => self.task(task_id).map(drop),
            EventKind::VerificationResolved { task_id, command }
            | EventKind::VerificationRefuted { task_id, command, .. } => {
                let mut deferred = self.deferred_verifications.iter().filter(|d| !d.resolved);
                let is_deferred = deferred.any(|d| d.task_id == *task_id && d.command == *command);
                require(is_deferred, || Illegal::NotDeferred {
                    task_id: task_id.clone(),
                    command: command.clone(),
                })
            }
        }
    }

    /// Status transitions, and what a session that is not under way can still take in.
    fn check_status(&self, kind: &EventKind) -> Verdict {
        use SessionStatus::{Completed, Failed, InProgress, Paused};
        let status = self.meta.status;
        let allowed = match kind {
            EventKind::SessionResumed {} | EventKind::SessionAbandoned {} => {
                matches!(status, Paused | Failed)
            }
            EventKind::PlanApproved { .. }
            | EventKind::ResumeChosen { .. }
            | EventKind::SessionRevised(_) => matches!(status, InProgress | Paused | Failed),
            EventKind::VerificationResolved { .. }
            | EventKind::VerificationRefuted { .. }
            | EventKind::VerificationDeferred { .. }
            | EventKind::OverrideRecorded { .. }
            | EventKind::BaselineRecorded { .. }
            | EventKind::ViolationRecorded { .. }
            | EventKind::GatesEvaluated { .. }
            | EventKind::SessionRecovered { .. }
            | EventKind::ErrorRecorded { .. }
            | EventKind::ShellBlockWritten(_)
            | EventKind::TaskReviewed { .. } => {
                matches!(status, InProgress | Paused | Failed | Completed)
            }
            _ => status == InProgress,
        };
        require(allowed, || Illegal::Session { event: kind.name(), status })
    }

    /// Answers come before the plan, work after its approval.
    fn check_phase(&self, kind: &EventKind) -> Verdict {
        let phase = self.phase.current;
        let allowed = match kind {
            EventKind::StackSelected { .. } => phase == Phase::StackSelection,
            EventKind::AnswerGiven { .. }
            | EventKind::AnswerWithdrawn { .. }
            | EventKind::UserDataGiven { .. }
            | EventKind::UserDataWithdrawn { .. } => phase < Phase::Execute,
            EventKind::PlanPresented { .. } | EventKind::PlanApproved { .. } => {
                phase == Phase::PresentPlan
            }
            EventKind::TaskStarted { .. }
            | EventKind::TaskCompleted { .. }
            | EventKind::TaskFailed { .. }
            | EventKind::TaskSkipped { .. }
            | EventKind::TaskReset { .. }
            | EventKind::CommandStarted(_)
            | EventKind::CommandFinished(_)
            | EventKind::CommandSkipped(_) => phase == Phase::Execute,
            _ => true,
        };
        require(allowed, || Illegal::Phase { event: kind.name(), phase })
    }

    fn check_completed(&self) -> Verdict {
        let phase = Phase::Completion;
        if self.phase.current != phase || !self.is_phase_complete(phase) {
            return Err(Illegal::Phase { event: "session_completed", phase: self.phase.current });
        }
        self.nothing_in_flight()?;
        self.everything_settled()
    }

    fn check_phase_completed(&self, asked: Phase) -> Verdict {
        let current = self.phase.current;
        if asked != current || self.is_phase_complete(asked) {
            return Err(Illegal::OtherPhase { asked, current });
        }
        let blocking = self.gates.get(&asked).and_then(|gates| gates.iter().find(|g| g.blocks()));
        if let Some(gate) = blocking {
            return Err(Illegal::Blocked { phase: asked, gate: gate.gate.clone() });
        }
        match asked {
            Phase::PresentPlan if self.plan.approved_at.is_none() => Err(Illegal::NotApproved),
            Phase::Execute => self.nothing_in_flight().and_then(|()| self.everything_settled()),
            _ => Ok(()),
        }
    }

    fn check_back(&self, asked: Phase) -> Verdict {
        let current = self.phase.current;
        require(asked < current && current < Phase::Execute, || Illegal::NotBack { asked, current })
    }

    fn check_revised(&self, revised: &SessionRevised) -> Verdict {
        let (asked, current) = (revised.phase_revisited, self.phase.current);
        if asked > current {
            return Err(Illegal::NotBack { asked, current });
        }
        if asked < current {
            self.nothing_in_flight()?;
        }
        for task_id in &revised.tasks_reset {
            not_in_flight(self.task(task_id)?, None)?;
        }
        let mut named = revised.tasks_to_redo.iter().chain(&revised.tasks_to_review);
        named.try_for_each(|task_id| self.task(task_id).map(drop))
    }

    fn check_presented(&self, planned: &[PlannedTask]) -> Verdict {
        let mut seen = std::collections::HashSet::new();
        for task in planned {
            if !seen.insert(&task.task_id) {
                return Err(Illegal::PlannedTwice(task.task_id.clone()));
            }
        }
        // What is settled stays on record, also when it is no longer planned.
        let mut executed = self.tasks.values().filter(|task| task.status.is_under_way());
        match executed.find(|task| !seen.contains(&task.task_id)) {
            Some(task) => Err(Illegal::Executed(task.task_id.clone())),
            None => Ok(()),
        }
    }

    fn check_digest(&self, found: &Digest) -> Verdict {
        match &self.plan.digest {
            Some(presented) if presented == found => Ok(()),
            presented => Err(Illegal::Digest {
                presented: presented.as_ref().map_or("none".into(), Digest::to_string),
                found: found.clone(),
            }),
        }
    }

    fn check_task(&self, task_id: &TaskId, to: TaskStatus) -> Verdict {
        use TaskStatus::{Completed, Failed, InProgress, Pending, Skipped};
        let task = self.task(task_id)?;
        let from = task.status;
        let drawn = match (from, to) {
            (Pending | Failed, InProgress | Skipped)
            | (InProgress, Completed | Failed | Skipped | Pending) => true,
            // What it waited for in vain may be there now.
            (Skipped, Pending) => task.skipped_because_of.is_some(),
            _ => false,
        };
        if !drawn {
            return Err(Illegal::Task { task_id: task_id.clone(), from, to });
        }
        not_in_flight(task, None)
    }

    fn check_started(&self, started: &CommandStarted) -> Verdict {
        if self.plan.approved_at.is_none() {
            return Err(Illegal::NotApproved);
        }
        self.check_digest(&started.digest)?;
        if started.task_ids.first() != Some(&started.task_id) {
            return Err(Illegal::UnknownTask(started.task_id.clone()));
        }
        let index = started.command_index;
        for task_id in &started.task_ids {
            let task = self.task_in_progress(task_id)?;
            check_index(task, index)?;
            not_in_flight(task, Some(index))?;
            not_succeeded(task, index)?;
            let known = task.command(index).and_then(|command| command.attempts).unwrap_or(0);
            // The event names the try of the first task; the others count their own.
            let found = started.attempt;
            if *task_id == started.task_id && known.checked_add(1) != Some(found) {
                return Err(Illegal::Attempt { task_id: task_id.clone(), index, known, found });
            }
        }
        Ok(())
    }

    fn check_finished(&self, finished: &CommandFinished) -> Verdict {
        let seq = finished.started_seq;
        let task = self.task(&finished.task_id)?;
        require(task.in_flight.iter().any(|open| open.seq == seq), || Illegal::NoAttempt {
            task_id: finished.task_id.clone(),
            seq,
        })
    }

    fn check_command_skipped(&self, skipped: &CommandSkipped) -> Verdict {
        let index = skipped.command_index;
        let task = self.task_in_progress(&skipped.task_id)?;
        check_index(task, index)?;
        not_succeeded(task, index)?;
        not_in_flight(task, Some(index))
    }

    fn task(&self, task_id: &TaskId) -> Result<&TaskRecord, Illegal> {
        self.tasks
            .get(task_id)
            .map(Arc::as_ref)
            .ok_or_else(|| Illegal::UnknownTask(task_id.clone()))
    }

    fn task_in_progress(&self, task_id: &TaskId) -> Result<&TaskRecord, Illegal> {
        let task = self.task(task_id)?;
        if task.status == TaskStatus::InProgress {
            Ok(task)
        } else {
            let (from, to) = (task.status, TaskStatus::InProgress);
            Err(Illegal::Task { task_id: task_id.clone(), from, to })
        }
    }

    fn nothing_in_flight(&self) -> Verdict {
        self.tasks.values().try_for_each(|task| not_in_flight(task, None))
    }

    fn everything_settled(&self) -> Verdict {
        match self.tasks.values().find(|task| !task.status.is_settled()) {
            Some(task) => {
                Err(Illegal::Unsettled { task_id: task.task_id.clone(), status: task.status })
            }
            None => Ok(()),
        }
    }

    fn is_phase_complete(&self, phase: Phase) -> bool {
        self.phase_timing.get(&phase).is_some_and(|timing| timing.completed_at.is_some())
    }
}

fn require(holds: bool, otherwise: impl FnOnce() -> Illegal) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Refuses an event while an attempt of the task is under way: of one command, or of any.
fn not_in_flight(task: &TaskRecord, command: Option<usize>) -> Verdict {
    let mut open = task.in_flight.iter();
    match open.find(|open| command.is_none_or(|index| open.command_index == index)) {
        Some(open) => Err(Illegal::InFlight { task_id: task.task_id.clone(), seq: open.seq }),
        None => Ok(()),
    }
}

fn not_succeeded(task: &TaskRecord, index: usize) -> Verdict {
    match task.command(index) {
        Some(command) if command.status == CommandStatus::Success => {
            Err(Illegal::Succeeded { task_id: task.task_id.clone(), index })
        }
        _ => Ok(()),
    }
}

/// Whether values can be read back from wherever the record puts them.
fn check_depth<'a>(values: impl IntoIterator<Item = &'a Value>) -> Verdict {
    fn is_deep(value: &Value, left: usize) -> bool {
        match value {
            Value::Array(items) => left == 0 || items.iter().any(|item| is_deep(item, left - 1)),
            Value::Object(fields) => {
                left == 0 || fields.values().any(|field| is_deep(field, left - 1))
            }
            _ => false,
        }
    }
    let is_too_deep = values.into_iter().any(|value| is_deep(value, DEEPEST));
    require(!is_too_deep, || Illegal::TooDeep)
}

fn check_index(task: &TaskRecord, index: usize) -> Verdict {
    match task.planned_commands {
        Some(planned) if index >= planned => {
            Err(Illegal::CommandIndex { task_id: task.task_id.clone(), planned, index })
        }
        _ => Ok(()),
    }
}
