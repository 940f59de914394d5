//! Tasks that are executed at once: who goes on beside whom, who waits for what, and what becomes of
//! the others when one fails, is interrupted, or wants to talk.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use agentic_provision::model::Timestamp;
use serde_json::{Value, json};

use crate::harness::{
    Home, processes,
    screen::{CTRL_C, Screen, USUAL},
    stub, wait_until,
};

fn task(id: &str, command: &str) -> Value {
    json!({"id": id, "commands": [{"command": command}]})
}

/// Waits for a file of the home.
fn waits_for(home: &Home, file: &str) -> String {
    format!("until [ -e '{}' ]; do sleep 0.02; done", home.path().join(file).display())
}

/// A run of these tasks, and what it says line by line.
fn begun(
    home: &Home,
    tasks: &Value,
    more: &[&str],
) -> (Child, impl Iterator<Item = String> + use<>) {
    let plan = home.plan(tasks);
    let words = [&["apply", plan.to_str().unwrap(), "--yes"][..], more].concat();
    let mut run = home.command(&words).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    (run, said)
}

fn put(home: &Home, file: &str) {
    fs::write(home.path().join(file), "").unwrap();
}

/// Where the event of a kind about a task stands in the journal; the last one if there are several.
fn place(events: &[Value], kind: &str, task: &str) -> usize {
    let is_it = |event: &Value| event["event"] == kind && event["task_id"] == task;
    events.iter().rposition(is_it).unwrap_or_else(|| panic!("no {kind} of {task}"))
}

fn millis(event: &Value) -> i64 {
    event["timestamp"].as_str().unwrap().parse::<Timestamp>().unwrap().millis()
}

