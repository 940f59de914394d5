//! The last events of a run, and how it leaves the record.

use std::error::Error;

use super::{RunError, report::report_of_complete, run::Run, shell_blocks};
use crate::{
    flow::{self, Alternative, Rehearsal, doctor::Trouble, gates},
    model::{
        Digest, EventKind, Extra, Outcome, PauseReason, Phase, Session, SessionId, SessionStatus,
        TaskId, TaskStatus,
    },
    store::StoreError,
};

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub session_id: SessionId,
    pub status: SessionStatus,
    /// Why it is paused or failed.
    pub reason: Option<String>,
    /// Where it stands, if it is to be gone on with.
    pub place: Option<String>,
    /// Whether a person has to decide something.
    pub undecided: bool,
    /// The plan that waits for approval.
    pub unapproved: Option<Digest>,
    /// What is wrong with the machine, where it ended for that.
    pub troubles: Vec<Trouble>,
    /// The other way that a person has chosen to what failed.
    pub(super) instead: Option<Alternative>,
}

impl Ended {
    /// Of a session whose plan waits for approval.
    pub(super) fn waiting(session_id: SessionId, why: &str, digest: Digest) -> Self {
        let paused = Self::stopped(session_id, SessionStatus::Paused, why.to_owned());
        Self { unapproved: Some(digest), ..paused }
    }

    /// Of a session that has come to a stop, and why.
    pub(super) fn stopped(session_id: SessionId, status: SessionStatus, why: String) -> Self {
        Self {
            session_id,
            status,
            reason: Some(why),
            place: None,
            undecided: false,
            unapproved: None,
            troubles: Vec::new(),
            instead: None,
        }
    }
}

pub(super) async fn complete(run: &Run<'_>) -> Result<Ended, RunError> {
    run.flush()?;
    if run.session().phase.current == Phase::Execute {
        let gates = gates::execute(&run.session());
        run.queue(EventKind::GatesEvaluated { phase: Phase::Execute, gates });
        run.queue(flow::completed(Phase::Execute));
        run.flush()?;
    }
    run.record_baseline().await;
    run.flush()?;
    // The page says of its session what the record says next.
    let report = keep_report(run, &last_events(run, Ok(REPORT)));
    if let Err(why) = &report {
        run.note(&format!("the report of the session could not be written: {why}"));
    }
    let report = report.as_ref().map(|()| REPORT).map_err(String::as_str);
    for event in last_events(run, report) {
        run.queue(event);
    }
    run.flush()?;
    for note in notes(run).into_iter().chain(shell_blocks::notes(run)) {
        run.note(&note);
    }
    Ok(ended(run, None, false))
}

/// Where the page that tells of a session is, below its record.
const REPORT: &str = "artifacts/report.html";

/// What completes a session. `report` is where its page is, or why it has none.
fn last_events(run: &Run<'_>, report: Result<&str, &str>) -> Vec<EventKind> {
    let session = run.session();
    let mut events = Vec::new();
    let timing = session.phase_timing.get(&Phase::Completion);
    if timing.is_none_or(|timing| timing.completed_at.is_none()) {
        let gates = gates::completion(report);
        events.push(EventKind::GatesEvaluated { phase: Phase::Completion, gates });
        events.push(flow::completed(Phase::Completion));
    }
    let outcome = Outcome {
        summary: summary(&session),
        next_session_notes: None,
        key_decisions: Vec::new(),
        extra: Extra::new(),
    };
    events.push(EventKind::SessionCompleted { outcome: Some(outcome) });
    events
}

/// Keeps the page of a session as `last` will leave it. A session whose page cannot be written is no
/// less complete; one that does not come to its end has the page replaced when it does.
fn keep_report(run: &Run<'_>, last: &[EventKind]) -> Result<(), String> {
    let around = run.around;
    let mut ahead = Rehearsal::going_on(&run.session(), around.clock.now().wall);
    ahead.record(last.iter().cloned()).map_err(|error| error.to_string())?;
    let report =
        report_of_complete(around, ahead.document().clone()).map_err(|error| error.to_string())?;
    let page = (around.reporter)(&report);
    let kept = run.ledger.recorder().keep_report(&around.store, &page);
    kept.map_err(|error| error.to_string())
}

