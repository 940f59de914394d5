//! The walk in a terminal, driven key by key: what is on the screen, what is on record, and how the
//! terminal is left.

use serde_json::{Value, json};

use crate::{
    harness::screen::{DOWN, ENTER, ESCAPE, Setting, USUAL},
    tea::Table,
};

#[test]
fn a_fresh_walk_leads_from_nothing_to_a_set_table() {
    let table = Table::new().with("name", "Ada\n").with("mended", "");
    let mut screen = table.sit_down("");
    screen.sees("runs nothing before you say so").sees("E  More stacks or single tools");
    assert!(!screen.shows_cursor(), "there is nothing to type");
    screen.types("d").sees("What should it be served in? (1 of 2)").types("b");
    screen.sees("Are there guests? (2 of 2)").types("A");
    // What the machine knows is offered.
    screen.sees("Your name [Ada] (3 of 4)");
    assert!(screen.shows_cursor());
    screen.types(ENTER).sees("Your address (4 of 4)").types("ada at example").types(ENTER);
    screen.sees("`ada at example` is not of the right form, like ada@example.com");
    // Nothing is lost: what is wrong is mended.
    screen.types("\u{15}ada@example.com").types(ENTER);
    screen.sees("plan of tea: 3 to install").sees("Is this what you want?").ready().types("s");
    screen.sees("$ seq -f \"line %g of the order\" 30").sees("host_email: ada@example.com");
    // What was typed before the question stands again does not count.
    screen.ready().types("a").sees("Done: tea, 3 set up");
    let text = screen.ends(0);
    for line in [
        "✓ Stack: D Tea - a kettle and what goes with it",
        "✓ Your name: Ada",
        "✓ Your address: ada@example.com",
        "✓ Plan: A Run everything",
        "note: kettle: The kettle wants water.",
        "  ✓ kettle  1.2.3",
        "Goes well with it",
        "  tray (Tray)",
    ] {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
    assert!(!text.contains("fetching"), "what went well is told in a line:\n{text}");
    let document = table.document();
    assert_eq!(document["meta"]["status"], "completed");
    assert_eq!(document["meta"]["agent"], "user");
    assert_eq!(document["choices"]["pot"]["value"], "cups");
    assert_eq!(document["user_data"], json!({"host_name": "Ada", "host_email": "ada@example.com"}));
    assert_eq!(document["plan"]["approved_by"], "user");
    assert_eq!(document["plan"]["execution_mode"], "all_at_once");
    assert_eq!(document["tasks"]["kettle"]["result"]["version"], "1.2.3");
    let id = document["meta"]["id"].as_str().unwrap();
    let whole = text.replace('\n', "");
    assert!(whole.contains(&format!("sessions/completed/{id}.json")), "{text}");
    for file in ["kettle", "teapot", "cups"] {
        assert!(table.has(file), "{file}");
    }
}

#[test]
fn an_explanation_is_shown_and_the_question_asked_again() {
    let table = Table::new();
    let mut screen = table.sit_down("");
    screen.sees("What should be set up?").types("d");
    screen.sees("What should it be served in?").types("d");
    screen.sees("A teapot keeps it warm").sees("Enter takes A").types(DOWN).sees("Enter takes B");
    screen.types(ENTER).sees("Are there guests?").types("\u{3}");
    let text = screen.ends(4);
    assert!(text.contains("✓ What should it be served in? B Teapot and cups"), "{text}");
    assert_eq!(table.document()["choices"]["pot"]["value"], "cups");
}

#[test]
fn back_goes_to_the_question_before_and_to_the_choice_of_a_stack() {
    let table = Table::new();
    let mut screen = table.sit_down("");
    screen.sees("What should be set up?").types("d");
    screen.sees("What should it be served in?").types("a");
    screen.sees("Are there guests?").types(ESCAPE);
    screen.waits("the first question", |text| {
        text.lines().any(|line| line.starts_with("What should it be served in? (1 of 2)"))
    });
    screen.types(ESCAPE).waits("the stacks", |text| text.contains("What should be set up?\n"));
    screen.types("d").sees("Esc back").types("c").sees("Are there guests?").types("b");
    screen.sees("plan of tea: 1 to install").ready().types(ESCAPE);
    // From the plan, too.
    screen.waits("the last question", |text| text.contains("Are there guests? (2 of 2)\n"));
    screen.types("\u{3}");
    screen.ends(4);
    let withdrawn = |event: &Value| event["event"] == "answer_withdrawn";
    assert_eq!(table.journal().iter().filter(|event| withdrawn(event)).count(), 2);
    assert_eq!(table.document()["choices"]["pot"]["value"], "none");
    assert!(table.document()["choices"].get("guests").is_none());
}

#[test]
fn single_tools_are_found_by_typing() {
    let table = Table::new();
    let mut screen = table.sit_down("");
    screen.sees("What should be set up?").types("e");
    screen.sees("type to search").types("kett").sees("❯ ◯ kettle").types(" ");
    screen.sees("1 chosen: kettle").types(ESCAPE).sees("type to search");
    screen.types("tray").sees("❯ ◯ tray").types("\t").sees("2 chosen: kettle, tray").types(ENTER);
    // An option with a default, and a secret.
    screen.sees("Which colour (tray) (1 of 2)").sees("Enter takes B").types("a");
    screen.sees("The token of the tray shop").types("swordfish").types(ENTER);
    screen.sees("Is this what you want?").ready().types("a").sees("Done: custom, 2 set up");
    let text = screen.ends(0);
    assert!(!text.contains("swordfish"), "{text}");
    assert_eq!(std::fs::read_to_string(table.home.path().join("tray")).unwrap(), "red\n");
    let document = table.document();
    assert_eq!(document["profile"]["selected"], "custom");
    assert!(!document.to_string().contains("swordfish"));
}

#[test]
fn a_plan_can_be_changed_before_it_runs() {
    let table = Table::new();
    let mut screen = table.up_to_the_plan();
    screen.types("c").sees("What should be changed?").ready().types("a");
    screen.sees("type to search").types("cups").sees("❯ ◯ cups").types(" ").types(ENTER);
    screen.sees("plan of tea: 3 to install").ready().types("c");
    screen.waits("another change", |text| text.matches("What should be changed?").count() == 1);
    screen.types("b").sees("Which should be left out?").types("kettle").sees("❯ ◯ kettle");
    // The stack cannot do without it, and says so.
    screen.types(" ").types(ENTER).sees("This cannot be set up so:").sees("needs it");
    screen
        .types("c")
        .waits("the plan again", |text| text.matches("plan of tea: 3 to install").count() == 2);
    screen.ready().types("c").sees("What should be changed?").ready().types("c");
    screen.sees("Which question?").sees("What should it be served in?  now: teapot").types("a");
    screen.waits("the question", |text| text.contains("What should it be served in? (1 of 2)\n"));
    screen.types("c").waits("the last plan", |text| {
        let (_, after) = text.rsplit_once("Which question?").unwrap();
        after.contains("Is this what you want?")
    });
    screen.ready().types("d");
    screen.waits("the stacks", |text| text.contains("What should be set up?\n"));
    screen.types("\u{3}");
    screen.ends(4);
    // Whoever starts over has answered nothing.
    let document = table.document();
    assert_eq!(document["choices"], json!({}));
    assert_eq!(document["phase"]["current"], "stack_selection");
    assert!(!table.has("kettle"));
}

#[test]
fn a_walk_that_was_left_is_resumed_at_its_question() {
    let table = Table::new().with("mended", "");
    let mut screen = table.sit_down("");
    screen.sees("What should be set up?").types("d");
    screen.sees("What should it be served in?").types("a");
    screen.sees("Are there guests?").types("\u{3}");
    let text = screen.ends(4);
    assert!(text.contains("hint: provision resume prov-"), "{text}");
    assert_eq!(table.document()["meta"]["status"], "paused");

    let mut screen = table.sit_down("");
    screen.sees("a session you have not finished: tea").sees("It stands in gather_requirements");
    screen.types("a").sees("Are there guests? (2 of 2)").types("b");
    screen.sees("Is this what you want?").ready().types("a").sees("Done: tea");
    screen.ends(0);
    let document = table.document();
    assert_eq!(document["meta"]["status"], "completed");
    assert_eq!(document["lifecycle"]["resume_count"], 1);

    // And what is complete is offered to be added to.
    let mut screen = table.sit_down("");
    screen.sees("This machine was set up before: tea").types("c").sees("  ✓ teapot");
    screen.types("a").sees("Which tools should be added?").types("cups").sees("❯ ◯ cups");
    screen
        .types(" ")
        .types(ENTER)
        .sees("Is this what you want?")
        .ready()
        .types("a")
        .sees("Done: custom");
    screen.ends(0);
    let documents = table.documents();
    let is_new = |document: &&Value| document["expansion_history"] != json!([]);
    let (new, old): (Vec<_>, Vec<_>) = documents.iter().partition(is_new);
    let added = &new[0]["expansion_history"][0];
    assert_eq!(added["session_id"], old[0]["meta"]["id"]);
    assert_eq!(added["tasks_added"], json!(["cups"]));
}

#[test]
fn forty_columns_are_enough() {
    let table = Table::new();
    let narrow = Setting { columns: 40, rows: 24, ..USUAL };
    let mut screen = table.on(narrow, "");
    screen.sees("What should be set up?").types("d");
    screen.sees("What should it be served in?").types("a");
    screen.sees("Are there guests?").types("b");
    screen.sees("Is this what you want?").ready().types("a");
    screen.sees("Teapot failed. What now?").ready().types("d");
    let text = screen.ends(4);
    for line in text.lines() {
        assert!(line.chars().count() <= 40, "{line:?} in:\n{text}");
    }
    assert!(text.contains("Could not resolve host"), "{text}");
}
