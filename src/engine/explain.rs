//! How one tool came to this machine: which sessions had to do with it, what they ran for it, what it
//! was then and is now, and what depends on it.

use std::collections::{BTreeMap, HashSet};

use super::{
    RunError, Surroundings,
    look::{Depth, Look, look_at},
    past::Past,
    sessions::within_runtime,
    shelf,
    signals::Signals,
};
use crate::{
    catalog::Catalog,
    flow::{Added, Changed, Drift, Expected, Kept, Presence, Removed},
    model::{CommandRecord, Found, SessionId, Task, TaskId, TaskRecord, TaskStatus, Timestamp},
};

/// All that is known of one tool.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub task_id: TaskId,
    pub name: String,
    pub category: Option<String>,
    pub description: Option<String>,
    pub docs_url: Option<String>,
    /// What is there now.
    pub found: Option<Found>,
    /// Why that is not known, or not all of it.
    pub doubt: Option<String>,
    pub expected: Option<Expected>,
    pub verdict: Verdict,
    /// The sessions that had to do with it, oldest first.
    pub appearances: Vec<Appearance>,
    pub dependants: Vec<Dependant>,
    /// What of the past cannot be read.
    pub notes: Vec<String>,
}

/// How what is there compares with what sessions say.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    AsItWas(Kept),
    Changed(Changed),
    Removed(Removed),
    AddedOutside(Added),
    /// Expected, and nobody can tell.
    Unknown,
    /// There, and a session that did not complete it may have brought it.
    Unfinished,
    /// There, and no session says since when.
    Unaccounted,
    NotHere,
}

/// One session's part in it.
#[derive(Clone, Debug)]
pub struct Appearance {
    pub session_id: SessionId,
    pub status: TaskStatus,
    /// Whether it was there when the session came to it.
    pub was_there: bool,
    pub at: Timestamp,
    pub version: Option<String>,
    pub path: Option<String>,
    /// Why it was skipped, or how it failed.
    pub reason: Option<String>,
    /// The planned commands that were executed for it.
    pub commands: Vec<CommandRecord>,
}

/// A tool that builds on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependant {
    pub task_id: TaskId,
    /// Whether it cannot do without.
    pub needs_it: bool,
    pub is_there: bool,
}

/// Explains a tool; `None` if neither the catalog nor a session knows it.
pub fn explain(
    around: &Surroundings,
    catalog: &Catalog,
    id: &TaskId,
) -> Result<Option<Explanation>, RunError> {
    let past = Past::read(around)?;
    let expectations = past.expectations();
    let offer = shelf::offer(catalog);
    let listed = offer.get(id.as_str()).map(|offered| offered.task);
    let appearances: Vec<_> = past
        .sessions
        .iter()
        .filter_map(|session| {
            let planned = past.plan(&session.meta.id).and_then(|plan| plan.task(id));
            let is_upkeep = planned.is_some_and(|task| task.upkeep);
            let task = session.tasks.get(id).filter(|_| !is_upkeep)?;
            Some(Appearance::of(session.meta.id.clone(), task, &session.meta.updated_at))
        })
        .collect();
    if listed.is_none() && appearances.is_empty() {
        return Ok(None);
    }
    let expected = expectations.tools.get(id).cloned();
    let look_for = |id: &TaskId| {
        let known = expectations.tools.get(id);
        let known = known.map(|expected| past.look_for(id, expected, &offer, around));
        known.unwrap_or_else(|| {
            let listed = offer.get(id.as_str()).map(|offered| offered.task);
            let look = listed.map(|task| Look::of_catalog(task, &offer, &around.environment));
            look.filter(Look::can_see)
        })
    };
    let own = look_for(id);
    let mut dependants = in_catalog(catalog, id);
    for plan in past.sessions.iter().filter_map(|session| past.plan(&session.meta.id)) {
        // What was planned to build on it does.
        let built_on_it = plan.tasks.iter().filter(|task| task.depends_on.contains(id));
        dependants.extend(built_on_it.map(|task| (task.id.clone(), true)));
    }
    let others: Vec<Look> = dependants.keys().filter_map(look_for).collect();
    let is_blind = own.is_none();
    let presence = within_runtime(async {
        let mut signals = Signals::listen().map_err(RunError::Runtime)?;
        let look = async {
            let mut seen = look_at(own, Depth::FULL, &around.environment).await;
            let quick = Depth { versions: false, ..Depth::FULL };
            seen.absorb(look_at(others, quick, &around.environment).await);
            seen
        };
        tokio::select! {
            presence = look => Ok(presence),
            _ = signals.next() => Err(RunError::Interrupted),
        }
    })?;
    let looked_for = if is_blind { HashSet::new() } else { HashSet::from([id.clone()]) };
    let drift = Drift::between(&expectations, &presence, &looked_for);
    let planned = expected.as_ref().and_then(|expected| past.plan_behind(id, expected)?.task(id));
    let name = planned.and_then(|task| task.name.clone());
    Ok(Some(Explanation {
        task_id: id.clone(),
        name: name.or_else(|| Some(listed?.name.clone())).unwrap_or_else(|| id.to_string()),
        category: listed
            .map(|task| task.category.clone())
            .or_else(|| planned.and_then(|task| task.category.clone())),
        description: listed.map(|task| task.description.clone()).filter(|text| !text.is_empty()),
        docs_url: listed.and_then(|task| task.docs_url.clone()),
        found: presence.found(id).cloned(),
        doubt: if is_blind {
            Some("nothing says how to look for it".into())
        } else {
            doubt(&presence, id)
        },
        verdict: match verdict(drift, expected.is_some(), presence.is_there(id)) {
            Verdict::Unaccounted if expectations.unfinished.contains(id) => Verdict::Unfinished,
            other => other,
        },
        expected,
        appearances,
        dependants: dependants
            .into_iter()
            .map(|(task_id, needs_it)| {
                let is_there = presence.is_there(&task_id);
                Dependant { task_id, needs_it, is_there }
            })
            .collect(),
        notes: past.notes,
    }))
}

