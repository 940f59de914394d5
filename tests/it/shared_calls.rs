//! One call that serves several tasks, as the record has it and as whoever reads the record is told.

use std::fs;

use serde_json::{Value, json};

use crate::{
    harness::{Home, ID, walk_script},
    lost_journals::leave_lines,
};

/// The number of the event that begins the call.
const BEGINS: usize = 18;

/// A session in which one call serves two tasks, up to its beginning.
fn begun() -> Vec<Value> {
    let mut script: Vec<_> = walk_script().into_iter().take(BEGINS - 3).collect();
    for task in ["jq", "git"] {
        script.push(json!({"event": "task_started", "task_id": task}));
    }
    script.push(json!({"event": "command_started", "task_id": "jq", "task_ids": ["jq", "git"],
        "command_index": 0, "attempt": 1, "command": "get jq git", "agent": "unattended",
        "digest": "d".repeat(64), "cookie": "c", "boot_id": "b"}));
    assert_eq!(script.len(), BEGINS);
    script
}

fn ended() -> Vec<Value> {
    let mut script = begun();
    script.push(json!({"event": "command_finished", "started_seq": BEGINS, "task_id": "jq",
        "command": "get jq git", "agent": "unattended", "status": "success", "outcome": "exited",
        "exit_code": 0, "duration_ms": 3000, "log": format!("attempts/{BEGINS}")}));
    script
}

fn played(script: Vec<Value>) -> Home {
    let home = Home::new();
    let output = home.play(script);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    home
}

#[test]
fn each_of_them_has_it_on_record_with_all_whom_it_served() {
    let home = played(ended());
    let tasks = &home.document("active", ID)["tasks"];
    for task in ["jq", "git"] {
        assert_eq!(tasks[task]["commands"][0]["task_ids"], json!(["jq", "git"]), "{task}");
    }
    let mut alone = ended();
    alone[BEGINS - 1]["task_ids"] = json!(["jq"]);
    let home = played(alone);
    let command = &home.document("active", ID)["tasks"]["jq"]["commands"][0];
    assert!(command.get("task_ids").is_none(), "{command}");
}

#[test]
fn history_names_all_of_them_at_both_ends() {
    let shown = played(ended()).run(&["history"]).stdout;
    let lines: Vec<_> = shown.lines().skip(BEGINS - 1).collect();
    assert!(lines[0].ends_with("command_started        jq, git: get jq git"), "{shown}");
    let end = "command_finished       jq, git: get jq git (exit 0, 3000 ms)";
    assert!(lines[1].ends_with(end), "{shown}");
}

#[test]
fn its_output_is_shown_once_and_for_each_of_them() {
    let home = played(ended());
    for arguments in [&["logs", ID][..], &["logs", ID, "jq"], &["logs", ID, "git"]] {
        let shown = home.run(arguments).stdout;
        assert_eq!(shown, "== jq, git $ get jq git (exit code 0)\n", "{arguments:?}");
    }
    let logs = home.json(&["logs", ID, "git"]);
    assert_eq!(logs["logs"].as_array().unwrap().len(), 1);
    assert_eq!(logs["logs"][0]["task_id"], "jq");
    assert_eq!(logs["logs"][0]["task_ids"], json!(["jq", "git"]));

    // What is known of it from the document alone is no other.
    fs::remove_file(home.journal(ID)).unwrap();
    assert_eq!(home.json(&["recover", ID, "--yes"])["level"], 1);
    for arguments in [&["logs", ID][..], &["logs", ID, "git"]] {
        let shown = home.run(arguments).stdout;
        assert_eq!(shown, "== jq, git $ get jq git (exit code 0)\n", "{arguments:?}");
    }
}

#[test]
fn status_names_all_of_them_once() {
    let home = played(begun());
    let shown = home.run(&["status", ID]).stdout;
    let lines: Vec<_> = shown.lines().filter(|line| line.contains("get jq git")).collect();
    assert_eq!(lines, ["last ran  jq, git: get jq git"], "{shown}");
    let current = &home.json(&["status", ID])["current"];
    assert_eq!(current.as_array().unwrap().len(), 1, "{current}");
    assert_eq!(current[0]["task_ids"], json!(["jq", "git"]));
}

