//! What a run tells whoever watches: plain data, in the order in which it became true.

use std::{
    collections::HashSet,
    io,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
};

use super::{Context, Decision, Ended, Matter};
use crate::model::{Event, Plan, TaskId};

#[derive(Debug)]
pub enum Told<'a> {
    /// Durable before it is told.
    Event(&'a Event),
    /// Which of the plan's tasks are settled as the run begins, and what it is about to do.
    Begins { settled: &'a HashSet<TaskId>, plan: &'a Plan },
    /// A session is gone on with that stands so.
    Resumes(&'a Context),
    /// A command is there again that an earlier run began.
    TakenUp { task_id: &'a TaskId, command: &'a str },
    /// A task that has begun cannot go on before this is free, and leaves its turn to others.
    Waits { task_id: &'a TaskId, what: &'a str },
    /// What a command wrote, without secrets. `skipped` bytes before it were not kept.
    Output { task_id: &'a TaskId, skipped: u64, bytes: &'a [u8] },
    /// Time has passed, and that is all.
    Tick,
    /// A command is about to get the terminal, or has given it back.
    TerminalLent(bool),
    /// The plan that was shown.
    Plan(&'a Plan),
    /// A session that mended something for another is over.
    Repaired(&'a Ended),
    /// Something to know.
    Note(&'a str),
}

/// A person before a terminal. What is asked may be answered, or not: they may rather stop, and the flag
/// may say that it is no longer wanted.
pub trait Person: Send + Sync {
    /// Something nobody else may read.
    fn secret(&self, question: &str, cancelled: &AtomicBool) -> io::Result<Option<String>>;

    fn decide(&self, matter: &Matter, cancelled: &AtomicBool) -> io::Result<Decision>;
}

/// A person who can be asked in between. Asking takes as long as it takes: it is done beside the
/// run, never in its way. What they gave as the password for sudo is known to all runs of one
/// process, and to nobody else.
#[derive(Clone)]
pub struct Asker {
    person: Arc<dyn Person>,
    password: Arc<Mutex<Option<String>>>,
}

impl Asker {
    pub fn new(person: impl Person + 'static) -> Self {
        Self { person: Arc::new(person), password: Arc::default() }
    }

    pub(super) fn ask_secret(
        &self,
        question: &str,
        cancelled: &AtomicBool,
    ) -> io::Result<Option<String>> {
        self.person.secret(question, cancelled)
    }

    pub(super) fn decide(&self, matter: &Matter, cancelled: &AtomicBool) -> io::Result<Decision> {
        self.person.decide(matter, cancelled)
    }

    pub(super) fn password(&self) -> Option<String> {
        self.password.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn remember(&self, password: String) {
        *self.password.lock().unwrap_or_else(PoisonError::into_inner) = Some(password);
    }
}

impl std::fmt::Debug for Asker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Asker")
    }
}

/// Whoever watches a run.
pub type Watcher<'a> = dyn FnMut(Told<'_>) + 'a;
