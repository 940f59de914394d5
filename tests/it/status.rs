//! `status` for someone who knows nothing of a session, in every state that one can be in: what
//! happened, where it stands, and what to do.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::{
    harness::{
        Home, ID, Output,
        faketime::{at, faketime},
        wait_until,
    },
    workshop::Workshop,
};

/// What `status` says, without what differs from run to run.
fn shown(home: &Home, output: &Output) -> String {
    without_times(&output.snapshot(home))
}

/// A text without what differs from run to run, and from machine to machine.
pub fn without_times(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, word) in [
        (r"prov-\d{8}-\d{6}-[0-9a-z]{4}", "[ID]"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \([^)]*\)", "[TIME]"),
        (r"(\d+ h )?(\d+ min )?\d+\.?\d* (s|min)\b", "[SPAN]"),
        (r"\d+ (minute|hour|day)s?\b", "[SPAN]"),
        (r"last just now", "last [SPAN] ago"),
        (r"(?m)^machine   .*$", "machine   [HOST]"),
        (r"`[^`]*`, and this is `[^`]*`", "`[HOST]`, and this is `[HOST]`"),
        (r"\b[0-9a-f]{64}\b|approve \[ID\] [0-9a-f]{12}", "[DIGEST]"),
    ] {
        text = regex::Regex::new(pattern).unwrap().replace_all(&text, word).into_owned();
    }
    text
}

fn status(shop: &Workshop, id: &str) -> String {
    shown(&shop.home, &shop.run(&["status", id]))
}

/// A run that is held at vim.
fn held(shop: &Workshop) -> (Child, String) {
    shop.put("hold", "vim");
    let catalog = shop.catalog();
    let start = ["--json", "start", "web", "--yes", "--jobs", "1"];
    let words = [&["--catalog", catalog.to_str().unwrap()], &start[..]].concat();
    let child = shop.home.command(&words).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the wait", || shop.tries("vim") == 1);
    let id = shop.home.latest();
    (child, id)
}

