//! What a person decides about a session from outside: that its plan may run, and that it goes
//! past a gate.

use super::{
    RunError,
    changed_plan::{Comparison, compare, kept_plan},
    run::Surroundings,
    wishes::matches,
};
use crate::{
    flow::gates,
    model::{ApprovedBy, Digest, EventKind, ExecutionMode, GateRecord, Phase, SessionId},
    store::Recorder,
};

/// What came of approving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approved {
    /// It is approved now.
    Now(Digest),
    /// It was before.
    Before(Digest),
}

/// Approves the plan that a session was shown, if its digest begins with `digest`. It is not run by
/// that.
pub fn approve(around: &Surroundings, id: &SessionId, digest: &str) -> Result<Approved, RunError> {
    let mut recorder = around.store.open_record(id, &around.pen, &around.clock.now())?;
    let approved = approve_open(around, &mut recorder, digest);
    recorder.close()?;
    approved
}

fn approve_open(
    around: &Surroundings,
    recorder: &mut Recorder,
    digest: &str,
) -> Result<Approved, RunError> {
    let session = recorder.session();
    let is_approved = session.plan.approved_at.is_some();
    let waits = session.phase.current == Phase::PresentPlan;
    let shown = session.plan.digest.clone().filter(|_| waits || is_approved);
    let Some(shown) = shown else {
        let (id, phase) = (session.meta.id.clone(), session.phase.current);
        return Err(RunError::NothingToApprove { id, phase });
    };
    if !matches(digest, &shown) {
        return Err(RunError::OtherDigest { approved: digest.to_owned(), found: shown });
    }
    if is_approved {
        return Ok(Approved::Before(shown));
    }
    let plan = kept_plan(around, session)?;
    if let Comparison::Changed(change) = compare(around, session, &plan) {
        return Err(RunError::changed(&session.meta.id, *change));
    }
    let gates = gates::present_plan(Some(&shown), &plan.compute_digest());
    let events = vec![
        EventKind::PlanApproved {
            digest: shown.clone(),
            approved_by: ApprovedBy::User,
            execution_mode: ExecutionMode::AllAtOnce,
        },
        EventKind::GatesEvaluated { phase: Phase::PresentPlan, gates },
    ];
    recorder.record(events, &around.clock.now())?;
    Ok(Approved::Now(shown))
}

/// What stands in the way of a session.
pub fn in_the_way(around: &Surroundings, id: &SessionId) -> Result<Vec<GateRecord>, RunError> {
    let loaded = around.store.load(id)?;
    Ok(gates::standing_in_the_way(&loaded.session))
}

/// Lets a session past the gates that stand in its way, and records that as a violation. Returns
/// the gates it went past.
pub fn force(
    around: &Surroundings,
    id: &SessionId,
    reason: &str,
) -> Result<Vec<GateRecord>, RunError> {
    let mut recorder = around.store.open_record(id, &around.pen, &around.clock.now())?;
    let forced = gates::standing_in_the_way(recorder.session());
    let events = gates::force(recorder.session(), reason)
        .map_err(|source| RunError::NotForced { id: id.clone(), source });
    let recorded = events.and_then(|events| Ok(recorder.record(events, &around.clock.now())?));
    recorder.close()?;
    recorded.map(|_| forced)
}
