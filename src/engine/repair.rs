//! Repairs: small plans of their own, run as sessions of their own before a session goes on that
//! could not. Only where that was approved, and the same one only once in a run.

use super::{
    Decision, Ended, Failed, RunError, Surroundings, Wishes,
    alternative::{approval, try_other_ways},
    apply::apply_plan,
    data::UserData,
    sessions::resume_once,
    tell::{Told, Watcher},
    wishes::Resumption,
};
use crate::{
    flow::doctor::{Trouble, repair_plan},
    model::{ApprovedBy, REPAIR, SessionStatus},
};

/// Runs the repair of all these, as far as there is one.
pub fn mend(
    around: &Surroundings,
    troubles: &[Trouble],
    purpose: &str,
    approved_by: ApprovedBy,
    watcher: &mut Watcher<'_>,
) -> Result<Option<Ended>, RunError> {
    let Some(plan) = repair_plan(troubles) else { return Ok(None) };
    for trouble in troubles.iter().filter(|trouble| trouble.repair.is_some()) {
        watcher(Told::Note(&format!("repairing: {}", trouble.what)));
    }
    watcher(Told::Plan(&plan));
    let digest = plan.compute_digest();
    let wishes = Wishes::unattended();
    let data = UserData::default();
    let objective = Some(format!("{REPAIR}{purpose}"));
    let ended = apply_plan(around, plan, digest, approved_by, data, &wishes, objective, watcher)?;
    watcher(Told::Repaired(&ended));
    Ok(Some(ended))
}

/// Does what a run ended for: tries the other way that a person chose, mends the machine if that is
/// approved, and resumes its session; until it ends for another reason, or for one that was
/// mended already.
pub(super) fn mend_and_go_on(
    around: &Surroundings,
    mut ended: Ended,
    wishes: &Wishes,
    watcher: &mut Watcher<'_>,
) -> Result<Ended, RunError> {
    let mut mended = Vec::new();
    loop {
        ended = try_other_ways(around, ended, wishes, watcher)?;
        if !wishes.repair && !is_wanted(around, &ended, wishes) {
            return Ok(ended);
        }
        let purpose = format!("for session {}", ended.session_id);
        let approved_by = if wishes.repair { ApprovedBy::Unattended } else { ApprovedBy::User };
        let repaired = match mend(around, &ended.troubles, &purpose, approved_by, watcher) {
            Ok(Some(repaired)) => repaired,
            Ok(None) => return Ok(ended),
            Err(error) => {
                // The session itself has ended in good order, and that is what matters.
                watcher(Told::Note(&format!("the repair could not be run: {error}")));
                return Ok(ended);
            }
        };
        if repaired.status != SessionStatus::Completed {
            watcher(Told::Note(&format!(
                "the repair did not succeed: `provision logs {}` shows its output",
                repaired.session_id
            )));
            // What has just failed is no advice.
            for trouble in ended.troubles.iter_mut().filter(|trouble| trouble.repair.is_some()) {
                trouble.what.push_str(", and its repair did not succeed");
                trouble.repair = None;
            }
            return Ok(ended);
        }
        // A run that has these again gets no repair for them: each round mends something new.
        let new = ended.troubles.iter().filter(|trouble| trouble.repair.is_some());
        mended.extend(new.map(|trouble| trouble.id));
        let how = Resumption { mended: mended.clone(), ..Resumption::of(Failed::Retry) };
        ended = resume_once(around, &ended.session_id, &how, wishes, watcher)?;
    }
}

/// Whether whoever attends the run wants the machine mended that it could not begin on.
fn is_wanted(around: &Surroundings, ended: &Ended, wishes: &Wishes) -> bool {
    if !wishes.attended || ended.status != SessionStatus::Paused {
        return false;
    }
    let what: Vec<_> = ended.troubles.iter().map(|trouble| trouble.what.as_str()).collect();
    let title = format!("mend first: {}", what.join("; "));
    repair_plan(&ended.troubles).is_some_and(|plan| approval(around, &title, &plan) == Decision::Go)
}
