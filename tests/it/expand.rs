//! Adding to what is set up: sessions that know where they came from, and do only what is new.

use std::fs;

use serde_json::{Value, json};

use crate::{
    harness::{ID, tree},
    workshop::{Workshop, pairs},
};

fn started(shop: &Workshop) -> String {
    shop.session(0, &["start", "web", "--yes", "--answer", "mood=very-well"])
}

#[test]
fn an_expansion_knows_its_session_copies_its_choices_and_does_only_what_is_new() {
    let shop = Workshop::new();
    let first = shop.session(
        0,
        &["start", "web", "--yes", "--answer", "greeting=yes", "--data", "card_name=Ada"],
    );
    let before = tree(shop.home.path().join("records").join(&first).as_path());
    let document_before = fs::read(shop.home.document_path("completed", &first)).unwrap();
    let second = shop.session(0, &["expand", &first, "emacs", "shade", "--yes"]);
    assert_ne!(first, second);
    let document = shop.document(&second);
    assert_eq!(
        shop.tasks(&second),
        pairs(&[
            ("base", "completed"),
            ("emacs", "completed"),
            ("lamp", "completed"),
            ("shade", "completed"),
        ]),
        "only what is new, and what that needs"
    );
    assert_eq!(document["tasks"]["base"]["result"]["already_installed"], true);
    assert_eq!((shop.tries("base"), shop.tries("vim"), shop.tries("emacs")), (1, 1, 1));
    let history = document["expansion_history"].as_array().unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!(history[0]["session_id"], first);
    assert_eq!(history[0]["tasks_added"], json!(["emacs", "shade"]));
    assert_eq!(history[0]["expanded_at"], document["meta"]["created_at"]);
    let earlier = shop.document(&first);
    for choice in ["editor", "storage", "greeting", "mood"] {
        for field in ["question", "answer", "value"] {
            assert_eq!(document["choices"][choice][field], earlier["choices"][choice][field]);
        }
    }
    assert_eq!(document["user_data"], json!({"card_name": "Ada"}));
    assert_eq!(document["choices"]["stack_type"]["value"], "custom");
    // The earlier record is as it was, byte for byte.
    assert_eq!(tree(shop.home.path().join("records").join(&first).as_path()), before);
    let now = fs::read(shop.home.document_path("completed", &first)).unwrap();
    assert_eq!(now, document_before);
}

#[test]
fn three_expansions_keep_their_chain_and_tell_where_each_tool_came_from() {
    let shop = Workshop::new();
    let mut ids = vec![started(&shop)];
    for tool in ["emacs", "shade", "card"] {
        let last = ids.last().unwrap().clone();
        let id = shop.session(0, &["expand", &last, tool, "--yes"]);
        ids.push(id);
    }
    let document = shop.document(&ids[3]);
    let history = document["expansion_history"].as_array().unwrap();
    let steps: Vec<_> = history.iter().map(|step| step["session_id"].as_str().unwrap()).collect();
    assert_eq!(steps, [&ids[0], &ids[1], &ids[2]]);
    let added: Vec<&Value> = history.iter().map(|step| &step["tasks_added"]).collect();
    assert_eq!(added, [&json!(["emacs"]), &json!(["shade"]), &json!(["card"])]);
    for asked in &ids {
        let told = shop.home.json(&["status", asked, "--chain"]);
        let tools = told["tools"].as_object().unwrap();
        for (tool, from) in [
            ("base", 0),
            ("vim", 0),
            ("database", 0),
            ("emacs", 1),
            ("lamp", 2),
            ("shade", 2),
            ("card", 3),
        ] {
            assert_eq!(tools[tool], ids[from], "{tool} in {told:#}");
        }
    }
}

