//! Attempts whose record was lost, taken up from what their directories say.

use super::{RecoverError, calls::describe};
use crate::{
    disk::Fs,
    exec::{Attempt, Finish, Order, Standing},
    flow,
    model::{
        Agent, AttemptOutcome, CommandFinished, CommandRecord, CommandSkipped, CommandStarted,
        CommandStatus, CommandVerdict, EventKind, Extra, FailureContext, Illegal, InFlight, Phase,
        Plan, ResumeAction, Session, SessionId, SessionStatus, TaskId, TaskStatus,
    },
    store::{LostAttempt, Rewrite},
};

/// One attempt, as far as its directory tells.
struct Found {
    seq: u64,
    log: String,
    /// `None` where nobody claimed it.
    claim: Option<Claimed>,
}

struct Claimed {
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
    /// The plan, where it can be read, gives back the texts of commands.
    pub(super) fn new(fs: &'a Fs, id: &'a SessionId, plan: Option<Plan>) -> Self {
        Self { fs, id, plan, boot_id: crate::os::boot_id(), found: Vec::new() }
    }

    /// Looks at one attempt. Nothing may still run of it: it would go on writing into a record that
    /// is being replaced.
    pub(super) fn look_at(&mut self, lost: &LostAttempt) -> Result<(), RecoverError> {
        let attempt = Attempt::new(self.fs, &lost.directory);
        let Some(claim) = attempt.claim()? else {
            self.found.push(Found { seq: lost.seq, log: lost.log.clone(), claim: None });
            return Ok(());
        };
        let still = |what: String| RecoverError::StillRunning { id: self.id.clone(), what };
        let task = claim.order.as_ref().and_then(|order| Some((order, order.task_ids.first()?)));
        let command = || match task {
            Some((order, task)) => {
                format!("command {} of {task}", order.command_index.saturating_add(1))
            }
            None => format!("attempt {}", lost.seq),
        };
        if attempt.is_claimed()? || attempt.is_alive()? {
            return Err(still(command()));
        }
        let same_boot = claim.boot_id == self.boot_id;
        let cookie = claim.order.as_ref().map(|order| order.cookie.as_str());
        let finish = match cookie.filter(|_| same_boot).map(|c| attempt.standing(c)).transpose()? {
            Some(Standing::Finished(finish)) => Some(finish),
            Some(Standing::Running(_)) => return Err(still(command())),
            Some(Standing::Orphaned(names)) => return Err(still(names.join(", "))),
            Some(Standing::Unclaimed | Standing::Another | Standing::Lost) | None => None,
        };
        let claim = Some(Claimed { boot_id: claim.boot_id, order: claim.order, finish });
        self.found.push(Found { seq: lost.seq, log: lost.log.clone(), claim });
        Ok(())
    }

