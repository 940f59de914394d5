//! What a walk finds when it begins: the session that whoever comes most likely comes back to.

use super::{Expiry, RunError, Surroundings, examine::liveliness, sessions::check_machine};
use crate::{
    flow::Live,
    model::{Plan, Session, SessionId, SessionStatus, TaskId},
};

/// How many of the newest sessions are looked at: nobody comes back to the others.
const LOOKED_AT: usize = 50;
/// After which nobody is reminded of a session that newer ones have left behind: a week.
const LONG: u64 = 7 * 24 * 60 * 60 * 1000;

/// The session that is offered first.
#[derive(Debug)]
pub struct Found {
    pub session: Session,
    /// Whether another process works on it right now.
    pub is_running: bool,
    pub expiry: Expiry,
    /// How many others are not finished, either.
    pub others: usize,
}

/// The newest session that can be gone on with; where there is none, the newest that failed; else
/// the newest that is complete. One that nobody has touched for long stands behind a newer one.
pub fn newest_of_interest(around: &Surroundings) -> Result<Option<Found>, RunError> {
    let now = around.clock.now().wall;
    let mut found: Vec<Found> = Vec::new();
    for summary in around.store.list(Some(LOOKED_AT))?.sessions {
        let same = |known: &&mut Found| rank(known.session.meta.status) == rank(summary.status);
        if summary.is_repair {
            continue;
        }
        // Each kind once: the newest comes first.
        if let Some(known) = found.iter_mut().find(same) {
            known.others += 1;
            continue;
        }
        // One that cannot be read is for `status` to explain.
        let Ok(loaded) = around.store.load(&summary.id) else { continue };
        if check_machine(&loaded.session).is_err() {
            continue;
        }
        let (live, expiry) = liveliness(&around.store, &loaded.session, &around.clock)?;
        let is_running = live == Live::Running;
        found.push(Found { session: loaded.session, is_running, expiry, others: 0 });
    }
    let newest = found.iter().map(|known| known.session.meta.id.clone()).max();
    found.sort_by_key(|known| {
        let meta = &known.session.meta;
        let is_stale =
            now.millis_since(&meta.updated_at) > LONG && Some(&meta.id) < newest.as_ref();
        (is_stale, rank(meta.status))
    });
    Ok(found.into_iter().next())
}

fn rank(status: SessionStatus) -> u8 {
    match status {
        SessionStatus::InProgress | SessionStatus::Paused => 0,
        SessionStatus::Failed => 1,
        SessionStatus::Completed => 2,
    }
}

/// What there is to say about a session when it is over, or when somebody asks what it did.
#[derive(Debug)]
pub struct Summary {
    pub session: Session,
    /// What it was to do; none where that cannot be read any more.
    pub plan: Option<Plan>,
    /// Where its document is.
    pub document: std::path::PathBuf,
    /// What goes well with what is there, and what it is.
    pub suggestions: Vec<(TaskId, String)>,
}

pub fn summary(around: &Surroundings, id: &SessionId) -> Result<Summary, RunError> {
    let loaded = around.store.load(id)?;
    let session = loaded.session;
    // What it ran is no less true when the plan is gone.
    let plan = around.store.plan_of(&session).ok().flatten();
    let suggestions = suggestions(around, &session).unwrap_or_default();
    Ok(Summary { session, plan, document: loaded.path, suggestions })
}

/// What the session's profile suggests to set up next, as far as it is not there.
fn suggestions(around: &Surroundings, session: &Session) -> Option<Vec<(TaskId, String)>> {
    let selected = session.profile.selected.as_deref()?;
    let layers = around.layers.or_recorded(&session.profile.catalogs);
    let catalog = layers.load(around.store.fs()).ok()?;
    let suggested = &catalog.profile(selected)?.item.post_install_suggestions;
    let tasks = suggested.iter().filter(|id| !session.tasks.contains_key(*id));
    let tasks = tasks.filter_map(|id| catalog.task(id.as_str()));
    let is_there = |task| super::seems_installed(task, &around.environment) == Some(true);
    let tasks = tasks.filter(|listed| !is_there(&listed.item));
    Some(tasks.map(|listed| (listed.item.id.clone(), listed.item.name.clone())).collect())
}
