//! A package manager that someone else uses: it is waited for, and said who that is.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStderr, Stdio},
};

use serde_json::{Value, json};

use crate::harness::{overlay::Overlay, processes};

/// Takes a lock as dpkg does, says so, and keeps it until its input ends.
const HOLDER: &str = r#"
import fcntl, sys
with open(sys.argv[1], "r+") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"#;

/// Another process of the machine, with a lock.
pub struct Holder(Child);

impl Holder {
    pub fn of(machine: &Overlay, file: &str) -> Self {
        let mut holder = machine
            .command(&["/usr/bin/python3", "-c", HOLDER, file])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n");
        Self(holder)
    }

    pub fn let_go(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

/// A plan file in the machine's home.
fn plan(machine: &Overlay, command: &Value) -> &'static str {
    let tasks = json!([{"id": "first", "commands": [{"command": "true"}]},
                       {"id": "packages", "commands": [{"command": "true"}, command]}]);
    machine.write("/plan.json", &json!({"format": "plan-v1", "tasks": tasks}).to_string());
    "/plan.json"
}

/// A run that says what it does.
fn begin(machine: &Overlay, words: &[&str]) -> (Child, BufReader<ChildStderr>) {
    let mut run = machine.command(words).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(run.stderr.take().unwrap());
    (run, said)
}

/// The line in which `text` is said.
fn wait_for(said: &mut impl BufRead, text: &str) -> String {
    let mut all = String::new();
    loop {
        let from = all.len();
        assert!(said.read_line(&mut all).unwrap() > 0, "`{text}` was never said:\n{all}");
        if all[from..].contains(text) {
            return all[from..].trim().to_owned();
        }
    }
}

fn rest(mut said: impl Read) -> String {
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    rest
}

fn of_kind<'e>(events: &'e [Value], kind: &str, task: &str) -> Vec<&'e Value> {
    events.iter().filter(|e| e["event"] == kind && e["task_id"] == task).collect()
}

#[test]
fn a_held_lock_is_waited_for_and_its_holder_is_named() {
    let Some(machine) = Overlay::with_apt() else { return };
    let holder = Holder::of(&machine, "/var/lib/dpkg/lock-frontend");
    let plan = plan(&machine, &json!({"command": "sh -c 'dpkg --configure -a'"}));
    let words = ["provision", "apply", plan, "--yes", "--jobs", "1"];
    let (mut run, mut said) = begin(&machine, &words);
    let line = wait_for(&mut said, "waiting for it");
    let pids = machine.running_as(&["/usr/bin/python3", "-c"]);
    let inside = processes::number_inside(pids[0]);
    assert_eq!(line, format!("apt's lock is held by python3 ({inside}): waiting for it"));
    let events = machine.events();
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["task_id"]), (&json!("task_reset"), &json!("packages")));
    assert_eq!(of_kind(&events, "command_started", "packages").len(), 1, "only its first one");
    holder.let_go();
    let rest = rest(said);
    assert_eq!(run.wait().unwrap().code(), Some(0), "{rest}");
    assert!(!rest.contains("waiting"), "it is said once:\n{rest}");
    let events = machine.events();
    assert_eq!(of_kind(&events, "command_started", "packages").len(), 2);
    assert_eq!(of_kind(&events, "task_reset", "packages").len(), 1);
    machine.said(&["provision", "history", "--verify"]);
}

#[test]
fn whoever_may_not_open_the_lock_sees_its_holder_all_the_same() {
    let Some(machine) = Overlay::with_apt() else { return };
    let holder = Holder::of(&machine, "/var/lib/dpkg/lock");
    machine.said(&["mkdir", "--mode", "700", "/nobodys"]);
    machine.said(&["chown", "nobody", "/nobodys"]);
    let plan = plan(&machine, &json!({"command": "true", "locks": ["apt"]}));
    let words = ["provision", "--home", "/nobodys/home", "apply", plan, "--yes"];
    // Neither as its owner nor as the group that may read it.
    let as_nobody = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--"];
    let (mut run, mut said) = begin(&machine, &[&as_nobody[..], &words[..]].concat());
    let line = wait_for(&mut said, "waiting for it");
    assert!(line.starts_with("apt's lock is held by python3 ("), "{line}");
    holder.let_go();
    let rest = rest(said);
    assert_eq!(run.wait().unwrap().code(), Some(0), "{rest}");
}

#[test]
fn ctrl_c_ends_the_wait_and_the_session_can_be_resumed() {
    let Some(machine) = Overlay::with_apt() else { return };
    let holder = Holder::of(&machine, "/var/cache/apt/archives/lock");
    let plan = plan(&machine, &json!({"command": "apt-get clean"}));
    let words = ["provision", "apply", plan, "--yes"];
    let (mut run, mut said) = begin(&machine, &words);
    wait_for(&mut said, "waiting for it");
    processes::signal(machine.running_as(&words)[0], "INT");
    let rest = rest(said);
    assert_eq!(run.wait().unwrap().code(), Some(4), "{rest}");
    assert!(rest.contains("paused: interrupted with Ctrl-C"), "{rest}");
    let document = machine.document();
    assert_eq!(document["meta"]["status"], "paused");
    assert_eq!(document["tasks"]["packages"]["status"], "pending");
    holder.let_go();
    let resumed = machine.run(&["provision", "resume"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let events = machine.events();
    assert_eq!(of_kind(&events, "command_started", "packages").len(), 2, "nothing ran twice");
}

/// The lock is taken when the command has begun: what it says is heard.
#[test]
fn a_lock_that_is_taken_in_between_does_not_fail_the_command() {
    let Some(machine) = Overlay::with_apt() else { return };
    // Its first run is as if someone had been quicker; none of its runs counts as a failure.
    machine.write(
        "/usr/local/bin/dpkg",
        "#!/bin/sh\n[ -e /was-here ] && exec /usr/bin/dpkg \"$@\"\ntouch /was-here\n\
         echo 'dpkg: error: dpkg frontend lock was locked by another process with pid 1'\nexit 2\n",
    );
    machine.said(&["chmod", "755", "/usr/local/bin/dpkg"]);
    let plan = plan(&machine, &json!({"command": "dpkg --configure -a"}));
    let run = machine.run(&["provision", "apply", plan, "--yes"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let events = machine.events();
    let finished = of_kind(&events, "command_finished", "packages");
    let codes: Vec<_> = finished.iter().map(|event| event["exit_code"].as_i64().unwrap()).collect();
    assert_eq!(codes, [0, 2, 0]);

    // One that does more than packages may have done some of it: it is not run again by itself.
    machine.said(&["rm", "/was-here"]);
    let more = json!({"command": "echo more >> /more; dpkg --configure -a"});
    let plan = self::plan(&machine, &more);
    let run = machine.run(&["provision", "apply", plan, "--yes"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_eq!(machine.said(&["cat", "/more"]), "more\n");
}