    /// Records what was found beyond the `known` attempts, and the ends of those that are open; says
    /// what could not be given a place.
    pub(super) fn record(
        self,
        rewrite: &mut Rewrite,
        known: u64,
    ) -> Result<Option<String>, Illegal> {
        let (mut taken, mut placeless) = (0_u64, 0_u64);
        let mut last_is_placeless = false;
        for found in &self.found {
            match open_attempt(rewrite.session(), found.seq) {
                Some((task_id, open)) => self.close(found, &task_id, &open, rewrite)?,
                None if found.seq <= known => {}
                None if self.rebuild(found, rewrite)? => {
                    taken += 1;
                    last_is_placeless = false;
                }
                None => {
                    placeless += 1;
                    last_is_placeless = true;
                }
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
            // What began behind them came after them: only the last ones may be what comes next.
            if last_is_placeless {
                ask_before_going_on(rewrite)?;
            }
        }
        Ok((!told.is_empty()).then(|| told.join(" ")))
    }

    /// The end of an attempt whose start is on record.
    fn close(
        &self,
        found: &Found,
        task_id: &TaskId,
        open: &InFlight,
        rewrite: &mut Rewrite,
    ) -> Result<(), Illegal> {
        // What another attempt of that number did says nothing of this one.
        let own = |order: &Order| order.cookie == open.cookie;
        let claim = found.claim.as_ref().filter(|claim| claim.order.as_ref().is_none_or(own));
        let never_begun = claim.is_none() && open.boot_id == self.boot_id;
        let outcome = if never_begun { End::NeverBegun } else { End::of(claim) };
        let kind = finished(found, open.seq, task_id, &open.command, open.idempotent, outcome);
        resume(rewrite)?;
        finish_with(rewrite, kind)
    }
}

/// How an attempt ended, as far as that can be known.
#[derive(Clone, Copy)]
enum End<'a> {
    Known(&'a Finish),
    NeverBegun,
    Unknown,
}

impl<'a> End<'a> {
    fn of(claim: Option<&'a Claimed>) -> Self {
        match claim.and_then(|claim| claim.finish.as_deref()) {
            Some(finish) => Self::Known(finish),
            None => Self::Unknown,
        }
    }
}

impl Rebuilder<'_> {
    /// Both events of an attempt of which nothing is on record; whether it has a place.
    fn rebuild(&self, found: &Found, rewrite: &mut Rewrite) -> Result<bool, Illegal> {
        let Some(claim) = &found.claim else { return Ok(false) };
        let (Some(order), Some(session)) = (&claim.order, rewrite.session()) else {
            return Ok(false);
        };
        let Some(task_id) = order.task_ids.first().cloned() else { return Ok(false) };
        if !has_place(session, order) {
            return Ok(false);
        }
        let known = session.tasks.get(&task_id).and_then(|task| task.command(order.command_index));
        let attempt = known.and_then(|command| command.attempts).unwrap_or(0).saturating_add(1);
        let agent = agent_of(session);
        let idle = |id: &&TaskId| {
            session.tasks.get(*id).is_some_and(|task| task.status != TaskStatus::InProgress)
        };
        let begun: Vec<_> = order.task_ids.iter().filter(idle).cloned().collect();
        resume(rewrite)?;
        for task_id in begun {
            rewrite.record(EventKind::TaskStarted { task_id })?;
        }
        self.fill_gaps(order, rewrite)?;
        let command = match order.command.as_str() {
            "" => self.text_of(&task_id, order.command_index),
            told => told.to_owned(),
        };
        let started = CommandStarted {
            task_id: task_id.clone(),
            task_ids: order.task_ids.clone(),
            command_index: order.command_index,
            attempt,
            command: command.clone(),
            arguments: Vec::new(),
            agent,
            description: None,
            user_choice: None,
            idempotent: order.idempotent,
            digest: order.plan.clone(),
            cookie: order.cookie.clone(),
            boot_id: claim.boot_id.clone(),
        };
        let seq = rewrite.record(EventKind::CommandStarted(Box::new(started)))?;
        let end = End::of(Some(claim));
        let kind = finished(found, seq, &task_id, &command, order.idempotent, end);
        finish_with(rewrite, kind)?;
        Ok(true)
    }

    /// A command begins when those before it are done: whatever is not on record of them is lost.
    fn fill_gaps(&self, order: &Order, rewrite: &mut Rewrite) -> Result<(), Illegal> {
        for task_id in &order.task_ids {
            for command_index in 0..order.command_index {
                let task = rewrite.session().and_then(|session| session.tasks.get(task_id));
                let done = |command: &CommandRecord| command.status != CommandStatus::Failed;
                if task.is_some_and(|task| task.command(command_index).is_some_and(done)) {
                    continue;
                }
                let command = self.text_of(task_id, command_index);
                rewrite.record(EventKind::CommandSkipped(CommandSkipped {
                    task_id: task_id.clone(),
                    command_index,
                    command,
                    description: None,
                    user_choice: None,
                    reason: "its record is lost, and the command behind it has begun".into(),
                }))?;
            }
        }
        Ok(())
    }

    fn text_of(&self, task_id: &TaskId, index: usize) -> String {
        let tasks = self.plan.iter().flat_map(|plan| &plan.tasks);
        let command = tasks
            .filter(|task| task.id == *task_id)
            .find_map(|task| task.commands.get(index))
            .map(|command| command.command.clone());
        command.unwrap_or_else(|| "(lost with the plan)".into())
    }
}

/// Whether an attempt can have happened next.
fn has_place(session: &Session, order: &Order) -> bool {
    session.phase.current == Phase::Execute
        && session.plan.approved_at.is_some()
        && session.plan.digest.as_ref() == Some(&order.plan)
        && order.task_ids.iter().all(|id| {
            session.tasks.get(id).is_some_and(|task| {
                let index = order.command_index;
                let done = |status| status == CommandStatus::Success;
                !task.status.is_settled()
                    && task.in_flight.is_empty()
                    && task.planned_commands.is_none_or(|planned| index < planned)
                    && !task.command(index).is_some_and(|command| done(command.status))
            })
        })
}

