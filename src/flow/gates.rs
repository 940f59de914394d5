//! The gates between phases: what must hold before a phase is left, and what should. Each
//! evaluation says what it went by.

use crate::model::{
    DeferredVerification, Digest, Document, EventKind, Extra, GateLevel, GateRecord, GateStatus,
    Phase, SessionId, Severity, TaskStatus,
};

pub const STORE_WRITABLE: &str = "store_writable";
pub const NO_OTHER_RUNNER: &str = "no_other_runner";
pub const EARLIER_SESSIONS: &str = "earlier_sessions_dealt_with";
pub const PROFILE_VALID: &str = "profile_valid";
pub const QUESTIONS_ANSWERED: &str = "questions_answered";
pub const CONFLICTS_RESOLVED: &str = "conflicts_resolved";
pub const PLAN_APPROVED: &str = "plan_approved";
pub const COMMANDS_UNCHANGED: &str = "commands_unchanged";
pub const TASKS_SETTLED: &str = "tasks_settled";
pub const VERIFICATIONS_PASSED: &str = "verifications_passed";
pub const SUMMARY_SHOWN: &str = "summary_shown";
pub const REPORT_WRITTEN: &str = "report_written";

/// Gates that nobody can force: going past them would run what was not approved, or call done what
/// is not.
const UNFORCEABLE: [&str; 3] = [PLAN_APPROVED, COMMANDS_UNCHANGED, TASKS_SETTLED];

fn gate(name: &str, level: GateLevel, status: GateStatus, evidence: String) -> GateRecord {
    GateRecord {
        gate: name.into(),
        level,
        status,
        evidence: Some(evidence),
        evaluated_at: None,
        extra: Extra::new(),
    }
}

/// A gate that must hold, and does or does not.
fn must(name: &str, holds: bool, evidence: impl Into<String>) -> GateRecord {
    let status = if holds { GateStatus::Passed } else { GateStatus::Failed };
    gate(name, GateLevel::Must, status, evidence.into())
}

/// A gate that should hold.
fn should(name: &str, holds: bool, evidence: impl Into<String>) -> GateRecord {
    GateRecord { level: GateLevel::Should, ..must(name, holds, evidence) }
}

/// Whoever evaluates this holds the lock of the home's runner, and has written to the store.
pub fn session_check(unfinished: &[SessionId]) -> Vec<GateRecord> {
    let evidence = match unfinished {
        [] => "there are none".into(),
        unfinished => format!("unfinished: {}", some_of(unfinished.iter().map(SessionId::as_str))),
    };
    vec![
        must(STORE_WRITABLE, true, "its lock is held and its first event recorded"),
        must(NO_OTHER_RUNNER, true, "the lock of the home's one runner is held"),
        should(EARLIER_SESSIONS, unfinished.is_empty(), evidence),
    ]
}

pub fn stack_selection(evidence: impl Into<String>) -> Vec<GateRecord> {
    vec![must(PROFILE_VALID, true, evidence)]
}

/// `open` are things that are asked and not answered, `conflicts` those that nobody has decided.
pub fn gather_requirements(asked: usize, open: &[String], conflicts: &[String]) -> Vec<GateRecord> {
    let answered = match open {
        [] if asked == 0 => "nothing is asked".into(),
        [] => format!("all {asked} are answered"),
        open => format!("not answered: {}", open.join(", ")),
    };
    let resolved = match conflicts {
        [] => "there is none that is not decided".into(),
        conflicts => conflicts.join("; "),
    };
    vec![
        must(QUESTIONS_ANSWERED, open.is_empty(), answered),
        must(CONFLICTS_RESOLVED, conflicts.is_empty(), resolved),
    ]
}

/// `approved` is the digest that was approved, if one was; `found` that of the plan as it is.
pub fn present_plan(approved: Option<&Digest>, found: &Digest) -> Vec<GateRecord> {
    let approval = match approved {
        Some(approved) => must(PLAN_APPROVED, true, approved.as_str()),
        None => gate(
            PLAN_APPROVED,
            GateLevel::Must,
            GateStatus::Pending,
            format!("the plan {found} waits for approval"),
        ),
    };
    let unchanged = approved.is_none_or(|approved| approved == found);
    let evidence = if unchanged {
        "the plan that is kept is the one that is executed".to_owned()
    } else {
        format!("the plan is now {found}")
    };
    vec![approval, must(COMMANDS_UNCHANGED, unchanged, evidence)]
}

