//! `provision status`

use super::{failure::Failure, output, settings::Settings};
use crate::{
    face,
    flow::{Context, Live},
};

pub(super) fn run(settings: &Settings, session: &str) -> Result<(), Failure> {
    let store = settings.store()?;
    let id = store.resolve(session)?;
    // The lock first: who finishes meanwhile is then seen to have finished, not to have stalled.
    let held = store.is_locked(&id)?;
    let loaded = store.load(&id)?;
    for note in &loaded.notes {
        output::warning(&note.to_string());
    }
    let live = if held || store.is_locked(&id)? { Live::Running } else { Live::Nobody };
    let context = Context::of(&loaded.session, live);
    if settings.json {
        output::json_document(&context)
    } else {
        output::data(&face::status_text(&context))
    }
}