fn finished(
    found: &Found,
    started_seq: u64,
    task_id: &TaskId,
    command: &str,
    idempotent: bool,
    end: End<'_>,
) -> CommandFinished {
    let (finish, outcome, error, resume) = match end {
        End::Known(finish) => {
            let error = describe(finish, None, None);
            let resume = error.is_some().then_some(ResumeAction::Choose);
            (Some(finish), finish.outcome, error, resume)
        }
        End::NeverBegun => {
            let error = Some("it was never begun".to_owned());
            (None, AttemptOutcome::NotStarted, error, Some(ResumeAction::Retry))
        }
        End::Unknown => {
            let why = "nobody knows how it ended: what was recorded of it is lost";
            let again = if idempotent { ResumeAction::Retry } else { ResumeAction::Choose };
            (None, AttemptOutcome::Indeterminate, Some(why.to_owned()), Some(again))
        }
    };
    CommandFinished {
        started_seq,
        task_id: task_id.clone(),
        command: command.into(),
        arguments: Vec::new(),
        agent: Agent::user(),
        status: if error.is_some() { CommandVerdict::Failure } else { CommandVerdict::Success },
        outcome,
        exit_code: finish.and_then(|finish| finish.exit_code),
        signal: finish.and_then(|finish| finish.signal),
        duration_ms: finish.map_or(0, |finish| finish.duration_ms),
        error,
        output_summary: None,
        recovered: true,
        log: found.claim.is_some().then(|| found.log.clone()),
        resume,
    }
}

/// Records the end of a command, and that of its task where the command failed for good.
fn finish_with(rewrite: &mut Rewrite, mut finished: CommandFinished) -> Result<(), Illegal> {
    finished.agent = rewrite.session().map_or_else(Agent::user, agent_of);
    let failed = matches!(
        finished.outcome,
        AttemptOutcome::Exited | AttemptOutcome::Signaled | AttemptOutcome::TimedOut
    );
    let error = finished.error.clone().filter(|_| failed);
    let (task_id, seq) = (finished.task_id.clone(), finished.started_seq);
    // What it printed may be as old as the record that was lost: only its end is certain.
    let diagnosis = flow::diagnose(finished.outcome, finished.exit_code, &[]);
    let open = open_attempt(rewrite.session(), seq).map(|(_, open)| open.task_ids);
    rewrite.record(EventKind::CommandFinished(Box::new(finished)))?;
    let Some(error) = error else { return Ok(()) };
    for task_id in open.unwrap_or_else(|| vec![task_id]) {
        let failure_context = FailureContext {
            error_type: diagnosis.class.name().into(),
            suggested_resolution: diagnosis.advice.clone(),
            extra: Extra::new(),
        };
        rewrite.record(EventKind::TaskFailed { task_id, error: error.clone(), failure_context })?;
    }
    Ok(())
}

/// Whatever comes next may be what ran and left no trace of what it was: a person must say.
fn ask_before_going_on(rewrite: &mut Rewrite) -> Result<(), Illegal> {
    let Some(session) = rewrite.session() else { return Ok(()) };
    let Some(point) = session.resume_point.clone() else { return Ok(()) };
    let status = session.tasks.get(&point.task_id).map(|task| task.status);
    if status != Some(TaskStatus::InProgress) {
        // Whoever starts a task begins it without a question: it has to be started before.
        resume(rewrite)?;
        rewrite.record(EventKind::TaskStarted { task_id: point.task_id.clone() })?;
    }
    rewrite.record(EventKind::ResumeChosen {
        task_id: point.task_id,
        action: ResumeAction::Choose,
        context: "something ran whose record is lost: it may have been this".into(),
    })?;
    Ok(())
}

fn agent_of(session: &Session) -> Agent {
    session.meta.agent.clone().unwrap_or_else(Agent::user)
}

/// The attempt of that number that the session holds for open, and the task it began for.
fn open_attempt(session: Option<&Session>, seq: u64) -> Option<(TaskId, InFlight)> {
    let tasks = session?.tasks.values();
    let mut open = tasks.flat_map(|task| task.in_flight.iter().map(move |open| (task, open)));
    let (task, open) = open.find(|(_, open)| open.seq == seq)?;
    Some((open.task_ids.first().unwrap_or(&task.task_id).clone(), open.clone()))
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