/// What there is to know about what was installed.
fn notes(run: &Run<'_>) -> Vec<String> {
    let is_new = |id: &TaskId| {
        run.session()
            .tasks
            .get(id)
            .is_some_and(|task| task.status == TaskStatus::Completed && !task.was_there())
    };
    let new = run.plan.tasks.iter().filter(|task| is_new(&task.id) && !task.upkeep);
    new.filter_map(|task| Some(format!("{}: {}", task.id, task.notes.as_deref()?))).collect()
}

fn summary(session: &Session) -> String {
    let count = |status| session.tasks.values().filter(|task| task.status == status).count();
    let mut parts = Vec::new();
    for (status, what) in [
        (TaskStatus::Completed, "completed"),
        (TaskStatus::Skipped, "skipped"),
        (TaskStatus::Failed, "failed"),
        (TaskStatus::Pending, "not begun"),
    ] {
        match count(status) {
            0 => {}
            count => parts.push(format!("{count} {what}")),
        }
    }
    format!("tasks: {}", parts.join(", "))
}

pub(super) fn fail(run: &Run<'_>) -> Result<Ended, RunError> {
    run.flush()?;
    let session = run.session();
    let failed = session.tasks.values().filter(|task| task.status == TaskStatus::Failed);
    let names: Vec<_> = failed.map(|task| task.task_id.to_string()).collect();
    drop(session);
    let error = names.join(", ");
    run.queue(EventKind::SessionFailed { error: error.clone() });
    run.flush()?;
    let mut troubles = run.troubles.borrow().clone();
    if run.stop.is_asked() {
        // Whoever wants to stop wants no repair that goes on afterwards.
        for trouble in &mut troubles {
            trouble.repair = None;
        }
    }
    Ok(Ended { troubles, ..ended(run, Some(error), false) })
}

pub(super) fn pause(
    run: &Run<'_>,
    reason: PauseReason,
    context: String,
    undecided: bool,
) -> Result<Ended, RunError> {
    run.flush()?;
    let place = flow::place_of(&run.session());
    let at = Some(paused_at(&context, &place));
    run.queue(EventKind::SessionPaused { reason, context: at });
    run.flush()?;
    Ok(Ended { place: Some(place), ..ended(run, Some(context), undecided) })
}

/// Why a session is paused, and what was being worked on.
pub(super) fn paused_at(why: &str, place: &str) -> String {
    // Some reasons are about the very place.
    if why.contains(place) { why.to_owned() } else { format!("{why} (at {place})") }
}

fn ended(run: &Run<'_>, reason: Option<String>, undecided: bool) -> Ended {
    Ended {
        session_id: run.id(),
        status: run.session().meta.status,
        reason,
        place: None,
        undecided,
        unapproved: None,
        troubles: Vec::new(),
        instead: None,
    }
}

/// Leaves the record in order, as far as that can be done.
pub(super) fn close(run: Run<'_>, ended: Result<Ended, RunError>) -> Result<Ended, RunError> {
    let id = run.id();
    let unrecorded =
        |source: StoreError| RunError::Unrecorded { id: id.clone(), source: Box::new(source) };
    match ended {
        Ok(ended) => {
            // The journal has it all; the document follows when there is room for it.
            let settled = run.ledger.recorder().settle();
            if let Err(error) = settled {
                let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
                run.note(&format!(
                    "the session document could not be brought up to date: {error}{cause}"
                ));
            }
            // Best effort: space that is not given back now is given back by the next run.
            let _ = run.ledger.into_recorder().close();
            Ok(ended)
        }
        Err(error) => {
            if run.talk.is_lent() {
                run.lend_terminal(false);
            }
            // What could not be written may be a matter of space: a pause is short, and room for
            // it was kept.
            if run.session().meta.status == SessionStatus::InProgress {
                let context = Some(error.to_string());
                let kind = EventKind::SessionPaused { reason: PauseReason::SystemError, context };
                run.ledger.forget();
                run.queue(kind);
                let _ = run.flush();
            }
            Err(match error {
                RunError::Store(source) => unrecorded(source),
                other => other,
            })
        }
    }
}
