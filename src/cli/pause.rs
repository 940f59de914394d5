//! `provision pause`

use serde_json::json;

use super::{failure::Failure, output, settings::Settings};
use crate::engine::{PauseAnswer, ask_to_pause};

pub(super) fn run(
    settings: &Settings,
    session: &str,
    reason: Option<String>,
) -> Result<(), Failure> {
    let store = settings.store()?;
    let id = store.resolve(session)?;
    let answer = ask_to_pause(&store, &settings.clock, &settings.pen(), &id, reason)?;
    let (name, text) = match answer {
        PauseAnswer::Asked => ("asked", "pauses as soon as its command is done"),
        PauseAnswer::Paused => ("paused", "is paused"),
        PauseAnswer::WasPaused => ("paused", "was paused already"),
    };
    if settings.json {
        return output::json_document(&json!({"session_id": id, "answer": name}));
    }
    output::data(&format!("{id} {text}\n"))
}
