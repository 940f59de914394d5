//! What a person decides about a session from outside: that its plan may run, and that it goes
//! past a gate.

use super::{
    RunError,
    changed_plan::{Comparison, compare, kept_plan},
    run::Surroundings,
    sessions::matches,
};
use crate::{
    flow::gates,
    model::{
        ApprovedBy, Digest, EventKind, ExecutionMode, GateRecord, Phase, SessionId, SessionStatus,
    },
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
    let session = recorder.session();
    let shown = session.plan.digest.clone();
    let waits = session.phase.current == Phase::PresentPlan
        && session.meta.status != SessionStatus::Completed;
    let Some(shown) = shown.filter(|_| waits || session.plan.approved_at.is_some()) else {
        let (id, phase) = (id.clone(), session.phase.current);
        recorder.close()?;
        return Err(RunError::NothingToApprove { id, phase });
    };
    if !matches(digest, &shown) {
        recorder.close()?;
        return Err(RunError::OtherDigest { approved: digest.to_owned(), found: shown });
    }
    if session.plan.approved_at.is_some() {
        recorder.close()?;
        return Ok(Approved::Before(shown));
    }
    let plan = kept_plan(around, recorder.session())?;
    if let Comparison::Changed(change) = compare(around, recorder.session(), &plan) {
        recorder.close()?;
        return Err(RunError::changed(id, *change));
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
    recorder.close()?;
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
    let events = match gates::force(recorder.session(), reason) {
        Ok(events) => events,
        Err(error) => {
            recorder.close()?;
            return Err(RunError::NotForced { id: id.clone(), source: error });
        }
    };
    recorder.record(events, &around.clock.now())?;
    recorder.close()?;
    Ok(forced)
}
