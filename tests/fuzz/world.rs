//! A store in memory, with files of anyone's making in it.

use std::{path::PathBuf, time::Duration};

use agentic_provision::{
    disk::{Fs, Holder},
    model::{SessionId, Timestamp},
    store::{Home, Moment, Pen, Shelf, Store},
};

#[allow(dead_code, reason = "the fuzz targets inject no faults")]
#[path = "../it/harness/faulty/mod.rs"]
mod faulty;

pub const ID: &str = "prov-20260202-143052-a7b3";

pub fn id() -> SessionId {
    ID.parse().expect("an id")
}

pub fn now() -> Moment {
    Moment { wall: Timestamp::clamped(1_800_000_000_000), steady: Duration::from_secs(1) }
}

pub fn pen() -> Pen {
    let holder = Holder { pid: 1, started_at: String::new(), command: String::new() };
    Pen { holder, patience: Duration::ZERO }
}

pub struct World {
    fs: Fs,
    home: Home,
}

impl World {
    pub fn new() -> Self {
        let world = Self { fs: faulty::FaultyFs::new().fs(), home: Home::new("/home") };
        let home = world.home.path();
        let shelves = Shelf::ALL.map(|shelf| world.home.shelf(shelf));
        let record = world.home.record(&id());
        for directory in [home.to_path_buf(), home.join("sessions"), world.home.records(), record]
            .into_iter()
            .chain(shelves)
        {
            world.fs.create_dir(&directory).expect("a directory");
        }
        world
    }

    /// Puts a file where `place` says.
    pub fn with(self, place: impl Fn(&Home) -> PathBuf, bytes: &[u8]) -> Self {
        let file = self.fs.create_new(&place(&self.home)).expect("a file");
        file.write_all_at(bytes, 0).expect("room");
        self
    }

    pub fn store(&self) -> Store {
        Store::open(self.fs.clone(), self.home.clone()).expect("a store")
    }
}

/// Whatever can be recovered is, and is whole afterwards.
pub fn recover(store: &Store) {
    let Ok(survey) = store.survey(&id()) else { return };
    for level in [1, 2] {
        if survey.rescue(level).is_none() {
            continue;
        }
        let salvor = store.take_wreck(&id(), &pen()).expect("the lock is free");
        let Some(rescue) = salvor.survey.rescue(level).cloned() else { continue };
        // A document that is nested just as deeply as can be read does not fit into an event.
        let Ok(rewrite) = salvor.rewrite(&rescue, &now()) else { return };
        if let Ok((recorder, _)) = salvor.commit(rewrite.as_ref(), &now()) {
            recorder.close().expect("room");
            store.verify(&id()).expect("what was recovered is whole");
        }
        return;
    }
}
