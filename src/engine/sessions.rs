//! Sessions from outside: apply a plan, and resume where one stopped.

use std::{io::Read, path::Path};

use super::{
    Approval, Failed, RunError, Wishes,
    alternative::brought_since,
    apply::apply_plan,
    changed_plan::{follow_the_catalog, kept_plan},
    data::UserData,
    driving::{Approach, drive, passed_by_on_the_way},
    ending::{Ended, close},
    examine::{Examination, examine, expiry_under_lock},
    machine,
    planned_anew::{Anew, lacks_a_plan, planned_anew},
    prune::expired,
    repair::mend_and_go_on,
    run::{Options, Run, Surroundings},
    signals::Signals,
    standing::standing,
    tell::{Told, Watcher},
    wishes::{Resumption, matches},
};
use crate::{
    exec::Rights,
    flow::{self, Live, plan_problems},
    model::{
        Agent, ApprovedBy, Digest, ExecutionMode, Phase, Plan, PlanTask, Session, SessionId,
        SessionStatus, TaskId,
    },
    store::{LARGEST_PLAN, Recorder, SessionSummary, Store},
};

/// Reads a plan file and finds everything that is wrong with it.
pub fn read_plan(path: &Path) -> Result<(Plan, Digest), RunError> {
    let unreadable = |source| RunError::PlanFile { path: path.into(), source };
    // Not of our own making: it may be a link, or a pipe.
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let found = file.take(LARGEST_PLAN + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if found as u64 > LARGEST_PLAN {
        return Err(RunError::PlanTooLarge { path: path.into(), limit: LARGEST_PLAN });
    }
    let plan: Plan = serde_json::from_slice(&bytes)
        .map_err(|source| RunError::NotAPlan { path: path.into(), source })?;
    let problems = plan_problems(&plan);
    if !problems.is_empty() {
        return Err(RunError::BadPlan { path: path.into(), problems });
    }
    let digest = plan.compute_digest();
    Ok((plan, digest))
}

/// Whether all that is not there yet can be installed with the rights that can be had.
pub(super) fn check_rights(around: &Surroundings, plan: &Plan) -> Result<(), RunError> {
    let needs_root = |task: &&PlanTask| {
        task.found.is_none() && task.commands.iter().any(|command| command.requires_sudo)
    };
    let tasks = plan.tasks.iter().filter(needs_root).map(|task| task.id.clone());
    let tasks: Vec<TaskId> = tasks.collect();
    if tasks.is_empty() || around.environment.rights() != Rights::Missing {
        return Ok(());
    }
    Err(RunError::NeedsRoot { tasks })
}

/// Runs a plan that was read as a new session, to its end or to where it cannot go on.
pub fn apply(
    around: &Surroundings,
    (plan, digest): (Plan, Digest),
    wishes: &Wishes,
    watcher: &mut Watcher<'_>,
) -> Result<Ended, RunError> {
    check_rights(around, &plan)?;
    let approved_by = approve(&plan, &digest, wishes.approval.as_ref(), None)?;
    let data = UserData::gather(&plan, None, &wishes.data)?;
    let ended = apply_plan(around, plan, digest, approved_by, data, wishes, None, watcher)?;
    mend_and_go_on(around, ended, wishes, watcher)
}

/// Earlier sessions that are not finished, newest first; the one that asks is none of them.
pub fn unfinished(store: &Store, own: Option<&SessionId>) -> Result<Vec<SessionId>, RunError> {
    /// The newest: nobody goes back to the others.
    const LOOKED_AT: usize = 50;
    let listing = store.list(Some(LOOKED_AT))?;
    let sessions = listing.sessions.into_iter();
    let is_open =
        |session: &SessionSummary| session.status != SessionStatus::Completed && !session.is_repair;
    let open = sessions.filter(is_open);
    Ok(open.map(|session| session.id).filter(|id| Some(id) != own).collect())
}

/// Goes on with a session where it stopped.
pub fn resume(
    around: &Surroundings,
    id: &SessionId,
    failed: Failed,
    wishes: &Wishes,
    watcher: &mut Watcher<'_>,
) -> Result<Ended, RunError> {
    let how = Resumption { from: wishes.from.clone(), ..Resumption::of(failed) };
    let ended = resume_once(around, id, &how, wishes, watcher)?;
    mend_and_go_on(around, ended, wishes, watcher)
}

/// The same, up to the first end it comes to.
pub(super) fn resume_once(
    around: &Surroundings,
    id: &SessionId,
    how: &Resumption,
    wishes: &Wishes,
    watcher: &mut Watcher<'_>,
) -> Result<Ended, RunError> {
    let known = look_before(around, id)?;
    within_runtime(async {
        let mut signals = Signals::listen().map_err(RunError::Runtime)?;
        let _only = around.store.lock_runner(&around.pen)?;
        let mut recorder = around.store.open_record(id, &around.pen, &around.clock.now())?;
        if let Some(imported) = recorder.imported() {
            watcher(Told::Event(imported));
        }
        check_resumable(recorder.session())?;
        let expiry = expiry_under_lock(&around.store, recorder.session(), &around.clock)?;
        if let Some(kinds) = expired(expiry) {
            // Whoever holds the lock writes down what readers have been shown.
            for event in recorder.record(kinds, &around.clock.now())? {
                watcher(Told::Event(&event));
            }
        }
        let is_anew = wishes.plan.is_none()
            && lacks_a_plan(recorder.session())
            // One that was kept for it and is not on record may not be all of it.
            && match around.store.plan(id) {
                Ok(Some(plan)) => flow::leaves_out(recorder.session(), &plan),
                Ok(None) => true,
                Err(_) => false,
            };
        let Anew { mut plan, impossible } = if is_anew {
            planned_anew(around, recorder.session(), how.failed, &mut signals).await?
        } else {
            let plan = plan_of(around, &recorder, wishes.plan.as_deref())?;
            Anew { plan, impossible: Vec::new() }
        };
        for (task, why) in &impossible {
            watcher(Told::Note(&format!("{task} is passed by: {why}")));
        }
        let mut replaced = Vec::new();
        if let Some(other) = follow_the_catalog(around, &recorder, &plan, wishes, watcher)? {
            (plan, replaced) = (other.plan, other.events);
        }
        let session = recorder.session();
        let digest = plan.compute_digest();
        // What is to be approved includes what will be done once more.
        for note in flow::told_anew(session, &plan) {
            watcher(Told::Note(&note));
        }
        // A run may have died anywhere on the way to the first command.
        let approved_by = match session.plan.approved_by {
            _ if !replaced.is_empty() => Some(ApprovedBy::User),
            _ if session.phase.current >= Phase::Execute && session.plan.digest.is_some() => None,
            Some(given) if session.plan.digest.is_some() => Some(given),
            _ => Some(approve(&plan, &digest, wishes.approval.as_ref(), Some(id))?),
        };
        if let Some(approval @ Approval::Digest(_)) = &wishes.approval {
            // Whoever names a digest means that plan, approved before or not.
            approves(approval, &digest)?;
        }
        if let Some(task) = &how.from {
            passed_by_on_the_way(session, &plan, task)?;
        }
        // Who says now how it is to be run is heard rather than what was said before.
        let mode = wishes.mode.or(session.plan.execution_mode);
        let review = mode == Some(ExecutionMode::ReviewEachStep);
        if review && !wishes.attended && wishes.approval.is_none() && how.mended.is_empty() {
            return Err(RunError::Unreviewed { id: id.clone() });
        }
        let data = UserData::gather(&plan, Some(session), &wishes.data)?;
        if is_anew {
            // Nothing is executed that is not kept first.
            recorder.keep_plan(&around.store, &plan)?;
        }
        if !replaced.is_empty() {
            recorder.replace_plan(&around.store, &plan)?;
        }
        let session = recorder.session();
        // Whoever attends it has seen this before anything was asked.
        if session.phase.current == Phase::Execute && how.mended.is_empty() && !wishes.attended {
            let seen = (Live::Running, expiry);
            let context = standing(&around.store, session, &around.clock, seen)?;
            watcher(Told::Resumes(&context));
        }
        let agent = agent_of(approved_by.or(session.plan.approved_by).unwrap_or(ApprovedBy::User));
        let options = wishes.options(agent);
        let options = Options { mended: how.mended.clone(), review, ..options };
        let run = Run::new(around, recorder, plan, digest, data, options, signals, watcher);
        for note in known.iter().chain(&expiry.note()) {
            run.note(note);
        }
        let (brought, notes) = brought_since(around, &run.session())?;
        run.set_up_elsewhere.borrow_mut().extend(brought);
        for note in &notes {
            run.note(note);
        }
        let earlier = unfinished(&around.store, Some(id))?;
        let walk =
            approved_by.map(|by| Approach { impossible, replaced, ..Approach::of(by, earlier) });
        let ended = drive(&run, walk, Some(how)).await;
        close(run, ended)
    })
}

/// Looks at a session before anything of it is touched; says what should be known of it.
pub(super) fn look_before(around: &Surroundings, id: &SessionId) -> Result<Vec<String>, RunError> {
    let loaded = around.store.load(id)?;
    check_machine(&loaded.session)?;
    if !loaded.has_journal() {
        // One that has a journal is opened all the same: a run that died may have left it untidy.
        check_resumable(&loaded.session)?;
    }
    let Examination { findings, is_foreign, .. } = examine(&around.store, &loaded, &around.clock)?;
    if is_foreign && !findings.is_empty() {
        let (id, path) = (id.clone(), loaded.path);
        return Err(RunError::NotTrue { id, path, findings });
    }
    let notes = loaded.notes.iter().map(ToString::to_string);
    Ok(notes.chain(findings.iter().map(ToString::to_string)).collect())
}

/// The session that `resume` means when none is named: the newest that is not complete. One that is
/// newer and cannot be read may be the one that was meant, so it is not passed by in silence.
pub fn newest_unfinished(store: &Store) -> Result<SessionId, RunError> {
    let listing = store.list(None)?;
    let mut sessions = listing.sessions.into_iter();
    let unfinished = sessions.find(|s| s.status != SessionStatus::Completed && !s.is_repair);
    let unreadable = listing.unreadable.into_iter().max_by(|a, b| a.id.cmp(&b.id));
    match (unfinished, unreadable) {
        (Some(session), Some(other)) if session.id > other.id => Ok(session.id),
        (_, Some(other)) => Err(other.error.into()),
        (Some(session), None) => Ok(session.id),
        (None, None) => Err(RunError::NothingToResume),
    }
}

fn approve(
    plan: &Plan,
    digest: &Digest,
    approval: Option<&Approval>,
    session: Option<&SessionId>,
) -> Result<ApprovedBy, RunError> {
    match approval {
        Some(approval) => approves(approval, digest),
        None => Err(RunError::NotApproved {
            plan: Box::new(plan.clone()),
            digest: digest.clone(),
            session: session.cloned(),
        }),
    }
}

/// Who approves the plan with this digest, if that is the one that is meant.
pub(super) fn approves(approval: &Approval, digest: &Digest) -> Result<ApprovedBy, RunError> {
    match approval {
        Approval::Digest(typed) if !matches(typed, digest) => {
            Err(RunError::OtherDigest { approved: typed.clone(), found: digest.clone() })
        }
        approval => Ok(approval.given_by()),
    }
}

pub(super) fn agent_of(approved_by: ApprovedBy) -> Agent {
    match approved_by {
        ApprovedBy::Unattended => Agent::unattended(),
        ApprovedBy::User | ApprovedBy::Elicitation | ApprovedBy::Agent => Agent::user(),
    }
}

pub(super) fn check_resumable(session: &Session) -> Result<(), RunError> {
    let id = session.meta.id.clone();
    if session.meta.status == SessionStatus::Completed {
        return Err(RunError::NotResumable { id, status: session.meta.status });
    }
    check_machine(session)
}

pub(super) fn check_machine(session: &Session) -> Result<(), RunError> {
    let id = session.meta.id.clone();
    let theirs = &session.meta.machine;
    match (&theirs.machine_id, machine().machine_id) {
        (Some(theirs_id), Some(ours)) if *theirs_id != ours => {
            Err(RunError::OtherMachine { id, hostname: theirs.hostname.clone() })
        }
        _ => Ok(()),
    }
}

/// The plan of a session: the one that was kept, or the one that is given in its place.
fn plan_of(
    around: &Surroundings,
    recorder: &Recorder,
    given: Option<&Path>,
) -> Result<Plan, RunError> {
    let (store, session) = (&around.store, recorder.session());
    let id = &session.meta.id;
    let Some(path) = given else { return kept_plan(around, session) };
    let (plan, found) = read_plan(path)?;
    if let Some(approved) = session.plan.digest.as_ref().filter(|approved| **approved != found) {
        let (id, approved) = (id.clone(), approved.clone());
        return Err(RunError::OtherPlan { id, approved, found });
    }
    if let Some(task) = flow::missing_from(session, &plan) {
        return Err(RunError::PlanLacks { id: id.clone(), path: path.into(), task });
    }
    recorder.keep_plan(store, &plan)?;
    Ok(plan)
}

pub(super) fn within_runtime<T>(
    work: impl Future<Output = Result<T, RunError>>,
) -> Result<T, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(RunError::Runtime)?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
