//! A plan is a contract: what was approved is what runs, whatever becomes of the files it was
//! made from.

use std::fs;

use serde_json::{Value, json};

use crate::{
    catalog_mistakes::written,
    harness::{Home, Output, wait_until},
    status::without_times,
};

/// Two tasks, of which the first waits until `~/go` is there.
fn tasks(first: &str, second: &str) -> String {
    format!(
        "metadata: {{category: c}}\ntasks:\n  first:\n    name: First\n    description: The first\n    \
         detection: {{installed_indicator: ~/first}}\n    \
         install: {{steps: [{{command: '{first}', idempotent: true}}]}}\n  second:\n    name: Second\n    \
         detection: {{installed_indicator: ~/second}}\n    dependencies: {{required: [first]}}\n    \
         install: {{steps: [{{command: '{second}'}}]}}\n"
    )
}

const FIRST: &str = "touch ~/begun; until [ -e ~/go ]; do sleep 0.01; done; touch ~/first";
const SECOND: &str = "touch ~/second";
const PROFILE: &str = "metadata: {id: two, name: Two}\nrequired_tasks: [second]\n";

struct Scene {
    home: Home,
    id: String,
    digest: String,
}

/// A session that waits with its plan.
fn waiting() -> Scene {
    let home = Home::new();
    written(&home, "catalog/tasks.yaml", tasks(FIRST, SECOND));
    written(&home, "catalog/profile.yaml", PROFILE);
    let catalog = home.path().join("catalog");
    let output = home.run(&["--catalog", catalog.to_str().unwrap(), "start", "two"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    let id = home.latest();
    let digest = home.latest_document()["plan"]["digest"].as_str().unwrap().to_owned();
    Scene { home, id, digest }
}

impl Scene {
    fn edit(&self, first: &str, second: &str) {
        written(&self.home, "catalog/tasks.yaml", tasks(first, second));
    }

    fn go(&self) {
        fs::write(self.home.path().join("go"), "").unwrap();
    }

    fn approve(&self, digest: &str) -> Output {
        self.home.run(&["approve", &self.id, digest])
    }

    fn shown(&self, output: &Output) -> String {
        let text = output.snapshot(&self.home).replace(&self.id, "[ID]");
        text.replace(&self.digest, "[DIGEST]").replace(&self.digest[..12], "[DIGEST]")
    }

    fn has(&self, name: &str) -> bool {
        self.home.path().join(name).exists()
    }
}

#[test]
fn a_plan_is_approved_by_the_beginning_of_its_digest_and_then_runs() {
    let scene = waiting();
    let status = scene.home.run(&["status", &scene.id]);
    insta::assert_snapshot!(without_times(&scene.shown(&status)), @r#"
    exit 0
    --- stdout
    session   [ID] (two)
    machine   [HOST]
    status    paused
    phase     present_plan (4 of 6), for [SPAN]
    progress  50%
    tasks     0 of 2 tasks settled
    started   [TIME]
    updated   [TIME]
    phases    session_check        passed, [SPAN]
              stack_selection      passed, [SPAN]
              gather_requirements  passed, [SPAN]
    left      first, second
    because   the plan waits for approval
    gate      plan_approved (MUST, pending): the plan [DIGEST] waits for approval
    decision  whether its plan may run
    next      `provision resume [ID]` shows its plan; `provision approve [ID] [DIGEST]` approves it
    --- stderr
    "#);
    for wrong in [&scene.digest[..5], "000000", "xyz"] {
        let output = scene.approve(wrong);
        assert_eq!(output.code, Some(4), "{}", output.stderr);
    }
    let output = scene.approve(&scene.digest[..6].to_uppercase());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = scene.home.latest_document();
    assert_eq!(document["plan"]["approved_by"], "user");
    assert_eq!(document["meta"]["status"], "paused");
    assert!(!scene.has("begun"), "approving runs nothing");
    let again = scene.approve(&scene.digest);
    assert_eq!(again.code, Some(0));
    assert!(again.stdout.contains("was approved already"), "{}", again.stdout);
    scene.go();
    let output = scene.home.run(&["resume", &scene.id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(scene.has("second"));
    let events = scene.home.events(&scene.id);
    let count = |kind: &str| events.iter().filter(|event| event["event"] == kind).count();
    assert_eq!((count("plan_presented"), count("plan_approved")), (1, 1));
    let late = scene.approve(&scene.digest);
    assert_eq!(late.code, Some(0), "{}", late.stderr);
}

#[test]
fn what_was_changed_before_the_first_command_is_refused_with_the_difference() {
    let scene = waiting();
    scene.approve(&scene.digest);
    scene.edit(FIRST, "touch ~/second ~/evil");
    let output = scene.home.run(&["resume", &scene.id]);
    let now = scene.home.json(&[
        "--catalog",
        scene.home.path().join("catalog").to_str().unwrap(),
        "plan",
        "two",
    ]);
    let now = now["digest"].as_str().unwrap().to_owned();
    insta::assert_snapshot!(scene.shown(&output).replace(&now[..12], "[NOW]"), @r#"
    exit 4
    --- stdout
    --- stderr
    error: the plan of session [ID] is not what the catalog says any more, and nothing of it was run
      cause: - second: command 1: touch ~/second
      cause: + second: command 1: touch ~/second ~/evil
    hint: read the changes; then: provision resume [ID] --approve [NOW]
    "#);
    assert!(!scene.has("begun"));
    // `--yes` approves a plan, not a change of one.
    assert_eq!(scene.home.run(&["resume", &scene.id, "--yes"]).code, Some(4));
    assert!(!scene.has("begun"));
    // The plan as it is now, if that is what is approved.
    scene.go();
    let output = scene.home.run(&["resume", &scene.id, "--approve", &now]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(scene.has("evil"));
    let document = scene.home.latest_document();
    assert_eq!(document["plan"]["digest"], now.as_str());
    assert_eq!(document["plan"]["approved_by"], "user");
}

#[test]
fn a_plan_that_changed_cannot_be_approved_unseen() {
    let scene = waiting();
    scene.edit(FIRST, "touch ~/evil");
    let output = scene.approve(&scene.digest);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert!(output.stderr.contains("+ second: command 1: touch ~/evil"), "{}", output.stderr);
    assert!(scene.home.latest_document()["plan"].get("approved_at").is_none());
}

#[test]
fn a_reworded_description_changes_nothing() {
    let scene = waiting();
    scene.approve(&scene.digest);
    let reworded = tasks(FIRST, SECOND).replace("The first", "The very first");
    written(&scene.home, "catalog/tasks.yaml", reworded);
    scene.go();
    let output = scene.home.run(&["resume", &scene.id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!output.stderr.contains("changed"), "{}", output.stderr);
}

#[test]
fn a_kept_plan_that_was_edited_is_refused_with_the_difference() {
    let scene = waiting();
    scene.approve(&scene.digest);
    let path = scene.home.record(&scene.id).join("artifacts/plan.json");
    let before = fs::read(&path).unwrap();
    let mut plan: Value = serde_json::from_slice(&before).unwrap();
    plan["tasks"][1]["commands"][0]["command"] = json!("touch ~/evil");
    fs::write(&path, plan.to_string()).unwrap();
    let output = scene.home.run(&["resume", &scene.id]);
    insta::assert_snapshot!(scene.shown(&output), @r#"
    exit 4
    --- stdout
    --- stderr
    error: the plan that was kept for session [ID] is not the one that was shown
      cause: - second: command 1: touch ~/second
      cause: + second: command 1: touch ~/evil
    hint: nothing of it was run; `-` marks the plan that was shown, `+` the file as it is now
    hint: put the file back, or give a copy: provision resume [ID] --plan FILE
    "#);
    assert!(!scene.has("begun"));
    fs::write(&path, before).unwrap();
    scene.go();
    assert_eq!(scene.home.run(&["resume", &scene.id]).code, Some(0));
    assert!(!scene.has("evil"));
}

#[test]
fn what_is_swapped_while_it_runs_changes_nothing() {
    let scene = waiting();
    scene.approve(&scene.digest);
    let child = scene
        .home
        .command(&["resume", &scene.id])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the first command", || scene.has("begun"));
    scene.edit("touch ~/evil", "touch ~/evil");
    let kept = scene.home.record(&scene.id).join("artifacts/plan.json");
    let plan = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, plan.replace("touch ~/second", "touch ~/evil")).unwrap();
    scene.go();
    let output = Output::after(child);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(scene.has("second") && !scene.has("evil"));
    fs::write(&kept, plan).unwrap();
}

#[test]
fn a_catalog_that_changes_after_the_first_command_lets_the_session_finish_its_plan() {
    let scene = waiting();
    scene.approve(&scene.digest);
    let mut child = scene
        .home
        .command(&["resume", &scene.id])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the first command", || scene.has("begun"));
    child.kill().unwrap();
    child.wait().unwrap();
    // A program that it was about to start may hold its lock a moment longer.
    wait_until("the session is free", || {
        scene.home.json(&["status", &scene.id])["status"] != "active"
    });
    // Nothing has gone wrong with its tasks: it is not over yet.
    let gate = scene.home.json(&["status", &scene.id])["blocked_by"][0].clone();
    assert_eq!(
        (gate["gate"].as_str(), gate["status"].as_str()),
        (Some("tasks_settled"), Some("pending"))
    );
    scene.edit(FIRST, "touch ~/evil");
    scene.go();
    let output = scene.home.run(&["resume", &scene.id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(scene.has("second") && !scene.has("evil"));
    let said = "note: the catalog has changed since; the session finishes the plan that was \
                approved:\nnote: - second: command 1: touch ~/second\nnote: + second: command 1: \
                touch ~/evil\n";
    assert!(output.stderr.contains(said), "{}", output.stderr);
}

#[test]
fn a_catalog_that_is_gone_does_not_stop_an_approved_plan() {
    let scene = waiting();
    scene.approve(&scene.digest);
    fs::remove_dir_all(scene.home.path().join("catalog")).unwrap();
    scene.go();
    let output = scene.home.run(&["resume", &scene.id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("cannot be read any more"), "{}", output.stderr);
}

#[test]
fn approval_and_settled_tasks_cannot_be_forced() {
    let scene = waiting();
    let asked = scene.home.run(&["advance", &scene.id]);
    assert_eq!(asked.code, Some(4), "{}", asked.stderr);
    assert!(asked.stderr.contains("plan_approved (MUST, pending)"), "{}", asked.stderr);
    let forced = scene.home.run(&["advance", &scene.id, "--force", "--reason", "in a hurry"]);
    insta::assert_snapshot!(scene.shown(&forced), @r#"
    exit 4
    --- stdout
    --- stderr
    error: session [ID] cannot be forced on
      cause: gate `plan_approved` of phase present_plan cannot be forced: the plan [DIGEST] waits for approval
    hint: approve its plan: provision approve [ID] DIGEST
    "#);
    let silent = scene.home.run(&["advance", &scene.id, "--force"]);
    assert_eq!(silent.code, Some(2), "{}", silent.stderr);
    assert!(scene.home.latest_document().get("violations").is_none());
}

#[test]
fn a_gate_that_was_forced_is_a_violation_on_record() {
    let home = Home::new();
    let id = crate::harness::ID;
    let gates = json!([
        {"gate": "conflicts_resolved", "level": "MUST", "status": "failed", "evidence": "vim and emacs"},
        {"gate": "questions_answered", "level": "MUST", "status": "passed"}
    ]);
    let steps = [
        json!({"create": {}}),
        json!({"event": "phase_completed", "phase": "session_check"}),
        json!({"event": "stack_selected", "profile": {"selected": "x"}, "question": "q", "answer": "a"}),
        json!({"event": "phase_completed", "phase": "stack_selection"}),
        json!({"event": "gates_evaluated", "phase": "gather_requirements", "gates": gates}),
        json!({"event": "session_paused", "reason": "checkpoint_failed"}),
    ];
    assert_eq!(home.play(steps).code, Some(0));
    let status = home.json(&["status", id]);
    assert_eq!(status["status"], "checkpoint_failed");
    assert_eq!(status["blocked_by"][0]["gate"], "conflicts_resolved");
    let output = home.run(&["advance", id, "--force", "--reason", "they get along here"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = home.document("active", id);
    assert_eq!(document["gates"]["gather_requirements"][0]["status"], "forced");
    assert_eq!(document["checkpoints"]["gather_requirements"], "passed");
    let violation = &document["violations"][0];
    assert_eq!(violation["phase"], "gather_requirements");
    assert_eq!(violation["severity"], "critical");
    assert_eq!(violation["recovery"], "they get along here");
    assert!(violation["requirement"].as_str().unwrap().contains("vim and emacs"));
    assert_eq!(home.run(&["advance", id, "--force", "--reason", "again"]).code, Some(2));
}

#[test]
fn a_new_plan_that_could_not_be_run_yet_leaves_the_session_as_it_was() {
    let home = Home::new();
    let task = |command: &str| {
        format!(
            "metadata: {{category: c}}\ntasks:\n  locked:\n    name: Locked\n    \
             detection: {{installed_indicator: ~/locked}}\n    \
             options: [{{id: token, prompt: Token, type: secret}}]\n    \
             install: {{steps: [{{command: '{command}'}}]}}\n"
        )
    };
    written(&home, "tasks/t.yaml", task("touch ~/locked"));
    assert_eq!(home.run(&["start", "--add", "locked"]).code, Some(4));
    let id = home.latest();
    written(&home, "tasks/t.yaml", task("touch ~/locked ~/more"));
    let now = home.json(&["plan", "--add", "locked"])["digest"].as_str().unwrap().to_owned();
    let without = home.run(&["resume", &id, "--approve", &now]);
    assert_eq!(without.code, Some(2), "{}", without.stderr);
    let mut with = home.command(&["resume", &id, "--approve", &now]);
    let output = Output::of(with.env("PROVISION_DATA_TOKEN", "0123456789"));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(home.path().join("more").exists());
    // The plan that was shown first is kept beside the one that was run.
    let earlier = fs::read(home.record(&id).join("artifacts/plan.v1.json")).unwrap();
    let earlier: Value = serde_json::from_slice(&earlier).unwrap();
    assert_eq!(earlier["tasks"][0]["commands"][0]["command"], "touch ~/locked");
    let presented: Vec<_> = home
        .events(&id)
        .into_iter()
        .filter(|event| event["event"] == "plan_presented")
        .map(|event| event["manifest_digests"].clone())
        .collect();
    assert_eq!(presented.len(), 2);
    assert!(presented.iter().all(Value::is_object), "{presented:?}");
}

#[test]
fn a_replacement_that_was_not_recorded_any_more_is_no_damage() {
    let scene = waiting();
    scene.approve(&scene.digest);
    // As if the run had died between keeping the new plan and saying so.
    let artifacts = scene.home.record(&scene.id).join("artifacts");
    let plan = fs::read_to_string(artifacts.join("plan.json")).unwrap();
    fs::write(artifacts.join("plan.v1.json"), &plan).unwrap();
    let mut other: Value = serde_json::from_str(&plan).unwrap();
    other["tasks"][1]["commands"][0]["command"] = json!("touch ~/evil");
    other.as_object_mut().unwrap().remove("digest");
    fs::write(artifacts.join("plan.json"), other.to_string()).unwrap();
    scene.go();
    let output = scene.home.run(&["resume", &scene.id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(scene.has("second") && !scene.has("evil"));
}

#[test]
fn who_names_a_digest_means_that_plan_also_when_another_is_approved() {
    let scene = waiting();
    let mut child = scene
        .home
        .command(&["resume", &scene.id, "--approve", &scene.digest])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the first command", || scene.has("begun"));
    child.kill().unwrap();
    child.wait().unwrap();
    scene.go();
    let output = scene.home.run(&["resume", &scene.id, "--approve", "deadbeef"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert_eq!(scene.home.run(&["resume", &scene.id]).code, Some(0));
}

#[test]
fn a_profile_that_is_gone_is_not_an_empty_plan() {
    let scene = waiting();
    scene.approve(&scene.digest);
    fs::remove_file(scene.home.path().join("catalog/profile.yaml")).unwrap();
    let output = scene.home.run(&["resume", &scene.id]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert!(output.stderr.contains("there is no profile `two` any more"), "{}", output.stderr);
    assert!(!output.stderr.contains("--approve"), "{}", output.stderr);
}

#[test]
fn a_value_that_was_approved_stays_what_it_is() {
    let home = Home::new();
    let plan = home.plan_file(&json!({
        "format": "plan-v1", "user_data": {"who": {"value": "Ada"}, "what": {}},
        "tasks": [{"id": "a", "commands": [{"command": "echo \"$WHO $WHAT\" > ~/said"}]}]
    }));
    let plan = plan.to_str().unwrap();
    let other = home.run(&["apply", plan, "--yes", "--data", "who=Eve", "--data", "what=x"]);
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert!(other.stderr.contains("another value for `who`"), "{}", other.stderr);
    let mut command = home.command(&["apply", plan, "--yes", "--data", "what=x"]);
    assert_eq!(Output::of(command.env("PROVISION_DATA_WHO", "Eve")).code, Some(0));
    assert_eq!(fs::read_to_string(home.path().join("said")).unwrap(), "Ada x\n");
}

#[test]
fn tasks_that_are_not_settled_cannot_be_forced_past() {
    let home = Home::new();
    let failed = home.apply(&json!([{"id": "a", "commands": [{"command": "false"}]}]), &[]);
    assert_eq!(failed.code, Some(3));
    let id = home.latest();
    let asked = home.run(&["advance", &id]);
    assert_eq!(asked.code, Some(4), "{}", asked.stderr);
    assert!(asked.stderr.contains("tasks_settled (MUST, failed): not yet: a"), "{}", asked.stderr);
    let forced = home.run(&["advance", &id, "--force", "--reason", "enough"]);
    assert_eq!(forced.code, Some(4), "{}", forced.stderr);
    assert!(forced.stderr.contains("cannot be forced"), "{}", forced.stderr);
}
