//! What must not happen in a terminal, whatever is typed, killed or taken away: nothing runs that was
//! not approved as it is, no secret goes astray, and no session is lost.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{
    harness::{
        Output,
        screen::{ENTER, ESCAPE, Screen, USUAL},
        wait_until,
    },
    tea::Table,
};

/// The program where nobody can be asked.
fn unattended(table: &Table, arguments: &[&str]) -> Output {
    let mut command = table.home.command(arguments);
    command.env("AGENTIC_PROVISION_HOME", table.home.path().join(".agentic-provision"));
    Output::of(&mut command)
}

#[test]
fn what_was_typed_before_the_plan_was_shown_does_not_approve_it() {
    let table = Table::new();
    let mut screen = table.sit_down("");
    // All of it before the first question is drawn.
    screen.types("dab").types(ENTER).types("a").types("b");
    screen.sees("Is this what you want?").sees("press a letter");
    screen.types(ENTER).types("\u{3}");
    let text = screen.ends(4);
    assert!(!text.contains("✓ Plan"), "{text}");
    assert_eq!(table.document()["phase"]["current"], "present_plan");
    assert!(!table.has("kettle"));
}

#[test]
fn a_plan_that_was_taken_back_is_run_by_nobody() {
    let table = Table::new().with("mended", "");
    let mut screen = table.up_to_the_plan();
    screen
        .types("c")
        .sees("What should be changed?")
        .ready()
        .types("c")
        .sees("Which question?")
        .ready()
        .types("a");
    screen.waits("the question", |text| text.contains("What should it be served in? (1 of 2)\n"));
    screen.types("\u{3}");
    screen.ends(4);
    let output = unattended(&table, &["resume", "latest", "--yes", "--no-input"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert!(
        output.stderr.contains("waits for answers in gather_requirements"),
        "{}",
        output.stderr
    );
    assert!(!table.has("kettle"));
}

#[test]
fn whoever_answers_again_finds_the_present_answer_and_may_keep_it() {
    let table = Table::new();
    let mut screen = table.sit_down("start tea --answer guests=B");
    screen.sees("What should it be served in?").types("c").sees("plan of tea: 1 to install");
    screen
        .ready()
        .types("c")
        .sees("What should be changed?")
        .ready()
        .types("c")
        .sees("Which question?")
        .ready()
        .types("a");
    screen.sees("Enter takes C").types(ESCAPE);
    screen.waits("the plan again", |text| text.matches("plan of tea: 1 to install").count() == 2);
    screen.types("\u{3}");
    screen.ends(4);
    assert_eq!(table.document()["choices"]["pot"]["value"], "none");
}

#[test]
fn a_secret_on_the_command_line_and_a_task_nobody_knows_are_refused() {
    let table = Table::new();
    let mut screen = table.sit_down("start --add tray --data tray_token=swordfish");
    screen.sees("Which colour").types(ENTER);
    let text = screen.ends(2);
    assert!(text.contains("is a secret"), "{text}");
    assert_eq!(table.document()["meta"]["status"], "paused");
    let table = Table::new();
    let text = table.sit_down("start --add trya").ends(2);
    assert!(text.contains("there is no task `trya`") && text.contains("did you mean"), "{text}");
    assert!(table.documents().is_empty());
}

#[test]
fn a_secret_for_a_tool_that_was_removed_is_told_to_nobody() {
    let table = Table::new();
    let mut screen = table.sit_down("start tea --add tray --answer pot=C --answer guests=B");
    screen.sees("Which colour").types(ENTER).sees("The token of the tray shop");
    screen.types("swordfish").types(ENTER).sees("Is this what you want?").ready().types("c");
    screen.sees("What should be changed?").ready().types("b").sees("Which should be left out?");
    screen
        .types("tray")
        .types(" ")
        .types(ENTER)
        .sees("plan of tea: 1 to install")
        .ready()
        .types("a");
    screen.sees("Done: tea, 1 set up");
    screen.ends(0);
    let journal = table.journal();
    let started = journal.iter().filter(|event| event["event"] == "command_started");
    for event in started {
        assert!(!event.to_string().contains("TRAY_TOKEN"), "{event}");
    }
}

/// A catalog with a task that has two ways, needs a tool of another one's folder, and a secret.
fn shop(table: &Table, second: &str) -> String {
    let folder = table.home.path().join("shop");
    fs::create_dir(&folder).unwrap();
    let catalog = json!({
        "metadata": {"category": "shop"},
        "tasks": {
            "base": {"id": "base", "name": "Base", "description": "d", "category": "shop",
                "path": ["~/base"], "detection": {"check_command": "test -e ~/base/tool"},
                "install": {"steps": [{"name": "i", "description": "d", "command":
                    "mkdir -p ~/base; printf '#!/bin/sh\\necho tool\\n' > ~/base/tool; chmod +x ~/base/tool"}]}},
            "shop": {"id": "shop", "name": "Shop", "description": "d", "category": "shop",
                "dependencies": {"required": ["base"]},
                "detection": {"check_command": "test -e ~/shop-is-there"},
                "options": [{"id": "shop_token", "prompt": "The token", "type": "secret"}],
                "install": {
                    "variants": {"linux": {"steps": [{"name": "i", "description": "d", "command": "exit 7", "retries": 0}]}},
                    "steps": [{"name": "j", "description": "d", "command": second, "retries": 0}],
                }},
        },
    });
    fs::write(folder.join("shop.yaml"), catalog.to_string()).unwrap();
    folder.display().to_string()
}

/// The walk of such a shop up to its plan, with its secret; and the folder of its catalog.
fn at_the_plan_of_a_shop(table: &Table, second: &str) -> (Screen, String) {
    let folder = shop(table, second);
    let mut screen = table.sit_down(&format!("--catalog {folder} start --add shop"));
    screen.sees("The token").types("swordfish").types(ENTER);
    screen.sees("Is this what you want?").ready();
    (screen, folder)
}

#[test]
fn another_way_has_the_secrets_and_the_tools_that_the_first_one_had() {
    let table = Table::new();
    let second = "test ${#SHOP_TOKEN} = 9 && test \"$(tool)\" = tool && touch ~/shop-is-there";
    let (mut screen, _) = at_the_plan_of_a_shop(&table, second);
    screen.types("a").sees("Shop failed. What now?").ready().types("b");
    screen.sees("Shop by its own steps").sees("press a letter").types("a");
    screen.sees("Done: custom, 2 set up");
    let text = screen.ends(0);
    assert!(!text.contains("swordfish"), "{text}");
    assert_eq!(table.document()["tasks"]["shop"]["status"], "completed");
}

#[test]
fn whoever_stops_another_way_stops_all_of_it_and_what_it_brought_is_found() {
    let table = Table::new();
    let second =
        "printf 'be%s\\n' gun; while [ ! -e ~/go ]; do sleep 0.02; done; touch ~/shop-is-there";
    let (mut screen, _) = at_the_plan_of_a_shop(&table, second);
    screen.types("a").sees("Shop failed. What now?").ready().types("b");
    screen.sees("press a letter").types("a").sees("begun");
    let lock = fs::read(table.home.path().join(".agentic-provision/runner.lock")).unwrap();
    let holder: Value = serde_json::from_slice(&lock).unwrap();
    let pid = holder["pid"].to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    screen.ends(4);
    // The way goes on without us, and has brought it.
    table.put("go");
    wait_until("it is there", || table.has("shop-is-there"));
    let is_way = |document: &&Value| {
        document["meta"]["objective"].as_str().unwrap_or("").starts_with("repair ")
    };
    let documents = table.documents();
    let way = documents.iter().find(is_way).unwrap()["meta"]["id"].as_str().unwrap().to_owned();
    let parent = table.document()["meta"]["id"].as_str().unwrap().to_owned();
    let mut screen = table.sit_down(&format!("resume {way}"));
    screen.sees("The token").types("swordfish").types(ENTER);
    screen.ends(0);
    let mut screen = table.sit_down(&format!("resume {parent}"));
    screen.sees("The token").types("swordfish").types(ENTER).sees("Done: custom, 2 set up");
    screen.ends(0);
    let commands = table.document()["tasks"]["shop"]["commands"].clone();
    let failed = commands.as_array().unwrap().iter().find(|c| c["command_index"] == 0).unwrap();
    assert_eq!(failed["attempts"], 1, "what failed was not run again");
}

#[test]
fn a_walk_at_a_question_is_paused_from_elsewhere() {
    let table = Table::new();
    let mut screen = table.sit_down("start tea");
    screen.sees("What should it be served in?");
    let output = unattended(&table, &["pause", "latest", "--reason", "tea is over"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let text = screen.ends(4);
    assert!(text.contains("paused: tea is over"), "{text}");
    assert_eq!(table.document()["meta"]["status"], "paused");
}

#[test]
fn a_session_that_is_executed_needs_its_catalog_no_more() {
    let table = Table::new();
    let second = "touch ~/shop-is-there";
    let (mut screen, folder) = at_the_plan_of_a_shop(&table, second);
    screen.types("b").sees("Run this for Base?").ready().types("a");
    screen.sees("Run this for Shop?").ready().types("d");
    screen.ends(4);
    fs::remove_dir_all(&folder).unwrap();
    // Also the folder that the session was begun with.
    let program = env!("CARGO_BIN_EXE_provision");
    let mut screen = Screen::start(&table.home, USUAL, &format!("{program} resume"));
    screen.sees("The token").types("swordfish").types(ENTER);
    screen.sees("Run this for Shop?").ready().types("c").sees("Done: custom, 1 set up");
    screen.ends(0);
}
