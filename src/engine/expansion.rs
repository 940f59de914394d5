//! Adding to a session that is complete: what the new one takes over from it, and what it need not
//! do again. The earlier record is read, and never touched.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::{
    RunError, Surroundings, look::look, sessions::check_machine, sessions::within_runtime, shelf,
    signals::Signals,
};
use crate::{
    catalog::Catalog,
    flow::{CUSTOM, STACK_TYPE, TOOLS_ADDED, TOOLS_LEFT_OUT},
    model::{
        Document, EventKind, ExpandedFrom, Session, SessionId, SessionStatus, TaskId, TaskStatus,
    },
    store::Store,
};

/// What a new session takes over from the one that it adds to.
#[derive(Clone, Debug)]
pub struct Inheritance {
    pub(super) from: ExpandedFrom,
    /// What was answered and given, as events of the new session.
    pub(super) copied: Vec<EventKind>,
    /// The stack of a session of another machine: all of it is new here.
    pub profile: Option<String>,
    /// The tasks that are to be set up.
    pub tasks: Vec<TaskId>,
    /// Tasks that were asked for, are there, and came from these sessions.
    pub already: IndexMap<TaskId, SessionId>,
    /// The folders whose catalogs the earlier session was begun with.
    pub catalogs: Vec<String>,
}

impl Inheritance {
    /// The session that is added to.
    pub fn session(&self) -> &SessionId {
        &self.from.session_id
    }

    /// Whether there is anything to set up.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.profile.is_none()
    }
}

/// The session that `expand` means when none is named.
pub fn newest_complete(store: &Store) -> Result<SessionId, RunError> {
    let sessions = store.list(None)?.sessions.into_iter();
    let mut complete = sessions.filter(|s| s.status == SessionStatus::Completed && !s.is_repair);
    complete.next().map(|session| session.id).ok_or(RunError::NothingToExpand)
}

/// The session that is added to, if that can be done.
pub fn expandable(around: &Surroundings, id: &SessionId) -> Result<Session, RunError> {
    let session = around.store.load(id)?.session;
    let status = session.meta.status;
    // One of another machine is not finished here, whatever it is there.
    if status != SessionStatus::Completed && check_machine(&session).is_ok() {
        return Err(RunError::NotExpandable { id: id.clone(), status });
    }
    Ok(session)
}

/// What a session with `tasks` takes over from the one that it adds to. Tasks that came with it, or
/// with one before it, and are still there, are not set up again.
pub fn inheritance(
    around: &Surroundings,
    catalog: &Catalog,
    id: &SessionId,
    tasks: &[TaskId],
) -> Result<Inheritance, RunError> {
    let session = expandable(around, id)?;
    let is_foreign = check_machine(&session).is_err();
    let profile = session.profile.selected.clone().filter(|id| is_foreign && id != CUSTOM);
    let mut wanted: Vec<TaskId> = Vec::new();
    let earlier = if is_foreign { tools_of(&session) } else { Vec::new() };
    for task in earlier.iter().chain(tasks) {
        if !wanted.contains(task) {
            wanted.push(task.clone());
        }
    }
    let known = if is_foreign { IndexMap::new() } else { set_up_by(&around.store, &session) };
    let there = still_there(around, catalog, wanted.iter().filter(|id| known.contains_key(*id)))?;
    let already = known.into_iter().filter(|(task, _)| there.contains(task)).collect();
    wanted.retain(|task| !there.contains(task));
    Ok(Inheritance {
        from: ExpandedFrom {
            session_id: id.clone(),
            tasks_added: wanted.clone(),
            earlier: session.expansion_history.clone(),
        },
        copied: copied(&session, catalog),
        profile,
        tasks: wanted,
        already,
        catalogs: session.profile.catalogs.clone(),
    })
}

/// The single tools that a session was asked for.
fn tools_of(session: &Document) -> Vec<TaskId> {
    let added = session.choices.get(TOOLS_ADDED).map(|choice| choice.value.as_str());
    added.unwrap_or_default().split(' ').filter_map(|name| name.parse().ok()).collect()
}

/// What the sessions of a chain have set up, each by the last that did.
fn set_up_by(store: &Store, newest: &Session) -> IndexMap<TaskId, SessionId> {
    let mut found = IndexMap::new();
    let mut note = |session: &Session| {
        for task in session.tasks.values().filter(|task| task.status == TaskStatus::Completed) {
            let result = task.result.as_ref();
            let was_there = result.is_some_and(|result| result.contains_key("already_installed"));
            if !was_there || !found.contains_key(&task.task_id) {
                found.insert(task.task_id.clone(), session.meta.id.clone());
            }
        }
    };
    for step in &newest.expansion_history {
        // A record that is gone says nothing of its tools; the machine still does.
        if let Ok(loaded) = store.load(&step.session_id) {
            note(&loaded.session);
        }
    }
    note(newest);
    found
}

/// Which of some tasks are on the machine now.
fn still_there<'t>(
    around: &Surroundings,
    catalog: &Catalog,
    tasks: impl Iterator<Item = &'t TaskId>,
) -> Result<HashSet<TaskId>, RunError> {
    let offer = shelf::offer(catalog);
    let tasks: Vec<_> = tasks.filter_map(|id| Some(offer.get(id.as_str())?.task)).collect();
    if tasks.is_empty() {
        return Ok(HashSet::new());
    }
    let facts = within_runtime(async {
        let mut signals = Signals::listen().map_err(RunError::Runtime)?;
        tokio::select! {
            facts = look(&tasks, &offer, &around.environment) => Ok(facts),
            _ = signals.next() => Err(RunError::Interrupted),
        }
    })?;
    Ok(tasks.iter().map(|task| task.id.clone()).filter(|id| facts.is_there(id)).collect())
}

/// What was answered and given, without what was chosen for the earlier session alone, and without
/// anything that is a secret by now.
fn copied(session: &Session, catalog: &Catalog) -> Vec<EventKind> {
    let own = [STACK_TYPE, TOOLS_ADDED, TOOLS_LEFT_OUT];
    let choices = session.choices.iter().filter(|(id, _)| !own.contains(&id.as_str()));
    let answers = choices.map(|(id, choice)| EventKind::AnswerGiven {
        question_id: id.clone(),
        question: choice.question.clone(),
        answer: choice.answer.clone(),
        value: choice.value.clone(),
    });
    let offer = shelf::offer(catalog);
    let is_secret = |key: &str| {
        // Of `task.option` the option is what a task may call secret.
        let name = key.rsplit('.').next().unwrap_or(key);
        let mut requests =
            shelf::profiles(catalog).into_iter().filter_map(|p| p.user_data.get(name));
        offer.is_secret(name) || requests.any(|request| request.secret)
    };
    let data = session.user_data.iter().filter(|(key, _)| !is_secret(key));
    let data = data
        .map(|(key, value)| EventKind::UserDataGiven { key: key.clone(), value: value.clone() });
    answers.chain(data).collect()
}
