//! Commands of every kind, through the real supervisor: how each ends, what is recorded, and what
//! is left.

use std::{fs, process::Stdio};

use serde_json::{Value, json};

use crate::harness::{Home, processes, wait_until};

/// Runner and supervisor together, in KiB.
const MOST_MEMORY: u64 = 40 * 1024;

/// What became of one command.
struct Ran {
    home: Home,
    id: String,
    code: Option<i32>,
    /// Its element in `commands`.
    record: Value,
    task: Value,
    finished: Value,
    cookie: String,
    memory: u64,
    zombies: usize,
}

impl Ran {
    fn class(&self) -> Option<&str> {
        self.task["failure_context"]["error_type"].as_str()
    }

    fn left(&self) -> usize {
        processes::with_in_environment(&self.cookie).len()
    }

    fn log(&self) -> Vec<u8> {
        let mut command = self.home.command(&["logs", &self.id, "--raw"]);
        command.output().unwrap().stdout
    }

    /// Everything the table says of a command.
    fn row(&self) -> (i32, &str, Option<i64>, Option<i64>, Option<&str>, usize) {
        (
            self.code.unwrap(),
            self.record["outcome"].as_str().unwrap(),
            self.record["exit_code"].as_i64(),
            self.finished["signal"].as_i64(),
            self.class(),
            self.left(),
        )
    }
}

fn run(command: &str) -> Ran {
    run_with(&json!({"command": command}))
}

fn run_with(command: &Value) -> Ran {
    let home = Home::new();
    let plan = home.plan(&json!([{"id": "it", "commands": [command]}]));
    let arguments = ["--json", "apply", plan.to_str().unwrap(), "--yes"];
    let output = fs::File::create(home.path().join("told")).unwrap();
    let mut runner = home.command(&arguments).stdout(output).stderr(Stdio::null()).spawn().unwrap();
    let (mut memory, mut zombies) = (0, 0);
    let place = home.path().to_string_lossy().into_owned();
    let status = loop {
        if let Some(status) = runner.try_wait().unwrap() {
            break status;
        }
        let supervisors = processes::with_in_command_line(&["__supervise"]);
        let ours = supervisors.into_iter().filter(|pid| {
            fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|mut files| {
                files.any(|file| {
                    let target = fs::read_link(file.unwrap().path()).unwrap_or_default();
                    target.to_string_lossy().starts_with(&place)
                })
            })
        });
        let mut now = processes::peak_memory(runner.id());
        for supervisor in ours {
            now += processes::peak_memory(supervisor);
            zombies = zombies.max(processes::zombies_of(supervisor));
        }
        memory = memory.max(now);
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let id = home.latest();
    let events = home.events(&id);
    let find = |kind: &str| events.iter().find(|event| event["event"] == kind).cloned();
    let task = home.latest_document()["tasks"]["it"].clone();
    Ran {
        code: status.code(),
        record: task["commands"][0].clone(),
        task,
        finished: find("command_finished").unwrap(),
        cookie: find("command_started").unwrap()["cookie"].as_str().unwrap().to_owned(),
        memory,
        zombies,
        id,
        home,
    }
}

#[test]
fn each_ends_as_it_should() {
    let exited = "exited";
    for (command, row) in [
        ("true", (0, exited, Some(0), None, None, 0)),
        ("exit 3", (3, exited, Some(3), None, Some("unknown"), 0)),
        ("exec false", (3, exited, Some(1), None, Some("unknown"), 0)),
        ("kill -9 $$", (3, "signaled", None, Some(9), Some("killed"), 0)),
        ("kill -TERM $$", (3, "signaled", None, Some(15), Some("killed"), 0)),
        ("set -e; false; true", (3, exited, Some(1), None, Some("unknown"), 0)),
        ("if then", (3, exited, Some(2), None, Some("unknown"), 0)),
        ("no-such-command", (3, exited, Some(127), None, Some("command_not_found"), 0)),
        ("/etc/passwd", (3, exited, Some(126), None, Some("permission_required"), 0)),
        ("read x", (3, exited, Some(1), None, Some("unknown"), 0)),
        ("cat", (0, exited, Some(0), None, None, 0)),
        ("read x < /dev/tty", (3, exited, Some(1), None, Some("needs_input"), 0)),
        // Nobody can know how that ended.
        ("kill -9 $PPID", (4, "indeterminate", None, None, None, 0)),
    ] {
        assert_eq!(run(command).row(), row, "{command}");
    }
}

