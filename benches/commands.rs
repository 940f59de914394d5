//! What a recorded, durable command costs beyond a bare spawn of the same shell.
//!
//! Everything is measured in one run on one machine, by turns, and told as ratios and differences:
//! machines differ, and so do minutes. Homes are on the disk of the target directory.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a measurement starts processes, writes files and prints; it may panic"
)]

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::json;

const SHELL: [&str; 4] = ["--noprofile", "--norc", "-c", ":"];

fn main() {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let directory = tempfile::Builder::new().prefix("commands-").tempdir_in(place).unwrap();
    let most = std::env::var("PROVISION_BENCH_MOST").ok().and_then(|text| text.parse().ok());
    println!(
        "{:>9}  {:>9}  {:>14}  {:>9}  {:>8}",
        "commands", "bare bash", "+ two syncs", "recorded", "beyond"
    );
    for count in [100, 1_000, 10_000] {
        if most.is_some_and(|most: usize| count > most) {
            continue;
        }
        // Bare spawns before and after: what slows the machine down slows both down.
        let some = count.min(500);
        let log = directory.path().join(format!("log-{count}"));
        let before = time(|| bare_spawns(some));
        let recorded = time(|| recorded_commands(directory.path(), count));
        let bare = before + time(|| bare_spawns(some));
        let synced = time(|| synced_spawns(some, &log));
        let each = |total: Duration, n: usize| total.as_secs_f64() * 1000.0 / n as f64;
        let (bare, synced, recorded) =
            (each(bare, 2 * some), each(synced, some), each(recorded, count));
        println!(
            "{count:>9}  {bare:>6.2} ms  {synced:>5.2} ms {:>4.2} x  {recorded:>6.2} ms  {:>5.2} ms  {:.2} x",
            synced / bare,
            recorded - bare,
            recorded / bare,
        );
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn bare_spawns(count: usize) {
    for _ in 0..count {
        let status = Command::new("/bin/bash").args(SHELL).stdin(Stdio::null()).status().unwrap();
        assert!(status.success());
    }
}

/// The least that durability costs: one synced line before, one behind.
fn synced_spawns(count: usize, log: &Path) {
    let mut file = fs::File::create(log).unwrap();
    let line = [b'x'; 400];
    for _ in 0..count {
        for before in [true, false] {
            file.write_all(&line).unwrap();
            file.sync_data().unwrap();
            if before {
                bare_spawns(1);
            }
        }
    }
}

/// The real program on a plan of `count` tasks with one command each.
fn recorded_commands(directory: &Path, count: usize) {
    let home = directory.join(format!("home-{count}"));
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    let task = |number| json!({"id": format!("task-{number}"), "commands": [{"command": ":"}]});
    let tasks: Vec<_> = (0..count).map(task).collect();
    let plan = directory.join(format!("plan-{count}.json"));
    fs::write(&plan, json!({"format": "plan-v1", "tasks": tasks}).to_string()).unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_provision"))
        .args(["--quiet", "--home"])
        .arg(&home)
        .arg("apply")
        .arg(&plan)
        .arg("--yes")
        .status()
        .unwrap();
    assert!(status.success());
}