fn statuses(home: &Home) -> BTreeMap<String, String> {
    let document = home.latest_document();
    let tasks = document["tasks"].as_object().unwrap().iter();
    tasks.map(|(id, task)| (id.clone(), task["status"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn two_commands_go_on_at_once_and_the_history_shows_it() {
    let home = Home::new();
    let plan = json!([task("one", "sleep 1"), task("two", "sleep 1")]);
    assert_eq!(home.apply(&plan, &["--jobs", "2"]).code, Some(0));
    let history = home.run(&["--json", "history", &home.latest()]).stdout;
    let events: Vec<Value> =
        history.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind, task| millis(&events[place(&events, kind, task)]);
    let began = of("command_started", "one").max(of("command_started", "two"));
    let ended = of("command_finished", "one").min(of("command_finished", "two"));
    assert!(ended - began >= 500, "together for {} ms", ended - began);
}

#[test]
fn there_is_a_least_and_a_most_of_jobs() {
    let home = Home::new();
    let plan = home.plan(&json!([task("one", "true")]));
    for jobs in ["0", "65", "many"] {
        let output = home.run(&["apply", plan.to_str().unwrap(), "--yes", "--jobs", jobs]);
        assert_eq!(output.code, Some(2));
        assert!(output.stderr.contains("--jobs"), "{}", output.stderr);
    }
    assert_eq!(home.run(&["apply", plan.to_str().unwrap(), "--yes", "-j", "64"]).code, Some(0));
}

#[test]
fn starts_that_come_together_are_written_together() {
    let home = Home::new();
    let tasks: Vec<_> = (0..8).map(|number| task(&format!("task-{number}"), "true")).collect();
    assert_eq!(home.apply(&json!(tasks), &["--jobs", "8"]).code, Some(0));
    let events = home.events(&home.latest());
    let starts: Vec<_> = events.iter().filter(|e| e["event"] == "command_started").collect();
    assert_eq!(starts.len(), 8);
    assert!(starts[0]["batch"].is_array(), "{}", starts[0]);
    assert!(starts.iter().all(|start| start["batch"] == starts[0]["batch"]), "{starts:#?}");
}

#[test]
fn one_that_waits_for_a_lock_leaves_its_turn_to_others() {
    let home = Home::new();
    let locked = |id: &str, command: &str| json!({"id": id, "commands": [{"command": command, "locks": ["x"]}]});
    // With two turns, `third` can only begin if `second` has none while it waits.
    let plan = json!([
        locked("first", &waits_for(&home, "third")),
        locked("second", "true"),
        task("third", &format!("touch '{}'", home.path().join("third").display())),
    ]);
    assert_eq!(home.apply(&plan, &["--jobs", "2"]).code, Some(0));
    let events = home.events(&home.latest());
    let second = place(&events, "command_started", "second");
    assert!(place(&events, "command_finished", "first") < second, "both had the lock");
    assert!(place(&events, "task_started", "second") < place(&events, "command_finished", "third"));
}

#[test]
fn a_lock_is_free_again_when_its_command_is_done_not_only_its_task() {
    let home = Home::new();
    let plan = json!([
        {"id": "first", "commands": [
            {"command": "true", "locks": ["x"]}, {"command": waits_for(&home, "second")}]},
        {"id": "second", "commands": [
            {"command": format!("touch '{}'", home.path().join("second").display()), "locks": ["x"]}]},
    ]);
    assert_eq!(home.apply(&plan, &["--jobs", "2"]).code, Some(0));
}

#[test]
fn the_lock_of_a_manager_is_known_by_the_program_that_a_command_calls() {
    let home = Home::new();
    let stubs = home.path().join("stubs");
    let busy = home.path().join("busy");
    stub(&stubs, "brew", &format!("mkdir '{0}' || exit 1; sleep 0.3; rmdir '{0}'", busy.display()));
    let brews = |id: &str| json!({"id": id, "path": [&stubs], "commands": [{"command": format!("brew install {id}")}]});
    let output = home.apply(&json!([brews("one"), brews("two"), brews("three")]), &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

#[test]
fn one_that_pauses_before_another_try_leaves_its_turn_to_others() {
    let home = Home::new();
    let once = home.path().join("once");
    let flaky = format!("[ -e '{0}' ] || {{ touch '{0}'; exit 1; }}", once.display());
    let mut plan = vec![json!({"id": "flaky", "commands": [{"command": flaky, "retries": 1}]})];
    plan.push(task("long", &waits_for(&home, "quick")));
    let quick = format!("touch '{}'", home.path().join("quick").display());
    plan.push(json!({"id": "quick", "depends_on": [], "commands": [{"command": quick}]}));
    assert_eq!(home.apply(&json!(plan), &["--jobs", "2"]).code, Some(0));
    let events = home.events(&home.latest());
    let again = place(&events, "command_started", "flaky");
    assert!(events[again]["attempt"] == 2);
    assert!(place(&events, "command_finished", "long") < again, "nobody went on meanwhile");
}

#[test]
fn after_a_failure_what_runs_is_waited_for_and_nothing_more_is_begun() {
    let home = Home::new();
    let plan = json!([
        task("bad", &format!("touch '{}'; exit 1", home.path().join("failed").display())),
        {"id": "good", "commands": [
            {"command": format!("{}; sleep 0.3", waits_for(&home, "failed"))}, {"command": "true"}]},
        task("last", "sleep 0.4"),
        task("later", "true"),
    ]);
    assert_eq!(home.apply(&plan, &["--jobs", "3"]).code, Some(3));
    let known = statuses(&home);
    assert_eq!(known["bad"], "failed");
    assert_eq!(known["last"], "completed", "what ran was waited for, to the end of its task");
    assert_eq!(known["good"], "in_progress", "its second command was not begun");
    assert_eq!(known["later"], "pending");
    let document = home.latest_document();
    assert_eq!(document["tasks"]["good"]["commands"].as_array().unwrap().len(), 1);
    assert_eq!(document["meta"]["status"], "failed");
    // Everything is gone on with where it stands.
    assert_eq!(home.run(&["resume", &home.latest(), "--skip"]).code, Some(0));
    let known = statuses(&home);
    assert_eq!((known["bad"].as_str(), known["good"].as_str()), ("skipped", "completed"));
    let good = &home.latest_document()["tasks"]["good"]["commands"];
    assert_eq!(good[0]["retry_count"], 0);
}

#[test]
fn told_to_keep_going_only_what_needs_the_failed_one_is_passed_by() {
    let home = Home::new();
    let plan = json!([
        task("bad", "exit 1"),
        {"id": "needs", "depends_on": ["bad"], "commands": [{"command": "true"}]},
        {"id": "needs-that", "depends_on": ["needs"], "commands": [{"command": "true"}]},
        task("good", "sleep 0.2"),
        task("later", "true"),
    ]);
    assert_eq!(home.apply(&plan, &["--keep-going", "--jobs", "2"]).code, Some(3));
    let known: Vec<_> = statuses(&home).into_values().collect();
    assert_eq!(known, ["failed", "completed", "completed", "skipped", "skipped"]);
}

#[test]
fn where_only_what_needs_the_failed_one_is_left_it_is_passed_by_and_comes_back_with_it() {
    let home = Home::new();
    let mended = home.path().join("mended");
    let plan = json!([
        task("bad", &format!("[ -e '{}' ]", mended.display())),
        {"id": "needs", "depends_on": ["bad"], "commands": [{"command": "true"}]},
        task("good", "true"),
    ]);
    assert_eq!(home.apply(&plan, &[]).code, Some(3));
    assert_eq!(statuses(&home)["needs"], "skipped");
    put(&home, "mended");
    assert_eq!(home.run(&["resume", &home.latest()]).code, Some(0));
    assert!(statuses(&home).values().all(|status| status == "completed"));
}

#[test]
fn ctrl_c_waits_for_all_that_runs_and_begins_nothing_more() {
    let home = Home::new();
    let mut tasks: Vec<_> =
        (0..3).map(|n| task(&format!("task-{n}"), &waits_for(&home, "go"))).collect();
    tasks.push(task("later", "true"));
    let (mut run, mut said) = begun(&home, &json!(tasks), &["--jobs", "3"]);
    let commands = said.by_ref().filter(|line| line.contains("$ until")).take(3).count();
    assert_eq!(commands, 3);
    processes::signal(run.id(), "INT");
    let text = "pausing as soon as all commands are done; Ctrl-C again ends them";
    assert!(said.by_ref().any(|line| line.contains(text)));
    put(&home, "go");
    assert_eq!(run.wait().unwrap().code(), Some(4));
    let known: Vec<_> = statuses(&home).into_values().collect();
    assert_eq!(known, ["pending", "completed", "completed", "completed"]);
    assert_eq!(home.run(&["resume", &home.latest()]).code, Some(0));
}

#[test]
fn ctrl_c_twice_ends_all_that_runs() {
    let home = Home::new();
    let tasks: Vec<_> = (0..3).map(|n| task(&format!("task-{n}"), "sleep 1000")).collect();
    let (mut run, mut said) = begun(&home, &json!(tasks), &[]);
    assert_eq!(said.by_ref().filter(|line| line.contains("$ sleep")).take(3).count(), 3);
    for text in ["pausing as soon as all commands", "asking 3 commands to end"] {
        processes::signal(run.id(), "INT");
        assert!(said.by_ref().any(|line| line.contains(text)), "never said: {text}");
    }
    assert_eq!(run.wait().unwrap().code(), Some(4));
    let document = home.latest_document();
    for number in 0..3 {
        let task = &document["tasks"][format!("task-{number}")];
        assert_eq!(task["in_flight"], Value::Null);
        assert_eq!(task["commands"][0]["outcome"], "signaled", "{task:#}");
    }
    assert_eq!(document["resume_points"].as_array().unwrap().len(), 3);
}

#[test]
fn an_interrupt_during_the_last_commands_leaves_a_complete_session_complete() {
    let home = Home::new();
    let tasks: Vec<_> =
        (0..2).map(|n| task(&format!("task-{n}"), &waits_for(&home, "go"))).collect();
    let (mut run, mut said) = begun(&home, &json!(tasks), &[]);
    assert_eq!(said.by_ref().filter(|line| line.contains("$ until")).take(2).count(), 2);
    processes::signal(run.id(), "INT");
    assert!(said.by_ref().any(|line| line.contains("pausing as soon as")));
    put(&home, "go");
    assert_eq!(run.wait().unwrap().code(), Some(0));
}

#[test]
fn terminated_beside_one_that_failed_what_runs_is_left_and_taken_up() {
    let home = Home::new();
    let tasks = json!([
        task("bad", "exit 1"),
        task("long", &waits_for(&home, "go")),
        task("longer", &waits_for(&home, "go")),
    ]);
    let (mut run, mut said) = begun(&home, &tasks, &[]);
    assert!(said.by_ref().any(|line| line.contains("failed (unknown)")));
    let id = home.latest();
    wait_until("both to run", || {
        home.events(&id).iter().filter(|e| e["event"] == "command_started").count() == 3
    });
    processes::signal(run.id(), "TERM");
    assert_eq!(run.wait().unwrap().code(), Some(4), "what runs is not over");
    put(&home, "go");
    assert_eq!(home.run(&["resume", &id, "--skip"]).code, Some(0));
    let document = home.latest_document();
    for task in ["long", "longer"] {
        assert_eq!(document["tasks"][task]["commands"][0]["recovered"], true);
        assert_eq!(document["tasks"][task]["commands"][0]["retry_count"], 0);
    }
}

#[test]
fn what_has_the_terminal_has_it_alone_and_early() {
    let home = Home::new();
    let mut talk = task("talk", "read -p \"$(printf 'Who %s? ' is)\" name; echo \"Hello $name\"");
    talk["commands"][0]["interactive"] = json!(true);
    let mut tasks: Vec<_> = (0..4).map(|n| task(&format!("task-{n}"), "echo other")).collect();
    tasks.push(talk);
    let plan = home.plan(&json!(tasks));
    let line = format!("{} apply {}", env!("CARGO_BIN_EXE_provision"), plan.display());
    let mut screen = Screen::beside(&home, USUAL, &line);
    screen.ready().types("a").sees("Who is?");
    let id = home.latest();
    let started = |home: &Home| {
        home.events(&id).into_iter().filter(|e| e["event"] == "command_started").collect::<Vec<_>>()
    };
    // It was the first, and nothing runs beside it.
    assert_eq!(started(&home).len(), 1);
    screen.types("Ada\r").sees("Hello Ada").sees("Done");
    screen.ends(0);
    let events = home.events(&id);
    let end = place(&events, "command_finished", "talk");
    assert!((0..4).all(|n| place(&events, "command_started", &format!("task-{n}")) > end));
}

#[test]
fn one_decision_is_asked_at_a_time_and_what_others_say_waits_for_it() {
    let home = Home::new();
    let failed = home.path().join("failed");
    let plan = home.plan(&json!([
        task("bad", "echo bad-output; exit 1"),
        task("worse", &format!("sleep 0.2; touch '{}'; exit 1", failed.display())),
        task("good", &waits_for(&home, "go")),
    ]));
    let line = format!("{} apply {}", env!("CARGO_BIN_EXE_provision"), plan.display());
    let mut screen = Screen::beside(&home, USUAL, &line);
    screen.ready().types("a").sees("bad failed. What now?");
    let id = home.latest();
    let has = |kind: &str, task: &str| {
        home.events(&id).iter().any(|e| e["event"] == kind && e["task_id"] == task)
    };
    // The others go on, and what they come to is on record, not on the screen.
    wait_until("the second failure", || has("task_failed", "worse"));
    put(&home, "go");
    wait_until("the end of the third", || has("task_completed", "good"));
    screen.types("o").sees("bad-output");
    let text = screen.text();
    assert!(!text.contains("worse failed") && !text.contains("✓ good"), "{text}");
    // The answer makes room for the next question, behind what was held.
    screen.types("c").sees("✓ good").sees("worse failed. What now?").ready();
    screen.types("d");
    let text = screen.ends(4);
    assert!(text.contains("✗ worse failed"), "{text}");
    let known: Vec<_> = statuses(&home).into_values().collect();
    assert_eq!(known, ["skipped", "completed", "failed"]);
}

#[test]
fn what_was_passed_by_for_a_task_comes_back_when_that_is_tried_again_at_the_prompt() {
    let home = Home::new();
    let mended = home.path().join("mended");
    let plan = json!([
        task("bad", &format!("[ -e '{}' ]", mended.display())),
        {"id": "needs", "depends_on": ["bad"], "commands": [{"command": "true"}]},
        {"id": "too", "depends_on": ["needs"], "commands": [{"command": "true"}]},
        task("good", "true"),
    ]);
    assert_eq!(home.apply(&plan, &[]).code, Some(3));
    assert_eq!(statuses(&home)["too"], "skipped");
    put(&home, "mended");
    let line = format!("{} resume {}", env!("CARGO_BIN_EXE_provision"), home.latest());
    let mut screen = Screen::beside(&home, USUAL, &line);
    screen.sees("bad failed. What now?").ready().types("a");
    let text = screen.ends(0);
    assert!(!text.contains("5/4") && !text.contains("6/4"), "{text}");
    assert!(statuses(&home).values().all(|status| status == "completed"));
}

#[test]
fn what_was_overridden_brings_back_what_needs_it() {
    let home = Home::new();
    let mut odd = task("odd", "true");
    odd["verification"] = json!({"command": "false"});
    let plan = json!([odd,
        {"id": "needs", "depends_on": ["odd"], "commands": [{"command": "true"}]}]);
    assert_eq!(home.apply(&plan, &[]).code, Some(3));
    let id = home.latest();
    assert_eq!(home.run(&["override", &id, "odd", "--reason", "it works"]).code, Some(0));
    let line = format!("{} resume {id}", env!("CARGO_BIN_EXE_provision"));
    let mut screen = Screen::beside(&home, USUAL, &line);
    screen.sees("odd failed. What now?").ready().types("a");
    screen.ends(0);
    assert!(statuses(&home).values().all(|status| status == "completed"));
}

#[test]
fn whoever_pauses_at_a_question_is_told_what_is_waited_for() {
    let home = Home::new();
    let plan = home.plan(&json!([task("bad", "exit 1"), task("long", &waits_for(&home, "go"))]));
    let line = format!("{} apply {}", env!("CARGO_BIN_EXE_provision"), plan.display());
    let mut screen = Screen::beside(&home, USUAL, &line);
    screen.ready().types("a").sees("bad failed. What now?").ready().types("d");
    screen.sees("pausing as soon as the command is done");
    put(&home, "go");
    screen.ends(4);
    assert_eq!(statuses(&home)["long"], "completed");
}

#[test]
fn a_command_on_the_terminal_waits_for_the_answer_to_a_question() {
    let home = Home::new();
    let mut talk = task("talk", "read -p \"$(printf 'Who %s? ' is)\" name");
    talk["depends_on"] = json!(["before"]);
    talk["commands"][0]["interactive"] = json!(true);
    let plan = home.plan(&json!([task("bad", "exit 1"), task("before", "sleep 0.3"), talk]));
    let line = format!("{} apply {}", env!("CARGO_BIN_EXE_provision"), plan.display());
    let mut screen = Screen::beside(&home, USUAL, &line);
    screen.ready().types("a").sees("bad failed. What now?");
    let id = home.latest();
    wait_until("the end of what comes before", || {
        home.events(&id).iter().any(|e| e["event"] == "task_completed")
    });
    screen.ready().types("c").sees("Who is?");
    assert!(!screen.text().contains("What now?\n"));
    screen.types("Ada\r");
    screen.ends(0);
}

#[test]
fn whoever_stops_at_a_question_is_not_asked_the_next_one() {
    let home = Home::new();
    let plan = home.plan(&json!([task("bad", "exit 1"), task("worse", "exit 1")]));
    let line = format!("{} apply {}", env!("CARGO_BIN_EXE_provision"), plan.display());
    let mut screen = Screen::beside(&home, USUAL, &line);
    screen.ready().types("a").sees("failed. What now?").ready();
    wait_until("both failures", || statuses(&home).values().all(|status| status == "failed"));
    screen.types(CTRL_C);
    // A second question would wait for an answer.
    let text = screen.ends(4);
    assert!(text.matches("What now?").count() <= 1, "{text}");
}

#[test]
fn how_long_tasks_took_before_decides_who_goes_first() {
    let home = Home::new();
    let plan = json!([task("a", "true"), task("b", "true"), task("long", "sleep 1.2")]);
    assert_eq!(home.apply(&plan, &["--jobs", "2"]).code, Some(0));
    assert_eq!(home.apply(&plan, &["--jobs", "2"]).code, Some(0));
    let events = home.events(&home.latest());
    let order: Vec<_> = events.iter().filter(|e| e["event"] == "task_started").collect();
    assert_eq!(order[0]["task_id"], "long");
}
