//! What is on a machine, told: by category and for programs, next to what its sessions say, and with
//! what was put off asked again.

use std::fs;

use serde_json::{Value, json};

use crate::{
    harness::screen::CTRL_C,
    toolbox::{Toolbox, ids, read, tool},
    workshop::Workshop,
};

#[test]
fn without_a_session_there_is_nothing_to_compare_with() {
    let toolbox = Toolbox::new();
    toolbox.forge("chisel", "3.2");
    let audit = toolbox.audit(0, &["--category", "toolbox"]);
    assert_eq!(tool(&audit, "chisel")["installed"], true);
    assert_eq!(tool(&audit, "chisel")["version"], "3.2");
    let place = toolbox.file("bin/tb-chisel");
    assert_eq!(tool(&audit, "chisel")["path"], place.to_str().unwrap());
    assert_eq!(tool(&audit, "anvil")["installed"], false);
    assert_eq!(tool(&audit, "anvil")["version"], Value::Null);
    assert_eq!(audit["summary"]["installed"], 1);
    assert_eq!(audit["summary"]["tools"], 5);
    assert_eq!(audit["summary"]["sessions"], 0);
    for list in ["still_installed", "version_changed", "removed", "added_outside"] {
        assert_eq!(ids(&audit, list), Vec::<&str>::new());
    }
    assert!(audit["machine"]["hostname"].is_string());
    // An audit leaves nothing behind.
    assert!(!toolbox.file("sessions").exists() && !toolbox.file("records").exists());
}

#[test]
fn the_table_says_how_much_of_each_category_is_there() {
    let toolbox = Toolbox::new();
    toolbox.session("bellows");
    let text = toolbox.run(&["audit", "--category", "toolbox"]).stdout;
    let place = toolbox.home.path().to_str().unwrap();
    let text = text.replace(place, "~");
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "2 of 5 tools and settings are here",
            "",
            "toolbox            ########------------ 2 of 5",
            "  anvil    1.0.0  ~/bin/tb-anvil",
            "  bellows  1.0.0  ~/bin/tb-bellows",
            "  not here: chisel, drill, easel",
            "",
            "As 1 session left it: 2 tools still here",
        ]
    );
}

#[test]
fn every_change_by_hand_is_in_its_list_with_the_session_that_knows_better() {
    let toolbox = Toolbox::new();
    let first = toolbox.session("anvil,chisel");
    toolbox.forge("anvil", "1.0.0");
    assert_eq!(ids(&toolbox.audit(0, &[]), "still_installed"), ["anvil", "chisel"]);
    let second = toolbox.session("easel");
    toolbox.forge("anvil", "2.5.1");
    toolbox.lose("easel");
    toolbox.forge("drill", "7.0");
    let audit = toolbox.audit(7, &[]);
    let changed = &audit["drift"]["version_changed"][0];
    assert_eq!((&changed["task_id"], &changed["from"]), (&json!("anvil"), &json!("1.0.0")));
    assert_eq!(changed["to"], "2.5.1");
    assert_eq!(changed["session_id"], first.as_str());
    assert_eq!(changed["brought_by"], first.as_str());
    assert_eq!(ids(&audit, "removed"), ["easel"]);
    assert_eq!(audit["drift"]["removed"][0]["session_id"], second.as_str());
    assert_eq!(ids(&audit, "added_outside"), ["drill"]);
    assert_eq!(audit["drift"]["added_outside"][0]["session_id"], second.as_str());
    // The second session found it there, and so it is the one who knows.
    let kept = &audit["drift"]["still_installed"][0];
    assert_eq!((&kept["task_id"], &kept["session_id"]), (&json!("chisel"), &json!(second)));
    assert_eq!(kept["brought_by"], first.as_str());
    assert_eq!(audit["summary"]["drift"], 3);

    let text = toolbox.said(7, &["audit"]);
    for line in [
        "Changed since 2 sessions".to_owned(),
        format!("  changed  anvil  1.0.0 -> 2.5.1  installed by {first}"),
        format!("  removed  easel  1.0.0           installed by {second}"),
        "  outside  drill  7.0             not there".to_owned(),
        "hint: `provision audit --explain easel` tells how it came here".to_owned(),
        "hint: `provision audit --adopt` takes the machine as it is now".to_owned(),
    ] {
        assert!(text.contains(&line), "{line}\n{text}");
    }
}

