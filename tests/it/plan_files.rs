//! Plan files that cannot be run, and approval.

use std::fs;

use agentic_provision::{
    model::Plan,
    store::{self, Store},
};
use serde_json::{Value, json};

use crate::harness::{Home, Output, created, faulty::FaultyFs, id, moment, pen};

fn apply(home: &Home, content: &str, more: &[&str]) -> Output {
    let path = home.path().join("plan.json");
    fs::write(&path, content).unwrap();
    home.run(&[&["apply", path.to_str().unwrap()], more].concat())
}

fn sound() -> Value {
    json!({"format": "plan-v1", "tasks": [{"id": "it", "commands": [{"command": "touch ran"}]}]})
}

/// Nothing was run, and no session was left.
fn assert_untouched(home: &Home) {
    assert!(!home.path().join("ran").exists());
    assert_eq!(home.json(&["sessions"])["sessions"], json!([]));
}

#[test]
fn every_mistake_is_named_with_its_place() {
    let home = Home::new();
    let plan = json!({
        "format": "plan-v1",
        "user_data": {"path": {"value": "x"}},
        "tasks": [
            {"id": "b", "depends_on": ["a"]},
            {"id": "a", "commands": [{"command": ""}, {"command": "x", "env": {"LD_PRELOAD": "y"}}]},
        ]
    });
    let output = apply(&home, &plan.to_string(), &["--yes"]);
    insta::assert_snapshot!(output.snapshot(&home), @r"
    exit 8
    --- stdout
    --- stderr
    error: the plan `[HOME]/plan.json` cannot be run
      cause: user_data.path: `path` would set $PATH, which means something to the system
      cause: tasks[0].depends_on: `a` must stand before `b`, which depends on it
      cause: tasks[1].commands[0].command: the command is empty
      cause: tasks[1].commands[1].env.LD_PRELOAD: `LD_PRELOAD` would set $LD_PRELOAD, which means something to the system
    hint: `provision schema plan` prints the format of a plan
    ");
    assert_untouched(&home);
}

#[test]
fn what_is_no_plan_is_refused() {
    let home = Home::new();
    let mut unknown = sound();
    unknown["tasks"][0]["comands"] = json!([]);
    let mut newer = sound();
    newer["format"] = json!("plan-v2");
    let mut edited = sound();
    edited["digest"] = json!("0".repeat(64));
    for (content, words) in [
        (String::new(), "EOF while parsing"),
        ("{\"format\"".to_owned(), "EOF while parsing"),
        (unknown.to_string(), "unknown field `comands`"),
        (newer.to_string(), "unknown variant `plan-v2`, expected `plan-v1`"),
        (edited.to_string(), "it was changed"),
        (json!({"format": "plan-v1", "tasks": []}).to_string(), "the plan has no task"),
        (json!({"format": "plan-v1", "tasks": [{"id": "../x"}]}).to_string(), "is not a task id"),
        (json!({"tasks": [{"id": "x"}]}).to_string(), "missing field `format`"),
    ] {
        let output = apply(&home, &content, &["--yes"]);
        assert_eq!(output.code, Some(8), "{}", output.stderr);
        assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
        assert_untouched(&home);
    }
    let output = home.run(&["apply", "/no/such/plan.json", "--yes"]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
}

#[test]
fn without_approval_the_plan_is_shown_and_nothing_runs() {
    let home = Home::new();
    let output = apply(&home, &sound().to_string(), &[]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert!(output.stderr.contains("$ touch ran"), "{}", output.stderr);
    assert_untouched(&home);
    // It says how to approve, and that works.
    let (_, digest) = output.stderr.split_once("--approve ").unwrap();
    let output = apply(&home, &sound().to_string(), &["--approve", digest.trim()]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = home.latest_document();
    assert_eq!(document["plan"]["approved_by"], "user");
    assert!(document["plan"]["digest"].as_str().unwrap().starts_with(digest.trim()));
}

#[test]
fn an_approval_is_of_one_plan_only() {
    let home = Home::new();
    let output = apply(&home, &sound().to_string(), &[]);
    let (_, digest) = output.stderr.split_once("--approve ").unwrap();
    let mut other = sound();
    other["tasks"][0]["commands"][0]["command"] = json!("touch ran; touch more");
    let output = apply(&home, &other.to_string(), &["--approve", digest.trim()]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert_untouched(&home);
    // Words may change.
    let mut reworded = sound();
    reworded["tasks"][0]["description"] = json!("a better word");
    assert_eq!(apply(&home, &reworded.to_string(), &["--approve", digest.trim()]).code, Some(0));
}

#[test]
fn deceptive_text_is_shown_as_what_it_is() {
    let home = Home::new();
    let plan = json!({"format": "plan-v1", "tasks": [
        {"id": "it", "commands": [{"command": "echo \u{1b}[2K\u{202e}harmless"}]}
    ]});
    let output = apply(&home, &plan.to_string(), &[]);
    assert!(output.stderr.contains("echo \\u{1b}[2K\\u{202e}harmless"), "{}", output.stderr);
}

#[test]
fn missing_values_are_all_named_with_the_way_to_give_them() {
    let home = Home::new();
    let mut plan = sound();
    plan["user_data"] = json!({
        "git_name": {"prompt": "Your name"}, "token": {"secret": true}, "known": {"value": "x"}
    });
    let output = apply(&home, &plan.to_string(), &["--yes"]);
    insta::assert_snapshot!(output.snapshot(&home), @r"
    exit 2
    --- stdout
    --- stderr
    error: values are missing that the plan's commands need
      cause: `git_name` (Your name) is missing
      cause: `token` is missing
    hint: give `git_name` with --data git_name=VALUE, --data-file FILE or PROVISION_DATA_GIT_NAME
    hint: give the secret `token` with --data-file FILE or PROVISION_DATA_TOKEN
    ");
    assert_untouched(&home);
    let output = apply(&home, &plan.to_string(), &["--yes", "--data", "nonsense=1"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("the plan has no user data `nonsense`"), "{}", output.stderr);
}

#[test]
fn a_plan_as_it_is_kept_is_as_the_schema_says() {
    let home = Home::new();
    assert_eq!(apply(&home, &sound().to_string(), &["--yes"]).code, Some(0));
    let kept = fs::read(home.record(&home.latest()).join("artifacts/plan.json")).unwrap();
    let schema = home.json(&["schema", "plan"]);
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&serde_json::from_slice(&kept).unwrap()));
    let mut wrong = sound();
    wrong["tasks"][0]["comands"] = json!([]);
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn where_there_is_a_session_there_is_its_plan_whenever_the_power_goes() {
    let twin = FaultyFs::new();
    let store = Store::open(twin.fs(), store::Home::new("/home")).unwrap();
    let plan: Plan = serde_json::from_value(sound()).unwrap();
    let recorder = store.create_with_plan(&id(), &pen(), &plan, created(), &moment(0)).unwrap();
    drop(recorder);
    twin.lose_power();
    assert_eq!(store.load(&id()).unwrap().session.meta.id, id());
    assert_eq!(store.plan(&id()).unwrap(), Some(plan));
}
