//! A new session from the catalog: the walk without a person, up to its plan or on to its end.

use super::{
    RunError,
    data::UserData,
    ending::{Ended, close},
    machine, platform,
    prepare::{Preparation, Prepared, prepare},
    request::Request,
    run::{Options, Run, Surroundings},
    sessions::{Approval, Wishes, agent_of, approves, drive, unfinished, within_runtime},
    signals::Signals,
    tell::{Told, Watcher},
};
use crate::{
    catalog::Catalog,
    flow,
    model::{
        Agent, ApprovedBy, EventKind, PauseReason, Phase, SessionCreated, SessionId, SessionStatus,
        VERSION,
    },
};

/// What a plan of `request` would be. Runs probes and nothing else, and leaves nothing behind.
pub fn plan(
    around: &Surroundings,
    catalog: &Catalog,
    request: &Request,
) -> Result<Prepared, RunError> {
    within_runtime(async {
        let mut signals = Signals::listen().map_err(RunError::Runtime)?;
        let created = beginning(around.clock.session_id(), Agent::user());
        prepare(preparation(around, catalog, request, created, Vec::new(), false, &mut signals))
            .await
    })
}

/// Begins a session and goes on with it: to its end, if its plan is approved; otherwise to where it
/// waits for that.
pub fn start(
    around: &Surroundings,
    catalog: &Catalog,
    request: &Request,
    wishes: &Wishes,
    watcher: &mut Watcher<'_>,
) -> Result<Ended, RunError> {
    within_runtime(async {
        let mut signals = Signals::listen().map_err(RunError::Runtime)?;
        let approved_by = wishes.approval.as_ref().map(Approval::given_by);
        let agent = agent_of(approved_by.unwrap_or(ApprovedBy::User));
        let created = beginning(around.clock.session_id(), agent.clone());
        let id = created.session_id.clone();
        let earlier = unfinished(&around.store, None)?;
        let open = earlier.first().map(|id| {
            format!(
                "an earlier session is not finished: {id}; `provision resume {id}` goes on with it"
            )
        });
        let needs_secrets = approved_by.is_some();
        let with = preparation(
            around,
            catalog,
            request,
            created.clone(),
            earlier,
            needs_secrets,
            &mut signals,
        );
        let Prepared { plan, digest, notes, mut events, secrets } = prepare(with).await?;
        super::sessions::check_rights(&plan)?;
        let _only = around.store.lock_runner(&around.pen)?;
        match wishes.approval.as_ref() {
            Some(approval) => {
                let approved_by = approves(approval, &digest)?;
                events.push(EventKind::PlanApproved {
                    digest: digest.clone(),
                    approved_by,
                    execution_mode: request.mode,
                });
                let gates = flow::gates::present_plan(Some(&digest), &digest);
                events.push(EventKind::GatesEvaluated { phase: Phase::PresentPlan, gates });
                events.push(flow::completed(Phase::PresentPlan));
            }
            None => events.push(EventKind::SessionPaused {
                reason: PauseReason::UserRequest,
                context: Some("the plan waits for approval".into()),
            }),
        }
        let first = EventKind::SessionCreated(Box::new(created));
        let now = around.clock.now();
        let (mut recorder, event) =
            around.store.create_with_plan(&id, &around.pen, &plan, first, &now)?;
        watcher(Told::Event(&event));
        for note in open.iter().chain(&notes) {
            watcher(Told::Note(note));
        }
        for event in recorder.record(events, &around.clock.now())? {
            watcher(Told::Event(&event));
        }
        if approved_by.is_none() {
            watcher(Told::Plan(&plan));
            recorder.close()?;
            return Ok(waiting_for_approval(id, &plan));
        }
        let data = UserData::of(&plan, secrets);
        let options =
            Options { agent, keep_going: wishes.keep_going, interrupted: wishes.interrupted };
        let mut run = Run::new(around, recorder, plan, digest, data, options, signals, watcher);
        let ended = drive(&mut run, None, None).await;
        close(run, ended)
    })
}

fn waiting_for_approval(session_id: SessionId, plan: &crate::model::Plan) -> Ended {
    Ended {
        session_id,
        status: SessionStatus::Paused,
        reason: Some("the plan waits for approval".into()),
        undecided: false,
        unapproved: Some(plan.compute_digest()),
    }
}

fn preparation<'a>(
    around: &'a Surroundings,
    catalog: &'a Catalog,
    request: &'a Request,
    created: SessionCreated,
    unfinished: Vec<SessionId>,
    needs_secrets: bool,
    signals: &'a mut Signals,
) -> Preparation<'a> {
    Preparation {
        catalog,
        catalogs: around.layers.recorded(),
        platform: platform(&around.environment),
        environment: &around.environment,
        request,
        created,
        now: around.clock.now().wall,
        unfinished,
        needs_secrets,
        signals,
    }
}

/// How a session begins on this machine.
pub(super) fn beginning(session_id: SessionId, agent: Agent) -> SessionCreated {
    SessionCreated {
        format: VERSION.into(),
        session_id,
        machine: machine(),
        agent,
        objective: None,
        branch: None,
        starting_commit: None,
        expanded_from: None,
    }
}
