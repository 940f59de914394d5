//! Another answer after part of the plan has run: how far it reaches is shown first, only what it
//! changes is done anew, and what was there stays on record.

use std::fs;

use serde_json::{Value, json};

use crate::workshop::{Workshop, pairs};

/// A session that has made the base and its editor, and failed at the database.
fn half_way(shop: &Workshop) -> String {
    shop.put("broken", "database");
    let id = shop.session(3, &["start", "web", "--yes", "--jobs", "1"]);
    shop.take("broken", "database");
    assert_eq!(
        shop.tasks(&id),
        pairs(&[("base", "completed"), ("vim", "completed"), ("database", "failed")])
    );
    id
}

/// What a revision would come to: nothing is changed by asking.
fn preview(shop: &Workshop, id: &str, words: &[&str]) -> Value {
    let before = fs::read(shop.home.journal(id)).unwrap();
    let output = shop.run(&[&["--json", "revise", id], words].concat());
    assert_eq!(output.code, Some(4), "{}{}", output.stdout, output.stderr);
    assert_eq!(fs::read(shop.home.journal(id)).unwrap(), before);
    assert!(output.stderr.contains("is not revised yet"), "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

fn revision(shop: &Workshop, id: &str) -> Value {
    let document = shop.document(id);
    document["revision_history"].as_array().unwrap().last().unwrap().clone()
}

#[test]
fn another_editor_after_half_the_tasks_is_moderate_and_replans_only_the_editor() {
    let shop = Workshop::new();
    let id = half_way(&shop);
    let digest = shop.document(&id)["plan"]["digest"].as_str().unwrap().to_owned();
    let told = preview(&shop, &id, &["--answer", "editor=helix"]);
    assert_eq!(told["impact"], "moderate");
    assert_eq!(told["added"], json!(["helix"]));
    assert_eq!(told["left_installed"], json!(["vim"]));
    assert_eq!(told["begin_anew"], json!([]));
    assert_eq!(told["needs_approval"], true);
    let new = told["plan"]["digest"].as_str().unwrap();
    assert_ne!(new, digest);

    let text = shop.said(4, &["revise", &id, "--answer", "editor=helix", "--approve", &digest]);
    assert!(text.contains(&format!("the digest of the plan is {new}")), "{text}");
    assert_eq!(shop.document(&id)["revision_history"], Value::Null, "nothing is recorded");

    let revised =
        shop.session(0, &["revise", &id, "--answer", "editor=helix", "--approve", &new[..8]]);
    assert_eq!(revised, id);
    let document = shop.document(&id);
    assert_eq!(document["meta"]["status"], "completed");
    assert_eq!(document["plan"]["digest"], new);
    assert_eq!(document["plan"]["approved_by"], "user");
    assert_eq!(document["choices"]["editor"]["value"], "helix");
    assert_eq!(
        shop.tasks(&id),
        pairs(&[
            ("base", "completed"),
            ("helix", "completed"),
            ("database", "completed"),
            ("vim", "completed"),
        ]),
        "what is installed stays on record"
    );
    assert_eq!(document["tasks"]["vim"]["result"]["version"], "1.2.3");
    assert_eq!(document["tasks"]["vim"]["needs_review"], true);
    assert_eq!((shop.tries("base"), shop.tries("vim"), shop.tries("database")), (1, 1, 2));
    let told = revision(&shop, &id);
    assert_eq!(told["impact"], "moderate");
    assert_eq!(told["phase_revisited"], "gather_requirements");
    assert_eq!(told["reason"], "editor: helix");
    assert_eq!(told["downstream_archived"], json!(["plan.v1.json"]));
    assert_eq!(shop.artifacts(&id), ["plan.json", "plan.v1.json", "report.html"]);
    let before: Value = serde_json::from_slice(
        &fs::read(shop.home.record(&id).join("artifacts/plan.v1.json")).unwrap(),
    )
    .unwrap();
    assert!(before["tasks"].as_array().unwrap().iter().any(|task| task["id"] == "vim"));
    shop.said(0, &["history", &id, "--verify"]);
    // And looked at, it is as it should be.
    let text = shop.said(0, &["revise", &id, "--reviewed"]);
    assert!(text.contains("reviewed: vim"), "{text}");
    assert_eq!(shop.document(&id)["tasks"]["vim"].get("needs_review"), None);
}

#[test]
fn what_was_made_otherwise_begins_anew_and_its_record_is_kept() {
    let shop = Workshop::new();
    shop.put("broken", "database");
    let id = shop.session(
        3,
        &[
            "start",
            "web",
            "--yes",
            "--keep-going",
            "--answer",
            "greeting=yes",
            "--data",
            "card_name=Ada",
        ],
    );
    shop.take("broken", "database");
    let card = shop.home.path().join("made/card");
    assert_eq!(fs::read_to_string(&card).unwrap(), "Ada\n");
    let words = ["--data", "card_name=Grace"];
    let told = preview(&shop, &id, &words);
    assert_eq!((&told["impact"], &told["begin_anew"]), (&json!("moderate"), &json!(["card"])));
    assert_eq!(told["made_again"], json!(["card"]));
    let digest = told["plan"]["digest"].as_str().unwrap();
    // It is there, as this session made it: it is made otherwise all the same.
    shop.session(0, &["revise", &id, "--data", "card_name=Grace", "--approve", digest]);
    assert_eq!(fs::read_to_string(&card).unwrap(), "Grace\n");
    assert_eq!((shop.tries("card"), shop.tries("base")), (2, 1));
    let archived = &revision(&shop, &id)["downstream_archived"];
    assert_eq!(archived, &json!(["plan.v1.json", "task-card.v1.json"]));
    let kept = fs::read(shop.home.record(&id).join("artifacts/task-card.v1.json")).unwrap();
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    assert_eq!((&kept["task_id"], &kept["status"]), (&json!("card"), &json!("completed")));
}

#[test]
fn another_stack_is_major_and_everything_downstream_restarts() {
    let shop = Workshop::new();
    let id = half_way(&shop);
    let told = preview(&shop, &id, &["--answer", "stack_type=systems"]);
    assert_eq!(told["impact"], "major");
    assert_eq!(told["begin_anew"], json!(["base", "database"]));
    assert_eq!(told["dropped"], json!(["database"]));
    assert_eq!(told["left_installed"], json!(["vim"]));
    shop.session(0, &["revise", &id, "--profile", "systems", "--yes"]);
    let document = shop.document(&id);
    assert_eq!(document["profile"]["selected"], "systems");
    assert_eq!(document["choices"]["stack_type"]["value"], "systems");
    assert_eq!(document["choices"].get("editor"), None);
    assert_eq!(
        shop.tasks(&id),
        pairs(&[("base", "completed"), ("helix", "completed"), ("vim", "completed")])
    );
    let told = revision(&shop, &id);
    assert_eq!(
        (&told["impact"], &told["phase_revisited"]),
        (&json!("major"), &json!("stack_selection"))
    );
    assert_eq!(
        told["downstream_archived"],
        json!(["plan.v1.json", "task-base.v1.json", "task-database.v1.json"])
    );
    // It restarted, and was found: it is still this session that has made it.
    let base = &document["tasks"]["base"];
    assert_eq!(shop.tries("base"), 1);
    assert_eq!(base["result"].get("already_installed"), None, "{base:#}");
    assert_eq!(base["result"]["installed_before_revision"], true);
    assert_eq!(document["phase"]["current"], "completion");
    let phases: Vec<_> = document["phase"]["history"].as_array().unwrap().iter().collect();
    assert_eq!(phases.len(), 6);
}

#[test]
fn other_words_are_minor_and_only_marked_for_review() {
    let shop = Workshop::new();
    let id = half_way(&shop);
    let digest = shop.document(&id)["plan"]["digest"].clone();
    let text = shop.said(0, &["revise", &id]);
    assert!(text.contains("would be otherwise: it is left as it is"), "{text}");
    shop.edit("description: The vim", "description: The one and only vim");
    let told = preview(&shop, &id, &[]);
    assert_eq!((&told["impact"], &told["needs_review"]), (&json!("minor"), &json!(["vim"])));
    assert_eq!(told["needs_approval"], false);
    let text = shop.said(0, &["revise", &id, "--yes"]);
    assert!(text.contains("marked for review: vim"), "{text}");
    let document = shop.document(&id);
    assert_eq!(document["meta"]["status"], "failed", "nothing was run");
    assert_eq!(document["plan"]["digest"], digest);
    assert!(document["plan"]["approved_at"].is_string(), "what would run is approved");
    assert_eq!(document["tasks"]["vim"]["needs_review"], true);
    let told = revision(&shop, &id);
    assert_eq!(told["impact"], "minor");
    assert_eq!(told["downstream_archived"], json!([]));
    assert_eq!(shop.artifacts(&id), ["plan.json"]);
    // What was marked once is known, and not marked again.
    let text = shop.said(0, &["revise", &id]);
    assert!(text.contains("would be otherwise: it is left as it is"), "{text}");
    shop.session(0, &["resume", &id]);
}

#[test]
fn whoever_names_another_digest_has_approved_nothing() {
    let shop = Workshop::new();
    let id = half_way(&shop);
    shop.edit("description: The vim", "description: The one and only vim");
    for words in [&["--answer", "mood=B"][..], &[]] {
        let text = shop.said(4, &[&["revise", &id, "--approve", "000000"], words].concat());
        assert!(text.contains("the digest of the plan is"), "{text}");
    }
    assert_eq!(shop.document(&id)["revision_history"], Value::Null);
    assert_eq!(shop.tries("database"), 1);
}

#[test]
fn other_words_are_shown() {
    let shop = Workshop::new();
    let id = half_way(&shop);
    shop.edit("description: The vim", "description: The one and only vim");
    let text = shop.said(4, &["revise", &id]);
    assert!(text.contains("vim: `The one and only vim` was `The vim`"), "{text}");
    assert!(text.contains("marks the tasks for review"), "{text}");
}

/// The lines of a journal that were written together with the revision, and their place.
fn batch_of_revision(lines: &[String]) -> (usize, usize) {
    let at = lines.iter().position(|line| line.contains("session_revised")).unwrap();
    let event: Value = serde_json::from_str(&lines[at]).unwrap();
    let batch = |which: usize| usize::try_from(event["batch"][which].as_u64().unwrap()).unwrap();
    (batch(0), batch(1))
}

#[test]
fn half_a_revision_that_a_power_cut_left_is_none() {
    let shop = Workshop::new();
    let id = half_way(&shop);
    let document = fs::read(shop.home.document_path("failed", &id)).unwrap();
    shop.session(0, &["revise", &id, "--answer", "editor=helix", "--yes"]);
    let journal = fs::read_to_string(shop.home.journal(&id)).unwrap();
    let lines: Vec<String> = journal.split_inclusive('\n').map(str::to_owned).collect();
    let (first, last) = batch_of_revision(&lines);
    assert!(last - first >= 4, "{first} to {last}");
    // Nothing of what came behind it has begun.
    for attempt in fs::read_dir(shop.home.record(&id).join("attempts")).unwrap() {
        let path = attempt.unwrap().path();
        let seq: usize = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
        if seq > last {
            fs::remove_dir_all(path).unwrap();
        }
    }
    let completed = fs::read(shop.home.document_path("completed", &id)).unwrap();
    for kept in first..last {
        let _ = fs::remove_file(shop.home.document_path("completed", &id));
        fs::write(shop.home.document_path("failed", &id), &document).unwrap();
        fs::write(shop.home.journal(&id), lines[..kept].concat()).unwrap();
        let now = shop.document(&id);
        let told = shop.home.json(&["status", &id]);
        assert_eq!(told["status"], "failed", "{kept} lines");
        assert_eq!(
            (&told["revisions"], &now["choices"]["editor"]["value"]),
            (&json!(0), &json!("vim"))
        );
        let text = shop.said(0, &["history", &id]);
        assert!(!text.contains("session_revised"), "{kept}: {text}");
    }
    // It goes on as if nothing had been said, with the plan that was approved.
    shop.take("made", "helix");
    fs::remove_file(shop.home.path().join("made/database")).unwrap();
    shop.session(0, &["resume", &id]);
    assert!(!shop.is_made("helix") && shop.is_made("database"));
    assert_ne!(fs::read(shop.home.document_path("completed", &id)).unwrap(), completed);
    assert!(shop.said(0, &["history", &id, "--verify"]).contains("verified"));
}

#[test]
fn why_it_was_revised_is_on_record_also_from_a_terminal() {
    let shop = Workshop::new();
    let id = half_way(&shop);
    let line = format!("revise {id} --answer editor=emacs --reason 'the team wants it'");
    let mut screen = shop.on_screen(&line);
    screen.sees("new: emacs").ready().types("a");
    screen.sees("database failed. What now?").ready().types("a");
    screen.ends(0);
    assert_eq!(revision(&shop, &id)["reason"], "the team wants it");
}

#[test]
fn what_was_passed_by_stays_so_and_is_said() {
    let shop = Workshop::new();
    shop.put("broken", "vim");
    let id = shop.session(3, &["start", "web", "--yes", "--jobs", "1"]);
    shop.put("broken", "database");
    shop.session(3, &["resume", &id, "--skip"]);
    shop.take("broken", "database");
    let told = preview(&shop, &id, &["--answer", "greeting=yes", "--data", "card_name=Ada"]);
    assert_eq!(told["stay_skipped"], json!(["vim"]));
}

#[test]
fn an_answer_that_changes_nothing_that_runs_needs_no_other_approval() {
    let shop = Workshop::new();
    let id = half_way(&shop);
    let told = preview(&shop, &id, &["--answer", "mood=B"]);
    assert_eq!((&told["impact"], &told["needs_approval"]), (&json!("minor"), &json!(false)));
    shop.session(0, &["revise", &id, "--answer", "mood=B", "--yes"]);
    let document = shop.document(&id);
    assert_eq!(document["choices"]["mood"]["value"], "very-well");
    assert_eq!(document["plan"]["approved_by"], "unattended");
    assert_eq!(shop.tries("vim"), 1);
}

#[test]
fn a_catalog_that_has_changed_is_named_on_resume_and_taken_over_by_a_revision() {
    let shop = Workshop::new();
    let id = half_way(&shop);
    shop.put("broken", "database");
    shop.edit("Makes the database", "Makes a database");
    shop.edit("echo made > ~/made/database", "echo made > ~/made/database; touch ~/made/index");
    let text = shop.said(3, &["resume", &id]);
    assert!(text.contains("the session finishes the plan that was approved"), "{text}");
    assert!(text.contains(&format!("`provision revise {id}` takes it over")), "{text}");
    let told = preview(&shop, &id, &[]);
    assert_eq!((&told["impact"], &told["begin_anew"]), (&json!("moderate"), &json!(["database"])));
    shop.take("broken", "database");
    shop.session(0, &["revise", &id, "--yes"]);
    assert!(shop.is_made("index"));
    assert_eq!(revision(&shop, &id)["reason"], "the catalog has changed");
}

#[test]
fn a_revision_can_wait_for_its_approval_and_tools_come_and_go() {
    let shop = Workshop::new();
    shop.put("broken", "vim");
    let id = shop.session(3, &["start", "web", "--yes", "--jobs", "1"]);
    let told = preview(&shop, &id, &["--add", "shade", "--without", "vim"]);
    assert_eq!(told["added"], json!(["lamp", "shade"]));
    assert_eq!((&told["dropped"], &told["begin_anew"]), (&json!(["vim"]), &json!(["vim"])));
    shop.session(0, &["revise", &id, "--add", "shade", "--without", "vim", "--yes"]);
    assert_eq!(
        shop.tasks(&id).iter().map(|(task, _)| task.as_str()).collect::<Vec<_>>(),
        ["base", "database", "lamp", "shade"]
    );
    assert!(shop.artifacts(&id).contains(&"task-vim.v1.json".to_owned()));
    let text = shop.said(2, &["revise", &id, "--answer", "editor=helix"]);
    assert!(text.contains("it is complete; `provision expand` adds"), "{text}");
}

#[test]
fn what_cannot_be_revised_says_why_and_every_mistake_is_named() {
    let shop = Workshop::new();
    let text = shop.said(2, &["revise"]);
    assert!(text.contains("there is no session to resume"), "{text}");
    let id = half_way(&shop);
    for (words, wanted) in [
        (&["--answer", "editer=helix"][..], "did you mean `editor`?"),
        (&["--answer", "editor=ed"], "`ed` is no answer to `editor`"),
        (&["--profile", "wep"], "did you mean `web`?"),
        (&["--add", "emax"], "emax"),
        (&["--data", "nothing=1"], "`nothing` is not a value that is asked for"),
    ] {
        let text = shop.said(2, &[&["revise", &id], words].concat());
        assert!(text.contains(wanted), "{words:?}: {text}");
    }
    let plan = json!([{"id": "a", "commands": [{"command": "exit 1"}]}]);
    let plan = shop.home.plan(&plan);
    let given = shop.session(3, &["apply", plan.to_str().unwrap(), "--yes"]);
    let text = shop.said(2, &["revise", &given, "--answer", "editor=helix"]);
    assert!(text.contains("not made from answers and a catalog"), "{text}");
    assert_eq!(shop.document(&id)["revision_history"], Value::Null);
}
