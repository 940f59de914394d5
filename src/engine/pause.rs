//! Asking a session to pause, whoever runs it.

use std::time::Duration;

use super::{
    RunError,
    clock::{self, Clock},
    ending::paused_at,
};
use crate::{
    flow::place_of,
    model::{EventKind, PauseReason, SessionId, SessionStatus},
    store::{Pen, Request, Store},
};

/// How often whether the request was read is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// What came of asking a session to pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseAnswer {
    /// Whoever runs it has read the request, and pauses when its command is done.
    Asked,
    /// Nobody was running it; it is paused now.
    Paused,
    /// It was paused before.
    WasPaused,
}

/// Pauses a session, whoever runs it.
pub fn ask_to_pause(
    store: &Store,
    clock: &Clock,
    pen: &Pen,
    id: &SessionId,
    reason: Option<String>,
) -> Result<PauseAnswer, RunError> {
    let status = store.load(id)?.session.meta.status;
    match status {
        SessionStatus::Paused => return Ok(PauseAnswer::WasPaused),
        SessionStatus::Completed | SessionStatus::Failed => {
            return Err(RunError::NotResumable { id: id.clone(), status });
        }
        SessionStatus::InProgress => {}
    }
    let letter = store.leave_letter(id, &Request::Pause { reason: reason.clone() })?;
    while store.is_locked(id)? {
        if !letter.is_waiting()? {
            return Ok(PauseAnswer::Asked);
        }
        clock::pause(LOOK);
    }
    if !letter.withdraw()? {
        return Ok(PauseAnswer::Asked);
    }
    let mut recorder = store.open_record(id, pen, &clock.now())?;
    if recorder.session().meta.status != SessionStatus::InProgress {
        return ask_to_pause(store, clock, pen, id, reason);
    }
    let why = reason.unwrap_or_else(|| "paused from another terminal".into());
    let context = Some(paused_at(&why, &place_of(recorder.session())));
    let kind = EventKind::SessionPaused { reason: PauseReason::UserRequest, context };
    recorder.record(vec![kind], &clock.now())?;
    recorder.close()?;
    Ok(PauseAnswer::Paused)
}