#[test]
fn what_was_there_before_the_first_session_was_not_added_outside() {
    let toolbox = Toolbox::new();
    toolbox.forge("drill", "7.0");
    toolbox.session("anvil");
    let audit = toolbox.audit(0, &[]);
    assert_eq!(ids(&audit, "added_outside"), Vec::<&str>::new());
    assert_eq!(tool(&audit, "drill")["installed"], true);
}

#[test]
fn quick_asks_for_no_version_and_sees_none_change() {
    let toolbox = Toolbox::new();
    toolbox.session("anvil,chisel");
    toolbox.forge("anvil", "2.0");
    toolbox.lose("chisel");
    let audit = toolbox.audit(7, &["--quick"]);
    assert_eq!(ids(&audit, "removed"), ["chisel"]);
    assert_eq!(ids(&audit, "version_changed"), Vec::<&str>::new());
    assert_eq!(tool(&audit, "anvil")["version"], Value::Null);
    assert_eq!(tool(&audit, "anvil")["installed"], true);
    assert_eq!(audit["drift"]["still_installed"][0]["version"], Value::Null, "nobody has asked");
}

#[test]
fn one_category_or_one_session_can_be_looked_at() {
    let toolbox = Toolbox::new();
    let first = toolbox.session("anvil");
    toolbox.session("chisel");
    toolbox.lose("chisel");
    let audit = toolbox.audit(0, &["--session", &first]);
    assert_eq!(audit["tools"].as_array().unwrap().len(), 1);
    assert_eq!(ids(&audit, "still_installed"), ["anvil"]);
    assert_eq!(ids(&toolbox.audit(7, &["--session", "latest"]), "removed"), ["chisel"]);
    // What has changed elsewhere is not what was asked.
    let audit = toolbox.audit(0, &["--category", "Version-Control"]);
    assert_eq!(tool(&audit, "git")["category"], "version-control");
    let text = toolbox.said(2, &["audit", "--category", "toolbx"]);
    assert!(text.contains("there is no category `toolbx`"), "{text}");
    assert!(text.contains("toolbox") && text.contains("version-control"), "{text}");
    let text = toolbox.said(2, &["audit", "--session", "prov-2020"]);
    assert!(text.contains("prov-2020"), "{text}");
}

#[test]
fn a_machine_that_was_adopted_is_as_it_ought_to_be() {
    let toolbox = Toolbox::new();
    let text = toolbox.said(2, &["audit", "--adopt", "--yes"]);
    assert!(text.contains("error:") && text.contains("provision start"), "{text}");
    let id = toolbox.session("anvil,chisel");
    toolbox.forge("anvil", "2.0");
    toolbox.lose("chisel");
    toolbox.forge("drill", "7.0");
    let journal = read(&toolbox.home.journal(&id));
    let text = toolbox.said(4, &["audit", "--adopt"]);
    assert!(text.contains("nothing was adopted"), "{text}");
    assert_eq!(read(&toolbox.home.journal(&id)), journal, "nobody has agreed");
    let audit = toolbox.audit(0, &["--adopt", "--yes"]);
    assert_eq!(audit["adopted"], id.as_str());
    let audit = toolbox.audit(0, &[]);
    assert_eq!(audit["baseline"]["origin"], "adopted");
    assert_eq!(tool(&audit, "drill")["expected"]["how"], "adopted");
    assert_eq!(tool(&audit, "anvil")["expected"]["brought_by"], id.as_str());
    let text = toolbox.said(0, &["audit", "--adopt"]);
    assert!(text.contains("there is nothing to adopt"), "{text}");
    toolbox.said(0, &["history", &id, "--verify"]);

    // From now on that is what is compared with.
    toolbox.forge("anvil", "1.0.0");
    toolbox.lose("drill");
    toolbox.forge("chisel", "1.0.0");
    let audit = toolbox.audit(7, &[]);
    assert_eq!(ids(&audit, "version_changed"), ["anvil"]);
    assert_eq!(ids(&audit, "removed"), ["drill"]);
    assert_eq!(ids(&audit, "added_outside"), ["chisel"]);
    // What a session sets up afterwards counts again.
    toolbox.lose("chisel");
    toolbox.session("chisel");
    toolbox.lose("chisel");
    assert!(ids(&toolbox.audit(7, &[]), "removed").contains(&"chisel"));
}

