//! The clock on the wall is set back in the middle of a run.

use std::{fs, path::Path, process::Stdio};

use serde_json::json;

use crate::harness::{Home, faketime::faketime, wait_until};

fn set(clock: &Path, offset: &str) {
    let fresh = clock.with_extension("new");
    fs::write(&fresh, offset).unwrap();
    fs::rename(&fresh, clock).unwrap();
}

#[test]
fn a_clock_set_back_a_day_confuses_nothing() {
    let Some(library) = faketime() else { return };
    let home = Home::new();
    let clock = home.path().join("clock");
    set(&clock, "+0");
    let plan = home.plan(&json!([
        {"id": "one", "commands": [
            {"command": "touch begun; while test -e begun && ! test -e go; do sleep 0.02; done"},
            {"command": "sleep 0.1", "timeout_seconds": 30}
        ]},
        {"id": "two", "commands": [{"command": "false"}]}
    ]));
    let with_clock = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command
            .env("LD_PRELOAD", &library)
            .env("FAKETIME_TIMESTAMP_FILE", &clock)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .stderr(Stdio::null());
        command
    };
    let mut runner = with_clock(&["apply", plan.to_str().unwrap(), "--yes"]).spawn().unwrap();
    wait_until("the command's begin", || home.path().join("begun").exists());
    let before = home.events(&home.latest());
    set(&clock, "-1d");
    fs::write(home.path().join("go"), "").unwrap();
    assert_eq!(runner.wait().unwrap().code(), Some(3));
    let id = home.latest();
    // Later ones are not earlier, and durations are what they were.
    let events = home.events(&id);
    assert!(events.len() > before.len());
    let times: Vec<_> = events.iter().map(|event| event["timestamp"].as_str().unwrap()).collect();
    assert!(times.is_sorted());
    for event in events.iter().filter(|event| event["event"] == "command_finished") {
        assert!(event["duration_ms"].as_u64().unwrap() < 60_000, "{event}");
        assert_eq!(event["outcome"], "exited");
    }
    assert_eq!(home.run(&["history", &id, "--verify"]).code, Some(0));
    // A resumed run a day before the session began goes on all the same.
    assert_eq!(with_clock(&["resume"]).status().unwrap().code(), Some(3));
    assert_eq!(home.run(&["history", &id, "--verify"]).code, Some(0));
    assert_eq!(home.json(&["sessions"])["sessions"].as_array().unwrap().len(), 1);
}
