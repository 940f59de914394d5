//! Adding to a session that is complete: what the new one takes over from it, and what it need not
//! do again. The earlier record is read, and never touched.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::{
    RunError, Surroundings, chain::Origins, look::look, sessions::check_machine,
    sessions::within_runtime, shelf, signals::Signals,
};
use crate::{
    catalog::Catalog,
    flow::{CUSTOM, STACK_TYPE, TOOLS_ADDED, TOOLS_LEFT_OUT, tools_named},
    model::{EventKind, ExpandedFrom, Session, SessionId, SessionStatus, TaskId},
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
    let earlier = if is_foreign { tools_named(&session, TOOLS_ADDED) } else { Vec::new() };
    for task in earlier.iter().chain(tasks) {
        if !wanted.contains(task) {
            wanted.push(task.clone());
        }
    }
    let mut origins = Origins::default();
    if !is_foreign {
        for step in &session.expansion_history {
            // A record that is gone says nothing of its tools; the machine still does.
            if let Ok(loaded) = around.store.load(&step.session_id) {
                origins.note(&loaded.session);
            }
        }
        origins.note(&session);
    }
    let known = wanted.iter().filter(|task| origins.of(task).is_some());
    let there = still_there(around, catalog, known)?;
    let already = wanted.iter().filter(|task| there.contains(*task));
    let already = already.filter_map(|task| Some((task.clone(), origins.of(task)?.clone())));
    let already = already.collect();
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
    })
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
