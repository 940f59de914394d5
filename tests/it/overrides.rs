//! Verifications that fail, cannot tell, or are taken as they are with a reason.

use serde_json::{Value, json};

use crate::workshop::{Workshop, pairs};

fn gate(document: &Value, name: &str) -> Value {
    let gates = document["gates"]["execute"].as_array().unwrap();
    gates.iter().find(|gate| gate["gate"] == name).unwrap().clone()
}

#[test]
fn a_failed_verification_is_overridden_with_a_reason_and_the_task_is_done() {
    let shop = Workshop::new();
    shop.put("odd", "vim");
    let id = shop.session(3, &["start", "web", "--yes"]);
    let document = shop.document(&id);
    let context = &document["tasks"]["vim"]["failure_context"];
    assert_eq!(context["error_type"], "verification_failed");
    let text = shop.said(0, &["status", &id]);
    assert!(text.contains(&format!("provision override {id} vim")), "{text}");
    let text = shop.said(2, &["override", &id, "vim", "--reason", "  "]);
    assert!(text.contains("needs a reason"), "{text}");
    let text = shop.said(0, &["override", &id, "vim", "--reason", "it listens elsewhere"]);
    assert!(text.contains("the reason is on record"), "{text}");
    let document = shop.document(&id);
    let said = &document["user_overrides"][0];
    assert_eq!(said["task_id"], "vim");
    assert_eq!(said["reason"], "it listens elsewhere");
    let verification = said["verification"].as_str().unwrap();
    assert_eq!(verification, "exit code 1: it looks odd", "what the check said");
    assert_eq!(document["resume_point"]["action"], "retry");
    let text = shop.said(0, &["status", &id]);
    assert!(text.contains("taken as it is: it listens elsewhere"), "{text}");
    assert!(text.contains(&format!("`provision resume {id}` goes on behind it")), "{text}");
    shop.session(0, &["resume", &id]);
    let document = shop.document(&id);
    assert_eq!(document["tasks"]["vim"]["status"], "completed");
    assert_eq!(document["tasks"]["vim"]["result"]["verification"], "overridden");
    assert_eq!(shop.tries("vim"), 1, "what was done is not done again");
    assert_eq!(gate(&document, "verifications_passed")["status"], "passed");
}

#[test]
fn only_a_verification_is_overridden() {
    let shop = Workshop::new();
    shop.put("broken", "vim");
    let id = shop.session(3, &["start", "web", "--yes", "--jobs", "1"]);
    for (task, why) in [
        ("vim", "a command of it failed"),
        ("base", "it is completed, and no verification of it is open"),
        ("database", "it is pending, and no verification of it is open"),
        ("emacs", "the session has no such task"),
    ] {
        let text = shop.said(2, &["override", &id, task, "--reason", "because"]);
        assert!(text.contains(why), "{text}");
    }
    assert_eq!(shop.document(&id).get("user_overrides"), None);
}

#[test]
fn what_cannot_be_told_is_deferred_and_looked_at_again_on_resume() {
    for (list, reason) in [("down", "service_unavailable"), ("mute", "no_results")] {
        let shop = Workshop::new();
        shop.put(list, "vim");
        shop.put("broken", "database");
        let id = shop.session(3, &["start", "web", "--yes"]);
        let document = shop.document(&id);
        assert_eq!(
            shop.tasks(&id),
            pairs(&[("base", "completed"), ("vim", "completed"), ("database", "failed")])
        );
        let deferred = &document["deferred_verifications"];
        assert_eq!(deferred.as_array().unwrap().len(), 1);
        assert_eq!(deferred[0]["task_id"], "vim");
        assert_eq!(deferred[0]["reason"], reason);
        assert_eq!(deferred[0]["resolved"], false);
        assert_eq!(document["tasks"]["vim"]["result"]["verification"], "deferred");
        // Still nobody can tell.
        shop.session(3, &["resume", &id]);
        assert_eq!(shop.document(&id)["deferred_verifications"][0]["resolved"], false);
        shop.take(list, "vim");
        shop.take("broken", "database");
        shop.session(0, &["resume", &id]);
        let document = shop.document(&id);
        assert_eq!(document["deferred_verifications"][0]["resolved"], true);
        assert_eq!(gate(&document, "verifications_passed")["status"], "passed");
        assert_eq!(shop.tries("vim"), 1);
    }
}

#[test]
fn a_verification_that_does_not_answer_in_time_is_deferred() {
    let shop = Workshop::new();
    shop.put("slow", "base");
    let id = shop.session(0, &["start", "systems", "--yes"]);
    let document = shop.document(&id);
    assert_eq!(document["deferred_verifications"][0]["reason"], "timeout");
    assert_eq!(document["meta"]["status"], "completed");
    let gate = gate(&document, "verifications_passed");
    assert_eq!((&gate["level"], &gate["status"]), (&json!("SHOULD"), &json!("failed")));
    assert_eq!(gate["evidence"], "deferred: base");
    // Whoever knows better says so.
    shop.said(0, &["override", &id, "base", "--reason", "it only starts slowly"]);
    assert_eq!(shop.document(&id)["user_overrides"][0]["task_id"], "base");
}

#[test]
fn whoever_is_there_can_take_a_task_as_it_is_at_once() {
    let shop = Workshop::new();
    shop.put("odd", "vim");
    let mut screen = shop.on_screen("start web --answer greeting=no --answer mood=well");
    screen.sees("Which editor?").ready().types("a");
    screen.sees("A database?").ready().types("b");
    screen.sees("Is this what you want?").ready().types("a");
    screen.sees("exit code 1: it looks odd").sees("t take it as it is").ready().types("t");
    screen.sees("Why is it right as it is?").types("it is meant to be odd\r");
    screen.ends(0);
    let document = shop.document(&shop.home.latest());
    assert_eq!(document["tasks"]["vim"]["result"]["verification"], "overridden");
    assert_eq!(document["user_overrides"][0]["reason"], "it is meant to be odd");
    assert_eq!(shop.tries("vim"), 1);
}

#[test]
fn what_fails_when_it_can_be_told_is_said_to_have_failed() {
    let shop = Workshop::new();
    shop.put("mute", "vim");
    shop.put("broken", "database");
    let id = shop.session(3, &["start", "web", "--yes"]);
    shop.take("mute", "vim");
    shop.put("odd", "vim");
    shop.take("broken", "database");
    shop.session(0, &["resume", &id]);
    let document = shop.document(&id);
    let deferred = &document["deferred_verifications"][0];
    assert_eq!(deferred["resolved"], false);
    assert_eq!(deferred["error"], "verification failed: exit code 1: it looks odd");
    assert_eq!(gate(&document, "verifications_passed")["evidence"], "failed: vim");
    let text = shop.said(0, &["status", &id]);
    assert!(text.contains("doubtful  vim: its verification failed: "), "{text}");
}

#[test]
fn a_task_that_is_put_off_twice_is_looked_at_once() {
    let shop = Workshop::new();
    shop.put("mute", "vim");
    shop.put("broken", "database");
    let id = shop.session(3, &["start", "web", "--yes"]);
    shop.edit("echo made > ~/made/vim", "echo made anew > ~/made/vim");
    shop.session(3, &["revise", &id, "--yes"]);
    assert_eq!(shop.tries("vim"), 2, "it is made otherwise");
    shop.take("mute", "vim");
    shop.take("broken", "database");
    shop.session(0, &["resume", &id]);
    let document = shop.document(&id);
    let deferred = document["deferred_verifications"].as_array().unwrap();
    assert!(deferred.iter().all(|known| known["resolved"] == true), "{deferred:?}");
}
