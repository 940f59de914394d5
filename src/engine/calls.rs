//! A command as it is executed and recorded: its start before anything of it runs, its end before
//! anyone is told.

use std::io;

use super::{RunError, clock, executions::is_below, run::Run};
use crate::{
    exec::{Finish, read_all},
    flow::{self, Demand},
    model::{
        Agent, AttemptOutcome, CommandFinished, CommandStarted, CommandVerdict, EventKind,
        InFlight, PlanCommand, PlanTask, ResumeAction, TaskId,
    },
};

/// A command as it is executed: for one task, or for several that it serves at once.
#[derive(Clone, Copy)]
pub(super) struct Call<'t> {
    /// The first is the one it is recorded under.
    pub tasks: &'t [&'t PlanTask],
    pub index: usize,
    pub command: &'t PlanCommand,
}

impl<'t> Call<'t> {
    pub(super) fn first(&self) -> &'t PlanTask {
        self.tasks[0]
    }

    pub(super) fn is_shared(&self) -> bool {
        self.tasks.len() > 1
    }

    /// What it wants besides a turn.
    pub(super) fn demand(&self) -> Demand {
        let locks = flow::locks_of(self.first(), self.command);
        Demand { locks, alone: self.command.interactive }
    }
}

impl Run<'_> {
    /// Records the start of a command. From here on it may run, and nothing runs before.
    pub(super) async fn begin(&self, call: &Call<'_>) -> Result<InFlight, RunError> {
        let (task, command) = (call.first(), call.command);
        let known = self.task_record(task).and_then(|record| record.command(call.index)?.attempts);
        let names = self.data.variables().map(|(name, _)| name);
        let chosen = self.chosen.borrow_mut().remove(&task.id);
        let started = CommandStarted {
            task_id: task.id.clone(),
            task_ids: call.tasks.iter().map(|task| task.id.clone()).collect(),
            command_index: call.index,
            attempt: known.unwrap_or(0).saturating_add(1),
            command: command.command.clone(),
            arguments: names.chain(command.env.keys().cloned()).collect(),
            agent: self.options.agent.clone(),
            description: command.description.clone().or_else(|| command.name.clone()),
            user_choice: chosen.map(str::to_owned),
            idempotent: command.idempotent,
            digest: self.digest.clone(),
            cookie: clock::cookie(),
            boot_id: self.boot_id.clone(),
        };
        self.record(EventKind::CommandStarted(Box::new(started))).await;
        tracing::trace!(step = "started");
        let open = self.task_record(task).and_then(|record| record.in_flight.last().cloned());
        open.ok_or_else(|| RunError::Attempt {
            id: self.id(),
            source: io::Error::other("its start was not recorded"),
        })
    }

    #[expect(clippy::too_many_arguments, reason = "each becomes a field of the event")]
    pub(super) async fn record_finish(
        &self,
        call: &Call<'_>,
        open: &InFlight,
        finish: &Finish,
        recovered: bool,
        error: Option<String>,
        last: Option<String>,
        again: bool,
    ) {
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
            ..self.finished(call, open)
        };
        self.record(EventKind::CommandFinished(Box::new(kind))).await;
    }

    pub(super) async fn record_unknown(&self, call: &Call<'_>, open: &InFlight, why: &str) {
        let again = if open.idempotent { ResumeAction::Retry } else { ResumeAction::Choose };
        let kind = CommandFinished {
            error: Some(format!("nobody knows how it ended: {why}")),
            resume: Some(again),
            ..self.finished(call, open)
        };
        self.record(EventKind::CommandFinished(Box::new(kind))).await;
    }

    /// Returns the end of an attempt whose outcome is unknown.
    fn finished(&self, call: &Call<'_>, open: &InFlight) -> CommandFinished {
        let names = self.data.variables().map(|(name, _)| name);
        CommandFinished {
            arguments: names.chain(call.command.env.keys().cloned()).collect(),
            ..unknown_end(&call.first().id, open, self.options.agent.clone())
        }
    }

    /// The end of the output of an attempt, whose files are at `place` below the record, and how much
    /// came before that.
    pub(super) fn output_end(&self, place: &str) -> Result<(Vec<u8>, u64), RunError> {
        let store = &self.around.store;
        if !is_below(place) {
            return Ok((Vec::new(), 0));
        }
        let directory = store.home().record(&self.id()).join(place);
        let last = read_all(store.fs(), &directory)?.into_iter().next_back();
        Ok(last.map_or((Vec::new(), 0), |piece| (piece.bytes, piece.start)))
    }
}

/// Returns the end of an attempt whose outcome is unknown.
pub(super) fn unknown_end(task_id: &TaskId, open: &InFlight, agent: Agent) -> CommandFinished {
    CommandFinished {
        started_seq: open.seq,
        task_id: task_id.clone(),
        command: open.command.clone(),
        arguments: Vec::new(),
        agent,
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
