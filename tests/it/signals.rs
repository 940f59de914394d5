//! Ctrl-C, terminals that go away, and requests to pause.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    process::{Child, ChildStderr, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};

use crate::harness::{Home, processes, wait_until};

/// A run whose first command has begun and waits for the file `go`.
struct Running {
    home: Home,
    runner: Child,
    stderr: BufReader<ChildStderr>,
    id: String,
}

impl Running {
    fn start(before: &str) -> Self {
        let home = Home::new();
        let (begun, go) = (home.path().join("begun"), home.path().join("go"));
        let command = format!(
            "{before} touch '{0}'; while test -e '{0}' && ! test -e '{1}'; do sleep 0.02; done; echo done > done",
            begun.display(),
            go.display()
        );
        let plan = home.plan(&json!([
            {"id": "first", "commands": [{"command": command}, {"command": "echo second"}]},
            {"id": "last", "commands": [{"command": "echo last"}]}
        ]));
        let mut runner = as_job(&home, &["apply", plan.to_str().unwrap(), "--yes", "--jobs", "1"]);
        let stderr = BufReader::new(runner.stderr.take().unwrap());
        wait_until("the command's begin", || begun.exists());
        let id = home.latest();
        Self { home, runner, stderr, id }
    }

    fn signal(&self, name: &str) {
        processes::signal(self.runner.id(), name);
    }

    fn wait_for_line(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(self.stderr.read_line(&mut line).unwrap() > 0, "`{text}` was never said");
        }
    }

    fn go(&self) {
        fs::write(self.home.path().join("go"), "").unwrap();
    }

    fn end(mut self) -> (Option<i32>, Home, String) {
        let code = self.runner.wait().unwrap().code();
        (code, self.home, self.id)
    }
}

/// Starts the binary as a shell starts a job: in a group of its own, which the shell looks after,
/// and with no signal ignored, whoever started these tests.
fn as_job(home: &Home, arguments: &[&str]) -> Child {
    let plain = home.command(arguments);
    let mut job = Command::new("env");
    job.arg("--default-signal=INT,HUP,TERM,TSTP")
        .arg(plain.get_program())
        .args(plain.get_args())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0);
    job.spawn().unwrap()
}

fn command(home: &Home, shelf: &str, id: &str) -> Value {
    home.document(shelf, id)["tasks"]["first"]["commands"][0].clone()
}

