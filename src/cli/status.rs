//! `provision status`

use serde::Serialize;

use super::{failure::Failure, output, settings::Settings};
use crate::{
    engine::{self, Chain, Context},
    face,
    flow::{Expiry, Live, gates::some_of},
    model::SessionId,
};

/// Where a session stands, and what it belongs to.
#[derive(Serialize)]
struct Report<'r> {
    #[serde(flatten)]
    context: &'r Context,
    #[serde(flatten)]
    chain: Option<&'r Chain>,
}

pub(super) fn run(settings: &Settings, session: &str, with_chain: bool) -> Result<(), Failure> {
    let store = settings.store()?;
    let id = store.resolve(session)?;
    // The lock first: who finishes meanwhile is then seen to have finished, not to have stalled.
    let held = store.is_locked(&id)?;
    let loaded = store.load(&id)?;
    let examination = engine::examine(&store, &loaded, &settings.clock)?;
    let live = if held { Live::Running } else { examination.live };
    let seen = (live, examination.expiry);
    let mut context = engine::standing(&store, &loaded.session, &settings.clock, seen)?;
    let chain = with_chain.then(|| engine::chain(&store, &id)).transpose()?;
    for note in &loaded.notes {
        context.notes.push(note.to_string());
        output::warning(&note.to_string());
    }
    if let Some(recovery) = loaded.session.recoveries.last() {
        let (level, at) = (recovery.level, recovery.timestamp.readable());
        let note = format!("recovered at level {level} on {at}: {}", recovery.lost);
        output::warning(&note);
        context.notes.push(note);
    }
    for finding in &examination.findings {
        context.notes.push(finding.to_string());
        output::warning(&finding.to_string());
        if let Some(hint) = &finding.hint {
            output::talk(&format!("hint: {}\n", face::visible(hint)));
        }
    }
    if let Some(note) = examination.expiry.note() {
        output::warning(&note);
        context.notes.push(note);
        if let Expiry::Abandoned { .. } = examination.expiry {
            output::talk(&format!(
                "hint: `provision resume {id}` resumes it, `provision prune` cleans up\n"
            ));
        }
    }
    if session == "latest" && !settings.json {
        let others = engine::unfinished(&store, Some(&id))?;
        if !others.is_empty() {
            let names = some_of(others.iter().map(SessionId::as_str));
            output::note(settings, &format!("other sessions are not finished: {names}"));
        }
    }
    if settings.json {
        output::json_document(&Report { context: &context, chain: chain.as_ref() })
    } else {
        let chain = chain.as_ref().map(face::chain_text).unwrap_or_default();
        output::data(&(face::status_text(&context) + &chain))
    }
}
