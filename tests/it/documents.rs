//! Documents of others: read, listed, and kept as they are when they are taken over.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Home, ID, tree};

const FRESH: &str = include_str!("fixtures/legacy/fresh.json");
const MID_SESSION: &str = include_str!("fixtures/legacy/mid_session.json");

/// Every key and value of `before` is in `after`, but for those that a save must change.
fn assert_kept(before: &Value, after: &Value, path: &str) {
    if ["/meta/updated_at", "/meta/version"].contains(&path) {
        return;
    }
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                let path = format!("{path}/{key}");
                let kept = after.get(key).unwrap_or_else(|| panic!("{path} is gone"));
                assert_kept(value, kept, &path);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len(), "{path}");
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                assert_kept(before, after, &format!("{path}/{at}"));
            }
        }
        _ => assert_eq!(before, after, "{path}"),
    }
}

#[test]
fn both_published_examples_are_listed_and_understood() {
    let home = Home::new().with_document("active", ID, FRESH);
    let list = home.json(&["sessions"]);
    let session = &list["sessions"][0];
    assert_eq!(session["id"], ID);
    assert_eq!(session["status"], "in_progress");
    assert_eq!(session["phase"], "stack_selection");
    assert_eq!(session["profile"], Value::Null);
    assert_eq!(session["created_at"], "2026-02-02T14:30:52Z");
    let status = home.json(&["status"]);
    assert_eq!(status["phase"], "stack_selection");
    assert_eq!(status["progress"]["phases_completed"], 1);
    assert_eq!(status["resume_point"], Value::Null);

    let home = Home::new().with_document("active", ID, MID_SESSION);
    let session = &home.json(&["sessions"])["sessions"][0];
    assert_eq!(session["profile"], "fullstack-web");
    assert_eq!(session["tasks"], json!({"completed": 2, "failed": 1, "skipped": 0, "pending": 1}));
    let status = home.json(&["status", "prov-2026"]);
    assert_eq!(status["status"], "abandoned", "nobody has touched it for a long time");
    assert_eq!(status["failed"][0]["task_id"], "cursor");
    assert_eq!(status["failed"][0]["error_type"], "permission_required");
    assert_eq!(status["resume_point"]["action"], "choose");
    assert_eq!(status["progress"]["tasks_settled"], 2);
}

#[test]
fn reading_a_document_changes_nothing() {
    let home = Home::new().with_document("active", ID, MID_SESSION);
    let before = tree(home.path());
    for arguments in
        [vec!["sessions"], vec!["status"], vec!["history"], vec!["history", "--verify"]]
    {
        assert_eq!(home.run(&arguments).code, Some(0));
    }
    assert_eq!(tree(home.path()), before);
}

