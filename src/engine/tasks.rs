//! The execute phase, task by task: detect, run the commands, verify, read the version.

use serde_json::{Map, Value};

use super::{RunError, commands::CommandEnd, deciding::Said, run::Run};
use crate::{
    flow::{self, Diagnosis},
    model::{
        ErrorClass, EventKind, Extra, FailureContext, PlanTask, ResumeAction, TaskId, TaskStatus,
    },
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskEnd {
    Settled,
    Failed,
    /// Someone asked to stop.
    Stopped,
    /// A person must decide: about what.
    Undecided(String),
}

impl Run<'_> {
    /// All tasks, as the schedule has them go on, but first what is still running or undecided;
    /// begins nothing more after one that failed unless told to keep going.
    pub(super) async fn execute(&self) -> Result<TaskEnd, RunError> {
        // Before anything begins: with the first command of this boot nobody looks any more.
        let gone = self.gone_with_the_restart().await?;
        self.do_again(gone).await?;
        self.verify_what_was_deferred().await?;
        let all = 0..self.plan.tasks.len();
        let pressing: Vec<_> =
            all.clone().filter(|place| self.is_pressing(&self.plan.tasks[*place])).collect();
        if !pressing.is_empty() {
            let begun = self.execute_these(&pressing, true).await?;
            // What was queued of them must be known before they are met again.
            self.ledger.is_durable().await;
            if begun != TaskEnd::Settled && !(begun == TaskEnd::Failed && self.options.keep_going) {
                return Ok(begun);
            }
        }
        let all: Vec<_> = all.collect();
        let end = loop {
            let end = self.execute_these(&all, false).await?;
            self.ledger.is_durable().await;
            // What a person has tried again may have brought back what was passed by for it.
            let is_all = self.plan.tasks.iter().all(|task| self.is_settled(task));
            if end != TaskEnd::Settled || is_all {
                break end;
            }
        };
        match end {
            // What could not be told when it was set up may have come up meanwhile.
            TaskEnd::Settled => self.verify_what_was_deferred().await?,
            TaskEnd::Failed => self.pass_by_what_cannot_come().await,
            TaskEnd::Stopped | TaskEnd::Undecided(_) => {}
        }
        Ok(end)
    }

    /// Whether a task comes before all others: what is still running, and where somebody is there
    /// to decide, what waits for a decision.
    fn is_pressing(&self, task: &PlanTask) -> bool {
        let is_undecided = || {
            let session = self.session();
            let point = session.resume_point_of(&task.id);
            point.is_some_and(|point| point.action == ResumeAction::Choose)
        };
        self.is_open(task) || self.is_attended() && is_undecided()
    }

    /// Where nothing is left but what needs a task that failed, that is said of it: nothing else
    /// could become of it.
    async fn pass_by_what_cannot_come(&self) {
        let passed_by = flow::left_without(&self.session(), &self.plan);
        for (task_id, missing) in passed_by {
            self.queue(without(&task_id, &missing));
        }
        self.ledger.is_durable().await;
    }

    /// One task, as often as a person wants it tried.
    pub(super) async fn run_task_as_decided(&self, task: &PlanTask) -> Result<TaskEnd, RunError> {
        let place = self.place_of(task);
        loop {
            let end = self.run_task(task).await?;
            // What was chosen for this task is nothing to the next.
            self.chosen.borrow_mut().remove(&task.id);
            let said = match &end {
                TaskEnd::Failed => self.decide_about_failure(task).await?,
                TaskEnd::Undecided(what) => self.decide_about_unknown(task, what).await?,
                TaskEnd::Settled | TaskEnd::Stopped => return Ok(end),
            };
            match said {
                Said::Again => self.turn_back(place).await,
                Said::PassedBy => return Ok(TaskEnd::Settled),
                Said::Stop => return Ok(TaskEnd::Stopped),
                Said::Nothing => return Ok(end),
            }
        }
    }

    async fn run_task(&self, task: &PlanTask) -> Result<TaskEnd, RunError> {
        let status = self.task_record(task).map_or(TaskStatus::Pending, |record| record.status);
        match status {
            TaskStatus::Completed | TaskStatus::Skipped => return Ok(TaskEnd::Settled),
            TaskStatus::Failed
                if !self.retried.borrow().contains(&task.id) && !self.is_set_up_elsewhere(task) =>
            {
                return Ok(TaskEnd::Failed);
            }
            TaskStatus::Failed | TaskStatus::Pending | TaskStatus::InProgress => {}
        }
        let starts = status != TaskStatus::InProgress;
        // What is queued may decide what becomes of this task.
        if !task.depends_on.is_empty() {
            self.ledger.is_durable().await;
        }
        let missing = flow::missing_dependency(&self.session(), task).cloned();
        if let Some(missing) = missing.filter(|_| starts) {
            self.queue(without(&task.id, &missing));
            return Ok(TaskEnd::Settled);
        }
        if !self.may_go_on()? && !self.is_open(task) {
            return Ok(TaskEnd::Stopped);
        }
        if starts {
            self.queue(EventKind::TaskStarted { task_id: task.id.clone() });
            if status == TaskStatus::Failed {
                // That it may be tried again must be known before it is.
                self.ledger.is_durable().await;
            }
        }
        let is_fresh =
            !self.task_record(task).is_some_and(|task| flow::has_begun(&task) || task.to_redo);
        let is_ours = self.was_ours(task);
        if (is_fresh || self.is_set_up_elsewhere(task))
            && let Some(mut found) = self.detect(task).await?
        {
            if is_ours {
                found.remove("already_installed");
                found.insert("installed_before_revision".into(), Value::Bool(true));
            } else if !is_fresh || status == TaskStatus::Failed {
                // It was not there before: it came by another way.
                found.remove("already_installed");
                found.insert("another_way".into(), Value::Bool(true));
            }
            return self.complete(task, found).await;
        }
        for (index, command) in task.commands.iter().enumerate() {
            match self.run_command(task, index, command).await? {
                CommandEnd::Done => {}
                CommandEnd::TaskDone => {
                    if !self.add_to_shells(task).await {
                        return Ok(TaskEnd::Failed);
                    }
                    return self.complete(task, Map::new()).await;
                }
                CommandEnd::Failed { error, diagnosis } => {
                    return self.fail(task, error, diagnosis).await;
                }
                CommandEnd::Skip(reason) => {
                    let task_id = task.id.clone();
                    self.queue(EventKind::TaskSkipped { task_id, reason, because_of: None });
                    return Ok(TaskEnd::Settled);
                }
                CommandEnd::Stopped => return Ok(TaskEnd::Stopped),
                CommandEnd::Undecided(what) => return Ok(TaskEnd::Undecided(what)),
            }
        }
        self.finish(task).await
    }

    /// What comes behind a task's commands: what a person does by hand, the lines for shells, and
    /// the look whether it works.
    async fn finish(&self, task: &PlanTask) -> Result<TaskEnd, RunError> {
        if !task.manual.is_empty() {
            match self.ask_about_hand_work(task).await? {
                Said::Again | Said::Nothing => {}
                Said::Stop => return Ok(TaskEnd::Stopped),
                Said::PassedBy => {
                    let reason = "its steps by hand were passed by".into();
                    let task_id = task.id.clone();
                    self.queue(EventKind::TaskSkipped { task_id, reason, because_of: None });
                    return Ok(TaskEnd::Settled);
                }
            }
        }
        // What a person has yet to do by hand is no use to a shell before it is verified.
        if task.manual.is_empty() && !self.add_to_shells(task).await {
            return Ok(TaskEnd::Failed);
        }
        let verified = self.judge_task(task).await?;
        if !task.manual.is_empty()
            && !self.is_attended()
            && (verified != Ok(None) || task.verification.is_none())
        {
            // Nobody is here to do it; what could be done without a person is done.
            let reason = format!("a person does it: {}", task.manual.join("; "));
            let task_id = task.id.clone();
            self.queue(EventKind::TaskSkipped { task_id, reason, because_of: None });
            return Ok(TaskEnd::Settled);
        }
        let verified = match verified {
            Ok(how) => how,
            Err(error) => {
                let diagnosis = Diagnosis::of(ErrorClass::VerificationFailed);
                return self.fail(task, error, diagnosis).await;
            }
        };
        if !task.manual.is_empty() && !self.add_to_shells(task).await {
            return Ok(TaskEnd::Failed);
        }
        let verified = verified.map(|how| ("verification".to_owned(), Value::from(how)));
        self.complete(task, verified.into_iter().collect()).await
    }

    /// Whether a task that begins anew was set up by this very session before.
    fn was_ours(&self, task: &PlanTask) -> bool {
        self.task_record(task).is_some_and(|record| record.result.is_some() && !record.was_there())
    }

    fn is_set_up_elsewhere(&self, task: &PlanTask) -> bool {
        self.set_up_elsewhere.borrow().contains(&task.id)
    }

    fn is_open(&self, task: &PlanTask) -> bool {
        self.task_record(task).is_some_and(|record| !record.in_flight.is_empty())
    }

    async fn complete(
        &self,
        task: &PlanTask,
        mut result: Map<String, Value>,
    ) -> Result<TaskEnd, RunError> {
        if let Some(version) = self.version(task).await? {
            result.insert("version".into(), Value::String(version));
        }
        if let Some(environment) = self.what_it_sets(task).await? {
            result.insert("environment".into(), environment);
        }
        self.queue(EventKind::TaskCompleted { task_id: task.id.clone(), result });
        Ok(TaskEnd::Settled)
    }

    async fn fail(
        &self,
        task: &PlanTask,
        error: String,
        diagnosis: Diagnosis,
    ) -> Result<TaskEnd, RunError> {
        let mut resolution = diagnosis.advice;
        for trouble in self.behind_failure(diagnosis.class, task).await? {
            resolution = format!("{resolution} {}; {}.", trouble.what, trouble.advice);
        }
        let failure_context = FailureContext {
            error_type: diagnosis.class.name().into(),
            suggested_resolution: resolution,
            extra: Extra::new(),
        };
        let task_id = task.id.clone();
        self.record(EventKind::TaskFailed { task_id, error, failure_context }).await;
        Ok(TaskEnd::Failed)
    }
}

/// A task is passed by, for what it needs is not there.
fn without(task_id: &TaskId, missing: &TaskId) -> EventKind {
    EventKind::TaskSkipped {
        task_id: task_id.clone(),
        reason: format!("it needs {missing}, which is not there"),
        because_of: Some(missing.clone()),
    }
}