#[test]
fn one_that_cannot_be_started_says_why_and_nothing_ran() {
    let ran = run_with(&json!({"command": "touch here", "working_dir": "/no/such/place"}));
    assert_eq!(ran.row(), (3, "not_started", None, None, Some("unknown"), 0));
    let error = ran.record["error"].as_str().unwrap();
    assert_eq!(error, "could not be started: its working directory `/no/such/place` is not there");
}

#[test]
fn one_over_its_time_is_ended_with_all_it_started() {
    let stubborn = json!({"command": "trap '' TERM; sleep 999", "timeout_seconds": 1});
    let ran = run_with(&stubborn);
    assert_eq!(ran.row(), (3, "timed_out", None, Some(9), Some("timeout"), 0));

    // Each in a session of its own, half of them deaf to being asked.
    let herd = "for i in $(seq 100); do setsid sleep 998 & (trap '' TERM; exec setsid sleep 998) & done; sleep 998";
    let ran = run_with(&json!({"command": herd, "timeout_seconds": 2}));
    let (code, outcome, _, _, class, left) = ran.row();
    assert_eq!((code, outcome, class, left), (3, "timed_out", Some("timeout"), 0));

    // One that ends when it is asked is not killed.
    let polite = "trap 'echo bye; exit 7' TERM; sleep 997 & wait";
    let ran = run_with(&json!({"command": polite, "timeout_seconds": 1}));
    assert_eq!(ran.row(), (3, "timed_out", Some(7), None, Some("timeout"), 0));
    assert_eq!(ran.log(), b"bye\n");
}

#[test]
fn a_daemon_it_leaves_lives_on_and_can_still_write() {
    let home = Home::new();
    let mark = home.path().join("mark");
    let command = format!(
        "(setsid bash -c 'sleep 1; echo late; echo later; touch {}; sleep 30' &); echo up",
        mark.display()
    );
    let output = home.apply(&json!([{"id": "it", "commands": [{"command": command}]}]), &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!mark.exists(), "it was not waited for");
    let id = home.latest();
    let logs = home.run(&["logs", &id, "--raw"]);
    assert_eq!(logs.stdout, "up\n");
    let events = home.events(&id);
    let started = events.iter().find(|event| event["event"] == "command_started").unwrap();
    let cookie = started["cookie"].as_str().unwrap();
    // It wrote twice into the pipe before this: nothing broke.
    wait_until("the daemon's mark", || mark.exists());
    let daemons = processes::with_in_environment(cookie);
    assert!(!daemons.is_empty());
    for pid in daemons {
        processes::signal(pid, "KILL");
    }
    wait_until("the end of its supervisor", || {
        processes::with_in_command_line(&["__supervise", &id]).is_empty()
    });
}

#[test]
fn output_without_end_needs_no_memory_and_keeps_its_beginning_and_its_end() {
    const MIB: usize = 1024 * 1024;
    let ran = run("printf begin; head -c 64000000 /dev/zero | tr '\\0' x; printf end");
    assert_eq!(ran.row(), (0, "exited", Some(0), None, None, 0));
    assert!(ran.memory < MOST_MEMORY, "{} KiB", ran.memory);
    let log = ran.log();
    assert!(log.starts_with(b"beginxxx") && log.ends_with(b"xxxend"));
    assert!((2 * MIB..=3 * MIB).contains(&log.len()), "{}", log.len());

    let ran = run("seq 10000000");
    assert_eq!(ran.row(), (0, "exited", Some(0), None, None, 0));
    assert!(ran.memory < MOST_MEMORY, "{} KiB", ran.memory);
    let log = String::from_utf8(ran.log()).unwrap();
    assert!(log.starts_with("1\n2\n3\n") && log.ends_with("\n9999999\n10000000\n"));
    assert_eq!(ran.record["output_summary"], "10000000");
}

#[test]
fn any_byte_is_kept_and_none_reaches_a_terminal() {
    let all: String =
        (0..=255_u8).fold(String::new(), |text, byte| text + &format!("\\x{byte:02x}"));
    let ran = run(&format!("printf '{all}'"));
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.log(), (0..=255).collect::<Vec<u8>>());
    let shown = ran.home.run(&["logs", &ran.id]).stdout;
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{shown:?}");
    assert!(shown.contains("\\u{1b}"), "{shown:?}");
}

#[test]
fn ten_thousand_orphans_are_collected() {
    let ran = run("for i in $(seq 10000); do (: &); done");
    assert_eq!(ran.row(), (0, "exited", Some(0), None, None, 0));
    assert!(ran.zombies < 1_000, "{} zombies at once", ran.zombies);
    assert!(ran.memory < MOST_MEMORY, "{} KiB", ran.memory);
    let none_left = || processes::with_in_command_line(&["__supervise", &ran.id]).is_empty();
    wait_until("the end of its supervisor", none_left);
}
