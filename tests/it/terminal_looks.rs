//! Terminals of all kinds: without UTF-8, without colour, without a cursor that moves, resized, and
//! with text that would order a terminal about.

use std::fs;

use serde_json::json;

use crate::{
    harness::{
        Home, Output,
        screen::{ENTER, Screen, Setting, USUAL},
        terminal::Terminal,
    },
    tea::Table,
};

#[test]
fn without_utf_8_everything_is_ascii() {
    let table = Table::new();
    let mut screen = table.on(Setting { lang: "C", ..USUAL }, "");
    screen.sees("What should be set up?").types("d").sees("Up/Down or a letter").types("a");
    screen.sees("Are there guests?").types("b").sees("Is this what you want?").ready().types("a");
    screen.sees("Teapot failed. What now?").ready().types("c").sees("Done: tea");
    let text = screen.ends(0);
    assert!(text.is_ascii(), "{text}");
}

/// Everything that was ever written to the terminal.
fn bytes_of_a_walk(environment: &[(&str, &str)]) -> String {
    let table = Table::new().with("mended", "");
    let catalog = format!("{}/tests/it/fixtures/tea", env!("CARGO_MANIFEST_DIR"));
    let mut command = std::process::Command::new("env");
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", table.home.path())
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8")
        .envs(environment.iter().copied());
    let line = format!("exec {} --catalog {catalog}", env!("CARGO_BIN_EXE_provision"));
    let mut terminal = Terminal::start(command, &line);
    terminal.wait_for("What should be set up?").type_in("d");
    terminal.wait_for("What should it be served in?").type_in("c");
    terminal.wait_for("Are there guests?").type_in("b");
    terminal.wait_for("Is this what you want?").type_in("a");
    let (text, code) = terminal.end();
    assert_eq!(code, Some(0), "{text}");
    text
}

#[test]
fn no_color_means_none() {
    // `ESC [ … m`, and not `ESC [ … A`, which moves the cursor.
    let coloured = |text: &str| {
        text.split("\u{1b}[").skip(1).any(|rest| {
            let end = rest.find(|sign: char| sign.is_ascii_alphabetic());
            end.is_some_and(|end| rest[end..].starts_with('m'))
        })
    };
    assert!(coloured(&bytes_of_a_walk(&[])));
    let text = bytes_of_a_walk(&[("NO_COLOR", "1")]);
    assert!(!coloured(&text), "{}", text.escape_debug());
}

#[test]
fn a_dumb_terminal_is_asked_line_by_line_and_gets_no_escape_at_all() {
    let table = Table::new().with("mended", "").with("name", "Ada");
    let mut screen = table.on(Setting { term: "dumb", ..USUAL }, "");
    screen.sees("What should be set up?").sees("Letter").types("x\n").sees("`x`").types("d\n");
    screen.sees("What should it be served in?").types("d\n").sees("A teapot keeps it warm");
    screen
        .types("<\n")
        .waits("the stacks", |text| text.matches("What should be set up?").count() == 2);
    screen
        .types("d\n")
        .waits("the question", |text| text.matches("What should it be served in?").count() >= 2);
    screen.types("a\n").sees("Are there guests?").types("a\n");
    screen.sees("Your name").types("\n").sees("Your address").types("nobody\n");
    screen.sees("is not of the right form").types("ada@example.com\n");
    screen.sees("Is this what you want?").ready().types("a\n").sees("Done: tea, 2 set up");
    screen.ends(0);
    assert_eq!(table.document()["user_data"]["host_name"], "Ada");

    let text = bytes_of_dumb_choice();
    assert!(!text.contains('\u{1b}'), "{}", text.escape_debug());
}

