//! Readers beside a writer: they take no lock, and what they see was true a moment ago.

use std::process::Stdio;

use agentic_provision::{
    disk::Fs,
    store::{self, Note, Store},
};
use serde_json::json;

use crate::harness::{Home, ID, id, walk_script};

#[test]
fn a_session_that_is_being_written_and_moved_is_always_readable() {
    let home = Home::new();
    let to_execute = walk_script().into_iter().take(16);
    let back_and_forth = (0..1500).flat_map(|n| {
        [
            json!({"event": "session_failed", "error": format!("failure {n}")}),
            json!({"event": "session_resumed"}),
            json!({"event": "error_recorded", "error": "between"}),
        ]
    });
    let script = home.script("script.jsonl", to_execute.chain(back_and_forth));
    let mut writer = home
        .command(&["__script", "--session", ID, script.to_str().unwrap()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !home.document_path("active", ID).exists() {
        std::thread::yield_now();
    }

    let store = Store::open(Fs::real(), store::Home::new(home.path())).unwrap();
    let (mut looks, mut last) = (0, 0);
    let status = loop {
        let loaded = store.load(&id()).unwrap();
        // A line that is being written looks unfinished; that is all there may be to say.
        let torn = |note: &Note| matches!(note, Note::TornTail { .. });
        assert!(loaded.notes.iter().all(torn), "{:?}", loaded.notes);
        assert!(loaded.session.revision() >= last, "a reader went back in time");
        last = loaded.session.revision();
        let (loaded, scan) = store.verify(&id()).unwrap();
        assert!(scan.unwrap().end.seq >= loaded.session.revision());
        let listing = store.list(None).unwrap();
        assert!(listing.unreadable.is_empty(), "{listing:?}");
        assert_eq!(listing.sessions.len(), 1);
        assert!(listing.sessions[0].updated_at >= loaded.session.meta.updated_at);
        looks += 1;
        if let Some(status) = writer.try_wait().unwrap() {
            break status;
        }
    };
    assert!(status.success());
    println!("readers: {looks} looks while 4500 events were written and 3000 moves made");
    assert!(looks > 5, "the writer was too quick to be watched");
}
