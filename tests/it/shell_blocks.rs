//! Lines that tasks add to the configuration of a person's shells: added only if that is allowed, once
//! however often it is tried, and removable. They stand in an env file of the home, which one line in
//! the person's file sources.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::harness::{
    Home, Output, skip,
    terminal::{self, Terminal},
};

const ALLOW: [&str; 4] = ["--shell-integration", "yes", "--jobs", "1"];

/// A tool in a directory of its own, which nobody finds unless a shell is told. Counts its runs.
fn tool(name: &str) -> Value {
    let place = format!("$HOME/{name}-bin");
    let posix = format!(
        "case \":$PATH:\" in *\":{place}:\"*) ;; *) export PATH=\"{place}:$PATH\" ;; esac\n"
    );
    let install = format!(
        "echo once >> \"$HOME/{name}.runs\"; mkdir -p \"{place}\"; \
         printf '#!/bin/sh\\necho it works\\n' > \"{place}/{name}\"; chmod +x \"{place}/{name}\""
    );
    json!({
        "id": name,
        "commands": [{"command": install}],
        "shell_integration": {
            "bash": posix, "zsh": posix, "fish": format!("fish_add_path -g \"{place}\"")
        },
        "verification": {"command": format!("test -x \"{place}/{name}\"")},
    })
}

/// A home of someone who uses bash, with this in the file for it.
fn home_with(rc: &[u8]) -> (Home, PathBuf) {
    let home = Home::new();
    let file = home.path().join(".bashrc");
    fs::write(&file, rc).unwrap();
    (home, file)
}

/// The line in a bash file that sources the env file of a test's home.
const SOURCE: &str = "if [ -f \"$HOME/env.bash\" ]; then . \"$HOME/env.bash\"; fi # provision\n";

/// The env file for bash, and the tasks whose lines it has.
fn env_file(home: &Home) -> PathBuf {
    home.path().join("env.bash")
}

fn tasks_in_env_file(home: &Home) -> Vec<String> {
    let content = fs::read_to_string(env_file(home)).unwrap_or_default();
    let sections = content.lines().filter_map(|line| line.strip_prefix("# provision task: "));
    sections.map(Into::into).collect()
}

fn read(file: &Path) -> String {
    String::from_utf8(fs::read(file).unwrap()).unwrap()
}

fn events(home: &Home, kind: &str) -> Vec<Value> {
    let mut events = home.events(&home.latest());
    events.retain(|event| event["event"] == kind);
    events
}

/// Which session it was: of two that began in one second, none is the latest.
fn session_of(output: &Output) -> String {
    let line = output.stderr.lines().find_map(|line| line.strip_prefix("session "));
    line.unwrap().to_owned()
}

fn succeeded(output: &Output) {
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
}

#[test]
fn lines_are_added_once_and_recorded() {
    let (home, rc) = home_with(b"alias ll='ls -l'\n");
    succeeded(&home.apply(&json!([tool("mytool")]), &ALLOW));
    let after = read(&rc);
    assert_eq!(after, format!("alias ll='ls -l'\n{SOURCE}"));
    let lines = read(&env_file(&home));
    assert!(
        lines.starts_with("# ") && lines.contains("\n# provision task: mytool\ncase "),
        "{lines}"
    );
    assert_eq!(fs::metadata(env_file(&home)).unwrap().mode() & 0o777, 0o600);
    let document = home.latest_document();
    assert_eq!(document["shell_integration"]["allowed"], true);
    let task = &document["tasks"]["mytool"];
    let changed = json!([env_file(&home).to_str().unwrap(), rc.to_str().unwrap()]);
    assert_eq!(task["result"]["files_changed"], changed);
    assert_eq!(task["shell_blocks"][0]["status"], "success");
    let written = events(&home, "shell_block_written");
    assert_eq!(written.len(), 2);
    for (written, file) in written.iter().zip(changed.as_array().unwrap()) {
        assert_eq!((&written["shell"], &written["changed"]), (&json!("bash"), &json!(true)));
        assert_eq!(&written["file"], file);
    }

    let before = [&rc, &env_file(&home)].map(|file| fs::metadata(file).unwrap().ino());
    let second = home.apply(&json!([tool("mytool")]), &ALLOW);
    succeeded(&second);
    assert_eq!(read(&rc), after);
    let inodes = [&rc, &env_file(&home)].map(|file| fs::metadata(file).unwrap().ino());
    assert_eq!(inodes, before, "neither file was touched");
    let document = home.document("completed", &session_of(&second));
    let task = &document["tasks"]["mytool"];
    assert_eq!(task["shell_blocks"][0]["changed"], false);
    assert_eq!(task["result"]["files_changed"], Value::Null);
    assert!(!home.path().join("..bashrc.provision").exists());
}

