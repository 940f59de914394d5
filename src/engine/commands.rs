//! One planned command of a task, through all its attempts: started on record, concluded, and
//! tried again where that is allowed.

use std::{io, time::Duration};

use super::{
    RunError,
    attempts::AttemptEnd,
    clock,
    deciding::Said,
    package_locks::found_locked,
    run::{Interrupted, Run, TICK},
};
use crate::{
    exec::{Finish, read_all},
    flow::{self, Diagnosis},
    model::{
        AttemptOutcome, CommandFinished, CommandStarted, CommandStatus, CommandVerdict, ErrorClass,
        EventKind, InFlight, PlanCommand, PlanTask, ResumeAction, ResumePoint,
    },
};

/// The pause before a second try; it doubles from try to try.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often one that may run again is begun anew when nobody knows how it ended.
const MOST_UNKNOWN: usize = 3;
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

impl Run<'_> {
    /// One planned command, through as many attempts as the plan allows.
    pub(super) async fn run_command(
        &mut self,
        task: &PlanTask,
        index: usize,
        command: &PlanCommand,
    ) -> Result<CommandEnd, RunError> {
        let (mut tries, mut unknown, mut locked) = (0, 0, 0);
        loop {
            let record = self.task_record(task);
            let open = record.and_then(|record| record.in_flight.first()).cloned();
            let begun_here = open.is_none();
            let open = if let Some(open) = open {
                // Commands before the one under way are done.
                if open.command_index != index {
                    return Ok(CommandEnd::Done);
                }
                open
            } else {
                if let Some(end) = self.settled_before(task, index).await? {
                    return Ok(end);
                }
                if unknown >= MOST_UNKNOWN {
                    let what =
                        format!("command {} of {} is interrupted each time", index + 1, task.id);
                    return Ok(CommandEnd::Undecided(what));
                }
                if let Some(end) = self.kept_from_beginning(task, index, command, tries).await? {
                    return Ok(end);
                }
                self.begin(task, index, command)?
            };
            tries += 1;
            let end = self.conclude(task, command, &open, begun_here).await?;
            let (finish, recovered) = match end {
                AttemptEnd::Left => return Ok(CommandEnd::Stopped),
                AttemptEnd::Indeterminate(why) => {
                    self.record_unknown(task, command, &open, &why)?;
                    unknown += 1;
                    continue;
                }
                AttemptEnd::Finished { finish, recovered } => (finish, recovered),
            };
            let said = if finish.bytes > 0 { self.output_end(open.seq)? } else { Vec::new() };
            let mut last = flow::last_line(&said);
            let error = describe(&finish, Some(command), last.as_deref());
            if command.interactive {
                last = Some("not kept: it was on the terminal".into());
                if is_interrupted(&finish) {
                    self.stop.pause = true;
                    self.stop.reason.get_or_insert_with(|| "interrupted with Ctrl-C".into());
                }
            }
            let stopped_by_person =
                self.stop.interrupts >= 2 || (command.interactive && self.stop.is_asked());
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
                && locked < MOST_LOCKED
                && found_locked(task, command, &diagnosis);
            let again = error.is_some() && (stopped_by_person || wait || tries <= allowed);
            self.record_finish(
                task,
                command,
                &open,
                &finish,
                recovered,
                error.clone(),
                last,
                again,
            )?;
            tracing::trace!(step = "finished");
            let Some(error) = error else { return Ok(CommandEnd::Done) };
            if stopped_by_person {
                return Ok(CommandEnd::Stopped);
            }
            if wait {
                // That was no try of its own.
                (tries, locked) = (tries - 1, locked + 1);
            } else if tries > allowed {
                return Ok(CommandEnd::Failed { error, diagnosis });
            }
            if !self.wait_before_retry(task, tries.max(locked)).await? {
                return Ok(CommandEnd::Stopped);
            }
        }
    }

    /// What keeps a command from being begun, if anything does.
    async fn kept_from_beginning(
        &mut self,
        task: &PlanTask,
        index: usize,
        command: &PlanCommand,
        tries: u32,
    ) -> Result<Option<CommandEnd>, RunError> {
        if !self.may_go_on().await? {
            return Ok(Some(CommandEnd::Stopped));
        }
        // Whoever wants to see each command has seen it when it is tried again by itself.
        let said = if tries == 0 { self.review(task, index, command).await? } else { None };
        match said {
            None => {}
            Some(Said::PassedBy) => {
                return Ok(Some(CommandEnd::Skip("passed by when it was reviewed".into())));
            }
            Some(_) => return Ok(Some(CommandEnd::Stopped)),
        }
        if let Some(end) = self.wait_for_packages(task, command).await? {
            return Ok(Some(end));
        }
        if command.interactive && self.around.asker.is_none() {
            let error = "it wants to talk with a person, and nobody is here".into();
            let diagnosis = Diagnosis::of(ErrorClass::NeedsInput);
            return Ok(Some(CommandEnd::Failed { error, diagnosis }));
        }
        Ok(None)
    }

    /// What is to be made of a command that was tried before; `None` if it is to run now.
    async fn settled_before(
        &mut self,
        task: &PlanTask,
        index: usize,
    ) -> Result<Option<CommandEnd>, RunError> {
        let Some(record) = self.task_record(task) else { return Ok(None) };
        let point = self.session().resume_point_of(&task.id);
        let point = point.filter(|point| point.command_index == index).cloned();
        let Some(command) = record.command(index) else {
            return Ok(self.decided_before(task, index, point));
        };
        if command.status != CommandStatus::Failed {
            return Ok(Some(CommandEnd::Done));
        }
        let unknown = flow::is_indeterminate(record, index);
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
                let seq = log.and_then(|log| log.rsplit('/').next()?.parse().ok());
                let said = seq.map_or(Ok(Vec::new()), |seq| self.output_end(seq))?;
                let diagnosis = flow::diagnose(outcome, exit_code, &said);
                Ok(Some(CommandEnd::Failed { error, diagnosis }))
            }
            ResumeAction::Choose => Ok(self.decide(task, number, &error)),
        }
    }

    /// What is to be made of a command that has no record, where a person must say whether it ran.
    fn decided_before(
        &mut self,
        task: &PlanTask,
        index: usize,
        point: Option<ResumePoint>,
    ) -> Option<CommandEnd> {
        let point = point.filter(|point| point.action == ResumeAction::Choose)?;
        self.decide(task, index + 1, &point.context)
    }

    /// What was said about commands that nobody knows the end of; `None` if it is to run.
    fn decide(&mut self, task: &PlanTask, number: usize, error: &str) -> Option<CommandEnd> {
        let task_id = task.id.clone();
        let said = self.decided.remove(&task_id);
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

    /// Records the start of a command. From here on it may run, and nothing runs before.
    fn begin(
        &mut self,
        task: &PlanTask,
        index: usize,
        command: &PlanCommand,
    ) -> Result<InFlight, RunError> {
        let known = self.task_record(task).and_then(|record| record.command(index)?.attempts);
        let names = self.data.variables().map(|(name, _)| name);
        let started = CommandStarted {
            task_id: task.id.clone(),
            task_ids: vec![task.id.clone()],
            command_index: index,
            attempt: known.unwrap_or(0).saturating_add(1),
            command: command.command.clone(),
            arguments: names.chain(command.env.keys().cloned()).collect(),
            agent: self.options.agent.clone(),
            description: command.description.clone().or_else(|| command.name.clone()),
            user_choice: self.chosen.take().map(str::to_owned),
            idempotent: command.idempotent,
            digest: self.digest.clone(),
            cookie: clock::cookie(),
            boot_id: self.boot_id.clone(),
        };
        self.queue(EventKind::CommandStarted(Box::new(started)));
        self.flush()?;
        tracing::trace!(step = "started");
        let open = self.task_record(task).and_then(|record| record.in_flight.last()).cloned();
        open.ok_or_else(|| RunError::Attempt {
            id: self.id(),
            source: io::Error::other("its start was not recorded"),
        })
    }

    #[expect(clippy::too_many_arguments, reason = "each becomes a field of the event")]
    fn record_finish(
        &mut self,
        task: &PlanTask,
        command: &PlanCommand,
        open: &InFlight,
        finish: &Finish,
        recovered: bool,
        error: Option<String>,
        last: Option<String>,
        again: bool,
    ) -> Result<(), RunError> {
        let failed = error.is_some();
        let resume =
            failed.then_some(if again { ResumeAction::Retry } else { ResumeAction::Choose });
        let kind = CommandFinished {
            outcome: finish.outcome,
            status: if failed { CommandVerdict::Failure } else { CommandVerdict::Success },
            exit_code: finish.exit_code,
            signal: finish.signal,
            duration_ms: finish.duration_ms,
            error,
            output_summary: last,
            recovered,
            resume,
            ..self.finished(task, command, open)
        };
        self.record(EventKind::CommandFinished(Box::new(kind)))
    }

    fn record_unknown(
        &mut self,
        task: &PlanTask,
        command: &PlanCommand,
        open: &InFlight,
        why: &str,
    ) -> Result<(), RunError> {
        let again = if open.idempotent { ResumeAction::Retry } else { ResumeAction::Choose };
        let kind = CommandFinished {
            error: Some(format!("nobody knows how it ended: {why}")),
            resume: Some(again),
            ..self.finished(task, command, open)
        };
        self.record(EventKind::CommandFinished(Box::new(kind)))
    }

    /// The end of an attempt of which nothing is known yet.
    fn finished(&self, task: &PlanTask, command: &PlanCommand, open: &InFlight) -> CommandFinished {
        let names = self.data.variables().map(|(name, _)| name);
        CommandFinished {
            started_seq: open.seq,
            task_id: task.id.clone(),
            command: command.command.clone(),
            arguments: names.chain(command.env.keys().cloned()).collect(),
            agent: self.options.agent.clone(),
            status: CommandVerdict::Failure,
            outcome: AttemptOutcome::Indeterminate,
            exit_code: None,
            signal: None,
            duration_ms: 0,
            error: None,
            output_summary: None,
            recovered: false,
            log: Some(format!("attempts/{}", open.seq)),
            resume: None,
        }
    }

    /// Whether to go on with another try, after a pause in which the task is pending.
    async fn wait_before_retry(&mut self, task: &PlanTask, tries: u32) -> Result<bool, RunError> {
        let doubled = FIRST_PAUSE.saturating_mul(1 << (tries - 1).min(5));
        let pause = clock::with_jitter(doubled.min(LONGEST_PAUSE));
        let reason = format!("trying again in {:.1} s", pause.as_secs_f64());
        self.record(EventKind::TaskReset { task_id: task.id.clone(), reason })?;
        let end = tokio::time::sleep(pause);
        tokio::pin!(end);
        while !self.stop.is_asked() {
            tokio::select! {
                () = &mut end => {
                    self.queue(EventKind::TaskStarted { task_id: task.id.clone() });
                    return Ok(true);
                }
                heard = self.signals.next() => self.hear(heard),
                () = tokio::time::sleep(TICK) => self.tick()?,
            }
        }
        Ok(false)
    }

    /// The end of what an attempt printed, as far as it is still there.
    fn output_end(&self, seq: u64) -> Result<Vec<u8>, RunError> {
        let store = &self.around.store;
        let directory = store.home().attempt(&self.id(), seq);
        let pieces = read_all(store.fs(), &directory)?;
        Ok(pieces.into_iter().next_back().map_or(Vec::new(), |piece| piece.bytes))
    }
}

