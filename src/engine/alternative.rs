//! Another way to what a task failed to bring: a small plan of its own, shown and approved by itself,
//! run as a session of its own, before the session goes on that asked for it.

use std::sync::atomic::AtomicBool;

use super::{
    Decision, Ended, Failed, GivenData, Matter, Request, RunError, Surroundings, Wishes,
    apply::apply_plan,
    catalog::load_catalog,
    data::UserData,
    platform,
    sessions::{Resumption, resume_once},
    shelf, start,
    tell::{Told, Watcher},
};
use crate::{
    flow::{Alternative, Way, alternatives, doctor::repair_plan},
    model::{ApprovedBy, Document, Plan, PlanFormat, PlanTask, REPAIR, SessionStatus, TaskId},
};

/// Other ways to what `task` was to bring, by the catalog as it is now. None where that cannot be
/// read: whoever failed has enough to think about.
pub(super) fn known_alternatives(
    around: &Surroundings,
    session: &Document,
    plan: &Plan,
    task: &PlanTask,
) -> Vec<Alternative> {
    let layers = around.layers.or_recorded(&session.profile.catalogs);
    let Ok(catalog) = layers.load(around.store.fs()) else { return Vec::new() };
    alternatives(task, plan, &shelf::offer(&catalog), &platform(&around.environment))
}

/// How a session goes on after another way was tried.
struct Outcome {
    failed: Failed,
    /// The task that is there now, by whatever way.
    there: Option<TaskId>,
    /// The task that another one has taken the place of, and why it is passed by.
    replaced: Option<(TaskId, String)>,
}

/// Tries the other ways that a person asked for, and goes on with the session, until it ends for
/// another reason.
pub(super) fn try_other_ways(
    around: &Surroundings,
    mut ended: Ended,
    wishes: &Wishes,
    watcher: &mut Watcher<'_>,
) -> Result<Ended, RunError> {
    while let Some(way) = ended.instead.take() {
        let Outcome { failed, there, replaced } = attempt(around, &ended, &way, wishes, watcher)?;
        let how = Resumption { failed, there, replaced, mended: Vec::new() };
        ended = resume_once(around, &ended.session_id, &how, wishes, watcher)?;
    }
    Ok(ended)
}

fn attempt(
    around: &Surroundings,
    ended: &Ended,
    way: &Alternative,
    wishes: &Wishes,
    watcher: &mut Watcher<'_>,
) -> Result<Outcome, RunError> {
    let as_before = Outcome { failed: Failed::Leave, there: None, replaced: None };
    let plan = match small_plan(around, ended, way) {
        Ok(Some(plan)) => plan,
        Ok(None) => return Ok(as_before),
        Err(error) => {
            watcher(Told::Note(&format!("{}: it cannot be planned: {error}", way.title)));
            return Ok(as_before);
        }
    };
    if !is_approved(around, &way.title, &plan) {
        return Ok(as_before);
    }
    let digest = plan.compute_digest();
    let data = UserData::of(&plan, indexmap::IndexMap::new());
    let objective = format!("{REPAIR}for session {}: {}", ended.session_id, way.title);
    let data_of_its_own = GivenData::default();
    let own = Wishes { keep_going: false, plan: None, data: data_of_its_own, ..wishes.clone() };
    let done =
        apply_plan(around, plan, digest, ApprovedBy::User, data, &own, Some(objective), watcher)?;
    watcher(Told::Repaired(&done));
    if done.status != SessionStatus::Completed {
        return Ok(as_before);
    }
    let task_id = way.in_place_of.clone();
    Ok(match &way.way {
        Way::Recipe(_) => Outcome { failed: Failed::Retry, there: Some(task_id), replaced: None },
        Way::Task(other) => {
            let reason = format!("it failed, and {other} was set up in its place");
            Outcome { failed: Failed::Leave, there: None, replaced: Some((task_id, reason)) }
        }
        Way::Repair => Outcome { failed: Failed::Retry, there: None, replaced: None },
    })
}

fn small_plan(
    around: &Surroundings,
    ended: &Ended,
    way: &Alternative,
) -> Result<Option<Plan>, RunError> {
    match &way.way {
        Way::Repair => Ok(repair_plan(&ended.troubles)),
        Way::Recipe(task) => {
            let kept = around.store.plan(&ended.session_id)?;
            let user_data = kept.map(|plan| plan.user_data).unwrap_or_default();
            let is_told = user_data.into_iter().filter(|(_, datum)| !datum.secret).collect();
            Ok(Some(Plan {
                format: PlanFormat::V1,
                digest: None,
                profile: None,
                user_data: is_told,
                tasks: vec![PlanTask::clone(task)],
            }))
        }
        Way::Task(other) => {
            let loaded = around.store.load(&ended.session_id)?;
            let layers = around.layers.or_recorded(&loaded.session.profile.catalogs);
            let catalog = load_catalog(around, &layers)?;
            let wanted = Request::of_tools(vec![other.clone()]);
            Ok(Some(start::plan(around, &catalog, &wanted)?.plan))
        }
    }
}

/// Whether the person at the terminal wants this plan to run.
pub(super) fn is_approved(around: &Surroundings, title: &str, plan: &Plan) -> bool {
    let Some(asker) = &around.asker else { return false };
    let matter = Matter::Alternative { title: title.to_owned(), plan: Box::new(plan.clone()) };
    matches!(asker.decide(&matter, &AtomicBool::new(false)), Ok(Some(Decision::Go)))
}
