//! Coming back to a session: which there are, where each stands, what is told first, and that it
//! goes on just there.

use std::{
    fmt::Write,
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    catalog_mistakes::written,
    harness::{
        Home, ID, Output, processes,
        screen::{CTRL_C, ENTER, ESCAPE, Screen, USUAL},
        skip, wait_until,
    },
    workshop::{Workshop, pairs},
};

/// The tools that the example of the session format has left to do, made by touching files.
const LEFT: &str = r"
metadata: {category: tools}
tasks:
  cursor:
    name: Cursor
    detection: {installed_indicator: ~/cursor}
    install:
      steps: [{command: touch ~/cursor, description: Install Cursor editor}]
  postgresql:
    name: PostgreSQL
    detection: {installed_indicator: ~/postgresql}
    install:
      steps: [{command: 'touch ~/postgresql; echo one >> ~/ran', description: Install PostgreSQL}]
  homebrew:
    name: Homebrew
    detection: {installed_indicator: ~/homebrew}
    install:
      steps: [{command: touch ~/homebrew}]
  nvm:
    name: nvm
    detection: {installed_indicator: ~/nvm}
    install:
      steps: [{command: touch ~/nvm}]
";

/// The session in the middle of its execution that the published format shows.
fn example() -> Home {
    let text = include_str!("fixtures/legacy/mid_session.json");
    let home = Home::new().with_document("active", ID, text);
    written(&home, "catalog/tasks/left.yaml", LEFT);
    home
}

fn on_screen(home: &Home, words: &str) -> Screen {
    let (program, catalog) = (env!("CARGO_BIN_EXE_provision"), home.path().join("catalog"));
    Screen::beside(home, USUAL, &format!("{program} --catalog {} {words}", catalog.display()))
}

#[test]
fn the_example_of_the_format_resumes_as_it_is_written() {
    let home = example();
    let before: Value =
        serde_json::from_slice(&fs::read(home.document_path("active", ID)).unwrap()).unwrap();
    let mut screen = on_screen(&home, "resume");
    // What is done, what failed and what is left comes first; then the plan of it, made anew.
    screen.sees("done      homebrew 4.2.0, nvm").sees("left      postgresql");
    screen.sees("failed    cursor: Error: Cask 'cursor' requires a password to be set.");
    screen.sees("touch ~/cursor").sees("touch ~/postgresql").sees("Should this run?");
    assert!(!home.path().join("postgresql").exists(), "nothing runs before it is approved");
    screen.ready().types("a");
    screen.sees("Cursor failed. What now?").sees("A  Retry").sees("C  Skip").sees("D  Pause");
    assert!(!home.path().join("postgresql").exists(), "what is to be decided comes first");
    screen.ready().types("c");
    screen.ends(0);
    assert!(home.path().join("postgresql").exists() && !home.path().join("cursor").exists());
    let document = home.document("completed", ID);
    let status = |task: &str| document["tasks"][task]["status"].clone();
    assert_eq!(status("cursor"), "skipped");
    assert_eq!(status("postgresql"), "completed");
    assert_eq!(document["plan"]["approved_by"], "user");
    assert_eq!(document["plan"]["execution_mode"], "all_at_once");
    // What was done before is as it was written then.
    for done in ["homebrew", "nvm"] {
        for field in ["status", "started_at", "completed_at", "result"] {
            assert_eq!(document["tasks"][done][field], before["tasks"][done][field], "{done}");
        }
        let mut command = document["tasks"][done]["commands"][0].clone();
        // Which one it is goes without saying in the earlier format.
        assert_eq!(command.as_object_mut().unwrap().shift_remove("command_index"), Some(json!(0)));
        assert_eq!(command, before["tasks"][done]["commands"][0], "{done}");
    }
    assert_eq!(document["choices"], before["choices"]);
    assert_eq!(document["user_data"], before["user_data"]);
    assert_eq!(fs::read_to_string(home.path().join("ran")).unwrap(), "one\n");
}

