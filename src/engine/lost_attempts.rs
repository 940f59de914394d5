//! Attempts whose journal lines are lost: the end, and perhaps the start.
//!
//! Each gets the missing lines. It ends with the result that its supervisor left, or else with an
//! unknown outcome, which `resume` asks about.

use super::{
    RecoverError,
    calls::{describe, unknown_end},
};
use crate::{
    disk::Fs,
    exec::{Attempt, Claim, Finish, Order, Standing},
    flow,
    model::{
        Agent, AttemptOutcome, CommandFinished, CommandSkipped, CommandStarted, CommandStatus,
        CommandVerdict, EventKind, Extra, FailureContext, Illegal, InFlight, Phase, Plan,
        ResumeAction, Session, SessionId, SessionStatus, TaskId, TaskStatus,
    },
    os,
    store::{LostAttempt, Rewrite},
};

/// An attempt, as its files tell of it.
pub(super) struct Remains<'a> {
    lost: &'a LostAttempt,
    claim: Option<Claim>,
    finish: Option<Box<Finish>>,
}

impl<'a> Remains<'a> {
    /// Reads the files of an attempt. Refuses while a process of it runs, which would go on writing
    /// to files that are being moved.
    pub(super) fn read(
        fs: &Fs,
        id: &SessionId,
        lost: &'a LostAttempt,
    ) -> Result<Self, RecoverError> {
        let attempt = Attempt::new(fs, &lost.directory);
        let Some(claim) = attempt.claim()? else {
            return Ok(Self { lost, claim: None, finish: None });
        };
        let still = |what: String| RecoverError::StillRunning { id: id.clone(), what };
        let order = claim.order.as_ref();
        if attempt.is_claimed()? || attempt.is_alive()? {
            let task = order.and_then(|order| Some((order, order.task_ids.first()?)));
            return Err(still(match task {
                Some((order, task)) => {
                    format!("command {} of {task}", order.command_index.saturating_add(1))
                }
                None => format!("attempt {}", lost.seq),
            }));
        }
        // Neither processes nor files of another boot prove anything.
        let order = order.filter(|_| claim.boot_id == os::boot_id());
        let finish = match order.map(|order| attempt.standing(&order.cookie)).transpose()? {
            Some(Standing::Finished(finish)) => Some(finish),
            Some(Standing::Orphaned(names)) => return Err(still(names.join(", "))),
            Some(Standing::Running(_)) => return Err(still(format!("attempt {}", lost.seq))),
            Some(Standing::Unclaimed | Standing::Another | Standing::Lost) | None => None,
        };
        Ok(Self { lost, claim: Some(claim), finish })
    }

    /// Records the missing lines; returns whether the session has a place for the attempt.
    fn record(&self, plan: Option<&Plan>, rewrite: &mut Rewrite) -> Result<bool, Illegal> {
        let seq = match open_attempt(rewrite.session(), self.lost.seq) {
            Some(_) => {
                start(rewrite, Vec::new())?;
                self.lost.seq
            }
            None => match self.record_start(plan, rewrite)? {
                Some(seq) => seq,
                None => return Ok(false),
            },
        };
        if let Some((task_id, open)) = open_attempt(rewrite.session(), seq) {
            let agent = agent_of(rewrite.session());
            let finished = self.finished(&task_id, &open, agent);
            let failures = failures(&finished, open.task_ids);
            rewrite.record(EventKind::CommandFinished(Box::new(finished)))?;
            for kind in failures {
                rewrite.record(kind)?;
            }
        }
        Ok(true)
    }

