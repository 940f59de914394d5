//! A session that was executed by another program, or whose plan is gone: what is left of it,
//! planned anew for this machine from the catalog as it is.

use super::{
    RunError, catalog::load_catalog, look::look, platform, run::Surroundings, shelf,
    signals::Signals, unready::Unready, wishes::Failed,
};
use crate::{
    flow::{CUSTOM, PlanProblem, TOOLS_ADDED, TOOLS_LEFT_OUT, Walk, plan_problems},
    model::{Choice, Document, Extra, Phase, Plan, TaskId, TaskStatus},
};

/// Whether a session has something left to execute and never had a plan of ours.
pub(super) fn lacks_a_plan(session: &Document) -> bool {
    session.phase.current == Phase::Execute
        && session.plan.digest.is_none()
        && session.tasks.values().any(|task| !task.status.is_settled())
}

/// What is left of a session, as it can be done here.
pub(super) struct Anew {
    pub plan: Plan,
    /// Tasks that cannot be had on this machine, and why.
    pub impossible: Vec<(TaskId, String)>,
}

/// The plan of what is left.
pub(super) async fn planned_anew(
    around: &Surroundings,
    session: &Document,
    failed: Failed,
    signals: &mut Signals,
) -> Result<Anew, RunError> {
    let layers = around.layers.or_recorded(&session.profile.catalogs);
    let catalog = load_catalog(around, &layers)?;
    let (offer, profiles) = (shelf::offer(&catalog), shelf::profiles(&catalog));
    let platform = platform(&around.environment);
    let is_left = |status| match status {
        TaskStatus::Completed | TaskStatus::Skipped => false,
        TaskStatus::Failed => failed != Failed::Skip,
        TaskStatus::Pending | TaskStatus::InProgress => true,
    };
    let left = session.tasks.values().filter(|task| is_left(task.status));
    let mut left: Vec<&TaskId> = left.map(|task| &task.task_id).collect();
    let unknown: Vec<TaskId> =
        left.iter().filter(|id| offer.get(id.as_str()).is_none()).map(|id| (*id).clone()).collect();
    if !unknown.is_empty() {
        return Err(RunError::NotInCatalog { id: session.meta.id.clone(), tasks: unknown });
    }
    let wanted = asking_for(session, &left);
    let walk =
        Walk { offer: &offer, profiles: &profiles, platform: &platform, facts: None, held: None };
    let tasks = walk.to_look_for(&wanted);
    let facts = tokio::select! {
        facts = look(&tasks, &offer, &around.environment) => facts,
        _ = signals.next() => return Err(RunError::Interrupted),
    };
    let unready = |unready| RunError::Unready(Box::new(unready));
    let mut impossible = Vec::new();
    let plan = loop {
        let problems = match walk.plan(&asking_for(session, &left), &facts).plan {
            Ok(plan) => break plan,
            Err(problems) => problems,
        };
        // What another machine could have is no reason to leave the rest undone.
        let known = impossible.len();
        for (task, why) in problems.iter().filter_map(PlanProblem::cannot_be_had) {
            // One reason is enough, and a task is passed by once.
            if !impossible.iter().any(|(known, _)| *known == task) {
                impossible.push((task, why));
            }
        }
        left.retain(|task| !impossible.iter().any(|(known, _)| known == *task));
        if left.is_empty() || impossible.len() == known {
            return Err(unready(Unready { problems, ..Unready::default() }));
        }
    };
    let unsound: Vec<_> = plan_problems(&plan).iter().map(ToString::to_string).collect();
    if unsound.is_empty() {
        Ok(Anew { plan, impossible })
    } else {
        Err(unready(Unready { catalog: unsound, ..Unready::default() }))
    }
}

/// A session as if it had been asked for nothing but these tasks.
fn asking_for(session: &Document, tasks: &[&TaskId]) -> Document {
    let mut wanted = session.clone();
    wanted.profile.selected = Some(CUSTOM.into());
    wanted.choices.shift_remove(TOOLS_LEFT_OUT);
    let names: Vec<_> = tasks.iter().map(|id| id.as_str()).collect();
    let choice = Choice {
        question: "What is left?".into(),
        answer: names.join(", "),
        value: names.join(" "),
        timestamp: session.meta.updated_at.clone(),
        extra: Extra::new(),
    };
    wanted.choices.insert(TOOLS_ADDED.into(), choice);
    wanted
}
