//! Attempts whose record was lost, taken up from what their directories say.

use super::{RecoverError, commands::describe};
use crate::{
    disk::Fs,
    exec::{Attempt, Finish, Order, Standing},
    flow,
    model::{
        Agent, AttemptOutcome, CommandFinished, CommandStarted, CommandVerdict, EventKind, Illegal,
        Plan, PlanCommand, ResumeAction, Session, SessionId, SessionStatus, TaskId, TaskStatus,
    },
    store::{LostAttempt, Rewrite},
};

/// One attempt, as far as its directory tells.
struct Found {
    seq: u64,
    /// Its start is on record; only its end is not.
    is_open: bool,
    log: String,
    boot_id: String,
    order: Option<Order>,
    /// `None` where nobody can know how it ended.
    finish: Option<Box<Finish>>,
}

/// Turns the directories of attempts into the events that were lost.
pub(super) struct Rebuilder<'a> {
    fs: &'a Fs,
    id: &'a SessionId,
    plan: Option<Plan>,
    boot_id: String,
    found: Vec<Found>,
}

impl<'a> Rebuilder<'a> {
    pub(super) fn new(fs: &'a Fs, id: &'a SessionId, plan: Option<Plan>) -> Self {
        Self { fs, id, plan, boot_id: crate::os::boot_id(), found: Vec::new() }
    }

    /// Looks at one attempt. Nothing may still run of it: it would go on writing into a record that
    /// is being replaced.
    pub(super) fn look_at(
        &mut self,
        lost: &LostAttempt,
        is_open: bool,
    ) -> Result<(), RecoverError> {
        let attempt = Attempt::new(self.fs, &lost.directory);
        // Never claimed: nothing of it ran.
        let Some(claim) = attempt.claim()? else { return Ok(()) };
        let still = |what: String| RecoverError::StillRunning { id: self.id.clone(), what };
        let task = claim.order.as_ref().and_then(|order| Some((order, order.task_ids.first()?)));
        let command = || match task {
            Some((order, task)) => {
                format!("command {} of {task}", order.command_index.saturating_add(1))
            }
            None => format!("attempt {}", lost.seq),
        };
        if attempt.is_claimed()? {
            return Err(still(command()));
        }
        let same_boot = claim.boot_id == self.boot_id;
        let cookie = claim.order.as_ref().map(|order| order.cookie.as_str());
        let finish = match cookie.filter(|_| same_boot).map(|c| attempt.standing(c)).transpose()? {
            Some(Standing::Finished(finish)) => Some(finish),
            Some(Standing::Running(_)) => return Err(still(command())),
            Some(Standing::Orphaned(names)) => return Err(still(names.join(", "))),
            Some(Standing::Unclaimed | Standing::Lost) | None => None,
        };
        let (seq, log) = (lost.seq, lost.log.clone());
        let (boot_id, order) = (claim.boot_id, claim.order);
        self.found.push(Found { seq, is_open, log, boot_id, order, finish });
        Ok(())
    }

    /// Records what was found; says what could not be given a place.
    pub(super) fn record(self, rewrite: &mut Rewrite) -> Result<Option<String>, Illegal> {
        let (mut taken, mut placeless) = (0_u64, 0_u64);
        for found in &self.found {
            if found.is_open {
                self.close(found, rewrite)?;
            } else if self.rebuild(found, rewrite)? {
                taken += 1;
            } else {
                placeless += 1;
            }
        }
        let mut told = Vec::new();
        if taken > 0 {
            let what = flow::count(taken, "attempt");
            told.push(format!("{what} whose record was lost could be taken up again."));
        }
        if placeless > 0 {
            let what = flow::count(placeless, "attempt");
            told.push(format!("What {what} did nobody can say: look at what was set aside."));
        }
        Ok((!told.is_empty()).then(|| told.join(" ")))
    }

    /// The end of an attempt whose start is on record, where it is still open.
    fn close(&self, found: &Found, rewrite: &mut Rewrite) -> Result<(), Illegal> {
        let Some(session) = rewrite.session() else { return Ok(()) };
        let open = session.tasks.values().flat_map(|task| &task.in_flight);
        let Some(open) = open.into_iter().find(|open| open.seq == found.seq).cloned() else {
            return Ok(());
        };
        let task_id = open.task_ids.first().cloned().or_else(|| owner(session, open.seq));
        let Some(task_id) = task_id else { return Ok(()) };
        let command = self.command(&task_id, open.command_index).cloned();
        let kind = Self::finished(
            found,
            found.seq,
            task_id,
            &open.command,
            command.as_ref(),
            open.idempotent,
        );
        let agent = agent_of(session);
        resume(rewrite)?;
        rewrite.record(finished_by(kind, agent)).map(drop)
    }

