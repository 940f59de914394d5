//! Whether the catalog still says what a session's plan says. Plans are made again from the record
//! and held against the one that was shown; what is executed is never made again.

use super::{
    Approval, RunError, Wishes,
    conversation::is_without_plan,
    run::Surroundings,
    shelf,
    tell::{Told, Watcher},
    wishes::matches,
};
use crate::{
    catalog::SourceError,
    flow::{self, Input, PlanProblem, Walk, plan_difference},
    model::{Digest, Document, EventKind, Impact, Phase, Plan, Session, SessionRevised},
    store::Recorder,
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

/// A plan made again from the record of a session and the catalog as it is now.
struct Made {
    plan: Result<Plan, Vec<PlanProblem>>,
    /// What shows it; none where there are questions that nobody has answered.
    events: Option<Vec<EventKind>>,
}

/// None where the session's plan was never made from a catalog; an error where that cannot be read
/// any more.
fn made_again(around: &Surroundings, session: &Document) -> Option<Result<Made, SourceError>> {
    let (facts, platform) = flow::recorded_facts(session)?;
    let layers = around.layers.or_recorded(&session.profile.catalogs);
    let catalog = match layers.load(around.store.fs()) {
        Ok(catalog) => catalog,
        Err(error) => return Some(Err(error)),
    };
    let (offer, profiles) = (shelf::offer(&catalog), shelf::profiles(&catalog));
    let walk = Walk {
        offer: &offer,
        profiles: &profiles,
        platform: &platform,
        facts: Some(&facts),
        held: None,
    };
    let plan = walk.plan(session, &facts).plan;
    let events = plan.as_ref().ok().and_then(|plan| {
        let manifests = shelf::manifests(&catalog, plan);
        Some(walk.take(session, Input::Present { manifests }).ok()?.events)
    });
    Some(Ok(Made { plan, events }))
}

/// Holds the plan that a session was shown against what the catalog says now.
pub(super) fn compare(around: &Surroundings, session: &Document, shown: &Plan) -> Comparison {
    let Made { plan, events } = match made_again(around, session) {
        None => return Comparison::Same,
        Some(Err(error)) => return Comparison::Unknown(error.to_string()),
        Some(Ok(made)) => made,
    };
    let change = match plan {
        Err(problems) => {
            let difference = problems.iter().map(|problem| format!("! {problem}")).collect();
            Change { difference, now: None }
        }
        Ok(now) => {
            let digest = now.compute_digest();
            if digest == shown.compute_digest() {
                return Comparison::Same;
            }
            let mut difference = plan_difference(shown, &now);
            if events.is_none() {
                difference.push("! there are questions that nobody has answered".into());
            }
            Change { difference, now: events.map(|events| (now, digest, events)) }
        }
    };
    Comparison::Changed(Box::new(change))
}

/// The plan that was kept for a session. One that was edited before its first command is held
/// against what the catalog says.
pub(super) fn kept_plan(around: &Surroundings, session: &Session) -> Result<Plan, RunError> {
    let (store, id) = (&around.store, &session.meta.id);
    if is_without_plan(session) {
        let (id, phase) = (id.clone(), session.phase.current);
        return Err(RunError::Unanswered { id, phase });
    }
    let Some(digest) = &session.plan.digest else {
        return store.plan(id)?.ok_or_else(|| RunError::NoPlan { id: id.clone() });
    };
    let approved = store.approved_plan(id, digest);
    if approved.is_err()
        && let Ok(Some(kept)) = &store.plan(id)
        && !flow::anything_begun(session)
        && let Some(Ok(Made { plan: Ok(shown), .. })) = made_again(around, session)
        && shown.compute_digest() == *digest
    {
        let difference = plan_difference(&shown, kept);
        return Err(RunError::PlanEdited {
            id: id.clone(),
            path: store.home().plan(id),
            difference,
        });
    }
    Ok(approved?)
}

/// A plan that takes the place of the one that was shown, and the events that say so.
pub(super) struct Replacement {
    pub plan: Plan,
    pub events: Vec<EventKind>,
}

/// What becomes of a session whose catalog has changed since its plan was shown. Before the first
/// command it is refused, unless the plan as it is now is approved: then that takes its place.
/// After it, the session finishes the plan it has.
pub(super) fn follow_the_catalog(
    around: &Surroundings,
    recorder: &Recorder,
    shown: &Plan,
    wishes: &Wishes,
    watcher: &mut Watcher<'_>,
) -> Result<Option<Replacement>, RunError> {
    let session = recorder.session();
    let change = match compare(around, session, shown) {
        Comparison::Same => return Ok(None),
        Comparison::Unknown(why) => {
            let note = format!("the catalog its plan was made from cannot be read any more: {why}");
            watcher(Told::Note(&note));
            return Ok(None);
        }
        Comparison::Changed(change) => *change,
    };
    if flow::anything_begun(session) {
        watcher(Told::Note(
            "the catalog has changed since; the session finishes the plan that was approved:",
        ));
        for line in &change.difference {
            watcher(Told::Note(line));
        }
        let id = &session.meta.id;
        watcher(Told::Note(&format!("`provision revise {id}` takes it over")));
        return Ok(None);
    }
    let id = session.meta.id.clone();
    let approval = wishes.approval.as_ref();
    let Change { difference, now } = change;
    let is_approved = |digest: &Digest| matches!(approval, Some(Approval::Digest(typed)) if matches(typed, digest));
    let (plan, _, events) = match now {
        Some(now) if is_approved(&now.1) => now,
        now => return Err(RunError::changed(&id, Change { difference, now })),
    };
    let mut kinds = Vec::new();
    if session.phase.current > Phase::PresentPlan {
        kinds.push(EventKind::SessionRevised(SessionRevised {
            phase_revisited: Phase::PresentPlan,
            impact: Impact::Moderate,
            reason: "the catalog has changed before the first command".into(),
            downstream_archived: Vec::new(),
            tasks_reset: Vec::new(),
            tasks_to_redo: Vec::new(),
            tasks_to_review: Vec::new(),
        }));
    }
    kinds.extend(events);
    Ok(Some(Replacement { plan, events: kinds }))
}