#[test]
fn a_person_is_asked_before_a_machine_is_adopted() {
    for (keys, code, is_adopted) in [("n", 4, false), ("y", 0, true)] {
        let toolbox = Toolbox::new();
        let id = toolbox.session("anvil");
        toolbox.lose("anvil");
        toolbox.said(2, &["audit", "--adopt", "--category", "toolbox"]);
        let mut screen = toolbox.on_screen("audit --adopt");
        screen.sees("Take the machine as it is now?").types(keys);
        screen.ends(code);
        let adopted = &toolbox.home.document("completed", &id)["adopted"];
        assert_eq!(adopted.is_object(), is_adopted, "{keys}");
        if is_adopted {
            assert_eq!(adopted["agent"], "user");
        }
    }
}

#[test]
fn a_tool_is_explained_from_the_session_that_brought_it_to_now() {
    let toolbox = Toolbox::new();
    let id = toolbox.session("bellows");
    toolbox.forge("anvil", "2.0.0");
    let told = toolbox.run(&["--json", "audit", "--explain", "anvil"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told["verdict"], "version_changed");
    assert_eq!(
        (&told["detail"]["from"], &told["detail"]["to"]),
        (&json!("1.0.0"), &json!("2.0.0"))
    );
    assert_eq!(told["path"], toolbox.file("bin/tb-anvil").to_str().unwrap());
    let [session] = &told["sessions"].as_array().unwrap()[..] else { panic!("{told:#}") };
    assert_eq!(session["session_id"], id.as_str());
    assert_eq!((&session["status"], &session["version"]), (&json!("completed"), &json!("1.0.0")));
    let [command] = &session["commands"].as_array().unwrap()[..] else { panic!("{told:#}") };
    assert_eq!(command["exit_code"], 0);
    assert!(command["command"].as_str().unwrap().contains("tb-anvil 1.0.0"));
    assert!(command["executed_at"].is_string() && command["duration_ms"].is_u64());
    let needed = json!([{"task_id": "bellows", "required": true, "installed": true}]);
    assert_eq!(told["needed_by"], needed);

    let text = toolbox.said(0, &["audit", "--explain", "anvil"]);
    for piece in [
        format!("2.0.0 at {}", toolbox.file("bin/tb-anvil").display()),
        format!("1.0.0, installed by {id}"),
        "it has changed since: 1.0.0 -> 2.0.0".into(),
        format!("{id} installed 1.0.0 on "),
        "exit code 0".into(),
        "needed by  bellows".into(),
    ] {
        assert!(text.contains(&piece), "{piece}\n{text}");
    }
    toolbox.forge("drill", "7.0");
    let text = toolbox.said(0, &["audit", "--explain", "drill"]);
    assert!(text.contains("it came without a session"), "{text}");
    toolbox.lose("bellows");
    let text = toolbox.said(0, &["audit", "--explain", "bellows"]);
    assert!(text.contains("it was removed since, and no session did that"), "{text}");
    let text = toolbox.said(0, &["audit", "--explain", "easel"]);
    assert!(text.contains("it is not here, and no session says that it ought to be"), "{text}");
    let text = toolbox.said(2, &["audit", "--explain", "anvill"]);
    assert!(text.contains("knows `anvill`") && text.contains("did you mean `anvil`?"), "{text}");
}

#[test]
fn what_failed_and_what_was_skipped_is_explained_too() {
    let shop = Workshop::new();
    shop.put("broken", "base");
    let id = shop.session(3, &["start", "web", "--yes"]);
    let text = shop.said(0, &["audit", "--explain", "base"]);
    assert!(text.contains(&format!("{id} failed to install it")), "{text}");
    assert!(text.contains("exit code 3"), "{text}");
    shop.session(0, &["resume", &id, "--skip"]);
    let text = shop.said(0, &["audit", "--explain", "vim"]);
    assert!(text.contains(&format!("{id} skipped it")), "{text}");
}

#[test]
fn a_page_is_written_where_it_is_wanted() {
    let toolbox = Toolbox::new();
    let id = toolbox.session("anvil,chisel");
    toolbox.forge("anvil", "2.0");
    toolbox.lose("chisel");
    let file = toolbox.file("audit.html");
    let output = toolbox.run(&["audit", "--html", file.to_str().unwrap()]);
    assert_eq!(output.code, Some(7), "{}", output.stderr);
    assert_eq!(output.stdout, "", "the page is elsewhere");
    let page = read(&file);
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<html lang=\"en\">"));
    assert!(page.contains("1.0.0</bdi> → <bdi>2.0</bdi>"), "{page}");
    assert!(page.contains(&id));
    // Both, if both are wanted.
    fs::remove_file(&file).unwrap();
    toolbox.audit(7, &["--html", file.to_str().unwrap()]);
    assert_eq!(page.len(), read(&file).len());
    let output = toolbox.run(&["audit", "--html", "-"]);
    assert!(output.stdout.starts_with("<!DOCTYPE html>"), "{}", output.stdout);
    let text = toolbox.said(2, &["--json", "audit", "--html", "-"]);
    assert!(text.contains("cannot both go to standard output"), "{text}");
    let text = toolbox.said(2, &["audit", "--html", "/nowhere/at/all.html"]);
    assert!(text.contains("the audit cannot be written to `/nowhere/at/all.html`"), "{text}");
}

