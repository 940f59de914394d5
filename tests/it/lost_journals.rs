//! Journals that are lost while commands ran: what ran is known from the attempts, and nothing of it
//! runs again unasked.

use std::{
    fs,
    process::{Child, Stdio},
};

use serde_json::{Value, json};

use crate::harness::{Home, processes::signal, wait_until};

/// A session with one long task, and a file that says which of its commands ran.
fn three_commands(home: &Home) -> String {
    let plan = home.plan(&json!([{"id": "a", "commands": [
        {"command": "echo c0 >> ran"}, {"command": "echo c1 >> ran"}, {"command": "echo c2 >> ran"}
    ]}]));
    assert_eq!(home.run(&["apply", plan.to_str().unwrap(), "--yes"]).code, Some(0));
    home.latest()
}

/// A session whose only command runs until there is a file `go`.
fn long_command(home: &Home) -> (Child, String) {
    let command =
        "touch begun; while test -e begun && ! test -e go; do sleep 0.02; done; echo done >> ran";
    let plan = home.plan(&json!([{"id": "a", "commands": [{"command": command}]}]));
    let mut runner = home.command(&["apply", plan.to_str().unwrap(), "--yes"]);
    let runner = runner.stderr(Stdio::null()).spawn().unwrap();
    wait_until("the command's begin", || home.path().join("begun").exists());
    (runner, home.latest())
}

/// Leaves nothing of the session but its first lines and its attempts.
pub(crate) fn leave_lines(home: &Home, id: &str, lines: usize) {
    for shelf in ["active", "completed", "failed"] {
        let _ = fs::remove_file(home.document_path(shelf, id));
    }
    let _ = fs::remove_file(home.record(id).join("state.bak.json"));
    let journal = fs::read_to_string(home.journal(id)).unwrap();
    let kept: String = journal.split_inclusive('\n').take(lines).collect();
    fs::write(home.journal(id), kept).unwrap();
}

/// The number of the event that begins command `index`.
fn start_of(home: &Home, id: &str, index: u64) -> u64 {
    let events = home.events(id);
    let begins = |event: &&Value| {
        event["event"] == "command_started" && event["command_index"] == json!(index)
    };
    events.iter().find(begins).unwrap()["seq"].as_u64().unwrap()
}

fn ran(home: &Home) -> String {
    fs::read_to_string(home.path().join("ran")).unwrap()
}

#[test]
fn a_record_is_not_made_again_while_a_command_of_it_runs() {
    let home = Home::new().damaged();
    let (mut runner, id) = long_command(&home);
    assert_eq!(home.run(&["recover", &id, "--yes"]).code, Some(0), "nothing is wrong with it");
    runner.kill().unwrap();
    runner.wait().unwrap();
    // All is lost but the attempt.
    let journal = home.journal(&id);
    fs::write(&journal, "").unwrap();
    fs::remove_file(home.document_path("active", &id)).unwrap();
    fs::remove_file(home.record(&id).join("state.bak.json")).unwrap();
    let output = home.run(&["recover", &id, "--resume-at", "a", "--yes"]);
    assert_eq!(output.code, Some(5), "{}", output.stderr);
    assert!(output.stderr.contains("command 1 of a of session"), "{}", output.stderr);
    fs::write(home.path().join("go"), "").unwrap();
    wait_until("its end", || home.path().join("ran").exists());
    wait_until("the supervisor's end", || {
        home.run(&["recover", &id, "--resume-at", "a:1", "--yes"]).code == Some(0)
    });
    assert_eq!(home.run(&["resume", &id]).code, Some(0));
    assert_eq!(fs::read_to_string(home.path().join("ran")).unwrap(), "done\n");
}

#[test]
fn what_may_have_run_is_not_run_again_unasked() {
    // Its result is empty, its claim cannot be read, or is of another boot of the machine.
    for damage in ["result", "claim", "boot"] {
        let home = Home::new();
        let id = three_commands(&home);
        let (first, last) = (start_of(&home, &id, 0), start_of(&home, &id, 2));
        leave_lines(&home, &id, usize::try_from(first).unwrap() - 1);
        let attempt = home.record(&id).join("attempts").join(last.to_string());
        match damage {
            "boot" => {
                let claim = fs::read_to_string(attempt.join("claim")).unwrap();
                let mut claim: Value = serde_json::from_str(&claim).unwrap();
                claim["boot_id"] = json!("another");
                fs::write(attempt.join("claim"), claim.to_string()).unwrap();
            }
            name => fs::write(attempt.join(name), "").unwrap(),
        }
        let told = home.json(&["recover", &id, "--yes"]);
        assert_eq!(told["level"], 2, "{damage}");
        let output = home.run(&["resume", &id]);
        assert_eq!(output.code, Some(4), "{damage}: {}", output.stderr);
        assert_eq!(ran(&home), "c0\nc1\nc2\n", "{damage}");
        assert_eq!(home.run(&["history", &id, "--verify"]).code, Some(0), "{damage}");
        // A person may say that it is to run again.
        let output = home.run(&["resume", &id, "--interrupted", "retry"]);
        assert_eq!(output.code, Some(0), "{damage}: {}", output.stderr);
        assert_eq!(ran(&home), "c0\nc1\nc2\nc2\n", "{damage}");
    }
}

