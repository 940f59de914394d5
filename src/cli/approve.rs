//! `provision approve` and `provision advance`: what a person decides from outside.

use serde_json::json;

use super::{
    failure::{Failure, Kind},
    output,
    settings::Settings,
};
use crate::{
    engine::{self, Approved},
    face,
    model::GateRecord,
};

pub(super) fn approve(settings: &Settings, session: &str, digest: &str) -> Result<(), Failure> {
    let around = settings.surroundings()?;
    let id = around.store.resolve(session)?;
    let approved = engine::approve(&around, &id, digest)?;
    let (digest, word) = match &approved {
        Approved::Now(digest) => (digest, "is approved"),
        Approved::Before(digest) => (digest, "was approved already"),
    };
    if settings.json {
        return output::json_document(
            &json!({"session_id": id, "digest": digest, "approved": true}),
        );
    }
    output::data(&format!("the plan {digest} of {id} {word}\n"))?;
    output::talk(&format!("hint: provision resume {id} runs it\n"));
    Ok(())
}

pub(super) fn advance(
    settings: &Settings,
    session: &str,
    force: bool,
    reason: Option<&str>,
) -> Result<(), Failure> {
    let around = settings.surroundings()?;
    let id = around.store.resolve(session)?;
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    if !force {
        let gates = engine::in_the_way(&around, &id)?;
        if gates.is_empty() && settings.json {
            return output::json_document(&json!({"session_id": id, "in_the_way": []}));
        }
        if gates.is_empty() {
            return output::data(&format!("nothing stands in the way of {id}\n"));
        }
        let message = format!("session {id} cannot leave its phase yet");
        return Err(Failure::new(Kind::Undecided, message)
            .causes(gates.iter().map(face::gate_text))
            .hint(format!("`provision status {id}` shows the next step"))
            .session(id));
    }
    let Some(reason) = reason else {
        return Err(Failure::new(Kind::Usage, "forcing a gate needs a reason")
            .hint(format!("provision advance {id} --force --reason TEXT")));
    };
    let gates = engine::force(&around, &id, reason)?;
    if settings.json {
        let forced: Vec<_> = gates.iter().map(|gate| gate.gate.as_str()).collect();
        return output::json_document(&json!({"session_id": id, "forced": forced}));
    }
    for GateRecord { gate, level, .. } in &gates {
        output::data(&format!("went past {gate} ({}); recorded as a violation\n", level.name()))?;
    }
    output::talk(&format!("hint: `provision status {id}` shows the next step\n"));
    Ok(())
}
