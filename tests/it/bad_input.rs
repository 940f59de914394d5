//! What can be wrong with a home, a document or an argument: each has its own words and exit
//! code, and nothing is changed.

use std::{
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::Path,
};

use serde_json::json;

use crate::harness::{
    Home, ID, Output, skip, tree,
    unprivileged::{is_root, unprivileged, unprivileged_home},
    walk_script,
};

const MID_SESSION: &str = include_str!("fixtures/legacy/mid_session.json");

/// Runs a query and sees that it changed nothing.
pub fn query(home: &Home, arguments: &[&str]) -> String {
    let before = tree(home.path());
    let output = home.run(arguments);
    assert_eq!(tree(home.path()), before, "{arguments:?} changed something");
    output.snapshot(home)
}

fn damaged_document(content: impl AsRef<[u8]>) -> Home {
    Home::new().damaged().with_document("active", ID, content)
}

#[test]
fn a_path_is_not_an_id() {
    let home = Home::new();
    for odd in ["../../etc/passwd", "/etc/passwd", "..", "prov-20260202-143052-a7b3/../x", ""] {
        let output = home.run(&["status", odd]);
        assert_eq!(output.code, Some(2), "{odd}");
    }
    insta::assert_snapshot!(query(&home, &["status", "../../etc/passwd"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `../../etc/passwd` is not a session id, the beginning of one, or `latest`
    hint: `provision sessions` lists the sessions there are
    ");
    insta::assert_snapshot!(query(&home, &["status", "prov-20260202-143052-a7b3"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: there is no session prov-20260202-143052-a7b3
    hint: `provision sessions` lists the sessions there are
    ");
}

#[test]
fn arguments_that_are_not_text_are_no_reason_to_panic() {
    let home = Home::new();
    let odd = std::ffi::OsStr::from_bytes(b"\xff");
    for arguments in [["--home", "status"], ["status", "--home"]] {
        for json in [None, Some("--json")] {
            let mut command = home.command(&[]);
            command.args(json).arg(arguments[0]).arg(odd).arg(arguments[1]);
            let output = Output::of(command.current_dir(home.path()));
            assert_eq!(output.code, Some(2), "{}", output.stderr);
        }
    }
    let odd_home = home.path().join(odd);
    fs::create_dir_all(odd_home.join("sessions/active")).unwrap();
    fs::set_permissions(&odd_home, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(odd_home.join(format!("sessions/active/{ID}.json")), "{").unwrap();
    for shelf in ["sessions", "sessions/active"] {
        fs::set_permissions(odd_home.join(shelf), fs::Permissions::from_mode(0o700)).unwrap();
    }
    for query in ["sessions", "status"] {
        let mut command = home.command(&["--json", query, "--home"]);
        assert_eq!(Output::of(command.arg(&odd_home)).code, Some(6));
    }
}

#[test]
fn with_json_a_usage_error_is_json_too() {
    let output = Home::new().run(&["--json", "stats"]);
    assert_eq!(output.code, Some(2));
    let error: serde_json::Value = serde_json::from_str(&output.stderr).unwrap();
    assert_eq!(error["error"]["message"], "unrecognized subcommand 'stats'");
    let output = Home::new().run(&["--json", "--home", "/nonexistent", "status"]);
    let error: serde_json::Value = serde_json::from_str(&output.stderr).unwrap();
    assert_eq!(error["error"]["operation"], "status");
}

#[test]
fn an_unknown_word_is_a_usage_error() {
    let home = Home::new();
    for arguments in
        [vec!["stats"], vec!["--lock-timeout", "soon", "sessions"], vec!["schema", "x"]]
    {
        assert_eq!(home.run(&arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn an_empty_document() {
    insta::assert_snapshot!(query(&damaged_document(""), &["status", ID]), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 is damaged
      cause: the file is `[HOME]/sessions/active/prov-20260202-143052-a7b3.json`
      cause: it is empty
    hint: nothing was changed; `provision recover prov-20260202-143052-a7b3` says what can be saved
    ");
}

#[test]
fn a_document_that_is_null() {
    insta::assert_snapshot!(query(&damaged_document("null"), &["status", ID]), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 is damaged
      cause: the file is `[HOME]/sessions/active/prov-20260202-143052-a7b3.json`
      cause: it is not a session document: invalid type: null, expected an object
    hint: nothing was changed; `provision recover prov-20260202-143052-a7b3` says what can be saved
    ");
}

#[test]
fn a_document_that_is_not_utf_8() {
    let mut bytes = MID_SESSION.as_bytes().to_vec();
    bytes[100] = 0xff;
    insta::assert_snapshot!(query(&damaged_document(bytes), &["status", ID]), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 is damaged
      cause: the file is `[HOME]/sessions/active/prov-20260202-143052-a7b3.json`
      cause: it is not UTF-8: byte 100 belongs to no character
    hint: nothing was changed; `provision recover prov-20260202-143052-a7b3` says what can be saved
    ");
}

#[test]
fn a_document_of_two_hundred_megabytes() {
    let home = damaged_document("");
    let file = fs::File::options().write(true).open(home.document_path("active", ID)).unwrap();
    file.set_len(200 * 1024 * 1024).unwrap();
    insta::assert_snapshot!(query(&home, &["status", ID]), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 is damaged
      cause: the file is `[HOME]/sessions/active/prov-20260202-143052-a7b3.json`
      cause: it is 209715200 bytes long; the most a document may have is 134217728
    hint: nothing was changed; `provision recover prov-20260202-143052-a7b3` says what can be saved
    ");
}

#[test]
fn a_document_that_is_a_symbolic_link() {
    let home = Home::new().damaged().with_document("completed", ID, MID_SESSION);
    let elsewhere = home.path().join("elsewhere.json");
    fs::rename(home.document_path("completed", ID), &elsewhere).unwrap();
    symlink(&elsewhere, home.document_path("completed", ID)).unwrap();
    insta::assert_snapshot!(query(&home, &["status", ID]), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 is damaged
      cause: the file is `[HOME]/sessions/completed/prov-20260202-143052-a7b3.json`
      cause: it is a symbolic link; a document must be a file of its own
    hint: nothing was changed; `provision recover prov-20260202-143052-a7b3` says what can be saved
    ");
}

#[test]
fn a_document_of_a_newer_program_is_left_alone() {
    let text = MID_SESSION.replace("\"1.0.0\"", "\"2.0.0\"").replace("\"phase\":", "\"stage\":");
    let home = damaged_document(text);
    insta::assert_snapshot!(query(&home, &["status", ID]), @r"
    exit 6
    --- stdout
    --- stderr
    error: the document of session prov-20260202-143052-a7b3 was written by a newer version (2.0.0)
      cause: the file is `[HOME]/sessions/active/prov-20260202-143052-a7b3.json`
    hint: nothing was changed; update provision to use it
    ");
    let before = tree(&home.path().join("sessions"));
    assert_eq!(home.play([json!({"import": {}})]).code, Some(6));
    assert_eq!(tree(&home.path().join("sessions")), before);
}

#[test]
fn a_document_under_anothers_name() {
    let home =
        Home::new().damaged().with_document("active", "prov-20260303-000000-0000", MID_SESSION);
    let shown = query(&home, &["status", "prov-20260303-000000-0000"]);
    assert!(shown.contains("it says it belongs to session prov-20260202-143052-a7b3"), "{shown}");
}

#[test]
fn a_journal_that_is_missing() {
    let home = Home::new().damaged();
    home.play(walk_script());
    fs::remove_file(home.journal(ID)).unwrap();
    let shown = query(&home, &["status", ID]);
    assert!(shown.starts_with("exit 6"), "{shown}");
    assert!(shown.contains("it is missing, and the document has taken in"), "{shown}");
}

#[test]
fn one_bad_document_does_not_hide_the_others() {
    let home = Home::new().damaged().with_document("active", "prov-20260101-000000-0000", "{");
    home.play([json!({"create": {}})]);
    let output = home.run(&["sessions"]);
    assert_eq!(output.code, Some(6));
    assert!(output.stdout.contains(ID), "{}", output.stdout);
    assert!(output.stderr.contains("session prov-20260101-000000-0000 cannot be read"));
    let output = home.run(&["--json", "sessions"]);
    let list: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(list["unreadable"][0]["id"], "prov-20260101-000000-0000");
    let error: serde_json::Value =
        serde_json::from_str(output.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(error["error"]["exit_code"], 6);
}

#[test]
fn a_home_that_others_can_write() {
    let home = Home::new();
    home.play([json!({"create": {}})]);
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    insta::assert_snapshot!(query(&home, &["status", ID]), @r"
    exit 9
    --- stdout
    --- stderr
    error: `[HOME]` can be written by others (mode 777); what is in it cannot be trusted
    hint: look at what is in it, then: chmod 700 '[HOME]'
    ");
}

#[test]
fn a_home_that_is_a_symbolic_link_or_a_file() {
    let home = Home::new();
    let link = home.path().join("link");
    symlink(home.path(), &link).unwrap();
    let output = home.run(&["--home", link.to_str().unwrap(), "sessions"]);
    assert_eq!(output.code, Some(9));
    assert!(output.stderr.contains("is a symbolic link"), "{}", output.stderr);
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let output = home.run(&["--home", file.to_str().unwrap(), "sessions"]);
    assert_eq!(output.code, Some(9));
    assert!(output.stderr.contains("is not a directory"), "{}", output.stderr);
}

// The rest needs another user: root is above permissions.

fn set_modes(root: &Path, directories: u32, files: u32) {
    for (path, ..) in tree(root) {
        let mode = if path.is_dir() { directories } else { files };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(root, fs::Permissions::from_mode(directories)).unwrap();
}

#[test]
fn a_read_only_home_answers_queries_and_takes_nothing() {
    let (home, binary) = unprivileged_home();
    let inner = home.path().join("inner");
    set_modes(&inner, 0o500, 0o400);
    for arguments in
        [vec!["sessions"], vec!["status"], vec!["history"], vec!["history", "--verify"]]
    {
        let output = Output::of(&mut unprivileged(&home, &binary, &arguments));
        assert_eq!(output.code, Some(0), "{arguments:?}: {}", output.stderr);
    }
    let before = tree(&inner);
    let script = home.path().join("script.jsonl");
    for id in [ID, "prov-20260303-000000-0000"] {
        let arguments = ["__script", "--session", id, script.to_str().unwrap()];
        let output = Output::of(&mut unprivileged(&home, &binary, &arguments));
        assert_eq!(output.code, Some(9), "{}", output.stderr);
        assert!(output.stderr.contains("Permission denied"), "{}", output.stderr);
    }
    assert_eq!(tree(&inner), before);
    set_modes(&inner, 0o700, 0o600);
}

#[test]
fn an_unreadable_document_is_not_called_damaged() {
    let (home, binary) = unprivileged_home();
    let path = home.path().join(format!("inner/sessions/completed/{ID}.json"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let output = Output::of(&mut unprivileged(&home, &binary, &["status", ID]));
    insta::assert_snapshot!(output.snapshot(&home), @r"
    exit 9
    --- stdout
    --- stderr
    error: the record cannot be read or written
      cause: cannot open `[HOME]/inner/sessions/completed/prov-20260202-143052-a7b3.json`
      cause: Permission denied (os error 13)
    hint: check who owns it, or name another directory with --home DIR
    ");
}

#[test]
fn the_home_of_another_user_is_refused_by_root() {
    if !is_root() {
        skip("only root can look into another user's home");
        return;
    }
    let (home, _) = unprivileged_home();
    let inner = home.path().join("inner");
    let output = home.run(&["--home", inner.to_str().unwrap(), "status"]);
    assert_eq!(output.code, Some(9));
    assert!(output.stderr.contains("belongs to another user (uid 65534)"), "{}", output.stderr);
}