#[test]
fn what_was_done_before_what_ran_is_not_run_again() {
    let home = Home::new();
    let id = three_commands(&home);
    let (first, second) = (start_of(&home, &id, 0), start_of(&home, &id, 1));
    leave_lines(&home, &id, usize::try_from(first).unwrap() - 1);
    // Nobody can say any more what the second attempt was; that the third began says enough.
    fs::write(home.record(&id).join(format!("attempts/{second}/claim")), "").unwrap();
    assert_eq!(home.json(&["recover", &id, "--yes"])["level"], 2);
    let output = home.run(&["resume", &id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(ran(&home), "c0\nc1\nc2\n");
    let document = home.document("completed", &id);
    assert_eq!(document["tasks"]["a"]["commands"][1]["status"], "skipped");
    assert_eq!(document["tasks"]["a"]["commands"][1]["command"], "echo c1 >> ran");
}

#[test]
fn lines_that_are_missing_at_the_end_are_missed() {
    let home = Home::new();
    let id = three_commands(&home);
    let second = usize::try_from(start_of(&home, &id, 1)).unwrap();
    // The last lines were cut off as if they had never been there.
    leave_lines(&home, &id, second - 1);
    for arguments in [&["status", &id][..], &["resume", &id]] {
        let output = home.run(arguments);
        assert_eq!(output.code, Some(6), "{}", output.stderr);
        assert!(output.stderr.contains("began after that"), "{}", output.stderr);
    }
    assert_eq!(home.json(&["recover", &id, "--yes"])["level"], 2);
    let output = home.run(&["resume", &id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(ran(&home), "c0\nc1\nc2\n");
    let logs = home.run(&["logs", &id]);
    assert_eq!(logs.code, Some(0), "{}", logs.stderr);
}

#[test]
fn a_journal_that_is_lost_twice_is_recovered_twice() {
    let home = Home::new();
    let plan = home.plan(&json!([{"id": "a", "commands": [
        {"command": "echo c0 >> ran; echo said"}, {"command": "test -e go"}, {"command": "echo c2 >> ran"}
    ]}]));
    assert_eq!(home.run(&["apply", plan.to_str().unwrap(), "--yes"]).code, Some(3));
    let id = home.latest();
    for life in 0..3 {
        fs::remove_file(home.journal(&id)).unwrap();
        let told = home.json(&["recover", &id, "--yes"]);
        assert_eq!(told["level"], 1, "life {life}");
        assert_eq!(home.run(&["resume", &id]).code, Some(3), "life {life}");
        assert_eq!(home.run(&["history", &id, "--verify"]).code, Some(0), "life {life}");
        let logs = home.run(&["logs", &id, "--raw"]);
        assert!(logs.stdout.contains("said"), "life {life}: {}", logs.stdout);
    }
    fs::write(home.path().join("go"), "").unwrap();
    assert_eq!(home.run(&["resume", &id]).code, Some(0));
    assert_eq!(ran(&home), "c0\nc2\n");
}

#[test]
fn a_command_that_was_recorded_and_never_begun_is_begun() {
    let home = Home::new();
    let id = three_commands(&home);
    let second = usize::try_from(start_of(&home, &id, 1)).unwrap();
    // The runner died behind the record of the second command's start.
    let attempts = home.record(&id).join("attempts");
    for attempt in fs::read_dir(&attempts).unwrap().map(Result::unwrap) {
        let seq: usize = attempt.file_name().to_str().unwrap().parse().unwrap();
        if seq >= second {
            fs::remove_dir_all(attempt.path()).unwrap();
        }
    }
    fs::write(home.path().join("ran"), "c0\n").unwrap();
    leave_lines(&home, &id, second);
    assert_eq!(home.run(&["pause", &id]).code, Some(0), "which makes a document of it");
    // Then the journal is damaged where the document cannot be told from it.
    let mut journal = fs::read(home.journal(&id)).unwrap();
    journal[900] ^= 1;
    fs::write(home.journal(&id), journal).unwrap();
    assert_eq!(home.json(&["recover", &id, "--yes"])["level"], 1);
    let output = home.run(&["resume", &id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(ran(&home), "c0\nc1\nc2\n");
}

#[test]
fn paused_session_keeps_its_reason_when_an_attempt_has_no_place() {
    let home = Home::new();
    let id = three_commands(&home);
    let attempts = home.record(&id).join("attempts");
    let [second, third] = [1, 2].map(|index| start_of(&home, &id, index));
    for seq in [second, third] {
        fs::remove_dir_all(attempts.join(seq.to_string())).unwrap();
    }
    leave_lines(&home, &id, usize::try_from(second).unwrap() - 1);
    assert_eq!(home.run(&["pause", &id]).code, Some(0));
    let paused = home.events(&id).len();
    // The claim of a later attempt is unreadable.
    let later = attempts.join((paused + 1).to_string());
    fs::create_dir(&later).unwrap();
    fs::write(later.join("claim"), "").unwrap();
    leave_lines(&home, &id, paused);
    assert_eq!(home.json(&["recover", &id, "--yes"])["level"], 2);
    let status = home.json(&["status", &id]);
    assert_eq!(status["status"], "paused", "{status}");
    let document = home.document("active", &id);
    assert_eq!(document["lifecycle"]["paused_reason"], "user_request", "{document}");
    assert_eq!(document["resume_point"]["action"], "choose", "{document}");
}

#[test]
fn a_question_stays_until_it_is_answered() {
    for detection in [json!(null), json!({"check_command": "false"})] {
        let home = Home::new();
        let mut task = json!({"id": "a", "commands": [{"command": "echo c0 >> ran"}]});
        if !detection.is_null() {
            task["detection"] = detection.clone();
        }
        assert_eq!(home.apply(&json!([task]), &[]).code, Some(0));
        let id = home.latest();
        // What was lost begins before the task did, and nobody can say what ran.
        let first = start_of(&home, &id, 0);
        let starts = |event: &Value| event["event"] == "task_started";
        let begun = home.events(&id).iter().position(starts).unwrap();
        leave_lines(&home, &id, begun);
        fs::write(home.record(&id).join(format!("attempts/{first}/claim")), "").unwrap();
        assert_eq!(home.json(&["recover", &id, "--yes"])["level"], 2, "{detection}");
        for _ in 0..2 {
            let output = home.run(&["resume", &id]);
            assert_eq!(output.code, Some(4), "{detection}: {}", output.stderr);
            assert_eq!(ran(&home), "c0\n", "{detection}");
        }
        let output = home.run(&["resume", &id, "--interrupted", "retry"]);
        assert_eq!(output.code, Some(0), "{detection}: {}", output.stderr);
        assert_eq!(ran(&home), "c0\nc0\n", "{detection}");
    }
}

#[test]
fn a_second_try_that_was_lost_is_not_followed_by_a_third() {
    let home = Home::new();
    let tasks = json!([{"id": "a", "commands": [{"command": "echo c0 >> ran; exit 1"}]}]);
    assert_eq!(home.apply(&tasks, &[]).code, Some(3));
    let id = home.latest();
    let known = home.events(&id).len();
    assert_eq!(home.run(&["resume", &id]).code, Some(3));
    let begins = |event: &&Value| event["event"] == "command_started";
    let events = home.events(&id);
    let second = &events.iter().filter(begins).nth(1).unwrap()["seq"];
    fs::write(home.record(&id).join(format!("attempts/{second}/claim")), "").unwrap();
    leave_lines(&home, &id, known);
    assert_eq!(home.json(&["recover", &id, "--yes"])["level"], 2);
    // Whoever resumes is told once more that it failed, before anything is tried again.
    let output = home.run(&["resume", &id]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert_eq!(ran(&home), "c0\nc0\n");
}

#[test]
fn where_several_commands_ran_and_none_can_be_told_only_a_person_knows() {
    let home = Home::new();
    let id = three_commands(&home);
    let first = start_of(&home, &id, 0);
    for index in 1..3 {
        let seq = start_of(&home, &id, index);
        fs::write(home.record(&id).join(format!("attempts/{seq}/claim")), "").unwrap();
    }
    leave_lines(&home, &id, usize::try_from(first).unwrap() - 1);
    let output = home.run(&["recover", &id, "--yes", "--json"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    let told: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(told["level"], 3);
    let output = home.run(&["recover", &id, "--yes", "--level", "2"]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert_eq!(home.json(&["recover", &id, "--resume-at", "a:3", "--yes"])["level"], 3);
    assert_eq!(home.run(&["resume", &id]).code, Some(0));
    assert_eq!(ran(&home), "c0\nc1\nc2\n");
}

#[test]
fn what_outlived_its_supervisor_is_seen_though_its_claim_is_lost() {
    let home = Home::new().damaged();
    let (mut runner, id) = long_command(&home);
    let attempt = home.record(&id).join(format!("attempts/{}", start_of(&home, &id, 0)));
    let claim: Value = serde_json::from_slice(&fs::read(attempt.join("claim")).unwrap()).unwrap();
    runner.kill().unwrap();
    runner.wait().unwrap();
    signal(u32::try_from(claim["pid"].as_u64().unwrap()).unwrap(), "KILL");
    fs::write(attempt.join("claim"), "").unwrap();
    leave_lines(&home, &id, 0);
    let recover = || home.run(&["recover", &id, "--resume-at", "a:1", "--yes"]);
    wait_until("the supervisor's end", || recover().stderr.contains("still runs"));
    assert_eq!(recover().code, Some(5));
    fs::write(home.path().join("go"), "").unwrap();
    wait_until("the command's end", || recover().code == Some(0));
    assert_eq!(ran(&home), "done\n");
}
