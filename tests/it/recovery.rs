//! Damaged records made usable again: the right level, nothing guessed, and what was damaged kept.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use agentic_provision::{
    catalog::LayerSource,
    disk::Fs,
    engine::{Clock, Layers, ResumeAt, Surroundings, recover_by_hand},
    exec::Environment,
    model::{ApprovedBy, Plan},
    store::{self, Store},
};
use serde_json::{Value, json};

use crate::{
    harness::{Home, pen, tree},
    lost_journals::leave_lines,
};

/// A session of a real run: two tasks done, a third that failed.
struct Original {
    home: Home,
    id: String,
    /// What was acknowledged last.
    state: Value,
    /// The line from which on the plan is being executed.
    executing: usize,
    document: Vec<u8>,
    backup: Vec<u8>,
    journal: Vec<u8>,
}

fn original() -> Original {
    let home = Home::new();
    let plan = home.plan(&json!([
        {"id": "a", "commands": [{"command": "echo one >> ran"}, {"command": "echo two >> ran"}]},
        {"id": "b", "commands": [{"command": "echo three >> ran"}]},
        {"id": "c", "commands": [{"command": "echo four >> ran"}, {"command": "exit 7"}]},
    ]));
    assert_eq!(home.run(&["apply", plan.to_str().unwrap(), "--yes", "--jobs", "1"]).code, Some(3));
    let id = home.latest();
    let read = |path: PathBuf| fs::read(path).unwrap();
    let document = read(home.document_path("failed", &id));
    let approved = home
        .events(&id)
        .iter()
        .position(|event| event["event"] == "phase_completed" && event["phase"] == "present_plan");
    Original {
        executing: approved.unwrap() + 1,
        state: without_seal(&document),
        document,
        backup: read(home.record(&id).join("state.bak.json")),
        journal: read(home.journal(&id)),
        home,
        id,
    }
}

fn without_seal(document: &[u8]) -> Value {
    let mut value: Value = serde_json::from_slice(document).unwrap();
    value.as_object_mut().unwrap().shift_remove("checksum");
    value
}

impl Original {
    fn files(&self) -> [(PathBuf, &[u8]); 3] {
        [
            (self.home.document_path("failed", &self.id), &self.document),
            (self.home.record(&self.id).join("state.bak.json"), &self.backup),
            (self.home.journal(&self.id), &self.journal),
        ]
    }

    /// Puts the three files back, with `damage` done to them, and forgets earlier recoveries.
    fn damage(&self, damage: [Damage; 3], at: usize) {
        for shelf in ["active", "completed", "failed"] {
            let _ = fs::remove_file(self.home.document_path(shelf, &self.id));
        }
        let aside = self.home.record(&self.id).join("set-aside");
        if aside.exists() {
            bring_back_attempts(&aside, &self.home.record(&self.id).join("attempts"));
            fs::remove_dir_all(&aside).unwrap();
        }
        for ((path, bytes), damage) in self.files().into_iter().zip(damage) {
            fs::write(path, damage.done_to(bytes, at)).unwrap();
        }
    }

    fn now(&self) -> Value {
        let documents = ["active", "completed", "failed"];
        let paths = documents.map(|shelf| self.home.document_path(shelf, &self.id));
        let path = paths.iter().find(|path| path.exists()).expect("a document");
        without_seal(&fs::read(path).unwrap())
    }
}

fn bring_back_attempts(aside: &Path, attempts: &Path) {
    for entry in fs::read_dir(aside).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with("attempts") {
            for attempt in fs::read_dir(entry.path()).unwrap().map(Result::unwrap) {
                fs::rename(attempt.path(), attempts.join(attempt.file_name())).unwrap();
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    None,
    /// Cut off at a byte.
    Cut,
    /// One byte changed.
    Changed,
}

impl Damage {
    const ALL: [Self; 3] = [Self::None, Self::Cut, Self::Changed];

    /// What becomes of `bytes`; nothing if they are not that long.
    fn done_to(self, bytes: &[u8], at: usize) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self {
            Self::None => {}
            Self::Cut => bytes.truncate(at),
            Self::Changed => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1;
                }
            }
        }
        bytes
    }
}

