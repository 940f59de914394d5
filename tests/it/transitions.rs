//! The transitions a session and a task may take, and the explicit flags they leave.

use agentic_provision::{
    model::{
        CommandSkipped, CommandStatus, CommandVerdict, EventKind, Illegal, Phase, ResumeAction,
        Session, SessionStatus, TaskStatus,
    },
    store::{self, Recorder, Store, StoreError},
};

use crate::harness::{created, faulty::FaultyFs, id, long_walk, moment, pen, task};

fn store() -> Store {
    Store::open(FaultyFs::new().fs(), store::Home::new("/home")).unwrap()
}

/// The long walk up to and including event `last`.
fn walked(last: usize) -> Recorder {
    let store = store();
    let mut recorder = store.create(&id(), &pen(), created(), &moment(0)).unwrap().0;
    for (number, kind) in long_walk().into_iter().enumerate().take(last).skip(1) {
        recorder.record(vec![kind], &moment(number as u64 * 1000)).unwrap();
    }
    recorder
}

fn position(of: impl Fn(&EventKind) -> bool) -> usize {
    long_walk().iter().position(of).unwrap() + 1
}

fn refused(recorder: &mut Recorder, kind: EventKind) -> Illegal {
    match recorder.record(vec![kind], &moment(1_000_000)) {
        Err(StoreError::Illegal { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

fn failed_walk() -> Recorder {
    walked(position(|kind| matches!(kind, EventKind::SessionFailed { .. })))
}

#[test]
fn a_walk_to_the_end_sets_its_flags_and_stays_in_the_last_phase() {
    let recorder = walked(long_walk().len());
    let session = recorder.session();
    assert_eq!(session.meta.status, SessionStatus::Completed);
    assert_eq!(session.phase.current, Phase::Completion);
    let visited: Vec<_> = session.phase.history.iter().map(|entry| entry.phase).collect();
    assert_eq!(visited, Phase::ALL);
    let lifecycle = session.lifecycle.as_ref().unwrap();
    assert!(lifecycle.completed && !lifecycle.paused);
    assert_eq!(lifecycle.resume_count, 3);
    assert_eq!(lifecycle.completed_at.as_ref(), Some(&session.meta.updated_at));
    let total = lifecycle.total_duration_seconds.as_ref().unwrap().millis();
    assert_eq!(total, (long_walk().len() as u64 - 1) * 1000);
    let paused = session.phase_timing[&Phase::GatherRequirements].paused_seconds.as_ref();
    assert_eq!(paused.unwrap().millis(), 1000);
    assert_eq!(session.resume_point, None);
    assert_eq!(session.resume_points, []);
}

#[test]
fn a_failed_command_leaves_the_point_to_resume_at() {
    let recorder = failed_walk();
    let session = recorder.session();
    assert_eq!(session.meta.status, SessionStatus::Failed);
    let point = session.resume_point.as_ref().unwrap();
    assert_eq!((point.task_id.as_str(), point.command_index), ("git", 0));
    assert_eq!(point.action, ResumeAction::Choose);
    let git = &session.tasks[&task("git")];
    assert_eq!(git.status, TaskStatus::Failed);
    assert_eq!(git.command(0).unwrap().status, CommandStatus::Failed);
    assert_eq!(git.command(0).unwrap().retry_count, Some(0));
}

#[test]
fn a_retry_updates_the_command_and_counts() {
    let recorder = walked(long_walk().len());
    let git = &recorder.session().tasks[&task("git")];
    let command = git.command(0).unwrap();
    assert_eq!(command.status, CommandStatus::Success);
    assert_eq!((command.attempts, command.retry_count), (Some(2), Some(1)));
    assert_eq!(git.commands().len(), 2);
}

#[test]
fn a_completed_session_takes_no_more_work() {
    let mut recorder = walked(long_walk().len());
    for kind in [
        EventKind::SessionResumed {},
        EventKind::SessionFailed { error: "late".into() },
        EventKind::TaskStarted { task_id: task("jq") },
    ] {
        let illegal = refused(&mut recorder, kind);
        assert!(matches!(illegal, Illegal::Session { status: SessionStatus::Completed, .. }));
    }
}

#[test]
fn only_a_paused_or_failed_session_is_resumed() {
    let mut recorder = walked(3);
    let illegal = refused(&mut recorder, EventKind::SessionResumed {});
    assert_eq!(
        illegal.to_string(),
        "session_resumed cannot happen while the session is in_progress"
    );
    let mut recorder = failed_walk();
    recorder.record(vec![EventKind::SessionResumed {}], &moment(1_000_000)).unwrap();
    assert_eq!(recorder.session().meta.status, SessionStatus::InProgress);
}

#[test]
fn tasks_take_only_the_drawn_transitions() {
    let approved = position(|kind| matches!(kind, EventKind::TaskStarted { .. })) - 1;
    let mut recorder = walked(approved);
    let completed =
        EventKind::TaskCompleted { task_id: task("jq"), result: serde_json::Map::new() };
    let illegal = refused(&mut recorder, completed);
    assert_eq!(illegal.to_string(), "task `jq` cannot go from pending to completed");
    let illegal = refused(&mut recorder, EventKind::TaskStarted { task_id: task("nope") });
    assert_eq!(illegal.to_string(), "the plan has no task `nope`");

    let mut recorder = walked(long_walk().len() - 3);
    let illegal = refused(&mut recorder, EventKind::TaskStarted { task_id: task("jq") });
    assert_eq!(illegal.to_string(), "task `jq` cannot go from completed to in_progress");
    let illegal = refused(&mut recorder, EventKind::TaskStarted { task_id: task("fd") });
    assert_eq!(illegal.to_string(), "task `fd` cannot go from skipped to in_progress");
}

#[test]
fn phases_are_left_in_order_and_only_with_their_work_done() {
    let done = |phase| EventKind::PhaseCompleted {
        phase,
        evidence: serde_json::Map::new(),
        outputs: serde_json::Map::new(),
        commands_executed: Vec::new(),
    };
    let mut recorder = walked(3);
    let illegal = refused(&mut recorder, done(Phase::PresentPlan));
    assert!(matches!(illegal, Illegal::OtherPhase { .. }), "{illegal}");

    let presented = position(|kind| matches!(kind, EventKind::PlanPresented { .. }));
    let illegal = refused(&mut walked(presented), done(Phase::PresentPlan));
    assert_eq!(illegal, Illegal::NotApproved);

    let running = position(|kind| matches!(kind, EventKind::CommandStarted(_)));
    let illegal = refused(&mut walked(running), done(Phase::Execute));
    assert!(matches!(illegal, Illegal::InFlight { .. }), "{illegal}");

    let illegal = refused(&mut walked(running + 4), done(Phase::Execute));
    assert!(matches!(illegal, Illegal::Unsettled { .. }), "{illegal}");
}

#[test]
fn two_attempts_may_be_under_way_but_never_the_same_command_twice() {
    let started = position(|kind| matches!(kind, EventKind::CommandStarted(_)));
    let mut recorder = walked(started);
    let walk = long_walk();
    let first = walk[started - 1].clone();
    let illegal = refused(&mut recorder, first.clone());
    assert!(matches!(illegal, Illegal::InFlight { .. }), "{illegal}");

    let EventKind::CommandStarted(mut other) = first else { panic!() };
    other.task_id = task("git");
    other.task_ids = vec![task("git")];
    let kinds =
        vec![EventKind::TaskStarted { task_id: task("git") }, EventKind::CommandStarted(other)];
    recorder.record(kinds, &moment(1_000_000)).unwrap();
    let open =
        |session: &Session| session.tasks.values().map(|task| task.in_flight.len()).sum::<usize>();
    assert_eq!(open(recorder.session()), 2);
    let points: Vec<_> =
        recorder.session().resume_points.iter().map(|point| point.task_id.as_str()).collect();
    assert_eq!(points, ["jq", "git"]);
}

#[test]
fn a_batch_with_one_illegal_event_is_refused_whole() {
    let started = position(|kind| matches!(kind, EventKind::TaskStarted { .. }));
    let mut recorder = walked(started - 1);
    let before = recorder.session().clone();
    let kinds = vec![
        EventKind::TaskStarted { task_id: task("jq") },
        EventKind::TaskStarted { task_id: task("jq") },
    ];
    let error = recorder.record(kinds, &moment(1_000_000)).unwrap_err();
    assert!(matches!(error, StoreError::Illegal { .. }));
    assert_eq!(recorder.session(), &before);
}

#[test]
fn a_clock_that_is_set_back_reorders_nothing() {
    let mut recorder = walked(5);
    let before = recorder.session().meta.updated_at.clone();
    let kind = EventKind::ErrorRecorded { error: "the clock jumped".into() };
    let events = recorder.record(vec![kind], &moment(1)).unwrap();
    assert_eq!(events[0].timestamp, before);
}

/// A walk whose plan is approved and whose first two tasks have started.
fn two_started() -> Recorder {
    let mut recorder = walked(position(|kind| matches!(kind, EventKind::TaskStarted { .. })));
    let kind = EventKind::TaskStarted { task_id: task("git") };
    recorder.record(vec![kind], &moment(100_000)).unwrap();
    recorder
}

fn start(recorder: &mut Recorder, tasks: &[&str], index: usize) -> u64 {
    let Some(EventKind::CommandStarted(mut started)) =
        long_walk().into_iter().find(|kind| matches!(kind, EventKind::CommandStarted(_)))
    else {
        panic!()
    };
    started.task_id = task(tasks[0]);
    started.task_ids = tasks.iter().map(|name| task(name)).collect();
    started.command_index = index;
    let known = recorder.session().tasks[&started.task_id].command(index);
    started.attempt = known.and_then(|command| command.attempts).unwrap_or(0) + 1;
    let kind = EventKind::CommandStarted(started);
    recorder.record(vec![kind], &moment(100_000)).unwrap()[0].seq
}

fn finish(recorder: &mut Recorder, name: &str, seq: u64, verdict: CommandVerdict) {
    let Some(EventKind::CommandFinished(mut finished)) =
        long_walk().into_iter().find(|kind| matches!(kind, EventKind::CommandFinished(_)))
    else {
        panic!()
    };
    finished.task_id = task(name);
    finished.started_seq = seq;
    finished.status = verdict;
    let kind = EventKind::CommandFinished(finished);
    recorder.record(vec![kind], &moment(100_000)).unwrap();
}

fn point(recorder: &Recorder, name: &str) -> (usize, ResumeAction) {
    let point = recorder.session().resume_point_of(&task(name)).unwrap();
    (point.command_index, point.action)
}

#[test]
fn a_command_under_way_is_where_its_task_resumes() {
    let mut recorder = two_started();
    let first = start(&mut recorder, &["jq"], 0);
    let second = start(&mut recorder, &["jq"], 1);
    finish(&mut recorder, "jq", second, CommandVerdict::Success);
    assert_eq!(point(&recorder, "jq"), (0, ResumeAction::Choose));
    finish(&mut recorder, "jq", first, CommandVerdict::Failure);
    assert_eq!(point(&recorder, "jq"), (0, ResumeAction::Choose));
    let again = start(&mut recorder, &["jq"], 0);
    finish(&mut recorder, "jq", again, CommandVerdict::Success);
    assert_eq!(point(&recorder, "jq"), (2, ResumeAction::Retry));
}

#[test]
fn a_command_that_succeeded_is_not_skipped_afterwards() {
    let mut recorder = two_started();
    let seq = start(&mut recorder, &["jq"], 0);
    finish(&mut recorder, "jq", seq, CommandVerdict::Success);
    let skip = EventKind::CommandSkipped(CommandSkipped {
        task_id: task("jq"),
        command_index: 0,
        command: "install".into(),
        description: None,
        user_choice: None,
        reason: "late".into(),
    });
    let illegal = refused(&mut recorder, skip);
    assert_eq!(illegal.to_string(), "command 0 of task `jq` has already succeeded");
}

#[test]
fn each_task_of_a_batch_counts_its_own_tries() {
    let mut recorder = two_started();
    for _ in 0..2 {
        let seq = start(&mut recorder, &["git"], 0);
        finish(&mut recorder, "git", seq, CommandVerdict::Failure);
    }
    let seq = start(&mut recorder, &["jq", "git"], 0);
    finish(&mut recorder, "jq", seq, CommandVerdict::Success);
    let tries = |name| {
        let command = recorder.session().tasks[&task(name)].command(0).unwrap();
        (command.status, command.attempts, command.retry_count)
    };
    assert_eq!(tries("jq"), (CommandStatus::Success, Some(1), Some(0)));
    assert_eq!(tries("git"), (CommandStatus::Success, Some(3), Some(2)));
}

#[test]
fn going_back_takes_back_what_was_completed() {
    let mut recorder = walked(12);
    assert_eq!(recorder.session().phase.current, Phase::PresentPlan);
    let back = EventKind::PhaseReopened { phase: Phase::StackSelection, reason: "another".into() };
    recorder.record(vec![back], &moment(100_000)).unwrap();
    let session = recorder.session();
    assert_eq!(session.phase.current, Phase::StackSelection);
    let completed: Vec<_> = session.phase.history.iter().map(|entry| entry.phase).collect();
    assert_eq!(completed, [Phase::SessionCheck]);
    assert!(session.phase_artifacts.keys().eq(&[Phase::SessionCheck]));
}
