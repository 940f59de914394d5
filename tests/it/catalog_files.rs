//! The files of a catalog: where they are looked for, and what they may cost.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    catalog_mistakes::{SOUND, validate, written},
    harness::{
        Home, Output,
        unprivileged::{unprivileged, unprivileged_home},
    },
    hostile_yaml,
};

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_reason() {
    let home = Home::new();
    let folder = home.path().join("catalog");
    written(&home, "catalog/bytes.yaml", b"tasks:\n  \xc3\xa9t\xe9: {}\n");
    written(&home, "catalog/sound.yaml", SOUND);
    symlink("nowhere.yaml", folder.join("gone.yaml")).unwrap();
    let large = fs::File::create(folder.join("large.yaml")).unwrap();
    large.set_len(4 * 1024 * 1024 + 1).unwrap();
    let (code, said) = validate(&home, &[], &folder);
    assert_eq!(code, Some(8));
    assert_eq!((&said["files"], &said["tasks"]), (&4.into(), &1.into()));
    let told: Vec<_> = said["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            let file = found["file"].as_str().unwrap().rsplit('/').next().unwrap();
            let [code, message] = ["code", "message"].map(|key| found[key].as_str().unwrap());
            format!("{file}:{}:{} {code}: {message}", found["line"], found["column"])
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    bytes.yaml:2:5 not_utf8: it is not UTF-8: byte 0xe9 belongs to no character
    gone.yaml:1:1 unreadable: it leads nowhere: there is no such file
    large.yaml:1:1 too_large: it is 4194305 bytes long; the most a file may have is 4194304
    "#);
}

#[test]
fn a_file_of_exactly_the_largest_size_is_read() {
    let home = Home::new();
    let padding = "#".repeat(4 * 1024 * 1024 - SOUND.len());
    let path = written(&home, "full.yaml", format!("{SOUND}{padding}"));
    let (code, said) = validate(&home, &[], &path);
    assert_eq!((code, &said["tasks"]), (Some(0), &1.into()), "{said}");
}

#[test]
fn folders_are_searched_through_and_through() {
    let home = Home::new();
    let task = |id: &str| SOUND.replace("sound", id);
    written(&home, "c/tasks/one.yaml", task("one"));
    written(&home, "c/tasks/deep/er/two.yml", task("two"));
    written(&home, "c/.hidden/three.yaml", "not: read");
    written(&home, "c/.four.yaml", "not: read");
    written(&home, "c/notes.txt", "not: read");
    written(&home, "elsewhere/five.yaml", task("five"));
    symlink("../elsewhere", home.path().join("c/linked")).unwrap();
    symlink("..", home.path().join("c/tasks/up")).unwrap();
    let (code, said) = validate(&home, &[], &home.path().join("c"));
    assert_eq!((code, &said["files"], &said["tasks"]), (Some(0), &3.into(), &3.into()), "{said}");
}

#[test]
fn several_paths_are_one_layer_and_one_file_counts_once() {
    let home = Home::new();
    let one = written(&home, "one.yaml", SOUND);
    let two = written(&home, "two.yaml", SOUND.replace("name: Sound", "name: Again"));
    let paths = [one.to_str().unwrap(), two.to_str().unwrap(), one.to_str().unwrap()];
    let output = home.run(&[&["--json", "catalog", "validate"], &paths[..]].concat());
    assert_eq!(output.code, Some(8));
    let said: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&said["files"], &said["tasks"]), (&2.into(), &2.into()));
    assert_eq!(said["diagnostics"][0]["code"], "duplicate_id");
    assert_eq!(said["diagnostics"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_not_there_or_not_a_catalog_is_a_usage_error() {
    let home = Home::new();
    let empty = home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for path in [home.path().join("nothing"), empty, PathBuf::from("/dev/null")] {
        let output = home.run(&["catalog", "validate", path.to_str().unwrap()]);
        assert_eq!(output.code, Some(2), "{}: {}", path.display(), output.stderr);
        assert!(output.stderr.contains("hint: "), "{}", output.stderr);
    }
    let output = home.run(&["--catalog", "/nonexistent", "catalog", "list"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("there is no `/nonexistent`"), "{}", output.stderr);
}

#[test]
fn a_folder_that_cannot_be_entered_is_named() {
    let (home, binary) = unprivileged_home();
    let folder = home.path().join("closed");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
    let arguments = ["catalog", "validate", folder.to_str().unwrap()];
    let output = Output::of(&mut unprivileged(&home, &binary, &arguments));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(output.code, Some(8), "{}", output.stderr);
    assert!(output.stdout.contains("it cannot be read: Permission denied"), "{}", output.stdout);
    assert!(output.stdout.contains(folder.to_str().unwrap()), "{}", output.stdout);
}

#[test]
fn a_home_that_others_can_write_has_no_say() {
    let home = Home::new();
    written(&home, "tasks/sound.yaml", SOUND);
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(home.run(&["catalog", "list"]).code, Some(9));
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn commands_that_do_not_need_the_catalog_do_not_load_it() {
    let home = Home::new();
    written(&home, "tasks/broken.yaml", "tasks: [\n");
    for arguments in [&["sessions"][..], &[], &["schema", "plan"], &["schema", "task"]] {
        let output = home.run(&[&["--catalog", "/nonexistent"], arguments].concat());
        assert_eq!((output.code, &*output.stderr), (Some(0), ""), "{arguments:?}");
    }
}

/// With 64 MB for everything, program included.
fn with_little_memory(home: &Home, path: &Path) -> Output {
    let mut command = Command::new("bash");
    let line = "ulimit -v 65536 && exec \"$0\" --json catalog validate \"$1\"";
    command.args(["-c", line, env!("CARGO_BIN_EXE_provision"), path.to_str().unwrap()]);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("AGENTIC_PROVISION_HOME", home.path());
    Output::of(&mut command)
}

#[test]
fn hostile_files_are_placed_errors_or_loaded_within_64_megabytes() {
    for (name, content, expected) in hostile_yaml::cases() {
        let home = Home::new();
        let path = written(&home, "hostile.yaml", content);
        let output = with_little_memory(&home, &path);
        let said: Value = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|_| panic!("{name}: {:?} {}", output.code, output.stderr));
        let found = said["diagnostics"].as_array().unwrap();
        let errors: Vec<_> = found.iter().filter(|found| found["severity"] == "error").collect();
        let code = errors.first().map(|found| found["code"].as_str().unwrap());
        assert_eq!(code, expected, "{name}: {said}");
        assert_eq!(output.code, Some(if expected.is_some() { 8 } else { 0 }), "{name}");
        for found in errors {
            assert!(
                found["line"].as_u64() >= Some(1) && found["column"].as_u64() >= Some(1),
                "{name}"
            );
        }
    }
}

#[test]
fn one_anchor_may_serve_a_thousand_tasks() {
    let home = Home::new();
    let mut text = "metadata: {category: c}\ntasks:\n  t0: &base\n    name: T\n    \
        detection: {check_command: command -v t}\n    packages: {apt: [t]}\n"
        .to_owned();
    text.extend((1..1000).map(|number| format!("  t{number}: {{<<: *base, name: T{number}}}\n")));
    let path = written(&home, "many.yaml", text);
    let (code, said) = validate(&home, &[], &path);
    assert_eq!((code, &said["tasks"]), (Some(0), &1000.into()), "{said}");
}

fn repeated(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |all, number| all + &text(number))
}

#[test]
fn very_many_mistakes_are_told_in_little_memory() {
    let home = Home::new();
    let tasks = repeated(40_000, |number| format!("  t{number}: x\n"));
    let path = written(&home, "wrong.yaml", format!("tasks:\n{tasks}"));
    let output = with_little_memory(&home, &path);
    assert_eq!(output.code, Some(8), "{}", output.stderr);
    let said: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(said["diagnostics"].as_array().unwrap().len(), 40_000);
    // All of them in one line, which is not copied for each.
    let line = repeated(5_000, |number| format!("t{number}: x, "));
    let path = written(&home, "line.yaml", format!("tasks: {{{line}}}\n"));
    let output = home.run(&["catalog", "validate", path.to_str().unwrap()]);
    assert_eq!(output.stdout.matches("error[wrong_type]").count(), 5_000);
    assert!(output.stdout.contains("line.yaml:1:50"), "columns are those of the file");
}

#[test]
fn one_file_under_two_names_is_one_file() {
    let home = Home::new();
    let path = written(&home, "c/one.yaml", SOUND);
    symlink("one.yaml", home.path().join("c/two.yaml")).unwrap();
    let dotted = home.path().join("c/./one.yaml");
    let paths = [path.parent().unwrap().to_str().unwrap(), dotted.to_str().unwrap()];
    let output = home.run(&[&["--json", "catalog", "validate"], &paths[..]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    let said: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(said["files"], 1);
}

#[test]
fn folders_that_are_too_deep_or_too_full_are_not_passed_by_in_silence() {
    let home = Home::new();
    let deep = "d/".repeat(18);
    written(&home, &format!("deep/{deep}x.yaml"), SOUND);
    written(&home, "deep/y.YAML", SOUND);
    let (code, said) = validate(&home, &[], &home.path().join("deep"));
    assert_eq!((code, &said["files"]), (Some(8), &1.into()), "{said}");
    assert_eq!(said["diagnostics"][0]["code"], "unreadable");
    let full = home.path().join("full");
    fs::create_dir(&full).unwrap();
    for number in 0..20_001 {
        fs::write(full.join(number.to_string()), "").unwrap();
    }
    let output = home.run(&["catalog", "validate", full.to_str().unwrap()]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("it is not a catalog"), "{}", output.stderr);
}
