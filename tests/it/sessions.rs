//! `sessions` and the ways to name one.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use crate::harness::{Home, ID, Output, long_walk, walk_script};

fn record(home: &Home, id: &str) {
    let script = home.script("script.jsonl", [json!({"create": {}})]);
    let output = home.run(&["__script", "--session", id, script.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

#[test]
fn a_home_that_is_not_there_has_no_sessions_and_is_not_made() {
    let home = Home::new();
    let there = home.path().join("nothing");
    let output = home.run(&["sessions", "--home", there.to_str().unwrap()]);
    insta::assert_snapshot!(output.snapshot(&home), @r"
    exit 0
    --- stdout
    no sessions yet
    --- stderr
    ");
    assert!(!there.exists());
    let output = home.run(&["status", "--home", there.to_str().unwrap()]);
    insta::assert_snapshot!(output.snapshot(&home), @r"
    exit 2
    --- stdout
    --- stderr
    error: there are no sessions yet in `[HOME]/nothing`
    hint: sessions that are kept elsewhere are found with --home DIR
    ");
}

#[test]
fn the_newest_comes_first_and_fifty_are_shown() {
    let home = Home::new();
    for second in 0..53 {
        record(&home, &format!("prov-20260202-1430{second:02}-0000"));
    }
    let list = home.json(&["sessions"]);
    let shown = list["sessions"].as_array().unwrap();
    assert_eq!(shown.len(), 50);
    assert_eq!(list["more"], 3);
    assert_eq!(shown[0]["id"], "prov-20260202-143052-0000");
    assert_eq!(home.json(&["sessions", "--all"])["sessions"].as_array().unwrap().len(), 53);
    assert!(home.run(&["sessions"]).stdout.contains("… and 3 older sessions (--all)"));
    assert_eq!(home.json(&["status", "latest"])["session_id"], "prov-20260202-143052-0000");
}

#[test]
fn a_unique_beginning_names_a_session_and_an_ambiguous_one_lists_candidates() {
    let home = Home::new();
    record(&home, "prov-20260202-143052-a7b3");
    record(&home, "prov-20260202-143052-a7b4");
    record(&home, "prov-20260303-000000-0000");
    assert_eq!(home.json(&["status", "prov-202603"])["session_id"], "prov-20260303-000000-0000");
    let output = home.run(&["status", "prov-202602"]);
    insta::assert_snapshot!(output.snapshot(&home), @r"
    exit 2
    --- stdout
    --- stderr
    error: `prov-202602` is the beginning of 2 session ids
    hint: give more of the id: prov-20260202-143052-a7b4, prov-20260202-143052-a7b3
    ");
}

#[test]
fn a_session_stands_on_the_shelf_of_its_status() {
    let home = Home::new();
    let walk = long_walk();
    let script = walk_script();
    for (number, kind) in walk.iter().enumerate().skip(1) {
        let output = home.play(script[..=number].to_vec());
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let expected = match kind.name() {
            "session_failed" => "failed",
            "session_completed" => "completed",
            _ => "active",
        };
        let shelves: Vec<_> = ["active", "completed", "failed"]
            .into_iter()
            .filter(|shelf| home.document_path(shelf, ID).exists())
            .collect();
        assert_eq!(shelves, [expected], "after {}", kind.name());
    }
    let backup = fs::read(home.record(ID).join("state.bak.json")).unwrap();
    let backup: serde_json::Value = serde_json::from_slice(&backup).unwrap();
    assert_eq!(backup["meta"]["status"], "in_progress");
}

#[test]
fn everything_in_the_store_is_private_whatever_the_umask() {
    for umask in ["000", "777"] {
        let home = Home::new();
        let inner = home.path().join("inner");
        let script = home.script("script.jsonl", [json!({"create": {}})]);
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!("umask {umask}; exec \"$@\""), "sh"]);
        command.arg(env!("CARGO_BIN_EXE_provision"));
        command.args(["--home", inner.to_str().unwrap(), "__script", "--session", ID]).arg(&script);
        let status = command.stdout(std::process::Stdio::null()).status().unwrap();
        assert!(status.success(), "umask {umask}");
        assert_eq!(fs::metadata(&inner).unwrap().permissions().mode() & 0o777, 0o700);
        let mut files = 0;
        for (path, mode, _) in crate::harness::tree(&inner) {
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode & 0o777, expected, "{}", path.display());
            files += usize::from(path.is_file());
        }
        assert!(files >= 3);
    }
}

#[test]
fn the_program_alone_shows_what_there_is_and_what_to_ask() {
    let home = Home::new();
    let sessions = [(ID, 99), ("prov-20260303-000000-0000", 1), ("prov-20260304-000000-0000", 9)];
    for (id, length) in sessions {
        let script = home.script("script.jsonl", walk_script().into_iter().take(length));
        let mut command = home.command(&["__script", "--session", id, script.to_str().unwrap()]);
        command.env("AGENTIC_PROVISION_CLOCK", "2026-03-04T05:06:07Z");
        assert_eq!(Output::of(&mut command).code, Some(0));
    }
    let mut command = home.command(&[]);
    command.env("AGENTIC_PROVISION_CLOCK", "2026-03-04T05:06:07Z");
    insta::assert_snapshot!(Output::of(&mut command).snapshot(&home), @r"
    exit 0
    --- stdout
    prov-20260304-000000-0000  paused       2026-03-04 05:06  gather_requirements, essentials
    prov-20260303-000000-0000  in_progress  2026-03-04 05:06  session_check, no profile yet
    prov-20260202-143052-a7b3  completed    2026-03-04 05:06  essentials: 2 done, 2 skipped

    provision catalog list   what can be installed
    provision plan PROFILE   what a profile would install here; nothing is changed
    provision start PROFILE  install it: the plan is shown, and waits for approval
    provision apply PLAN     run a plan file as a new session
    provision resume         go on with the newest unfinished session
    provision status ID      where a session stands, and what comes next
    provision history ID     what happened in it
    provision doctor         what keeps this machine from being set up
    provision --help         everything else
    --- stderr
    ");
}
