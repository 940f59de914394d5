//! Damaged records made usable again: the right level, nothing guessed, and what was damaged kept.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use agentic_provision::{
    disk::{Fault, FaultKind, FaultyFs, Fs, Lasting},
    model::{EventKind, Session},
    store::{self, Shelf, Store, StoreError},
};
use serde_json::{Value, json};

use crate::harness::{Home, id, long_walk, moment, pen, tree, wait_until};

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
    assert_eq!(home.run(&["apply", plan.to_str().unwrap(), "--yes"]).code, Some(3));
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
fn a_record_is_not_made_again_while_a_command_of_it_runs() {
    let home = Home::new().damaged();
    let command = "touch begun; while ! test -e go; do sleep 0.02; done; echo done >> ran";
    let plan = home.plan(&json!([{"id": "a", "commands": [{"command": command}]}]));
    let mut runner = home.command(&["apply", plan.to_str().unwrap(), "--yes"]).spawn().unwrap();
    wait_until("the command's begin", || home.path().join("begun").exists());
    let id = home.latest();
    assert_eq!(home.run(&["recover", &id, "--yes"]).code, Some(0), "nothing is wrong with it");
    runner.kill().unwrap();
    runner.wait().unwrap();
    // All is lost but the attempt.
    let journal = home.journal(&id);
    fs::write(&journal, "").unwrap();
    fs::remove_file(home.document_path("active", &id)).unwrap();
    fs::remove_file(home.record(&id).join("state.bak.json")).unwrap();
    let output = home.run(&["recover", &id, "--resume-at", "a", "--yes"]);
    assert_eq!(output.code, Some(5), "{}", output.stderr);
    assert!(output.stderr.contains("command 1 of a of session"), "{}", output.stderr);
    fs::write(home.path().join("go"), "").unwrap();
    wait_until("its end", || home.path().join("ran").exists());
    wait_until("the supervisor's end", || {
        home.run(&["recover", &id, "--resume-at", "a:1", "--yes"]).code == Some(0)
    });
    assert_eq!(home.run(&["resume", &id]).code, Some(0));
    assert_eq!(fs::read_to_string(home.path().join("ran")).unwrap(), "done\n");
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

/// Every way in which the record of a walk can be damaged and brought back.
fn wrecks() -> Vec<(&'static str, FaultyFs)> {
    let walk = long_walk();
    let broken = |name: &'static str, damage: &dyn Fn(&Store)| {
        let fs = FaultyFs::new();
        let store = open(&fs);
        let (mut recorder, _) = store.create(&id(), &pen(), walk[0].clone(), &moment(0)).unwrap();
        for (at, kind) in walk[1..].iter().enumerate() {
            recorder.record(vec![kind.clone()], &moment(at as u64 * 900)).unwrap();
        }
        recorder.close().unwrap();
        damage(&store);
        (name, fs)
    };
    let document = |store: &Store| {
        let found = Shelf::ALL.map(|shelf| store.home().document(shelf, &id()));
        found.into_iter().find(|path| store.fs().stat(path).unwrap().is_some()).unwrap()
    };
    let write = |store: &Store, path: &Path, at: u64, bytes: &[u8]| {
        let file = store.fs().open_write(path).unwrap();
        file.write_all_at(bytes, at).unwrap();
        file.sync().unwrap();
    };
    vec![
        broken("the document", &|store| write(store, &document(store), 9, b"\0")),
        broken("the document and its backup", &|store| {
            write(store, &document(store), 9, b"\0");
            write(store, &store.home().backup(&id()), 9, b"\0");
        }),
        broken("the journal", &|store| write(store, &store.home().journal(&id()), 900, b"#")),
        broken("all but the first lines", &|store| {
            write(store, &document(store), 9, b"\0");
            write(store, &store.home().backup(&id()), 9, b"\0");
            write(store, &store.home().journal(&id()), 3000, b"#");
        }),
    ]
}

fn open(fs: &FaultyFs) -> Store {
    Store::open(Fs::Faulty(fs.clone()), store::Home::new("/user/home")).unwrap()
}

/// Recovers at the best level there is, as the command does; what the session is then.
fn recover(fs: &FaultyFs) -> Result<Session, StoreError> {
    let store = Store::open(Fs::Faulty(fs.clone()), store::Home::new("/user/home"))?;
    let salvor = store.take_wreck(&id(), &pen())?;
    let Some(rescue) = salvor.survey.rescues.first().cloned() else {
        drop(salvor);
        return store.open_record(&id(), &pen(), &moment(1))?.close();
    };
    let mut rewrite = salvor.rewrite(&rescue, &moment(1))?;
    if let Some(rewrite) = &mut rewrite {
        let kind = EventKind::SessionRecovered { level: 1, done: "so".into(), lost: "no".into() };
        rewrite.record(kind).unwrap();
    }
    let (recorder, _) = salvor.commit(rewrite.as_ref(), &moment(1))?;
    recorder.close()
}

