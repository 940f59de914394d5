//! What the sessions of this machine say of it, and how they looked for what they name.

use std::{collections::HashMap, time::Duration};

use indexmap::IndexMap;

use super::{Surroundings, look::Look, machine};
use crate::{
    flow::{Expectations, Expected, Offer},
    model::{Document, Machine, Plan, REPAIR, Session, SessionId, TaskId},
    store::StoreError,
};

/// The sessions of this machine that set anything up.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// Oldest first.
    pub sessions: Vec<Session>,
    /// What of the past cannot be read.
    pub notes: Vec<String>,
    plans: HashMap<SessionId, Option<Plan>>,
}

impl Past {
    pub(super) fn read(around: &Surroundings) -> Result<Self, StoreError> {
        Ok(Self::read_within(around, None)?.unwrap_or_default())
    }

    /// The same; `None` if it takes longer than there is patience for.
    pub(super) fn read_within(
        around: &Surroundings,
        patience: Option<Duration>,
    ) -> Result<Option<Self>, StoreError> {
        let begin = around.clock.now().steady;
        let is_too_long = || {
            patience
                .is_some_and(|patience| around.clock.now().steady.saturating_sub(begin) > patience)
        };
        let here = machine();
        let listing = around.store.list(None)?;
        let mut past = Self::default();
        for unreadable in &listing.unreadable {
            past.leave_out(&unreadable.id, &unreadable.error.to_string());
        }
        for summary in listing.sessions.into_iter().rev().filter(|known| !known.is_repair) {
            if is_too_long() {
                return Ok(None);
            }
            match around.store.load(&summary.id) {
                Ok(loaded) if is_of(&here, &loaded.session) => past.sessions.push(loaded.session),
                Ok(_) => {}
                Err(error) => past.leave_out(&summary.id, &error.to_string()),
            }
        }
        past.learn_plans(around);
        Ok(Some(past))
    }

    fn leave_out(&mut self, id: &SessionId, why: &str) {
        self.notes.push(format!("session {id} cannot be read, and nothing is known of it: {why}"));
    }

    fn learn_plans(&mut self, around: &Surroundings) {
        for session in &self.sessions {
            // Without its plan the catalog still says how to look.
            let plan = around.store.plan_of(session).ok().flatten();
            self.plans.insert(session.meta.id.clone(), plan);
        }
    }

    /// What ought to be there. What only makes a package manager ready is no tool.
    pub(super) fn expectations(&self) -> Expectations {
        let mut expectations = Expectations::of(self.sessions.iter().map(Session::document));
        expectations.tools.retain(|id, expected| !self.is_upkeep(&expected.session_id, id));
        expectations
    }

    /// The tools that one session set up or found.
    pub(super) fn tools_of(&self, session: &Session) -> IndexMap<TaskId, Expected> {
        let mut document = session.document().clone();
        document.adopted = None;
        let mut tools = Expectations::of([&document]).tools;
        tools.retain(|id, _| !self.is_upkeep(&session.meta.id, id));
        tools
    }

    fn is_upkeep(&self, session: &SessionId, task: &TaskId) -> bool {
        self.plan(session).and_then(|plan| plan.task(task)).is_some_and(|task| task.upkeep)
    }

    pub(super) fn plan(&self, id: &SessionId) -> Option<&Plan> {
        self.plans.get(id)?.as_ref()
    }

    /// The plan by which a tool was set up or found.
    pub(super) fn plan_behind(&self, id: &TaskId, expected: &Expected) -> Option<&Plan> {
        let Expected { looked_for_by, session_id, brought_by, .. } = expected;
        let said_by = [looked_for_by.as_ref(), Some(session_id), brought_by.as_ref()];
        let mut plans = said_by.into_iter().flatten().filter_map(|session| self.plan(session));
        plans.find(|plan| plan.task(id).is_some())
    }

    /// How to look for a tool that a session knows: as that session did, so that what is compared is
    /// alike; else as the catalog says. `None` where nobody says how.
    pub(super) fn look_for(
        &self,
        id: &TaskId,
        expected: &Expected,
        offer: &Offer<'_>,
        around: &Surroundings,
    ) -> Option<Look> {
        let environment = &around.environment;
        let planned = self.plan_behind(id, expected);
        let planned = planned.and_then(|plan| Look::of_plan(plan.task(id)?, plan, environment));
        let look = planned.filter(Look::can_see).or_else(|| {
            offer.get(id.as_str()).map(|found| Look::of_catalog(found.task, offer, environment))
        });
        look.filter(Look::can_see)
    }
}

/// Whether a session set up this machine. Older documents only name it.
fn is_of(here: &Machine, session: &Document) -> bool {
    let theirs = &session.meta.machine;
    let is_repair = session.meta.objective.as_deref().is_some_and(|what| what.starts_with(REPAIR));
    let same = match (&theirs.machine_id, &here.machine_id) {
        (Some(theirs), Some(ours)) => theirs == ours,
        _ => theirs.hostname == here.hostname,
    };
    same && !is_repair
}
