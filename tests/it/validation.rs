//! Documents that parse and cannot be true: each field has its message, and there is a way on. What
//! is an error in a document of the present format is a note in one of an earlier.

use std::fs;

use serde_json::{Value, json};

use crate::{
    bad_input::query,
    harness::{Home, ID, Output, tree},
};

const LEGACY: &str = include_str!("fixtures/legacy/action_retry_or_skip.json");

/// A document of the present format that no journal vouches for, with something changed.
fn foreign(change: impl FnOnce(&mut Value)) -> Home {
    document("1.1.0", change)
}

/// A document of the first format, with something changed.
fn legacy(change: impl FnOnce(&mut Value)) -> Home {
    document("1.0.0", change)
}

fn document(version: &str, change: impl FnOnce(&mut Value)) -> Home {
    let mut document: Value = serde_json::from_str(LEGACY).unwrap();
    document["resume_point"]["action"] = json!("choose");
    document["meta"]["version"] = json!(version);
    // Of this machine, as far as anyone can say.
    document["meta"]["machine"]["hostname"] = json!("unknown");
    document["meta"]["status"] = json!("failed");
    change(&mut document);
    Home::new().with_document("failed", ID, document.to_string()).damaged()
}

/// The same document with a plan beside it.
fn with_plan(home: Home, tasks: &Value) -> Home {
    let artifacts = home.record(ID).join("artifacts");
    fs::create_dir_all(&artifacts).unwrap();
    for directory in [home.path().join("records"), home.record(ID), artifacts.clone()] {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let plan = json!({"format": "plan-v1", "tasks": tasks});
    fs::write(artifacts.join("plan.json"), plan.to_string()).unwrap();
    home
}

/// What is said when someone wants to go on with it, and that nothing is touched by it.
fn resume(home: &Home) -> String {
    let before = fs::read(home.document_path("failed", ID)).unwrap();
    let said = query(home, &["resume", ID, "--yes"]);
    assert_eq!(fs::read(home.document_path("failed", ID)).unwrap(), before);
    assert!(!home.journal(ID).exists());
    said
}

#[test]
fn a_document_that_is_right_has_no_findings() {
    let output = foreign(|_| {}).run(&["status", ID]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_document_from_another_machine() {
    let other = |document: &mut Value| {
        document["meta"]["machine"]["hostname"] = json!("elsewhere");
        document["meta"]["machine"]["machine_id"] = json!("0123456789abcdef0123456789abcdef");
    };
    insta::assert_snapshot!(resume(&foreign(other)), @r"
    exit 2
    --- stdout
    --- stderr
    error: session prov-20260202-143052-a7b3 belongs to another machine (elsewhere)
    hint: `provision expand prov-20260202-143052-a7b3` sets up the same here
    ");
    insta::assert_snapshot!(resume(&legacy(other)), @r"
    exit 2
    --- stdout
    --- stderr
    error: session prov-20260202-143052-a7b3 belongs to another machine (elsewhere)
    hint: `provision expand prov-20260202-143052-a7b3` sets up the same here
    ");
    let output = legacy(other).run(&["status", ID]);
    let expected = "meta.machine: this is the session of another machine (`elsewhere`)";
    assert!(output.stderr.contains(expected), "{}", output.stderr);
}

#[test]
fn a_document_from_the_future() {
    let future = |document: &mut Value| {
        document["meta"]["updated_at"] = json!("2999-01-01T00:00:00Z");
    };
    for home in [legacy(future), foreign(future)] {
        let mut command = home.command(&["status", ID]);
        command.env("AGENTIC_PROVISION_CLOCK", "2026-02-03T00:00:00Z");
        let output = Output::of(&mut command);
        assert_eq!(output.code, Some(0));
        let last = output.stderr.lines().last().unwrap().to_owned();
        let expected = "warning: this machine's clock is 355348 days behind the session's last \
                        change: nothing expires by it";
        assert_eq!(last, expected);
    }
}

#[test]
fn a_duration_below_zero() {
    let negative = |document: &mut Value| {
        document["tasks"]["git"]["commands"][0]["duration_ms"] = json!(-1500);
    };
    insta::assert_snapshot!(resume(&foreign(negative)), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 is damaged
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: tasks.git.commands[0].duration_ms: invalid value: integer `-1500`, expected a whole number, 0 or more
    hint: nothing was changed; `provision recover prov-20260202-143052-a7b3` says what can be saved
    ");
    let output = legacy(negative).run(&["migrate", ID]);
    let expected = "tasks.git.commands[0].duration_ms: -1500 is negative; left out";
    assert!(output.stdout.contains(expected), "{}", output.stdout);
    let negative = |document: &mut Value| {
        document["phase_timing"] = json!({"execute": {
            "started_at": "2026-02-02T14:39:10Z", "duration_seconds": -3
        }});
    };
    insta::assert_snapshot!(resume(&foreign(negative)), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 says what cannot be
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: phase_timing.execute.duration_seconds: a length of time cannot be negative
    hint: nothing was changed; correct the file, then try again
    ");
}

#[test]
fn a_phase_that_does_not_exist() {
    let warp = |document: &mut Value| document["phase"]["current"] = json!("warp");
    insta::assert_snapshot!(resume(&foreign(warp)), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 is damaged
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: phase.current: unknown word `warp`, expected one of `session_check`, `stack_selection`, `gather_requirements`, `present_plan`, `execute`, `completion`
    hint: nothing was changed; `provision recover prov-20260202-143052-a7b3` says what can be saved
    ");
    insta::assert_snapshot!(query(&legacy(warp), &["status", ID]), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 is damaged
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: phase.current: unknown word `warp`, expected one of `session_check`, `stack_selection`, `gather_requirements`, `present_plan`, `execute`, `completion`
    hint: nothing was changed; `provision recover prov-20260202-143052-a7b3` says what can be saved
    ");
}

#[test]
fn a_task_that_no_plan_knows() {
    let plan = json!([{"id": "git", "commands": [{"command": "apt-get install -y git"}]}]);
    insta::assert_snapshot!(resume(&with_plan(foreign(|_| {}), &plan)), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 says what cannot be
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: tasks.python: the plan has no such task
    hint: nothing was changed; correct the file, then try again
    ");
}

#[test]
fn a_completed_task_without_attempts() {
    let bare = |document: &mut Value| {
        document["tasks"]["git"].as_object_mut().unwrap().shift_remove("commands");
    };
    insta::assert_snapshot!(resume(&foreign(bare)), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 says what cannot be
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: tasks.git.status: completed, and no command of it was recorded
    hint: look whether it is there; a new session of its plan runs it again
    hint: nothing was changed; correct the file, then try again
    ");
    let few = |document: &mut Value| document["tasks"]["git"]["planned_commands"] = json!(2);
    insta::assert_snapshot!(resume(&foreign(few)), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 says what cannot be
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: tasks.git.status: completed, and command 1 of 2 was not
    hint: look whether it is there; a new session of its plan runs it again
    hint: nothing was changed; correct the file, then try again
    ");
}

#[test]
fn a_resume_point_that_is_nowhere() {
    let nowhere = |document: &mut Value| document["resume_point"]["task_id"] = json!("emacs");
    insta::assert_snapshot!(resume(&foreign(nowhere)), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 says what cannot be
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: resume_point.task_id: the session has no task `emacs`
    hint: `provision recover prov-20260202-143052-a7b3 --level 3 --resume-at TASK[:N]` sets another
    hint: nothing was changed; correct the file, then try again
    ");
    let beyond = |document: &mut Value| {
        document["tasks"]["python"]["planned_commands"] = json!(1);
        document["resume_point"]["command_index"] = json!(7);
    };
    insta::assert_snapshot!(resume(&foreign(beyond)), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 says what cannot be
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: resume_point.command_index: 7, and `python` has 1 command
    hint: `provision recover prov-20260202-143052-a7b3 --level 3 --resume-at TASK[:N]` sets another
    hint: nothing was changed; correct the file, then try again
    ");
}

#[test]
fn a_task_whose_needs_were_not_met() {
    let plan = json!([
        {"id": "python", "commands": [{"command": "apt-get install -y python3"}]},
        {"id": "git", "depends_on": ["python"], "commands": [{"command": "apt-get install -y git"}]},
    ]);
    insta::assert_snapshot!(resume(&with_plan(foreign(|_| {}), &plan)), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 says what cannot be
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: tasks.git.status: completed, though `python`, which it needs, is failed
    hint: nothing was changed; correct the file, then try again
    ");
}

#[test]
fn phases_and_times_out_of_order() {
    let disorder = |document: &mut Value| {
        document["phase"]["history"].as_array_mut().unwrap().swap(0, 1);
        document["phase"]["history"].as_array_mut().unwrap().pop();
        document["meta"]["updated_at"] = json!("2026-01-01T00:00:00Z");
        document["tasks"]["git"]["completed_at"] = json!("2026-02-02T14:00:00Z");
        document["plan"] = json!({});
        document["meta"]["status"] = json!("paused");
    };
    insta::assert_snapshot!(resume(&foreign(disorder)), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 says what cannot be
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: meta.updated_at: 2026-01-01T00:00:00Z is before `created_at`, 2026-02-02T14:30:52Z
      cause: phase.history[1]: stack_selection cannot come behind gather_requirements
      cause: phase.history[1].completed_at: 2026-02-02T14:31:15Z is before `completed_at of the one before`, 2026-02-02T14:38:42Z
      cause: phase.current: execute comes after present_plan, which was not completed
      cause: plan.approved_at: missing, and the session is in execute
      cause: tasks.git.completed_at: 2026-02-02T14:00:00Z is before `started_at`, 2026-02-02T14:40:01Z
    hint: nothing was changed; correct the file, then try again
    ");
}

#[test]
fn files_that_are_not_there() {
    let lost = |document: &mut Value| {
        document["tasks"]["git"]["commands"][0]["log"] = json!("attempts/9");
        document["profile"]["manifest_path"] = json!("/nowhere/profile.yaml");
        document["plan"]["digest"] = json!("0".repeat(64));
    };
    insta::assert_snapshot!(resume(&foreign(lost)), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 says what cannot be
      cause: the file is `[HOME]/sessions/failed/prov-20260202-143052-a7b3.json`
      cause: plan.digest: `[HOME]/records/prov-20260202-143052-a7b3/artifacts/plan.json` is not there
      cause: tasks.git.commands[0].log: `[HOME]/records/prov-20260202-143052-a7b3/attempts/9` is not there
      cause: profile.manifest_path: `/nowhere/profile.yaml` is not there
    hint: `provision resume prov-20260202-143052-a7b3 --plan FILE` takes it from elsewhere
    hint: what the command wrote is gone; how it ended is recorded
    hint: nothing was changed; correct the file, then try again
    ");
}

#[test]
fn a_path_that_cannot_be_looked_for_is_no_failure() {
    let odd = |document: &mut Value| {
        document["tasks"]["git"]["commands"][0]["log"] = json!("attempts/\0");
        document["profile"]["manifest_path"] = json!(format!("/{}", "x".repeat(300)));
    };
    let output = legacy(odd).run(&["status", ID]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.stderr.matches("cannot be looked for").count(), 2, "{}", output.stderr);
}

#[test]
fn a_seal_that_does_not_fit_goes_with_the_document_that_had_it() {
    let migrated = {
        let home = legacy(|_| {});
        let told = home.json(&["migrate", ID]);
        fs::read_to_string(told["path"].as_str().unwrap()).unwrap()
    };
    let corrected = migrated.replace("\"chip\": \"Ryzen\"", "\"chip\": \"Epyc\"");
    assert_ne!(corrected, migrated);
    let home = Home::new().with_document("failed", ID, corrected);
    let plan = home.plan(&json!([
        {"id": "git", "commands": [{"command": "true"}]},
        {"id": "python", "commands": [{"command": "exit 1"}]},
    ]));
    let first = home.run(&["resume", ID, "--plan", plan.to_str().unwrap(), "--yes"]);
    assert_eq!(first.code, Some(3), "{}", first.stderr);
    let again = home.run(&["resume", ID]);
    assert_eq!(again.code, Some(3), "{}", again.stderr);
    assert_eq!(home.run(&["history", ID, "--verify"]).code, Some(0));
}

#[test]
fn what_is_an_error_now_was_a_note_once() {
    for change in [
        (|document| document["resume_point"]["task_id"] = json!("emacs")) as fn(&mut Value),
        |document| document["tasks"]["git"]["completed_at"] = json!("2026-02-02T14:00:00Z"),
        |document| document["plan"] = json!({}),
        |document| document["meta"]["updated_at"] = json!("2026-01-01T00:00:00Z"),
    ] {
        let home = legacy(change);
        let before = tree(home.path());
        let output = home.run(&["status", ID]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert!(output.stderr.contains("limited resumption context"), "{}", output.stderr);
        assert_eq!(output.stderr.matches("warning: ").count(), 2, "{}", output.stderr);
        assert_eq!(tree(home.path()), before);
        // It can be gone on with all the same.
        let plan = home.plan(&json!([
            {"id": "git", "commands": [{"command": "true"}]},
            {"id": "python", "commands": [{"command": "echo python > python"}]},
        ]));
        let output = home.run(&["resume", ID, "--plan", plan.to_str().unwrap(), "--yes"]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert_eq!(fs::read_to_string(home.path().join("python")).unwrap(), "python\n");
        assert_eq!(home.events(ID)[0]["event"], "session_imported");
        assert_eq!(home.run(&["history", ID, "--verify"]).code, Some(0));
    }
}