fn assert_completes(home: &Home, id: &str) {
    let output = home.run(&["resume", id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = home.document("completed", id);
    assert_eq!(document["tasks"]["last"]["status"], "completed");
    assert_eq!(document["lifecycle"]["paused"], false);
}

#[test]
fn ctrl_c_once_waits_for_the_command_and_pauses() {
    let mut running = Running::start("");
    running.signal("INT");
    running.wait_for_line("pausing as soon as the command is done");
    running.go();
    running.wait_for_line("hint: provision resume");
    let (code, home, id) = running.end();
    assert_eq!(code, Some(4));
    let document = home.document("active", &id);
    assert_eq!(document["meta"]["status"], "paused");
    assert_eq!(document["lifecycle"]["paused_reason"], "user_request");
    let context = "interrupted with Ctrl-C (at command 2 of first)";
    assert_eq!(document["lifecycle"]["paused_context"], context);
    let first = command(&home, "active", &id);
    assert_eq!((&first["status"], &first["exit_code"]), (&json!("success"), &json!(0)));
    assert_eq!(document["resume_point"]["command_index"], 1);
    assert_eq!(document["resume_point"]["action"], "retry");
    assert_completes(&home, &id);
}

#[test]
fn ctrl_c_twice_asks_the_command_to_end() {
    let mut running = Running::start("trap 'echo cleaning up; exit 9' TERM;");
    running.signal("INT");
    running.wait_for_line("pausing as soon as");
    running.signal("INT");
    running.wait_for_line("asking the command to end");
    let (code, home, id) = running.end();
    assert_eq!(code, Some(4));
    let first = command(&home, "active", &id);
    assert_eq!(first["exit_code"], 9);
    assert_eq!(first["output_summary"], "cleaning up");
    let document = home.document("active", &id);
    assert_eq!(document["tasks"]["first"]["status"], "in_progress");
    assert_eq!(document["resume_point"]["command_index"], 0);
    assert_eq!(document["resume_point"]["action"], "retry");
    fs::write(home.path().join("go"), "").unwrap();
    assert_completes(&home, &id);
    assert_eq!(command(&home, "completed", &id)["retry_count"], 1);
}

#[test]
fn ctrl_c_three_times_ends_it() {
    let mut running = Running::start("trap '' TERM;");
    for line in ["pausing as soon as", "asking the command", "killing the command"] {
        running.signal("INT");
        running.wait_for_line(line);
    }
    let (code, home, id) = running.end();
    assert_eq!(code, Some(4));
    let events = home.events(&id);
    let finished = events.iter().find(|event| event["event"] == "command_finished").unwrap();
    assert_eq!((&finished["outcome"], &finished["signal"]), (&json!("signaled"), &json!(9)));
    let started = events.iter().find(|event| event["event"] == "command_started").unwrap();
    assert_eq!(processes::with_in_environment(started["cookie"].as_str().unwrap()), [0_u32; 0]);
    fs::write(home.path().join("go"), "").unwrap();
    assert_completes(&home, &id);
}

#[test]
fn a_run_that_is_terminated_or_hung_up_goes_at_once_and_its_command_goes_on() {
    for (signal, context) in
        [("TERM", "the run was asked to terminate"), ("HUP", "the terminal was closed")]
    {
        let running = Running::start("");
        running.signal(signal);
        let (code, home, id) = running.end();
        assert_eq!(code, Some(4));
        let document = home.document("active", &id);
        assert_eq!(document["meta"]["status"], "paused");
        let context = format!("{context} (at command 1 of first)");
        assert_eq!(document["lifecycle"]["paused_context"], context);
        assert_eq!(document["tasks"]["first"]["in_flight"].as_array().unwrap().len(), 1);
        // Nobody runs it now, and yet it ends as it would have.
        fs::write(home.path().join("go"), "").unwrap();
        wait_until("the command's end", || home.path().join("done").exists());
        assert_completes(&home, &id);
        assert_eq!(command(&home, "completed", &id)["recovered"], true);
    }
}

#[test]
fn one_started_to_ignore_hangups_does() {
    let home = Home::new();
    let (begun, go) = (home.path().join("begun"), home.path().join("go"));
    let command = format!(
        "touch '{0}'; while test -e '{0}' && ! test -e '{1}'; do sleep 0.02; done",
        begun.display(),
        go.display()
    );
    let plan = home.plan(&json!([{"id": "it", "commands": [{"command": command}]}]));
    let mut runner = Command::new("nohup")
        .arg(env!("CARGO_BIN_EXE_provision"))
        .args(["--home", home.path().to_str().unwrap(), "apply", plan.to_str().unwrap(), "--yes"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the command's begin", || begun.exists());
    processes::signal(runner.id(), "HUP");
    processes::signal(runner.id(), "HUP");
    fs::write(&go, "").unwrap();
    assert_eq!(runner.wait().unwrap().code(), Some(0));
}

#[test]
fn ctrl_z_stops_the_runner_and_not_the_command() {
    let running = Running::start("");
    running.signal("TSTP");
    let stat = format!("/proc/{}/stat", running.runner.id());
    wait_until("the stop", || fs::read_to_string(&stat).unwrap().contains(") T "));
    running.go();
    let done = running.home.path().join("done");
    wait_until("the command's end", || done.exists());
    assert!(fs::read_to_string(&stat).unwrap().contains(") T "), "the runner is still stopped");
    running.signal("CONT");
    let (code, home, id) = running.end();
    assert_eq!(code, Some(0));
    assert_eq!(home.document("completed", &id)["tasks"]["last"]["status"], "completed");
}

#[test]
fn pause_reaches_a_run_through_its_inbox() {
    let mut running = Running::start("");
    let answer = running.home.json(&["pause", &running.id, "--reason", "lunch"]);
    assert_eq!(answer["answer"], "asked");
    running.wait_for_line("asked to pause");
    running.go();
    let (code, home, id) = running.end();
    assert_eq!(code, Some(4));
    let document = home.document("active", &id);
    assert_eq!(document["lifecycle"]["paused_context"], "lunch (at command 2 of first)");
    assert_eq!(home.json(&["pause", &id])["answer"], "paused");
    assert_completes(&home, &id);
    // There is nothing left to pause.
    assert_eq!(home.run(&["pause", &id]).code, Some(2));
}

#[test]
fn pause_acts_itself_where_nobody_runs() {
    let mut running = Running::start("");
    running.runner.kill().unwrap();
    running.go();
    let (_, home, id) = running.end();
    let answer = home.run(&["pause"]);
    assert_eq!(answer.stdout, format!("{id} is paused\n"));
    assert_eq!(home.document("active", &id)["meta"]["status"], "paused");
    assert_completes(&home, &id);
}

#[test]
fn ctrl_c_after_a_request_to_pause_is_still_the_first() {
    let mut running = Running::start("trap 'exit 9' TERM;");
    assert_eq!(running.home.json(&["pause", &running.id])["answer"], "asked");
    running.wait_for_line("asked to pause");
    running.signal("INT");
    running.wait_for_line("pausing as soon as");
    running.go();
    let (code, home, id) = running.end();
    assert_eq!(code, Some(4));
    assert_eq!(command(&home, "active", &id)["exit_code"], 0);
}

#[test]
fn one_that_writes_without_end_can_be_interrupted() {
    let home = Home::new();
    let plan = home.plan(&json!([{"id": "it", "commands": [{"command": "exec yes"}]}]));
    let arguments = ["apply", plan.to_str().unwrap(), "--yes"];
    let mut runner = as_job(&home, &arguments);
    let mut stderr = runner.stderr.take().unwrap();
    let shown = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&shown);
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = stderr.read(&mut buffer) {
            counter.fetch_add(read, Ordering::Relaxed);
        }
    });
    // Showing is under way, and there is always more to show.
    wait_until("much output", || shown.load(Ordering::Relaxed) > 8 * 1024 * 1024);
    let journal = home.journal(&home.latest());
    let finished = || fs::read_to_string(&journal).unwrap().contains("command_finished");
    wait_until("the end", || {
        processes::signal(runner.id(), "INT");
        std::thread::sleep(std::time::Duration::from_millis(50));
        finished() || runner.try_wait().unwrap().is_some()
    });
    assert_eq!(runner.wait().unwrap().code(), Some(4));
    reader.join().unwrap();
}
