//! Commands that talk with a person: they have the terminal, keys and all, and give it back.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::{
    Home,
    terminal::{self, Terminal},
};

fn run(home: &Home, tasks: &serde_json::Value, before: &str, after: &str) -> Terminal {
    let plan = home.plan(tasks);
    let program = env!("CARGO_BIN_EXE_provision");
    let line = format!("{before}{program} apply {} --yes{after}", plan.display());
    Terminal::start(terminal::plain(home), &line)
}

fn asking(text: &str) -> serde_json::Value {
    json!([
        {"id": "asks", "commands": [{"command": text, "interactive": true}]},
        {"id": "next", "depends_on": ["asks"], "commands": [{"command": "cat ~/said"}]},
    ])
}

#[test]
fn a_command_that_asks_is_answered() {
    let home = Home::new();
    let asks = "test -t 0 -a -t 1 -a -t 2 || exit 3; read -rp 'your name? ' name; \
                read -rp 'your town? ' town </dev/tty; echo \"$name of $town\" > ~/said";
    let mut terminal = run(&home, &asking(asks), "exec ", "");
    terminal.wait_for("your name? ").type_in("Ada\n");
    terminal.wait_for("your town? ").type_in("London\n");
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("| Ada of London"), "{screen}");
    let document = home.latest_document();
    let record = &document["tasks"]["asks"]["commands"][0];
    assert_eq!(record["status"], "success");
    assert_eq!(record["output_summary"], "not kept: it was on the terminal");
}

#[test]
fn it_is_asked_what_others_are_spared() {
    let home = Home::new();
    let asks = "env > ~/said; true";
    let (screen, code) = run(&home, &asking(asks), "exec ", "").end();
    assert_eq!(code, Some(0), "{screen}");
    let said = std::fs::read_to_string(home.path().join("said")).unwrap();
    assert!(!said.contains("\nDEBIAN_FRONTEND=") && !said.contains("\nPIP_NO_INPUT="), "{said}");
    assert!(said.contains("TERM=dumb"), "{said}");
}

#[test]
fn ctrl_c_is_for_the_command_and_pauses_if_that_ends_it() {
    let home = Home::new();
    let asks = "test -e ~/again && exec touch ~/said; touch ~/again; stty -echo; printf 'wait%s\\n' ing; sleep 1000";
    let before = "trap : INT; ";
    let mut terminal = run(&home, &asking(asks), before, "; echo \"code $?\"; stty -a");
    terminal.wait_for("waiting").type_in("\u{3}");
    terminal.wait_for("code 4");
    let (screen, _) = terminal.end();
    // The command left the terminal in disorder.
    assert!(screen.contains(" echo "), "{screen}");
    let document = home.latest_document();
    assert_eq!(document["meta"]["status"], "paused");
    assert_eq!(document["resume_point"]["action"], "retry");
    let output = home.on_terminal(&["resume"], "");
    assert_eq!(output.code, Some(0), "{}", output.stdout);
}

#[test]
fn a_command_may_take_ctrl_c_as_it_likes() {
    let home = Home::new();
    let asks = "trap 'echo caught > ~/said; exit 0' INT; printf 'wait%s\\n' ing; while :; do sleep 0.01; done";
    let mut terminal = run(&home, &asking(asks), "trap : INT; ", "; echo \"code $?\"");
    terminal.wait_for("waiting").type_in("\u{3}");
    terminal.wait_for("| caught").wait_for("code 0");
    terminal.end();
}

#[test]
fn ctrl_z_and_ctrl_backslash_stop_nothing_for_good() {
    let home = Home::new();
    let asks =
        "trap 'echo quit' QUIT; printf 'wait%s\\n' ing; read -r line; echo \"$line\" > ~/said";
    let mut terminal = run(&home, &asking(asks), "trap : QUIT TSTP; ", "; echo \"code $?\"");
    terminal.wait_for("waiting").type_in("\u{1a}").type_in("\u{1c}");
    terminal.type_in("still here\n");
    terminal.wait_for("| still here").wait_for("code 0");
    terminal.end();
}

#[test]
fn without_a_terminal_it_is_not_started() {
    let home = Home::new();
    let output = home.apply(&asking("touch ~/said"), &["--keep-going"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(!home.path().join("said").exists());
    let document = home.latest_document();
    let task = &document["tasks"]["asks"];
    assert_eq!(task["failure_context"]["error_type"], "needs_input", "{task:#}");
    // On a terminal it goes on from there.
    let output = home.on_terminal(&["resume", "--retry"], "");
    assert_eq!(output.code, Some(0), "{}", output.stdout);
}

#[test]
fn the_keys_are_heard_again_by_the_run_afterwards() {
    let home = Home::new();
    let tasks = json!([
        {"id": "asks", "commands": [{"command": "printf 'g%s? ' o; read -r x", "interactive": true}]},
        {"id": "long", "commands": [{"command": "printf 'runn%s\\n' ing; sleep 1000"}]},
    ]);
    let mut terminal = run(&home, &tasks, "trap : INT; ", "; echo \"code $?\"");
    terminal.wait_for("go? ").type_in("\n");
    terminal.wait_for("| running").type_in("\u{3}").wait_for("pausing");
    terminal.type_in("\u{3}").wait_for("asking the command").wait_for("code 4");
    terminal.end();
}

#[test]
fn a_run_that_is_told_to_terminate_takes_the_command_with_it() {
    let home = Home::new();
    // It does not listen when it is asked.
    let asks = "trap '' TERM; printf 'wait%s\\n' ing; exec sleep 1000";
    let mut terminal = run(&home, &asking(asks), "exec ", "");
    terminal.wait_for("waiting");
    let program = env!("CARGO_BIN_EXE_provision");
    let kill = Command::new("pkill")
        .args(["-TERM", "-f", &format!("^{program} apply {}", home.path().display())])
        .stdin(Stdio::null())
        .status();
    assert!(kill.unwrap().success());
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(4), "{screen}");
    assert_eq!(home.latest_document()["meta"]["status"], "paused");
}
