//! Every arrow between the states of a session and of a task, taken by the real program.

use std::fs;

use serde_json::{Value, json};

use crate::{
    harness::{Home, wait_until},
    workshop::Workshop,
};

/// The states that a session's status went through, by its journal.
fn session_states(events: &[Value]) -> Vec<&'static str> {
    let mut states = Vec::new();
    for event in events {
        let state = match event["event"].as_str().unwrap() {
            "session_created" | "session_imported" | "session_resumed" => "in_progress",
            "session_paused" => "paused",
            "session_failed" => "failed",
            "session_completed" => "completed",
            _ => continue,
        };
        states.push(state);
    }
    states
}

/// The states that a task went through, by its session's journal.
fn task_states(events: &[Value], task: &str) -> Vec<&'static str> {
    let mut states = vec!["pending"];
    for event in events {
        let is_reset = || {
            let reset = event["tasks_reset"].as_array();
            reset.is_some_and(|reset| reset.iter().any(|name| name == task))
        };
        if event["event"] == "session_revised" && is_reset() {
            states.push("pending");
        }
        if event["task_id"] != task {
            continue;
        }
        let state = match event["event"].as_str().unwrap() {
            "task_started" => "in_progress",
            "task_completed" => "completed",
            "task_failed" => "failed",
            "task_skipped" => "skipped",
            "task_reset" => "pending",
            _ => continue,
        };
        states.push(state);
    }
    states
}

fn apply(home: &Home, tasks: &Value, code: i32) -> (String, Vec<Value>) {
    let output = home.apply(tasks, &[]);
    assert_eq!(output.code, Some(code), "{}", output.stderr);
    let id = home.latest();
    let events = home.events(&id);
    (id, events)
}

#[test]
fn a_session_goes_from_in_progress_to_completed() {
    let home = Home::new();
    let (id, events) = apply(&home, &json!([{"id": "a", "commands": [{"command": "true"}]}]), 0);
    assert_eq!(session_states(&events), ["in_progress", "completed"]);
    assert!(home.document_path("completed", &id).exists());
    let lifecycle = &home.document("completed", &id)["lifecycle"];
    assert_eq!((&lifecycle["completed"], &lifecycle["resume_count"]), (&json!(true), &json!(0)));
}

#[test]
fn a_session_goes_from_in_progress_to_failed_and_back_on_resume() {
    let shop = Workshop::new();
    shop.put("broken", "vim");
    let id = shop.session(3, &["start", "web", "--yes"]);
    assert!(shop.home.document_path("failed", &id).exists());
    let failed = shop.document(&id);
    assert_eq!(failed["lifecycle"]["last_error"], "vim");
    assert_eq!(failed["resume_point"]["task_id"], "vim");
    shop.take("broken", "vim");
    shop.session(0, &["resume", &id]);
    let events = shop.home.events(&id);
    assert_eq!(session_states(&events), ["in_progress", "failed", "in_progress", "completed"]);
    assert!(shop.home.document_path("completed", &id).exists());
    assert!(!shop.home.document_path("failed", &id).exists());
    let lifecycle = &shop.document(&id)["lifecycle"];
    assert_eq!(lifecycle["resume_count"], 1);
    assert!(lifecycle["resumed_at"].is_string());
}

#[test]
fn a_session_goes_from_in_progress_to_paused_and_back_on_resume() {
    let shop = Workshop::new();
    shop.put("hold", "vim");
    let catalog = shop.catalog();
    let start = ["--json", "start", "web", "--yes", "--jobs", "1"];
    let words = [&["--catalog", catalog.to_str().unwrap()], &start[..]].concat();
    let mut child = shop.home.command(&words).stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_until("the wait", || shop.tries("vim") == 1);
    // From another terminal.
    let id = shop.home.latest();
    let text = shop.said(0, &["pause", &id, "--reason", "lunch"]);
    assert!(text.contains("pauses as soon as its command is done"), "{text}");
    shop.take("hold", "vim");
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let document = shop.document(&id);
    assert_eq!(document["meta"]["status"], "paused");
    assert!(shop.home.document_path("active", &id).exists());
    let lifecycle = &document["lifecycle"];
    assert_eq!(
        (&lifecycle["paused"], &lifecycle["paused_reason"]),
        (&json!(true), &json!("user_request"))
    );
    assert_eq!(lifecycle["paused_context"], "lunch (at command 1 of database)");
    shop.session(0, &["resume", &id]);
    let events = shop.home.events(&id);
    assert_eq!(session_states(&events), ["in_progress", "paused", "in_progress", "completed"]);
    assert_eq!(shop.tries("vim"), 1, "what was done is not done again");
    let lifecycle = &shop.document(&id)["lifecycle"];
    assert_eq!((&lifecycle["paused"], &lifecycle["resume_count"]), (&json!(false), &json!(1)));
    let timing = &shop.document(&id)["phase_timing"]["execute"];
    assert!(timing["paused_seconds"].as_f64().unwrap() > 0.0, "{timing}");
}

