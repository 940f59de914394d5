//! Supervisors by themselves: what they do with an order, and with half of one.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use agentic_provision::{
    exec::{Order, Spec},
    model::Digest,
};
use serde_json::json;

use crate::harness::{Home, wait_until};

/// A supervisor that waits for its order, and the line to it.
fn supervisor() -> (Child, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_provision"))
        .args(["__supervise", "test"])
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    (child, ours)
}

fn order(directory: &Path, command: &str) -> Vec<u8> {
    let spec = Spec {
        directory: directory.into(),
        order: Order {
            plan: Digest::of([0; 32]),
            task_ids: vec!["one".parse().unwrap()],
            command_index: 0,
            command: command.into(),
            idempotent: false,
            cookie: "cookie".into(),
        },
        command: command.into(),
        sudo: None,
        as_root: false,
        on_terminal: false,
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        working_dir: directory.into(),
        timeout_ms: None,
        grace_ms: 1000,
        boot_id: "this".into(),
        secrets: Vec::new(),
    };
    let text = serde_json::to_vec(&spec).unwrap();
    [&(text.len() as u64).to_le_bytes(), text.as_slice()].concat()
}

#[test]
fn of_any_number_with_the_same_order_one_runs_the_command() {
    for _ in 0..10 {
        let home = Home::new();
        let order = order(home.path(), "echo ran >> ran; sleep 0.05");
        let mut started: Vec<_> = (0..6).map(|_| supervisor()).collect();
        for (_, line) in &mut started {
            line.write_all(&order).unwrap();
        }
        let mut claimed = 0;
        for (mut child, line) in started {
            let mut said = String::new();
            BufReader::new(line).read_to_string(&mut said).unwrap();
            assert!(child.wait().unwrap().success());
            if said.starts_with("\"claimed\"\n") {
                claimed += 1;
                assert!(said.contains("\"exit_code\":0"), "{said}");
            } else {
                assert_eq!(said, "\"claimed_by_another\"\n");
            }
        }
        assert_eq!(claimed, 1);
        assert_eq!(fs::read_to_string(home.path().join("ran")).unwrap(), "ran\n");
        // Those that lost left nothing behind.
        let left = fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().file_name());
        let mut left: Vec<_> = left.map(|name| name.into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["alive", "claim", "ran", "result"]);
    }
}

#[test]
fn an_order_that_ends_before_its_end_does_not_count() {
    let home = Home::new();
    let order = order(home.path(), "echo ran >> ran");
    for kept in [0, 1, 7, 8, 9, order.len() / 2, order.len() - 1] {
        let (mut child, mut line) = supervisor();
        line.write_all(&order[..kept]).unwrap();
        drop(line);
        assert!(!child.wait().unwrap().success());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "after {kept} bytes");
    }
}

#[test]
fn what_hides_from_every_list_is_still_waited_for() {
    let home = Home::new();
    // In a session of its own and without its environment; what it inherited it keeps.
    let hidden = "env -i setsid bash -c 'while ! test -e go; do sleep 0.02; done; touch over' &";
    let command = format!("{hidden} sleep 0.2; kill -9 $PPID");
    let plan = home.plan(&json!([{"id": "it", "commands": [{"command": command}]}]));
    let arguments = ["apply", plan.to_str().unwrap(), "--yes"];
    let mut runner = home.command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(runner.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("a process that cannot be seen") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it was not waited for");
    }
    assert!(!home.path().join("over").exists());
    fs::write(home.path().join("go"), "").unwrap();
    assert_eq!(runner.wait().unwrap().code(), Some(4));
    wait_until("its end", || home.path().join("over").exists());
}
