//! Sessions that add to each other: which there are, and which of them brought what.

use indexmap::IndexMap;
use serde::Serialize;

use super::RunError;
use crate::{
    model::{Document, Session, SessionId, SessionStatus, TaskId, TaskStatus, Timestamp},
    store::Store,
};

/// All sessions that go back to the same first one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chain {
    /// Oldest first.
    #[serde(rename = "chain")]
    pub links: Vec<Link>,
    /// Which session brought each tool, the last one that did.
    pub tools: IndexMap<TaskId, SessionId>,
    /// Tools that none of them brought: which session found them there first.
    pub there_before: IndexMap<TaskId, SessionId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    pub session_id: SessionId,
    /// The session that it adds to.
    pub expands: Option<SessionId>,
    pub tasks_added: Vec<TaskId>,
    /// `None` if its record is gone or cannot be read.
    pub status: Option<SessionStatus>,
    pub profile: Option<String>,
    pub created_at: Option<Timestamp>,
}

impl Link {
    fn of(session: &Document) -> Self {
        let step = session.expansion_history.last();
        Self {
            session_id: session.meta.id.clone(),
            expands: step.map(|step| step.session_id.clone()),
            tasks_added: step.map(|step| step.tasks_added.clone()).unwrap_or_default(),
            status: Some(session.meta.status),
            profile: session.profile.selected.clone(),
            created_at: Some(session.meta.created_at.clone()),
        }
    }

    fn gone(session_id: SessionId) -> Self {
        let (expands, tasks_added) = (None, Vec::new());
        Self { session_id, expands, tasks_added, status: None, profile: None, created_at: None }
    }
}

/// The chain that a session belongs to.
pub fn chain(store: &Store, id: &SessionId) -> Result<Chain, RunError> {
    let asked = store.load(id)?.session;
    let first = first_of(&asked);
    let mut links = Vec::new();
    let mut origins = Origins::default();
    let listing = store.list(None)?;
    let family = listing.sessions.into_iter().rev();
    let family = family.filter(|known| known.id == first || known.expands.first() == Some(&first));
    for known in family {
        // One that cannot be read is for `status` to explain.
        let Ok(loaded) = store.load(&known.id) else {
            links.push(Link::gone(known.id));
            continue;
        };
        links.push(Link::of(&loaded.session));
        origins.note(&loaded.session);
    }
    if !links.iter().any(|link| link.session_id == first) {
        links.insert(0, Link::gone(first));
    }
    Ok(Chain { links, tools: origins.brought, there_before: origins.found })
}

fn first_of(session: &Document) -> SessionId {
    let first = session.expansion_history.first().map(|step| &step.session_id);
    first.unwrap_or(&session.meta.id).clone()
}

/// Which sessions brought what, as they are told of from the oldest on.
#[derive(Debug, Default)]
pub(super) struct Origins {
    pub brought: IndexMap<TaskId, SessionId>,
    pub found: IndexMap<TaskId, SessionId>,
}

impl Origins {
    pub(super) fn note(&mut self, session: &Session) {
        let id = &session.meta.id;
        for task in session.tasks.values().filter(|task| task.status == TaskStatus::Completed) {
            if !task.was_there() {
                self.found.shift_remove(&task.task_id);
                self.brought.insert(task.task_id.clone(), id.clone());
            } else if !self.brought.contains_key(&task.task_id) {
                self.found.entry(task.task_id.clone()).or_insert_with(|| id.clone());
            }
        }
    }

    /// The session that a tool is known from.
    pub(super) fn of(&self, task: &TaskId) -> Option<&SessionId> {
        self.brought.get(task).or_else(|| self.found.get(task))
    }
}
