//! The page that tells all of a session: at completion in the record, and at any time for whoever
//! asks.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::{harness::Home, toolbox::read, workshop::Workshop};

fn page(home: &Home, session: &str) -> String {
    let output = home.run(&["report", session, "-o", "-"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}

fn gate(document: &Value, name: &str) -> Value {
    let gates = document["gates"]["completion"].as_array().unwrap();
    gates.iter().find(|gate| gate["gate"] == name).unwrap().clone()
}

/// Where pieces stand in a text, in this order.
fn assert_order(text: &str, pieces: &[&str]) {
    let mut from = 0;
    for piece in pieces {
        let at = text[from..].find(piece);
        from += at.unwrap_or_else(|| panic!("no `{piece}` behind the others in\n{text}"));
    }
}

#[test]
fn a_session_that_is_complete_has_a_report_in_its_record() {
    let shop = Workshop::new();
    let id = shop.session(0, &["start", "web", "--yes"]);
    let file = shop.home.record(&id).join("artifacts/report.html");
    let text = read(&file);
    assert!(text.contains(&id) && text.contains("<code>vim</code>"), "{text}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let document = shop.document(&id);
    assert_eq!(gate(&document, "report_written")["status"], "passed");
    assert_eq!(gate(&document, "report_written")["evidence"], "artifacts/report.html");
    // It says of itself what the record says.
    assert_order(&text, &["report written", "passed", "artifacts/report.html"]);
    shop.said(0, &["history", &id, "--verify"]);
}

#[test]
fn a_session_whose_report_cannot_be_written_is_complete_all_the_same() {
    let home = Home::new();
    // Where the page would be is something that cannot be replaced.
    let records = home.path().join("records");
    let spoil = format!(
        "for record in {}/prov*; do mkdir -p \"$record/artifacts/report.html/in-the-way\"; done",
        records.display()
    );
    let output = home.apply(&json!([{"id": "a", "commands": [{"command": spoil}]}]), &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("the report of the session could not be written"));
    let document = home.latest_document();
    assert_eq!(document["meta"]["status"], "completed");
    assert_eq!(gate(&document, "report_written")["status"], "failed");
    assert_eq!(home.run(&["history", &home.latest(), "--verify"]).code, Some(0));
}

/// A session that failed: one task is retried in vain, one works, one is never reached.
fn failed(home: &Home) -> String {
    let flaky = "echo out of luck; echo to the end >&2; exit 9";
    let plan = json!([
        {"id": "fine", "name": "A fine thing", "category": "things",
         "commands": [{"command": "echo all is well", "description": "Says so"}]},
        {"id": "flaky", "commands": [{"command": flaky, "retries": 2}]},
        {"id": "after", "depends_on": ["flaky"], "commands": [{"command": "echo never"}]},
    ]);
    assert_eq!(home.apply(&plan, &["--jobs", "1"]).code, Some(3));
    home.latest()
}

#[test]
fn what_failed_comes_first_and_every_attempt_is_told_with_what_it_wrote() {
    let home = Home::new();
    let id = failed(&home);
    let text = page(&home, &id);
    assert_order(
        &text,
        &["id=\"summary\"", "id=\"failures\"", "id=\"phases\"", "id=\"timeline\"", "id=\"tasks\""],
    );
    let failures =
        &text[text.find("id=\"failures\"").unwrap()..text.find("id=\"phases\"").unwrap()];
    assert_order(
        failures,
        &["<code>flaky</code>", "echo out of luck", "exit code 9", "to the end"],
    );
    let tasks = &text[text.find("id=\"tasks\"").unwrap()..];
    assert_order(
        tasks,
        &["A fine thing", "Says so", "echo all is well", "exit code 0", "all is well"],
    );
    let attempts = ["attempt 1 of 3", "attempt 2 of 3", "attempt 3 of 3"];
    assert_order(tasks, &attempts);
    assert_eq!(tasks.matches("out of luck\nto the end").count(), 3);
    assert_order(tasks, &["id=\"task-after\"", "Not executed", "echo never"]);
    // Three of its bars, one after the other.
    assert_eq!(text.matches("class=\"bar ko").count(), 3);
    assert_eq!(text.matches("class=\"bar ko again\"").count(), 2);
}

#[test]
fn what_ran_side_by_side_has_lanes_of_its_own() {
    let home = Home::new();
    let meet = |mine: &str, other: &str| {
        let place = home.path().display();
        format!("touch {place}/{mine}; until [ -e {place}/{other} ]; do sleep 0.02; done")
    };
    let plan = json!([
        {"id": "left", "commands": [{"command": meet("l", "r")}]},
        {"id": "right", "commands": [{"command": meet("r", "l")}]},
    ]);
    assert_eq!(home.apply(&plan, &["--jobs", "2"]).code, Some(0));
    let text = page(&home, "latest");
    assert_eq!(text.matches("class=\"lane\"").count(), 2);
}

#[test]
fn the_page_goes_where_it_is_wanted() {
    let home = Home::new();
    let id = failed(&home);
    let folder = home.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let mut command = home.command(&["report", &id]);
    let output = command.current_dir(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let name = format!("report-{id}.html");
    assert!(String::from_utf8_lossy(&output.stderr).contains(&name));
    assert!(read(&folder.join(&name)).starts_with("<!DOCTYPE html>"));
    let file = folder.join("mine.html");
    let told = home.json(&["report", &id, "-o", file.to_str().unwrap()]);
    assert_eq!(told["session_id"], id.as_str());
    assert_eq!(told["path"], file.to_str().unwrap());
    assert_eq!(told["bytes"], read(&file).len());
    let output = home.run(&["report", "prov-2020"]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    let output = home.run(&["report", &id, "-o", "/nowhere/at/all.html"]);
    assert_eq!(output.code, Some(2));
    let said = "the report cannot be written to `/nowhere/at/all.html`";
    assert!(output.stderr.contains(said), "{}", output.stderr);
}

#[test]
fn a_secret_is_not_on_the_page() {
    let home = Home::new();
    let secret = "correct-horse-battery";
    let plan = home.plan_file(&json!({
        "format": "plan-v1",
        "user_data": {"token": {"secret": true}, "name": {"value": "Ada"}},
        "tasks": [{"id": "a", "commands": [{"command": "echo \"$NAME: $TOKEN\""}]}],
    }));
    let mut command = home.command(&["apply", plan.to_str().unwrap(), "--yes"]);
    let output = command.env("PROVISION_DATA_TOKEN", secret).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = page(&home, "latest");
    assert!(text.contains("Ada: "), "{text}");
    assert!(!text.contains(secret));
}

#[test]
fn much_output_is_shown_by_its_ends_and_what_is_left_out_is_said() {
    let home = Home::new();
    let talk = "echo the-first-line; seq 1 400000; echo the-last-line";
    let plan = json!([{"id": "talk", "commands": [{"command": talk}]}]);
    assert_eq!(home.apply(&plan, &[]).code, Some(0));
    let text = page(&home, "latest");
    assert_order(&text, &["the-first-line\n1\n2\n", "bytes are left out here", "the-last-line"]);
    assert!(text.len() < 100_000, "{}", text.len());
}

#[test]
fn an_expansion_names_what_it_adds_to() {
    let shop = Workshop::new();
    let first = shop.session(0, &["start", "systems", "--yes"]);
    let second = shop.session(0, &["expand", &first, "lamp", "--yes"]);
    let text = page(&shop.home, &second);
    assert_order(
        &text,
        &[
            "Sessions that add to each other",
            &first,
            "brought base, helix",
            &second,
            "this one",
            "brought lamp",
        ],
    );
    // The page of the first one, made now, knows of the second.
    assert!(page(&shop.home, &first).contains(&second));
}

#[test]
fn what_was_executed_before_a_revision_is_told_with_the_text_it_had() {
    let shop = Workshop::new();
    shop.put("broken", "vim");
    let id = shop.session(3, &["start", "web", "--yes"]);
    shop.session(0, &["revise", &id, "--answer", "editor=helix", "--yes"]);
    let text = page(&shop.home, &id);
    let tasks = &text[text.find("id=\"tasks\"").unwrap()..];
    let at = tasks.find("id=\"task-vim\"").expect("what failed for vim is on the page");
    assert_order(
        &tasks[at..],
        &["not planned any more", "~/broken/vim", "exit code 3", "it is broken"],
    );

    let shop = Workshop::new();
    shop.put("broken", "vim");
    let id = shop.session(3, &["start", "web", "--yes"]);
    shop.edit("it is broken", "it is quite broken");
    shop.take("broken", "vim");
    shop.session(0, &["revise", &id, "--yes"]);
    let text = page(&shop.home, &id);
    let vim = &text[text.find("id=\"task-vim\"").unwrap()..];
    assert_order(
        vim,
        &[
            "it is quite broken",
            "exit code 0",
            "Executed for an earlier plan",
            "it is broken",
            "exit code 3",
        ],
    );
    assert!(!vim.contains("attempt 1 of 2"), "the one that works was tried once");
}

#[test]
fn what_is_pruned_is_not_on_a_page_either() {
    let home = Home::new();
    let plan = json!([{"id": "a", "commands": [{"command": "echo private words"}]}]);
    assert_eq!(home.apply(&plan, &[]).code, Some(0));
    let id = home.latest();
    let file = home.record(&id).join("artifacts/report.html");
    assert!(read(&file).contains("private words\n"));
    assert_eq!(home.run(&["prune", "--older-than", "0s", "--yes"]).code, Some(0));
    assert!(!file.exists());
    assert!(!page(&home, &id).contains("private words\n"));
}
