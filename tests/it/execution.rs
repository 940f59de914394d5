//! The execute phase: what runs, in which order, and what the document says of it.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Home, Output, skip, wait_until};

fn task<'a>(document: &'a Value, id: &str) -> &'a Value {
    &document["tasks"][id]
}

#[test]
fn a_plan_runs_to_its_end_and_the_document_says_everything() {
    let home = Home::new();
    let plan = home.plan_file(&json!({
        "format": "plan-v1",
        "profile": "demo",
        "user_data": {"git_name": {"value": "Ada"}},
        "tasks": [
            {
                "id": "tool", "category": "tools", "path": ["~/bin"],
                "detection": {
                    "check_command": "command -v the-tool", "version_command": "the-tool --version"
                },
                "commands": [
                    {"command": "mkdir bin", "description": "Make a place"},
                    {
                        "command": "printf '#!/bin/sh\\necho the-tool $V\\n' > bin/the-tool; chmod 755 bin/the-tool; echo installed",
                        "env": {"V": "1.2.3"}
                    }
                ],
                "verification": {"command": "the-tool", "expected_pattern": "^the-tool"}
            },
            {"id": "shell", "detection": {"check_command": "command -v sh"}},
            {"id": "user", "depends_on": ["tool"], "commands": [{"command": "the-tool; pwd; echo $GIT_NAME"}]}
        ]
    }));
    let output = home.run(&["apply", plan.to_str().unwrap(), "--yes"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.stdout, "");
    let document = home.latest_document();
    let id = document["meta"]["id"].as_str().unwrap();
    assert!(home.document_path("completed", id).exists());
    assert_eq!(document["meta"]["status"], "completed");
    assert_eq!(document["meta"]["agent"], "unattended");
    assert_eq!(document["meta"]["outcome"]["summary"], "tasks: 3 completed");
    assert_eq!(document["phase"]["current"], "completion");
    let phases: Vec<_> = document["phase"]["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["phase"])
        .collect();
    assert_eq!(
        phases,
        [
            "session_check",
            "stack_selection",
            "gather_requirements",
            "present_plan",
            "execute",
            "completion"
        ]
    );
    assert_eq!(document["profile"]["selected"], "demo");
    assert_eq!(document["user_data"]["git_name"], "Ada");
    assert_eq!(document["plan"]["approved_by"], "unattended");
    assert_eq!(document["plan"]["categories"][0], json!({"name": "tools", "items": ["tool"]}));
    assert_eq!(document["resume_point"], Value::Null);
    assert!(
        document["checkpoints"]
            .as_object()
            .unwrap()
            .values()
            .all(|state| state == "passed" || state == "pending")
    );

    let tool = task(&document, "tool");
    assert_eq!(tool["status"], "completed");
    // Printed without a version set: the name alone.
    assert_eq!(tool["result"]["version"], "the-tool");
    let commands = tool["commands"].as_array().unwrap();
    let kinds: Vec<_> =
        commands.iter().map(|c| (&c["kind"], &c["command_index"], &c["status"])).collect();
    let (null, failed, success) = (&Value::Null, &json!("failed"), &json!("success"));
    assert_eq!(
        kinds,
        [
            (&json!("detection"), null, failed),
            (null, &json!(0), success),
            (null, &json!(1), success),
            (&json!("verification"), null, success),
            (&json!("version"), null, success),
        ]
    );
    assert_eq!(commands[1]["description"], "Make a place");
    assert_eq!(commands[2]["output_summary"], "installed");
    assert_eq!(commands[2]["attempts"], 1);
    let log = commands[2]["log"].as_str().unwrap();
    assert_eq!(
        fs::read_to_string(home.record(id).join(log).join("output.log")).unwrap(),
        "installed\n"
    );
    let shell = task(&document, "shell");
    assert_eq!(shell["status"], "completed");
    assert_eq!(shell["result"]["already_installed"], true);
    assert_eq!(shell["result"]["path"], "/usr/bin/sh");
    // What it depends on is first in its PATH.
    let output = home.run(&["logs", id, "user", "--raw"]);
    assert_eq!(output.stdout, format!("the-tool\n{}\nAda\n", home.path().display()));
}

#[test]
fn events_are_told_as_they_stand_in_the_journal_and_the_run_has_the_last_word() {
    let home = Home::new();
    let plan = home.plan(&json!([{"id": "it", "commands": [{"command": "echo out; exit 3"}]}]));
    let output = home.run(&["--json", "apply", plan.to_str().unwrap(), "--yes"]);
    assert_eq!(output.code, Some(3));
    assert_eq!(output.stderr, "");
    let id = home.latest();
    let journal = fs::read_to_string(home.journal(&id)).unwrap();
    let (told, last) = output.stdout.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(format!("{told}\n"), journal);
    let last: Value = serde_json::from_str(last).unwrap();
    let ended = json!({"event": "run_ended", "session_id": id, "status": "failed", "exit_code": 3});
    assert_eq!(last, ended);
}

#[test]
fn a_failure_ends_the_session_and_resume_goes_on_at_the_exact_command() {
    let home = Home::new();
    let tasks = json!([
        {"id": "one", "commands": [
            {"command": "echo one.1 >> ran"},
            {"command": "echo one.2 >> ran; test -e mended"},
            {"command": "echo one.3 >> ran"}
        ]},
        {"id": "two", "commands": [{"command": "echo two.1 >> ran"}]}
    ]);
    let output = home.apply(&tasks, &["--jobs", "1"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let id = home.latest();
    let document = home.document("failed", &id);
    assert_eq!(document["resume_point"]["task_id"], "one");
    assert_eq!(document["resume_point"]["command_index"], 1);
    assert_eq!(document["resume_point"]["action"], "choose");
    assert_eq!(document["lifecycle"]["last_error"], "one");
    assert_eq!(task(&document, "one")["failure_context"]["error_type"], "unknown");
    assert_eq!(task(&document, "two")["status"], "pending");
    fs::write(home.path().join("mended"), "").unwrap();
    let output = home.run(&["resume", "--jobs", "1"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let ran = fs::read_to_string(home.path().join("ran")).unwrap();
    assert_eq!(ran, "one.1\none.2\none.2\none.3\ntwo.1\n");
    let document = home.document("completed", &id);
    let second = &task(&document, "one")["commands"][1];
    assert_eq!((&second["retry_count"], &second["attempts"]), (&json!(1), &json!(2)));
    assert_eq!(second["status"], "success");
    assert_eq!(document["lifecycle"]["resume_count"], 1);
    let again = home.run(&["resume", &id]);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert_eq!(home.run(&["resume"]).code, Some(2));
}

#[test]
fn keep_going_does_what_does_not_depend_on_the_failure() {
    let home = Home::new();
    let tasks = json!([
        {"id": "bad", "commands": [{"command": "test -e mended"}]},
        {"id": "child", "depends_on": ["bad"], "commands": [{"command": "echo child >> ran"}]},
        {"id": "grandchild", "depends_on": ["child"], "commands": [{"command": "echo grandchild >> ran"}]},
        {"id": "free", "commands": [{"command": "echo free >> ran"}]}
    ]);
    let output = home.apply(&tasks, &["--keep-going"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let id = home.latest();
    let document = home.document("failed", &id);
    assert_eq!(task(&document, "free")["status"], "completed");
    for (name, reason) in [
        ("child", "it needs bad, which is not there"),
        ("grandchild", "it needs child, which is not there"),
    ] {
        assert_eq!(task(&document, name)["status"], "skipped");
        assert_eq!(task(&document, name)["skipped_reason"], reason);
    }
    // Mended and resumed, those that waited in vain have their turn.
    fs::write(home.path().join("mended"), "").unwrap();
    assert_eq!(home.run(&["resume"]).code, Some(0));
    assert_eq!(fs::read_to_string(home.path().join("ran")).unwrap(), "free\nchild\ngrandchild\n");
    let document = home.document("completed", &id);
    assert_eq!(task(&document, "child")["skipped"], false);
}

#[test]
fn a_failed_task_can_be_passed_by_with_those_that_need_it() {
    let home = Home::new();
    let tasks = json!([
        {"id": "bad", "commands": [{"command": "false"}]},
        {"id": "child", "depends_on": ["bad"], "commands": [{"command": "echo child >> ran"}]},
        {"id": "free", "commands": [{"command": "echo free >> ran"}]}
    ]);
    assert_eq!(home.apply(&tasks, &[]).code, Some(3));
    let output = home.run(&["resume", "--skip"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(fs::read_to_string(home.path().join("ran")).unwrap(), "free\n");
    let document = home.latest_document();
    assert_eq!(document["meta"]["outcome"]["summary"], "tasks: 1 completed, 2 skipped");
    assert_eq!(task(&document, "bad")["commands"][0]["exit_code"], 1);
}

#[test]
fn a_verification_that_is_not_content_fails_the_task() {
    for (verification, error) in [
        (json!({"command": "false"}), "verification failed: exit code 1"),
        (
            json!({"command": "echo x", "expected_output": "y"}),
            "verification failed: its output is not `y`",
        ),
        (
            json!({"command": "echo x", "expected_pattern": "^y"}),
            "verification failed: its output does not match `^y`",
        ),
    ] {
        let home = Home::new();
        let tasks =
            json!([{"id": "it", "commands": [{"command": "true"}], "verification": verification}]);
        assert_eq!(home.apply(&tasks, &[]).code, Some(3));
        let document = home.latest_document();
        assert_eq!(task(&document, "it")["failure_context"]["error_type"], "verification_failed");
        assert_eq!(document["resume_point"]["context"], error);
        // One past the last command: the verification.
        assert_eq!(document["resume_point"]["command_index"], 1);
    }
}

#[test]
fn a_command_is_tried_as_often_as_the_plan_says() {
    let home = Home::new();
    let command = "echo x >> tries; test $(wc -l < tries) -ge 2";
    let tasks = json!([{"id": "it", "commands": [{"command": command, "retries": 2}]}]);
    let output = home.apply(&tasks, &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = home.latest_document();
    assert_eq!(task(&document, "it")["commands"][0]["attempts"], 2);
    assert!(output.stderr.contains("trying again in"), "{}", output.stderr);
}

#[test]
fn an_interrupted_command_that_may_run_twice_does() {
    let home = Home::new();
    let command = "echo x >> tries; test $(wc -l < tries) -ge 2 || kill -9 $PPID";
    let tasks = json!([{"id": "it", "commands": [{"command": command, "idempotent": true}]}]);
    let output = home.apply(&tasks, &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let outcomes: Vec<_> = home
        .events(&home.latest())
        .into_iter()
        .filter(|event| event["event"] == "command_finished")
        .map(|event| event["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["indeterminate", "exited"]);
}

#[test]
fn an_interrupted_command_whose_work_is_there_is_not_asked_about() {
    for key in ["verification", "detection"] {
        let home = Home::new();
        let check = if key == "verification" {
            json!({"command": "test -e made"})
        } else {
            json!({"installed_indicator": "~/made"})
        };
        let tasks = json!([{"id": "it", "commands": [{"command": "touch made; kill -9 $PPID"}], key: check}]);
        let output = home.apply(&tasks, &[]);
        assert_eq!(output.code, Some(0), "{key}: {}", output.stderr);
        let document = home.latest_document();
        assert_eq!(task(&document, "it")["status"], "completed");
    }
}

#[test]
fn a_second_runner_of_the_home_waits_and_is_refused() {
    let home = Home::new();
    let plan = home.plan(&json!([
        {"id": "it", "commands": [{"command": "touch begun; while test -e begun && ! test -e go; do sleep 0.02; done"}]}
    ]));
    let arguments = ["apply", plan.to_str().unwrap(), "--yes"];
    let mut first = home.command(&arguments).stderr(std::process::Stdio::null()).spawn().unwrap();
    wait_until("the command's begin", || home.path().join("begun").exists());
    let second = home.run(&[&["--lock-timeout", "0"], &arguments[..]].concat());
    assert_eq!(second.code, Some(5), "{}", second.stderr);
    assert!(second.stderr.contains(&format!("process {}", first.id())), "{}", second.stderr);
    fs::write(home.path().join("go"), "").unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_eq!(home.json(&["sessions"])["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_session_of_another_machine_is_not_resumed() {
    let home = Home::new();
    assert_eq!(
        home.apply(&json!([{"id": "it", "commands": [{"command": "false"}]}]), &[]).code,
        Some(3)
    );
    let id = home.latest();
    if home.document("failed", &id)["meta"]["machine"]["machine_id"].is_null() {
        skip("this machine has no id of its own");
        return;
    }
    let other = Home::new().damaged();
    let script = home.events(&id);
    let mut first = script[0].clone();
    assert_eq!(first["event"], "session_created");
    first["machine"]["machine_id"] = json!("0".repeat(32));
    first["machine"]["hostname"] = json!("elsewhere");
    // A record as the other machine would have written it, but for its chain.
    let mut document = home.document("failed", &id);
    document["meta"]["machine"]["machine_id"] = json!("0".repeat(32));
    document["meta"]["machine"]["hostname"] = json!("elsewhere");
    for key in ["revision", "chain", "journal_offset"] {
        document["meta"].as_object_mut().unwrap().remove(key);
    }
    let other = other.with_document("failed", &id, document.to_string());
    let output: Output = other.run(&["resume", &id]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert!(output.stderr.contains("belongs to another machine (elsewhere)"), "{}", output.stderr);
}

#[test]
fn a_plan_that_was_changed_after_its_approval_is_not_executed() {
    let home = Home::new().damaged();
    let tasks = json!([{"id": "it", "commands": [{"command": "test -e mended"}]}]);
    assert_eq!(home.apply(&tasks, &[]).code, Some(3));
    let id = home.latest();
    let kept = home.record(&id).join("artifacts/plan.json");
    let plan = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, plan.replace("test -e mended", "touch evil")).unwrap();
    let output = home.run(&["resume"]);
    assert_eq!(output.code, Some(6), "{}", output.stderr);
    assert!(!home.path().join("evil").exists());
    fs::remove_file(&kept).unwrap();
    let output = home.run(&["resume"]);
    assert_eq!(output.code, Some(6), "{}", output.stderr);
    assert!(output.stderr.contains("it is missing"), "{}", output.stderr);
}

#[test]
fn a_task_is_not_called_done_while_commands_of_it_are_left() {
    let home = Home::new();
    let tasks = json!([{
        "id": "it",
        "detection": {"installed_indicator": "~/made"},
        "commands": [{"command": "touch made; kill -9 $PPID"}, {"command": "echo second >> ran"}]
    }]);
    let output = home.apply(&tasks, &[]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert_eq!(home.run(&["resume", "--interrupted", "retry"]).code, Some(4));
    assert!(!home.path().join("ran").exists());
}

#[test]
fn one_that_may_run_twice_does_not_run_for_ever() {
    let home = Home::new();
    let command = json!({"command": "echo x >> tries; kill -9 $PPID", "idempotent": true});
    let output = home.apply(&json!([{"id": "it", "commands": [command]}]), &[]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert_eq!(fs::read_to_string(home.path().join("tries")).unwrap(), "x\nx\nx\n");
}

#[test]
fn what_still_runs_is_taken_up_before_what_failed_is_tried_again() {
    let home = Home::new();
    let tasks = json!([
        {"id": "bad", "commands": [{"command": "echo bad >> ran; false"}]},
        {"id": "long", "commands": [
            {"command": "touch begun; while test -e begun && ! test -e go; do sleep 0.02; done; echo long >> ran"}
        ]}
    ]);
    let plan = home.plan(&tasks);
    let arguments = ["apply", plan.to_str().unwrap(), "--yes", "--keep-going", "--jobs", "1"];
    let mut runner = home.command(&arguments).stderr(std::process::Stdio::null()).spawn().unwrap();
    wait_until("the command's begin", || home.path().join("begun").exists());
    runner.kill().unwrap();
    runner.wait().unwrap();
    fs::write(home.path().join("go"), "").unwrap();
    let output = home.run(&["resume"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert_eq!(fs::read_to_string(home.path().join("ran")).unwrap(), "bad\nlong\nbad\n");
    let document = home.latest_document();
    assert_eq!(task(&document, "long")["status"], "completed");
    assert_eq!(task(&document, "bad")["status"], "failed");
}

#[test]
fn a_run_that_died_anywhere_before_its_first_command_is_resumed() {
    let home = Home::new().damaged();
    let tasks = json!([{"id": "it", "commands": [{"command": "echo ran >> ran"}]}]);
    assert_eq!(home.apply(&tasks, &[]).code, Some(0));
    let id = home.latest();
    let journal = fs::read(home.journal(&id)).unwrap();
    let lines: Vec<_> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    let started = lines.iter().position(|line| {
        serde_json::from_slice::<Value>(line).unwrap()["event"] == "command_started"
    });
    for kept in 1..=started.unwrap() {
        for shelf in ["active", "completed", "failed"] {
            let _ = fs::remove_file(home.document_path(shelf, &id));
        }
        let _ = fs::remove_file(home.path().join("ran"));
        let _ = fs::remove_dir_all(home.record(&id).join("attempts"));
        fs::write(home.journal(&id), lines[..kept].concat()).unwrap();
        let output = home.run(&["resume", &id, "--yes"]);
        assert_eq!(output.code, Some(0), "after line {kept}: {}", output.stderr);
        assert_eq!(fs::read_to_string(home.path().join("ran")).unwrap(), "ran\n");
        assert_eq!(home.document("completed", &id)["meta"]["status"], "completed");
    }
}
