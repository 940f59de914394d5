//! How long things took before: what earlier sessions of this home know about the tasks they ran.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use super::{RunError, machine};
use crate::{
    flow::duration_of,
    model::{Session, TaskId},
    store::Store,
};

/// How far back is looked. What took how long two years ago says little about today.
const LOOKED_AT: usize = 20;

pub type Durations = HashMap<TaskId, Duration>;

/// How long each task took when it was last set up here, as far as that is known.
pub fn known_durations(store: &Store) -> Result<Durations, RunError> {
    let mut known = Durations::new();
    for session in sessions_here(store)? {
        for (id, task) in &session.tasks {
            if let Some(took) = duration_of(task) {
                // The newest comes first.
                known.entry(id.clone()).or_insert(took);
            }
        }
    }
    Ok(known)
}

/// How long these tasks took here the last time, as far as that is known: one that was there already
/// took no time. Looks no further back than it must.
pub(super) fn last_durations<'t>(
    store: &Store,
    tasks: impl Iterator<Item = &'t TaskId>,
) -> Result<Durations, RunError> {
    let mut open: HashSet<_> = tasks.collect();
    let mut known = Durations::new();
    let mut sessions = sessions_here(store)?;
    while !open.is_empty()
        && let Some(session) = sessions.next()
    {
        open.retain(|id| {
            let took = session.tasks.get(*id).and_then(|task| {
                duration_of(task).or_else(|| task.was_there().then_some(Duration::ZERO))
            });
            took.is_none_or(|took| {
                known.insert((*id).clone(), took);
                false
            })
        });
    }
    Ok(known)
}

/// The newest sessions of this machine, newest first, each read when it is asked for. One that cannot
/// be read knows nothing, and whoever wants to plan has no use for the reason.
fn sessions_here(store: &Store) -> Result<impl Iterator<Item = Session>, RunError> {
    let here = machine().machine_id;
    let sessions = store.newest_ids(LOOKED_AT)?.into_iter();
    let sessions = sessions.filter_map(|id| Some(store.load(&id).ok()?.session));
    Ok(sessions.filter(move |session| session.meta.machine.machine_id == here))
}
