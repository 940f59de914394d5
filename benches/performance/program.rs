//! The program that is measured, and plans for it.

use std::{
    env,
    ffi::OsString,
    fs, iter,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::release;

/// With sessions in a home of its own, and nobody's settings.
pub fn provision(home: &Path) -> Command {
    let mut command = Command::new(release::provision());
    command.arg("--home").arg(home).env("HOME", home);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// `provision apply`; `jobs` is the program's own choice if not given.
pub fn apply(home: &Path, plan: &Path, jobs: Option<u32>) -> Command {
    let mut command = provision(home);
    command.arg("--quiet").arg("apply").arg(plan).arg("--yes").args(jobs_flag(jobs));
    command
}

pub fn jobs_flag(jobs: Option<u32>) -> Vec<String> {
    jobs.map_or_else(Vec::new, |jobs| vec!["--jobs".to_owned(), jobs.to_string()])
}

pub fn succeeds(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

/// Why a program that we compare with cannot be used, if so: it does not even do this.
pub fn why_not(program: &str, arguments: &[&str]) -> Option<&'static str> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => None,
        Ok(_) => Some("too old"),
        Err(_) => Some("not installed"),
    }
}

/// A program of this name in `directory`, which a shell runs.
pub fn tool(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// PATH with another directory first.
pub fn path_with(directory: &Path) -> OsString {
    let before = env::var_os("PATH").unwrap_or_default();
    let places = iter::once(directory.to_owned()).chain(env::split_paths(&before));
    env::join_paths(places).unwrap()
}

/// A directory in `place` as the program wants its home to be.
pub fn home(place: &Path, name: &str) -> PathBuf {
    let home = place.join(name);
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    home
}

pub fn plan(place: &Path, name: &str, tasks: &[Value]) -> PathBuf {
    let path = place.join(format!("{name}.json"));
    fs::write(&path, plan_text(tasks)).unwrap();
    path
}

pub fn plan_text(tasks: &[Value]) -> String {
    json!({"format": "plan-v1", "tasks": tasks}).to_string()
}

/// As many tasks, each of one command that does nothing.
pub fn idle_tasks(count: usize) -> Vec<Value> {
    let task = |number| json!({"id": format!("task-{number}"), "commands": [{"command": ":"}]});
    (0..count).map(task).collect()
}