#[test]
fn a_task_goes_from_pending_through_in_progress_to_completed_failed_and_again() {
    let shop = Workshop::new();
    shop.put("broken", "vim");
    let id = shop.session(3, &["start", "web", "--yes", "--jobs", "1"]);
    let events = shop.home.events(&id);
    assert_eq!(task_states(&events, "base"), ["pending", "in_progress", "completed"]);
    assert_eq!(task_states(&events, "vim"), ["pending", "in_progress", "failed"]);
    assert_eq!(task_states(&events, "database"), ["pending"]);
    shop.take("broken", "vim");
    shop.session(0, &["resume", &id, "--retry"]);
    let events = shop.home.events(&id);
    let states = ["pending", "in_progress", "failed", "in_progress", "completed"];
    assert_eq!(task_states(&events, "vim"), states);
    let command = &shop.document(&id)["tasks"]["vim"]["commands"];
    let command = command.as_array().unwrap().iter().find(|c| c["command_index"] == 0).unwrap();
    assert_eq!((&command["retry_count"], &command["attempts"]), (&json!(1), &json!(2)));
}

#[test]
fn a_task_goes_from_in_progress_to_pending_while_it_waits_for_another_try() {
    let home = Home::new();
    let once = "test -e ~/tried || { touch ~/tried; exit 7; }";
    let tasks = json!([{"id": "a", "commands": [{"command": once, "retries": 1}]}]);
    let (_, events) = apply(&home, &tasks, 0);
    let states = ["pending", "in_progress", "pending", "in_progress", "completed"];
    assert_eq!(task_states(&events, "a"), states);
}

#[test]
fn a_task_goes_from_in_progress_to_skipped() {
    let home = Home::new();
    let (id, events) = apply(&home, &json!([{"id": "a", "manual": ["Turn the key"]}]), 0);
    assert_eq!(task_states(&events, "a"), ["pending", "in_progress", "skipped"]);
    let task = &home.document("completed", &id)["tasks"]["a"];
    assert_eq!(task["skipped"], true);
    assert_eq!(task["skipped_reason"], "a person does it: Turn the key");
}

#[test]
fn a_task_goes_from_failed_to_skipped_by_a_person_and_from_pending_for_what_it_needs() {
    let shop = Workshop::new();
    shop.put("broken", "base");
    let id = shop.session(3, &["start", "web", "--yes"]);
    shop.session(0, &["resume", &id, "--skip"]);
    let events = shop.home.events(&id);
    assert_eq!(task_states(&events, "base"), ["pending", "in_progress", "failed", "skipped"]);
    assert_eq!(task_states(&events, "vim"), ["pending", "skipped"]);
    let document = shop.document(&id);
    assert_eq!(document["tasks"]["base"]["skipped_reason"], "it failed and was passed by");
    let reason = "it needs base, which is not there";
    assert_eq!(document["tasks"]["vim"]["skipped_reason"], reason);
    assert_eq!(document["meta"]["status"], "completed");
}

#[test]
fn a_task_goes_from_pending_to_skipped_by_a_person_who_goes_on_elsewhere() {
    let shop = Workshop::new();
    shop.put("broken", "base");
    let id = shop.session(3, &["start", "--add", "base,lamp,card", "--yes", "--jobs", "1"]);
    let last = shop.tasks(&id).last().unwrap().0.clone();
    shop.session(0, &["resume", &id, "--from", &last]);
    let events = shop.home.events(&id);
    let passed: Vec<_> = shop.tasks(&id).into_iter().map(|(task, _)| task).collect();
    for task in passed.iter().filter(|task| **task != last) {
        let states = task_states(&events, task);
        assert_eq!(states.last(), Some(&"skipped"), "{task}: {states:?}");
    }
    assert!(task_states(&events, &passed[1]).starts_with(&["pending", "skipped"]));
    assert_eq!(task_states(&events, &last), ["pending", "in_progress", "completed"]);
    assert!(shop.is_made(&last));
}

#[test]
fn a_task_goes_from_completed_to_pending_only_by_a_revision() {
    let shop = Workshop::new();
    shop.put("broken", "database");
    let id = shop.session(3, &["start", "web", "--yes"]);
    shop.take("broken", "database");
    shop.session(0, &["revise", &id, "--profile", "systems", "--yes"]);
    let events = shop.home.events(&id);
    let states = ["pending", "in_progress", "completed", "pending", "in_progress", "completed"];
    assert_eq!(task_states(&events, "base"), states);
    let told = events.iter().position(|event| event["event"] == "session_revised").unwrap();
    assert!(events[told]["tasks_reset"].as_array().unwrap().contains(&json!("base")));
    // No other way: a journal that says so is not taken.
    let step = json!({"event": "task_reset", "task_id": "base", "reason": "no"});
    let script = shop.home.script("reset.jsonl", [step]);
    let output = shop.home.run(&["__script", "--session", &id, script.to_str().unwrap()]);
    assert_ne!(output.code, Some(0));
    assert!(fs::read_to_string(shop.home.journal(&id)).unwrap().lines().count() == events.len());
}
