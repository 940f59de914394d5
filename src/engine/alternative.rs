//! Another way to what a task failed to bring: a small plan of its own, shown and approved by itself,
//! run as a session of its own, before the session goes on that asked for it.

use std::{collections::HashSet, sync::atomic::AtomicBool};

use super::{
    Decision, Ended, Failed, Matter, Request, RunError, Surroundings, Wishes,
    apply::apply_plan,
    catalog::load_catalog,
    data::UserData,
    platform,
    sessions::resume_once,
    shelf, start,
    tell::{Told, Watcher},
    wishes::Resumption,
};
use crate::{
    flow::{Alternative, Way, alternatives, doctor::repair_plan},
    model::{
        ApprovedBy, Document, Found, Plan, PlanFormat, PlanTask, REPAIR, SessionStatus, TaskId,
        TaskStatus,
    },
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
        let outcome = attempt(around, &ended, &way, wishes, watcher)?;
        // Whoever stopped in between wants all of it to stop.
        let Some(Outcome { failed, there, replaced }) = outcome else { return Ok(ended) };
        let how = Resumption { there, replaced, ..Resumption::of(failed) };
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
) -> Result<Option<Outcome>, RunError> {
    let as_before = Outcome { failed: Failed::Leave, there: None, replaced: None };
    let plan = match small_plan(around, ended, way) {
        Ok(Some(plan)) => plan,
        Ok(None) => return Ok(Some(as_before)),
        Err(error) => {
            watcher(Told::Note(&format!("{}: it cannot be planned: {error}", way.title)));
            return Ok(Some(as_before));
        }
    };
    match approval(around, &way.title, &plan) {
        Decision::Go => {}
        Decision::Left(_) => return Ok(None),
        _ => return Ok(Some(as_before)),
    }
    let digest = plan.compute_digest();
    let is_asked = |key: &String| plan.user_data.contains_key(key);
    let mut given = wishes.data.clone();
    given.file.retain(|key, _| is_asked(key));
    given.command_line.retain(|key, _| is_asked(key));
    let loaded = around.store.load(&ended.session_id)?;
    let data = UserData::gather(&plan, Some(&loaded.session), &given)?;
    let objective = format!("{REPAIR}for session {}: {}", ended.session_id, way.title);
    let own = Wishes { keep_going: false, plan: None, mode: None, ..wishes.clone() };
    let done =
        apply_plan(around, plan, digest, ApprovedBy::User, data, &own, Some(objective), watcher)?;
    watcher(Told::Repaired(&done));
    match done.status {
        SessionStatus::Completed => {}
        SessionStatus::Failed => return Ok(Some(as_before)),
        SessionStatus::Paused | SessionStatus::InProgress => return Ok(None),
    }
    let task_id = way.in_place_of.clone();
    Ok(Some(match &way.way {
        Way::Recipe(_) => Outcome { failed: Failed::Retry, there: Some(task_id), replaced: None },
        Way::Task(other) => {
            let reason = format!("it failed, and {other} was set up in its place");
            Outcome { failed: Failed::Leave, there: None, replaced: Some((task_id, reason)) }
        }
        Way::Repair => Outcome { failed: Failed::Retry, there: None, replaced: None },
    }))
}

fn small_plan(
    around: &Surroundings,
    ended: &Ended,
    way: &Alternative,
) -> Result<Option<Plan>, RunError> {
    match &way.way {
        Way::Repair => Ok(repair_plan(&ended.troubles)),
        Way::Recipe(task) => {
            let session = around.store.load(&ended.session_id)?.session;
            let kept = around.store.plan_of(&session)?;
            let mut tasks = kept.as_ref().map(|plan| needed(plan, task)).unwrap_or_default();
            tasks.push(PlanTask::clone(task));
            let user_data = kept.map(|plan| plan.user_data).unwrap_or_default();
            let (format, digest, profile) = (PlanFormat::V1, None, None);
            Ok(Some(Plan { format, digest, profile, user_data, tasks }))
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

/// All that a task builds on, as far as its commands find something by it: nothing of it is run.
fn needed(plan: &Plan, task: &PlanTask) -> Vec<PlanTask> {
    let mut open: Vec<&TaskId> = task.depends_on.iter().collect();
    let mut ids: HashSet<&TaskId> = HashSet::new();
    while let Some(id) = open.pop() {
        if ids.insert(id) {
            open.extend(plan.task(id).into_iter().flat_map(|task| &task.depends_on));
        }
    }
    let tasks = plan.tasks.iter().filter(|task| ids.contains(&task.id));
    tasks
        .map(|task| PlanTask {
            name: task.name.clone(),
            category: task.category.clone(),
            depends_on: task.depends_on.clone(),
            path: task.path.clone(),
            env_setup: task.env_setup.clone(),
            detection: task.detection.clone(),
            found: Some(Found::default()),
            ..PlanTask::new(task.id.clone())
        })
        .collect()
}

/// What the person at the terminal says to a small plan.
pub(super) fn approval(around: &Surroundings, title: &str, plan: &Plan) -> Decision {
    let closed = Decision::Left("the terminal was closed");
    let Some(asker) = &around.asker else { return closed };
    let matter = Matter::Alternative { title: title.to_owned(), plan: Box::new(plan.clone()) };
    asker.decide(&matter, &AtomicBool::new(false)).unwrap_or(closed)
}

/// Tasks of a session that failed there, and that another way has brought since: whoever resumes it
/// looks for them before running anything again. Also what there is to know of ways that were begun
/// and not finished.
pub(super) fn brought_since(
    around: &Surroundings,
    session: &Document,
) -> Result<(Vec<TaskId>, Vec<String>), RunError> {
    let purpose = format!("{REPAIR}for session {}: ", session.meta.id);
    let is_failed =
        |id: &TaskId| session.tasks.get(id).is_some_and(|task| task.status == TaskStatus::Failed);
    let (mut brought, mut notes) = (Vec::new(), Vec::new());
    if !session.tasks.keys().any(is_failed) {
        return Ok((brought, notes));
    }
    for summary in around.store.list(None)?.sessions {
        if !summary.is_repair {
            continue;
        }
        // One that cannot be read has brought nothing that anybody could know of.
        let Ok(other) = around.store.load(&summary.id) else { continue };
        let objective = other.session.meta.objective.as_deref().unwrap_or_default();
        if !objective.starts_with(&purpose) {
            continue;
        }
        let tasks = other.session.tasks.values();
        let done = tasks.filter(|task| task.status == TaskStatus::Completed);
        brought.extend(done.map(|task| task.task_id.clone()).filter(is_failed));
        if summary.status != SessionStatus::Completed && summary.status != SessionStatus::Failed {
            let id = &summary.id;
            notes.push(format!(
                "another way was begun and not finished: `provision resume {id}` resumes it"
            ));
        }
    }
    Ok((brought, notes))
}
