//! Help and manual: every command has both, they fit the screen, and nothing hidden is in them.

use std::{fs, process::Command};

use crate::harness::{Home, Output, skip};

/// The commands that have a page, by the words that name them.
fn commands(home: &Home) -> Vec<Vec<String>> {
    let folder = home.path().join("man/man1");
    let output = home.run(&["man", "--to", folder.to_str().unwrap()]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let words = |name: &String| {
        let name = name.strip_suffix(".1").unwrap();
        name.split('-').skip(1).map(Into::into).collect()
    };
    names.iter().map(words).collect()
}

fn help(home: &Home, command: &[String], columns: usize) -> String {
    let words: Vec<_> = command.iter().map(String::as_str).chain(["--help"]).collect();
    let output = Output::of(home.command(&words).env("COLUMNS", columns.to_string()));
    assert_eq!(output.code, Some(0), "{command:?} {}", output.stderr);
    output.stdout
}

#[test]
fn the_help_of_every_command_has_examples_and_fits_the_screen() {
    let home = Home::new();
    let commands = commands(&home);
    assert!(commands.len() > 25, "{commands:?}");
    for command in &commands {
        for columns in [80, 100] {
            let help = help(&home, command, columns);
            assert!(help.contains("\nExamples:\n  "), "{command:?}:\n{help}");
            assert!(help.contains("\nGlobal options:\n"), "{command:?}:\n{help}");
            assert!(!help.contains("__script"), "{command:?}");
            let long = help.lines().find(|line| line.chars().count() > columns);
            assert_eq!(long, None, "{command:?} at {columns} columns");
        }
    }
}

#[test]
fn whoever_is_new_reads_first_where_to_start() {
    let home = Home::new();
    let help = help(&home, &[], 80);
    let (start, rest) = help.split_once("\nStart here:\n").unwrap();
    assert!(start.lines().count() <= 4, "{start}");
    let first: Vec<_> =
        rest.lines().take(3).map(|line| line.trim().split(' ').next().unwrap()).collect();
    assert_eq!(first, ["provision", "start", "resume"]);
    assert!(rest.contains("Exit codes: 0 done"), "{rest}");
}

#[test]
fn every_command_has_a_page_with_all_that_a_page_has() {
    let home = Home::new();
    for command in commands(&home) {
        let words: Vec<_> = ["man"].into_iter().chain(command.iter().map(String::as_str)).collect();
        let page = home.run(&words).stdout;
        let file =
            format!("man/man1/{}.1", [&["provision".to_owned()], &command[..]].concat().join("-"));
        assert_eq!(page, fs::read_to_string(home.path().join(file)).unwrap());
        for section in ["NAME", "SYNOPSIS", "EXAMPLES", "\"EXIT STATUS\"", "ENVIRONMENT", "FILES"] {
            assert!(page.contains(&format!(".SH {section}\n")), "{command:?} {section}:\n{page}");
        }
        for variable in
            ["AGENTIC_PROVISION_HOME", "PROVISION_DATA_<KEY>", "NO_COLOR", "CLICOLOR_FORCE"]
        {
            assert!(page.contains(variable), "{command:?}");
        }
        assert!(!page.contains("__script"), "{command:?}");
    }
}

#[test]
fn pages_are_clean_to_those_who_set_them() {
    let home = Home::new();
    commands(&home);
    for entry in fs::read_dir(home.path().join("man/man1")).unwrap() {
        let page = entry.unwrap().path();
        let groff = Command::new("groff").args(["-man", "-ww", "-Tutf8"]).arg(&page).output();
        let Ok(groff) = groff else {
            skip("there is no groff here");
            return;
        };
        assert_eq!(String::from_utf8_lossy(&groff.stderr), "", "{}", page.display());
    }
}

#[test]
fn a_page_that_is_not_there_is_named_with_one_that_is() {
    let home = Home::new();
    let output = home.run(&["man", "catalog", "valdate"]);
    assert_eq!(output.code, Some(2));
    assert_eq!(
        output.stderr,
        "error: `provision catalog` has no command `valdate`\n\
         hint: did you mean `validate`?\n\
         hint: `provision catalog --help` lists its commands\n"
    );
    let hidden = home.run(&["man", "__script"]);
    assert_eq!(hidden.code, Some(2));
}

#[test]
fn pages_are_written_again_over_those_that_are_there() {
    let home = Home::new();
    commands(&home);
    let page = home.path().join("man/man1/provision.1");
    let before = fs::read_to_string(&page).unwrap();
    fs::write(&page, "old").unwrap();
    commands(&home);
    assert_eq!(fs::read_to_string(&page).unwrap(), before);
    let file = page.to_str().unwrap();
    let output = home.run(&["man", "--to", file]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert!(output.stderr.contains("cannot be written to") && output.stderr.contains("hint: "));
}

#[test]
fn help_and_mistakes_have_the_colour_that_was_asked_for() {
    let home = Home::new();
    for words in [&["--help"][..], &["nosuch"]] {
        for (choice, expected) in [("always", true), ("never", false), ("auto", false)] {
            let output = home.run(&[&["--color", choice], words].concat());
            let said = output.stdout + &output.stderr;
            assert_eq!(said.contains('\u{1b}'), expected, "{words:?} {choice}: {said}");
        }
    }
}

#[test]
fn whoever_errs_is_told_what_was_wrong_and_what_to_type() {
    let home = Home::new();
    let cases: [(&[&str], &str, &str); 14] = [
        (&["resum"], "'resum'", "'resume'"),
        (&["start", "--ad", "jq"], "'--ad'", "'--add'"),
        (&["approve"], "<SESSION>", "Usage: provision approve"),
        (&["approve", "latest"], "<DIGEST>", "Usage: provision approve"),
        (&["schema", "nosuch"], "'nosuch'", "session, event, plan"),
        (&["--color", "nosuch"], "'nosuch'", "auto, always, never"),
        (&["prune", "--older-than", "x"], "'x'", "--help"),
        (&["start", "--data", "git"], "'git'", "KEY=VALUE"),
        (&["catalog"], "'provision catalog'", "list, show, search, validate"),
        (&["status", "nosuch"], "`nosuch`", "hint: `provision sessions`"),
        (&["start", "nosuch"], "`nosuch`", "hint: there are: "),
        (
            &["start", "--add", "nosuch"],
            "`nosuch`",
            "hint: `provision catalog search nosuch` finds",
        ),
        (&["plan", "--add", "ripgrap"], "`ripgrap`", "hint: `ripgrap`: did you mean `ripgrep`?"),
        (&["catalog", "show", "nosuch"], "`nosuch`", "hint: `provision catalog list`"),
    ];
    for (words, named, next) in cases {
        let output = home.run(words);
        let said = &output.stderr;
        assert_eq!(output.code, Some(2), "{words:?}: {said}");
        assert!(said.starts_with("error: "), "{words:?}: {said}");
        assert!(said.contains(named) && said.contains(next), "{words:?}: {said}");
    }
}

#[test]
fn programs_are_told_of_mistakes_as_people_are() {
    let home = Home::new();
    let output = home.run(&["--json", "approve"]);
    let error: serde_json::Value = serde_json::from_str(&output.stderr).unwrap();
    let message = "the following required arguments were not provided: <SESSION> <DIGEST>";
    assert_eq!(error["error"]["message"], message);
    let usage = error["error"]["hints"][0].as_str().unwrap();
    assert!(usage.starts_with("Usage: provision approve"), "{usage}");
}
