//! `provision start`: from a profile and answers to a machine that is set up, with nobody to ask.

use std::{fs, process::Stdio};

use serde_json::{Value, json};

use crate::{
    catalog_mistakes::written,
    harness::{Home, Output},
};

const TASKS: &str = r#"
metadata: {category: demo}
tasks:
  base:
    name: Base
    detection: {installed_indicator: ~/made/base}
    install: {steps: [{command: mkdir -p ~/made && touch ~/made/base}]}
  red:
    name: Red
    detection: {installed_indicator: ~/made/red}
    dependencies: {required: [base]}
    conflicts_with: [blue]
    install: {steps: [{command: touch ~/made/red}]}
  blue:
    name: Blue
    detection: {installed_indicator: ~/made/blue}
    dependencies: {required: [base]}
    install: {steps: [{command: touch ~/made/blue}]}
  shade:
    name: Shade
    detection: {installed_indicator: ~/made/shade}
    dependencies: {required: [base]}
    options:
      - {id: depth, prompt: How deep, type: number, default: 3}
      - {id: finish, prompt: Which finish, type: choice, default: matt, choices: [matt, gloss]}
    install: {steps: [{command: 'echo "$DEPTH $FINISH" > ~/made/shade'}]}
  signed:
    name: Signed
    detection: {installed_indicator: ~/made/signed}
    dependencies: {required: [base]}
    options: [{id: pass_phrase, prompt: A pass phrase, type: secret}]
    install: {steps: [{command: 'echo "$OWNER: ${#PASS_PHRASE}" > ~/made/signed; echo "it is $PASS_PHRASE"'}]}
  frame:
    name: Frame
    detection: {installed_indicator: ~/made/frame}
    install: {steps: [{command: mkdir -p ~/made && touch ~/made/frame}]}
    post_install: [{task: glass, condition: user_choice, prompt: Glass in front of it?}]
  glass:
    name: Glass
    detection: {installed_indicator: ~/made/glass}
    dependencies: {required: [frame]}
    install: {steps: [{command: touch ~/made/glass}]}
"#;

const PROFILE: &str = r#"
metadata: {id: paint, name: Paint}
required_tasks: [base]
question_flow:
  - id: colour
    question: Which colour?
    options:
      - {letter: A, text: Red - warm, tasks: [red]}
      - {letter: B, text: Blue - cold, tasks: [blue], follow_up: shading}
      - {letter: C, text: Explain, action: explain, explanation: Red is warm and blue is cold.}
  - id: shading
    question: Shaded?
    options:
      - {letter: A, text: "Yes", value: shaded, tasks: [shade]}
      - {letter: B, text: "No", value: plain}
  - id: signature
    question: Will you sign it?
    options:
      - {letter: A, text: "Yes", value: sign, tasks: [signed], user_data_required: [owner]}
      - {letter: B, text: "No", value: unsigned}
user_data:
  owner: {prompt: Your name, pattern: '[A-Z].*'}
"#;

/// A home with a small catalog of its own.
pub fn painted() -> Home {
    let home = Home::new();
    written(&home, "tasks/paint.yaml", TASKS);
    written(&home, "profiles/paint.yaml", PROFILE);
    home
}

pub fn start(home: &Home, more: &[&str]) -> Output {
    home.run(&[&["start", "paint", "--no-input"], more].concat())
}

pub fn sessions(home: &Home) -> usize {
    home.json(&["sessions"])["sessions"].as_array().unwrap().len()
}

/// The document of the session that a run was about.
pub fn begun(home: &Home, output: &Output) -> Value {
    let id = output.stderr.split_whitespace().find(|word| word.starts_with("prov-")).unwrap();
    let shelves = ["active", "completed", "failed"];
    let shelf = shelves.iter().find(|shelf| home.document_path(shelf, id).exists()).unwrap();
    home.document(shelf, id)
}

pub fn made(home: &Home, name: &str) -> Option<String> {
    fs::read_to_string(home.path().join("made").join(name)).ok()
}

