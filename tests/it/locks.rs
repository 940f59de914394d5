//! One writer at a time, whatever happens to it.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use serde_json::{Value, json};

use crate::harness::{Home, ID, Output, walk_script};

/// A process that holds the session until its standard input ends.
fn holder(home: &Home, patience: &str) -> Child {
    let script = home.path().join("hold.jsonl");
    let path = script.to_str().unwrap();
    let arguments = ["--lock-timeout", patience, "__script", "--session", ID, path];
    home.command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn prepared() -> Home {
    let home = Home::new();
    assert_eq!(home.play([json!({"create": {}})]).code, Some(0));
    home.script("hold.jsonl", [json!({"create": {}}), json!({"await_input": {}})]);
    home
}

/// Waits until the process has the lock: it then tells the event that is there already.
fn await_lock(child: &mut Child) {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("session_created"), "{line}");
}

#[test]
fn of_fifty_starters_one_wins_and_the_others_name_it() {
    let home = prepared();
    let mut starters: Vec<_> = (0..50).map(|_| holder(&home, "300ms")).collect();
    let mut losers = Vec::new();
    while losers.len() < 49 {
        let done = |child: &mut Child| child.try_wait().unwrap().is_some();
        match starters.iter_mut().position(done) {
            Some(at) => losers.push(starters.remove(at)),
            None => std::thread::yield_now(),
        }
    }
    let mut winner = starters.pop().unwrap();
    assert!(winner.try_wait().unwrap().is_none(), "the winner still holds it");
    let named = format!("process {} since ", winner.id());
    for loser in losers {
        let output = Output::after(loser);
        assert_eq!(output.code, Some(5), "{}", output.stderr);
        assert!(output.stderr.contains(&named), "{named}: {}", output.stderr);
        assert!(output.stderr.contains("__script --session"), "{}", output.stderr);
    }
    assert_eq!(home.json(&["status"])["status"], "active");
    drop(winner.stdin.take());
    assert!(winner.wait().unwrap().success());
    assert_eq!(home.json(&["status"])["status"], "possibly_stalled");
}

#[test]
fn the_lock_of_a_killed_holder_is_free_at_once() {
    let home = prepared();
    let mut first = holder(&home, "0s");
    await_lock(&mut first);
    first.kill().unwrap();
    first.wait().unwrap();
    let mut second = holder(&home, "0s");
    await_lock(&mut second);
    drop(second.stdin.take());
    assert!(second.wait().unwrap().success());
}

#[test]
fn a_waiting_starter_gets_the_lock_when_it_is_released() {
    let home = prepared();
    let mut first = holder(&home, "0s");
    await_lock(&mut first);
    let mut second = holder(&home, "60s");
    drop(first.stdin.take());
    await_lock(&mut second);
    drop(second.stdin.take());
    assert!(second.wait().unwrap().success());
}

#[test]
fn an_unlinked_lock_file_fools_nobody() {
    let home = prepared();
    let mut first = holder(&home, "0s");
    await_lock(&mut first);
    fs::remove_file(home.record(ID).join("lock")).unwrap();
    for _ in 0..2 {
        let mut second = holder(&home, "0s");
        drop(second.stdin.take());
        assert_eq!(Output::after(second).code, Some(5));
    }
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    let mut third = holder(&home, "0s");
    await_lock(&mut third);
    drop(third.stdin.take());
    assert!(third.wait().unwrap().success());
}

#[test]
fn readers_need_no_lock() {
    let home = prepared();
    let mut first = holder(&home, "0s");
    await_lock(&mut first);
    for arguments in [vec!["sessions"], vec!["status"], vec!["history", "--verify"]] {
        assert_eq!(home.run(&arguments).code, Some(0));
    }
    drop(first.stdin.take());
    first.wait().unwrap();
}

#[test]
fn a_command_that_is_running_needs_no_decision_whether_or_not_its_runner_lives() {
    let home = Home::new();
    let walk = walk_script();
    let started = walk.iter().position(|step| step["event"] == "command_started").unwrap();
    let steps = walk[..=started].iter().cloned().chain([json!({"await_input": {}})]);
    home.script("hold.jsonl", steps);
    let mut runner = holder(&home, "0s");
    let mut told = BufReader::new(runner.stdout.take().unwrap()).lines();
    for _ in 0..=started {
        told.next().unwrap().unwrap();
    }
    let status = home.json(&["status"]);
    assert_eq!(status["status"], "active");
    assert_eq!(status["pending"], Value::Null);
    assert_eq!(status["current"][0]["task_id"], "jq");
    assert_eq!(status["next"], "command 1 of jq: it is running");
    runner.kill().unwrap();
    runner.wait().unwrap();
    let status = home.json(&["status"]);
    assert_eq!(status["status"], "possibly_stalled");
    // Nobody has looked yet how it ended: that comes before any decision.
    assert_eq!(status["pending"], Value::Null);
    let next = format!(
        "command 1 of jq: it was left running; `provision resume {}` takes it up",
        status["session_id"].as_str().unwrap()
    );
    assert_eq!(status["next"], next);
}