    /// Records that the attempt started; `None` if the session cannot have started it next.
    fn record_start(
        &self,
        plan: Option<&Plan>,
        rewrite: &mut Rewrite,
    ) -> Result<Option<u64>, Illegal> {
        let Some(claim) = &self.claim else { return Ok(None) };
        let (Some(order), Some(session)) = (&claim.order, rewrite.session()) else {
            return Ok(None);
        };
        let Some(task_id) = order.task_ids.first().filter(|_| has_place(session, order)) else {
            return Ok(None);
        };
        let known = session.tasks.get(task_id).and_then(|task| task.command(order.command_index));
        let attempt = known.and_then(|command| command.attempts).unwrap_or(0).saturating_add(1);
        let is_idle = |id: &&TaskId| {
            session.tasks.get(*id).is_some_and(|task| task.status != TaskStatus::InProgress)
        };
        let idle: Vec<_> = order.task_ids.iter().filter(is_idle).cloned().collect();
        start(rewrite, idle)?;
        fill_gaps(order, plan, rewrite)?;
        let command = match order.command.as_str() {
            "" => text_of(plan, task_id, order.command_index),
            command => command.to_owned(),
        };
        let started = CommandStarted {
            task_id: task_id.clone(),
            task_ids: order.task_ids.clone(),
            command_index: order.command_index,
            attempt,
            command,
            arguments: Vec::new(),
            agent: agent_of(rewrite.session()),
            description: None,
            user_choice: None,
            idempotent: order.idempotent,
            digest: order.plan.clone(),
            cookie: order.cookie.clone(),
            boot_id: claim.boot_id.clone(),
        };
        rewrite.record(EventKind::CommandStarted(Box::new(started))).map(Some)
    }

    /// Returns the end of the attempt that `open` records.
    fn finished(&self, task_id: &TaskId, open: &InFlight, agent: Agent) -> CommandFinished {
        // The files of another attempt with this number tell nothing of this one.
        let is_own =
            |claim: &&Claim| claim.order.as_ref().is_none_or(|order| order.cookie == open.cookie);
        let claim = self.claim.as_ref().filter(is_own);
        let finish = self.finish.as_ref().filter(|_| claim.is_some());
        let (outcome, error, resume) = match finish {
            Some(finish) => (finish.outcome, describe(finish, None, None), ResumeAction::Choose),
            None if claim.is_none() && open.boot_id == os::boot_id() => {
                let error = Some("it did not start".into());
                (AttemptOutcome::NotStarted, error, ResumeAction::Retry)
            }
            None => {
                let error = Some("its outcome is unknown: its record was lost".into());
                let again =
                    if open.idempotent { ResumeAction::Retry } else { ResumeAction::Choose };
                (AttemptOutcome::Indeterminate, error, again)
            }
        };
        let is_done = error.is_none();
        CommandFinished {
            status: if is_done { CommandVerdict::Success } else { CommandVerdict::Failure },
            outcome,
            exit_code: finish.and_then(|finish| finish.exit_code),
            signal: finish.and_then(|finish| finish.signal),
            duration_ms: finish.map_or(0, |finish| finish.duration_ms),
            error,
            recovered: true,
            log: self.claim.is_some().then(|| self.lost.log.clone()),
            resume: (!is_done).then_some(resume),
            ..unknown_end(task_id, open, agent)
        }
    }
}

/// Returns the failures of the tasks that a command served, if it ran and failed.
fn failures(finished: &CommandFinished, served: Vec<TaskId>) -> Vec<EventKind> {
    let has_run = matches!(
        finished.outcome,
        AttemptOutcome::Exited | AttemptOutcome::Signaled | AttemptOutcome::TimedOut
    );
    let Some(error) = finished.error.as_ref().filter(|_| has_run) else { return Vec::new() };
    // The output may be as old as the lost record: only the exit code is certain.
    let diagnosis = flow::diagnose(finished.outcome, finished.exit_code, &[]);
    let failure = |task_id| EventKind::TaskFailed {
        task_id,
        error: error.clone(),
        failure_context: FailureContext {
            error_type: diagnosis.class.name().into(),
            suggested_resolution: diagnosis.advice.clone(),
            extra: Extra::new(),
        },
    };
    served.into_iter().map(failure).collect()
}

