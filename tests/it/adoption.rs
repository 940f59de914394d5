//! A command whose runner died goes on, and whoever resumes the session takes it up.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
};

use serde_json::json;

use crate::harness::{Home, processes, skip, wait_until};

/// Starts a plan whose one command says `begun`, waits for the file `go`, says `over` and exits
/// with 7; kills the runner when it has begun.
fn left_alone(home: &Home, program: &str) -> String {
    let (begun, go) = (home.path().join("begun"), home.path().join("go"));
    let command = format!(
        "echo from the start; touch '{0}'; while test -e '{0}' && ! test -e '{1}'; do sleep 0.02; done; echo over; exit 7",
        begun.display(),
        go.display()
    );
    let plan = home.plan(&json!([{"id": "long", "commands": [{"command": command}]}]));
    let mut runner = Command::new(program)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.path())
        .env("AGENTIC_PROVISION_HOME", home.path())
        .args(["apply", plan.to_str().unwrap(), "--yes"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the command's begin", || begun.exists());
    runner.kill().unwrap();
    runner.wait().unwrap();
    home.latest()
}

fn go(home: &Home) {
    fs::write(home.path().join("go"), "").unwrap();
}

fn assert_taken_up(home: &Home, id: &str) {
    let document = home.document("failed", id);
    let command = &document["tasks"]["long"]["commands"][0];
    assert_eq!(command["exit_code"], 7);
    assert_eq!(command["outcome"], "exited");
    assert_eq!(command["recovered"], true);
    assert_eq!(command["attempts"], 1);
    assert_eq!(document["lifecycle"]["resume_count"], 1);
    let starts = home.events(id).iter().filter(|e| e["event"] == "command_started").count();
    assert_eq!(starts, 1, "it was begun once");
}

#[test]
fn it_is_waited_for_and_shown_from_the_start() {
    let home = Home::new();
    let id = left_alone(&home, env!("CARGO_BIN_EXE_provision"));
    assert_eq!(home.json(&["status", &id])["status"], "possibly_stalled");
    let resumed = home.command(&["resume"]).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the resumed run's lock", || {
        home.events(&id).iter().any(|event| event["event"] == "session_resumed")
    });
    // Nobody else can take it up meanwhile.
    assert_eq!(home.run(&["--lock-timeout", "0", "resume", &id]).code, Some(5));
    go(&home);
    let output = resumed.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    for line in ["(begun by an earlier run)", "| from the start", "| over", "exit code 7"] {
        assert!(stderr.contains(line), "`{line}` is missing in:\n{stderr}");
    }
    assert_taken_up(&home, &id);
}

#[test]
fn one_that_ended_meanwhile_is_adopted_at_once() {
    let home = Home::new();
    let id = left_alone(&home, env!("CARGO_BIN_EXE_provision"));
    go(&home);
    wait_until("the end of its supervisor", || {
        processes::with_in_command_line(&["__supervise", &id]).is_empty()
    });
    let output = home.run(&["resume"]);
    assert_eq!(output.code, Some(3));
    assert!(output.stderr.contains("| from the start\n  | over\n"), "{}", output.stderr);
    assert_taken_up(&home, &id);
}

#[test]
fn replacing_the_program_on_disk_disturbs_neither_the_command_nor_its_runner() {
    let home = Home::in_temporary_directory();
    let program = home.path().join("provision");
    let replace = || {
        let fresh = home.path().join("provision.new");
        // By another process: a descriptor of ours, open for writing, could be inherited by what
        // other tests start, and a program that someone can write to cannot be started.
        let copied =
            Command::new("cp").arg(env!("CARGO_BIN_EXE_provision")).arg(&fresh).status().unwrap();
        assert!(copied.success());
        fs::rename(&fresh, &program).unwrap();
    };
    replace();
    let id = left_alone(&home, program.to_str().unwrap());
    replace();
    go(&home);
    let resumed = Command::new(&program)
        .env_clear()
        .env("HOME", home.path())
        .args(["--home", home.path().to_str().unwrap(), "resume"])
        .output()
        .unwrap();
    assert_eq!(resumed.status.code(), Some(3));
    assert_taken_up(&home, &id);

    // A runner whose file is gone still starts supervisors.
    let (begun, go) = (home.path().join("begun2"), home.path().join("go2"));
    let wait = format!(
        "touch '{0}'; while test -e '{0}' && ! test -e '{1}'; do sleep 0.02; done",
        begun.display(),
        go.display()
    );
    let plan =
        home.plan(&json!([{"id": "t", "commands": [{"command": wait}, {"command": "true"}]}]));
    let mut runner = Command::new(&program)
        .env_clear()
        .env("HOME", home.path())
        .args(["--home", home.path().to_str().unwrap(), "apply", plan.to_str().unwrap(), "--yes"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the command's begin", || begun.exists());
    fs::remove_file(&program).unwrap();
    fs::write(&go, "").unwrap();
    assert_eq!(runner.wait().unwrap().code(), Some(0));
}

#[test]
fn what_a_dead_supervisor_left_running_is_named_and_waited_for() {
    let home = Home::new();
    let id = left_alone(&home, env!("CARGO_BIN_EXE_provision"));
    for pid in processes::with_in_command_line(&["__supervise", &id]) {
        processes::signal(pid, "KILL");
    }
    let mut resumed = home.command(&["resume"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut talk = BufReader::new(resumed.stderr.take().unwrap());
    let mut stderr = String::new();
    while !stderr.contains("waiting for what it left: ") {
        assert!(talk.read_line(&mut stderr).unwrap() > 0, "{stderr}");
    }
    go(&home);
    talk.read_to_string(&mut stderr).unwrap();
    let output = resumed.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("bash ("), "{stderr}");
    assert!(stderr.contains("--interrupted retry"), "{stderr}");
    let document = home.document("active", &id);
    assert_eq!(document["resume_point"]["action"], "choose");
    assert_eq!(document["tasks"]["long"]["commands"][0]["outcome"], "indeterminate");
}

#[test]
fn an_attempt_of_another_boot_is_never_taken_for_a_result() {
    let home = Home::new();
    let id = left_alone(&home, env!("CARGO_BIN_EXE_provision"));
    go(&home);
    wait_until("the end of its supervisor", || {
        processes::with_in_command_line(&["__supervise", &id]).is_empty()
    });
    // As if the machine had been started again: in a namespace of our own the boot has another id.
    let other = home.path().join("boot");
    fs::write(&other, "00000000-0000-4000-8000-000000000000\n").unwrap();
    let script = format!(
        "mount --bind '{}' /proc/sys/kernel/random/boot_id && exec '{}' --home '{}' resume",
        other.display(),
        env!("CARGO_BIN_EXE_provision"),
        home.path().display()
    );
    let output = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    if stderr.contains("unshare") || stderr.contains("mount") {
        skip(format!("this machine lets us have no namespace: {stderr}"));
        return;
    }
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("the machine was restarted"), "{stderr}");
    let command = home.document("active", &id)["tasks"]["long"]["commands"][0].clone();
    assert_eq!(command["outcome"], "indeterminate");
}