#[test]
fn a_record_that_cannot_be_read_is_named_and_the_rest_is_compared() {
    let mut toolbox = Toolbox::new();
    toolbox.session("anvil");
    let second = toolbox.session("chisel");
    fs::write(toolbox.home.document_path("completed", &second), "{").unwrap();
    fs::write(toolbox.home.record(&second).join("state.bak.json"), "{").unwrap();
    fs::write(toolbox.home.journal(&second), "{\n").unwrap();
    toolbox.home = toolbox.home.damaged();
    toolbox.lose("anvil");
    let output = toolbox.run(&["--json", "audit"]);
    assert_eq!(output.code, Some(7), "{}", output.stderr);
    let audit: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(ids(&audit, "removed"), ["anvil"]);
    let note = audit["notes"][0].as_str().unwrap();
    assert!(note.contains(&second) && note.contains("cannot be read"), "{note}");
    assert!(output.stderr.contains(&second), "{}", output.stderr);
}

#[test]
fn what_another_machine_has_is_not_expected_here() {
    let mut toolbox = Toolbox::new();
    let id = toolbox.session("anvil");
    let mine = toolbox.home.document("completed", &id);
    // The same home, on another machine: as one that is carried about on a network.
    let machine = mine["meta"]["machine"]["machine_id"].as_str().unwrap();
    for path in [toolbox.home.document_path("completed", &id), toolbox.home.journal(&id)] {
        let text = read(&path).replace(machine, &"0".repeat(machine.len()));
        fs::write(&path, text).unwrap();
    }
    toolbox.home = toolbox.home.damaged();
    toolbox.lose("anvil");
    let audit = toolbox.audit(0, &[]);
    assert_eq!(ids(&audit, "removed"), Vec::<&str>::new());
}

