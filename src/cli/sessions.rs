//! `provision sessions`

use super::{failure::Failure, output, settings::Settings};
use crate::{engine, face, store::Listing};

/// How many sessions are shown without `--all`.
const NEWEST: usize = 50;

pub(super) fn run(settings: &Settings, all: bool) -> Result<(), Failure> {
    let store = settings.store()?;
    let listing = store.list((!all).then_some(NEWEST))?;
    let expiries = engine::expiries(&store, &listing, &settings.clock)?;
    if settings.json {
        output::json_document(&face::sessions_json(&listing, &expiries))?;
    } else {
        output::data(&face::session_table(&listing, &expiries))?;
    }
    complain(&listing)
}

/// Names the sessions that could not be read, after those that could.
pub(super) fn complain(listing: &Listing) -> Result<(), Failure> {
    for session in &listing.unreadable {
        output::warning(&format!("session {} cannot be read: {}", session.id, session.error));
    }
    match listing.unreadable.first() {
        Some(first) => Err(Failure::unreadable(listing.unreadable.len(), &first.error)),
        None => Ok(()),
    }
}