pub fn execute(session: &Document) -> Vec<GateRecord> {
    let tasks = session.tasks.values();
    let open = tasks.filter(|task| !task.status.is_settled());
    let open: Vec<_> = open.map(|task| (task.task_id.as_str(), task.status)).collect();
    let settled = match open.len() {
        0 => format!("all {} are completed or skipped", session.tasks.len()),
        _ => format!("not yet: {}", some_of(open.iter().map(|(id, _)| *id))),
    };
    let mut tasks_settled = must(TASKS_SETTLED, open.is_empty(), settled);
    if !open.is_empty() && open.iter().all(|(_, status)| *status != TaskStatus::Failed) {
        // Nothing has gone wrong: it is not over yet.
        tasks_settled.status = GateStatus::Pending;
    }
    let deferred = session.deferred_verifications.iter().filter(|deferred| !deferred.resolved);
    let overridden = |id: &str| session.user_overrides.iter().any(|o| o.task_id.as_str() == id);
    let open: Vec<_> = deferred.filter(|known| !overridden(known.task_id.as_str())).collect();
    let (failed, waiting): (Vec<_>, Vec<_>) = open.iter().partition(|known| known.error.is_some());
    let named = |what: &str, some: &[&&DeferredVerification]| {
        let names: Vec<_> = some.iter().map(|known| known.task_id.as_str()).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", some_of(names.iter().copied())))
    };
    let verified: Vec<_> =
        named("failed", &failed).into_iter().chain(named("deferred", &waiting)).collect();
    let verified = match verified.len() {
        0 => "none failed, and none is deferred".to_owned(),
        _ => verified.join("; "),
    };
    vec![tasks_settled, should(VERIFICATIONS_PASSED, open.is_empty(), verified)]
}

/// The first few of some names, and how many there are besides.
pub fn some_of<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    const SOME: usize = 5;
    let more = names.len().saturating_sub(SOME);
    let some: Vec<_> = names.take(SOME).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    some.join(", ") + &rest
}

/// `report` is where the page is that tells of the session, below its record, or why there is none.
pub fn completion(report: Result<&str, &str>) -> Vec<GateRecord> {
    let summary = "it is part of the record, and the last thing a run says";
    let written = match report {
        Ok(place) => should(REPORT_WRITTEN, true, place),
        Err(why) => should(REPORT_WRITTEN, false, why),
    };
    vec![should(SUMMARY_SHOWN, true, summary), written]
}

/// What keeps a session from leaving the phase it is in, the blocking ones first.
pub fn standing_in_the_way(session: &Document) -> Vec<GateRecord> {
    let gates = of_phase(session).into_iter();
    let open = |gate: &GateRecord| matches!(gate.status, GateStatus::Failed | GateStatus::Pending);
    let (must, should): (Vec<_>, Vec<_>) =
        gates.filter(open).partition(|gate| gate.level == GateLevel::Must);
    must.into_iter().chain(should).collect()
}

/// The gates of the phase a session is in. Those of the execution follow from its tasks, also
/// before anyone has evaluated them.
fn of_phase(session: &Document) -> Vec<GateRecord> {
    let recorded = session.gates.get(&session.phase.current).cloned();
    match session.phase.current {
        Phase::Execute => recorded.unwrap_or_else(|| execute(session)),
        _ => recorded.unwrap_or_default(),
    }
}

/// Why a session cannot be forced on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotForced {
    #[error("nothing stands in the way of session {0}")]
    NothingInTheWay(SessionId),
    #[error("gate `{gate}` of phase {phase} cannot be forced: {evidence}")]
    Unforceable { gate: String, phase: Phase, evidence: String },
}

/// The events by which a person goes past the gates of the phase a session is in.
pub fn force(session: &Document, reason: &str) -> Result<Vec<EventKind>, NotForced> {
    let phase = session.phase.current;
    let in_the_way = standing_in_the_way(session);
    if in_the_way.is_empty() {
        return Err(NotForced::NothingInTheWay(session.meta.id.clone()));
    }
    if let Some(gate) = in_the_way.iter().find(|gate| UNFORCEABLE.contains(&gate.gate.as_str())) {
        return Err(NotForced::Unforceable {
            gate: gate.gate.clone(),
            phase,
            evidence: gate.evidence.clone().unwrap_or_default(),
        });
    }
    let mut events = Vec::new();
    let mut gates = of_phase(session);
    for gate in
        gates.iter_mut().filter(|gate| in_the_way.iter().any(|other| other.gate == gate.gate))
    {
        gate.status = GateStatus::Forced;
        gate.evaluated_at = None;
        let evidence = gate.evidence.as_deref().unwrap_or("it does not hold");
        events.push(EventKind::ViolationRecorded {
            phase,
            requirement: format!("{}: {evidence}", gate.gate),
            severity: match gate.level {
                GateLevel::Must => Severity::Critical,
                GateLevel::Should => Severity::Warning,
            },
            recovery: Some(reason.to_owned()),
        });
    }
    events.push(EventKind::GatesEvaluated { phase, gates });
    Ok(events)
}
