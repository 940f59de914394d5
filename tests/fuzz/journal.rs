//! Journals of anyone's making: as they are, or with chains that fit, so that what the lines say is
//! reached, too.
#![no_main]

mod world;

use agentic_provision::{face, model::Digest};
use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use world::{World, id, now, pen, recover};

/// Gives every line the end that it must have.
fn sealed(text: &[u8]) -> Vec<u8> {
    let mut journal = Vec::new();
    let mut previous: Option<Digest> = None;
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut sum = Sha256::new();
        if let Some(previous) = &previous {
            sum.update(previous.as_str());
        }
        sum.update(line);
        let chain = Digest::of(sum.finalize().into());
        journal.extend_from_slice(line);
        journal.extend_from_slice(format!(",\"chain\":\"{chain}\"}}\n").as_bytes());
        previous = Some(chain);
    }
    journal
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let journal = if *first == b's' { sealed(rest) } else { bytes.to_vec() };
    let world = World::new().with(|home| home.journal(&id()), &journal);
    let store = world.store();
    if let Ok(Some(scan)) = store.journal(&id()) {
        let mut history = face::History::new();
        for event in &scan.events {
            let _ = history.line(event);
        }
    }
    let Ok(loaded) = store.load(&id()) else {
        return recover(&store);
    };
    if let Ok(recorder) = store.open_record(&id(), &pen(), &now()) {
        let session = recorder.close().expect("room");
        assert_eq!(session, loaded.session);
        let (again, _) = store.verify(&id()).expect("the record is whole");
        assert_eq!(again.session, session);
    }
});
