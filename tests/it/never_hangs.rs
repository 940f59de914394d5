//! Whatever wants to ask is answered beforehand, or fails at once: nothing waits for a person who
//! is not there.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use serde_json::{Value, json};

use crate::harness::{
    Home, Output, faketime::faketime, overlay::Overlay, skip, terminal::Terminal,
};

/// How a command fails that asks something. One that waited would be ended for it, and say so.
fn class_of(home: &Home, command: &str) -> (String, Value) {
    let tasks = json!([{"id": "asks", "commands": [
        {"command": command, "timeout_seconds": 60, "retries": 0}]}]);
    let output = home.apply(&tasks, &[]);
    assert_eq!(output.code, Some(3), "{command}: {}", output.stderr);
    let document = home.latest_document();
    let task = document["tasks"]["asks"].clone();
    let class = task["failure_context"]["error_type"].as_str().unwrap().to_owned();
    (class, task)
}

/// A server that wants to know who asks.
fn server_that_wants_a_name() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ = stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    port
}

#[test]
fn a_question_at_the_terminal_or_on_input_fails() {
    for command in [
        "read -r x </dev/tty",
        "read -rp 'Continue? [y/N] ' x || { echo 'Aborted: no answer'; exit 1; }",
        "cat </dev/tty",
        "stty -echo </dev/tty",
    ] {
        let home = Home::new();
        let (class, task) = class_of(&home, command);
        assert_ne!(class, "timeout", "{task:#}");
    }
    let (class, task) = class_of(&Home::new(), "read -r x </dev/tty");
    assert_eq!(class, "needs_input", "{task:#}");
}

#[test]
fn a_captured_command_has_no_terminal_though_the_run_has_one() {
    let home = Home::new();
    let plan = home.plan(&json!([{"id": "asks", "commands": [
        {"command": "read -r x </dev/tty", "timeout_seconds": 60}],
        "detection": {"check_command": "read -r y </dev/tty"}}]));
    let mut command = Command::new("env");
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.path());
    command.env("AGENTIC_PROVISION_HOME", home.path());
    let program = env!("CARGO_BIN_EXE_provision");
    let line = format!("exec {program} apply {} --yes", plan.display());
    let (screen, code) = Terminal::start(command, &line).end();
    assert_eq!(code, Some(3), "{screen}");
    let document = home.latest_document();
    let task = &document["tasks"]["asks"];
    assert_eq!(task["failure_context"]["error_type"], "needs_input", "{task:#}");
    let probe = &task["commands"][0];
    assert_eq!(probe["exit_code"], 1, "the probe waited: {probe:#}");
}

#[test]
fn git_does_not_ask_who_you_are() {
    let port = server_that_wants_a_name();
    let command = format!("git clone http://127.0.0.1:{port}/team/tool.git");
    let (class, task) = class_of(&Home::new(), &command);
    assert_eq!(class, "needs_input", "{task:#}");
}

#[test]
fn npm_does_not_wait_for_a_login() {
    if !Path::new("/usr/bin/npm").exists() {
        skip("npm is not installed (tests/run installs it)");
        return;
    }
    let port = server_that_wants_a_name();
    let command = format!("npm login --auth-type=legacy --registry http://127.0.0.1:{port}");
    let (class, task) = class_of(&Home::new(), &command);
    assert_eq!(class, "needs_input", "{task:#}");
}

