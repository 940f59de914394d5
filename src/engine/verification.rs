//! Whether what was set up works: looked at when a task is done, looked at again where nobody could
//! tell, and taken as it is where a person says so.

use std::collections::HashSet;

use super::{RunError, Surroundings, probes::Seen, run::Run};
use crate::{
    exec::ProbeEnd,
    flow::{self, Unsure},
    model::{
        DeferReason, DeferredVerification, Document, EventKind, PlanTask, ProbeKind, ResumeAction,
        SessionId, TaskId, TaskRecord, TaskStatus,
    },
};

/// What a verification has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verified {
    /// It is content, or there is none.
    Passed,
    /// It could not tell, for now.
    Unsure(DeferReason),
    /// What is wrong.
    Failed(String),
}

/// Whether a person has said that a task is to be taken as it is. What begins anew is judged anew.
pub(super) fn is_overridden(session: &Document, task_id: &TaskId) -> bool {
    let began = session.tasks.get(task_id).and_then(|task| task.started_at.as_ref());
    let mut said = session.user_overrides.iter().filter(|said| said.task_id == *task_id);
    said.any(|said| began.is_some_and(|began| said.logged_at >= *began))
}

impl Run<'_> {
    /// Asks a task's verification.
    pub(super) async fn verify(&self, task: &PlanTask) -> Result<Verified, RunError> {
        let Some(verification) = &task.verification else { return Ok(Verified::Passed) };
        let judge = |output: &str| flow::judge(verification, output);
        let command = &verification.command;
        let Seen { end, error, .. } =
            self.probe(task, ProbeKind::Verification, command, judge).await?;
        let Some(error) = error else { return Ok(Verified::Passed) };
        let unsure = match &end {
            ProbeEnd::TimedOut => Some(Unsure::Silent),
            ProbeEnd::Exited { code, output } => Some(Unsure::Said { code: *code, output }),
            ProbeEnd::Signaled(_) | ProbeEnd::NotStarted(_) => None,
        };
        let reason = unsure.and_then(|unsure| flow::deferral(verification, unsure));
        Ok(match reason {
            Some(reason) => Verified::Unsure(reason),
            None => Verified::Failed(format!("verification failed: {error}")),
        })
    }

    /// What a verification comes to for a task whose commands are done. An error is what keeps it
    /// from being done.
    pub(super) async fn judge_task(
        &self,
        task: &PlanTask,
    ) -> Result<Result<Option<&'static str>, String>, RunError> {
        let verified = self.verify(task).await?;
        let is_overridden = is_overridden(&self.session(), &task.id);
        Ok(match verified {
            Verified::Passed => Ok(None),
            _ if is_overridden => Ok(Some("overridden")),
            Verified::Unsure(reason) => {
                self.defer(task, reason);
                Ok(Some("deferred"))
            }
            Verified::Failed(error) => Err(error),
        })
    }

    fn defer(&self, task: &PlanTask, reason: DeferReason) {
        let Some(verification) = &task.verification else { return };
        let (task_id, command) = (task.id.clone(), verification.command.clone());
        self.note(&format!(
            "whether {task_id} works could not be told ({}): it is looked at again later",
            reason.words()
        ));
        self.queue(EventKind::VerificationDeferred { task_id, command, reason });
    }

    /// Looks again at what could not be told before. Says what is still not known.
    pub(super) async fn verify_what_was_deferred(&self) -> Result<(), RunError> {
        self.ledger.is_durable().await;
        let open = |deferred: &&DeferredVerification| !deferred.resolved;
        let mut deferred: Vec<_> =
            self.session().deferred_verifications.iter().filter(open).cloned().collect();
        // Whatever happened to a task, one look is enough.
        let mut seen = HashSet::new();
        deferred.retain(|known| seen.insert((known.task_id.clone(), known.command.clone())));
        let plan = std::sync::Arc::clone(&self.plan);
        for DeferredVerification { task_id, command, .. } in deferred {
            let is_done = |record: &TaskRecord| record.status == TaskStatus::Completed;
            let planned = plan.task(&task_id).filter(|task| {
                self.task_record(task).is_some_and(|record| is_done(&record))
                    && task.verification.as_ref().is_some_and(|v| v.command == command)
            });
            let Some(task) = planned else { continue };
            if !self.may_go_on()? {
                return Ok(());
            }
            match self.verify(task).await? {
                Verified::Passed => {
                    self.queue(EventKind::VerificationResolved { task_id, command });
                }
                Verified::Unsure(reason) => self.note(&format!(
                    "whether {task_id} works can still not be told: {}",
                    reason.words()
                )),
                Verified::Failed(error) => {
                    let id = self.id();
                    self.queue(EventKind::VerificationRefuted {
                        task_id: task_id.clone(),
                        command,
                        error: error.clone(),
                    });
                    self.note(&format!(
                        "{task_id}: {error}; `provision override {id} {task_id} --reason TEXT` \
                         takes it as it is"
                    ));
                }
            }
        }
        self.ledger.is_durable().await;
        Ok(())
    }
}

/// Records that a task is to be taken as it is, and why.
pub fn override_verification(
    around: &Surroundings,
    id: &SessionId,
    task_id: &TaskId,
    reason: &str,
) -> Result<(), RunError> {
    let mut recorder = around.store.open_record(id, &around.pen, &around.clock.now())?;
    let events = overriding(recorder.session(), task_id, reason);
    let recorded = events
        .map_err(|why| RunError::NotOverridable { id: id.clone(), task: task_id.clone(), why })
        .and_then(|events| Ok(recorder.record(events, &around.clock.now())?));
    recorder.close()?;
    recorded.map(drop)
}

pub(super) fn overriding(
    session: &Document,
    task_id: &TaskId,
    reason: &str,
) -> Result<Vec<EventKind>, String> {
    let Some(task) = session.tasks.get(task_id) else {
        return Err("the session has no such task".into());
    };
    let said = task.commands().iter().rev().find(|c| c.kind == Some(ProbeKind::Verification));
    let mut deferred = session.deferred_verifications.iter();
    let is_deferred = deferred.any(|known| known.task_id == *task_id && !known.resolved);
    let error_type = task.failure_context.as_ref().map(|context| context.error_type.as_str());
    let is_failed = task.status == TaskStatus::Failed && error_type == Some("verification_failed");
    if !is_failed && !is_deferred {
        return Err(match task.status {
            TaskStatus::Failed => {
                "a command of it failed: there is nothing yet that could be taken as done".into()
            }
            status => format!("it is {}, and no verification of it is open", status.name()),
        });
    }
    let mut events = vec![EventKind::OverrideRecorded {
        task_id: task_id.clone(),
        reason: reason.to_owned(),
        verification: said.and_then(|said| said.error.clone()),
    }];
    if is_failed && session.resume_point_of(task_id).is_some() {
        events.push(EventKind::ResumeChosen {
            task_id: task_id.clone(),
            action: ResumeAction::Retry,
            context: format!("its verification is overridden: {reason}"),
        });
    }
    Ok(events)
}
