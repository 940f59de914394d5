//! What was found before a plan was made, on record: whoever plans again goes by the same.

use serde_json::{Map, Value, json};

use super::Presence;
use crate::model::{Document, Phase, Platform};

/// What was found, for whoever plans again from the record.
pub(super) fn outputs(facts: &Presence, platform: &Platform) -> Map<String, Value> {
    let found: Map<String, Value> =
        facts.all().into_iter().map(|(id, found)| (id.to_string(), json!(found))).collect();
    let mut outputs = Map::from_iter([
        ("found".to_owned(), Value::Object(found)),
        ("platform".to_owned(), json!(platform)),
    ]);
    if !facts.unanswered.is_empty() {
        let silent = facts.unanswered.iter().map(|(id, why)| (id.to_string(), json!(why)));
        outputs.insert("not_found_out".into(), Value::Object(silent.collect()));
    }
    outputs
}

/// What was found when a session's plan was made; none where its record does not say.
pub fn recorded_facts(session: &Document) -> Option<(Presence, Platform)> {
    let artifact = session.phase_artifacts.get(&Phase::GatherRequirements)?;
    let mut facts = Presence::default();
    for (id, found) in artifact.outputs.get("found")?.as_object()? {
        facts.add(id.parse().ok()?, serde_json::from_value(found.clone()).ok()?);
    }
    let platform = serde_json::from_value(artifact.outputs.get("platform")?.clone()).ok()?;
    Some((facts, platform))
}