#[test]
fn ssh_does_not_ask_whether_a_host_is_known() {
    if !Path::new("/usr/sbin/sshd").exists() {
        skip("sshd is not installed (tests/run installs it)");
        return;
    }
    let Some(machine) = Overlay::with_apt() else { return };
    machine.said(&["mkdir", "-p", "/run/sshd"]);
    machine.said(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/key"]);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let port = free.to_string();
    let mut server = machine
        .command(&["/usr/sbin/sshd", "-D", "-e", "-p", &port, "-h", "/key"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().contains("Server listening") {}
    thread::spawn(move || lines.for_each(drop));
    let plan = json!({"format": "plan-v1", "tasks": [{"id": "asks", "commands": [
        {"command": format!("ssh -p {port} git@127.0.0.1 true"), "timeout_seconds": 60}]}]});
    fs::write(machine.path("/plan.json"), plan.to_string()).unwrap();
    let output = machine.run(&["provision", "apply", "/plan.json", "--yes"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let task = machine.document()["tasks"]["asks"].clone();
    assert_eq!(task["failure_context"]["error_type"], "needs_input", "{task:#}");
    let _ = server.kill();
    let _ = server.wait();
}

/// A package that asks when it is configured, and has a file that people change.
const PACKAGE: &str = r#"
set -e
mkdir -p /build/DEBIAN /build/etc
cat > /build/DEBIAN/control <<END
Package: asker
Version: $1
Architecture: all
Maintainer: Nobody <nobody@example.org>
Depends: debconf
Description: asks
END
cat > /build/DEBIAN/templates <<END
Template: asker/town
Type: string
Default: London
Description: Where do you live?
END
printf '#!/bin/sh\nset -e\n. /usr/share/debconf/confmodule\ndb_fset asker/town seen false\ndb_input critical asker/town || true\ndb_go\n' > /build/DEBIAN/config
printf '#!/bin/sh\nset -e\n. /usr/share/debconf/confmodule\ndb_get asker/town\necho "$RET" > /etc/asker.town\n' > /build/DEBIAN/postinst
chmod 755 /build/DEBIAN/config /build/DEBIAN/postinst
echo /etc/asker.conf > /build/DEBIAN/conffiles
echo "version $1" > /build/etc/asker.conf
dpkg-deb --build /build /asker-$1.deb
"#;

#[test]
fn packages_are_configured_without_questions_and_keep_what_people_changed() {
    let Some(machine) = Overlay::with_apt() else { return };
    for version in ["1", "2"] {
        machine.said(&["sh", "-c", PACKAGE, "build", version]);
    }
    let plan = json!({"format": "plan-v1", "tasks": [
        {"id": "first", "commands": [
            {"command": "apt-get install -y /asker-1.deb", "timeout_seconds": 120},
            {"command": "echo mine > /etc/asker.conf"}]},
        {"id": "second", "depends_on": ["first"], "commands": [
            {"command": "dpkg -i /asker-2.deb", "timeout_seconds": 120}]},
        {"id": "third", "depends_on": ["second"], "commands": [
            {"command": "apt-get remove asker", "timeout_seconds": 120}]},
    ]});
    fs::write(machine.path("/plan.json"), plan.to_string()).unwrap();
    let output = machine.run(&["provision", "apply", "/plan.json", "--yes"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let document = machine.document();
    assert_eq!(document["tasks"]["second"]["status"], "completed", "{}", output.stderr);
    assert_eq!(fs::read_to_string(machine.path("/etc/asker.town")).unwrap(), "London\n");
    assert_eq!(fs::read_to_string(machine.path("/etc/asker.conf")).unwrap(), "mine\n");
    // Removing is asked about, and nobody said yes.
    let task = &document["tasks"]["third"];
    assert_eq!(task["failure_context"]["error_type"], "needs_input", "{task:#}");
}

#[test]
fn silence_is_reported_with_its_age() {
    let Some(library) = faketime() else { return };
    let home = Home::new();
    let plan = home.plan(&json!([{"id": "quiet", "commands": [
        {"command": "echo begun; until [ -e ~/go ]; do sleep 0.05; done"}]}]));
    let mut runner = home
        .command(&["apply", plan.to_str().unwrap(), "--yes"])
        .env("LD_PRELOAD", library)
        // A minute in a second.
        .env("FAKETIME", "+0 x60")
        .env("NO_FAKE_STAT", "1")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(runner.stderr.take().unwrap()).lines();
    let said = lines.by_ref().map(Result::unwrap).find(|line| line.contains("no output for"));
    let said = said.expect("it is silent for ever, and nobody says so");
    assert!(said.contains("quiet: no output for 1 minute"), "{said}");
    fs::write(home.path().join("go"), "").unwrap();
    let mut rest = String::new();
    lines.for_each(|line| rest.push_str(&line.unwrap()));
    assert_eq!(runner.wait().unwrap().code(), Some(0), "{rest}");
}

#[test]
fn what_may_pass_by_itself_is_tried_again_and_nothing_else() {
    let said = "curl: (28) Connection timed out after 5001 milliseconds";
    let once = format!("test -e ~/again && exit 0; touch ~/again; echo '{said}' >&2; exit 28");
    let home = Home::new();
    let tasks = json!([{"id": "flaky", "commands": [{"command": once}]}]);
    let output = home.apply(&tasks, &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let record = home.latest_document()["tasks"]["flaky"]["commands"][0].clone();
    assert_eq!(record["retry_count"], 1, "{record:#}");
    assert!(output.stderr.contains("trying again in"), "{}", output.stderr);

    for (said, class) in [
        ("E: Unable to locate package nosuch", "package_not_found"),
        ("cp: error writing '/x': No space left on device", "disk_full"),
        ("something else", "unknown"),
    ] {
        let home = Home::new();
        let command = format!("echo try >> ~/tries; echo \"{said}\" >&2; exit 100");
        let output = home.apply(&json!([{"id": "firm", "commands": [{"command": command}]}]), &[]);
        assert_eq!(output.code, Some(3), "{}", output.stderr);
        assert_eq!(fs::read_to_string(home.path().join("tries")).unwrap(), "try\n", "{said}");
        let context = home.latest_document()["tasks"]["firm"]["failure_context"].clone();
        assert_eq!(context["error_type"], class);
    }

    // Whoever says how often is taken at their word.
    let home = Home::new();
    let command = format!("echo try >> ~/tries; echo '{said}' >&2; exit 28");
    let tasks = json!([{"id": "flaky", "commands": [{"command": command, "retries": 0}]}]);
    let output =
        Output::of(&mut home.command(&["apply", home.plan(&tasks).to_str().unwrap(), "--yes"]));
    assert_eq!(output.code, Some(3));
    assert_eq!(fs::read_to_string(home.path().join("tries")).unwrap(), "try\n");
}
