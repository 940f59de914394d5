//! Recoveries that are cut short: whoever interrupts one finds the old damage or a whole record.

use std::path::Path;

use agentic_provision::{
    disk::{Fault, FaultKind, FaultyFs, Fs, Lasting},
    model::{EventKind, Session},
    store::{self, Shelf, Store, StoreError},
};
use serde_json::Value;

use crate::harness::{id, long_walk, moment, pen};

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
