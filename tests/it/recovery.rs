//! Damaged records made usable again: the right level, nothing guessed, and what was damaged kept.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::harness::{Home, tree};

/// A session of a real run: two tasks done, a third that failed.
struct Original {
    home: Home,
    id: String,
    /// What was acknowledged last.
    state: Value,
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
    Original {
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
        if entry.file_name().to_string_lossy().starts_with("attempts-") {
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
        () if lines > 0 => 2,
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
        assert_eq!(output.code, Some(4), "{what}: {}", output.stderr);
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