#[test]
fn of_a_fresh_session() {
    let shop = Workshop::new();
    let mut screen = shop.on_screen("start web");
    screen.sees("Which editor?");
    let id = shop.home.latest();
    insta::assert_snapshot!(status(&shop, &id), @r#"
    exit 0
    --- stdout
    session   [ID] (web)
    machine   [HOST]
    status    active
    phase     gather_requirements (3 of 6), for [SPAN]
    progress  33%
    started   [TIME]
    updated   [TIME]
    phases    session_check        passed, [SPAN]
              stack_selection      passed, [SPAN]
    next      somebody is at its questions
    --- stderr
    "#);
    screen.types(crate::harness::screen::CTRL_C);
    screen.ends(4);
}

#[test]
fn of_one_that_is_half_way() {
    let shop = Workshop::new();
    // Tasks that took some time before tell how long they may take now.
    let first = shop.session(0, &["start", "web", "--yes", "--jobs", "1"]);
    for thing in ["base", "vim", "database"] {
        shop.take("made", thing);
        shop.take("tried", thing);
    }
    let (mut child, id) = held(&shop);
    assert_ne!(first, id);
    insta::assert_snapshot!(status(&shop, &id), @r#"
    exit 0
    --- stdout
    session   [ID] (web)
    machine   [HOST]
    status    active
    phase     execute (5 of 6), for [SPAN]
    progress  72%
    tasks     1 of 3 tasks settled
    pace      [SPAN] a task, about [SPAN] left
    started   [TIME]
    updated   [TIME]
    phases    session_check        passed, [SPAN]
              stack_selection      passed, [SPAN]
              gather_requirements  passed, [SPAN]
              present_plan         passed, [SPAN]
    done      base 1.2.3
    left      vim, database
    running   vim: mkdir -p ~/made ~/tried; echo try >> ~/tried/vim …
    next      command 1 of vim: it is running
    --- stderr
    "#);
    let told = shop.home.json(&["status", &id]);
    assert_eq!(told["status"], "active");
    assert_eq!(told["progress"]["tasks_settled"], 1);
    assert_eq!(told["current"][0]["task_id"], "vim");
    for known in ["phase_seconds", "average_task_seconds", "estimated_remaining_seconds"] {
        assert!(told["timing"][known].as_f64().unwrap() > 0.0, "{known}: {told:#}");
    }
    assert!(told["current"][0]["usual_seconds"].as_f64().unwrap() > 0.0);
    shop.take("hold", "vim");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn of_one_that_failed() {
    let shop = Workshop::new();
    shop.put("broken", "vim");
    let id = shop.session(3, &["start", "web", "--yes", "--jobs", "1"]);
    insta::assert_snapshot!(status(&shop, &id), @r#"
    exit 0
    --- stdout
    session   [ID] (web)
    machine   [HOST]
    status    failed
    phase     execute (5 of 6), for [SPAN]
    progress  72%
    tasks     1 of 3 tasks settled
    pace      [SPAN] a task, about [SPAN] left
    started   [TIME]
    updated   [TIME]
    phases    session_check        passed, [SPAN]
              stack_selection      passed, [SPAN]
              gather_requirements  passed, [SPAN]
              present_plan         passed, [SPAN]
    done      base 1.2.3
    left      database
    failed    vim: mkdir -p ~/made ~/tried; echo try >> ~/tried/vim …
              exit code 3: it is broken (unknown)
              Its output says more: `provision logs` shows it.
    gate      tasks_settled (MUST, failed): not yet: vim, database
    decision  vim: exit code 3: it is broken
    next      command 1 of vim: `provision resume [ID]` tries it again, with --skip passes it by
    --- stderr
    "#);
    let told = shop.home.json(&["status", &id]);
    let phases: Vec<_> = told["phases"].as_array().unwrap().iter().collect();
    assert_eq!(phases.len(), 4);
    for phase in phases {
        assert_eq!(phase["checkpoint"], "passed");
        assert!(phase["duration_seconds"].is_number(), "{phase}");
    }
    assert_eq!(told["failed"][0]["error_type"], "unknown");
    let tasks: Vec<_> = told["tasks"].as_array().unwrap().iter().map(|t| &t["status"]).collect();
    assert_eq!(tasks, ["completed", "failed", "pending"]);
}

#[test]
fn of_one_whose_verification_failed_and_of_one_that_nobody_could_verify() {
    let shop = Workshop::new();
    shop.put("odd", "vim");
    shop.put("mute", "base");
    let id = shop.session(3, &["start", "web", "--yes", "--jobs", "1"]);
    insta::assert_snapshot!(status(&shop, &id), @r#"
    exit 0
    --- stdout
    session   [ID] (web)
    machine   [HOST]
    status    failed
    phase     execute (5 of 6), for [SPAN]
    progress  72%
    tasks     1 of 3 tasks settled
    pace      [SPAN] a task, about [SPAN] left
    started   [TIME]
    updated   [TIME]
    phases    session_check        passed, [SPAN]
              stack_selection      passed, [SPAN]
              gather_requirements  passed, [SPAN]
              present_plan         passed, [SPAN]
    done      base 1.2.3
    doubtful  base: not verified yet: it said nothing
    left      database
    failed    vim: if [ -e ~/slow/vim ]; then sleep 60; fi; if [ -e ~/down/vim ]; then echo "connect: Connection refused"; exit 1; fi; if [ -e ~/mute/vim ]; then exit 0; fi; if [ -e ~/odd/vim ]; then echo it looks odd >&2; exit 1; fi; echo works
              exit code 1: it looks odd (verification_failed)
              Every command succeeded, and yet the check afterwards did not.
    gate      tasks_settled (MUST, failed): not yet: vim, database
              verifications_passed (SHOULD, failed): deferred: base
    decision  vim: verification failed: exit code 1: it looks odd
    next      the verification of vim: `provision resume [ID]` tries it again, with --skip passes it by; `provision override [ID] vim --reason TEXT` takes it as it is
    --- stderr
    "#);
}

#[test]
fn of_one_that_is_paused() {
    let shop = Workshop::new();
    let (mut child, id) = held(&shop);
    shop.said(0, &["pause", &id, "--reason", "lunch"]);
    shop.take("hold", "vim");
    assert_eq!(child.wait().unwrap().code(), Some(4));
    insta::assert_snapshot!(status(&shop, &id), @r#"
    exit 0
    --- stdout
    session   [ID] (web)
    machine   [HOST]
    status    paused
    phase     execute (5 of 6), for [SPAN]
    progress  77%
    tasks     2 of 3 tasks settled
    pace      [SPAN] a task, about [SPAN] left
    started   [TIME]
    updated   [TIME]
    phases    session_check        passed, [SPAN]
              stack_selection      passed, [SPAN]
              gather_requirements  passed, [SPAN]
              present_plan         passed, [SPAN]
    done      base 1.2.3, vim 1.2.3
    left      database
    because   lunch (at command 1 of database)
    gate      tasks_settled (MUST, pending): not yet: database
    next      command 1 of database: `provision resume [ID]` goes on there
    --- stderr
    "#);
}

#[test]
fn of_one_that_is_stalled() {
    let shop = Workshop::new();
    let (mut child, id) = held(&shop);
    // Somebody is at work on it, and has heard nothing for long.
    if let Some(library) = faketime() {
        let output = at(&library, &shop.home, "+20m", &["status", &id]);
        insta::assert_snapshot!(shown(&shop.home, &output), @r#"
        exit 0
        --- stdout
        session   [ID] (web)
        machine   [HOST]
        status    possibly_stalled
        phase     execute (5 of 6), for [SPAN]
        progress  72%
        tasks     1 of 3 tasks settled
        pace      [SPAN] a task, about [SPAN] left
        started   [TIME]
        updated   [TIME]
        phases    session_check        passed, [SPAN]
                  stack_selection      passed, [SPAN]
                  gather_requirements  passed, [SPAN]
                  present_plan         passed, [SPAN]
        done      base 1.2.3
        left      vim, database
        running   vim: mkdir -p ~/made ~/tried; echo try >> ~/tried/vim …
        stalled   vim: no output for [SPAN]
        gate      tasks_settled (MUST, pending): not yet: vim, database
        next      command 1 of vim: it has been silent for long; `provision logs [ID] vim` shows what it wrote, and `provision pause [ID]` has nothing more begun
        --- stderr
        "#);
    }
    // Nobody is at work on it, and it says that it is in progress.
    child.kill().unwrap();
    child.wait().unwrap();
    insta::assert_snapshot!(status(&shop, &id), @r#"
    exit 0
    --- stdout
    session   [ID] (web)
    machine   [HOST]
    status    possibly_stalled
    phase     execute (5 of 6), for [SPAN]
    progress  72%
    tasks     1 of 3 tasks settled
    pace      [SPAN] a task, about [SPAN] left
    started   [TIME]
    updated   [TIME]
    phases    session_check        passed, [SPAN]
              stack_selection      passed, [SPAN]
              gather_requirements  passed, [SPAN]
              present_plan         passed, [SPAN]
    done      base 1.2.3
    left      vim, database
    last ran  vim: mkdir -p ~/made ~/tried; echo try >> ~/tried/vim …
    gate      tasks_settled (MUST, pending): not yet: vim, database
    next      command 1 of vim: it was left running; `provision resume [ID]` takes it up
    --- stderr
    "#);
    shop.take("hold", "vim");
    shop.session(0, &["resume", &id]);
}

/// Twice as long as it took before, but not less than a minute: quick ones are not suspected at once.
#[test]
fn a_silence_is_long_by_what_is_known_of_the_command() {
    let Some(library) = faketime() else { return };
    let shop = Workshop::new();
    shop.session(0, &["start", "web", "--yes", "--jobs", "1"]);
    for thing in ["base", "vim", "database"] {
        shop.take("made", thing);
        shop.take("tried", thing);
    }
    let (mut child, id) = held(&shop);
    for (offset, status) in [("+20s", "active"), ("+90s", "possibly_stalled")] {
        let output = at(&library, &shop.home, offset, &["--json", "status", &id]);
        let told: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(told["status"], status, "{offset}: {:#}", told["current"]);
    }
    shop.take("hold", "vim");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn of_one_that_is_complete() {
    let shop = Workshop::new();
    shop.put("made", "base");
    let id = shop.session(0, &["start", "web", "--yes", "--jobs", "1"]);
    insta::assert_snapshot!(status(&shop, &id), @r#"
    exit 0
    --- stdout
    session   [ID] (web)
    machine   [HOST]
    status    completed
    phase     completion (6 of 6)
    progress  100%
    tasks     3 of 3 tasks settled
    pace      [SPAN] a task
    started   [TIME]
    updated   [TIME]
    took      [SPAN]
    phases    session_check        passed, [SPAN]
              stack_selection      passed, [SPAN]
              gather_requirements  passed, [SPAN]
              present_plan         passed, [SPAN]
              execute              passed, [SPAN]
              completion           passed, [SPAN]
    done      vim 1.2.3, database 1.2.3
    there     base 1.2.3
    next      nothing is left to do; `provision expand [ID] TASK…` adds tools
    --- stderr
    "#);
    let added = shop.session(0, &["expand", &id, "shade", "--yes"]);
    let output = shop.run(&["status", &added, "--chain"]);
    let text = shown(&shop.home, &output);
    let (_, chain) = text.split_once("\nchain").unwrap();
    insta::assert_snapshot!(format!("chain{chain}"), @r#"
    chain     [ID] (web)
                brought vim, database
                found base
              [ID] (custom), adds to [ID]
                brought lamp, shade
    --- stderr
    "#);
}

#[test]
fn of_one_of_an_earlier_program() {
    let text = include_str!("fixtures/legacy/mid_session.json");
    let home = Home::new().with_document("active", ID, text.replace("in_progress", "paused"));
    let home = home.damaged();
    insta::assert_snapshot!(shown(&home, &home.run(&["status", ID])), @r#"
    exit 0
    --- stdout
    session   [ID] (fullstack-web)
    machine   [HOST]
    status    paused
    phase     execute (5 of 6)
    progress  75%
    tasks     2 of 4 tasks settled
    pace      [SPAN] a task, about [SPAN] left
    started   [TIME]
    updated   [TIME]
    phases    stack_selection
              gather_requirements
              present_plan
    done      homebrew 4.2.0, nvm
    left      postgresql
    failed    cursor: brew install --cask cursor
              Error: Cask 'cursor' requires a password to be set. (permission_required)
              Run with password prompt or skip
    gate      tasks_settled (MUST, failed): not yet: cursor, postgresql
    decision  cursor: Cursor installation failed with permission error
    next      command 1 of cursor: `provision resume [ID]` tries it again, with --skip passes it by
    --- stderr
    warning: legacy session format, limited resumption context (version 1.0.0)
    warning: meta.machine: it was recorded on `[HOST]`, and this is `[HOST]`
    hint: go on with it where it began, or run its plan here as a new session
    "#);
}

#[test]
fn of_one_that_is_abandoned() {
    let Some(library) = faketime() else { return };
    let shop = Workshop::new();
    let (mut child, id) = held(&shop);
    child.kill().unwrap();
    child.wait().unwrap();
    shop.take("hold", "vim");
    wait_until("its end", || shop.is_made("vim"));
    let after = || at(&library, &shop.home, "+8d", &["status", &id]);
    wait_until("the supervisor's end", || after().stdout.contains("abandoned"));
    insta::assert_snapshot!(shown(&shop.home, &after()), @r#"
    exit 0
    --- stdout
    session   [ID] (web)
    machine   [HOST]
    status    abandoned
    phase     execute (5 of 6), for [SPAN]
    progress  72%
    tasks     1 of 3 tasks settled
    pace      [SPAN] a task, about [SPAN] left
    started   [TIME]
    updated   [TIME]
    phases    session_check        passed, [SPAN]
              stack_selection      passed, [SPAN]
              gather_requirements  passed, [SPAN]
              present_plan         passed, [SPAN]
    done      base 1.2.3
    left      vim, database
    last ran  vim: mkdir -p ~/made ~/tried; echo try >> ~/tried/vim …
    gate      tasks_settled (MUST, pending): not yet: vim, database
    next      command 1 of vim: it was left running; `provision resume [ID]` takes it up
    --- stderr
    warning: no activity for [SPAN]: it counts as abandoned
    hint: `provision resume [ID]` resumes it, `provision prune` cleans up
    "#);
}

#[test]
fn of_one_that_nobody_knows_the_end_of() {
    let home = Home::new();
    let tasks = json!([{"id": "a", "commands": [{"command": "kill -9 $PPID"}]}, {"id": "b"}]);
    assert_eq!(home.apply(&tasks, &["--jobs", "1"]).code, Some(4));
    let id = home.latest();
    insta::assert_snapshot!(shown(&home, &home.run(&["status", &id])), @r#"
    exit 0
    --- stdout
    session   [ID] (custom)
    machine   [HOST]
    status    paused
    phase     execute (5 of 6), for [SPAN]
    progress  66%
    tasks     0 of 2 tasks settled
    started   [TIME]
    updated   [TIME]
    phases    session_check        passed, [SPAN]
              stack_selection      passed, [SPAN]
              gather_requirements  passed, [SPAN]
              present_plan         passed, [SPAN]
    left      a, b
    because   command 1 of a: nobody knows how it ended: its supervisor was killed while it was running
    gate      tasks_settled (MUST, pending): not yet: a, b
    decision  a: command 1 of a failed: nobody knows how it ended: its supervisor was killed while it was running
    next      command 1 of a: nobody knows how it ended; `provision resume [ID]` with --interrupted retry or skip decides
    --- stderr
    "#);
}

/// Anybody can write a document: what it says may be absurd, and is read all the same.
#[test]
fn absurd_times_are_no_reason_to_fail() {
    let mut document: Value =
        serde_json::from_str(include_str!("fixtures/legacy/mid_session.json")).unwrap();
    let command = document["tasks"]["nvm"]["commands"][0].clone();
    document["tasks"]["nvm"]["commands"] = json!([command, command]);
    for command in document["tasks"]["nvm"]["commands"].as_array_mut().unwrap() {
        command["duration_ms"] = json!(u64::MAX);
    }
    let home = Home::new().with_document("active", ID, document.to_string()).damaged();
    assert_eq!(home.run(&["status", ID]).code, Some(0));
}