#[test]
fn what_was_only_found_is_looked_for_as_before_once_the_machine_is_adopted() {
    let toolbox = Toolbox::new();
    let detection = json!({"check_command": "command -v tb-hand", "version_command": "tb-hand -V"});
    let tasks = json!([{"id": "hand", "path": ["~/bin"], "detection": detection, "commands": []}]);
    toolbox.forge("hand", "1.5");
    assert_eq!(toolbox.home.apply(&tasks, &[]).code, Some(0));
    // No catalog knows it; the session after it keeps what is adopted.
    toolbox.session("anvil");
    toolbox.lose("anvil");
    toolbox.audit(0, &["--adopt", "--yes"]);
    let audit = toolbox.audit(0, &[]);
    assert_eq!(tool(&audit, "hand")["version"], "1.5");
    toolbox.lose("hand");
    assert_eq!(ids(&toolbox.audit(7, &[]), "removed"), ["hand"]);
}

#[test]
fn what_a_session_left_half_done_did_not_come_from_outside() {
    let shop = Workshop::new();
    let first = shop.session(0, &["start", "systems", "--yes"]);
    shop.put("odd", "vim");
    let second = shop.session(3, &["expand", &first, "vim", "--yes"]);
    assert!(shop.is_made("vim"));
    shop.said(0, &["audit", "--category", "things"]);
    let text = shop.said(0, &["audit", "--explain", "vim"]);
    assert!(text.contains("a session that did not complete it may have brought it"), "{text}");
    assert!(text.contains(&format!("{second} failed to install it")), "{text}");
}

#[test]
fn a_session_is_looked_at_by_what_all_of_them_say() {
    let toolbox = Toolbox::new();
    let first = toolbox.session("anvil,chisel");
    toolbox.forge("anvil", "2.0");
    toolbox.lose("chisel");
    toolbox.audit(0, &["--adopt", "--yes"]);
    // What was adopted counts for the session, too, and makes it no larger.
    let audit = toolbox.audit(0, &["--session", &first]);
    let tools = audit["tools"].as_array().unwrap();
    let tools: Vec<_> = tools.iter().map(|tool| tool["task_id"].as_str().unwrap()).collect();
    assert_eq!(tools, ["anvil", "chisel"]);
    assert_eq!(tool(&audit, "chisel")["installed"], false);
    let text = toolbox.said(2, &["audit", "--session", &first, "--category", "languages"]);
    assert!(text.contains("the session has nothing of a category `languages`"), "{text}");
}

#[test]
fn what_is_set_up_while_somebody_thinks_is_not_adopted_away() {
    let toolbox = Toolbox::new();
    toolbox.session("anvil");
    toolbox.lose("anvil");
    let mut screen = toolbox.on_screen("audit --adopt");
    screen.sees("Take the machine as it is now?");
    toolbox.session("drill");
    screen.types("y");
    let text = screen.ends(4);
    assert!(
        text.contains("a session has set something up since the machine was looked at"),
        "{text}"
    );
    assert_eq!(toolbox.home.latest_document().get("adopted"), None);
    assert_eq!(ids(&toolbox.audit(7, &[]), "added_outside"), Vec::<&str>::new());
}

#[test]
fn nobody_is_asked_to_adopt_what_they_have_not_seen() {
    let toolbox = Toolbox::new();
    toolbox.session("anvil");
    toolbox.lose("anvil");
    let page = toolbox.file("audit.html");
    let mut screen = toolbox.on_screen(&format!("audit --adopt --html {}", page.display()));
    screen.sees("Take the machine as it is now?");
    let text = screen.text();
    assert!(text.contains("removed  anvil"), "{text}");
    screen.types("n");
    screen.ends(4);
}

#[test]
fn what_keeps_what_is_compared_with_is_not_pruned() {
    let toolbox = Toolbox::new();
    let tasks = json!([{"id": "no", "commands": [{"command": "false"}]}]);
    assert_eq!(toolbox.home.apply(&tasks, &[]).code, Some(3));
    let id = toolbox.home.latest();
    toolbox.audit(0, &["--adopt", "--yes"]);
    toolbox.forge("drill", "7.0");
    let text = toolbox.said(0, &["prune", "--older-than", "0s", "--yes"]);
    assert!(text.contains("it keeps what was on the machine when that was adopted"), "{text}");
    let audit = toolbox.audit(7, &[]);
    assert_eq!(audit["baseline"]["session_id"], id.as_str());
    assert_eq!(ids(&audit, "added_outside"), ["drill"]);
}

