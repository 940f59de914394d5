//! Documents of every earlier format and shape: they load for ever, with a word about what they
//! cannot tell, and are carried over without being touched.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use serde_json::{Value, json};

use crate::harness::{Home, ID, Output, tree};

fn fixtures(folder: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(folder)
}

/// Every legacy document, by the name of what is particular about it.
fn documents() -> Vec<(String, String)> {
    let mut found: Vec<_> = fs::read_dir(fixtures("legacy"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    assert!(found.len() >= 20, "{}", found.len());
    found
}

/// Its document is not of the present schema.
fn legacy_home(text: &str) -> Home {
    Home::new().with_document("active", ID, text).damaged()
}

/// An hour east of Greenwich, wherever the tests run.
fn east(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(arguments);
    command.env("TZ", "XXX-1");
    command
}

#[test]
fn every_earlier_shape_has_a_report() {
    for (name, text) in documents() {
        let home = legacy_home(&text);
        let output = home.run(&["report", ID, "-o", "-"]);
        assert_eq!(output.code, Some(0), "{name}: {}", output.stderr);
        let document: Value = serde_json::from_str(&text).unwrap();
        if name == "mid_session" {
            let bars = output.stdout.matches("class=\"bar ").count();
            assert_eq!(bars, 3, "each command that was executed is on the timeline");
        }
        for (id, record) in document["tasks"].as_object().into_iter().flatten() {
            assert!(output.stdout.contains(&format!("id=\"task-{id}\"")), "{name}: {id}");
            for command in record["commands"].as_array().into_iter().flatten() {
                let command = command["command"].as_str().unwrap();
                let shown = command.replace('&', "&amp;").replace('"', "&quot;");
                assert!(output.stdout.contains(&shown), "{name}: {command}");
            }
        }
    }
}

#[test]
fn every_earlier_shape_is_read_with_a_word_about_it() {
    for (name, text) in documents() {
        let home = legacy_home(&text);
        let before = tree(home.path());
        let output = home.run(&["status", ID]);
        assert_eq!(output.code, Some(0), "{name}: {}", output.stderr);
        let word = "legacy session format, limited resumption context";
        assert!(output.stderr.contains(word), "{name}: {}", output.stderr);
        assert_eq!(home.json(&["sessions"])["sessions"][0]["id"], ID, "{name}");
        assert_eq!(tree(home.path()), before, "{name}");
    }
}

#[test]
fn every_earlier_shape_migrates_as_it_always_did() {
    for (name, text) in documents() {
        let home = legacy_home(&text);
        let output = Output::of(&mut east(&home, &["migrate", ID, "--json"]));
        assert_eq!(output.code, Some(0), "{name}: {}", output.stderr);
        let told: Value = serde_json::from_str(&output.stdout).unwrap();
        let migrated = fs::read_to_string(told["path"].as_str().unwrap()).unwrap();
        let golden = fixtures("migrated").join(format!("{name}.json"));
        let whole = json!({
            "changes": told["changes"],
            "document": serde_json::from_str::<Value>(&migrated).unwrap(),
        });
        let whole = format!("{}\n", serde_json::to_string_pretty(&whole).unwrap());
        if std::env::var_os("PROVISION_TEST_BLESS").is_some() {
            fs::write(&golden, &whole).unwrap();
        }
        assert_eq!(whole, fs::read_to_string(&golden).unwrap(), "{name}");
        // Beside, never in place.
        assert_eq!(fs::read_to_string(home.document_path("active", ID)).unwrap(), text, "{name}");
        assert_eq!(home.run(&["status", ID]).code, Some(0), "{name}");
        // What was migrated is of the present format, for whoever takes it for the document.
        let home = Home::new().with_document("active", ID, &migrated);
        let output = home.run(&["migrate", ID]);
        assert_eq!(output.code, Some(0));
        assert!(output.stdout.contains("is in the present format, 1.1.0"), "{}", output.stdout);
    }
}

#[test]
fn every_earlier_shape_is_taken_over_and_kept() {
    for (name, text) in documents() {
        let home = legacy_home(&text);
        let output = home.play([json!({"import": {}})]);
        assert_eq!(output.code, Some(0), "{name}: {}", output.stderr);
        assert_eq!(home.events(ID)[0]["event"], "session_imported", "{name}");
        let kept = home.record(ID).join("artifacts/imported.json");
        assert_eq!(fs::read_to_string(kept).unwrap(), text, "{name}");
        let output = home.run(&["status", ID]);
        let word = "limited resumption context (taken over from version 1.0.0)";
        assert!(output.stderr.contains(word), "{name}: {}", output.stderr);
        assert_eq!(home.run(&["history", ID, "--verify"]).code, Some(0), "{name}");
        let output = home.run(&["migrate", ID]);
        assert!(output.stdout.contains("is in the present format"), "{name}: {}", output.stdout);
    }
}

#[test]
fn a_kill_during_migration_loses_neither_file() {
    let seed = rand::random::<u64>();
    println!("seed {seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    let (_, text) = documents().into_iter().find(|(name, _)| name == "everything").unwrap();
    let whole = {
        let home = legacy_home(&text);
        let told = home.json(&["migrate", ID]);
        fs::read(told["path"].as_str().unwrap()).unwrap()
    };
    let (mut killed, mut without, mut tries) = (0, 0, 0);
    let home = legacy_home(&text);
    let migrated = home.record(ID).join("artifacts/migrated.json");
    while killed < 150 || without < 20 {
        tries += 1;
        assert!(tries < 20_000, "{killed} kills, {without} before the file was there");
        let _ = fs::remove_file(&migrated);
        let mut child = home.command(&["migrate", ID]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(random.random_range(0..6000)));
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            continue;
        }
        killed += 1;
        assert_eq!(fs::read_to_string(home.document_path("active", ID)).unwrap(), text);
        match fs::read(&migrated) {
            Ok(bytes) => assert_eq!(bytes, whole),
            Err(_) => without += 1,
        }
        assert_eq!(home.run(&["status", ID]).code, Some(0));
    }
    assert_eq!(home.run(&["migrate", ID]).code, Some(0));
    assert_eq!(fs::read(&migrated).unwrap(), whole);
}

#[test]
fn a_record_of_version_1_1_0_is_read_for_ever() {
    let id = "prov-20261116-193350-ae2b";
    // Documents were not sealed from the first day.
    for sealed in [true, false] {
        let home = Home::of_fixture("1.1.0");
        if !sealed {
            let path = home.document_path("completed", id);
            let text = fs::read_to_string(&path).unwrap();
            let (before, _) = text.split_once(",\n  \"checksum\"").unwrap();
            fs::write(&path, format!("{before}\n}}\n")).unwrap();
        }
        let before = tree(home.path());
        let output = home.run(&["history", id, "--verify"]);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
        assert!(output.stdout.contains("35 lines verified"), "{}", output.stdout);
        let status = home.json(&["status", id]);
        assert_eq!(status["status"], "completed");
        assert_eq!(status["progress"]["tasks_settled"], 3);
        assert_eq!(home.json(&["recover", id])["level"], 0);
        let logs = home.run(&["logs", id, "git", "--raw"]);
        assert_eq!(logs.stdout, "hello Ada\ntwo\n");
        assert_eq!(tree(home.path()), before);
        // And gone on with: its document is made again from the journal, as it was.
        let document = home.document("completed", id);
        fs::remove_file(home.document_path("completed", id)).unwrap();
        assert_eq!(home.run(&["resume", id]).code, Some(2));
        let mut again = home.document("completed", id);
        let seal = again.as_object_mut().unwrap().shift_remove("checksum");
        assert!(seal.is_some());
        let mut document = document;
        document.as_object_mut().unwrap().shift_remove("checksum");
        assert_eq!(again, document);
    }
}

#[test]
fn what_an_earlier_program_was_in_the_middle_of_may_have_run() {
    let text = include_str!("fixtures/legacy/task_in_progress.json");
    // Of this machine, as far as anyone can say.
    let home = legacy_home(&text.replace("workbench", "unknown"));
    let plan = home.plan(&json!([
        {"id": "git", "commands": [{"command": "true"}]},
        {"id": "python", "commands": [{"command": "echo before"}, {"command": "echo b >> ran"}]},
    ]));
    let ran = home.path().join("ran");
    let output = home.run(&["resume", ID, "--plan", plan.to_str().unwrap(), "--yes"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    let word = "legacy session format, limited resumption context";
    assert!(output.stderr.contains(word), "{}", output.stderr);
    assert_eq!(home.run(&["resume", ID]).code, Some(4));
    assert!(!ran.exists());
    let output = home.run(&["resume", ID, "--interrupted", "retry"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(fs::read_to_string(ran).unwrap(), "b\n");
}

#[test]
fn a_question_of_an_earlier_program_is_not_answered_by_beginning() {
    let text = include_str!("fixtures/legacy/action_retry_or_skip.json");
    let mut document: Value = serde_json::from_str(text).unwrap();
    document["meta"]["machine"]["hostname"] = json!("unknown");
    document["tasks"]["python"] =
        json!({"task_id": "python", "status": "pending", "skipped": false});
    let home = legacy_home(&document.to_string());
    let plan = home.plan(&json!([
        {"id": "git", "commands": [{"command": "true"}]},
        {"id": "python", "detection": {"check_command": "false"},
            "commands": [{"command": "echo b >> ran"}]},
    ]));
    let output = home.run(&["resume", ID, "--plan", plan.to_str().unwrap(), "--yes"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert_eq!(home.run(&["resume", ID]).code, Some(4));
    assert!(!home.path().join("ran").exists());
    assert_eq!(home.run(&["resume", ID, "--interrupted", "retry"]).code, Some(0));
}

#[test]
fn taking_over_is_told_to_programs_from_the_first_event_on() {
    let text = include_str!("fixtures/legacy/action_retry_or_skip.json");
    let home = legacy_home(&text.replace("workbench", "unknown"));
    let plan = home.plan(&json!([
        {"id": "git", "commands": [{"command": "true"}]},
        {"id": "python", "commands": [{"command": "true"}]},
    ]));
    let output = home.run(&["resume", ID, "--plan", plan.to_str().unwrap(), "--yes", "--json"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let told: Vec<Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (ended, events) = told.split_last().unwrap();
    assert_eq!(ended["event"], "run_ended");
    assert_eq!(events, home.events(ID));
}

#[test]
fn attempts_of_earlier_builds_are_known_by_their_plan() {
    let id = "prov-20261116-193350-ae2b";
    let home = Home::of_fixture("1.1.0");
    crate::lost_journals::leave_lines(&home, id, 13);
    assert_eq!(home.json(&["recover", id, "--yes"])["level"], 2);
    let tasks = home.document("active", id)["tasks"].clone();
    let plan = fs::read(home.record(id).join("artifacts/plan.json")).unwrap();
    let plan: Value = serde_json::from_slice(&plan).unwrap();
    let mut seen = 0;
    for task in plan["tasks"].as_array().unwrap() {
        let commands = task["commands"].as_array().into_iter().flatten();
        for (index, planned) in commands.enumerate() {
            let record = &tasks[task["id"].as_str().unwrap()]["commands"][index];
            if !record.is_null() {
                seen += 1;
                assert_eq!(record["command"], planned["command"]);
            }
        }
    }
    assert!(seen > 1, "{tasks}");
}

#[test]
fn a_document_of_a_newer_format_is_refused_and_left_alone() {
    let (_, text) = documents().into_iter().find(|(name, _)| name == "fresh").unwrap();
    let newer = text.replace("\"1.0.0\"", "\"2.0.0\"");
    let home = Home::new().with_document("active", ID, &newer).damaged();
    for arguments in [
        &["status", ID][..],
        &["migrate", ID],
        &["recover", ID, "--yes"],
        &["recover", ID, "--level", "3", "--resume-at", "git", "--yes"],
        &["resume", ID],
    ] {
        let output = home.run(arguments);
        assert_eq!(output.code, Some(6), "{arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains("a newer version (2.0.0)"), "{}", output.stderr);
    }
    assert_eq!(fs::read_to_string(home.document_path("active", ID)).unwrap(), newer);
}
