//! Ctrl-C, Ctrl-D and Ctrl-Z in every kind of prompt and in commands, and a terminal that is closed:
//! the record is whole, the terminal is as it was, and one line says how to go on.

use std::fs;

use crate::{
    harness::{
        screen::{CTRL_C, CTRL_D, CTRL_Z, ENTER, Screen},
        wait_until,
    },
    tea::Table,
};

/// A walk that is at some prompt, and what is on record when it is left there.
fn leave(name: &str, keys: &str, prepare: impl Fn(&Table) -> Screen, phase: Option<&str>) {
    let table = Table::new();
    let mut screen = prepare(&table);
    screen.types(keys);
    let text = screen.ends(4);
    match phase {
        None => {
            assert!(text.contains("nothing was begun"), "{name}:\n{text}");
            assert!(table.documents().is_empty(), "{name}");
        }
        Some(phase) => {
            assert!(text.contains("hint: provision resume prov-"), "{name}:\n{text}");
            let document = table.document();
            assert_eq!(document["meta"]["status"], "paused", "{name}");
            assert_eq!(document["phase"]["current"], phase, "{name}");
            let why = document["lifecycle"]["paused_context"].as_str().unwrap();
            let key = if keys == CTRL_C { "Ctrl-C" } else { "Ctrl-D" };
            assert!(why.contains(key), "{name}: {why}");
        }
    }
    for file in ["teapot", "tray"] {
        assert!(!table.has(file), "{name}");
    }
}

fn at_stack(table: &Table) -> Screen {
    let mut screen = table.sit_down("");
    screen.sees("What should be set up?");
    screen
}

fn at_pick(table: &Table) -> Screen {
    let mut screen = at_stack(table);
    screen.types("e").sees("type to search").types("kett").sees("❯ ◯ kettle");
    screen
}

fn at_question(table: &Table) -> Screen {
    let mut screen = at_stack(table);
    screen.types("d").sees("What should it be served in?");
    screen
}

fn at_line(table: &Table) -> Screen {
    let mut screen = at_question(table);
    screen.types("c").sees("Are there guests?").types("a").sees("Your name");
    screen
}

fn at_secret(table: &Table) -> Screen {
    let mut screen = table.sit_down("start --add tray");
    screen.sees("Which colour").types(ENTER).sees("The token of the tray shop").types("sword");
    screen
}

#[test]
fn ctrl_c_leaves_every_kind_of_prompt() {
    leave("stack", CTRL_C, at_stack, None);
    leave("pick", CTRL_C, at_pick, None);
    leave("question", CTRL_C, at_question, Some("gather_requirements"));
    leave("line", CTRL_C, at_line, Some("gather_requirements"));
    leave("secret", CTRL_C, at_secret, Some("gather_requirements"));
    leave("plan", CTRL_C, Table::up_to_the_plan, Some("present_plan"));
    let in_review = |table: &Table| {
        let mut screen = table.up_to_the_plan();
        screen.types("b").sees("Run this for Kettle?");
        screen
    };
    leave("review", CTRL_C, in_review, Some("execute"));
    let at_failure = |table: &Table| {
        let mut screen = table.up_to_the_plan();
        screen.types("a").sees("Teapot failed. What now?");
        screen
    };
    leave("failure", CTRL_C, at_failure, Some("execute"));
}

#[test]
fn ctrl_d_leaves_like_ctrl_c_where_nothing_was_typed() {
    leave("stack", CTRL_D, at_stack, None);
    leave("question", CTRL_D, at_question, Some("gather_requirements"));
    leave("line", CTRL_D, at_line, Some("gather_requirements"));
}

#[test]
fn ctrl_c_leaves_the_menu_of_earlier_sessions_alone() {
    let table = Table::new();
    let mut screen = at_question(&table);
    screen.types(CTRL_C);
    screen.ends(4);
    let before = table.document();
    let mut screen = table.sit_down("");
    screen.sees("a session you have not finished").types(CTRL_C);
    screen.ends(4);
    let mut screen = table.sit_down("");
    screen.sees("a session you have not finished").types("d");
    screen.ends(0);
    assert_eq!(table.document(), before);
}

/// A walk whose first command runs until somebody ends it.
fn in_command(table: &Table) -> Screen {
    let mut screen = table.up_to_the_plan();
    screen.types("a").sees("kettle").sees("fetching");
    screen
}

#[test]
fn ctrl_c_once_waits_for_the_command_and_pauses() {
    let table = Table::new().with("wait", "");
    let mut screen = in_command(&table);
    screen.types(CTRL_C).sees("pausing as soon as the command is done");
    table.remove("wait");
    let text = screen.ends(4);
    assert!(text.contains("hint: provision resume prov-"), "{text}");
    let document = table.document();
    let commands = document["tasks"]["kettle"]["commands"].as_array().unwrap();
    let first = commands.iter().find(|command| command["command_index"] == 0).unwrap();
    assert_eq!(first["status"], "success");
    assert_eq!(document["resume_point"]["command_index"], 1);
    let mut screen = table.sit_down("resume");
    screen.sees("Teapot failed. What now?").ready().types("d");
    screen.ends(4);
    assert!(table.has("kettle"));
}

