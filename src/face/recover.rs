//! What is wrong with a record, and what was done about it, for a person.

use std::fmt::Write;

use serde_json::{Value, json};

use super::visible;
use crate::{
    engine::{Prospect, Recovered},
    model::SessionId,
};

/// What would be done, before it is.
pub fn prospect_text(id: &SessionId, prospect: &Prospect) -> String {
    let mut text = match prospect.damage.as_slice() {
        [] => format!("nothing is wrong with the record of session {id}\n"),
        _ => format!("the record of session {id} is damaged\n"),
    };
    for damage in &prospect.damage {
        let path = damage.path.to_string_lossy();
        let _ = writeln!(text, "  {}: {}", visible(&path), visible(&damage.why));
    }
    let _ = writeln!(text, "\nlevel {}: {}", prospect.level, prospect.done);
    let _ = writeln!(text, "         {}", prospect.lost);
    if let Some(better) = prospect.better {
        let _ = writeln!(text, "         Level {better} would save more.");
    }
    if prospect.places.is_empty() {
        return text;
    }
    let _ = writeln!(text, "\nwhat is left of it, command by command:");
    for place in &prospect.places {
        let command = visible(&place.command);
        let _ = writeln!(text, "  {}:{}  {command}", place.task_id, place.command_index);
        let _ = writeln!(text, "      {}", visible(&place.known));
    }
    text
}

/// The same, for programs.
pub fn prospect_json(id: &SessionId, prospect: &Prospect) -> Value {
    let damage = prospect.damage.iter();
    let places = prospect.places.iter();
    json!({
        "session_id": id,
        "damage": damage
            .map(|damage| json!({"path": damage.path.to_string_lossy(), "why": damage.why}))
            .collect::<Vec<_>>(),
        "level": prospect.level,
        "better": prospect.better,
        "done": prospect.done,
        "lost": prospect.lost,
        "places": places
            .map(|place| {
                json!({
                    "task_id": place.task_id,
                    "command_index": place.command_index,
                    "command": place.command,
                    "known": place.known,
                })
            })
            .collect::<Vec<_>>(),
    })
}

/// What was done, and how to go on.
pub fn recovered_text(recovered: &Recovered) -> String {
    let session = &recovered.session;
    let mut text = format!("recovered at level {}\n{}\n", recovered.level, recovered.done);
    let _ = writeln!(text, "{}", recovered.lost);
    for path in &recovered.set_aside {
        let _ = writeln!(text, "set aside: {}", visible(&path.to_string_lossy()));
    }
    let _ = writeln!(text, "the session is {}", session.meta.status.name());
    let _ = writeln!(text, "`provision status {}` says how to go on", session.meta.id);
    text
}
