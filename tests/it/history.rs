//! `history`: readable, raw, followed, verified.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use serde_json::json;

use crate::harness::{Home, ID, Output, walk_script};

#[test]
fn a_person_reads_a_line_for_each_event() {
    let home = Home::new();
    let script = home.script("script.jsonl", walk_script().into_iter().take(20));
    let mut command = home.command(&["__script", "--session", ID, script.to_str().unwrap()]);
    command.env("AGENTIC_PROVISION_CLOCK", "2026-02-02T14:30:52Z");
    assert_eq!(Output::of(&mut command).code, Some(0));
    let output = home.run(&["history"]);
    let shown: Vec<_> = output.stdout.lines().skip(11).collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
       12  2026-02-02 14:30:52  phase_completed        gather_requirements
       13  2026-02-02 14:30:52  plan_presented         4 tasks dddddddddddd
       14  2026-02-02 14:30:52  plan_approved          dddddddddddd
       15  2026-02-02 14:30:52  phase_completed        present_plan
       16  2026-02-02 14:30:52  task_started           jq
       17  2026-02-02 14:30:52  command_started        jq: install jq 0
       18  2026-02-02 14:30:52  command_finished       jq: install (exit 0, 1234 ms)
       19  2026-02-02 14:30:52  command_started        jq: install jq 1
       20  2026-02-02 14:30:52  command_finished       jq: install (exit 0, 1234 ms)
    ");
}

#[test]
fn a_program_reads_the_lines_as_they_stand_on_disk() {
    let home = Home::new();
    let played = home.play(walk_script());
    let journal = fs::read_to_string(home.journal(ID)).unwrap();
    assert_eq!(home.run(&["--json", "history", ID]).stdout, journal);
    assert_eq!(played.stdout, journal, "what is told while recording is what is recorded");
}

#[test]
fn verifying_a_whole_record_says_how_much_was_checked() {
    let home = Home::new();
    home.play(walk_script());
    let output = home.run(&["history", "--verify"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(
        output.stdout,
        format!(
            "{ID}: {} lines verified, and the document follows from them\n",
            walk_script().len()
        )
    );
}

#[test]
fn an_edited_document_is_found_out() {
    let home = Home::new();
    home.play(walk_script());
    let path = home.document_path("completed", ID);
    let text = fs::read_to_string(&path).unwrap().replace("\"two of four\"", "\"all of them\"");
    fs::write(&path, text).unwrap();
    let output = home.run(&["history", "--verify"]);
    assert_eq!(output.code, Some(6));
    assert!(
        output.stderr.contains("meta.outcome.summary is \"all of them\", and was recorded as"),
        "{}",
        output.stderr
    );
}

#[test]
fn an_unfinished_last_line_is_named_and_ignored() {
    let home = Home::new();
    home.play(walk_script());
    let mut journal = fs::OpenOptions::new().append(true).open(home.journal(ID)).unwrap();
    journal.write_all(b"{\"seq\":99,\"timest").unwrap();
    let before = fs::read(home.journal(ID)).unwrap();
    for arguments in [vec!["status"], vec!["history"], vec!["history", "--verify"]] {
        let output = home.run(&arguments);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let expected = "was never finished and is ignored (17 bytes)";
        assert!(output.stderr.contains(expected), "{arguments:?}: {}", output.stderr);
    }
    assert_eq!(fs::read(home.journal(ID)).unwrap(), before, "readers cut nothing");
}

#[test]
fn following_shows_events_as_they_come_and_ends_with_the_run() {
    let home = Home::new();
    let all = walk_script().len();
    let walk = walk_script();
    let middle = [json!({"await_input": {}})];
    let mut recorder = home.start(walk[..5].iter().chain(&middle).chain(&walk[5..]).cloned());
    let mut told = BufReader::new(recorder.stdout.take().unwrap()).lines();
    for _ in 0..5 {
        told.next().unwrap().unwrap();
    }

    let mut follower =
        home.command(&["history", ID, "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = BufReader::new(follower.stdout.take().unwrap()).lines();
    for _ in 0..5 {
        shown.next().unwrap().unwrap();
    }
    // Only now does the recorder go on: what follows was recorded while it was followed.
    drop(recorder.stdin.take());
    let rest: Vec<_> = shown.map(Result::unwrap).collect();
    let expected = walk.iter().skip(5).take_while(|s| s["event"] != "session_paused").count() + 1;
    assert!(rest.len() >= expected && rest.len() <= all - 5, "{rest:#?}");
    assert!(follower.wait().unwrap().success());
    drop(told);
    recorder.wait().unwrap();
}