#[test]
fn ctrl_c_twice_asks_the_command_to_end_and_three_times_kills_it() {
    for presses in [2, 3] {
        let table = Table::new().with("wait", "");
        let catalog = table.home.path().join("stubborn");
        fs::create_dir(&catalog).unwrap();
        let trap = if presses == 3 { "trap '' TERM; " } else { "" };
        let command = format!("{trap}printf 'be%s\\n' gun; while :; do sleep 0.02; done");
        let task = serde_json::json!({
            "metadata": {"category": "x"},
            "tasks": {"stub": {"id": "stub", "name": "Stub", "description": "d", "category": "x",
                "detection": {"check_command": "test -e ~/stub"},
                "install": {"steps": [{"name": "run", "description": "d", "command": command}]}}}
        });
        fs::write(catalog.join("stub.yaml"), task.to_string()).unwrap();
        let words = format!("--catalog {} start --add stub", catalog.display());
        let mut screen = table.sit_down(&words);
        screen.sees("Is this what you want?").ready().types("a").sees("begun");
        screen
            .types(CTRL_C)
            .sees("pausing as soon")
            .types(CTRL_C)
            .sees("asking the command to end");
        if presses == 3 {
            screen.types(CTRL_C).sees("killing the command");
        }
        screen.ends(4);
        let document = table.document();
        assert_eq!(document["meta"]["status"], "paused");
        assert_eq!(document["resume_point"]["action"], "retry");
        let commands = document["tasks"]["stub"]["commands"].as_array().unwrap();
        let command = commands.iter().find(|command| command["command_index"] == 0).unwrap();
        assert_eq!(command["status"], "failed");
    }
}

/// A shell with job control runs the program.
fn in_interactive_shell(table: &Table) -> Screen {
    let program = env!("CARGO_BIN_EXE_provision");
    let catalog = format!("{}/tests/it/fixtures/tea", env!("CARGO_MANIFEST_DIR"));
    let line = format!("PS1='shell> ' {program} --catalog {catalog}");
    let mut screen = Screen::start(
        &table.home,
        crate::harness::screen::USUAL,
        "PS1='shell''> ' bash --norc --noprofile -i",
    );
    screen.sees("shell>").types(&format!("{line}{ENTER}"));
    screen
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() {
    let table = Table::new().with("wait", "");
    let mut screen = in_interactive_shell(&table);
    // At a prompt.
    screen.sees("What should be set up?").types("d").sees("What should it be served in?");
    screen.types(CTRL_Z).sees("Stopped");
    assert!(screen.shows_cursor());
    screen.types(&format!("echo type''d{ENTER}")).sees("typed").types(&format!("fg{ENTER}"));
    screen.waits("the prompt again", |text| {
        text.rsplit("fg").next().is_some_and(|after| after.contains("What should it be served in?"))
    });
    screen.types("c").sees("Are there guests?").types("b").sees("Is this what you want?");
    // In a command: the display stops, the command does not.
    screen.types("a").sees("fetching").types(CTRL_Z);
    screen.waits("the shell", |text| text.matches("Stopped").count() == 2);
    table.remove("wait");
    let id = table.document()["meta"]["id"].as_str().unwrap().to_owned();
    let attempts = table.home.path().join(".agentic-provision/records").join(id).join("attempts");
    wait_until("the command has ended without us", || {
        fs::read_dir(&attempts).unwrap().any(|entry| entry.unwrap().path().join("result").exists())
    });
    screen.types(&format!("fg{ENTER}")).sees("Done: tea, 1 set up");
    screen.types(&format!("exit 0{ENTER}"));
    screen.ends(0);
}

#[test]
fn a_terminal_that_is_closed_pauses_and_leaves_the_command_to_finish() {
    // At a question.
    let table = Table::new();
    let screen = at_question(&table);
    screen.close();
    wait_until("the walk is paused", || table.document()["meta"]["status"] == "paused");
    let context = table.document()["lifecycle"]["paused_context"].clone();
    assert_eq!(context, "the terminal was closed (at its questions)");

    // In a command.
    let table = Table::new().with("wait", "").with("mended", "");
    let screen = in_command(&table);
    screen.close();
    wait_until("the run is paused", || table.document()["meta"]["status"] == "paused");
    table.remove("wait");
    let mut screen = table.sit_down("resume");
    screen.sees("Done: tea, 2 set up");
    screen.ends(0);
    let document = table.document();
    let commands = document["tasks"]["kettle"]["commands"].as_array().unwrap();
    let first = commands.iter().find(|command| command["command_index"] == 0).unwrap();
    assert_eq!(first["retry_count"], 0, "it was not run again");
    assert_eq!(first["recovered"], true);
}

#[test]
fn a_walk_that_is_asked_to_terminate_pauses_at_its_question() {
    for (signal, why) in [("TERM", "asked to terminate"), ("INT", "Ctrl-C")] {
        let table = Table::new();
        let screen = at_question(&table);
        let id = table.document()["meta"]["id"].as_str().unwrap().to_owned();
        let lock = table.home.path().join(".agentic-provision/records").join(id).join("lock");
        let holder: serde_json::Value = serde_json::from_slice(&fs::read(lock).unwrap()).unwrap();
        let pid = holder["pid"].to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{signal}"), &pid]).status();
        assert!(sent.unwrap().success());
        screen.ends(4);
        let document = table.document();
        assert_eq!(document["meta"]["status"], "paused");
        let context = document["lifecycle"]["paused_context"].as_str().unwrap();
        assert!(context.contains(why), "{context}");
    }
}
