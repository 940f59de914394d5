//! Probes that hang, talk without end, or are many: they are cut off with all they started, named, and
//! waited for no longer than was said.

use std::{
    fmt::Write as _,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    catalog_mistakes::written,
    harness::{
        Home, Output, processes,
        screen::{CTRL_C, Screen, USUAL},
        wait_until,
    },
    toolbox::{Toolbox, read, tool},
};

/// An audit that must come to its end by itself, long before this.
fn within(limit: Duration, mut audit: Child) -> Output {
    let start = Instant::now();
    while audit.try_wait().unwrap().is_none() {
        if start.elapsed() > limit {
            audit.kill().unwrap();
            panic!("the audit was still not done after {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Output::after(audit)
}

/// Probes that never answer, each in another way; every process they start writes down its number.
const HANGING: [&str; 5] = [
    "note; sleep 1000",
    "note; trap '' TERM INT HUP; (note; sleep 1000); sleep 1000",
    "note; setsid sh -c 'echo $$ >> ~/pids; sleep 1000' & sleep 1000",
    "note; env -i setsid sh -c 'echo $$ >> '\"$HOME\"'/pids; sleep 1000' & exec >/dev/null 2>&1; sleep 1000",
    "note; while :; do yes; done",
];

/// Two hundred tools: some answer, five hang, five cannot stop talking.
fn troubled_catalog(home: &Home) -> String {
    let mut text = "metadata: {category: troubled}\ntasks:\n".to_owned();
    for number in 0..200 {
        let name = format!("tool-{number:03}");
        let check = match (number % 40, number / 40) {
            (7, which) => format!("note() {{ echo $BASHPID >> ~/pids; }}; {}", HANGING[which]),
            (11, _) => "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo end".into(),
            (13, _) => "exit 1".into(),
            _ => format!("test -n {name}"),
        };
        let _ = write!(
            text,
            "  {name}:\n    name: {name}\n    description: Number {number}\n    \
             detection:\n      check_command: |\n        {check}\n      \
             version_command: echo {name} 1.{number}\n    \
             install: {{steps: [{{command: 'true', description: Nothing}}]}}\n"
        );
    }
    let file = written(home, "catalog/tasks/troubled.yaml", text);
    file.parent().unwrap().parent().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn of_two_hundred_those_that_hang_are_named_and_end_with_all_they_started() {
    let home = Home::new();
    let catalog = troubled_catalog(&home);
    let words = ["--json", "--catalog", &catalog, "audit", "--category", "troubled"];
    let mut command = home.command(&words);
    let audit = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Five times what a single one may take.
    let output = within(Duration::from_secs(50), audit);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let audit: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(audit["tools"].as_array().unwrap().len(), 200);
    for number in 0..200 {
        let id = format!("tool-{number:03}");
        let seen = tool(&audit, &id);
        let (installed, version, doubt) = (&seen["installed"], &seen["version"], &seen["doubt"]);
        match number % 40 {
            7 => {
                assert_eq!((installed, version), (&json!(false), &Value::Null), "{seen:#}");
                let doubt = doubt.as_str().unwrap();
                assert!(doubt.ends_with("did not answer within 10 s"), "{doubt}");
            }
            13 => assert_eq!((installed, doubt), (&json!(false), &Value::Null), "{seen:#}"),
            _ => {
                assert_eq!(installed, true, "{seen:#}");
                assert_eq!(version, &json!(format!("1.{number}")), "{seen:#}");
            }
        }
    }
    assert_eq!(audit["summary"]["doubtful"], 5);
    assert_eq!(audit["summary"]["installed"], 190);
    let pids = read(&home.path().join("pids"));
    let pids: Vec<u32> = pids.lines().map(|line| line.parse().unwrap()).collect();
    assert!(pids.len() >= 8, "each of five, and three that they started: {pids:?}");
    wait_until("the end of all that hung", || {
        pids.iter().all(|pid| matches!(processes::state(*pid), None | Some('Z')))
    });
    assert_eq!(processes::with_in_environment(home.path().to_str().unwrap()), Vec::<u32>::new());
}

#[test]
fn whoever_interrupts_an_audit_does_not_wait_for_what_hangs() {
    let home = Home::new();
    let catalog = troubled_catalog(&home);
    let program = env!("CARGO_BIN_EXE_provision");
    let line = format!("{program} --catalog {catalog} audit --category troubled");
    let mut screen = Screen::beside(&home, USUAL, &line);
    wait_until("a probe that hangs", || home.path().join("pids").exists());
    screen.types(CTRL_C);
    let text = screen.ends(4);
    assert!(text.contains("interrupted"), "{text}");
    let pids = read(&home.path().join("pids"));
    wait_until("the end of all that hung", || {
        let mut pids = pids.lines().map(|line| line.parse().unwrap());
        pids.all(|pid| matches!(processes::state(pid), None | Some('Z')))
    });
}

#[test]
fn completion_limits_the_time_of_the_plans_probes() {
    let toolbox = Toolbox::new();
    let mut text = "metadata: {category: slow}\ntasks:\n".to_owned();
    for number in 0..40 {
        let _ = write!(
            text,
            "  slow-{number}:\n    name: slow {number}\n    description: Hangs once installed\n    \
             detection: {{check_command: 'ls ~/slow-{number} || exit 1; sleep 1000'}}\n    \
             install: {{steps: [{{command: touch ~/slow-{number}, description: A file}}]}}\n    \
             verification: {{command: test -e ~/slow-{number}}}\n"
        );
    }
    written(&toolbox.home, "catalog/tasks/slow.yaml", text);
    let words = ["--catalog", &toolbox.file("catalog").display().to_string(), "start", "--add"];
    let slow: Vec<_> = (0..40).map(|number| format!("slow-{number}")).collect();
    let added = format!("anvil,{}", slow.join(","));
    let words = [&words[..], &[&added, "--yes", "--no-input"]].concat();
    let mut command = toolbox.home.command(&words);
    let start = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One of them alone may take ten seconds.
    let output = within(Duration::from_secs(50), start);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = toolbox.home.latest_document();
    let baseline = &document["baseline"];
    let is_told = |id: &str| {
        let absent = baseline["absent"].as_array().unwrap();
        baseline["present"].get(id).is_some() || absent.iter().any(|one| one == id)
    };
    assert!(slow.iter().all(|id| !is_told(id)), "probes that hang tell nothing: {baseline:#}");
    assert!(is_told("drill") && is_told("anvil"), "answers are recorded: {baseline:#}");
}