#[test]
fn dumb_terminal_searches_its_list_of_tools() {
    let table = Table::new();
    let mut screen = table.on(Setting { term: "dumb", ..USUAL }, "");
    let asks_behind = |answer: &'static str| {
        move |text: &str| text.contains(answer) && text.ends_with("< goes back:")
    };
    screen.sees("What should be set up?").sees("Letter").types("e\n");
    screen.waits("the list", asks_behind("?word to search"));
    screen
        .types("?no-such-tool\n")
        .waits("no match", asks_behind("nothing matches `no-such-tool`"));
    // The rows behind it answer the next search.
    screen.types("?boils\n").waits("the match", |text| {
        let (_, found) = text.split_once("nothing matches").unwrap_or_default();
        asks_behind(" kettle - Boils water")(found) && !found.contains(" teapot - ")
    });
    screen.types("kettle, tre\n");
    screen.waits("the mistake", asks_behind("there is no `tre`; did you mean `tree`?"));
    screen.types("kettle\n").sees("Is this what you want?").ready().types("\u{3}");
    screen.ends(4);
}

fn bytes_of_dumb_choice() -> String {
    let home = Home::new();
    let mut command = std::process::Command::new("env");
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.path()).env("TERM", "dumb");
    let line = format!("exec {} start --add tree", env!("CARGO_BIN_EXE_provision"));
    let mut terminal = Terminal::start(command, &line);
    terminal.wait_for("Is this what you want?").wait_for("Letter").type_in("\u{3}");
    terminal.end().0
}

#[test]
fn a_window_that_changes_its_size_is_drawn_anew() {
    let table = Table::new().with("wait", "");
    let mut screen = table.sit_down("");
    screen.sees("E  More stacks or single tools  find them by typing");
    screen.resize(40, 20);
    screen.waits("a narrow list", |text| {
        text.lines().all(|line| line.chars().count() <= 40)
            && text.contains("A  Essentials - Git, a shell, an")
            && text.contains("E  More stacks or single tools\n")
    });
    screen.types("d").sees("What should it be served in?").types("c");
    screen.sees("Are there guests?").types("b").sees("Is this what you want?").ready().types("a");
    screen.sees("fetching");
    screen.resize(60, 20);
    table.remove("wait");
    screen.sees("Done: tea, 1 set up");
    screen.ends(0);
}

const HOSTILE: &str = "a\u{1b}[2Jb\u{1b}]8;;http://evil.example\u{7}c\u{1b}]52;c;ZXZpbA==\u{7}d\u{9b}31me\u{202e}f\u{200b}g";

/// As YAML that may be written so: what is not ASCII is spelled out.
fn escaped(content: &serde_json::Value) -> String {
    let spelled = |sign: char| match sign {
        ' '..='~' => sign.to_string(),
        other => format!("\\u{:04x}", u32::from(other)),
    };
    content.to_string().chars().map(spelled).collect()
}

/// A catalog whose every text would order a terminal about.
fn hostile_catalog(home: &Home) -> String {
    let folder = home.path().join("hostile");
    fs::create_dir(&folder).unwrap();
    let long = "x".repeat(10_000);
    let command = format!(
        "printf 'out \\033]0;stolen\\007 \\033[2J \\302\\233 31m end\\n'; printf '%s\\n' {long}; \
         : $(printf 'hidden'); # {HOSTILE}\nfalse"
    );
    let tasks = json!({
        "metadata": {"category": "bad"},
        "tasks": {"bad": {
            "id": "bad", "name": format!("Bad {HOSTILE}"), "description": HOSTILE,
            "category": format!("bad {HOSTILE}"), "notes": HOSTILE,
            "detection": {"check_command": "test -e ~/bad"},
            "install": {"steps": [{"name": HOSTILE, "description": HOSTILE, "command": command}]},
        }},
    });
    fs::write(folder.join("bad.yaml"), escaped(&tasks)).unwrap();
    let profile = json!({
        "metadata": {"id": "bad", "name": HOSTILE, "description": HOSTILE},
        "selection_prompt": {"letter": "D", "text": format!("Bad {HOSTILE} {long}")},
        "required_tasks": ["bad"],
        "question_flow": [{"id": "q", "question": format!("Sure? {HOSTILE}"), "options": [
            {"letter": "A", "text": format!("Yes {HOSTILE}"), "value": "yes"},
            {"letter": "B", "text": "Explain", "value": "e", "action": "explain", "explanation": HOSTILE},
        ]}],
    });
    fs::create_dir(folder.join("profiles")).unwrap();
    fs::write(folder.join("profiles/bad.yaml"), escaped(&profile)).unwrap();
    folder.display().to_string()
}

