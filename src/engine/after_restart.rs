//! After the machine was restarted: what was set up before is looked at before it is trusted.

use std::sync::Arc;

use super::{RunError, run::Run};
use crate::model::{
    EventKind, Impact, Phase, PlanTask, SessionRevised, TaskId, TaskRecord, TaskStatus,
};

impl Run<'_> {
    /// The tasks that are on record as done and are gone, where the machine was restarted since the
    /// last command. What does not answer is not taken for gone.
    pub(super) async fn gone_with_the_restart(&self) -> Result<Vec<TaskId>, RunError> {
        let plan = Arc::clone(&self.plan);
        let is_done = |record: &TaskRecord| record.status == TaskStatus::Completed;
        let done: Vec<&PlanTask> = plan
            .tasks
            .iter()
            .filter(|task| self.task_record(task).is_some_and(|record| is_done(&record)))
            .filter(|task| task.detection.is_some())
            .collect();
        if done.is_empty() || !self.was_restarted()? {
            return Ok(Vec::new());
        }
        self.note("the machine was restarted since: what was set up before is looked at again");
        let mut gone = Vec::new();
        for task in done {
            if !self.may_go_on()? {
                break;
            }
            if self.is_surely_gone(task).await? {
                gone.push(task.id.clone());
            }
        }
        Ok(gone)
    }

    /// Whether the machine was restarted since the last command of the session began.
    fn was_restarted(&self) -> Result<bool, RunError> {
        let journal = self.around.store.journal(&self.id())?;
        let events = journal.map(|scan| scan.events).unwrap_or_default();
        let last = events.iter().rev().find_map(|event| match &event.kind {
            EventKind::CommandStarted(started) => Some(started.boot_id.as_str()),
            _ => None,
        });
        Ok(last.is_some_and(|boot| boot != self.boot_id))
    }

    /// Has tasks done again that are not there any more.
    pub(super) async fn do_again(&self, gone: Vec<TaskId>) -> Result<(), RunError> {
        if gone.is_empty() {
            return Ok(());
        }
        self.ledger.is_durable().await;
        let store = &self.around.store;
        let mut archived = Vec::new();
        for task in gone.iter().filter_map(|id| self.session().tasks.get(id).cloned()) {
            archived.push(self.ledger.recorder().archive_task(store, &task)?);
        }
        let names: Vec<_> = gone.iter().map(TaskId::as_str).collect();
        let reason =
            format!("after a restart of the machine not there any more: {}", names.join(", "));
        self.note(&format!("{reason}; done again"));
        self.record(EventKind::SessionRevised(SessionRevised {
            phase_revisited: Phase::Execute,
            impact: Impact::Moderate,
            reason,
            downstream_archived: archived,
            tasks_reset: gone,
            tasks_to_redo: Vec::new(),
            tasks_to_review: Vec::new(),
        }))
        .await;
        Ok(())
    }
}