#[test]
fn taking_a_document_over_keeps_every_key_and_value() {
    for example in [FRESH, MID_SESSION] {
        let home = Home::new().with_document("active", ID, example);
        let output = home.play([json!({"import": {}})]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let saved = home.document("active", ID);
        assert_kept(&serde_json::from_str(example).unwrap(), &saved, "");
        assert_eq!(saved["meta"]["version"], "1.1.0");
        assert_eq!(saved["meta"]["revision"], 1);
        let original = home.record(ID).join("artifacts/imported.json");
        assert_eq!(fs::read_to_string(original).unwrap(), example);
        assert_eq!(home.run(&["history", "--verify"]).code, Some(0));
    }
}

#[test]
fn unknown_fields_survive_at_every_depth() {
    let mut document: Value = serde_json::from_str(MID_SESSION).unwrap();
    let odd = json!({"list": [1, 2.5, 0.123_456_789_012_345_6, null, {"a": "b"}], "text": "x"});
    for place in [
        "",
        "/meta",
        "/meta/machine",
        "/phase",
        "/phase/history/0",
        "/profile",
        "/choices/editor",
        "/tasks/cursor",
        "/tasks/cursor/commands/0",
        "/tasks/cursor/failure_context",
        "/plan",
        "/plan/categories/0",
        "/resume_point",
    ] {
        document.pointer_mut(place).unwrap()["their_own"] = odd.clone();
    }
    let home = Home::new().with_document("active", ID, document.to_string());
    let output = home.play([
        json!({"import": {}}),
        json!({"event": "error_recorded", "error": "something happened"}),
    ]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_kept(&document, &home.document("active", ID), "");
}

#[test]
fn the_machine_is_described_without_its_own_identifier() {
    let home = Home::new();
    assert_eq!(home.play([json!({"create": {}})]).code, Some(0));
    let machine = &home.document("active", ID)["meta"]["machine"];
    assert!(["arm64", "x86_64"].contains(&machine["arch"].as_str().unwrap()));
    for key in ["hostname", "os_version"] {
        assert!(!machine[key].as_str().unwrap().is_empty(), "{key}");
    }
    if let Ok(id) = fs::read_to_string("/etc/machine-id") {
        let journal = fs::read_to_string(home.journal(ID)).unwrap();
        assert!(id.trim().is_empty() || !journal.contains(id.trim()));
    }
}

/// A document in the first format: three commands, of which the third failed.
fn third_command_failed() -> Value {
    let mut document: Value = serde_json::from_str(MID_SESSION).unwrap();
    let command = |text: &str, status: &str| json!({"command": text, "status": status, "executed_at": "2026-02-02T14:43:05Z"});
    document["tasks"]["cursor"]["commands"] =
        json!([command("one", "success"), command("two", "success"), command("three", "failed")]);
    document["resume_point"]["command_index"] = json!(2);
    document
}

#[test]
fn what_succeeded_before_a_document_was_taken_over_is_not_run_again() {
    let home = Home::new().with_document("active", ID, third_command_failed().to_string());
    let output =
        home.play([json!({"import": {}}), json!({"event": "task_started", "task_id": "cursor"})]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let saved = home.document("active", ID);
    assert_eq!(saved["resume_point"]["task_id"], "cursor");
    assert_eq!(saved["resume_point"]["command_index"], 2);
    let texts: Vec<_> = saved["tasks"]["cursor"]["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command["command"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["one", "two", "three"]);
}

#[test]
fn a_decision_that_was_pending_stays_pending() {
    let mut document: Value = serde_json::from_str(MID_SESSION).unwrap();
    document["tasks"]["homebrew"]["status"] = json!("pending");
    let home = Home::new().with_document("active", ID, document.to_string());
    let started = json!({"event": "task_started", "task_id": "homebrew"});
    let completed = json!({"event": "task_completed", "task_id": "homebrew"});
    assert_eq!(home.play([json!({"import": {}})]).code, Some(0));
    assert_eq!(home.document("active", ID)["resume_point"]["task_id"], "homebrew");
    assert_eq!(home.play([json!({"import": {}}), started, completed]).code, Some(0));
    let saved = home.document("active", ID);
    assert_eq!(saved["resume_point"]["task_id"], "cursor");
    assert_eq!(saved["resume_point"]["action"], "choose");
    assert_eq!(saved["resume_points"].as_array().unwrap().len(), 1);
}

#[test]
fn a_home_with_a_single_document_grows_the_shelves_it_needs() {
    let home = Home::new().with_document("active", ID, FRESH);
    let failed = json!({"event": "session_failed", "error": "no"});
    let output = home.play([json!({"import": {}}), failed]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(home.document_path("failed", ID).exists());
}

#[test]
fn values_that_could_not_be_read_back_are_refused() {
    let deep = |levels: usize| (0..levels).fold(json!(1), |value, _| json!([value]));
    let home = Home::new();
    let given = |levels| json!({"event": "user_data_given", "key": "k", "value": deep(levels)});
    let output = home.play([json!({"create": {}}), given(64), given(65)]);
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("nested more than 64 levels deep"), "{}", output.stderr);
    assert_eq!(home.run(&["history", "--verify"]).code, Some(0));

    let mut document: Value = serde_json::from_str(FRESH).unwrap();
    document["their_own"] = deep(126);
    let home = Home::new().with_document("active", ID, document.to_string());
    assert_eq!(home.play([json!({"import": {}})]).code, Some(1));
    assert_eq!(home.run(&["status"]).code, Some(0), "it is as it was");
}
