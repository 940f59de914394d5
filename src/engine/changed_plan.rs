//! Whether the catalog still says what a session's plan says. Plans are made again from the record
//! and held against the one that was shown; what is executed is never made again.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::{run::Surroundings, shelf};
use crate::{
    flow::{self, Input, Walk, plan_difference},
    model::{Digest, Document, EventKind, Plan},
};

/// How the catalog of today stands to a plan that was shown.
pub(super) enum Comparison {
    /// It says the same, or the plan was never made from one.
    Same,
    Changed(Box<Change>),
    /// It cannot be read any more: why.
    Unknown(String),
}

/// What has changed.
pub(super) struct Change {
    /// A line each.
    pub difference: Vec<String>,
    /// The plan as it would be now, if there is one, with the events that show it.
    pub now: Option<(Plan, Digest, Vec<EventKind>)>,
}

/// Holds the plan that a session was shown against what the catalog says now.
pub(super) fn compare(around: &Surroundings, session: &Document, shown: &Plan) -> Comparison {
    let Some(facts) = flow::recorded_facts(session) else { return Comparison::Same };
    let layers = around.layers.or_recorded(&session.profile.catalogs);
    let catalog = match layers.load(around.store.fs()) {
        Ok(catalog) => catalog,
        Err(error) => return Comparison::Unknown(error.to_string()),
    };
    let (offer, profiles) = (shelf::offer(&catalog), shelf::profiles(&catalog));
    let platform = super::platform(&around.environment);
    let held = HashSet::new();
    let walk = Walk {
        offer: &offer,
        profiles: &profiles,
        platform: &platform,
        facts: Some(&facts),
        held: &held,
    };
    match walk.plan(session, &facts).plan {
        Err(problems) => {
            let difference = problems.iter().map(|problem| format!("! {problem}")).collect();
            Comparison::Changed(Box::new(Change { difference, now: None }))
        }
        Ok(now) => {
            let digest = now.compute_digest();
            if digest == shown.compute_digest() {
                return Comparison::Same;
            }
            let manifests = shelf::manifests(&catalog, &now);
            let presented = walk.take(session, Input::Present { manifests });
            let events = presented.map(|step| step.events).unwrap_or_default();
            let difference = plan_difference(shown, &now);
            Comparison::Changed(Box::new(Change { difference, now: Some((now, digest, events)) }))
        }
    }
}

/// The plan as the catalog has it now, for a session whose own copy cannot be trusted.
pub(super) fn made_again(around: &Surroundings, session: &Document) -> Option<Plan> {
    let nothing = Plan {
        format: crate::model::PlanFormat::V1,
        digest: None,
        profile: None,
        user_data: IndexMap::new(),
        tasks: Vec::new(),
    };
    match compare(around, session, &nothing) {
        Comparison::Changed(change) => change.now.map(|(plan, ..)| plan),
        Comparison::Same | Comparison::Unknown(_) => None,
    }
}
