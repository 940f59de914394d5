//! Where a conversation writes what is said: into the record of a session, or on a draft of it that
//! nobody else sees.

use super::{
    Approval, Clock, Ended, RunError, Surroundings, Wishes,
    revision::{Original, Revised, Revision},
    tell::Watcher,
};
use crate::{
    flow::Rehearsal,
    model::{Digest, EventKind, ExecutionMode, Phase, Plan, Session, TaskId},
    store::{Recorder, Store},
};

#[derive(Debug)]
pub(super) enum Paper {
    /// All of it is durable.
    Record(Box<Recorder>),
    /// None of it is anywhere, until it is carried out.
    Draft(Box<Draft>),
}

impl Paper {
    pub(super) fn session(&self) -> &Session {
        match self {
            Self::Record(recorder) => recorder.session(),
            Self::Draft(draft) => &draft.session,
        }
    }

    pub(super) fn record(&mut self, events: Vec<EventKind>, clock: &Clock) -> Result<(), RunError> {
        match self {
            Self::Record(recorder) => {
                recorder.record(events, &clock.now())?;
                // Whoever reads the document finds in it what the person sees.
                recorder.settle()?;
            }
            Self::Draft(draft) => draft.session.record(events)?,
        }
        Ok(())
    }

    /// Keeps a plan beside the record, before it is shown.
    pub(super) fn keep(&self, store: &Store, plan: &Plan) -> Result<(), RunError> {
        let Self::Record(recorder) = self else { return Ok(()) };
        match store.plan(&recorder.session().meta.id)? {
            Some(kept) if kept == *plan => {}
            Some(_) => drop(recorder.replace_plan(store, plan)?),
            None => recorder.keep_plan(store, plan)?,
        }
        Ok(())
    }

    pub(super) fn close(self) -> Result<(), RunError> {
        if let Self::Record(recorder) = self {
            recorder.close()?;
        }
        Ok(())
    }

    pub(super) fn settle(&mut self) -> Result<(), RunError> {
        if let Self::Record(recorder) = self {
            recorder.settle()?;
        }
        Ok(())
    }
}

/// A session that is gone through again, as it would be.
#[derive(Debug)]
pub(super) struct Draft {
    pub original: Original,
    session: Rehearsal,
    /// How much of it says only that it is gone through again.
    told: usize,
    /// Why, if somebody has said so.
    pub reason: Option<String>,
}

impl Draft {
    pub(super) fn new(original: Original, session: Rehearsal, reason: Option<String>) -> Self {
        let told = session.events().len();
        Self { original, session, told, reason }
    }

    /// What a plan that was made of it would change.
    pub(super) fn revision(&self, plan: &Plan) -> Option<Revision> {
        let is_same = self.session.profile.selected == self.original.session.profile.selected;
        let phase = if is_same { Phase::GatherRequirements } else { Phase::StackSelection };
        let reason = self.reason.clone();
        let reason = reason.unwrap_or_else(|| "a person has answered otherwise".into());
        let session = self.session.clone();
        Revision::new(&self.original, phase, plan.clone(), session, self.told, reason)
    }

    /// Nothing of it is wanted.
    pub(super) fn given_up(&self) -> Ended {
        let meta = &self.original.session.meta;
        let why = "the revision was not confirmed: nothing is changed".to_owned();
        Ended::stopped(meta.id.clone(), meta.status, why)
    }

    /// It is wanted, with this plan.
    pub(super) fn carry_out(
        &self,
        around: &Surroundings,
        plan: &Plan,
        digest: &Digest,
        mode: ExecutionMode,
        wishes: Wishes,
        watcher: &mut Watcher<'_>,
    ) -> Result<Ended, RunError> {
        let Some(revision) = self.revision(plan) else { return Ok(self.given_up()) };
        let approval = Some(Approval::Digest(digest.to_string()));
        let wishes = Wishes { approval, ..wishes };
        match revision.carry_out(around, Some(mode), &wishes, watcher)? {
            Revised::Ended(ended) => Ok(ended),
            Revised::ForReview(tasks) => {
                let meta = &self.original.session.meta;
                let names: Vec<_> = tasks.iter().map(TaskId::as_str).collect();
                let why = format!("marked for review: {}; nothing was run", names.join(", "));
                Ok(Ended::stopped(meta.id.clone(), meta.status, why))
            }
        }
    }
}