/// Records the attempts that are open or began behind line `last`; returns a sentence on them.
pub(super) fn record(
    attempts: &[Remains<'_>],
    last: u64,
    plan: Option<&Plan>,
    rewrite: &mut Rewrite,
) -> Result<Option<String>, Illegal> {
    let (mut taken, mut unknown, mut ends_unknown) = (0_u64, 0_u64, false);
    for attempt in attempts {
        let seq = attempt.lost.seq;
        if seq <= last && open_attempt(rewrite.session(), seq).is_none() {
            continue;
        }
        let is_taken = attempt.record(plan, rewrite)?;
        *(if is_taken { &mut taken } else { &mut unknown }) += u64::from(seq > last);
        ends_unknown = !is_taken;
    }
    // A known attempt behind an unknown one proves that the unknown command was settled.
    if ends_unknown {
        ask_before_next_command(rewrite)?;
    }
    let mut told = Vec::new();
    if taken > 0 {
        let attempts = flow::count(taken, "attempt");
        told.push(format!("{attempts} without a journal line could be recorded again."));
    }
    if unknown > 0 {
        let attempts = flow::count(unknown, "attempt");
        told.push(format!("The command of {attempts} is unknown: see the files set aside."));
    }
    Ok((!told.is_empty()).then(|| told.join(" ")))
}

/// Whether a session can start this command next.
fn has_place(session: &Session, order: &Order) -> bool {
    session.phase.current == Phase::Execute
        && session.plan.approved_at.is_some()
        && session.plan.digest.as_ref() == Some(&order.plan)
        && order.task_ids.iter().all(|id| {
            session.tasks.get(id).is_some_and(|task| {
                let index = order.command_index;
                let is_done = |status| status == CommandStatus::Success;
                !task.status.is_settled()
                    && task.in_flight.is_empty()
                    && task.planned_commands.is_none_or(|planned| index < planned)
                    && !task.command(index).is_some_and(|command| is_done(command.status))
            })
        })
}

/// Records the commands before this one as skipped unless they are recorded as done or skipped: they
/// were settled when this one started.
fn fill_gaps(order: &Order, plan: Option<&Plan>, rewrite: &mut Rewrite) -> Result<(), Illegal> {
    for task_id in &order.task_ids {
        for command_index in 0..order.command_index {
            let task = rewrite.session().and_then(|session| session.tasks.get(task_id));
            let command = task.and_then(|task| task.command(command_index));
            if command.is_some_and(|command| command.status != CommandStatus::Failed) {
                continue;
            }
            rewrite.record(EventKind::CommandSkipped(CommandSkipped {
                task_id: task_id.clone(),
                command_index,
                command: text_of(plan, task_id, command_index),
                description: None,
                user_choice: None,
                reason: "its record is lost, and the command behind it has begun".into(),
            }))?;
        }
    }
    Ok(())
}

fn text_of(plan: Option<&Plan>, task_id: &TaskId, index: usize) -> String {
    let command = plan.and_then(|plan| plan.task(task_id)?.commands.get(index));
    command.map_or_else(|| "(lost with the plan)".into(), |command| command.command.clone())
}

/// Has a person say whether the next command ran: an attempt whose command is unknown may be it.
fn ask_before_next_command(rewrite: &mut Rewrite) -> Result<(), Illegal> {
    let Some(session) = rewrite.session() else { return Ok(()) };
    let Some(point) = session.resume_point.clone() else { return Ok(()) };
    let status = session.tasks.get(&point.task_id).map(|task| task.status);
    if status != Some(TaskStatus::InProgress) {
        // Starting a task settles its resume point, so the task starts first.
        start(rewrite, vec![point.task_id.clone()])?;
    }
    rewrite.record(EventKind::ResumeChosen {
        task_id: point.task_id,
        action: ResumeAction::Choose,
        context: "something ran whose record is lost: it may have been this".into(),
    })?;
    Ok(())
}

/// Starts tasks; a session that is not in progress is resumed before.
fn start(rewrite: &mut Rewrite, tasks: Vec<TaskId>) -> Result<(), Illegal> {
    let status = rewrite.session().map(|session| session.meta.status);
    if matches!(status, Some(SessionStatus::Paused | SessionStatus::Failed)) {
        rewrite.record(EventKind::SessionResumed {})?;
    }
    for task_id in tasks {
        rewrite.record(EventKind::TaskStarted { task_id })?;
    }
    Ok(())
}

fn agent_of(session: Option<&Session>) -> Agent {
    session.and_then(|session| session.meta.agent.clone()).unwrap_or_else(Agent::user)
}

/// Returns the open attempt of this number, and the task that it is recorded under.
fn open_attempt(session: Option<&Session>, seq: u64) -> Option<(TaskId, InFlight)> {
    let mut tasks = session?.tasks.values();
    tasks.find_map(|task| {
        let open = task.in_flight.iter().find(|open| open.seq == seq)?;
        Some((open.task_ids.first().unwrap_or(&task.task_id).clone(), open.clone()))
    })
}