#[test]
fn removing_the_last_lines_leaves_the_file_as_it_was() {
    let cases: [Option<&[u8]>; 7] = [
        None,
        Some(b""),
        Some(b"alias a=b"),
        Some(b"alias a=b\n\n\n"),
        Some(b"alias a=b\r\nalias c=d\r\n"),
        Some(b"alias a=b\r\nalias c=d"),
        Some(b"# \xff\xfe caf\xe9\n\0binary\n"),
    ];
    for content in cases {
        let home = Home::new();
        let rc = home.path().join(".bashrc");
        if let Some(content) = content {
            fs::write(&rc, content).unwrap();
        }
        let plan = home.plan(&json!([tool("one"), tool("two")]));
        let mut command = home.command(&["apply", plan.to_str().unwrap(), "--yes"]);
        succeeded(&Output::of(command.args(ALLOW).env("SHELL", "/bin/bash")));
        let with = fs::read(&rc).unwrap();
        assert!(with.starts_with(content.unwrap_or_default()), "{content:?}");
        assert_eq!(String::from_utf8_lossy(&with).matches(SOURCE).count(), 1, "{content:?}");
        succeeded(&home.run(&["shell", "remove", "one"]));
        assert_eq!(fs::read(&rc).unwrap(), with);
        assert_eq!(tasks_in_env_file(&home), ["two"]);
        succeeded(&home.run(&["shell", "remove"]));
        assert!(!env_file(&home).exists());
        // A file that ended without a line break has one now.
        let mut expected = content.unwrap_or_default().to_vec();
        if !expected.is_empty() && !expected.ends_with(b"\n") {
            expected.push(b'\n');
        }
        assert_eq!(fs::read(&rc).unwrap(), expected);
    }
}

