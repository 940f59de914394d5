//! The part of a run that asks a person what is to become of what it cannot go on with by itself.
//! What they say is recorded before it is done.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{
    Decision, FailedTask, Interrupted, Matter, NextStep, RunError, alternative::known_alternatives,
    attending::until, run::Run, verification::overriding,
};
use crate::{
    flow::{self, Alternative, Way},
    model::{
        CommandSkipped, EventKind, Phase, PlanCommand, PlanTask, ResumeAction, TaskId, TaskRecord,
        TaskStatus,
    },
};

/// The most of a command's output that a person is shown when it has failed.
const MOST_OUTPUT: usize = 64 * 1024;

/// What becomes of a task that a person was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It is tried again.
    Again,
    /// It is passed by.
    PassedBy,
    /// The run stops here.
    Stop,
    /// There is nobody to ask.
    Nothing,
}

impl Run<'_> {
    /// Whether somebody is there who decides what comes up.
    pub(super) fn is_attended(&self) -> bool {
        self.options.attended && self.around.asker.is_some()
    }

    /// What the person says; a pause if they would rather stop, or were stopped. One is asked at a
    /// time; the task it is about leaves its turn to others meanwhile.
    async fn ask(&self, task: &PlanTask, matter: Matter) -> Result<Decision, RunError> {
        let place = self.place_of(task);
        let had_turn = self.turns.change(|schedule| schedule.rest(place));
        let decision = {
            let _one = self.talk.begin().await;
            self.ask_now(matter).await?
        };
        if had_turn && decision != Decision::Pause {
            self.turn_back(place).await;
        }
        Ok(decision)
    }

    async fn ask_now(&self, matter: Matter) -> Result<Decision, RunError> {
        let Some(asker) = self.around.asker.clone() else { return Ok(Decision::Pause) };
        // What is on the screen is on record.
        self.ledger.is_durable().await;
        self.ledger.recorder().try_to_settle();
        // Others may have made this one needless while they were asked.
        if self.stop.is_near() {
            return Ok(Decision::Pause);
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&cancelled);
        self.is_deciding.set(true);
        let mut asked = tokio::task::spawn_blocking(move || asker.decide(&matter, &flag));
        let said = tokio::select! {
            biased;
            said = &mut asked => said,
            () = until(|| self.stop.is_asked() || self.stop.has_failed()) => {
                // Whoever has the terminal gives it back before anything else happens.
                cancelled.store(true, Ordering::Relaxed);
                asked.await
            }
        };
        self.is_deciding.set(false);
        if !self.is_screen_taken() {
            // Before the next question: it may be about just that.
            self.screen.catch_up();
        }
        // A terminal that cannot be asked on is gone.
        let decision =
            said.ok().and_then(Result::ok).unwrap_or(Decision::Left("the terminal was closed"));
        let reason = match decision {
            _ if self.stop.is_asked() => "asked to stop",
            Decision::Pause => "a person chose to pause",
            Decision::Left(why) => why,
            decision => return Ok(decision),
        };
        if !self.stop.is_asked() && self.commands_under_way() > 0 {
            self.note(self.when_it_pauses());
        }
        self.stop.pause(reason);
        self.turns.has_changed();
        Ok(Decision::Pause)
    }

    /// Has whoever reviews each step look at a command. `None` if it is to run.
    pub(super) async fn review(
        &self,
        task: &PlanTask,
        index: usize,
        command: &PlanCommand,
    ) -> Result<Option<Said>, RunError> {
        if !self.review.get() || !self.is_attended() {
            return Ok(None);
        }
        let step = NextStep {
            task_id: task.id.clone(),
            name: name_of(task),
            number: index + 1,
            of: task.commands.len(),
            command: command.command.clone(),
            description: command.description.clone().or_else(|| command.name.clone()),
            as_root: command.requires_sudo,
        };
        let letter = match self.ask(task, Matter::Step(step)).await? {
            Decision::PassBy => {
                self.queue(EventKind::CommandSkipped(CommandSkipped {
                    task_id: task.id.clone(),
                    command_index: index,
                    command: command.command.clone(),
                    description: command.description.clone(),
                    user_choice: Some("C".into()),
                    reason: "passed by when it was reviewed".into(),
                }));
                return Ok(Some(Said::PassedBy));
            }
            Decision::GoOnAlone => {
                self.review.set(false);
                "B"
            }
            Decision::Go | Decision::Again => "A",
            Decision::Pause
            | Decision::Left(_)
            | Decision::Instead(_)
            | Decision::TakeAsItIs(_) => {
                return Ok(Some(Said::Stop));
            }
        };
        self.chosen.borrow_mut().insert(task.id.clone(), letter);
        Ok(None)
    }

    /// Asks what is to become of a task that failed, where somebody is there to be asked.
    pub(super) async fn decide_about_failure(&self, task: &PlanTask) -> Result<Said, RunError> {
        if !self.is_attended() || self.stop.is_asked() {
            return Ok(Said::Nothing);
        }
        self.ledger.is_durable().await;
        let mut ways = known_alternatives(self.around, &self.session(), &self.plan, task);
        let troubles = self.troubles.borrow().clone();
        let mended = troubles.iter().filter(|trouble| trouble.repair.is_some());
        let mended: Vec<_> = mended.map(|trouble| trouble.what.as_str()).collect();
        if !mended.is_empty() {
            let title = format!("mend the machine first: {}", mended.join("; "));
            let in_place_of = task.id.clone();
            ways.insert(0, Alternative { in_place_of, title, way: Way::Repair });
        }
        let titles: Vec<_> = ways.iter().map(|way| way.title.clone()).collect();
        let failure = self.failed_task(task, &titles)?;
        let task_id = task.id.clone();
        match self.ask(task, Matter::Failure(failure)).await? {
            Decision::Again | Decision::Go | Decision::GoOnAlone => {
                self.choose(&task_id, ResumeAction::Retry, "it failed, and is tried again");
                self.bring_back(&task_id);
                self.ledger.is_durable().await;
                self.chosen.borrow_mut().insert(task_id.clone(), "A");
                self.retried.borrow_mut().insert(task_id);
                Ok(Said::Again)
            }
            Decision::TakeAsItIs(reason) => {
                let events = overriding(&self.session(), &task_id, &reason).unwrap_or_default();
                for event in events {
                    self.queue(event);
                }
                self.bring_back(&task_id);
                self.ledger.is_durable().await;
                self.retried.borrow_mut().insert(task_id);
                Ok(Said::Again)
            }
            Decision::PassBy => {
                self.choose(&task_id, ResumeAction::Skip, "it failed, and is passed by");
                let reason = "it failed and was passed by".into();
                self.record(EventKind::TaskSkipped { task_id, reason, because_of: None }).await;
                Ok(Said::PassedBy)
            }
            Decision::Instead(number) => {
                let way = ways.into_iter().nth(number);
                let why = way.as_ref().map_or_else(
                    || "another way was asked for".to_owned(),
                    |way| format!("another way is tried: {}", way.title),
                );
                self.instead.replace(way);
                self.stop.pause(&why);
                self.turns.has_changed();
                Ok(Said::Stop)
            }
            Decision::Pause | Decision::Left(_) => Ok(Said::Stop),
        }
    }

    /// Asks what is to become of a command that nobody knows the end of.
    pub(super) async fn decide_about_unknown(
        &self,
        task: &PlanTask,
        what: &str,
    ) -> Result<Said, RunError> {
        if !self.is_attended() || self.stop.is_asked() {
            return Ok(Said::Nothing);
        }
        let (task_id, what) = (task.id.clone(), what.to_owned());
        let decided = match self.ask(task, Matter::Unknown { task_id, what }).await? {
            Decision::Again | Decision::Go | Decision::GoOnAlone => Interrupted::Retry,
            Decision::PassBy => Interrupted::Skip,
            Decision::Instead(_)
            | Decision::TakeAsItIs(_)
            | Decision::Pause
            | Decision::Left(_) => return Ok(Said::Stop),
        };
        self.decided.borrow_mut().insert(task.id.clone(), decided);
        Ok(Said::Again)
    }

    /// Asks whether what only a person can do is done.
    pub(super) async fn ask_about_hand_work(&self, task: &PlanTask) -> Result<Said, RunError> {
        if !self.is_attended() {
            return Ok(Said::Nothing);
        }
        let matter = Matter::ByHand {
            task_id: task.id.clone(),
            name: name_of(task),
            steps: task.manual.clone(),
        };
        Ok(match self.ask(task, matter).await? {
            Decision::PassBy => Said::PassedBy,
            Decision::Pause
            | Decision::Left(_)
            | Decision::Instead(_)
            | Decision::TakeAsItIs(_) => Said::Stop,
            Decision::Go | Decision::GoOnAlone | Decision::Again => Said::Again,
        })
    }

    /// Records what a person decided about a task, if there is a point it can be recorded at.
    fn choose(&self, task_id: &TaskId, action: ResumeAction, context: &str) {
        if self.session().resume_point_of(task_id).is_some() {
            let (task_id, context) = (task_id.clone(), context.to_owned());
            self.queue(EventKind::ResumeChosen { task_id, action, context });
        }
    }

    /// What was passed by because of a task can still be done if that one is: it waits for it again.
    fn bring_back(&self, task_id: &TaskId) {
        if self.session().phase.current != Phase::Execute {
            return;
        }
        let waiting = flow::waiting_for(&self.session(), std::slice::from_ref(task_id));
        for task_id in waiting {
            let reason = "what it needs is tried again".into();
            self.queue(EventKind::TaskReset { task_id, reason });
        }
    }

    fn failed_task(
        &self,
        task: &PlanTask,
        alternatives: &[String],
    ) -> Result<FailedTask, RunError> {
        let record = self.task_record(task);
        let record = record.as_deref();
        let context = record.and_then(|record| record.failure_context.as_ref());
        let commands = record.map(TaskRecord::commands).unwrap_or_default();
        let last = commands.iter().rev().find(|command| command.error.is_some());
        let log = last.and_then(|command| command.log.as_deref());
        let (output, start) = self.output_end(log.unwrap_or_default())?;
        let cut = output.len().saturating_sub(MOST_OUTPUT);
        Ok(FailedTask {
            session_id: self.id(),
            task_id: task.id.clone(),
            name: name_of(task),
            command: last.map(|command| command.command.clone()),
            class: context.map_or_else(|| "unknown".into(), |context| context.error_type.clone()),
            output: output[cut..].to_vec(),
            left_out: start + cut as u64,
            alternatives: alternatives.to_vec(),
            dependants: self.dependants(&task.id),
        })
    }

    /// Everything that is not settled and needs a task, however far away.
    fn dependants(&self, task_id: &TaskId) -> Vec<TaskId> {
        let mut found = vec![task_id.clone()];
        for task in &self.plan.tasks {
            let is_open = self.task_record(task).is_none_or(|r| r.status == TaskStatus::Pending);
            if is_open && task.depends_on.iter().any(|need| found.contains(need)) {
                found.push(task.id.clone());
            }
        }
        found.split_off(1)
    }
}

fn name_of(task: &PlanTask) -> String {
    task.name.clone().unwrap_or_else(|| task.id.to_string())
}