/// How a file stands after it was damaged.
fn is_as_it_was(original: &[u8], damage: Damage, at: usize) -> bool {
    damage.done_to(original, at) == original
}

/// Whether a change to a document changed nothing that it says.
fn says_the_same(original: &[u8], damage: Damage, at: usize) -> bool {
    let damaged = damage.done_to(original, at);
    let is_object = serde_json::from_slice::<Value>(&damaged).is_ok_and(|value| value.is_object());
    is_object && without_seal(&damaged) == without_seal(original)
}

fn lines(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

/// The number of lines of a journal before the damage.
fn good_lines(journal: &[u8], damage: Damage, at: usize) -> usize {
    match damage {
        Damage::None => lines(journal),
        Damage::Cut | Damage::Changed => lines(&journal[..at.min(journal.len())]),
    }
}

/// The revision of a document.
fn revision(document: &[u8]) -> usize {
    let value: Value = serde_json::from_slice(document).unwrap();
    usize::try_from(value["meta"]["revision"].as_u64().unwrap()).unwrap()
}

/// The level that a person who sees all three files whole or not would choose.
fn right_level(o: &Original, damage: [Damage; 3], at: usize) -> u8 {
    let [document, backup, journal] = damage;
    let journal_whole = is_as_it_was(&o.journal, journal, at);
    let lines = good_lines(&o.journal, journal, at);
    // A document is good by its seal, or because the journal says the same.
    let good = |bytes: &[u8], damage: Damage| {
        is_as_it_was(bytes, damage, at)
            || says_the_same(bytes, damage, at) && lines >= revision(bytes)
    };
    let (document, backup) = (good(&o.document, document), good(&o.backup, backup));
    match () {
        () if document && journal_whole => 0,
        () if document || (backup && (lines <= revision(&o.backup) || lines > 0)) => 1,
        // Before that the journal knows nothing of the commands that ran.
        () if lines >= o.executing => 2,
        () => 3,
    }
}

/// Every combination of damage to the three files, at every 64th byte.
#[test]
fn whatever_is_cut_or_changed_the_right_level_is_chosen() {
    let o = original();
    let longest = o.files().iter().map(|(_, bytes)| bytes.len()).max().unwrap();
    let mut levels = BTreeMap::<u8, usize>::new();
    for at in (0..=longest).step_by(64) {
        for document in Damage::ALL {
            for backup in Damage::ALL {
                for journal in Damage::ALL {
                    let damage = [document, backup, journal];
                    // What is beyond the end of a file does nothing to it.
                    let idle = |((_, bytes), damage): (&(PathBuf, &[u8]), Damage)| {
                        damage != Damage::None && is_as_it_was(bytes, damage, at)
                    };
                    if o.files().iter().zip(damage).any(idle) {
                        continue;
                    }
                    let level = check(&o, damage, at);
                    *levels.entry(level).or_default() += 1;
                }
            }
        }
    }
    println!("levels chosen: {levels:?}");
    assert!(levels.values().sum::<usize>() > 1000, "{levels:?}");
    assert_eq!(levels.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
}

fn check(o: &Original, damage: [Damage; 3], at: usize) -> u8 {
    let what = format!("{damage:?} at byte {at}");
    o.damage(damage, at);
    let damaged: Vec<_> = o.files().iter().map(|(path, _)| fs::read(path).unwrap()).collect();
    let expected = right_level(o, damage, at);
    let mut arguments = vec!["recover", &o.id, "--yes", "--json"];
    if expected == 3 {
        // Nothing is done without a word about where to go on.
        let before = tree(o.home.path());
        let output = o.home.run(&arguments);
        assert_eq!(output.code, Some(4), "{what}: {}{}", output.stdout, output.stderr);
        assert_eq!(tree(o.home.path()), before, "{what}");
        arguments.extend(["--resume-at", "c:1"]);
    }
    let output = o.home.run(&arguments);
    assert_eq!(output.code, Some(0), "{what}: {}", output.stderr);
    let told: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(told["level"], expected, "{what}: {told}");
    if expected == 0 {
        return 0;
    }
    let lost = told["lost"].as_str().unwrap();
    let now = o.now();
    if is_as_it_was(&o.journal, damage[2], at) {
        assert_eq!(lost, "Nothing is lost.", "{what}");
        assert_eq!(now, o.state, "{what}");
    } else {
        // Either nothing is lost of the state, or it is said.
        let same =
            now["tasks"] == o.state["tasks"] && now["meta"]["status"] == o.state["meta"]["status"];
        let said = lost.contains("may be lost") || lost.contains("cannot be read is lost");
        let kept = lost.starts_with("Nothing of the session's state is lost");
        assert!(said || kept, "{what}: {lost}");
        assert!(
            !kept || relocated(&now["tasks"]) == relocated(&o.state["tasks"]),
            "{what}: {same}"
        );
    }
    // What was damaged is kept.
    let aside: Vec<_> = told["set_aside"].as_array().unwrap().iter().collect();
    for ((path, original), damaged) in o.files().iter().zip(&damaged) {
        let replaced = fs::read(path).ok().as_ref() != Some(damaged);
        if damaged != original && replaced {
            let kept = aside
                .iter()
                .any(|kept| fs::read(kept.as_str().unwrap()).ok().as_ref() == Some(damaged));
            assert!(kept, "{what}: {} is gone", path.display());
        }
    }
    let verified = o.home.run(&["history", &o.id, "--verify"]);
    assert_eq!((verified.code, verified.stderr.as_str()), (Some(0), ""), "{what}");
    // Recovered once, there is nothing left to recover.
    assert_eq!(o.home.json(&["recover", &o.id])["level"], 0, "{what}");
    expected
}

/// Cuts the journal behind every line, with nothing else left: what ran is known from the attempts,
/// and nothing of it runs again.
#[test]
fn what_ran_is_not_run_again_when_the_journal_is_lost() {
    let o = original();
    let ran = o.home.path().join("ran");
    let before = fs::read_to_string(&ran).unwrap();
    assert_eq!(before, "one\ntwo\nthree\nfour\n");
    let ends: Vec<_> = (0..o.journal.len()).filter(|at| o.journal[*at] == b'\n').collect();
    for line in o.executing..ends.len() {
        o.damage([Damage::Cut, Damage::Cut, Damage::None], 9);
        fs::write(o.home.journal(&o.id), &o.journal[..=ends[line - 1]]).unwrap();
        assert_eq!(o.home.json(&["recover", &o.id, "--yes"])["level"], 2, "line {line}");
        // It fails where it failed before, once more.
        let output = o.home.run(&["resume", &o.id]);
        assert_eq!(output.code, Some(3), "line {line}: {}", output.stderr);
        assert_eq!(fs::read_to_string(&ran).unwrap(), before, "line {line}");
        let tasks = &o.home.json(&["sessions"])["sessions"][0]["tasks"];
        assert_eq!(tasks, &json!({"completed": 2, "failed": 1, "skipped": 0, "pending": 0}));
        assert_eq!(o.home.run(&["history", &o.id, "--verify"]).code, Some(0), "line {line}");
        let logs = o.home.run(&["logs", &o.id]);
        assert_eq!(logs.code, Some(0), "line {line}: {}", logs.stderr);
    }
}

#[test]
fn an_edit_is_explained_undone_and_kept() {
    let o = original();
    let path = o.home.document_path("failed", &o.id);
    let edited = String::from_utf8(o.document.clone()).unwrap().replace(
        "\"status\": \"failed\",\n      \"skipped\": false",
        "\"status\": \"completed\",\n      \"skipped\": false",
    );
    assert_ne!(edited.as_bytes(), o.document);
    fs::write(&path, &edited).unwrap();
    for arguments in [&["status", &o.id][..], &["resume", &o.id], &["history", &o.id, "--verify"]] {
        let output = o.home.run(arguments);
        assert_eq!(output.code, Some(6), "{}", output.stderr);
        let expected = "tasks.c.status is \"completed\", and was recorded as \"failed\"";
        assert!(output.stderr.contains(expected), "{}", output.stderr);
    }
    let told = o.home.json(&["recover", &o.id, "--yes"]);
    assert_eq!((&told["level"], &told["lost"]), (&json!(1), &json!("Nothing is lost.")));
    assert_eq!(fs::read_to_string(told["set_aside"][0].as_str().unwrap()).unwrap(), edited);
    assert_eq!(o.now(), o.state);
    // One that only looks different says the same.
    let value: Value = serde_json::from_slice(&o.document).unwrap();
    fs::write(&path, value.to_string()).unwrap();
    assert_eq!(o.home.run(&["status", &o.id]).code, Some(0));
}

#[test]
fn levels_and_places_that_are_not_there() {
    let mut o = original();
    o.home = o.home.damaged();
    o.damage([Damage::Cut, Damage::Cut, Damage::Cut], 20);
    for (arguments, code, expected) in [
        (&["--level", "1", "--yes"][..], 2, "neither the document nor the one before it is whole"),
        (&["--level", "2", "--yes"], 2, "the journal cannot be read from its first line on"),
        (&["--level", "4"], 2, "4 is not in 1..=3"),
        (&["--resume-at", "emacs", "--yes"], 2, "has no task `emacs`"),
        (&["--resume-at", "c:3", "--yes"], 2, "has no command 3 of task `c`: it has 2"),
        (&["--resume-at", "../c", "--yes"], 2, "is not a task id"),
        (&["--resume-at", "c:1"], 4, "was not recovered"),
        (&[], 4, "--level 3 --resume-at TASK[:N] --yes"),
    ] {
        let before = tree(o.home.path());
        let output = o.home.run(&[&["recover", &o.id], arguments].concat());
        assert_eq!(output.code, Some(code), "{arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains(expected), "{arguments:?}: {}", output.stderr);
        assert_eq!(tree(o.home.path()), before, "{arguments:?}");
    }
    let output = o.home.run(&["recover", "prov-20260101-000000-0000"]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
}

/// Tasks without the places of their logs, which move with a recovery.
fn relocated(tasks: &Value) -> Value {
    let mut tasks = tasks.clone();
    for task in tasks.as_object_mut().unwrap().values_mut() {
        for command in task["commands"].as_array_mut().into_iter().flatten() {
            command.as_object_mut().unwrap().shift_remove("log");
        }
    }
    tasks
}

#[test]
fn what_is_whole_is_not_begun_anew_and_another_plan_is_not_taken() {
    let o = original();
    let before = tree(o.home.path());
    let output = o.home.run(&["recover", &o.id, "--resume-at", "a", "--yes"]);
    assert_eq!(output.code, Some(0));
    assert!(output.stdout.contains("nothing is wrong with its record"), "{}", output.stdout);
    let output = o.home.run(&["recover", &o.id, "--level", "1", "--resume-at", "a", "--yes"]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert_eq!(tree(o.home.path()), before);
    // With a document that says what was approved, no other plan is taken for it.
    o.damage([Damage::None, Damage::None, Damage::Cut], 300);
    let other = o.home.path().join("other.json");
    let plan =
        json!({"format": "plan-v1", "tasks": [{"id": "a", "commands": [{"command": "true"}]}]});
    fs::write(&other, plan.to_string()).unwrap();
    let other = other.to_str().unwrap();
    let output = o.home.run(&["recover", &o.id, "--plan", other, "--resume-at", "a", "--yes"]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert!(output.stderr.contains("the one it has approved is"), "{}", output.stderr);
    assert_eq!(o.home.json(&["recover", &o.id, "--yes"])["level"], 1);
}

#[test]
fn an_emptied_journal_is_not_a_session_that_never_was() {
    let mut o = original();
    o.home = o.home.damaged();
    leave_lines(&o.home, &o.id, 0);
    assert_eq!(o.home.run(&["status", &o.id]).code, Some(6));
    assert_eq!(o.home.run(&["sessions"]).code, Some(6));
    let output = o.home.run(&["recover", &o.id, "--json"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    let told: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(told["level"], 3);
    assert_eq!(told["places"][3]["known"], "ended well");
    assert_eq!(told["places"][4]["known"], "exit code 7");
}

#[test]
fn a_document_that_forgot_its_revision_was_edited() {
    let o = original();
    let path = o.home.document_path("failed", &o.id);
    let mut document: Value = serde_json::from_slice(&o.document).unwrap();
    document["meta"]["revision"] = Value::Null;
    fs::write(&path, document.to_string()).unwrap();
    assert_eq!(o.home.run(&["status", &o.id]).code, Some(6));
    let told = o.home.json(&["recover", &o.id, "--yes"]);
    assert_eq!(told["level"], 1);
    assert_eq!(o.now(), o.state);
}

#[test]
fn a_backup_of_an_earlier_journal_is_not_taken_for_the_newer_state() {
    let o = original();
    o.damage([Damage::None, Damage::None, Damage::Changed], 900);
    assert_eq!(o.home.json(&["recover", &o.id, "--yes"])["level"], 1);
    assert_eq!(o.home.run(&["resume", &o.id, "--skip"]).code, Some(0));
    let now = o.now();
    // Whoever was interrupted in the middle of the recovery may have left it there.
    fs::write(o.home.record(&o.id).join("state.bak.json"), &o.backup).unwrap();
    fs::write(o.home.document_path("completed", &o.id), "{").unwrap();
    let told = o.home.json(&["recover", &o.id, "--yes"]);
    assert_eq!((&told["level"], &told["lost"]), (&json!(2), &json!("Nothing is lost.")));
    assert_eq!(o.now(), now);
}

#[test]
fn someone_at_a_terminal_is_asked() {
    let o = original();
    o.damage([Damage::Changed, Damage::None, Damage::None], 9);
    let output = o.home.on_terminal(&["recover", &o.id], "n\n");
    assert_eq!(output.code, Some(4), "{}", output.stdout);
    assert!(output.stdout.contains("Do it? [y/N]"), "{}", output.stdout);
    let output = o.home.on_terminal(&["recover", &o.id], "y\n");
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    assert_eq!(o.now(), o.state);
    // A place that is not there is asked for again.
    o.damage([Damage::Cut, Damage::Cut, Damage::Cut], 9);
    let output = o.home.on_terminal(&["recover", &o.id], "zebra\nc:x\n\n");
    assert_eq!(output.code, Some(4), "{}", output.stdout);
    for expected in ["has no task `zebra`", "`x` is not a number"] {
        assert!(output.stdout.contains(expected), "{}", output.stdout);
    }
    let output = o.home.on_terminal(&["recover", &o.id], "c:9\nc:1\ny\n");
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    assert_eq!(o.now()["resume_point"]["command_index"], 1);
    assert_eq!(o.now()["plan"]["approved_by"], "user");
}

#[test]
fn a_session_that_cannot_be_read_is_not_passed_by_for_an_older_one() {
    let mut o = original();
    o.home = o.home.damaged();
    assert_eq!(o.home.run(&["resume"]).code, Some(3));
    let older = "prov-20200101-000000-0000";
    assert_eq!(o.home.play_as(older, [json!({"create": {}})]).code, Some(0));
    fs::write(o.home.document_path("failed", &o.id), "{").unwrap();
    let output = o.home.run(&["resume"]);
    assert_eq!(output.code, Some(6), "{}", output.stderr);
    let hint = format!("`provision recover {}` says what can be saved", o.id);
    assert!(output.stderr.contains(&hint), "{}", output.stderr);
}

#[test]
fn what_was_recovered_meanwhile_is_not_begun_anew_by_hand() {
    let o = original();
    let plan: Plan = {
        let path = o.home.record(&o.id).join("artifacts/plan.json");
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    let around = Surroundings {
        store: Store::open(Fs::real(), store::Home::new(o.home.path())).unwrap(),
        clock: Clock::system(),
        pen: pen(),
        environment: Environment::new(std::iter::empty()),
        layers: Layers { own: vec![LayerSource::Embedded], named: Vec::new() },
        asker: None,
        reporter: |_| unreachable!("nothing is completed"),
    };
    let at = ResumeAt { task_id: "a".parse().unwrap(), command_index: 0 };
    let id = o.id.parse().unwrap();
    let recovered = recover_by_hand(&around, &id, &plan, &at, ApprovedBy::User).unwrap();
    assert!(recovered.is_none());
    assert_eq!(o.now(), o.state);
}