#[test]
fn a_link_stays_a_link_and_what_it_leads_to_is_changed() {
    let home = Home::new();
    let rc = home.path().join(".bashrc");
    let dotfiles = home.path().join("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    fs::write(dotfiles.join("bash"), "mine\n").unwrap();
    symlink("bash", dotfiles.join("link")).unwrap();
    symlink("dotfiles/link", &rc).unwrap();
    succeeded(&home.apply(&json!([tool("mytool")]), &ALLOW));
    assert_eq!(fs::read_link(&rc).unwrap(), Path::new("dotfiles/link"));
    assert_eq!(fs::read_link(dotfiles.join("link")).unwrap(), Path::new("bash"));
    assert_eq!(read(&dotfiles.join("bash")), format!("mine\n{SOURCE}"));
    let left: Vec<_> = fs::read_dir(&dotfiles).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
    succeeded(&home.run(&["shell", "remove"]));
    assert_eq!(read(&dotfiles.join("bash")), "mine\n");

    // One that leads nowhere yet.
    fs::remove_file(&rc).unwrap();
    symlink("later/bash", &rc).unwrap();
    succeeded(&home.apply(&json!([tool("mytool")]), &ALLOW));
    assert!(fs::symlink_metadata(&rc).unwrap().is_symlink());
    assert_eq!(read(&home.path().join("later/bash")), SOURCE);
    succeeded(&home.run(&["shell", "remove"]));
    assert_eq!(read(&home.path().join("later/bash")), "");
    assert!(fs::symlink_metadata(&rc).unwrap().is_symlink());

    // Two that lead to each other.
    fs::remove_file(&rc).unwrap();
    symlink(".other", &rc).unwrap();
    symlink(".bashrc", home.path().join(".other")).unwrap();
    let output = home.apply(&json!([tool("mytool")]), &ALLOW);
    assert_eq!(output.code, Some(3));
    assert!(output.stderr.contains("leads from link to link"), "{}", output.stderr);
}

#[test]
fn owner_group_and_mode_are_kept() {
    let (home, rc) = home_with(b"mine\n");
    fs::set_permissions(&rc, fs::Permissions::from_mode(0o640)).unwrap();
    let root = rustix::process::geteuid().is_root();
    if root {
        std::os::unix::fs::chown(&rc, Some(12_345), Some(54_321)).unwrap();
    } else {
        skip("only root can give files away");
    }
    let facts = || {
        let there = fs::metadata(&rc).unwrap();
        (there.uid(), there.gid(), there.mode() & 0o7777)
    };
    let before = facts();
    succeeded(&home.apply(&json!([tool("mytool")]), &ALLOW));
    assert!(read(&rc).contains(SOURCE));
    assert_eq!(facts(), before);
    succeeded(&home.run(&["shell", "remove"]));
    assert_eq!(facts(), before);
    if root {
        // What root makes in a person's home is the person's.
        let other = Home::new();
        let theirs = other.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(12_345), Some(54_321)).unwrap();
        let plan = other.plan(&json!([tool("mytool")]));
        let mut command = other.command(&["apply", plan.to_str().unwrap(), "--yes"]);
        command.args(ALLOW).env("HOME", &theirs).env("SHELL", "/usr/bin/fish");
        succeeded(&Output::of(&mut command));
        for made in [".config", ".config/fish", ".config/fish/config.fish"] {
            assert_eq!(fs::metadata(theirs.join(made)).unwrap().uid(), 12_345, "{made}");
        }
    }
}

#[test]
fn a_file_that_may_not_be_written_is_a_clear_failure_and_resuming_goes_on_from_there() {
    let (home, rc) = home_with(b"mine\n");
    fs::set_permissions(&rc, fs::Permissions::from_mode(0o444)).unwrap();
    let output = home.apply(&json!([tool("mytool"), tool("after")]), &ALLOW);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let id = home.latest();
    let file = rc.to_str().unwrap();
    for said in [
        "failed (permission_required)",
        &format!("`{file}` is read-only"),
        &format!("provision resume {id}"),
        "--shell-integration no",
        "mytool-bin:$PATH",
    ] {
        assert!(output.stderr.contains(said), "{said}: {}", output.stderr);
    }
    assert_eq!(read(&rc), "mine\n");
    assert!(!env_file(&home).exists(), "another task could source it");
    assert_eq!(fs::metadata(&rc).unwrap().mode() & 0o777, 0o444);
    let task = &home.latest_document()["tasks"]["mytool"];
    assert_eq!(task["failure_context"]["error_type"], "permission_required");
    assert_eq!(task["failure_context"]["file"], file);
    assert_eq!(home.run(&["resume"]).code, Some(3), "it is still read-only");

    fs::set_permissions(&rc, fs::Permissions::from_mode(0o644)).unwrap();
    succeeded(&home.run(&["resume"]));
    assert_eq!(read(&rc), format!("mine\n{SOURCE}"));
    assert_eq!(tasks_in_env_file(&home), ["mytool", "after"]);
    assert_eq!(read(&home.path().join("mytool.runs")), "once\n", "its command ran once");
}

