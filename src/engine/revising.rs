//! A conversation about a session that has a plan: on a draft, which nobody else sees, until what it
//! comes to is approved.

use std::collections::HashSet;

use super::{
    Conversation, Request, RunError, Surroundings,
    conversation::{Secrets, Taken, unready},
    paper::{Draft, Paper},
    platform,
    revision::{Original, Revision, reason_of, taken_back, tools},
    shelf,
    unready::mistake_of,
};
use crate::{
    catalog::Catalog,
    flow::{Input, Stack},
    model::{EventKind, Phase, Plan, SessionId},
};

impl<'c> Conversation<'c> {
    /// Goes through a session again that has a plan: on a draft, until it is approved. Nothing is
    /// changed before.
    pub fn revise(
        around: &'c Surroundings,
        catalog: &'c Catalog,
        id: &SessionId,
        reason: Option<String>,
    ) -> Result<Self, RunError> {
        let original = Original::read(around, id)?;
        let draft = original.draft(around, Phase::GatherRequirements)?;
        let notes = original.notes.clone();
        Ok(Self {
            around,
            catalog,
            offer: shelf::offer(catalog),
            profiles: shelf::profiles(catalog),
            platform: platform(&around.environment),
            paper: Paper::Draft(Box::new(Draft::new(original, draft, reason))),
            facts: None,
            looked_for: HashSet::new(),
            secrets: Secrets::default(),
            plan: None,
            notes,
        })
    }

    /// What the plan that was shown would change, where a session is gone through again. `None` if
    /// nothing, or if this is none of these.
    pub fn revision(&self) -> Option<Revision> {
        let Paper::Draft(draft) = &self.paper else { return None };
        draft.revision(&self.plan.as_ref()?.0)
    }

    /// The plan that a session has which is gone through again.
    pub fn plan_before(&self) -> Option<&Plan> {
        match &self.paper {
            Paper::Draft(draft) => Some(&draft.original.plan),
            Paper::Record(_) => None,
        }
    }

    /// Makes room for what was given anew: what it answers is open again.
    pub fn take_back(&mut self, request: &Request) -> Result<(), RunError> {
        if let Paper::Draft(draft) = &mut self.paper
            && !request.is_empty()
        {
            draft.reason.get_or_insert_with(|| reason_of(request));
        }
        let found =
            request.profile.as_deref().map(|given| self.walk().find_profile(given).cloned());
        let stack = found.transpose().map_err(|refusal| unready(vec![mistake_of(&refusal)]))?;
        let selected = self.session().profile.selected.clone();
        let stack = stack.filter(|stack| selected.as_deref() != Some(stack.id()));
        let mut events = taken_back(self.session(), request, stack.as_ref());
        let (add, without) = tools(self.session(), request);
        let Some(stack) = stack else {
            self.record(events)?;
            return self.accept(Input::Tools { add, without });
        };
        let reason = "another stack".to_owned();
        events.push(EventKind::PhaseReopened { phase: Phase::StackSelection, reason });
        self.record(events)?;
        let catalogs = self.session().profile.catalogs.clone();
        let profile = Some(stack.id().to_owned());
        let stack = Stack { profile, manifest_path: None, catalogs, add, without };
        self.accept(Input::Stack(Box::new(stack)))
    }

    /// Tells the walk something that it cannot but take, unless it is wrong.
    fn accept(&mut self, input: Input) -> Result<(), RunError> {
        match self.tell(input)? {
            Taken::Refused(refusal) => Err(unready(vec![mistake_of(&refusal)])),
            Taken::Recorded | Taken::Explained(_) => Ok(()),
        }
    }
}
