//! How long things took before: what earlier sessions of this home know about the tasks they ran.

use std::{collections::HashMap, time::Duration};

use super::{RunError, machine};
use crate::{flow::duration_of, model::TaskId, store::Store};

/// How far back is looked. What took how long two years ago says little about today.
const LOOKED_AT: usize = 20;

pub type Durations = HashMap<TaskId, Duration>;

/// How long each task took when it was last set up here, as far as that is known.
pub fn known_durations(store: &Store) -> Result<Durations, RunError> {
    let mut known = Durations::new();
    let here = machine().machine_id;
    for summary in store.list(Some(LOOKED_AT))?.sessions {
        // One that cannot be read knows nothing, and whoever wants to plan has no use for the reason.
        let Ok(loaded) = store.load(&summary.id) else { continue };
        if loaded.session.meta.machine.machine_id != here {
            continue;
        }
        for (id, task) in &loaded.session.tasks {
            if let Some(took) = duration_of(task) {
                // The newest comes first.
                known.entry(id.clone()).or_insert(took);
            }
        }
    }
    Ok(known)
}