#[test]
fn a_program_that_only_a_shell_can_run_is_asked_all_the_same() {
    let toolbox = Toolbox::new();
    toolbox.forge("chisel", "3.2");
    // It does not say which shell it is for.
    let path = toolbox.file("bin/tb-chisel");
    let text = read(&path).replace("#!/bin/bash\n", "");
    assert!(text.starts_with("echo"), "{text}");
    fs::write(&path, text).unwrap();
    let audit = toolbox.audit(0, &["--category", "toolbox"]);
    assert_eq!(tool(&audit, "chisel")["version"], "3.2");
}

/// What an audit says of the checks that were put off.
fn verifications(shop: &Workshop) -> Vec<Value> {
    let output = shop.run(&["--json", "audit", "--category", "things"]);
    let audit: Value = serde_json::from_str(&output.stdout).unwrap();
    audit["verifications"].as_array().unwrap().clone()
}

#[test]
fn checks_that_were_put_off_are_asked_again_and_what_they_say_is_recorded() {
    let shop = Workshop::new();
    shop.put("down", "vim");
    shop.put("mute", "database");
    let id = shop.session(0, &["start", "web", "--yes"]);
    let outcomes = |of: &[Value]| -> Vec<String> {
        of.iter().map(|one| format!("{} {}", one["task_id"], one["outcome"])).collect()
    };
    let known = verifications(&shop);
    assert_eq!(outcomes(&known), ["\"vim\" \"open\"", "\"database\" \"open\""]);
    shop.take("down", "vim");
    shop.take("mute", "database");
    shop.put("odd", "database");
    // Without a look nothing is known.
    let quick = shop.run(&["--json", "audit", "--quick", "--category", "things"]);
    let quick: Value = serde_json::from_str(&quick.stdout).unwrap();
    assert_eq!(quick["verifications"], json!([]));
    let known = verifications(&shop);
    assert_eq!(outcomes(&known), ["\"vim\" \"works\"", "\"database\" \"fails\""]);
    let document = shop.document(&id);
    let deferred = document["deferred_verifications"].as_array().unwrap();
    assert_eq!((&deferred[0]["task_id"], &deferred[0]["resolved"]), (&json!("vim"), &json!(true)));
    assert_eq!(deferred[1]["resolved"], false);
    assert!(deferred[1]["error"].as_str().unwrap().contains("exit code 1"), "{document:#}");
    let text = shop.said(0, &["audit", "--category", "things"]);
    assert!(text.contains(&format!("`provision override {id} database --reason TEXT`")), "{text}");
    shop.said(0, &["history", &id, "--verify"]);
    shop.take("odd", "database");
    assert_eq!(outcomes(&verifications(&shop)), ["\"database\" \"works\""]);
    assert_eq!(verifications(&shop), Vec::<Value>::new());
}

#[test]
fn whoever_comes_back_is_told_of_changes_in_a_line() {
    let toolbox = Toolbox::new();
    toolbox.session("anvil,chisel");
    let mut screen = toolbox.on_screen("");
    screen.ready();
    let text = screen.text();
    assert!(!text.contains("has changed"), "{text}");
    screen.types(CTRL_C);
    screen.ends(4);
    toolbox.forge("anvil", "3.0");
    toolbox.lose("chisel");
    // It is told as far as a moment is enough to know, which on a busy machine it may not be.
    let line = "The machine has changed since: 1 has another version, 1 is gone. `provision\naudit` tells.";
    let is_told = || {
        let mut screen = toolbox.on_screen("");
        let is_told = screen.ready().text().contains(line);
        screen.types(CTRL_C);
        screen.ends(4);
        is_told
    };
    assert!((0..20).any(|_| is_told()), "it was never told of the changes");
}