/// What a session comes to, without the place of its last line.
fn gist(session: &Session) -> Value {
    let mut value = serde_json::to_value(session.document()).unwrap();
    let meta = value["meta"].as_object_mut().unwrap();
    for key in ["chain", "journal_offset", "revision", "updated_at"] {
        meta.shift_remove(key);
    }
    value
}

#[test]
fn a_recovery_that_is_cut_short_anywhere_can_be_done_again() {
    for at in 0..wrecks().len() {
        let wreck = || wrecks().swap_remove(at);
        let (name, calm) = wreck();
        calm.arm(Fault { at: u64::MAX, kind: FaultKind::Crash, lasting: Lasting::Once });
        let expected = gist(&recover(&calm).unwrap());
        let operations = calm.operations();
        let mut cut_short = 0;
        for kind in [FaultKind::Crash, FaultKind::PowerCut] {
            for operation in 0..operations {
                let (_, fs) = wreck();
                fs.arm(Fault { at: operation, kind, lasting: Lasting::Once });
                if recover(&fs).is_ok() {
                    continue;
                }
                cut_short += 1;
                match kind {
                    FaultKind::PowerCut => fs.lose_power(),
                    _ => fs.restart(),
                }
                let what = format!("{name}: {kind:?} at operation {operation}");
                let mut again = gist(&recover(&fs).unwrap_or_else(|e| panic!("{what}: {e}")));
                // One that was cut short behind the switch has said so already.
                let told = again["recoveries"].as_array().map_or(0, Vec::len);
                assert!(told <= 2, "{what}: {told}");
                if told > 0 {
                    again["recoveries"] = expected["recoveries"].clone();
                }
                assert_eq!(again, expected, "{what}");
                open(&fs).verify(&id()).unwrap_or_else(|e| panic!("{what}: {e}"));
            }
        }
        assert!(cut_short > 20, "{name}: {cut_short}");
    }
}

/// A session with one long task, and a file that says which of its commands ran.
fn three_commands(home: &Home) -> String {
    let plan = home.plan(&json!([{"id": "a", "commands": [
        {"command": "echo c0 >> ran"}, {"command": "echo c1 >> ran"}, {"command": "echo c2 >> ran"}
    ]}]));
    assert_eq!(home.run(&["apply", plan.to_str().unwrap(), "--yes"]).code, Some(0));
    home.latest()
}

/// Leaves nothing of the session but its first lines and its attempts.
fn leave_lines(home: &Home, id: &str, lines: usize) {
    for shelf in ["active", "completed", "failed"] {
        let _ = fs::remove_file(home.document_path(shelf, id));
    }
    let _ = fs::remove_file(home.record(id).join("state.bak.json"));
    let journal = fs::read_to_string(home.journal(id)).unwrap();
    let kept: String = journal.split_inclusive('\n').take(lines).collect();
    fs::write(home.journal(id), kept).unwrap();
}

/// The number of the event that begins command `index`.
fn start_of(home: &Home, id: &str, index: u64) -> u64 {
    let events = home.events(id);
    let begins = |event: &&Value| {
        event["event"] == "command_started" && event["command_index"] == json!(index)
    };
    events.iter().find(begins).unwrap()["seq"].as_u64().unwrap()
}

fn ran(home: &Home) -> String {
    fs::read_to_string(home.path().join("ran")).unwrap()
}

#[test]
fn what_may_have_run_is_not_run_again_unasked() {
    // Its result is empty, its claim cannot be read, or is of another boot of the machine.
    for damage in ["result", "claim", "boot"] {
        let home = Home::new();
        let id = three_commands(&home);
        let (first, last) = (start_of(&home, &id, 0), start_of(&home, &id, 2));
        leave_lines(&home, &id, usize::try_from(first).unwrap() - 1);
        let attempt = home.record(&id).join("attempts").join(last.to_string());
        match damage {
            "boot" => {
                let claim = fs::read_to_string(attempt.join("claim")).unwrap();
                let mut claim: Value = serde_json::from_str(&claim).unwrap();
                claim["boot_id"] = json!("another");
                fs::write(attempt.join("claim"), claim.to_string()).unwrap();
            }
            name => fs::write(attempt.join(name), "").unwrap(),
        }
        let told = home.json(&["recover", &id, "--yes"]);
        assert_eq!(told["level"], 2, "{damage}");
        let output = home.run(&["resume", &id]);
        assert_eq!(output.code, Some(4), "{damage}: {}", output.stderr);
        assert_eq!(ran(&home), "c0\nc1\nc2\n", "{damage}");
        assert_eq!(home.run(&["history", &id, "--verify"]).code, Some(0), "{damage}");
        // A person may say that it is to run again.
        let output = home.run(&["resume", &id, "--interrupted", "retry"]);
        assert_eq!(output.code, Some(0), "{damage}: {}", output.stderr);
        assert_eq!(ran(&home), "c0\nc1\nc2\nc2\n", "{damage}");
    }
}

