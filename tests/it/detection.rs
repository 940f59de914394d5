//! What is there already: looked for side by side, and nobody is waited for for ever.

use std::{collections::BTreeMap, fmt::Write, fs, os::unix::fs::symlink, process::Command};

use agentic_provision::exec::Environment;
use serde_json::Value;

use crate::{
    catalog_mistakes::written,
    harness::{
        Generator, Home, processes::with_in_command_line, seed, skip, soak, stub, wait_until,
    },
};

fn task(id: &str, check: &str) -> String {
    format!(
        "  {id}: {{name: {id}, detection: {{check_command: '{check}'}}, \
         install: {{steps: [{{command: 'touch ~/{id}'}}]}}}}\n"
    )
}

fn with_tasks(home: &Home, tasks: &str) {
    written(home, "tasks/t.yaml", format!("metadata: {{category: c}}\ntasks:\n{tasks}"));
}

fn actions(plan: &Value) -> Vec<(&str, &str)> {
    let tasks = plan["tasks"].as_array().unwrap().iter();
    tasks.map(|task| (task["id"].as_str().unwrap(), task["action"].as_str().unwrap())).collect()
}

#[test]
fn a_probe_that_hangs_is_cut_off_told_of_and_not_believed() {
    let home = Home::new();
    // It says that it is there, to everyone who waits long enough, and has started a process.
    let hangs = "echo /somewhere; sleep 98765 & wait; true";
    with_tasks(&home, &(task("hangs", hangs) + &task("there", "true") + &task("absent", "false")));
    let output = home.run(&["--json", "plan", "--add", "hangs,there,absent"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let plan: Value = serde_json::from_str(&output.stdout).unwrap();
    let expected = [("absent", "install"), ("hangs", "install"), ("there", "already_installed")];
    assert_eq!(actions(&plan), expected);
    let note = "note: whether hangs is there could not be found out: `echo /somewhere; sleep 98765 \
                & wait; true` did not answer within 10 s; it is taken as not there\n";
    assert!(output.stderr.contains(note), "{}", output.stderr);
    wait_until("its end with all it started", || with_in_command_line(&["98765"]).is_empty());
}

/// Probes that wait for each other: only side by side does any of them end in time.
#[test]
fn probes_run_side_by_side() {
    let home = Home::new();
    let ids: Vec<String> = (0..4).map(|number| format!("t{number}")).collect();
    let mut tasks = String::new();
    for id in &ids {
        let check = format!(
            "touch ~/met-{id}; for i in $(seq 900); do set -- ~/met-*; [ $# = 4 ] && exit 0; \
             sleep 0.01; done; exit 1"
        );
        let _ = write!(tasks, "{}", task(id, &check));
    }
    with_tasks(&home, &tasks);
    let plan = home.json(&["plan", "--add", &ids.join(",")]);
    assert!(actions(&plan).iter().all(|(_, action)| *action == "already_installed"), "{plan}");
}

#[test]
fn versions_and_places_are_told_with_what_is_there() {
    let home = Home::new();
    written(&home, "there", "");
    let tasks = "  by_path: {name: P, detection: {installed_indicator: ~/there, \
                 version_command: echo thing 1.2.3}, install: {steps: [{command: 'false'}]}}\n  \
                 by_name: {name: N, detection: {check_command: command -v sh}, \
                 install: {steps: [{command: 'false'}]}}\n";
    with_tasks(&home, tasks);
    let plan = home.json(&["plan", "--add", "by_path,by_name"]);
    let of = |id: &str| {
        let tasks = plan["tasks"].as_array().unwrap();
        tasks.iter().find(|task| task["id"] == id).unwrap().clone()
    };
    assert_eq!(of("by_path")["version"], "1.2.3");
    assert_eq!(of("by_path")["path"], home.path().join("there").to_str().unwrap());
    assert!(of("by_name")["path"].as_str().unwrap().ends_with("/sh"));
}

/// What a tool needs to be seen, and to run, comes from the tasks it builds on.
#[test]
fn a_task_is_looked_for_and_run_with_what_its_dependencies_set_up() {
    let home = Home::new();
    let tasks = r#"
  manager:
    name: Manager
    detection: {installed_indicator: ~/manager/tool}
    path: [~/manager/bin]
    env_setup: |
      export MANAGER_HOME="$HOME/manager"
      managed() { echo "managed $1"; }
    install: {steps: [{command: 'mkdir -p ~/manager/bin && touch ~/manager/tool'}]}
  tool:
    name: Tool
    detection: {check_command: 'managed x >/dev/null && test -e "$MANAGER_HOME/made"', version_command: managed 4.5}
    dependencies: {required: [manager]}
    install: {steps: [{command: 'managed y > "$MANAGER_HOME/made"'}]}
    verification: {command: 'cat "$MANAGER_HOME/made"', expected_output: managed y}
"#;
    with_tasks(&home, tasks);
    let output = home.run(&["start", "--add", "tool", "--yes"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(fs::read_to_string(home.path().join("manager/made")).unwrap(), "managed y\n");
    assert_eq!(home.latest_document()["tasks"]["tool"]["result"]["version"], "4.5");
    // The record has the command as it was approved.
    let events = home.events(&home.latest());
    let started = events.iter().find(|e| e["event"] == "command_started" && e["task_id"] == "tool");
    assert_eq!(started.unwrap()["command"], r#"managed y > "$MANAGER_HOME/made""#);
    let plan = home.json(&["plan", "--add", "tool"]);
    assert_eq!(actions(&plan), [("manager", "already_installed"), ("tool", "already_installed")]);
}

/// What serves is there: what it would need to be installed is no problem of this machine.
#[test]
fn what_is_there_needs_nothing_more() {
    let home = Home::new();
    written(&home, "there", "");
    let tasks = "  elsewhere: {name: E, platforms: [haiku], detection: {installed_indicator: /no}, \
                 install: {steps: [{command: 'true'}]}}\n  \
                 served: {name: S, detection: {installed_indicator: ~/there}, \
                 dependencies: {required: [elsewhere]}, install: {steps: [{command: 'true'}]}}\n  \
                 other: {name: O, detection: {installed_indicator: /no}, \
                 install: {steps: [{command: 'true'}]}}\n  \
                 tool: {name: T, detection: {installed_indicator: /no}, \
                 dependencies: {one_of: [other, served]}, install: {steps: [{command: 'true'}]}}\n";
    with_tasks(&home, tasks);
    let plan = home.json(&["plan", "--add", "tool"]);
    assert_eq!(actions(&plan), [("served", "already_installed"), ("tool", "install")]);
    // Who asks for it by name is told.
    let output = home.run(&["plan", "--add", "tool,elsewhere"]);
    assert_eq!(output.code, Some(8), "{}", output.stderr);
    assert!(output.stderr.contains("it is for haiku only"), "{}", output.stderr);
}

/// A plain question is answered without a shell, unless a shell would know more.
#[test]
fn what_only_a_shell_finds_is_found() {
    let home = Home::new();
    let tasks = r#"
  manager:
    name: Manager
    detection: {installed_indicator: ~/manager}
    env_setup: PATH="$HOME/manager/shims:$PATH"
    install: {steps: [{command: 'true'}]}
  shimmed:
    name: Shimmed
    detection: {check_command: command -v shimmed-tool}
    dependencies: {required: [manager]}
    install: {steps: [{command: 'false'}]}
"#;
    with_tasks(&home, tasks);
    let tool = written(&home, "manager/shims/shimmed-tool", "#!/bin/sh\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(tool, mode).unwrap();
    let plan = home.json(&["plan", "--add", "shimmed"]);
    assert!(actions(&plan).iter().all(|(_, action)| *action == "already_installed"), "{plan}");
    let output = home.run(&["start", "--add", "shimmed", "--yes"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

/// Answers lists of random checks without a process, and asks bash for the same.
#[test]
fn checks_answered_in_process_agree_with_bash() {
    let home = Home::new();
    let place = |name: &str| home.path().join(name);
    fs::write(place("file"), "content").unwrap();
    fs::write(place("empty"), "").unwrap();
    fs::create_dir(place("a b")).unwrap();
    stub(home.path(), "program", "true");
    symlink("file", place("link")).unwrap();
    symlink("nowhere", place("dangling")).unwrap();
    let variables = [("HOME", home.path().to_str().unwrap()), ("PATH", "/usr/bin:/bin")];
    let environment =
        Environment::new(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let mut random = Generator::new(seed("checks_answered_in_process_agree_with_bash"));
    let mut pick = |from: &[&'static str]| from[random.draw(from.len())];
    let (mut answered, mut left) = (0, 0);
    for _ in 0..if soak() { 20_000 } else { 300 } {
        let mut text = String::new();
        loop {
            let file = pick(&["file", "empty", "a b", "program", "link", "dangling", "none", ""]);
            let word = match pick(&["~/", "$HOME/", "\"$HOME/", "\"${HOME}/", "'/", "/", "$OTHER/"])
            {
                "'/" => format!("'{}'", place(file).display()),
                "/" => place(file).display().to_string(),
                quoted if quoted.starts_with('"') => format!("{quoted}{file}\""),
                bare => format!("{bare}{file}"),
            };
            let test = pick(&["-e", "-f", "-d", "-x", "-r", "-s", "-L", "-w"]);
            let not = pick(&["", "", "! "]);
            text += pick(&["", "", "! "]);
            let _ = match pick(&["test", "[", "[", "command"]) {
                "test" => write!(text, "test {not}{test} {word}"),
                "[" => write!(text, "[ {not}{test} {word} ]"),
                _ => {
                    let output = pick(&["", " >/dev/null"]);
                    write!(text, "command -v {}{output}", pick(&["ls", "cat", "nosuch", "cd"]))
                }
            };
            match pick(&["", "", " && ", " || ", "; "]) {
                "" => break,
                operator => text += operator,
            }
        }
        let Some(answer) = environment.answer(&text, &[], "") else {
            left += 1;
            continue;
        };
        answered += 1;
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-c", &text]).env_clear().envs(variables);
        let output = bash.output().unwrap();
        assert_eq!(answer.succeeds, output.status.success(), "{text}");
        let paths: Vec<_> = answer.paths.iter().map(|path| path.display().to_string()).collect();
        let is_list = text.contains("&&") || text.contains("||");
        if is_list || !text.contains(">/dev/null") {
            let printed = String::from_utf8(output.stdout).unwrap();
            assert_eq!(paths, printed.lines().collect::<Vec<_>>(), "{text}");
        }
    }
    println!("{answered} answered, {left} left to a shell");
    assert!(answered > left / 4 && left > 0, "{answered} of {}", answered + left);
}

#[test]
fn completion_runs_no_probe_of_an_unplanned_task() {
    let home = Home::new();
    let check = |id: &str| format!("echo {id} >> ~/probed; test -e ~/{id}");
    let by_file = task("by-file", "test -e ~/nosuch");
    with_tasks(
        &home,
        &(task("planned", &check("planned")) + &task("other", &check("other")) + &by_file),
    );
    let output = home.run(&["start", "--add", "planned", "--yes", "--no-input"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let probed = fs::read_to_string(home.path().join("probed")).unwrap();
    assert!(probed.lines().all(|line| line == "planned"), "{probed}");
    let baseline = &home.latest_document()["baseline"];
    assert!(baseline["present"]["planned"].is_object(), "{baseline}");
    let absent = baseline["absent"].as_array().unwrap();
    assert!(absent.contains(&"by-file".into()) && !absent.contains(&"other".into()), "{baseline}");
}

/// Every process of a session is the program, its supervisors, bash, or named by the plan.
#[test]
fn session_spawns_only_planned_processes() {
    let home = Home::new();
    let check = "cat ~/there-one && test -e ~/there-one";
    let two = task("two", "test -e ~/two");
    with_tasks(&home, &(task("one", check).replace("touch ~/one", "touch ~/there-one") + &two));
    let program = home.command(&["start", "--add", "one,two", "--yes", "--no-input"]);
    let calls = home.path().join("calls");
    let mut strace = home.program("strace");
    strace.args(["-f", "-qq", "-s", "1000", "-e", "trace=execve", "-e", "status=successful", "-o"]);
    strace.arg(&calls).arg(program.get_program()).args(program.get_args());
    match strace.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(stderr.contains("ptrace"), "{output:?}");
            return skip("strace may not trace here");
        }
        Err(error) => return skip(format!("strace does not start: {error}")),
    }
    let calls = fs::read_to_string(calls).unwrap();
    let arguments = |line: &str| {
        let list = line.split_once(", [")?.1.split_once(']')?.0;
        Some(list.split(", ").map(|word| word.trim_matches('"').to_owned()).collect::<Vec<_>>())
    };
    let own = env!("CARGO_BIN_EXE_provision");
    let mut spawned = BTreeMap::<String, usize>::new();
    for words in calls.lines().filter_map(arguments) {
        let name = match &*words[0] {
            "/proc/self/exe" => words[1].clone(),
            program if program == own => "provision".into(),
            "/bin/bash" => words[4].clone(),
            _ => words.join(" "),
        };
        *spawned.entry(name).or_default() += 1;
    }
    let path = |name: &str| home.path().join(name).display().to_string();
    let cat = format!("cat {}", path("there-one"));
    let touch = ["there-one", "two"].map(|name| format!("touch {}", path(name)));
    let planned = ["provision", "__supervise", check, "touch ~/there-one", "touch ~/two"];
    let planned: Vec<_> =
        planned.into_iter().chain([&*cat]).chain(touch.iter().map(|t| &**t)).collect();
    assert!(spawned.keys().all(|name| planned.contains(&&**name)), "{spawned:#?}");
    assert_eq!((spawned["provision"], spawned["touch ~/two"]), (1, 1), "{spawned:#?}");
}
