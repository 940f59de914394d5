//! Unfinished sessions that earlier versions of the program left behind. Every later version resumes
//! them; the fixtures are never changed.
//!
//! Each home holds one run of `start office --answer seat=A`. The first command was done; in the
//! second the run was paused, was killed together with its supervisor, failed, or was paused after
//! the lines of a task had been written to the files of three shells. The machine had no machine id,
//! so each session resumes on any machine.

use std::fs;

use crate::harness::{Home, Output};

/// A copy of a recorded home, and the id of its only session.
fn recorded(name: &str) -> (Home, String) {
    let home = Home::of_fixture(&format!("recorded/{name}"));
    // The first command made it; git keeps no empty directory.
    fs::create_dir_all(home.path().join("made")).unwrap();
    let id = home.latest();
    (home, id)
}

/// Returns the commands that ran so far, in their order.
fn ran(home: &Home) -> Vec<String> {
    let ran = fs::read_to_string(home.path().join("ran")).unwrap();
    ran.lines().map(Into::into).collect()
}

fn assert_completed(home: &Home, id: &str, output: &Output) {
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    let document = home.document("completed", id);
    for task in ["lamp", "chair", "plant"] {
        assert_eq!(document["tasks"][task]["status"], "completed", "{task}");
    }
    assert_eq!(fs::read_to_string(home.path().join("made/chair")).unwrap(), "Ada\n");
    assert_eq!(home.run(&["history", id, "--verify"]).code, Some(0));
}

#[test]
fn recorded_paused_session_resumes_at_its_next_command() {
    let (home, id) = recorded("paused");
    let output = home.run(&["resume", &id, "--jobs", "1"]);
    assert_completed(&home, &id, &output);
    assert_eq!(ran(&home), ["wire", "bulb", "chair", "plant"]);
}

#[test]
fn recorded_failed_session_resumes_at_the_failed_command() {
    let (home, id) = recorded("failed");
    let output = home.run(&["resume", &id, "--jobs", "1"]);
    assert_completed(&home, &id, &output);
    assert_eq!(ran(&home), ["wire", "bulb", "bulb", "chair", "plant"]);
}

#[test]
fn recorded_killed_session_asks_about_the_unknown_outcome() {
    let (home, id) = recorded("killed");
    let output = home.run(&["resume", &id, "--jobs", "1"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert_eq!(ran(&home), ["wire"]);
    let output = home.run(&["resume", &id, "--interrupted", "retry", "--jobs", "1"]);
    assert_completed(&home, &id, &output);
    assert_eq!(ran(&home), ["wire", "bulb", "chair", "plant"]);
}

/// The files of three shells in a home, with the lines that the person had written.
const SHELL_FILES: [(&str, &str); 3] = [
    (".bashrc", "alias ll='ls -l'\n"),
    (".zshrc", "setopt autocd"),
    (".config/fish/config.fish", "set -g fish_greeting\n"),
];

#[test]
fn recorded_session_with_shell_blocks_resumes_and_its_blocks_are_removed() {
    let (home, id) = recorded("shell_blocks");
    let read = |file: &str| fs::read_to_string(home.path().join(file)).unwrap();
    for (file, before) in SHELL_FILES {
        assert!(read(file).starts_with(before) && read(file).contains("lamp >>>"), "{file}");
    }
    let output = home.run(&["resume", &id, "--jobs", "1"]);
    assert_completed(&home, &id, &output);
    assert_eq!(ran(&home), ["wire", "bulb", "chair", "plant"]);
    let blocks = || home.json(&["shell"])["blocks"].as_array().unwrap().clone();
    let old = || blocks().iter().filter(|b| !b["file"].as_str().unwrap().contains("env.")).count();
    assert_eq!((blocks().len(), old()), (6, 3), "chair has no blocks: {:?}", blocks());
    // The blocks are replaced only if the person says so.
    let output = home.run(&["shell", "add", &id]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert!(
        output.stderr.contains("lamp in ") && output.stderr.contains("--yes"),
        "{}",
        output.stderr
    );
    assert_eq!(old(), 3);
    assert_eq!(home.run(&["shell", "add", &id, "--yes"]).code, Some(0));
    assert_eq!((blocks().len(), old()), (6, 0), "{:?}", blocks());
    assert_eq!(home.run(&["shell", "remove"]).code, Some(0));
    for (file, before) in SHELL_FILES {
        assert_eq!(read(file), format!("{}\n", before.trim_end()), "{file}");
    }
}

#[test]
fn recorded_shell_blocks_are_removed_without_being_replaced() {
    let (home, _) = recorded("shell_blocks");
    assert_eq!(home.run(&["shell", "remove", "lamp"]).code, Some(0));
    for (file, before) in SHELL_FILES {
        let content = fs::read_to_string(home.path().join(file)).unwrap();
        assert_eq!(content, format!("{}\n", before.trim_end()), "{file}");
    }
}
