//! Sessions from outside: apply a plan, and resume where one stopped.

use std::{io::Read, path::Path};

use super::{
    Approval, Failed, RunError, Wishes,
    alternative::brought_since,
    apply::apply_plan,
    changed_plan::{follow_the_catalog, kept_plan},
    data::UserData,
    deciding::Said,
    ending::{Ended, close, complete, fail, pause},
    examine::{Examination, examine, expiry_under_lock},
    machine,
    planned_anew::{Anew, lacks_a_plan, planned_anew},
    prune::expired,
    repair::mend_and_go_on,
    rights::NotAuthorized,
    run::{Options, Run, Surroundings},
    signals::Signals,
    standing::standing,
    tasks::TaskEnd,
    tell::{Told, Watcher},
    wishes::{Resumption, matches},
};
use crate::{
    exec::Rights,
    flow::{self, GivenPlan, Live, plan_problems},
    model::{
        Agent, ApprovedBy, Digest, EventKind, ExecutionMode, PauseReason, Phase, Plan, PlanTask,
        Session, SessionId, SessionStatus, TaskId, TaskStatus, nearest,
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

/// How a run comes to the execution of a plan that it has.
pub(super) struct Approach {
    pub approved_by: ApprovedBy,
    /// Tasks of the session that cannot be done here, and why.
    pub impossible: Vec<(TaskId, String)>,
    /// What says that the plan is another one now.
    pub replaced: Vec<EventKind>,
    pub unfinished: Vec<SessionId>,
}

impl Approach {
    pub(super) fn of(approved_by: ApprovedBy, unfinished: Vec<SessionId>) -> Self {
        Self { approved_by, impossible: Vec::new(), replaced: Vec::new(), unfinished }
    }
}

/// Earlier sessions that are not finished, newest first; the one that asks is none of them.
pub(super) fn unfinished(
    store: &Store,
    own: Option<&SessionId>,
) -> Result<Vec<SessionId>, RunError> {
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
        let mut run = Run::new(around, recorder, plan, digest, data, options, signals, watcher);
        for note in known.iter().chain(&expiry.note()) {
            run.note(note);
        }
        let (brought, notes) = brought_since(around, run.session())?;
        run.set_up_elsewhere.extend(brought);
        for note in &notes {
            run.note(note);
        }
        let earlier = unfinished(&around.store, Some(id))?;
        let walk =
            approved_by.map(|by| Approach { impossible, replaced, ..Approach::of(by, earlier) });
        let ended = drive(&mut run, walk, Some(how)).await;
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

/// From wherever the session stands to where it ends or must stop.
pub(super) async fn drive(
    run: &mut Run<'_>,
    approach: Option<Approach>,
    resumed: Option<&Resumption>,
) -> Result<Ended, RunError> {
    let short: Vec<_> = run.data.too_short().map(str::to_owned).collect();
    for key in short {
        run.note(&format!("`{key}` is too short to be kept out of the output of commands"));
    }
    if let Some(how) = resumed {
        take_over(run, how)?;
    }
    // What is decided about tasks is recorded while they are executed.
    let is_decided = run.session().phase.current == Phase::Execute;
    if let Some(how) = resumed.filter(|_| is_decided) {
        decide_about_failed(run, how)?;
    }
    run.decide_about_shells();
    if let Some(Approach { approved_by, impossible, replaced, unfinished }) = approach {
        for (task_id, reason) in impossible {
            run.queue(EventKind::TaskSkipped { task_id, reason, because_of: None });
        }
        for event in replaced {
            run.queue(event);
        }
        run.flush()?;
        if flow::back_to_plan(run.session(), &run.plan).is_some()
            && let Some(ended) = decide_before_anew(run).await?
        {
            return Ok(ended);
        }
        if let Some(revised) = flow::back_to_plan(run.session(), &run.plan) {
            run.queue(revised);
            run.flush()?;
        }
        let values = run.data.recorded().to_vec();
        let plan = std::sync::Arc::clone(&run.plan);
        let digest = run.digest.clone();
        let given = GivenPlan {
            plan: &plan,
            digest: &digest,
            user_data: &values,
            approved_by,
            mode: run.options.mode,
            unfinished: &unfinished,
        };
        for event in given.walk_to_execution(run.session()) {
            run.queue(event);
        }
        run.flush()?;
    }
    if let Some(how) = resumed.filter(|_| !is_decided) {
        decide_about_failed(run, how)?;
    }
    let plan = std::sync::Arc::clone(&run.plan);
    let is_settled =
        |task: &&PlanTask| run.task_record(task).is_some_and(|t| t.status.is_settled());
    let settled = plan.tasks.iter().filter(is_settled).count();
    let total = plan.tasks.len();
    run.tell(Told::Begins { settled, total, plan: &plan });
    let end = if run.session().phase.current == Phase::Execute {
        if let Some(ended) = run.look_at_machine().await? {
            return Ok(ended);
        }
        if let Some(NotAuthorized { reason, context }) = run.get_rights().await? {
            return pause(run, reason, context, false);
        }
        run.execute().await?
    } else {
        TaskEnd::Settled
    };
    match end {
        TaskEnd::Settled => complete(run),
        TaskEnd::Failed => fail(run),
        TaskEnd::Stopped => stop(run),
        TaskEnd::Undecided(what) => pause(run, PauseReason::SystemError, what, true),
    }
}

fn stop(run: &mut Run<'_>) -> Result<Ended, RunError> {
    let reason = run.stop.reason.clone().unwrap_or_else(|| "asked to stop".into());
    let ended = pause(run, PauseReason::UserRequest, reason, false)?;
    let instead = run.instead.take();
    let mends = instead.as_ref().is_some_and(|way| way.way == flow::Way::Repair);
    let troubles = if mends { run.troubles.clone() } else { Vec::new() };
    Ok(Ended { troubles, instead, ..ended })
}

/// What failed is decided about while it is on record: what is planned anew begins anew.
async fn decide_before_anew(run: &mut Run<'_>) -> Result<Option<Ended>, RunError> {
    let plan = std::sync::Arc::clone(&run.plan);
    let is_failed = |run: &Run<'_>, task: &PlanTask| {
        run.task_record(task).is_some_and(|record| record.status == TaskStatus::Failed)
    };
    for task in &plan.tasks {
        if is_failed(run, task) && run.decide_about_failure(task).await? == Said::Stop {
            return stop(run).map(Some);
        }
    }
    run.flush()?;
    Ok(None)
}

/// The first events of a resumed run: what the one before left unsaid.
fn take_over(run: &mut Run<'_>, how: &Resumption) -> Result<(), RunError> {
    run.set_up_elsewhere.extend(how.there.clone());
    if how.is_taken_up {
        return Ok(());
    }
    if run.session().meta.status == SessionStatus::InProgress {
        run.queue(EventKind::SessionPaused {
            reason: PauseReason::SystemError,
            context: Some("the run before this one ended without a word".into()),
        });
    }
    run.queue(EventKind::SessionResumed {});
    run.flush().map(drop)
}

/// What was decided about tasks since the last run.
fn decide_about_failed(run: &mut Run<'_>, how: &Resumption) -> Result<(), RunError> {
    if let Some((task_id, reason)) = how.replaced.clone() {
        run.record(EventKind::TaskSkipped { task_id, reason, because_of: None })?;
    }
    if let Some(from) = &how.from {
        let reason = format!("passed by: the session went on at {from}");
        for task_id in passed_by_on_the_way(run.session(), &run.plan, from)? {
            let reason = reason.clone();
            run.queue(EventKind::TaskSkipped { task_id, reason, because_of: None });
        }
        run.flush()?;
    }
    let tasks = run.session().tasks.values();
    let failed_tasks: Vec<TaskId> = tasks
        .filter(|task| task.status == TaskStatus::Failed)
        .map(|task| task.task_id.clone())
        .collect();
    match how.failed {
        Failed::Leave => {}
        Failed::Retry => {
            for task_id in flow::waiting_for(run.session(), &failed_tasks) {
                let reason = "what it needs is tried again".into();
                run.queue(EventKind::TaskReset { task_id, reason });
            }
            run.retried.extend(failed_tasks);
        }
        Failed::Skip => {
            for task_id in failed_tasks {
                let reason = "it failed and was passed by".into();
                run.queue(EventKind::TaskSkipped { task_id, reason, because_of: None });
            }
        }
    }
    run.flush().map(drop)
}

/// The tasks that are not done and stand before the one that a session is to go on at.
fn passed_by_on_the_way(
    session: &Session,
    plan: &Plan,
    from: &TaskId,
) -> Result<Vec<TaskId>, RunError> {
    let not = |why: String| RunError::NotFromThere {
        id: session.meta.id.clone(),
        task: from.clone(),
        why,
    };
    let Some(at) = plan.tasks.iter().position(|task| task.id == *from) else {
        let names = plan.tasks.iter().map(|task| task.id.as_str());
        let near = nearest(from.as_str(), names).map(|near| format!("; did you mean `{near}`?"));
        return Err(not(format!("its plan has no such task{}", near.unwrap_or_default())));
    };
    let status = |id: &TaskId| session.tasks.get(id).map_or(TaskStatus::Pending, |t| t.status);
    if status(from).is_settled() {
        return Err(not(format!("it is {} already", status(from).name())));
    }
    let before = plan.tasks[..at].iter().map(|task| &task.id);
    let open: Vec<TaskId> = before.filter(|id| !status(id).is_settled()).cloned().collect();
    let mut needed = vec![from.clone()];
    for task in plan.tasks[..=at].iter().rev().filter(|task| task.id != *from) {
        let is_needed =
            |of: &TaskId| plan.task(of).is_some_and(|of| of.depends_on.contains(&task.id));
        if needed.iter().any(is_needed) {
            needed.push(task.id.clone());
        }
    }
    if let Some(task) = open.iter().find(|task| needed.contains(task)) {
        return Err(not(format!("it needs {task}, which is not done")));
    }
    let is_running = |id: &&TaskId| session.tasks.get(*id).is_some_and(|t| !t.in_flight.is_empty());
    match open.iter().find(is_running) {
        Some(task) => Err(not(format!("how the last command of {task} ended is not recorded yet"))),
        None => Ok(open),
    }
}