#[test]
fn what_is_there_is_not_added_again_and_what_is_gone_is() {
    let shop = Workshop::new();
    let first = started(&shop);
    let second = shop.session(0, &["expand", &first, "emacs", "--yes"]);
    let text = shop.said(0, &["expand", &second, "vim", "emacs", "--yes"]);
    assert!(text.contains(&format!("vim is there already: session {first}")), "{text}");
    assert!(text.contains(&format!("emacs is there already: session {second}")), "{text}");
    assert_eq!(shop.home.json(&["sessions"])["sessions"].as_array().unwrap().len(), 2);
    shop.take("made", "vim");
    let third = shop.session(0, &["expand", &second, "vim", "emacs", "--yes"]);
    assert_eq!(shop.document(&third)["expansion_history"][1]["tasks_added"], json!(["vim"]));
    assert_eq!((shop.tries("vim"), shop.tries("emacs")), (2, 1));
}

#[test]
fn only_a_complete_session_is_added_to_and_every_mistake_is_named() {
    let shop = Workshop::new();
    let text = shop.said(2, &["expand", "emacs"]);
    assert!(text.contains("there is no complete session to add to"), "{text}");
    shop.put("broken", "vim");
    let failed = shop.session(3, &["start", "web", "--yes"]);
    let text = shop.said(2, &["expand", &failed, "emacs", "--yes"]);
    assert!(text.contains("only one that is complete can be added to"), "{text}");
    assert!(text.contains(&format!("provision resume {failed}")), "{text}");
    let text = shop.said(2, &["resume", &shop.session(0, &["start", "systems", "--yes"])]);
    assert!(text.contains("`provision expand "), "{text}");
    let text = shop.said(2, &["expand", "--yes"]);
    assert!(text.contains("which tools should be added?"), "{text}");
    let text = shop.said(2, &["expand", "latest", "emcs", "--yes"]);
    assert!(text.contains("there is no task `emcs`") && text.contains("emacs"), "{text}");
    assert_eq!(shop.home.json(&["sessions"])["sessions"].as_array().unwrap().len(), 2);
}

#[test]
fn a_session_of_another_machine_is_set_up_here_with_its_choices() {
    let shop = Workshop::new();
    let there = json!({
        "meta": {
            "id": ID, "status": "paused", "version": "1.1.0",
            "created_at": "2026-02-02T14:30:52Z", "updated_at": "2026-02-02T14:30:52Z",
            "machine": {"hostname": "elsewhere", "os_version": "15.2", "arch": "arm64",
                        "chip": "", "machine_id": "not ours"},
        },
        "phase": {"current": "execute", "history": []},
        "profile": {"selected": "web"},
        "choices": {
            "stack_type": {"question": "What?", "answer": "web", "value": "web",
                           "timestamp": "2026-02-02T14:30:52Z"},
            "editor": {"question": "Which editor?", "answer": "C", "value": "helix",
                       "timestamp": "2026-02-02T14:30:52Z"},
        },
        "user_data": {}, "tasks": {}, "plan": {}, "resume_point": null, "expansion_history": [],
    });
    let directory = shop.home.path().join("sessions/active");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(format!("{ID}.json")), there.to_string()).unwrap();
    let text = shop.said(2, &["resume", ID]);
    assert!(text.contains(&format!("`provision expand {ID}` sets up the same here")), "{text}");
    let id = shop.session(0, &["expand", ID, "--yes"]);
    let document = shop.document(&id);
    assert_eq!(document["profile"]["selected"], "web");
    assert_eq!(document["choices"]["editor"]["value"], "helix");
    assert!(shop.is_made("helix") && !shop.is_made("vim"));
    assert_eq!(document["expansion_history"][0]["session_id"], ID);
}

#[test]
fn a_conflict_is_decided_as_the_hint_says() {
    let shop = Workshop::new();
    shop.edit("    name: emacs\n", "    name: emacs\n    conflicts_with: [vim]\n");
    let first = started(&shop);
    let text = shop.said(2, &["expand", &first, "emacs", "--yes"]);
    let (_, hint) = text.split_once("--answer ").unwrap();
    let (decision, _) = hint.split_once('=').unwrap();
    let both = format!("{decision}=both");
    let id = shop.session(0, &["expand", &first, "emacs", "--yes", "--answer", &both]);
    assert_eq!(shop.document(&id)["tasks"]["emacs"]["status"], "completed");
}
