//! A new session from the catalog: the walk without a person, up to its plan or on to its end.

use indexmap::IndexMap;

use super::{
    Approval, GivenData, Inheritance, RunError, Wishes,
    data::UserData,
    driving::drive,
    ending::{Ended, close},
    machine, platform,
    prepare::{Preparation, Prepared, prepare},
    repair::mend_and_go_on,
    request::Request,
    run::{Run, Surroundings},
    sessions::{agent_of, check_rights, unfinished, within_runtime},
    signals::Signals,
    tell::{Told, Watcher},
};
use crate::{
    catalog::Catalog,
    model::{Agent, ApprovedBy, EventKind, PauseReason, Plan, SessionCreated, SessionId, VERSION},
};

const WAITS: &str = "the plan waits for approval";

/// What a plan of `request` would be. Runs probes and nothing else, and leaves nothing behind.
pub fn plan(
    around: &Surroundings,
    catalog: &Catalog,
    request: &Request,
) -> Result<Prepared, RunError> {
    within_runtime(async {
        let mut signals = Signals::listen().map_err(RunError::Runtime)?;
        let created = beginning(around.clock.session_id(), Agent::user());
        prepare(preparation(around, catalog, request, created, Vec::new(), None, &mut signals))
            .await
    })
}

/// A new session up to its plan: nothing of it is recorded yet, and nothing waits for it.
#[derive(Debug)]
pub struct Ready {
    prepared: Prepared,
    created: SessionCreated,
    /// An earlier session that is not finished.
    open: Option<String>,
}

/// Goes through the walk of a new session up to its plan.
pub fn ready(
    around: &Surroundings,
    catalog: &Catalog,
    request: &Request,
    wishes: &Wishes,
    inherited: Option<&Inheritance>,
) -> Result<Ready, RunError> {
    within_runtime(async {
        let mut signals = Signals::listen().map_err(RunError::Runtime)?;
        let approved_by = wishes.approval.as_ref().map_or(ApprovedBy::User, Approval::given_by);
        let mut created = beginning(around.clock.session_id(), agent_of(approved_by));
        created.expanded_from = inherited.map(|inherited| inherited.from.clone());
        let earlier = unfinished(&around.store, None)?;
        let open = earlier.first().map(|id| {
            format!("an earlier session is not finished: {id}; `provision resume {id}` resumes it")
        });
        let approval = wishes.approval.as_ref();
        let copied = inherited.map(|inherited| inherited.copied.clone()).unwrap_or_default();
        let with =
            preparation(around, catalog, request, created.clone(), earlier, approval, &mut signals);
        let with = Preparation { copied, ..with };
        let prepared = prepare(with).await?;
        check_rights(around, &prepared.plan)?;
        Ok(Ready { prepared, created, open })
    })
}

impl Ready {
    pub fn plan(&self) -> &Plan {
        &self.prepared.plan
    }

    /// Begins the session and goes on with it: to its end, if its plan is approved; otherwise to
    /// where it waits for that.
    pub fn start(
        self,
        around: &Surroundings,
        wishes: &Wishes,
        watcher: &mut Watcher<'_>,
    ) -> Result<Ended, RunError> {
        let (ended, secrets) = self.start_once(around, wishes, watcher)?;
        // What was given for the walk is in the session by now; secrets are only here.
        let data = GivenData { file: secrets, ..GivenData::default() };
        let again = Wishes { data, plan: None, ..wishes.clone() };
        mend_and_go_on(around, ended, &again, watcher)
    }

    fn start_once(
        self,
        around: &Surroundings,
        wishes: &Wishes,
        watcher: &mut Watcher<'_>,
    ) -> Result<(Ended, IndexMap<String, String>), RunError> {
        let Self { prepared, created, open } = self;
        let Prepared { plan, digest, notes, mut events, secrets } = prepared;
        let (id, agent) = (created.session_id.clone(), created.agent.clone());
        within_runtime(async {
            let signals = Signals::listen().map_err(RunError::Runtime)?;
            let _only = around.store.lock_runner(&around.pen)?;
            let is_approved = wishes.approval.is_some();
            if !is_approved {
                // Whoever resumes it need not say it again.
                events.extend(wishes.shell_integration.map(|choice| choice.event(&agent)));
                events.push(EventKind::SessionPaused {
                    reason: PauseReason::UserRequest,
                    context: Some(WAITS.into()),
                });
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
            if !is_approved {
                watcher(Told::Plan(&plan));
                recorder.close()?;
                return Ok((Ended::waiting(id, WAITS, digest), secrets));
            }
            let held = secrets.iter().filter(|(key, _)| plan.user_data.contains_key(*key));
            let held = held.map(|(key, value)| (key.clone(), value.clone())).collect();
            let data = UserData::of(&plan, secrets);
            let options = wishes.options(agent);
            let run = Run::new(around, recorder, plan, digest, data, options, signals, watcher);
            let ended = drive(&run, None, None).await;
            Ok((close(run, ended)?, held))
        })
    }
}

fn preparation<'a>(
    around: &'a Surroundings,
    catalog: &'a Catalog,
    request: &'a Request,
    created: SessionCreated,
    unfinished: Vec<SessionId>,
    approval: Option<&'a Approval>,
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
        copied: Vec::new(),
        approval,
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
