//! A disk without room: recording stops with a clear word, and what was promised is kept.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::harness::{Home, ID, skip, walk_script};

/// A small file system, gone when dropped; `None` where this machine does not let us.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn within(home: &Home, kilobytes: usize) -> Option<Self> {
        let path = home.path().join("small");
        fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kilobytes}k,mode=700"), "tmpfs"])
            .arg(&path)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            skip("this machine does not let us mount a small tmpfs");
        }
        mounted.then_some(Self(path))
    }

    /// Uses up all that is left.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).unwrap();
        while file.write(&[1; 4096]).is_ok_and(|written| written > 0) {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// A plan whose commands say how far they came, off the disk that fills up.
fn plan(home: &Home, commands: usize) -> PathBuf {
    let ran = home.path().join("ran");
    let command = |number| {
        // Something to log, and a summary of some length.
        let script =
            format!("seq 2000; echo {number} >> '{}'; seq 30 | tr -d '\\n'", ran.display());
        json!({"command": script})
    };
    let tasks: Vec<_> = (0..commands)
        .map(|number| json!({"id": format!("task-{number}"), "commands": [command(number)]}))
        .collect();
    home.plan(&json!(tasks))
}

#[test]
fn a_run_pauses_and_completes_once_there_is_room() {
    const COMMANDS: usize = 12;
    let mut stopped = 0;
    for kilobytes in (500..1000).step_by(20) {
        let home = Home::new().damaged();
        let Some(disk) = SmallDisk::within(&home, 1024) else { return };
        let plan = plan(&home, COMMANDS);
        let filler = disk.0.join("filler");
        fs::write(&filler, vec![1; kilobytes * 1024]).unwrap();
        let place = disk.0.join("home");
        let with = |more: &[&str]| home.run(&[&["--home", place.to_str().unwrap()], more].concat());
        let output = with(&["apply", plan.to_str().unwrap(), "--yes", "--jobs", "1"]);
        let ran = || fs::read_to_string(home.path().join("ran")).unwrap_or_default();
        if output.code != Some(0) {
            assert_eq!(output.code, Some(9), "{}", output.stderr);
            assert!(output.stderr.contains("No space left on device"), "{}", output.stderr);
            fs::remove_file(&filler).unwrap();
            if with(&["status"]).code != Some(0) {
                // There was not even room to begin.
                assert_eq!(ran(), "");
                continue;
            }
            stopped += 1;
            assert!(output.stderr.contains("provision resume"), "{}", output.stderr);
            let status = with(&["--json", "status"]).stdout;
            let status: Value = serde_json::from_str(&status).unwrap();
            let resumed = with(&["resume", "--yes", "--jobs", "1"]);
            if status["status"] == "completed" {
                // Only the document was missing in the end; it is put right.
                assert_eq!(resumed.code, Some(2), "{}", resumed.stderr);
            } else {
                assert_eq!(status["status"], "paused", "{status:#}\n{}", output.stderr);
                assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
            }
        }
        let all = (0..COMMANDS).fold(String::new(), |all, number| format!("{all}{number}\n"));
        assert_eq!(ran(), all, "each command ran once, with {kilobytes} KiB taken");
        assert_eq!(with(&["history", "--verify"]).code, Some(0));
    }
    assert!(stopped >= 3, "the disk was never full in the middle of a run");
}

fn arguments<'a>(home: &'a Path, script: &'a Path) -> [&'a str; 6] {
    ["--home", home.to_str().unwrap(), "__script", "--session", ID, script.to_str().unwrap()]
}

#[test]
fn it_stops_the_recording_and_loses_nothing() {
    let home = Home::new().damaged();
    let Some(disk) = SmallDisk::within(&home, 256) else { return };
    let script = home.script("script.jsonl", walk_script());
    let (filler, small_home) = (disk.0.join("filler"), disk.0.join("home"));
    let arguments = arguments(&small_home, &script);
    let mut stopped = 0;
    // With ever less room at the start, the session stops at ever earlier places.
    for kilobytes in (40..240).step_by(8) {
        let _ = fs::remove_dir_all(&small_home);
        fs::write(&filler, vec![1; kilobytes * 1024]).unwrap();
        let output = home.run(&arguments);
        if output.code == Some(0) {
            continue;
        }
        stopped += 1;
        assert_eq!(output.code, Some(9), "{}", output.stderr);
        assert!(output.stderr.contains("No space left on device"), "{}", output.stderr);
        assert!(output.stderr.contains("make space and run it again"), "{}", output.stderr);
        fs::remove_file(&filler).unwrap();
        let told = output.stdout;
        if !told.is_empty() {
            let again = home.run(&arguments);
            assert_eq!(again.code, Some(0), "{}", again.stderr);
            assert!(again.stdout.starts_with(&told), "an acknowledged event is gone");
        }
    }
    assert!(stopped >= 3, "the disk was never full");
}

#[test]
fn the_end_of_a_command_that_has_started_can_still_be_recorded() {
    let home = Home::new().damaged();
    let Some(disk) = SmallDisk::within(&home, 256) else { return };
    let walk = walk_script();
    let started = walk.iter().position(|step| step["event"] == "command_started").unwrap();
    let (before, after) = walk.split_at(started + 1);
    let mut finished = after[0].clone();
    // More than there may be room for by chance, and more than is left without asking for more.
    finished["output_summary"] = json!("x".repeat(34_000));
    let steps = before.iter().cloned().chain([json!({"await_input": {}}), finished]);
    let script = home.script("script.jsonl", steps);
    let small_home = disk.0.join("home");
    let mut child = home
        .command(&arguments(&small_home, &script))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..=started {
        told.next().unwrap().unwrap();
    }
    disk.fill();
    drop(child.stdin.take());
    let last = told.next().expect("the end is recorded on a full disk").unwrap();
    assert!(last.contains("command_finished"), "{last}");
    // The document could not be written: that is said, and the journal has it all the same.
    assert_eq!(child.wait().unwrap().code(), Some(9));
    let history = home.run(&["--home", small_home.to_str().unwrap(), "--json", "history"]);
    assert_eq!(history.stdout.lines().last(), Some(last.as_str()));
}
