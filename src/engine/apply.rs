//! An approved plan as a new session, to its end or to where it cannot go on.

use super::{
    RunError, Wishes,
    data::UserData,
    driving::{Approach, drive},
    ending::{Ended, close},
    run::{Run, Surroundings},
    sessions::{agent_of, unfinished, within_runtime},
    signals::Signals,
    start::beginning,
    tell::{Told, Watcher},
};
use crate::{
    model::{Agent, ApprovedBy, Digest, EventKind, Plan},
    store::Recorder,
};

/// Runs a plan that is approved. `objective` says what for, where that is not plain.
#[expect(clippy::too_many_arguments, reason = "each is a part of the run")]
pub(super) fn apply_plan(
    around: &Surroundings,
    plan: Plan,
    digest: Digest,
    approved_by: ApprovedBy,
    data: UserData,
    wishes: &Wishes,
    objective: Option<String>,
    watcher: &mut Watcher<'_>,
) -> Result<Ended, RunError> {
    let agent = agent_of(approved_by);
    within_runtime(async {
        let signals = Signals::listen().map_err(RunError::Runtime)?;
        let _only = around.store.lock_runner(&around.pen)?;
        let earlier = unfinished(&around.store, None)?;
        let recorder = create(around, &agent, &plan, objective, watcher)?;
        let options = wishes.options(agent);
        let run = Run::new(around, recorder, plan, digest, data, options, signals, watcher);
        let walk = Approach::of(approved_by, earlier);
        let ended = drive(&run, Some(walk), None).await;
        close(run, ended)
    })
}

fn create(
    around: &Surroundings,
    agent: &Agent,
    plan: &Plan,
    objective: Option<String>,
    watcher: &mut Watcher<'_>,
) -> Result<Recorder, RunError> {
    let mut created = beginning(around.clock.session_id(), agent.clone());
    created.objective = objective;
    let id = created.session_id.clone();
    let first = EventKind::SessionCreated(Box::new(created));
    let now = around.clock.now();
    let (recorder, event) = around.store.create_with_plan(&id, &around.pen, plan, first, &now)?;
    watcher(Told::Event(&event));
    Ok(recorder)
}
