//! Verifications that sessions put off, looked at again: what can be told now is recorded where it
//! was left open.

use std::{collections::HashSet, path::PathBuf, sync::Arc, time::Duration};

use super::{
    Surroundings, footing, past::Past, side_by_side::side_by_side, verification::is_overridden,
};
use crate::{
    exec::{Environment, Probe, ProbeEnd, probe},
    flow::{self, Unsure},
    model::{EventKind, Plan, Session, SessionId, TaskId, TaskStatus, Verification},
    store::Pen,
};

/// What came of looking again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NowKnown {
    Works,
    Fails(String),
    /// Still nobody can tell, for this reason.
    StillOpen(&'static str),
}

/// A verification that was put off, and what it says now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reverified {
    pub session_id: SessionId,
    pub task_id: TaskId,
    pub command: String,
    pub now: NowKnown,
    /// Why that is not on record, where it ought to be.
    pub unrecorded: Option<String>,
}

/// Everything about an open verification that is needed to ask it.
struct Open {
    session_id: SessionId,
    task_id: TaskId,
    verification: Verification,
    path: Vec<PathBuf>,
    setup: String,
}

/// Asks the verifications that are still open, of tasks that are `wanted`.
pub(super) async fn reverify(
    around: &Surroundings,
    past: &Past,
    wanted: impl Fn(&TaskId) -> bool,
) -> Vec<Reverified> {
    let of_session = |session: &Session| {
        let plan = past.plan(&session.meta.id);
        plan.map_or_else(Vec::new, |plan| open_verifications(around, session, plan))
    };
    let open = past.sessions.iter().flat_map(of_session).filter(|open| wanted(&open.task_id));
    let open: Vec<_> = open.enumerate().collect();
    let mut all: Vec<(usize, Reverified)> = Vec::new();
    let environment = Arc::new(around.environment.clone());
    let works = open.into_iter().map(|(place, open)| {
        let environment = Arc::clone(&environment);
        async move {
            let now = open.ask(&environment).await;
            let Open { session_id, task_id, verification, .. } = open;
            let command = verification.command;
            (place, Reverified { session_id, task_id, command, now, unrecorded: None })
        }
    });
    side_by_side(works, |known| all.push(known)).await;
    all.sort_by_key(|(place, _)| *place);
    let mut all: Vec<Reverified> = all.into_iter().map(|(_, known)| known).collect();
    for known in all.chunk_by_mut(|a, b| a.session_id == b.session_id) {
        if let Err(why) = record(around, known) {
            let is_settled = |one: &&mut Reverified| !matches!(one.now, NowKnown::StillOpen(_));
            known.iter_mut().filter(is_settled).for_each(|one| one.unrecorded = Some(why.clone()));
        }
    }
    all
}

/// Each once, whatever happened to its task meanwhile.
fn open_verifications(around: &Surroundings, session: &Session, plan: &Plan) -> Vec<Open> {
    let mut seen = HashSet::new();
    let find = |id: &TaskId| plan.task(id);
    let open = session.deferred_verifications.iter().filter(|known| !known.resolved);
    open.filter_map(|deferred| {
        let task = plan.task(&deferred.task_id)?;
        let verification = task.verification.as_ref()?;
        let record = session.tasks.get(&task.id)?;
        let counts = record.status == TaskStatus::Completed
            && verification.command == deferred.command
            && !is_overridden(session, &task.id);
        (counts && seen.insert(&task.id)).then(|| Open {
            session_id: session.meta.id.clone(),
            task_id: task.id.clone(),
            verification: verification.clone(),
            path: footing::path_of(task, find, &around.environment),
            setup: footing::setup_of(task, find, true),
        })
    })
    .collect()
}

impl Open {
    async fn ask(&self, environment: &Environment) -> NowKnown {
        let Self { verification, path, setup, .. } = self;
        let asked = Probe { command: &verification.command, environment, path, setup };
        // What it prints is not kept: the secrets of that session are not known here.
        let (unsure, error) = match &probe(&asked).await {
            ProbeEnd::Exited { code: 0, output } => {
                match flow::judge(verification, &String::from_utf8_lossy(output)) {
                    Ok(()) => return NowKnown::Works,
                    Err(error) => {
                        let said = Unsure::Said { code: 0, output };
                        (flow::deferral(verification, said), error)
                    }
                }
            }
            ProbeEnd::Exited { code, output } => {
                let said = Unsure::Said { code: *code, output };
                (flow::deferral(verification, said), format!("exit code {code}"))
            }
            ProbeEnd::TimedOut => (flow::deferral(verification, Unsure::Silent), String::new()),
            ProbeEnd::Signaled(signal) => (None, format!("ended by signal {signal}")),
            ProbeEnd::NotStarted(error) => (None, error.clone()),
        };
        match unsure {
            Some(reason) => NowKnown::StillOpen(reason.words()),
            None => NowKnown::Fails(format!("verification failed: {error}")),
        }
    }
}

/// Writes down what is known now. Who works on the session is not waited for: they look themselves.
fn record(around: &Surroundings, known: &[Reverified]) -> Result<(), String> {
    let Some(id) = known.first().map(|one| &one.session_id) else { return Ok(()) };
    let event = |one: &Reverified| {
        let (task_id, command) = (one.task_id.clone(), one.command.clone());
        match &one.now {
            NowKnown::Works => Some(EventKind::VerificationResolved { task_id, command }),
            NowKnown::Fails(error) => {
                let error = error.clone();
                Some(EventKind::VerificationRefuted { task_id, command, error })
            }
            NowKnown::StillOpen(_) => None,
        }
    };
    let events: Vec<_> = known.iter().filter_map(event).collect();
    if events.is_empty() {
        return Ok(());
    }
    let pen = Pen { patience: Duration::ZERO, ..around.pen.clone() };
    let written = || {
        let mut recorder = around.store.open_record(id, &pen, &around.clock.now())?;
        let recorded = recorder.record(events, &around.clock.now());
        recorder.close()?;
        recorded
    };
    written().map(drop).map_err(|error| error.to_string())
}
