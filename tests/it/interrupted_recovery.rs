//! Recoveries that are cut short: whoever interrupts one finds the old damage or a whole record.

use std::path::Path;

use agentic_provision::{
    disk::{EntryKind, Fs},
    model::{EventKind, Session},
    store::{self, Shelf, Store, StoreError},
};
use serde_json::Value;

use crate::harness::{
    faulty::{Fault, FaultKind, FaultyFs, Lasting},
    id, long_walk, moment, pen,
};

/// How many commands the walk begins.
const ATTEMPTS: usize = 6;

const ALL_BUT_ATTEMPTS: &str = "all but the attempts";

/// What the commands of a walk leave behind.
fn attempt(store: &Store, walk: &[EventKind]) {
    let (fs, home) = (store.fs(), store.home());
    fs.create_dir(&home.attempts(&id())).unwrap();
    let begun = (1..).zip(walk).filter(|(_, kind)| matches!(kind, EventKind::CommandStarted(_)));
    let mut attempts = 0;
    for (seq, _) in begun {
        attempts += 1;
        let directory = home.attempt(&id(), seq);
        fs.create_dir(&directory).unwrap();
        let claim = fs.create_new(&directory.join("claim")).unwrap();
        claim.write_all_at(format!("of attempt {seq}").as_bytes(), 0).unwrap();
        claim.sync().unwrap();
        fs.sync_dir(&directory).unwrap();
    }
    fs.sync_dir(&home.attempts(&id())).unwrap();
    fs.sync_dir(&home.record(&id())).unwrap();
    assert_eq!(attempts, ATTEMPTS);
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
        attempt(&store, &walk);
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
        broken(ALL_BUT_ATTEMPTS, &|store| {
            let home = store.home();
            for path in [document(store), home.backup(&id()), home.journal(&id())] {
                store.fs().remove(&path).unwrap();
                store.fs().sync_dir(path.parent().unwrap()).unwrap();
            }
        }),
    ]
}

fn open(fs: &FaultyFs) -> Store {
    Store::open(fs.fs(), store::Home::new("/user/home")).unwrap()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// At the best level there is, as the command does.
    Best,
    ByHand,
}

/// Recovers the record; what the session is then.
fn recover(fs: &FaultyFs, how: How) -> Result<Session, StoreError> {
    let store = Store::open(fs.fs(), store::Home::new("/user/home"))?;
    let salvor = store.take_wreck(&id(), &pen())?;
    if salvor.survey.damage.is_empty() {
        drop(salvor);
        return store.open_record(&id(), &pen(), &moment(1))?.close();
    }
    let mut rewrite = match how {
        How::Best => salvor.rewrite(&salvor.survey.rescues[0], &moment(1))?,
        How::ByHand => {
            let mut rewrite = salvor.rewrite_anew(&moment(1));
            // Nothing that ran is out of sight, whatever an earlier recovery did to it.
            assert_eq!(salvor.attempts(&rewrite)?.len(), ATTEMPTS);
            rewrite.record(long_walk()[0].clone()).unwrap();
            Some(rewrite)
        }
    };
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

/// Every file below `path`, by what is in it.
fn contents(fs: &Fs, path: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for entry in fs.list(path).unwrap() {
        let path = path.join(&entry.name);
        match entry.kind {
            EntryKind::Directory => found.extend(contents(fs, &path)),
            _ => found.push(fs.open_read(&path).unwrap().read_from(0).unwrap()),
        }
    }
    found
}

/// What is in the document, its backup, the journal and the attempts.
fn precious(store: &Store) -> Vec<Vec<u8>> {
    let home = store.home();
    let mut files: Vec<_> = Shelf::ALL.iter().map(|shelf| home.document(*shelf, &id())).collect();
    files.extend([home.backup(&id()), home.journal(&id())]);
    files.retain(|path| store.fs().stat(path).unwrap().is_some());
    let mut found: Vec<_> = files
        .iter()
        .map(|path| store.fs().open_read(path).unwrap().read_from(0).unwrap())
        .collect();
    found.extend(contents(store.fs(), &home.attempts(&id())));
    found
}

#[test]
fn a_recovery_that_is_cut_short_anywhere_can_be_done_again() {
    for at in 0..wrecks().len() {
        for how in [How::Best, How::ByHand] {
            let (name, wreck) = wrecks().swap_remove(at);
            if (name, how) == (ALL_BUT_ATTEMPTS, How::Best) {
                continue;
            }
            cut_short(&format!("{name}, {how:?}"), how, &|| wrecks().swap_remove(at).1, &wreck);
        }
    }
}

fn cut_short(name: &str, how: How, wreck: &dyn Fn() -> FaultyFs, calm: &FaultyFs) {
    let damaged = precious(&open(calm));
    calm.arm(Fault { at: u64::MAX, kind: FaultKind::Crash, lasting: Lasting::Once });
    let expected = gist(&recover(calm, how).unwrap());
    let operations = calm.operations();
    let mut cut_short = 0;
    for kind in [FaultKind::Crash, FaultKind::PowerCut] {
        for operation in 0..operations {
            let fs = wreck();
            fs.arm(Fault { at: operation, kind, lasting: Lasting::Once });
            if recover(&fs, how).is_ok() {
                continue;
            }
            cut_short += 1;
            match kind {
                FaultKind::PowerCut => fs.lose_power(),
                _ => fs.restart(),
            }
            let what = format!("{name}: {kind:?} at operation {operation}");
            // Nothing that was damaged is lost on the way, nor what is known of attempts.
            let store = open(&fs);
            let kept = contents(store.fs(), store.home().path());
            for precious in &damaged {
                assert!(kept.contains(precious), "{what}: a file is gone");
            }
            // What is left is damaged, or tells of its recovery, or was whole but for its document.
            match store.load(&id()) {
                Ok(loaded) => {
                    let told = !loaded.session.recoveries.is_empty();
                    let attempts = store.attempts(&id()).unwrap().len();
                    assert!(told || attempts == ATTEMPTS, "{what}: attempts are forgotten");
                }
                Err(error) => assert!(error.is_damage(), "{what}: {error:?}"),
            }
            let mut again = gist(&recover(&fs, how).unwrap_or_else(|e| panic!("{what}: {e:?}")));
            // One that was cut short behind the switch has said so already.
            let told = again["recoveries"].as_array().map_or(0, Vec::len);
            assert!(told <= 2, "{what}: {told}");
            if told > 0 {
                again["recoveries"] = expected["recoveries"].clone();
            }
            // By hand a whole journal needs no recovery once the bad documents are out of its way.
            if how == How::Best || told > 0 {
                assert_eq!(again, expected, "{what}");
            }
            open(&fs).verify(&id()).unwrap_or_else(|e| panic!("{what}: {e}"));
        }
    }
    assert!(cut_short > 20, "{name}: {cut_short}");
}
