//! What is old and needed no more is removed when someone says so; what is referred to stays.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{
    Home, ID,
    faketime::{at, faketime},
    tree, walk_script,
};

const INSTALLED: &str = "echo installed";

fn prune(home: &Home, more: &[&str]) -> Value {
    home.json(&[&["prune", "--older-than", "0s"], more].concat())
}

#[test]
fn logs_go_and_the_record_of_what_was_installed_stays() {
    let home = Home::new();
    let tasks = json!([{"id": "git", "commands": [{"command": INSTALLED}]}]);
    assert_eq!(home.apply(&tasks, &[]).code, Some(0));
    let id = home.latest();
    let before = tree(home.path());
    // Without a word nothing is removed.
    let output = home.run(&["prune", "--older-than", "0s"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert!(output.stderr.contains("it installed git"), "{}", output.stderr);
    assert_eq!(tree(home.path()), before);
    // Nor is anyone asked who does not want to be.
    let silent = home.on_terminal(&["--no-input", "prune", "--older-than", "0s"], "y\n");
    assert_eq!(silent.code, Some(4), "{}", silent.stdout);
    assert_eq!(tree(home.path()), before);
    // Nothing is old enough.
    let young = home.json(&["prune", "--yes"]);
    assert_eq!(young["removed"], json!({"bytes": 0, "records": 0}));

    // What the command wrote is shown on a page, too.
    let page = home.record(&id).join("artifacts/report.html");
    let bytes = 10 + fs::metadata(&page).unwrap().len();
    let pruned = prune(&home, &["--yes"]);
    assert_eq!(pruned["logs"], json!([{"session_id": id, "bytes": bytes}]));
    assert_eq!(pruned["records"], json!([]));
    assert_eq!(pruned["removed"], json!({"bytes": bytes, "records": 0}));
    assert!(!page.exists());
    let output = home.run(&["status", &id]);
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "what was removed is not missed"
    );
    assert_eq!(home.run(&["history", &id, "--verify"]).code, Some(0));
    assert_eq!(home.run(&["logs", &id]).code, Some(0));
    assert_eq!(prune(&home, &["--yes"])["removed"], json!({"bytes": 0, "records": 0}));
}

#[test]
fn a_record_that_nothing_refers_to_goes_as_a_whole() {
    let home = Home::new();
    let tasks = json!([{"id": "git", "commands": [{"command": "exit 1"}]}]);
    assert_eq!(home.apply(&tasks, &[]).code, Some(3));
    let id = home.latest();
    let pruned = prune(&home, &["--yes"]);
    assert_eq!(pruned["records"], json!([id]));
    assert_eq!(pruned["removed"]["records"], 1);
    assert!(!home.record(&id).exists());
    assert_eq!(home.json(&["sessions"])["sessions"], json!([]));
}

#[test]
fn what_others_refer_to_or_someone_may_go_on_with_stays() {
    let Some(library) = faketime() else { return };
    let home = Home::new();
    // One that was expanded, though it installed nothing.
    assert_eq!(home.play(walk_script().into_iter().take(8)).code, Some(0));
    let other = "prov-20260303-101010-beef";
    let from = json!({"create": {"expanded_from": {"session_id": ID, "tasks_added": ["jq"]}}});
    assert_eq!(home.play_as(other, [from]).code, Some(0));
    let at_31_days = |arguments: &[&str]| {
        let output = at(&library, &home, "+31d", arguments);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        serde_json::from_str::<Value>(&output.stdout).unwrap()
    };
    // In progress, and not old enough to be abandoned.
    let young = prune(&home, &["--yes"]);
    assert_eq!(young["records"], json!([]));
    assert!(young["kept"].to_string().contains("it is in progress"), "{young}");
    let pruned = at_31_days(&["prune", "--json", "--yes"]);
    assert_eq!(pruned["records"], json!([other]), "{pruned}");
    let kept = pruned["kept"].to_string();
    assert!(kept.contains(&format!("session {other} was expanded from it")), "{kept}");
    assert!(home.journal(ID).exists() && !home.record(other).exists());
    // A clock that is behind makes nothing old.
    let output = at(&library, &home, "-365d", &["prune", "--json", "--yes", "--older-than", "1h"]);
    assert!(output.stdout.contains("days behind"), "{}", output.stdout);
    assert!(home.journal(ID).exists());
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let home = Home::new().damaged();
    let tasks = json!([{"id": "git", "commands": [{"command": "exit 1"}]}]);
    assert_eq!(home.apply(&tasks, &[]).code, Some(3));
    let id = home.latest();
    fs::write(home.document_path("failed", &id), "{").unwrap();
    let before = tree(home.path());
    let pruned = prune(&home, &["--yes"]);
    assert!(pruned["kept"].to_string().contains("cannot be read"), "{pruned}");
    assert_eq!(tree(home.path()), before);
}

#[test]
fn what_is_half_installed_is_not_forgotten() {
    let home = Home::new();
    let tasks = json!([{"id": "git", "commands": [{"command": "true"}, {"command": "exit 1"}]}]);
    assert_eq!(home.apply(&tasks, &[]).code, Some(3));
    let pruned = prune(&home, &["--yes"]);
    assert_eq!(pruned["records"], json!([]));
    assert!(pruned["kept"].to_string().contains("it installed git"), "{pruned}");
}

#[test]
fn a_session_that_was_recovered_may_have_done_more_than_it_says() {
    let home = Home::new();
    let tasks = json!([{"id": "git", "commands": [{"command": "exit 1"}]}]);
    assert_eq!(home.apply(&tasks, &[]).code, Some(3));
    let id = home.latest();
    fs::remove_file(home.journal(&id)).unwrap();
    assert_eq!(home.json(&["recover", &id, "--yes"])["level"], 1);
    let pruned = prune(&home, &["--yes"]);
    assert_eq!(pruned["records"], json!([]));
    assert!(pruned["kept"].to_string().contains("it was recovered"), "{pruned}");
}

#[test]
fn a_home_of_another_program_is_pruned_too() {
    let mut document: Value =
        serde_json::from_str(include_str!("fixtures/legacy/fresh.json")).unwrap();
    document["meta"]["status"] = json!("failed");
    let home = Home::new().with_document("failed", ID, document.to_string()).damaged();
    fs::remove_dir_all(home.path().join("records")).ok();
    let pruned = prune(&home, &["--yes"]);
    assert_eq!(pruned["removed"]["records"], 1, "{pruned}");
    assert!(!home.document_path("failed", ID).exists());
}

#[test]
fn a_time_needs_its_unit() {
    let output = Home::new().run(&["prune", "--older-than", "30"]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
}
