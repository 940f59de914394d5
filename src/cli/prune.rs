//! `provision prune`

use std::{process::ExitCode, time::Duration};

use serde_json::json;

use super::{
    ask,
    failure::{Failure, Kind},
    output,
    settings::Settings,
};
use crate::{
    engine::{self, Pruning},
    face,
};

pub(super) fn run(
    settings: &Settings,
    older_than: Duration,
    yes: bool,
) -> Result<ExitCode, Failure> {
    let store = settings.store()?;
    let pruning = engine::what_to_prune(&store, &settings.clock, older_than)?;
    if !settings.json {
        output::talk(&face::pruning_text(&pruning));
    }
    if pruning.is_empty() {
        return show(settings, &pruning, Some((0, 0)));
    }
    if !(yes || ask::can_ask(settings) && ask::confirm(settings, "Remove it?")) {
        show(settings, &pruning, None)?;
        let age = humantime::format_duration(older_than).to_string().replace(' ', "");
        let message = "nothing was removed: that is for you to say";
        return Err(Failure::new(Kind::Undecided, message).hint(format!(
            "read what would be removed; then: provision prune --older-than {age} --yes"
        )));
    }
    let removed = engine::prune(&store, &settings.clock, &settings.pen(), &pruning)?;
    show(settings, &pruning, Some(removed))
}

fn show(
    settings: &Settings,
    pruning: &Pruning,
    removed: Option<(u64, usize)>,
) -> Result<ExitCode, Failure> {
    if settings.json {
        let logs: Vec<_> = pruning
            .logs
            .iter()
            .map(|old| json!({"session_id": old.id, "bytes": old.bytes}))
            .collect();
        let records: Vec<_> = pruning.records.iter().map(|old| &old.id).collect();
        let kept: Vec<_> =
            pruning.kept.iter().map(|(id, why)| json!({"session_id": id, "reason": why})).collect();
        let removed = removed.map(|(bytes, records)| json!({"bytes": bytes, "records": records}));
        let document = json!({"logs": logs, "records": records, "kept": kept, "removed": removed});
        output::json_document(&document)?;
    } else if let Some((bytes, records)) = removed.filter(|_| !pruning.is_empty()) {
        let records = face::plural(records, "record");
        output::data(&format!("removed {bytes} bytes of logs and {records}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