#[test]
fn unattended_the_example_needs_an_approval_and_skips_when_told_to() {
    let home = example();
    let catalog = home.path().join("catalog");
    let resume = |more: &[&str]| {
        home.run(&[&["--catalog", catalog.to_str().unwrap(), "resume", ID], more].concat())
    };
    let output = resume(&["--skip"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert!(output.stderr.contains("is not approved"), "{}", output.stderr);
    let output = resume(&["--skip", "--yes"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    for line in ["done      homebrew 4.2.0, nvm", "left      postgresql", "failed    cursor: "] {
        assert!(output.stderr.contains(line), "no {line:?} in {}", output.stderr);
    }
    assert!(home.path().join("postgresql").exists() && !home.path().join("cursor").exists());
    assert_eq!(home.document("completed", ID)["tasks"]["cursor"]["status"], "skipped");
}

#[test]
fn what_another_machine_could_have_is_passed_by_with_the_reason() {
    let home = example();
    let path = home.path().join("catalog/tasks/left.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replacen("    name: Cursor\n", "    name: Cursor\n    platforms: [amiga]\n", 1);
    fs::write(path, text).unwrap();
    let catalog = home.path().join("catalog");
    let words = ["--catalog", catalog.to_str().unwrap(), "resume", ID, "--yes"];
    let output = home.run(&words);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let why = "it cannot be installed here: it is for amiga only";
    assert!(output.stderr.contains(&format!("cursor is passed by: {why}")), "{}", output.stderr);
    let document = home.document("completed", ID);
    assert_eq!(document["tasks"]["cursor"]["skipped_reason"], why);
    assert_eq!(document["tasks"]["postgresql"]["status"], "completed");
}

#[test]
fn whoever_has_several_sessions_is_asked_which_with_their_place_and_age() {
    let shop = Workshop::new();
    shop.put("broken", "vim");
    let failed = shop.session(3, &["start", "web", "--yes", "--jobs", "1"]);
    let waiting = shop.session(4, &["start", "systems"]);
    let mut screen = shop.on_screen("resume");
    screen.sees("Which session do you want to go on with?");
    screen.sees("A  systems: at its plan, 0 of 2 tasks done, last active just now");
    screen.sees("B  web: at command 1 of vim, 1 of 3 tasks done, failed, last active just now");
    screen.sees(&failed).sees(&waiting);
    shop.take("broken", "vim");
    screen.ready().types("b");
    // Whoever is there is asked about what failed before anything is run.
    screen.sees("done      base 1.2.3").sees("left      database").sees("vim failed. What now?");
    assert_eq!(shop.tries("vim"), 1);
    screen.ready().types("a");
    screen.ends(0);
    assert_eq!(shop.tries("vim"), 2);
    assert_eq!(shop.document(&failed)["meta"]["status"], "completed");
    assert_eq!(shop.document(&waiting)["meta"]["status"], "paused");
    // Nobody to ask: the newest, and a word about the others.
    shop.put("broken", "helix");
    let third = shop.session(3, &["start", "systems", "--yes"]);
    let output = shop.run(&["resume"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let word = format!("not finished, either: {waiting} (systems: at its plan");
    assert!(output.stderr.contains(&word), "{}", output.stderr);
    assert_eq!(shop.document(&third)["lifecycle"]["resume_count"], 1);
}

#[test]
fn whoever_leaves_the_list_has_changed_nothing() {
    let shop = Workshop::new();
    for _ in 0..2 {
        shop.session(4, &["start", "systems"]);
    }
    let before = crate::harness::tree(&shop.home.path().join("sessions"));
    let mut screen = shop.on_screen("resume");
    screen.sees("Which session do you want to go on with?").ready().types(CTRL_C);
    let text = screen.ends(4);
    assert!(text.contains("nothing was begun"), "{text}");
    assert_eq!(crate::harness::tree(&shop.home.path().join("sessions")), before);
}

#[test]
fn a_pause_from_inside_says_where_it_goes_on_and_it_does() {
    let shop = Workshop::new();
    let mut screen = shop.on_screen("start web");
    screen.sees("Which editor?").ready().types("c");
    screen.sees("A database?").ready().types(CTRL_C);
    let text = screen.ends(4);
    assert!(text.contains("paused: interrupted with Ctrl-C"), "{text}");
    let id = shop.home.latest();
    let text = text.replace('\n', "");
    assert!(text.contains(&format!("provision resume {id} goes on at its questions")), "{text}");
    let document = shop.document(&id);
    assert_eq!(
        document["lifecycle"]["paused_context"],
        "interrupted with Ctrl-C (at its questions)"
    );
    assert_eq!(document["choices"]["editor"]["value"], "helix", "saved as it was given");
    let mut screen = shop.on_screen("resume");
    screen.sees("A database?").ready().types("b");
    screen.sees("A card?").ready().types("b");
    screen.sees("How are you?").ready().types("a");
    screen.sees("Is this what you want?").ready().types("a");
    screen.ends(0);
    assert_eq!(shop.tasks(&id), pairs(&[("base", "completed"), ("helix", "completed")]));
    assert_eq!(shop.document(&id)["lifecycle"]["resume_count"], 1);
}

#[test]
fn a_revision_is_gone_through_on_the_screen_and_nothing_changes_before_it_is_approved() {
    let shop = Workshop::new();
    shop.put("broken", "database");
    let id = shop.session(3, &["start", "web", "--yes"]);
    shop.take("broken", "database");
    let before = fs::read(shop.home.journal(&id)).unwrap();
    let mut screen = shop.on_screen(&format!("revise {id} --answer editor=emacs"));
    screen.sees("moderate: some tasks are planned anew").sees("new: emacs").ready();
    assert_eq!(fs::read(shop.home.journal(&id)).unwrap(), before);
    screen.types(CTRL_C);
    screen.ends(3);
    assert_eq!(fs::read(shop.home.journal(&id)).unwrap(), before, "it was not confirmed");
    let mut screen = shop.on_screen(&format!("revise {id} --answer editor=emacs"));
    screen.sees("new: emacs").ready().types("a");
    screen.sees("database failed. What now?").ready().types("a");
    screen.ends(0);
    let done = [("base", "completed"), ("emacs", "completed"), ("database", "completed")];
    assert_eq!(shop.tasks(&id), pairs(&[&done[..], &[("vim", "completed")]].concat()));
    assert_eq!(shop.document(&id)["tasks"]["vim"]["needs_review"], true);
}

#[test]
fn tools_are_added_on_the_screen_to_what_is_set_up() {
    let shop = Workshop::new();
    let first = shop.session(0, &["start", "systems", "--yes"]);
    let mut screen = shop.on_screen("");
    screen.sees("This machine was set up before").sees("A  Add tools").ready().types("a");
    screen.sees("Which tools should be added?").types("shade").sees("shade");
    screen.ready().types(ENTER).types(ENTER);
    screen.sees("Is this what you want?").ready().types("a");
    screen.ends(0);
    let second = shop.home.latest();
    let history = shop.document(&second)["expansion_history"].clone();
    assert_eq!(history[0]["session_id"], first);
    assert_eq!(history[0]["tasks_added"], json!(["shade"]));
}

/// As if the machine had been started again: in a namespace of its own the boot has another id.
fn after_restart(shop: &Workshop, words: &str) -> Option<Output> {
    let other = shop.home.path().join("boot");
    fs::write(&other, "00000000-0000-4000-8000-000000000000\n").unwrap();
    let script = format!(
        "mount --bind '{}' /proc/sys/kernel/random/boot_id && exec '{}' --catalog '{}' {words}",
        other.display(),
        env!("CARGO_BIN_EXE_provision"),
        shop.catalog().display()
    );
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", &script])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", shop.home.path())
        .env("AGENTIC_PROVISION_HOME", shop.home.path());
    let output = Output::of(&mut command);
    if output.stderr.contains("unshare") || output.stderr.contains("mount") {
        skip(format!("this machine lets us have no namespace: {}", output.stderr));
        return None;
    }
    Some(output)
}

#[test]
fn after_a_restart_what_was_done_is_looked_at_and_what_is_gone_is_done_again() {
    let shop = Workshop::new();
    shop.put("broken", "database");
    let id = shop.session(3, &["start", "web", "--yes"]);
    shop.take("broken", "database");
    // What was in memory only is gone.
    shop.take("made", "vim");
    let Some(output) = after_restart(&shop, &format!("resume {id} --jobs 1")) else { return };
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("the machine was restarted since"), "{}", output.stderr);
    assert!(output.stderr.contains("not there any more: vim"), "{}", output.stderr);
    assert_eq!((shop.tries("base"), shop.tries("vim")), (1, 2));
    let document = shop.document(&id);
    assert_eq!(document["revision_history"][0]["downstream_archived"], json!(["task-vim.v1.json"]));
    assert_eq!(document["tasks"]["vim"]["status"], "completed");
}

#[test]
fn without_a_restart_what_was_done_is_trusted() {
    let shop = Workshop::new();
    shop.put("broken", "database");
    let id = shop.session(3, &["start", "web", "--yes"]);
    shop.take("broken", "database");
    shop.take("made", "vim");
    shop.session(0, &["resume", &id]);
    assert_eq!(shop.tries("vim"), 1);
}

/// What died right before it was recorded is done again, all of it.
#[test]
fn what_another_machine_could_have_is_passed_by_also_after_a_kill() {
    let with_amiga = || {
        let home = example();
        let path = home.path().join("catalog/tasks/left.yaml");
        let text = fs::read_to_string(&path).unwrap();
        // It needs two things, and neither is for this machine.
        let needs = "name: Cursor\n    dependencies: {required: [boing, guru]}\n";
        let mut text = text.replacen("name: Cursor\n", needs, 1);
        for need in ["boing", "guru"] {
            let _ = write!(
                text,
                "  {need}:\n    name: {need}\n    platforms: [amiga]\n    \
                 detection: {{installed_indicator: ~/{need}}}\n    \
                 install: {{steps: [{{command: touch ~/{need}}}]}}\n"
            );
        }
        fs::write(path, text).unwrap();
        home
    };
    let resume = |home: &Home| {
        let catalog = home.path().join("catalog");
        let output = home.run(&["--catalog", catalog.to_str().unwrap(), "resume", ID, "--yes"]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        home.document("completed", ID)
    };
    let first = with_amiga();
    resume(&first);
    let plan = fs::read(first.record(ID).join("artifacts/plan.json")).unwrap();
    // The plan was kept, and nothing was recorded any more: not even the first line.
    let second = with_amiga();
    let artifacts = second.record(ID).join("artifacts");
    fs::create_dir_all(&artifacts).unwrap();
    for private in [second.path().join("records"), second.record(ID), artifacts.clone()] {
        fs::set_permissions(private, fs::Permissions::from_mode(0o700)).unwrap();
    }
    fs::write(artifacts.join("plan.json"), plan).unwrap();
    fs::write(second.journal(ID), "").unwrap();
    let document = resume(&second);
    assert_eq!(document["tasks"]["cursor"]["status"], "skipped", "{:#}", document["tasks"]);
    assert_eq!(document["tasks"]["postgresql"]["status"], "completed");
}

#[test]
fn what_was_gone_after_a_restart_is_not_forgotten_if_something_else_fails_first() {
    let shop = Workshop::new();
    shop.put("hold", "database");
    let catalog = shop.catalog();
    let start = ["--json", "start", "web", "--yes", "--jobs", "1"];
    let words = [&["--catalog", catalog.to_str().unwrap()], &start[..]].concat();
    let mut runner = shop.home.command(&words).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the wait", || shop.tries("database") == 1);
    let id = shop.home.latest();
    // The machine goes down in the middle of a command, and loses what was in memory only.
    runner.kill().unwrap();
    runner.wait().unwrap();
    let home = format!("HOME={}", shop.home.path().display());
    let left = || processes::with_in_environment(&home);
    for pid in left() {
        processes::signal(pid, "KILL");
    }
    wait_until("nothing runs any more", || left().is_empty());
    shop.take("hold", "database");
    shop.take("made", "vim");
    // What nobody knows the end of comes first, does not work, and fails again.
    shop.put("odd", "database");
    shop.put("broken", "database");
    let words = format!("resume {id} --interrupted retry --jobs 1");
    let Some(output) = after_restart(&shop, &words) else { return };
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    shop.take("odd", "database");
    shop.take("broken", "database");
    let output = after_restart(&shop, &format!("resume {id} --jobs 1")).unwrap();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(shop.is_made("vim") && shop.is_made("database"));
}

#[test]
fn what_is_to_be_reviewed_does_not_run_unseen() {
    let shop = Workshop::new();
    let mut screen = shop.on_screen("start systems");
    screen.sees("Is this what you want?").ready().types("b");
    screen.sees("Run this for base?").ready().types("d");
    screen.ends(4);
    let id = shop.home.latest();
    let text = shop.said(4, &["resume", &id]);
    assert!(text.contains("is to be reviewed step by step"), "{text}");
    assert_eq!(shop.tries("base"), 0);
    shop.session(0, &["resume", &id, "--yes"]);
    assert!(shop.is_made("base") && shop.is_made("helix"));
}

#[test]
fn an_expansion_goes_back_to_its_tools() {
    let shop = Workshop::new();
    let first = shop.session(0, &["start", "systems", "--yes"]);
    let mut screen = shop.on_screen(&format!("expand {first} shade"));
    screen.sees("Is this what you want?").sees("D  Other tools").ready().types(ESCAPE);
    screen.sees("Which tools should be added?").ready().types(CTRL_C);
    screen.ends(4);
    let document = shop.document(&shop.home.latest());
    assert_eq!(document["choices"]["tools_added"]["value"], "shade", "nothing is lost");
}
