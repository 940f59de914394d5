//! A run of a session that has its plan, from wherever it stands to where it ends or must stop: what
//! the run before left unsaid, what was decided since, and the way to the execution.

use std::sync::Arc;

use super::{
    Failed, RunError,
    deciding::Said,
    ending::{Ended, complete, fail, pause},
    rights::NotAuthorized,
    run::Run,
    tasks::TaskEnd,
    tell::Told,
    wishes::Resumption,
};
use crate::{
    flow::{self, GivenPlan},
    model::{
        ApprovedBy, EventKind, PauseReason, Phase, Plan, PlanTask, Session, SessionId,
        SessionStatus, TaskId, TaskStatus, nearest,
    },
};

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

/// From wherever the session stands to where it ends or must stop.
pub(super) async fn drive(
    run: &Run<'_>,
    approach: Option<Approach>,
    resumed: Option<&Resumption>,
) -> Result<Ended, RunError> {
    run.attend(go_through(run, approach, resumed)).await
}

async fn go_through(
    run: &Run<'_>,
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
        let is_anew = flow::back_to_plan(&run.session(), &run.plan).is_some();
        if is_anew && let Some(ended) = decide_before_anew(run).await? {
            return Ok(ended);
        }
        let revised = flow::back_to_plan(&run.session(), &run.plan);
        if let Some(revised) = revised {
            run.queue(revised);
            run.flush()?;
        }
        let values = run.data.recorded().to_vec();
        let plan = Arc::clone(&run.plan);
        let digest = run.digest.clone();
        let given = GivenPlan {
            plan: &plan,
            digest: &digest,
            user_data: &values,
            approved_by,
            mode: run.options.mode,
            unfinished: &unfinished,
        };
        let walk = given.walk_to_execution(&run.session());
        for event in walk {
            run.queue(event);
        }
        run.flush()?;
    }
    if let Some(how) = resumed.filter(|_| !is_decided) {
        decide_about_failed(run, how)?;
    }
    let plan = Arc::clone(&run.plan);
    let settled = plan.tasks.iter().filter(|task| run.is_settled(task));
    let settled = settled.map(|task| task.id.clone()).collect();
    run.tell(Told::Begins { settled: &settled, plan: &plan });
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
        TaskEnd::Settled => complete(run).await,
        TaskEnd::Failed => fail(run),
        TaskEnd::Stopped => stop(run),
        TaskEnd::Undecided(what) => pause(run, PauseReason::SystemError, what, true),
    }
}

fn stop(run: &Run<'_>) -> Result<Ended, RunError> {
    let reason = run.stop.reason().unwrap_or_else(|| "asked to stop".into());
    let ended = pause(run, PauseReason::UserRequest, reason, false)?;
    let instead = run.instead.take();
    let mends = instead.as_ref().is_some_and(|way| way.way == flow::Way::Repair);
    let troubles = if mends { run.troubles.borrow().clone() } else { Vec::new() };
    Ok(Ended { troubles, instead, ..ended })
}

/// What failed is decided about while it is on record: what is planned anew begins anew.
async fn decide_before_anew(run: &Run<'_>) -> Result<Option<Ended>, RunError> {
    let plan = Arc::clone(&run.plan);
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
fn take_over(run: &Run<'_>, how: &Resumption) -> Result<(), RunError> {
    run.set_up_elsewhere.borrow_mut().extend(how.there.clone());
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
    run.flush()
}

/// What was decided about tasks since the last run.
fn decide_about_failed(run: &Run<'_>, how: &Resumption) -> Result<(), RunError> {
    if let Some((task_id, reason)) = how.replaced.clone() {
        run.queue(EventKind::TaskSkipped { task_id, reason, because_of: None });
        run.flush()?;
    }
    if let Some(from) = &how.from {
        let reason = format!("passed by: the session went on at {from}");
        let passed_by = passed_by_on_the_way(&run.session(), &run.plan, from)?;
        for task_id in passed_by {
            let reason = reason.clone();
            run.queue(EventKind::TaskSkipped { task_id, reason, because_of: None });
        }
        run.flush()?;
    }
    let session = run.session();
    let failed_tasks: Vec<TaskId> = session
        .tasks
        .values()
        .filter(|task| task.status == TaskStatus::Failed)
        .map(|task| task.task_id.clone())
        .collect();
    let waiting = flow::waiting_for(&session, &failed_tasks);
    drop(session);
    match how.failed {
        Failed::Leave => {}
        Failed::Retry => {
            for task_id in waiting {
                let reason = "what it needs is tried again".into();
                run.queue(EventKind::TaskReset { task_id, reason });
            }
            run.retried.borrow_mut().extend(failed_tasks);
        }
        Failed::Skip => {
            for task_id in failed_tasks {
                let reason = "it failed and was passed by".into();
                run.queue(EventKind::TaskSkipped { task_id, reason, because_of: None });
            }
        }
    }
    run.flush()
}

/// The tasks that are not done and stand before the one that a session is to go on at.
pub(super) fn passed_by_on_the_way(
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
