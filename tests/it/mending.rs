//! What a crash, or someone's hand, left behind: reported by readers, mended by the next writer,
//! and never thrown away.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::harness::{Home, ID, walk_script};

/// A session that is not finished yet, and the rest of its script.
fn unfinished() -> Home {
    let home = Home::new();
    assert_eq!(home.play(walk_script().into_iter().take(20)).code, Some(0));
    home
}

/// Goes on with the session and sees that all is well afterwards.
fn finish(home: &Home) {
    let output = home.play(walk_script());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let output = home.run(&["history", ID, "--verify"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    assert_eq!(home.json(&["status"])["status"], "completed");
}

#[test]
fn an_unfinished_line_is_cut_off_by_the_next_writer() {
    let home = unfinished();
    let mut journal = fs::File::options().append(true).open(home.journal(ID)).unwrap();
    // Longer than any line that takes its place.
    journal.write_all(&vec![b'x'; 20_000]).unwrap();

    // The next writer dies, too, before it could tidy up.
    let steps = walk_script().into_iter().take(22).chain([json!({"await_input": {}})]);
    let mut child = home.start(steps);
    assert_eq!(BufReader::new(child.stdout.take().unwrap()).lines().take(22).count(), 22);
    child.kill().unwrap();
    child.wait().unwrap();
    let output = home.run(&["history", ID, "--verify"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    finish(&home);
}

#[test]
fn a_bad_last_line_is_put_aside_by_the_next_writer() {
    let home = unfinished();
    let mut journal = fs::File::options().append(true).open(home.journal(ID)).unwrap();
    journal.write_all(b"{\"seq\":21,\"event\":\"nonsense\"}\n").unwrap();
    let output = home.run(&["status"]);
    assert_eq!(output.code, Some(0));
    assert!(output.stderr.contains("line 21 of the journal is damaged"), "{}", output.stderr);
    assert_eq!(home.run(&["history", "--verify"]).code, Some(6));
    finish(&home);
    let aside = fs::read_to_string(home.record(ID).join("set-aside/journal-tail.1")).unwrap();
    assert!(aside.contains("nonsense"));
}

#[test]
fn a_lost_document_is_made_again_from_the_journal() {
    let home = unfinished();
    fs::remove_file(home.document_path("active", ID)).unwrap();
    let output = home.run(&["status"]);
    assert_eq!(output.code, Some(0));
    assert!(output.stderr.contains("the document is missing"), "{}", output.stderr);
    assert_eq!(home.json(&["sessions"])["sessions"][0]["id"], ID);
    finish(&home);
    assert!(home.document_path("completed", ID).exists());
}

#[test]
fn of_two_copies_the_newer_counts_and_the_other_is_put_aside() {
    let home = unfinished();
    let older = fs::read(home.record(ID).join("state.bak.json")).unwrap();
    fs::write(home.document_path("failed", ID), &older).unwrap();
    assert_eq!(home.json(&["sessions"])["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(home.json(&["status"])["phase"], "execute");
    finish(&home);
    assert!(!home.document_path("failed", ID).exists());
    assert_eq!(fs::read(home.record(ID).join("set-aside/failed.1")).unwrap(), older);
}

#[test]
fn a_document_on_the_wrong_shelf_is_carried_to_the_right_one() {
    let home = unfinished();
    fs::rename(home.document_path("active", ID), home.document_path("completed", ID)).unwrap();
    let session = &home.json(&["sessions"])["sessions"][0];
    assert_eq!(session["status"], "in_progress", "the status inside is the truth");
    assert_eq!(home.play(walk_script().into_iter().take(20)).code, Some(0));
    assert!(home.document_path("active", ID).exists());
    assert!(!home.document_path("completed", ID).exists());
}

#[test]
fn the_journal_of_another_session_is_not_taken_for_its_own() {
    let (home, other) = (unfinished().damaged(), unfinished());
    let journal = fs::read(other.journal(ID)).unwrap();
    assert_eq!(journal.len() as u64, fs::metadata(home.journal(ID)).unwrap().len());
    fs::write(home.journal(ID), journal).unwrap();
    let output = home.run(&["status", ID]);
    assert_eq!(output.code, Some(6));
    let expected = "line 20 is not the one the document was made from";
    assert!(output.stderr.contains(expected), "{}", output.stderr);
}

#[test]
fn a_document_that_points_outside_its_journal_is_damaged() {
    for offset in ["0", "10", "77", "99999999", "18446744073709551615"] {
        let home = unfinished().damaged();
        let path = home.document_path("active", ID);
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once("\"journal_offset\": ").unwrap();
        let (_, after) = rest.split_once(',').unwrap();
        fs::write(&path, format!("{before}\"journal_offset\": {offset},{after}")).unwrap();
        assert_eq!(home.run(&["status", ID]).code, Some(6), "offset {offset}");
    }
}

#[test]
fn numbers_at_their_limit_do_no_harm() {
    let mut document: serde_json::Value =
        serde_json::from_str(include_str!("fixtures/legacy/mid_session.json")).unwrap();
    document["resume_point"]["command_index"] = json!(u64::MAX);
    document["tasks"]["cursor"]["commands"][0]["attempts"] = json!(u32::MAX);
    document["tasks"]["cursor"]["commands"][0]["command_index"] = json!(u64::MAX);
    let home = Home::new().with_document("active", ID, document.to_string());
    assert_eq!(home.run(&["status"]).code, Some(0));
    let output =
        home.play([json!({"import": {}}), json!({"event": "task_started", "task_id": "cursor"})]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

#[test]
fn an_event_of_a_newer_program_is_refused_even_as_the_last_line() {
    let home = unfinished().damaged();
    let journal = fs::read_to_string(home.journal(ID)).unwrap();
    let last = journal.lines().last().unwrap();
    let chain = &last[last.len() - 66..last.len() - 2];
    let sealed = r#"{"seq":21,"timestamp":"2099-02-02T14:30:52.007Z","event":"warped""#;
    let mut sum = Sha256::new();
    sum.update(chain);
    sum.update(sealed);
    let chain = agentic_provision::model::Digest::of(sum.finalize().into());
    let line = format!("{sealed},\"chain\":\"{chain}\"}}\n");
    fs::write(home.journal(ID), journal + &line).unwrap();
    let before = fs::read(home.journal(ID)).unwrap();
    // Also by a recovery: nothing of it is damaged.
    for output in [
        home.run(&["status", ID]),
        home.play(walk_script()),
        home.run(&["recover", ID, "--yes"]),
        home.run(&["recover", ID, "--level", "3", "--resume-at", "jq", "--yes"]),
    ] {
        assert_eq!(output.code, Some(6), "{}", output.stderr);
        assert!(output.stderr.contains("line 21: it is not an event"), "{}", output.stderr);
        assert!(output.stderr.contains("update this one to use it"), "{}", output.stderr);
    }
    assert_eq!(fs::read(home.journal(ID)).unwrap(), before);
}

#[test]
fn nobody_goes_on_from_a_document_that_was_edited() {
    let edits = [
        ("\"status\": \"completed\"", "\"status\": \"pending\""),
        ("\"revision\": 21", "\"revision\": 25"),
    ];
    for (from, to) in edits {
        let home = Home::new().damaged();
        assert_eq!(home.play(walk_script().into_iter().take(21)).code, Some(0));
        let path = home.document_path("active", ID);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        fs::write(&path, text.replace(from, to)).unwrap();
        let before = fs::read(home.journal(ID)).unwrap();
        let output = home.play(walk_script());
        assert_eq!(output.code, Some(6), "{to}: {}", output.stdout);
        assert!(
            output.stderr.contains("does not say what was recorded: one of them was edited"),
            "{}",
            output.stderr
        );
        assert_eq!(fs::read(home.journal(ID)).unwrap(), before);
    }
}