#[test]
fn what_was_done_before_what_ran_is_not_run_again() {
    let home = Home::new();
    let id = three_commands(&home);
    let (first, second) = (start_of(&home, &id, 0), start_of(&home, &id, 1));
    leave_lines(&home, &id, usize::try_from(first).unwrap() - 1);
    // Nobody can say any more what the second attempt was; that the third began says enough.
    fs::write(home.record(&id).join(format!("attempts/{second}/claim")), "").unwrap();
    assert_eq!(home.json(&["recover", &id, "--yes"])["level"], 2);
    let output = home.run(&["resume", &id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(ran(&home), "c0\nc1\nc2\n");
    let document = home.document("completed", &id);
    assert_eq!(document["tasks"]["a"]["commands"][1]["status"], "skipped");
    assert_eq!(document["tasks"]["a"]["commands"][1]["command"], "echo c1 >> ran");
}

#[test]
fn lines_that_are_missing_at_the_end_are_missed() {
    let home = Home::new();
    let id = three_commands(&home);
    let second = usize::try_from(start_of(&home, &id, 1)).unwrap();
    // The last lines were cut off as if they had never been there.
    leave_lines(&home, &id, second - 1);
    for arguments in [&["status", &id][..], &["resume", &id]] {
        let output = home.run(arguments);
        assert_eq!(output.code, Some(6), "{}", output.stderr);
        assert!(output.stderr.contains("began after that"), "{}", output.stderr);
    }
    assert_eq!(home.json(&["recover", &id, "--yes"])["level"], 2);
    let output = home.run(&["resume", &id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(ran(&home), "c0\nc1\nc2\n");
    let logs = home.run(&["logs", &id]);
    assert_eq!(logs.code, Some(0), "{}", logs.stderr);
}

#[test]
fn a_journal_that_is_lost_twice_is_recovered_twice() {
    let home = Home::new();
    let plan = home.plan(&json!([{"id": "a", "commands": [
        {"command": "echo c0 >> ran; echo said"}, {"command": "test -e go"}, {"command": "echo c2 >> ran"}
    ]}]));
    assert_eq!(home.run(&["apply", plan.to_str().unwrap(), "--yes"]).code, Some(3));
    let id = home.latest();
    for life in 0..3 {
        fs::remove_file(home.journal(&id)).unwrap();
        let told = home.json(&["recover", &id, "--yes"]);
        assert_eq!(told["level"], 1, "life {life}");
        assert_eq!(home.run(&["resume", &id]).code, Some(3), "life {life}");
        assert_eq!(home.run(&["history", &id, "--verify"]).code, Some(0), "life {life}");
        let logs = home.run(&["logs", &id, "--raw"]);
        assert!(logs.stdout.contains("said"), "life {life}: {}", logs.stdout);
    }
    fs::write(home.path().join("go"), "").unwrap();
    assert_eq!(home.run(&["resume", &id]).code, Some(0));
    assert_eq!(ran(&home), "c0\nc2\n");
}

#[test]
fn a_command_that_was_recorded_and_never_begun_is_begun() {
    let home = Home::new();
    let id = three_commands(&home);
    let second = usize::try_from(start_of(&home, &id, 1)).unwrap();
    // The runner died behind the record of the second command's start.
    let attempts = home.record(&id).join("attempts");
    for attempt in fs::read_dir(&attempts).unwrap().map(Result::unwrap) {
        let seq: usize = attempt.file_name().to_str().unwrap().parse().unwrap();
        if seq >= second {
            fs::remove_dir_all(attempt.path()).unwrap();
        }
    }
    fs::write(home.path().join("ran"), "c0\n").unwrap();
    leave_lines(&home, &id, second);
    assert_eq!(home.run(&["pause", &id]).code, Some(0), "which makes a document of it");
    // Then the journal is damaged where the document cannot be told from it.
    let mut journal = fs::read(home.journal(&id)).unwrap();
    journal[900] ^= 1;
    fs::write(home.journal(&id), journal).unwrap();
    assert_eq!(home.json(&["recover", &id, "--yes"])["level"], 1);
    let output = home.run(&["resume", &id]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(ran(&home), "c0\nc1\nc2\n");
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