fn doubt(presence: &Presence, id: &TaskId) -> Option<String> {
    let mut doubts = presence.unanswered.iter().chain(&presence.unversioned);
    doubts.find(|(known, _)| known == id).map(|(_, why)| why.clone())
}

fn verdict(mut drift: Drift, is_expected: bool, is_there: bool) -> Verdict {
    if let Some(kept) = drift.still_installed.pop() {
        return Verdict::AsItWas(kept);
    }
    if let Some(changed) = drift.version_changed.pop() {
        return Verdict::Changed(changed);
    }
    if let Some(removed) = drift.removed.pop() {
        return Verdict::Removed(removed);
    }
    if let Some(added) = drift.added_outside.pop() {
        return Verdict::AddedOutside(added);
    }
    match (is_expected, is_there) {
        (true, _) => Verdict::Unknown,
        (false, true) => Verdict::Unaccounted,
        (false, false) => Verdict::NotHere,
    }
}

/// The tasks of the catalog that name it, and whether they cannot do without.
fn in_catalog(catalog: &Catalog, id: &TaskId) -> BTreeMap<TaskId, bool> {
    let names_it = |task: &Task| {
        let needs = &task.dependencies;
        let is_required = needs.required.contains(id);
        // What a manager installs needs the manager, unless it comes in another way.
        let managers = task.packages.keys().filter(|manager| !manager.is_native());
        let mut managers = managers.filter_map(|manager| manager.provider());
        let is_named = is_required
            || needs.one_of.contains(id)
            || needs.optional.contains(id)
            || managers.any(|manager| manager == id.as_str());
        is_named.then(|| (task.id.clone(), is_required))
    };
    catalog.tasks().filter_map(|listed| names_it(&listed.item)).collect()
}

impl Appearance {
    fn of(session_id: SessionId, task: &TaskRecord, updated_at: &Timestamp) -> Self {
        let known = |key: &str| task.result_text(key).map(str::to_owned);
        let moments = [&task.completed_at, &task.failed_at, &task.started_at];
        let at = moments.into_iter().flatten().next().unwrap_or(updated_at).clone();
        let failed = task.commands().iter().rev().find_map(|command| command.error.clone());
        let reason = match task.status {
            TaskStatus::Skipped => task.skipped_reason.clone(),
            TaskStatus::Failed => failed,
            TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Completed => None,
        };
        let ran = task.commands().iter().filter(|command| command.kind.is_none());
        Self {
            session_id,
            status: task.status,
            was_there: task.was_there(),
            at,
            version: known("version"),
            path: known("path"),
            reason,
            commands: ran.cloned().collect(),
        }
    }
}