    /// Both events of an attempt of which nothing is on record; whether it has a place.
    fn rebuild(&self, found: &Found, rewrite: &mut Rewrite) -> Result<bool, Illegal> {
        let Some(order) = &found.order else { return Ok(false) };
        let (Some(session), Some(plan)) = (rewrite.session(), &self.plan) else { return Ok(false) };
        let Some(task_id) = order.task_ids.first().cloned() else { return Ok(false) };
        let Some(command) = self.command(&task_id, order.command_index).cloned() else {
            return Ok(false);
        };
        let has_place = session.plan.digest.as_ref() == Some(&order.plan)
            && plan.compute_digest() == order.plan
            && session.phase.current == crate::model::Phase::Execute
            && order
                .task_ids
                .iter()
                .all(|id| session.tasks.get(id).is_some_and(|task| !task.status.is_settled()));
        if !has_place {
            return Ok(false);
        }
        let known = session.tasks.get(&task_id).and_then(|task| task.command(order.command_index));
        let attempt = known.and_then(|command| command.attempts).unwrap_or(0).saturating_add(1);
        let agent = agent_of(session);
        let begun: Vec<_> = order
            .task_ids
            .iter()
            .filter(|id| session.tasks.get(*id).is_some_and(|t| t.status != TaskStatus::InProgress))
            .cloned()
            .collect();
        resume(rewrite)?;
        for task_id in begun {
            rewrite.record(EventKind::TaskStarted { task_id })?;
        }
        let started = CommandStarted {
            task_id: task_id.clone(),
            task_ids: order.task_ids.clone(),
            command_index: order.command_index,
            attempt,
            command: command.command.clone(),
            arguments: Vec::new(),
            agent: agent.clone(),
            description: command.description.clone(),
            user_choice: None,
            idempotent: command.idempotent,
            digest: order.plan.clone(),
            cookie: order.cookie.clone(),
            boot_id: found.boot_id.clone(),
        };
        let Ok(seq) = rewrite.record(EventKind::CommandStarted(Box::new(started))) else {
            return Ok(false);
        };
        let kind = Self::finished(
            found,
            seq,
            task_id,
            &command.command,
            Some(&command),
            command.idempotent,
        );
        rewrite.record(finished_by(kind, agent))?;
        Ok(true)
    }

    fn finished(
        found: &Found,
        started_seq: u64,
        task_id: TaskId,
        text: &str,
        command: Option<&PlanCommand>,
        idempotent: bool,
    ) -> CommandFinished {
        let again = if idempotent { ResumeAction::Retry } else { ResumeAction::Choose };
        let (error, resume) = if let Some(finish) = &found.finish {
            let error = describe(finish, command, None);
            let resume = error.is_some().then_some(ResumeAction::Choose);
            (error, resume)
        } else {
            let why = "nobody knows how it ended: what was recorded of it is lost";
            (Some(why.to_owned()), Some(again))
        };
        let finish = found.finish.as_ref();
        CommandFinished {
            started_seq,
            task_id,
            command: text.into(),
            arguments: Vec::new(),
            agent: Agent::user(),
            status: if error.is_some() { CommandVerdict::Failure } else { CommandVerdict::Success },
            outcome: finish.map_or(AttemptOutcome::Indeterminate, |finish| finish.outcome),
            exit_code: finish.and_then(|finish| finish.exit_code),
            signal: finish.and_then(|finish| finish.signal),
            duration_ms: finish.map_or(0, |finish| finish.duration_ms),
            error,
            output_summary: None,
            recovered: true,
            log: Some(found.log.clone()),
            resume,
        }
    }

    fn command(&self, task_id: &TaskId, index: usize) -> Option<&PlanCommand> {
        let task = self.plan.as_ref()?.tasks.iter().find(|task| task.id == *task_id)?;
        task.commands.get(index)
    }
}

fn finished_by(mut finished: CommandFinished, agent: Agent) -> EventKind {
    finished.agent = agent;
    EventKind::CommandFinished(Box::new(finished))
}

fn agent_of(session: &Session) -> Agent {
    session.meta.agent.clone().unwrap_or_else(Agent::user)
}

/// The task that holds an open attempt.
fn owner(session: &Session, seq: u64) -> Option<TaskId> {
    let holds = |task: &&std::sync::Arc<crate::model::TaskRecord>| {
        task.in_flight.iter().any(|open| open.seq == seq)
    };
    session.tasks.values().find(holds).map(|task| task.task_id.clone())
}

/// Attempts are only made while a session is under way: that it was resumed is lost, too.
fn resume(rewrite: &mut Rewrite) -> Result<(), Illegal> {
    let paused = rewrite.session().is_some_and(|session| {
        matches!(session.meta.status, SessionStatus::Paused | SessionStatus::Failed)
    });
    if paused {
        rewrite.record(EventKind::SessionResumed {})?;
    }
    Ok(())
}