#[test]
fn one_who_adds_the_lines_by_hand_resumes_without_them() {
    let (home, rc) = home_with(b"mine\n");
    fs::set_permissions(&rc, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(home.apply(&json!([tool("mytool")]), &ALLOW).code, Some(3));
    succeeded(&home.run(&["resume", "--shell-integration", "no"]));
    assert_eq!(read(&rc), "mine\n");
    assert_eq!(home.latest_document()["shell_integration"]["allowed"], false);
}

#[test]
fn what_is_no_file_of_a_shell_is_left_alone() {
    type Make = fn(&Path);
    let make_directory: Make = |path| fs::create_dir(path).unwrap();
    let make_pipe: Make = |path| {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let make_large: Make = |path| {
        fs::File::create(path).unwrap().set_len(5 * 1024 * 1024).unwrap();
    };
    let cases = [
        (make_directory, "is a directory, not a file"),
        (make_pipe, "is a pipe"),
        (make_large, "has 5242880 bytes, more than"),
    ];
    for (make, said) in cases {
        let home = Home::new();
        let rc = home.path().join(".bashrc");
        make(&rc);
        let facts = || fs::metadata(&rc).map(|there| (there.ino(), there.len())).unwrap();
        let before = facts();
        let plan = home.plan(&json!([tool("mytool")]));
        let mut command = home.command(&["apply", plan.to_str().unwrap(), "--yes"]);
        let output = Output::of(command.args(ALLOW).env("SHELL", "/bin/bash"));
        assert_eq!(output.code, Some(3), "{said}");
        assert!(output.stderr.contains(said), "{}", output.stderr);
        assert_eq!(facts(), before);
    }
}

#[test]
fn markers_that_someone_edited_stop_everything_with_their_line() {
    let content = b"mine\n# >>> provision: other >>>\nexport A=1\nmore of mine\n";
    let (home, rc) = home_with(content);
    let output = home.apply(&json!([tool("mytool")]), &ALLOW);
    assert_eq!(output.code, Some(3));
    let said = "line 2 begins or ends a block of provision, and its counterpart is missing";
    assert!(output.stderr.contains(said), "{}", output.stderr);
    assert!(output.stderr.contains(rc.to_str().unwrap()) && output.stderr.contains("Repair the"));
    for arguments in [&["shell"][..], &["shell", "remove"]] {
        let output = home.run(arguments);
        assert_eq!(output.code, Some(9));
        assert!(output.stderr.contains(said), "{}", output.stderr);
    }
    assert_eq!(fs::read(&rc).unwrap(), content);
    assert!(!env_file(&home).exists());
}

#[test]
fn foreign_env_file_is_left_as_it_is() {
    let (home, rc) = home_with(b"mine\n");
    fs::write(env_file(&home), "export A=1\n").unwrap();
    let output = home.apply(&json!([tool("mytool")]), &ALLOW);
    assert_eq!(output.code, Some(3));
    assert!(output.stderr.contains("provision did not write it"), "{}", output.stderr);
    assert!(output.stderr.contains("Move the file away, then: provision resume"));
    for arguments in [&["shell"][..], &["shell", "remove"]] {
        assert_eq!(home.run(arguments).code, Some(9));
    }
    assert_eq!(read(&env_file(&home)), "export A=1\n");
    assert_eq!(read(&rc), "mine\n");
    fs::rename(env_file(&home), home.path().join("mine.bash")).unwrap();
    succeeded(&home.run(&["resume"]));
    assert_eq!(tasks_in_env_file(&home), ["mytool"]);
}

#[test]
fn where_nobody_decided_nothing_is_written_and_a_note_says_what_to_run() {
    let (home, rc) = home_with(b"mine\n");
    let output = home.apply(&json!([tool("mytool")]), &[]);
    succeeded(&output);
    assert_eq!(read(&rc), "mine\n");
    let id = home.latest();
    assert!(output.stderr.contains(&format!("`provision shell add {id}`")), "{}", output.stderr);
    assert!(output.stderr.contains("\n  case \":$PATH:\""), "{}", output.stderr);
    assert!(events(&home, "shell_integration_decided").is_empty());

    let added = home.run(&["shell", "add"]);
    succeeded(&added);
    assert_eq!(added.stdout, format!("added  {}  bash  mytool\n", rc.display()));
    assert_eq!(tasks_in_env_file(&home), ["mytool"]);
    let result = &home.latest_document()["tasks"]["mytool"]["result"];
    let changed = json!([env_file(&home).to_str().unwrap(), rc.to_str().unwrap()]);
    assert_eq!(result["files_changed"], changed);
    let again = home.json(&["shell", "add", &id]);
    assert_eq!(again["blocks"][0]["changed"], false);
    succeeded(&home.run(&["history", &id, "--verify"]));
}

#[test]
fn a_no_is_a_no() {
    let (home, rc) = home_with(b"mine\n");
    let output = home.apply(&json!([tool("mytool")]), &["--shell-integration", "no"]);
    succeeded(&output);
    assert_eq!(read(&rc), "mine\n");
    assert!(!output.stderr.contains("shell add"), "{}", output.stderr);
    assert_eq!(events(&home, "shell_integration_decided")[0]["allowed"], false);
}

#[test]
fn lines_are_listed_and_removed_by_name() {
    let (home, rc) = home_with(b"");
    succeeded(&home.apply(&json!([tool("ripgrep"), tool("fzf")]), &ALLOW));
    let file = env_file(&home);
    let file = file.to_str().unwrap();
    let listed = home.json(&["shell"]);
    let sourced_by = rc.to_str().unwrap();
    let block = |task: &str| json!({"file": file, "shell": "bash", "task_id": task, "sourced_by": sourced_by});
    let expected = json!({"blocks": [block("ripgrep"), block("fzf")], "problems": []});
    assert_eq!(listed, expected);
    assert_eq!(home.json(&["shell", "list"]), expected);
    let text = home.run(&["shell"]);
    assert_eq!(text.stdout, format!("{file}  bash  ripgrep\n{file}  bash  fzf\n"));

    let before = read(&env_file(&home));
    let unknown = home.run(&["shell", "remove", "fzf", "ripgerp"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("did you mean `ripgrep`?"), "{}", unknown.stderr);
    assert_eq!(read(&env_file(&home)), before, "nothing is removed unless all of it can be");
    fs::write(&rc, "").unwrap();
    let unread = home.run(&["shell"]);
    let lacks = format!("{sourced_by} does not source {file}; it lacks this line:\n  if [ -f ");
    assert!(unread.stderr.contains(&lacks), "{}", unread.stderr);

    let removed = home.json(&["shell", "remove", "ripgrep"]);
    assert_eq!(removed, json!({"removed": [block("ripgrep")]}));
    assert_eq!(home.json(&["shell"])["blocks"], json!([block("fzf")]));
    let output = home.run(&["shell", "remove"]);
    assert_eq!(output.stdout, format!("removed  {file}  bash  fzf\n"));
    assert_eq!(read(&rc), "");
    let nothing = home.run(&["shell", "remove"]);
    succeeded(&nothing);
    assert!(nothing.stdout.is_empty() && nothing.stderr.contains("nothing of ours"));
}

#[test]
fn what_was_there_before_is_left_as_its_owner_has_it() {
    let (home, rc) = home_with(b"mine\n");
    let mut there = tool("mytool");
    there["detection"] = json!({"check_command": "true"});
    let output = home.apply(&json!([there]), &ALLOW);
    succeeded(&output);
    assert_eq!(read(&rc), "mine\n");
    assert!(events(&home, "shell_block_written").is_empty());
    assert_eq!(home.json(&["shell", "add"])["blocks"], json!([]));
    assert_eq!(home.json(&["shell", "add", "--all"])["blocks"][0]["task_id"], "mytool");
}

#[test]
fn lines_wait_for_what_a_person_does_by_hand() {
    let (home, rc) = home_with(b"mine\n");
    let mut by_hand = tool("mytool");
    by_hand["manual"] = json!(["sign in"]);
    by_hand["verification"] = json!({"command": "test -e ~/signed-in"});
    succeeded(&home.apply(&json!([by_hand]), &ALLOW));
    assert_eq!(read(&rc), "mine\n");
    fs::write(home.path().join("signed-in"), "").unwrap();
    succeeded(&home.apply(&json!([by_hand]), &ALLOW));
    assert_eq!(tasks_in_env_file(&home), ["mytool"]);
}

#[test]
fn the_login_shell_gets_its_file_and_others_are_used_if_they_have_theirs() {
    let home = Home::new();
    fs::write(home.path().join(".bashrc"), "mine\n").unwrap();
    let plan = home.plan(&json!([tool("mytool")]));
    let mut command = home.command(&["apply", plan.to_str().unwrap(), "--yes"]);
    let z = home.path().join("z");
    command.args(ALLOW).env("SHELL", "/usr/bin/zsh").env("ZDOTDIR", &z);
    succeeded(&Output::of(&mut command));
    assert!(read(&z.join(".zshrc")).contains("$HOME/env.zsh"));
    assert_eq!(fs::metadata(&z).unwrap().mode() & 0o700, 0o700);
    assert!(read(&home.path().join(".bashrc")).contains("$HOME/env.bash"));
    assert!(!home.path().join(".config").exists());

    // Without any of them, nobody knows where to put it, and says so.
    let home = Home::new();
    let output = home.apply(&json!([tool("mytool")]), &ALLOW);
    succeeded(&output);
    assert!(output.stderr.contains("(SHELL is not set): mytool"), "{}", output.stderr);
}

#[test]
fn runs_at_the_same_time_lose_none_of_each_others_lines() {
    let (home, rc) = home_with(b"mine\n");
    let names: Vec<String> = (0..8).map(|number| format!("tool-{number}")).collect();
    let ids: Vec<String> = names
        .iter()
        .map(|name| {
            let output = home.apply(&json!([tool(name)]), &[]);
            succeeded(&output);
            session_of(&output)
        })
        .collect();
    for _ in 0..5 {
        let run = |id: &String| {
            home.command(&["shell", "add", id]).stdout(Stdio::null()).spawn().unwrap()
        };
        let children: Vec<_> = ids.iter().map(run).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let mut there = tasks_in_env_file(&home);
        there.sort();
        assert_eq!(there, names);
        assert_eq!(read(&rc), format!("mine\n{SOURCE}"));
        succeeded(&home.run(&["shell", "remove"]));
        assert_eq!(read(&rc), "mine\n");
    }
}

#[test]
fn home_whose_path_no_shell_can_source_is_refused() {
    let (home, rc) = home_with(b"mine\n");
    let odd = home.path().join("two\nlines");
    let plan = home.plan(&json!([tool("mytool")]));
    let arguments = ["--home", odd.to_str().unwrap(), "apply", plan.to_str().unwrap(), "--yes"];
    let output = Output::of(home.command(&arguments).args(ALLOW));
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(output.stderr.contains("no line of a shell can source"), "{}", output.stderr);
    assert_eq!(read(&rc), "mine\n");
    assert!(!odd.join("env.bash").exists());
}

#[test]
fn lines_added_during_a_removal_stay_sourced() {
    let (home, rc) = home_with(b"mine\n");
    let sessions = ["one", "two"].map(|name| {
        let output = home.apply(&json!([tool(name)]), &[]);
        succeeded(&output);
        session_of(&output)
    });
    for _ in 0..20 {
        succeeded(&home.run(&["shell", "add", &sessions[0]]));
        let run = |arguments: &[&str]| {
            home.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let children = [run(&["shell", "remove"]), run(&["shell", "add", &sessions[1]])];
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let is_sourced = read(&rc).contains(SOURCE);
        assert_eq!(is_sourced, !tasks_in_env_file(&home).is_empty());
    }
}

#[test]
fn events_are_all_there_is_on_stdout_for_programs() {
    let (home, rc) = home_with(b"mine\n");
    fs::set_permissions(&rc, fs::Permissions::from_mode(0o444)).unwrap();
    for more in [&[][..], &ALLOW] {
        let plan = home.plan(&json!([tool("mytool")]));
        let arguments = [&["--json", "apply", plan.to_str().unwrap(), "--yes"], more].concat();
        for line in home.run(&arguments).stdout.lines() {
            assert!(serde_json::from_str::<Value>(line).unwrap()["event"].is_string(), "{line}");
        }
    }
}

/// A run on a plain terminal, whose every question gets the next of `answers`.
fn answered(home: &Home, arguments: &[&str], answers: &[&str]) -> (String, Option<i32>) {
    let line = [&["exec", env!("CARGO_BIN_EXE_provision")], arguments].concat().join(" ");
    let mut terminal = Terminal::start(terminal::plain(home), &line);
    for answer in answers {
        terminal.wait_for("Letter: ").type_in(answer);
    }
    terminal.end()
}

#[test]
fn a_person_is_asked_once_and_the_answer_is_kept() {
    let (home, rc) = home_with(b"mine\n");
    let mut failing = tool("second");
    failing["commands"] = json!([{"command": "test -e ~/mended", "idempotent": true}]);
    failing["verification"] = Value::Null;
    let plan = home.plan(&json!([tool("first"), failing]));
    let arguments = ["apply", plan.to_str().unwrap(), "--yes"];
    let (screen, code) = answered(&home, &arguments, &["s\n", "perhaps\n", "a\n"]);
    assert_eq!(code, Some(3), "{screen}");
    let asked = "These would add lines to the configuration of your shells";
    assert_eq!(screen.matches(asked).count(), 1, "{screen}");
    assert!(screen.contains(&format!("{} (bash): first, second", rc.display())));
    assert!(screen.contains("second, for "), "the lines are shown: {screen}");
    assert_eq!(tasks_in_env_file(&home), ["first"]);
    assert_eq!(home.latest_document()["shell_integration"]["decided_by"], "user");

    fs::write(home.path().join("mended"), "").unwrap();
    let screen = home.on_terminal(&["resume", "--retry"], "");
    assert_eq!(screen.code, Some(0), "{}", screen.stdout);
    assert!(!screen.stdout.contains(asked), "{}", screen.stdout);
    assert_eq!(tasks_in_env_file(&home), ["first", "second"]);
}

#[test]
fn nobody_is_asked_who_said_so_or_who_was_told_beforehand() {
    for (more, answers, written) in [
        (&["--no-input"][..], &[][..], false),
        (&["--shell-integration", "yes"], &[], true),
        (&["--json"], &[], false),
        // Enter decides nothing.
        (&[], &["\n", "b\n"], false),
        (&[], &["b\n"], false),
    ] {
        let (home, rc) = home_with(b"mine\n");
        let plan = home.plan(&json!([tool("mytool")]));
        let arguments = [&["apply", plan.to_str().unwrap(), "--yes"], more].concat();
        let (screen, code) = answered(&home, &arguments, answers);
        assert_eq!(code, Some(0), "{screen}");
        assert_eq!(screen.contains("May these lines be added?"), more.is_empty(), "{screen}");
        assert_eq!(read(&rc).contains(SOURCE), written, "{more:?}");
        let decided = events(&home, "shell_integration_decided").len();
        assert_eq!(decided, usize::from(written || more.is_empty()), "{more:?} {answers:?}");
    }
}

const CATALOG: &str = r#"
metadata: {category: test}
tasks:
  shelled:
    name: Shelled
    description: Says things about shells.
    detection: {installed_indicator: ~/never}
    install:
      steps:
        - command: "true"
          shell_config: {bash: export STEP=1, zsh: export STEP=1, note: Steps have notes.}
        - command: "true"
          shell_config: export ANY=1
        - {command: "true", shell_config: true}
    shell_integration: {bash: export OWN=1, fish: set -gx OWN 1}
    post_install:
      - {message: Say this., notes: And this., note: Also this., shell_config: {bash: export AFTER=1}}
      - {shell_config: {bash: export OWN=1}}
    notes: Know this.
"#;

#[test]
fn everything_that_a_task_has_for_shells_is_planned_and_all_it_tells_is_told() {
    let (home, rc) = home_with(b"");
    let tasks = home.path().join("tasks");
    fs::create_dir(&tasks).unwrap();
    fs::set_permissions(&tasks, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(tasks.join("shelled.yaml"), CATALOG).unwrap();
    let plan = home.json(&["plan", "--add", "shelled"]);
    let lines = &plan["tasks"][0]["shell_integration"];
    assert_eq!(lines["bash"], "export OWN=1\nexport STEP=1\nexport ANY=1\nexport AFTER=1");
    assert_eq!(lines["zsh"], "export STEP=1\nexport ANY=1");
    assert_eq!(lines["fish"], "set -gx OWN 1", "what is not for it is not given to fish");
    let shown = home.run(&["plan", "--add", "shelled", "--commands"]);
    assert!(shown.stdout.contains("for bash if you allow it: export OWN=1\n"), "{}", shown.stdout);

    // What is decided when the plan waits is known when it is resumed.
    let start = home.run(&[&["start", "--add", "shelled"], &ALLOW[..]].concat());
    assert_eq!(start.code, Some(4), "{}", start.stderr);
    let digest = plan["digest"].as_str().unwrap();
    let output = home.run(&["resume", "--approve", digest]);
    succeeded(&output);
    assert!(read(&rc).contains(SOURCE));
    assert!(read(&env_file(&home)).ends_with("export ANY=1\nexport AFTER=1\n"));
    let told =
        "note: shelled: Know this.\n  Say this.\n  And this.\n  Also this.\n  Steps have notes.\n";
    assert!(output.stderr.contains(told), "{}", output.stderr);
}

#[test]
fn a_plan_cannot_smuggle_markers_into_a_file() {
    let (home, _) = home_with(b"");
    let mut hostile = tool("mytool");
    hostile["shell_integration"]["bash"] = json!("x\n# provision task: other\ny");
    let output = home.apply(&json!([hostile]), &ALLOW);
    assert_eq!(output.code, Some(8));
    assert!(output.stderr.contains("tasks[0].shell_integration.bash"), "{}", output.stderr);
}

#[test]
fn fresh_shells_find_the_tool() {
    let home = Home::in_temporary_directory();
    for file in [".bashrc", ".zshrc"] {
        fs::write(home.path().join(file), "").unwrap();
    }
    let fish = home.path().join(".config/fish");
    fs::create_dir_all(&fish).unwrap();
    fs::write(fish.join("config.fish"), "").unwrap();
    succeeded(&home.apply(&json!([tool("mytool")]), &ALLOW));
    for (shell, arguments) in [("bash", "-ic"), ("zsh", "-ic"), ("fish", "-c")] {
        let said = Command::new(shell)
            .args([arguments, "mytool"])
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", "/usr/bin:/bin")
            .output();
        match said {
            Ok(said) => assert_eq!(String::from_utf8_lossy(&said.stdout), "it works\n", "{shell}"),
            Err(_) if shell != "bash" => skip(format!("there is no {shell} here")),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn each_home_has_a_line_of_its_own() {
    let (home, rc) = home_with(b"mine\n");
    succeeded(&home.apply(&json!([tool("mytool")]), &ALLOW));
    let other = Home::new();
    let plan = other.plan(&json!([tool("other")]));
    let mut command = other.command(&["apply", plan.to_str().unwrap(), "--yes"]);
    succeeded(&Output::of(command.args(ALLOW).env("HOME", home.path())));
    let their_file = other.path().join("env.bash");
    let place = their_file.display();
    let line = format!("if [ -f '{place}' ]; then . '{place}'; fi # provision\n");
    assert_eq!(read(&rc), format!("mine\n{SOURCE}{line}"));
    succeeded(&Output::of(other.command(&["shell", "remove"]).env("HOME", home.path())));
    assert_eq!(read(&rc), format!("mine\n{SOURCE}"));
}