#[test]
fn how_long_it_took_is_shared_among_them() {
    let mut script = ended();
    for task in ["jq", "git"] {
        script.push(json!({"event": "task_completed", "task_id": task}));
    }
    let status = played(script).json(&["status", ID]);
    let took = |task: &str| {
        let lines = status["tasks"].as_array().unwrap();
        lines.iter().find(|line| line["task_id"] == task).unwrap()["seconds"].as_f64()
    };
    assert_eq!((took("jq"), took("git")), (Some(1.5), Some(1.5)));
}

#[test]
fn one_that_was_open_when_the_journal_was_damaged_has_an_end_for_each_of_them() {
    let mut script = begun();
    for _ in 0..2 {
        script.push(json!({"event": "error_recorded", "error": "something"}));
    }
    let home = played(script);
    let journal = fs::read_to_string(home.journal(ID)).unwrap();
    let lines: Vec<_> = journal.split_inclusive('\n').collect();
    let damaged = lines[BEGINS].replace("something", "somethink");
    leave_lines(&home, ID, BEGINS);
    let kept = lines[..BEGINS].concat() + &damaged + lines[BEGINS + 1];
    fs::write(home.journal(ID), kept).unwrap();
    assert_eq!(home.json(&["recover", ID, "--yes"])["level"], 2);
    let tasks = &home.latest_document()["tasks"];
    for task in ["jq", "git"] {
        assert!(tasks[task].get("in_flight").is_none_or(|open| open == &json!([])), "{task}");
        let command = &tasks[task]["commands"][0];
        assert_eq!(command["outcome"], "indeterminate", "{task}");
        assert_eq!(command["task_ids"], json!(["jq", "git"]), "{task}");
    }
}

#[test]
fn one_whose_record_is_lost_is_taken_up_for_each_of_them() {
    for (ends, code) in [("true", 0), ("exit 7", 3)] {
        let home = Home::new();
        let plan = home.plan(&json!([
            {"id": "a", "commands": [{"command": format!("echo one >> ran; {ends}")}]},
            {"id": "b", "commands": [{"command": format!("echo two >> ran; {ends}")}]},
        ]));
        let words = ["apply", plan.to_str().unwrap(), "--yes", "--keep-going", "--jobs", "1"];
        let output = home.run(&words);
        assert_eq!(output.code, Some(code), "{}", output.stderr);
        let id = home.latest();
        let started = home.events(&id).into_iter().filter(|e| e["event"] == "command_started");
        let seqs: Vec<_> = started.map(|event| event["seq"].as_u64().unwrap()).collect();
        let attempts = home.record(&id).join("attempts");
        // As if the first had been made for both, and the second never.
        fs::remove_dir_all(attempts.join(seqs[1].to_string())).unwrap();
        let claim = attempts.join(seqs[0].to_string()).join("claim");
        let mut told: Value = serde_json::from_slice(&fs::read(&claim).unwrap()).unwrap();
        told["order"]["task_ids"] = json!(["a", "b"]);
        fs::write(&claim, told.to_string()).unwrap();
        let executing = home.events(&id).into_iter().position(|e| e["event"] == "task_started");
        leave_lines(&home, &id, executing.unwrap());

        assert_eq!(home.json(&["recover", &id, "--yes"])["level"], 2, "{ends}");
        let events = home.events(&id);
        let started: Vec<_> = events.iter().filter(|e| e["event"] == "command_started").collect();
        assert_eq!(started.len(), 1, "{ends}");
        assert_eq!(started[0]["task_ids"], json!(["a", "b"]), "{ends}");
        let tasks = &home.latest_document()["tasks"];
        for task in ["a", "b"] {
            let command = &tasks[task]["commands"][0];
            assert_eq!(command["status"], if code == 0 { "success" } else { "failed" }, "{task}");
            assert_eq!(command["task_ids"], json!(["a", "b"]), "{task}");
            let status = if code == 0 { "in_progress" } else { "failed" };
            assert_eq!(tasks[task]["status"], status, "{task}");
        }
        if code == 0 {
            let output = home.run(&["resume", &id]);
            assert_eq!(output.code, Some(0), "{}", output.stderr);
        }
        assert_eq!(fs::read_to_string(home.path().join("ran")).unwrap(), "one\ntwo\n", "{ends}");
    }
}