/// Whether a command ended as Ctrl-C ends it.
fn is_interrupted(finish: &Finish) -> bool {
    const INTERRUPT: i32 = 2;
    finish.signal == Some(INTERRUPT) || finish.exit_code == Some(128 + INTERRUPT)
}

/// What went wrong, in a few words; `None` if nothing did.
pub(super) fn describe(
    finish: &Finish,
    command: Option<&PlanCommand>,
    last: Option<&str>,
) -> Option<String> {
    let how = match (finish.outcome, finish.exit_code, finish.signal) {
        (AttemptOutcome::Exited, Some(0), _) => return None,
        (AttemptOutcome::TimedOut, ..) => {
            match command.and_then(|command| command.timeout_seconds) {
                Some(seconds) => format!("timed out after {seconds} s"),
                None => "timed out".into(),
            }
        }
        (AttemptOutcome::NotStarted, ..) => {
            let problem = finish.problem.as_deref().unwrap_or("for an unknown reason");
            format!("could not be started: {problem}")
        }
        (_, Some(code), _) => format!("exit code {code}"),
        (_, None, Some(signal)) => format!("ended by signal {signal}"),
        (_, None, None) => "ended, and the system does not say how".into(),
    };
    Some(last.map_or_else(|| how.clone(), |last| format!("{how}: {last}")))
}
