//! One planned command of a task, through all its attempts: started on record, concluded, and
//! tried again where that is allowed.

use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use super::{
    RunError,
    attempts::AttemptEnd,
    attending::until,
    calls::{Call, describe},
    clock,
    deciding::Said,
    package_locks::{are_packages_taken, found_locked},
    run::{Interrupted, Run},
};
use crate::{
    exec::Finish,
    flow::{self, Diagnosis},
    model::{
        AttemptOutcome, CommandStatus, ErrorClass, EventKind, InFlight, PlanCommand, PlanTask,
        ResumeAction, ResumePoint,
    },
};

/// The pause before a second try; it doubles from try to try.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often one that may run again is begun anew when nobody knows how it ended.
pub(super) const MOST_UNKNOWN: usize = 3;
/// How often one is begun anew that found a package manager's lock taken.
const MOST_LOCKED: u32 = 5;

/// What came of one command.
#[derive(Debug)]
pub(super) enum CommandEnd {
    Done,
    /// The task as a whole is done, whatever this command did.
    TaskDone,
    Failed {
        error: String,
        diagnosis: Diagnosis,
    },
    Skip(String),
    Stopped,
    Undecided(String),
}

/// How often a command was tried, and why it was tried again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tries {
    made: u32,
    locked: u32,
    pub unknown: usize,
}

/// What came of one attempt, once that is on record.
#[derive(Debug)]
pub(super) enum Tried {
    Done,
    /// It may be tried again, after a pause.
    Again,
    Failed {
        error: String,
        diagnosis: Diagnosis,
        /// The end of what it wrote.
        said: Vec<u8>,
    },
    /// Nobody knows how it ended.
    Unknown,
    Stopped,
}

