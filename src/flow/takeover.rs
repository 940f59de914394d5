//! A session that was executed without a plan of ours, brought to one.

use crate::model::{
    Document, EventKind, Impact, Phase, Plan, SessionRevised, TaskId, TaskRecord, TaskStatus,
};

/// A task that the session has executed and the plan does not know.
pub fn missing_from(session: &Document, plan: &Plan) -> Option<TaskId> {
    let begun = session.tasks.values().filter(|task| task.status != TaskStatus::Pending);
    let ids = begun.map(|task| &task.task_id);
    ids.into_iter().find(|id| plan.task(id).is_none()).cloned()
}

/// Whether the session has something left that the plan does not know.
pub fn leaves_out(session: &Document, plan: &Plan) -> bool {
    let mut open = session.tasks.values().filter(|task| !task.status.is_settled());
    open.any(|task| plan.task(&task.task_id).is_none())
}

/// The event that brings a session back to where a plan is presented, if it is past that without
/// ever having had one.
pub fn back_to_plan(session: &Document, plan: &Plan) -> Option<EventKind> {
    if session.phase.current < Phase::Execute || session.plan.digest.is_some() {
        return None;
    }
    let restarted = |task: &TaskRecord| task.status.is_under_way() && !follows(task, plan);
    Some(EventKind::SessionRevised(SessionRevised {
        phase_revisited: Phase::PresentPlan,
        impact: Impact::Moderate,
        reason: "it was executed without a plan that can be approved".into(),
        downstream_archived: Vec::new(),
        tasks_reset: session
            .tasks
            .values()
            .filter(|task| restarted(task))
            .map(|task| task.task_id.clone())
            .collect(),
        tasks_to_redo: Vec::new(),
        tasks_to_review: Vec::new(),
    }))
}

/// The tasks that begin anew with such a plan, in words.
pub fn told_anew(session: &Document, plan: &Plan) -> Vec<String> {
    let Some(EventKind::SessionRevised(revised)) = back_to_plan(session, plan) else {
        return Vec::new();
    };
    let word = |task: &TaskId| {
        format!("what was executed of {task} is not what the plan says: it begins anew")
    };
    let planned = revised.tasks_reset.iter().filter(|task| plan.task(task).is_some());
    planned.map(word).collect()
}

/// Whether what was executed of a task is what the plan would have executed so far. Otherwise
/// nothing says which of the plan's commands are done, and the task begins anew.
fn follows(task: &TaskRecord, plan: &Plan) -> bool {
    let Some(planned) = plan.task(&task.task_id) else { return false };
    task.commands().iter().filter(|command| command.kind.is_none()).all(|command| {
        let same = command.command_index.and_then(|index| planned.commands.get(index));
        same.is_some_and(|planned| planned.command == command.command)
    })
}