#[test]
fn hostile_text_is_shown_or_cut_and_never_obeyed() {
    let home = Home::new();
    let folder = hostile_catalog(&home);
    let mut command = std::process::Command::new("env");
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.path())
        .env("AGENTIC_PROVISION_HOME", home.path())
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8");
    let line = format!("exec {} --catalog {folder}", env!("CARGO_BIN_EXE_provision"));
    let mut terminal = Terminal::start(command, &line);
    terminal.wait_for("What should be set up?").wait_for("a letter").type_in("d");
    terminal.wait_for("Sure?").wait_for("a letter").type_in("b");
    terminal.wait_for("Sure?").wait_for("a letter").type_in("a");
    terminal.wait_for("Is this what you want?").wait_for("a letter").type_in("s");
    terminal.wait_for("Is this what you want?").wait_for("a letter").type_in("b");
    terminal.wait_for("Run this for").wait_for("a letter").type_in("a");
    terminal.wait_for("What now?").wait_for("a letter").type_in("o");
    terminal.wait_for("What now?").wait_for("a letter").type_in("d");
    let (text, code) = terminal.end();
    assert_eq!(code, Some(4), "{}", text.escape_debug());
    for order in ["\u{1b}]", "\u{7}", "\u{9b}", "\u{202e}", "\u{200b}", "\u{1b}[2J"] {
        assert!(!text.contains(order), "{order:?} is on the screen");
    }
    // What is approved is seen, all of it: the end of the line behind ten thousand characters.
    let plain = text.replace(['\n', '\r'], "");
    assert!(plain.contains(&"x".repeat(10_000)), "the command is cut");
    assert!(plain.contains("\\u{202e}f\\u{200b}g"), "nothing is left out");
    assert!(plain.contains("$ printf 'out"));
}

/// Every way to have no terminal.
fn without_terminal(home: &Home, arguments: &[&str]) -> Vec<(&'static str, Output)> {
    let run = |line: &str| {
        let program = env!("CARGO_BIN_EXE_provision");
        let words = arguments.join(" ");
        let mut command = std::process::Command::new("timeout");
        command
            .args(["20", "bash", "-c", &format!("{program} {words} {line}")])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.path())
            .env("AGENTIC_PROVISION_HOME", home.path())
            .env("TERM", "xterm");
        Output::of(&mut command)
    };
    vec![("closed", run("<&-")), ("null", run("</dev/null")), ("pipe", run("< <(yes)"))]
}

#[test]
fn without_a_terminal_nothing_asks_spins_or_floods() {
    let home = Home::new();
    let plan = home.plan(&json!([{"id": "t", "commands": [{"command": "true"}]}]));
    let plan = plan.display().to_string();
    let failing = home.plan(&json!([{"id": "f", "commands": [{"command": "false"}]}]));
    let failing = failing.display().to_string();
    let sites: [(&[&str], i32); 9] = [
        (&[], 0),
        (&["start"], 2),
        (&["start", "fullstack-web"], 2),
        (&["start", "--add", "tree", "--mode", "review_each_step"], 2),
        (&["apply", &plan], 4),
        (&["apply", &failing, "--yes"], 3),
        (&["resume"], 3),
        (&["prune", "--older-than", "0s"], 4),
        (&["doctor"], 0),
    ];
    for (arguments, code) in sites {
        for (how, output) in without_terminal(&home, arguments) {
            let said = format!("{}{}", output.stdout, output.stderr);
            let fine =
                output.code == Some(code) || (arguments == ["doctor"] && output.code.is_some());
            assert!(
                fine && output.code != Some(124),
                "{arguments:?} with {how}: {:?}\n{said}",
                output.code
            );
            assert!(said.len() < 20_000, "{arguments:?} with {how} says {} bytes", said.len());
            assert!(!said.contains('\u{1b}'), "{arguments:?} with {how}:\n{said}");
        }
    }
    // Input that is a terminal, and nobody sees the question.
    let table = Table::new();
    let screen = table.sit_down("start tea 2> ~/said");
    let _ = screen.ends(2);
    let screen: Screen = table.sit_down(&format!("{} 2> ~/said", ""));
    let text = screen.ends(0);
    assert!(text.contains("no sessions yet"), "{text}");
    let _ = ENTER;
}
