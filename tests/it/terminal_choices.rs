//! What a person is asked while a run goes on, and what becomes of each answer: a task that failed,
//! a step that is reviewed, work that only a person can do.

use serde_json::Value;

use crate::{
    harness::screen::{DOWN, ENTER},
    tea::Table,
};

/// A walk that has come to the failure of the teapot.
fn failed(table: &Table) -> crate::harness::screen::Screen {
    let mut screen = table.up_to_the_plan();
    screen.types("a").sees("Teapot failed. What now?").sees("o show the output");
    screen
}

fn choices(journal: &[Value], task: &str) -> Vec<String> {
    let chosen = journal.iter().filter(|event| event["event"] == "resume_chosen");
    let chosen = chosen.filter(|event| event["task_id"] == task);
    chosen.map(|event| event["action"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_failure_says_why_with_its_last_lines_and_what_to_do() {
    let table = Table::new();
    let mut screen = failed(&table);
    let text = screen.text();
    for line in [
        "✗ teapot failed (dns): exit code 6",
        "  | line 30 of the order",
        "  | curl: (6) Could not resolve host: teapots.example",
        "A  Retry  run the same command again",
        "B  Alternative  Teapot by its own steps",
        "C  Skip  nothing else needs it",
        "D  Pause",
    ] {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
    assert!(!text.contains("line 1 of the order"), "{text}");
    // On record before anybody is asked.
    let document = table.document();
    assert_eq!(document["tasks"]["teapot"]["status"], "failed");
    assert_eq!(document["tasks"]["teapot"]["failure_context"]["error_type"], "dns");
    screen.types("o").sees("line 1 of the order").sees("line 29 of the order");
    screen.types("d").sees("paused: a person chose to pause");
    let text = screen.ends(4);
    assert_eq!(
        text.matches("Teapot failed. What now?").count(),
        1,
        "only the answer stays:\n{text}"
    );
    let document = table.document();
    assert_eq!(document["meta"]["status"], "paused");
    assert_eq!(document["resume_point"]["task_id"], "teapot");
    assert_eq!(document["resume_point"]["command_index"], 0);
}

#[test]
fn retry_runs_the_same_command_again() {
    let table = Table::new();
    let mut screen = failed(&table);
    table.put("mended");
    screen.types("a").sees("Done: tea, 2 set up");
    screen.ends(0);
    let document = table.document();
    let command = &document["tasks"]["teapot"]["commands"];
    let command = command.as_array().unwrap().iter().find(|c| c["command_index"] == 0).unwrap();
    assert_eq!(command["retry_count"], 1);
    assert_eq!(command["user_choice"], "A");
    assert_eq!(choices(&table.journal(), "teapot"), ["retry"]);
}

#[test]
fn another_way_is_shown_approved_by_itself_and_taken() {
    let table = Table::new();
    let mut screen = failed(&table);
    screen.types("b").sees("$ touch ~/teapot").sees("Teapot by its own steps");
    assert!(!table.has("teapot"), "nothing runs before it is approved");
    // Enter alone may have been meant for the question before.
    screen.types(ENTER).types("d");
    screen.sees("D Not now").sees("Teapot failed. What now?");
    assert!(!table.has("teapot"));
    screen.types("b").waits("the plan again", |text| text.matches("$ touch ~/teapot").count() == 2);
    screen.ready().types("a").sees("Done: tea, 2 set up");
    screen.ends(0);
    assert!(table.has("teapot"));
    let document = table.document();
    assert_eq!(document["tasks"]["teapot"]["status"], "completed");
    assert_eq!(document["tasks"]["teapot"]["result"]["another_way"], true);
    let small: Vec<_> = table.documents();
    let small = small.iter().find(|d| d["meta"]["id"] != document["meta"]["id"]).unwrap();
    assert_eq!(small["meta"]["status"], "completed");
    let objective = small["meta"]["objective"].as_str().unwrap();
    assert!(objective.contains(document["meta"]["id"].as_str().unwrap()), "{objective}");
    assert_ne!(small["plan"]["digest"], document["plan"]["digest"]);
}

#[test]
fn skip_passes_by_the_task_and_what_needs_it() {
    let table = Table::new();
    let mut screen = table.sit_down("start tea --answer pot=B --answer guests=B");
    // What was given is not asked.
    screen.sees("Is this what you want?").ready().types("a");
    screen.sees("and what needs it: cups").types("c").sees("Done: tea, 1 set up");
    let text = screen.ends(0);
    assert!(text.contains("2 tasks skipped"), "{text}");
    assert!(text.contains("- teapot: it failed and was passed by"), "{text}");
    assert!(text.contains("- cups: it needs teapot, which is not there"), "{text}");
    let document = table.document();
    assert_eq!(document["meta"]["status"], "completed");
    assert_eq!(document["tasks"]["teapot"]["skipped_reason"], "it failed and was passed by");
    assert_eq!(choices(&table.journal(), "teapot"), ["skip"]);
}

#[test]
fn each_step_is_reviewed_and_may_be_skipped() {
    let table = Table::new();
    let mut screen = table.up_to_the_plan();
    screen.types("b").sees("Kettle, command 1 of 2").sees("$ printf 'fetch%s\\n' ing");
    screen.sees("while [ -e ~/wait ]; do sleep 0.02; done").sees("Run this for Kettle?");
    assert!(!table.has("kettle"));
    // Enter alone runs nothing; what was marked, it does.
    screen.types(ENTER).types(DOWN).sees("Enter takes A").types(ENTER);
    screen.sees("Kettle, command 2 of 2");
    screen.waits("the second question", |text| {
        text.rsplit("$ touch ~/kettle").next().is_some_and(|rest| rest.contains("press a letter"))
    });
    screen.types("a");
    screen.sees("Run this for Teapot?").ready().types("c").sees("Done: tea, 1 set up");
    screen.ends(0);
    let document = table.document();
    assert_eq!(document["plan"]["execution_mode"], "review_each_step");
    assert_eq!(document["tasks"]["teapot"]["status"], "skipped");
    let skipped = &document["tasks"]["teapot"]["commands"];
    let skipped = skipped.as_array().unwrap().iter().find(|c| c["status"] == "skipped").unwrap();
    assert_eq!(skipped["user_choice"], "C");
    let kettle = document["tasks"]["kettle"]["commands"].as_array().unwrap();
    let planned = kettle.iter().filter(|command| command["command_index"].is_number());
    assert!(planned.clone().count() == 2 && planned.clone().all(|c| c["user_choice"] == "A"));
    assert!(!table.has("teapot"));
}

#[test]
fn whoever_has_seen_enough_runs_the_rest() {
    let table = Table::new().with("mended", "");
    let mut screen = table.up_to_the_plan();
    screen.types("b").sees("Run this for Kettle?").ready().types("b").sees("Done: tea, 2 set up");
    screen.ends(0);
    assert!(table.has("teapot"));
}

#[test]
fn a_review_that_was_paused_goes_on_as_one() {
    let table = Table::new().with("mended", "");
    let mut screen = table.up_to_the_plan();
    screen.types("b").sees("Run this for Kettle?").ready().types("a").sees("command 2 of 2");
    screen.waits("the second question", |text| {
        text.rsplit("command 2 of 2").next().is_some_and(|rest| rest.contains("press a letter"))
    });
    screen.types("d");
    screen.ends(4);
    assert_eq!(table.document()["resume_point"]["command_index"], 1);
    let mut screen = table.sit_down("resume");
    screen.sees("Kettle, command 2 of 2").sees("press a letter").types("b");
    screen.sees("Done: tea, 2 set up");
    screen.ends(0);
}

#[test]
fn what_only_a_person_can_do_is_asked_for_and_checked() {
    let table = Table::new();
    let mut screen = table.sit_down("start --add doily");
    screen
        .sees("by hand   doily")
        .ready()
        .types("a")
        .sees("something that only you can do")
        .ready()
        .types("a");
    // It is not there: the check says so.
    screen.sees("Doily failed. What now?").sees("verification_failed");
    table.put("doily");
    screen.types("a").sees("Done: custom, 1 set up");
    screen.ends(0);
    assert_eq!(table.document()["tasks"]["doily"]["status"], "completed");
}

#[test]
fn a_failed_session_is_retried_or_passed_by_from_the_walk() {
    let table = Table::new();
    let failed = ["start", "tea", "--answer", "pot=B", "--answer", "guests=B", "--yes"];
    let catalog = format!("{}/tests/it/fixtures/tea", env!("CARGO_MANIFEST_DIR"));
    let mut command = table.home.command(&[&["--catalog", &catalog], &failed[..]].concat());
    command.env("AGENTIC_PROVISION_HOME", table.home.path().join(".agentic-provision"));
    assert_eq!(command.status().unwrap().code(), Some(3));
    let mut screen = table.sit_down("");
    screen.sees("Your last session failed: tea").sees("teapot failed.").types("d");
    screen.sees("teapots.example").types("b").sees("Done: tea, 1 set up");
    screen.ends(0);
    assert_eq!(table.document()["tasks"]["cups"]["status"], "skipped");
}

#[test]
fn a_command_that_talks_with_a_person_has_the_terminal_and_gives_it_back() {
    let table = Table::new();
    let plan = table.home.plan(&serde_json::json!([
        {"id": "before", "commands": [{"command": "true"}]},
        {"id": "asks", "commands": [{
            "command": "stty -a | grep -qw -- -echo && exit 9; read -rp 'your name? ' name; echo \"$name\" > ~/said",
            "interactive": true,
        }]},
        {"id": "after", "commands": [{"command": "true"}]},
    ]));
    let mut screen = table.sit_down(&format!("apply {}", plan.display()));
    screen.sees("Should this run?").ready().types("a").sees("your name?").types("Ada\n");
    screen.sees("Done: custom, 3 set up");
    // What is typed is seen again: this is looked at in the end, too.
    screen.ends(0);
    assert_eq!(std::fs::read_to_string(table.home.path().join("said")).unwrap(), "Ada\n");
}
