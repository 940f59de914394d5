//! `provision migrate`

use std::fmt::Write;

use serde_json::json;

use super::{failure::Failure, output, settings::Settings};
use crate::{
    face::visible,
    model::{SessionId, VERSION},
    store::Migrated,
};

pub(super) fn run(settings: &Settings, session: &str) -> Result<(), Failure> {
    let store = settings.store()?;
    let id = store.resolve(session)?;
    match store.migrate(&id, &settings.pen())? {
        Some(migrated) => show(settings, &id, &migrated),
        None if settings.json => {
            output::json_document(&json!({"session_id": id, "to": VERSION, "path": null}))
        }
        None => output::data(&format!("{id} is in the present format, {VERSION}\n")),
    }
}

fn show(settings: &Settings, id: &SessionId, migrated: &Migrated) -> Result<(), Failure> {
    let (original, path) = (migrated.original.to_string_lossy(), migrated.path.to_string_lossy());
    if settings.json {
        let changes: Vec<_> = migrated
            .changes
            .iter()
            .map(|change| json!({"place": change.place, "change": change.change}))
            .collect();
        return output::json_document(&json!({
            "session_id": id,
            "from": migrated.from,
            "to": VERSION,
            "path": path,
            "original": original,
            "changes": changes,
        }));
    }
    let mut text = format!("{id}: from version {} to {VERSION}\n", migrated.from);
    for change in &migrated.changes {
        let _ = writeln!(text, "  {}", visible(&change.to_string()));
    }
    let _ = writeln!(text, "written to {}", visible(&path));
    let _ = writeln!(text, "the original is as it was: {}", visible(&original));
    let _ = writeln!(text, "`provision resume {id}` takes it over in this form");
    output::data(&text)
}