#[test]
fn with_answers_and_approval_it_runs_to_completion() {
    let home = painted();
    let answers = written(
        &home,
        "mine.yaml",
        "profile: paint\nanswers: {colour: BLUE, shading: a, signature: Unsigned}\noptions: {shade: {depth: 7}}\n",
    );
    let output =
        home.run(&["start", "--answers", answers.to_str().unwrap(), "--yes", "--no-input"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(made(&home, "shade").unwrap(), "7 matt\n");
    assert!(made(&home, "blue").is_some() && made(&home, "red").is_none());
    let document = home.latest_document();
    assert_eq!(document["meta"]["status"], "completed");
    assert_eq!(document["profile"]["selected"], "paint");
    assert_eq!(document["profile"]["base_tasks"], json!(["base"]));
    assert_eq!(document["choices"]["stack_type"]["value"], "paint");
    assert_eq!(document["choices"]["colour"]["answer"], "B");
    assert_eq!(document["choices"]["colour"]["value"], "blue");
    assert_eq!(document["user_data"], json!({"shade.depth": "7", "shade.finish": "matt"}));
    assert_eq!(document["plan"]["approved_by"], "unattended");
    assert_eq!(document["meta"]["agent"], "unattended");
    let phases: Vec<_> = document["phase"]["history"].as_array().unwrap().iter().collect();
    assert_eq!(phases.len(), 6);
    for phase in phases {
        let name = phase["phase"].as_str().unwrap();
        assert_eq!(document["checkpoints"][name], "passed", "{name}");
        assert!(document["phase_timing"][name]["duration_seconds"].is_number(), "{name}");
        assert!(document["phase_artifacts"][name]["timestamp"].is_string(), "{name}");
        assert!(!document["gates"][name].as_array().unwrap().is_empty(), "{name}");
    }
    // One event for each of them.
    let events = home.events(&home.latest());
    for kind in ["stack_selected", "plan_presented", "plan_approved"] {
        assert_eq!(events.iter().filter(|event| event["event"] == kind).count(), 1, "{kind}");
    }
    let completed = events.iter().filter(|event| event["event"] == "phase_completed");
    assert_eq!(completed.count(), 6);
}

#[test]
fn a_second_start_finds_everything_and_runs_nothing() {
    let home = painted();
    let answers = ["--yes", "--answer", "colour=A", "--answer", "signature=B"];
    let first = begun(&home, &start(&home, &answers));
    let second = begun(&home, &start(&home, &answers));
    assert_eq!(second["meta"]["status"], "completed");
    assert_eq!(first["plan"]["digest"], second["plan"]["digest"]);
    let events = home.events(second["meta"]["id"].as_str().unwrap());
    assert!(!events.iter().any(|event| event["event"] == "command_started"));
    for task in second["tasks"].as_object().unwrap().values() {
        assert_eq!(task["result"]["already_installed"], true, "{task}");
    }
}

#[test]
fn without_approval_it_waits_with_its_plan() {
    let home = painted();
    let output = start(&home, &["--answer", "colour=A", "--answer", "signature=B"]);
    let id = home.latest();
    let digest = home.latest_document()["plan"]["digest"].as_str().unwrap().to_owned();
    let shown = output.snapshot(&home).replace(&id, "[ID]");
    let shown = shown.replace(&digest, "[DIGEST]").replace(&digest[..12], "[DIGEST]");
    insta::assert_snapshot!(shown, @r#"
    exit 4
    --- stdout
    --- stderr
    session [ID]
    plan of 2 tasks
    plan of paint: 2 to install
    digest [DIGEST]

    demo
      install   base      Base, 1 command [home]
          $ mkdir -p ~/made && touch ~/made/base
          there with: ~/made/base
      install   red       Red, 1 command [home]
          $ touch ~/made/red
          there with: ~/made/red
    paused: the plan waits for approval; nothing has been run
    hint: read what it would run, above; then: provision resume [ID] --approve [DIGEST]
    hint: or approve it now and run it later: provision approve [ID] [DIGEST]
    "#);
    assert!(made(&home, "base").is_none());
    let document = home.latest_document();
    assert_eq!(document["meta"]["status"], "paused");
    assert_eq!(document["phase"]["current"], "present_plan");
    assert_eq!(document["checkpoints"]["present_plan"], "pending");
    let resumed = home.run(&["resume", &id, "--approve", &digest[..6]]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(home.latest_document()["plan"]["approved_by"], "user");
    assert!(made(&home, "red").is_some());
}

#[test]
fn single_tools_need_no_profile() {
    let home = painted();
    let output = home.run(&["start", "--add", "red,shade", "--yes", "--no-input"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = home.latest_document();
    assert_eq!(document["profile"]["selected"], "custom");
    let tasks: Vec<_> = document["tasks"].as_object().unwrap().keys().collect();
    assert_eq!(tasks, ["base", "red", "shade"]);
    let nothing = home.run(&["start", "--no-input"]);
    assert_eq!(nothing.code, Some(2));
    assert!(nothing.stderr.contains("essentials, fullstack-web"), "{}", nothing.stderr);
    let other = home.run(&["start", "pant"]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("did you mean `paint`?"), "{}", other.stderr);
}

#[test]
fn events_and_the_end_are_told_as_json() {
    let home = painted();
    let base = ["--answer", "colour=a", "--answer", "signature=b"];
    let output = home.run(&[&["--json", "start", "paint", "--yes"][..], &base[..]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let lines: Vec<Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["event"], "session_created");
    let end = lines.last().unwrap();
    assert_eq!(end["event"], "run_ended");
    assert_eq!(end["status"], "completed");
    assert_eq!(lines.len() - 1, home.events(&home.latest()).len());
    let failed = home.run(&["--json", "start", "paint"]);
    assert_eq!(failed.code, Some(2));
    assert_eq!(failed.stdout, "");
    let error: Value = serde_json::from_str(&failed.stderr).unwrap();
    assert_eq!(error["error"]["operation"], "start");
    assert_eq!(error["error"]["causes"].as_array().unwrap().len(), 2);
}

#[test]
fn an_earlier_session_that_is_not_finished_is_named_and_recorded() {
    let home = painted();
    let base = ["--answer", "colour=a", "--answer", "signature=b"];
    assert_eq!(start(&home, &base).code, Some(4));
    let first = home.latest();
    let output = start(&home, &[&base[..], &["--yes"]].concat());
    assert_eq!(output.code, Some(0));
    assert!(output.stderr.contains(&format!("not finished: {first}")), "{}", output.stderr);
    let document = begun(&home, &Output { stderr: output.stderr.replace(&first, ""), ..output });
    let gate = &document["gates"]["session_check"][2];
    assert_eq!(gate["gate"], "earlier_sessions_dealt_with");
    assert_eq!((gate["level"].as_str(), gate["status"].as_str()), (Some("SHOULD"), Some("failed")));
    assert!(gate["evidence"].as_str().unwrap().contains(&first));
}

#[test]
fn a_profile_by_its_letter_is_the_same_profile() {
    let home = painted();
    let only = "metadata: {id: elsewhere, name: E}\nselection_prompt: {letter: X}\n\
                platforms: [haiku]\nrequired_tasks: [base]\n";
    written(&home, "profiles/elsewhere.yaml", only);
    for name in ["elsewhere", "X", "Elsewhere"] {
        let output = home.run(&["plan", name]);
        assert_eq!(output.code, Some(2), "{name}: {}", output.stderr);
        assert!(output.stderr.contains("is for haiku only"), "{}", output.stderr);
    }
    written(&home, "profiles/empty.yaml", "metadata: {id: empty, name: E}\nrequired_tasks: []\n");
    let empty = home.run(&["start", "empty", "--yes"]);
    assert_eq!(empty.code, Some(8), "{}", empty.stderr);
    assert_eq!(sessions(&home), 0);
}

#[test]
fn a_signal_while_the_machine_is_looked_at_ends_it_with_its_probes() {
    use crate::harness::{processes, wait_until};
    for (arguments, seconds) in
        [(&["start", "--add", "slow", "--yes"][..], "87651"), (&["plan", "--add", "slow"], "87652")]
    {
        let home = Home::new();
        let task = format!(
            "metadata: {{category: c}}\ntasks:\n  slow:\n    name: Slow\n    \
             detection: {{check_command: 'sleep {seconds} & wait'}}\n    \
             install: {{steps: [{{command: 'true'}}]}}\n"
        );
        written(&home, "tasks/t.yaml", task);
        let mut command = home.command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let probes = || processes::with_in_command_line(&["sleep", seconds]);
        wait_until("the probe", || !probes().is_empty());
        processes::signal(child.id(), "TERM");
        let output = Output::after(child);
        assert_eq!(output.code, Some(4), "{}", output.stderr);
        assert!(output.stderr.contains("interrupted before anything"), "{}", output.stderr);
        wait_until("the end of the probe", || probes().is_empty());
        assert_eq!(sessions(&home), 0);
    }
}

#[test]
fn what_a_person_does_by_hand_is_skipped_with_its_words() {
    let home = Home::new();
    let tasks = "metadata: {category: c}\ntasks:\n  app: {name: App, detection: {installed_indicator: ~/app}, \
                 install: {steps: [{command: touch ~/begun}, {manual: Sign in to the app}]}}\n  \
                 addon: {name: Addon, detection: {installed_indicator: ~/addon}, \
                 dependencies: {required: [app]}, install: {steps: [{command: touch ~/addon}]}}\n  \
                 done: {name: Done, detection: {installed_indicator: ~/done}, \
                 install: {steps: [{command: touch ~/set}, {manual: Look at it}]}, \
                 verification: {command: test -e ~/set}}\n";
    written(&home, "tasks/t.yaml", tasks);
    let output = home.run(&["start", "--add", "addon,done", "--yes"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(home.path().join("begun").exists() && !home.path().join("addon").exists());
    let tasks = home.latest_document()["tasks"].clone();
    assert_eq!(tasks["app"]["status"], "skipped");
    assert_eq!(tasks["addon"]["status"], "skipped");
    assert_eq!(tasks["done"]["status"], "completed");
    assert!(output.stderr.contains("a person does it: Sign in to the app"), "{}", output.stderr);
}
