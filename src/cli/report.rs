//! `provision report`

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    audit::{STDOUT, write_page},
    failure::Failure,
    output,
    settings::Settings,
};
use crate::{engine, face};

pub(super) fn run(settings: &Settings, session: &str, to: Option<&Path>) -> Result<(), Failure> {
    let store = settings.store()?;
    let id = store.resolve(session)?;
    let report = engine::report(&store, &settings.clock, &id)?;
    let page = face::report_html(&report);
    let path = to.map_or_else(|| PathBuf::from(format!("report-{id}.html")), Path::to_owned);
    if !settings.json || path == Path::new(STDOUT) {
        return write_page(settings, "the report", &path, &page);
    }
    output::file("the report", &path, page.as_bytes())?;
    let path = std::path::absolute(&path).unwrap_or(path);
    output::json_document(&json!({
        "session_id": id, "path": path.to_string_lossy(), "bytes": page.len(),
    }))
}
