//! Session documents of anyone's making: read, shown, examined, migrated and taken over.
#![no_main]

mod world;

use std::collections::HashMap;

use agentic_provision::{
    face,
    flow::{self, Around, Context, Expiry, Facts, Live},
    model::Machine,
    store::Shelf,
};
use libfuzzer_sys::fuzz_target;
use world::{World, id, now, pen, recover};

fuzz_target!(|bytes: &[u8]| {
    let world = World::new().with(|home| home.document(Shelf::Active, &id()), bytes);
    let store = world.store();
    let Ok(loaded) = store.load(&id()) else {
        return recover(&store);
    };
    let session = &loaded.session;
    let now = now();
    for live in [Live::Running, Live::Nobody] {
        let expiry = Expiry::of(session, &session.meta.updated_at, false, &now.wall);
        let _ = expiry.note();
        let (heard, usual) = (HashMap::new(), HashMap::new());
        let around = Around { live, expiry, now: &now.wall, heard: &heard, usual: &usual };
        let context = Context::of(session, &around);
        let _ = (face::status_text(&context), face::resuming_text(&context));
    }
    let machine: Machine = session.meta.machine.clone();
    let _ = flow::examine(session, Facts { plan: None, machine: &machine, missing: Vec::new() });
    let _ = store.list(None).expect("a list");
    // What was migrated once is as it is.
    let migrated = session.migrated();
    assert_eq!(migrated.migrated(), migrated);
    let _ = store.migrate(&id(), &pen()).expect("room for the migrated document");
    // What was taken over follows from its journal.
    if let Ok(recorder) = store.open_record(&id(), &pen(), &now) {
        let taken = recorder.close().expect("room");
        let (again, _) = store.verify(&id()).expect("the record is whole");
        assert_eq!(again.session, taken);
    }
});
