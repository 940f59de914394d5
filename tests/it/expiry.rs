//! Sessions grow old: what readers say about it, what the next writer records, and what is not
//! taken for inactivity.

use std::{fs, path::Path, process::Stdio};

use serde_json::{Value, json};

use crate::harness::{
    Home, ID,
    faketime::{at, faketime},
    tree, wait_until, walk_script,
};

const DAYS: &str = "no activity for";

/// What `status` says at another time, and what it warns of.
fn status_at(library: &Path, home: &Home, offset: &str) -> (String, String) {
    let output = at(library, home, offset, &["status", "--json"]);
    assert_eq!(output.code, Some(0), "{offset}: {}", output.stderr);
    let status: Value = serde_json::from_str(&output.stdout).unwrap();
    (status["status"].as_str().unwrap().into(), output.stderr)
}

/// What the list of sessions says of the only one.
fn listed_at(library: &Path, home: &Home, offset: &str) -> Value {
    let output = at(library, home, offset, &["sessions", "--json"]);
    assert_eq!(output.code, Some(0), "{offset}: {}", output.stderr);
    serde_json::from_str::<Value>(&output.stdout).unwrap()["sessions"][0].clone()
}

/// A session whose runner died.
fn left_alone() -> Home {
    let home = Home::new();
    assert_eq!(home.play(walk_script().into_iter().take(20)).code, Some(0));
    home
}

#[test]
fn readers_show_how_old_a_session_is_and_change_nothing() {
    let Some(library) = faketime() else { return };
    let home = left_alone();
    let before = tree(home.path());
    for (offset, status, expiry, warning) in [
        ("+23h", "possibly_stalled", json!(null), None),
        (
            "+25h",
            "paused",
            json!("inactive"),
            Some("no activity for 25 hours: it counts as paused"),
        ),
        ("+6d", "paused", json!("inactive"), Some("no activity for 6 days: it counts as paused")),
        (
            "+8d",
            "abandoned",
            json!("abandoned"),
            Some("no activity for 8 days: it counts as abandoned"),
        ),
        ("-365d", "possibly_stalled", json!(null), Some("clock is 365 days behind")),
    ] {
        let (found, warned) = status_at(&library, &home, offset);
        assert_eq!(found, status, "{offset}");
        match warning {
            Some(warning) => assert!(warned.contains(warning), "{offset}: {warned}"),
            None => assert!(!warned.contains(DAYS), "{offset}: {warned}"),
        }
        let listed = listed_at(&library, &home, offset);
        assert_eq!(listed["expiry"], expiry, "{offset}");
        assert_eq!(listed["status"], "in_progress", "{offset}: the document says so");
        assert_eq!(tree(home.path()), before, "{offset}");
    }
    let (_, hints) = status_at(&library, &home, "+8d");
    assert!(hints.contains("`provision prune` cleans up"), "{hints}");
}

#[test]
fn the_next_writer_records_it() {
    let Some(library) = faketime() else { return };
    for (offset, reason, abandoned) in [
        ("+23h", None, false),
        ("+25h", Some("no activity for 25 hours"), false),
        ("+8d", Some("no activity for 8 days"), true),
        ("-365d", None, false),
    ] {
        let home = left_alone();
        // Its plan is not there to go on with: all that can be recorded is how old it is.
        assert_eq!(at(&library, &home, offset, &["resume", ID]).code, Some(6), "{offset}");
        let document = home.document("active", ID);
        let lifecycle = &document["lifecycle"];
        match reason {
            Some(reason) => {
                assert_eq!(document["meta"]["status"], "paused", "{offset}");
                assert_eq!(lifecycle["paused_reason"], "inactivity", "{offset}");
                assert_eq!(lifecycle["paused_context"], reason, "{offset}");
            }
            None => assert_eq!(document["meta"]["status"], "in_progress", "{offset}"),
        }
        assert_eq!(lifecycle["abandoned"], abandoned, "{offset}");
        assert_eq!(home.run(&["history", "--verify"]).code, Some(0), "{offset}");
    }
}

#[test]
fn only_a_session_in_progress_grows_old() {
    let Some(library) = faketime() else { return };
    let failed = Home::new();
    assert_eq!(
        failed.apply(&json!([{"id": "a", "commands": [{"command": "exit 1"}]}]), &[]).code,
        Some(3)
    );
    let paused = left_alone();
    assert_eq!(paused.run(&["pause", ID]).code, Some(0));
    for offset in ["+23h", "+25h", "+6d", "+8d", "-365d"] {
        for (home, status) in [(&failed, "failed"), (&paused, "paused")] {
            let (found, warned) = status_at(&library, home, offset);
            assert_eq!(found, status, "{offset}");
            assert!(!warned.contains(DAYS), "{offset}: {warned}");
            assert_eq!(listed_at(&library, home, offset)["expiry"], json!(null), "{offset}");
        }
    }
    // Tried again after 8 days it was never paused on the way.
    let id = failed.latest();
    assert_eq!(at(&library, &failed, "+8d", &["resume", &id]).code, Some(3));
    let kinds: Vec<_> = failed.events(&id).iter().map(|e| e["event"].clone()).collect();
    assert!(!kinds.contains(&json!("session_paused")), "{kinds:?}");
}

#[test]
fn a_command_of_25_hours_is_not_inactivity() {
    let Some(library) = faketime() else { return };
    let home = Home::new();
    let command = "touch begun; while test -e begun && ! test -e go; do sleep 0.02; done";
    let plan = home.plan(&json!([{"id": "a", "commands": [{"command": command}]}]));
    let mut runner = home
        .command(&["apply", plan.to_str().unwrap(), "--yes"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the command's begin", || home.path().join("begun").exists());
    assert_eq!(status_at(&library, &home, "+5m").0, "active");
    let (status, warned) = status_at(&library, &home, "+25h");
    // It may hang, for all that can be known; but somebody is at work on it.
    assert_eq!(status, "possibly_stalled", "{warned}");
    assert!(!warned.contains(DAYS), "{warned}");
    assert_eq!(listed_at(&library, &home, "+25h")["expiry"], json!(null));
    // Also one that has outlived its runner.
    runner.kill().unwrap();
    runner.wait().unwrap();
    for offset in ["+25h", "+8d"] {
        let (status, warned) = status_at(&library, &home, offset);
        assert_eq!(status, "possibly_stalled", "{offset}: {warned}");
        assert!(!warned.contains(DAYS), "{offset}: {warned}");
        assert_eq!(listed_at(&library, &home, offset)["expiry"], json!(null), "{offset}");
    }
    // Once it has ended, the time runs from there.
    let id = home.latest();
    let attempts = home.record(&id).join("attempts");
    fs::write(home.path().join("go"), "").unwrap();
    wait_until("its end", || {
        fs::read_dir(&attempts).unwrap().any(|a| a.unwrap().path().join("result").exists())
    });
    wait_until("the supervisor's end", || status_at(&library, &home, "+25h").0 == "paused");
    assert_eq!(status_at(&library, &home, "+23h").0, "possibly_stalled");
    assert_eq!(home.run(&["resume", &id]).code, Some(0));
    assert_eq!(home.json(&["status"])["status"], "completed");
}