impl Run<'_> {
    /// One planned command, through as many attempts as the plan allows.
    pub(super) async fn run_command(
        &self,
        task: &PlanTask,
        index: usize,
        command: &PlanCommand,
    ) -> Result<CommandEnd, RunError> {
        let call = Call { tasks: &[task], index, command };
        let place = self.place_of(task);
        let mut tries = Tries::default();
        loop {
            let record = self.task_record(task);
            let open = record.and_then(|record| record.in_flight.first().cloned());
            let terminal;
            let begun_here = open.is_none();
            let open = if let Some(open) = open {
                // Commands before the one under way are done.
                if open.command_index != index {
                    return Ok(CommandEnd::Done);
                }
                if open.task_ids.len() > 1 {
                    if !self.take_up_shared(task, command, &open).await? {
                        return Ok(CommandEnd::Stopped);
                    }
                    continue;
                }
                if !self.turn_for_open(place, call.demand()).await {
                    return Ok(CommandEnd::Stopped);
                }
                terminal = self.terminal_for(command).await;
                open
            } else {
                if let Some(end) = self.settled_before(task, index).await? {
                    return Ok(end);
                }
                if tries.unknown >= MOST_UNKNOWN {
                    return Ok(interrupted_each_time(task, index));
                }
                if self.can_be_shared(place) {
                    match self.share(task, command).await? {
                        Some(end) => return Ok(end),
                        // By itself, then.
                        None => continue,
                    }
                }
                match self.kept_from_beginning(&call, tries.made).await? {
                    Ok(screen) => terminal = screen,
                    Err(end) => return Ok(end),
                }
                self.begin(&call).await?
            };
            let tried = self.attempt(&call, &open, begun_here, &mut tries).await?;
            drop(terminal);
            match tried {
                Tried::Done => return Ok(CommandEnd::Done),
                Tried::Failed { error, diagnosis, .. } => {
                    return Ok(CommandEnd::Failed { error, diagnosis });
                }
                Tried::Stopped => return Ok(CommandEnd::Stopped),
                Tried::Unknown => {}
                Tried::Again => {
                    if !self.wait_before_retry(&call, &tries).await {
                        return Ok(CommandEnd::Stopped);
                    }
                }
            }
        }
    }

    /// Sees one attempt through to its end, and that on record. Then its locks are free.
    pub(super) async fn attempt(
        &self,
        call: &Call<'_>,
        open: &InFlight,
        begun_here: bool,
        tries: &mut Tries,
    ) -> Result<Tried, RunError> {
        tries.made += 1;
        let end = self.conclude(call, open, begun_here).await?;
        let tried = match end {
            AttemptEnd::Left => Tried::Stopped,
            AttemptEnd::Indeterminate(why) => {
                self.record_unknown(call, open, &why).await;
                tries.unknown += 1;
                Tried::Unknown
            }
            AttemptEnd::Finished { finish, recovered } => {
                self.judge_attempt(call, open, &finish, recovered, tries).await?
            }
        };
        let place = self.place_of(call.first());
        self.turns.change(|schedule| schedule.release(place));
        Ok(tried)
    }

    async fn judge_attempt(
        &self,
        call: &Call<'_>,
        open: &InFlight,
        finish: &Finish,
        recovered: bool,
        tries: &mut Tries,
    ) -> Result<Tried, RunError> {
        let command = call.command;
        let said = if finish.bytes > 0 {
            self.output_end(&format!("attempts/{}", open.seq))?.0
        } else {
            Vec::new()
        };
        let mut last = flow::last_line(&said);
        let error = describe(finish, Some(command), last.as_deref());
        if command.interactive {
            last = Some("not kept: it was on the terminal".into());
            if is_interrupted(finish) {
                self.stop.pause("interrupted with Ctrl-C");
                self.turns.has_changed();
            }
        }
        let stopped_by_person =
            self.stop.interrupts() >= 2 || (command.interactive && self.stop.is_asked());
        // Nothing is started beside what could not be ended.
        let was_ended = finish.outcome == AttemptOutcome::TimedOut || stopped_by_person;
        let survivors = was_ended && finish.descendants > 0;
        if survivors {
            let (count, names) = (finish.descendants, finish.survivors.join(", "));
            self.note(&format!(
                "{count} of its processes could not be ended and still run: {names}"
            ));
        }
        let diagnosis = flow::diagnose(finish.outcome, finish.exit_code, &said);
        let allowed = if survivors { 0 } else { flow::retries(command, &diagnosis) };
        let wait = error.is_some()
            && !survivors
            && tries.locked < MOST_LOCKED
            && found_locked(call.first(), command, &diagnosis);
        // Those whom a call served in vain are looked at by themselves: that decides what becomes of
        // them.
        let again = error.is_some()
            && (stopped_by_person || wait || tries.made <= allowed || call.is_shared());
        self.record_finish(call, open, finish, recovered, error.clone(), last, again).await;
        tracing::trace!(step = "finished");
        let Some(error) = error else { return Ok(Tried::Done) };
        if stopped_by_person {
            return Ok(Tried::Stopped);
        }
        if wait {
            // That was no try of its own.
            (tries.made, tries.locked) = (tries.made - 1, tries.locked + 1);
        } else if tries.made > allowed {
            return Ok(Tried::Failed { error, diagnosis, said });
        }
        Ok(Tried::Again)
    }

    /// What keeps a command from being begun, if anything does. Otherwise it has its turn, and the
    /// terminal to itself where it wants that.
    async fn kept_from_beginning(
        &self,
        call: &Call<'_>,
        tries: u32,
    ) -> Result<Result<Option<OwnedMutexGuard<()>>, CommandEnd>, RunError> {
        let (task, command) = (call.first(), call.command);
        let place = self.place_of(task);
        if !self.may_go_on_with(place)? {
            return Ok(Err(CommandEnd::Stopped));
        }
        // Whoever wants to see each command has seen it when it is tried again by itself.
        let said = if tries == 0 { self.review(task, call.index, command).await? } else { None };
        match said {
            None => {}
            Some(Said::PassedBy) => {
                return Ok(Err(CommandEnd::Skip("passed by when it was reviewed".into())));
            }
            Some(_) => return Ok(Err(CommandEnd::Stopped)),
        }
        if command.interactive && self.around.asker.is_none() {
            let error = "it wants to talk with a person, and nobody is here".into();
            let diagnosis = Diagnosis::of(ErrorClass::NeedsInput);
            return Ok(Err(CommandEnd::Failed { error, diagnosis }));
        }
        if let Some(end) = self.turn_and_packages(call).await? {
            return Ok(Err(end));
        }
        let terminal = self.terminal_for(command).await;
        // Whoever was asked meanwhile may have chosen to stop.
        Ok(if self.is_ending(place) { Err(CommandEnd::Stopped) } else { Ok(terminal) })
    }

    /// Waits for the terminal, where a command wants it: whoever is being asked something has it until
    /// they have answered.
    async fn terminal_for(&self, command: &PlanCommand) -> Option<OwnedMutexGuard<()>> {
        if command.interactive { Some(self.talk.begin().await) } else { None }
    }

    /// Waits for a turn, for the locks, and for whoever else is at work with the packages. `None`
    /// when the call may be made.
    pub(super) async fn turn_and_packages(
        &self,
        call: &Call<'_>,
    ) -> Result<Option<CommandEnd>, RunError> {
        let place = self.place_of(call.first());
        loop {
            if let Some(end) = self.wait_for_packages(call).await {
                return Ok(Some(end));
            }
            if !self.turn_for(place, call.demand()).await || !self.may_go_on_with(place)? {
                return Ok(Some(CommandEnd::Stopped));
            }
            if !are_packages_taken(call) {
                return Ok(None);
            }
            // Somebody was quicker.
            self.turns.change(|schedule| schedule.rest(place));
        }
    }

    /// What is to be made of a command that was tried before; `None` if it is to run now.
    async fn settled_before(
        &self,
        task: &PlanTask,
        index: usize,
    ) -> Result<Option<CommandEnd>, RunError> {
        let Some(record) = self.task_record(task) else { return Ok(None) };
        let point = self.session().resume_point_of(&task.id).cloned();
        let point = point.filter(|point| point.command_index == index);
        let Some(command) = record.command(index) else {
            return Ok(self.decided_before(task, index, point));
        };
        if command.status != CommandStatus::Failed {
            return Ok(Some(CommandEnd::Done));
        }
        let unknown = flow::is_indeterminate(&record, index);
        let outcome = command.outcome.unwrap_or(AttemptOutcome::Exited);
        let (exit_code, log) = (command.exit_code, command.log.clone());
        let error = command.error.clone().unwrap_or_else(|| "it failed".into());
        let number = index + 1;
        let action = point.map_or(ResumeAction::Choose, |point| point.action);
        // Only behind the last command can the task as a whole be done.
        let is_last = index + 1 == task.commands.len();
        if unknown
            && action != ResumeAction::Skip
            && is_last
            && self.is_done_after_all(task).await?
        {
            return Ok(Some(CommandEnd::TaskDone));
        }
        match action {
            ResumeAction::Retry => Ok(None),
            ResumeAction::Skip => Ok(Some(CommandEnd::Skip("passed by after it failed".into()))),
            ResumeAction::Choose if !unknown => {
                // The run that saw it fail ended before it could say so of the task.
                let (said, _) = self.output_end(&log.unwrap_or_default())?;
                let diagnosis = flow::diagnose(outcome, exit_code, &said);
                Ok(Some(CommandEnd::Failed { error, diagnosis }))
            }
            ResumeAction::Choose => Ok(self.decide(task, number, &error)),
        }
    }

    /// What is to be made of a command that has no record, where a person must say whether it ran.
    fn decided_before(
        &self,
        task: &PlanTask,
        index: usize,
        point: Option<ResumePoint>,
    ) -> Option<CommandEnd> {
        let point = point.filter(|point| point.action == ResumeAction::Choose)?;
        self.decide(task, index + 1, &point.context)
    }

    /// What was said about commands that nobody knows the end of; `None` if it is to run.
    fn decide(&self, task: &PlanTask, number: usize, error: &str) -> Option<CommandEnd> {
        let task_id = task.id.clone();
        let said = self.decided.borrow_mut().remove(&task_id);
        let (action, end) = match said.or(self.options.interrupted) {
            None => {
                let what = format!("command {number} of {task_id}: {error}");
                return Some(CommandEnd::Undecided(what));
            }
            Some(Interrupted::Retry) => (ResumeAction::Retry, None),
            Some(Interrupted::Skip) => {
                let reason = format!("command {number} was interrupted; passed by");
                (ResumeAction::Skip, Some(CommandEnd::Skip(reason)))
            }
        };
        let context = format!("command {number} was interrupted: {}", action.name());
        self.queue(EventKind::ResumeChosen { task_id, action, context });
        end
    }

    /// Whether to go on with another try, after a pause in which its tasks are pending and leave
    /// their turn to others.
    pub(super) async fn wait_before_retry(&self, call: &Call<'_>, tries: &Tries) -> bool {
        let tried = tries.made.max(tries.locked).max(1);
        let doubled = FIRST_PAUSE.saturating_mul(1 << (tried - 1).min(5));
        let pause = clock::with_jitter(doubled.min(LONGEST_PAUSE));
        let reason = format!("trying again in {:.1} s", pause.as_secs_f64());
        self.wait_pending(call.tasks, &reason, tokio::time::sleep(pause)).await
    }

    /// Waits for something in which tasks are pending and need no turn; whether it came. Otherwise
    /// nothing more is to be begun, and they stay pending.
    pub(super) async fn wait_pending(
        &self,
        tasks: &[&PlanTask],
        reason: &str,
        event: impl Future<Output = ()>,
    ) -> bool {
        for task in tasks {
            let (task_id, reason) = (task.id.clone(), reason.to_owned());
            self.queue(EventKind::TaskReset { task_id, reason });
        }
        for place in tasks.iter().map(|task| self.place_of(task)) {
            self.turns.change(|schedule| schedule.rest(place));
        }
        tokio::select! {
            () = event => {}
            () = until(|| tasks.iter().any(|task| self.is_ending(self.place_of(task)))) => {
                return false;
            }
        }
        for task in tasks {
            self.queue(EventKind::TaskStarted { task_id: task.id.clone() });
        }
        true
    }
}

pub(super) fn interrupted_each_time(task: &PlanTask, index: usize) -> CommandEnd {
    CommandEnd::Undecided(format!("command {} of {} is interrupted each time", index + 1, task.id))
}

/// Whether a command ended as Ctrl-C ends it.
fn is_interrupted(finish: &Finish) -> bool {
    const INTERRUPT: i32 = 2;
    finish.signal == Some(INTERRUPT) || finish.exit_code == Some(128 + INTERRUPT)
}
