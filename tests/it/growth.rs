//! A session of ten thousand events: what it writes, how current its document stays, and what a
//! load reads.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::MetadataExt,
    path::Path,
};

use agentic_provision::{
    disk::Fs,
    model::EventKind,
    store::{self, Store},
};
use serde_json::{Value, json};

use crate::harness::{Home, ID, counting::CountingFs, created, id, moment, pen};

const EVENTS: usize = 10_000;
const DIGEST: &str = "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd";

/// A plan of many tasks and one command each, as a script; all is done but the last events.
fn script(events: usize) -> Vec<Value> {
    let tasks = events / 4;
    let phase = |phase: &str| json!({"event": "phase_completed", "phase": phase});
    let planned: Vec<_> =
        (0..tasks).map(|n| json!({"task_id": format!("task-{n}"), "commands": 1})).collect();
    let mut script = vec![
        json!({"create": {}}),
        phase("session_check"),
        phase("stack_selection"),
        phase("gather_requirements"),
        json!({"event": "plan_presented", "digest": DIGEST, "categories": [], "tasks": planned}),
        json!({"event": "plan_approved", "digest": DIGEST, "approved_by": "unattended",
               "execution_mode": "all_at_once"}),
        phase("present_plan"),
    ];
    for number in 0..tasks {
        let task = format!("task-{number}");
        script.push(json!({"event": "task_started", "task_id": task}));
        let seq = script.len() + 1;
        script.push(json!({"event": "command_started", "task_id": task, "task_ids": [task],
            "command_index": 0, "attempt": 1, "command": "apt-get install -y something",
            "agent": "unattended", "digest": DIGEST, "cookie": "c", "boot_id": "b"}));
        script.push(json!({"event": "command_finished", "started_seq": seq, "task_id": task,
            "command": "apt-get install -y something", "agent": "unattended", "status": "success",
            "outcome": "exited", "exit_code": 0, "duration_ms": 3}));
        script.push(json!({"event": "task_completed", "task_id": task,
            "result": {"version": "1.2.3"}}));
    }
    script.truncate(events);
    script
}

/// The revision in a document, found without parsing megabytes of it.
fn revision_on_disk(document: &Path) -> u64 {
    let text = fs::read_to_string(document).unwrap();
    let (_, rest) = text.split_once("\"revision\": ").unwrap();
    rest.split(',').next().unwrap().parse().unwrap()
}

/// What recording the script with a given time between events comes to.
struct Run {
    bytes_written: u64,
    /// Bytes written in all, for each byte of the journal.
    ratio: f64,
    /// The greatest age of an event that was not in the document yet.
    behind: u64,
}

/// Time is a number here, so the outcome does not depend on how fast the machine is.
fn record(events: usize, millis_between: u64) -> Run {
    let home = Home::new();
    let fs = CountingFs::default();
    let store = Store::open(Fs::new(fs.clone()), store::Home::new(home.path())).unwrap();
    let (mut recorder, _) = store.create(&id(), &pen(), created(), &moment(0)).unwrap();
    let mut behind = 0;
    let mut saved = (0, 1);
    for (step, seq) in script(events).into_iter().skip(1).zip(2..) {
        let now = seq * millis_between;
        let kind: EventKind = serde_json::from_value(step).unwrap();
        recorder.record(vec![kind], &moment(now)).unwrap();
        let document = home.document_path("active", ID);
        let identity = fs::metadata(&document).unwrap().ino();
        if identity != saved.0 {
            saved = (identity, revision_on_disk(&document));
        }
        if saved.1 < seq {
            behind = behind.max(now - (saved.1 + 1) * millis_between);
        }
    }
    recorder.close().unwrap();
    let journal = fs_len(&home.journal(ID));
    let bytes_written = fs.bytes_written();
    #[expect(clippy::cast_precision_loss, reason = "a figure to show")]
    let ratio = bytes_written as f64 / journal as f64;
    println!(
        "growth: {events} events {millis_between} ms apart, journal {journal} bytes: \
         {ratio:.1} bytes written for each of them, document at most {behind} ms behind"
    );
    Run { bytes_written, ratio, behind }
}

#[test]
fn ten_thousand_events_write_little_and_the_document_keeps_up() {
    let run = record(EVENTS, 2);
    assert!(run.ratio <= 20.0, "{}", run.ratio);
    assert!(run.ratio >= 5.0, "the document was hardly ever saved: {}", run.ratio);
    assert!(run.behind <= 1000, "{} ms behind", run.behind);
}

#[test]
fn a_slow_long_session_saves_less_often_rather_than_write_without_bounds() {
    let (half, whole) = (record(EVENTS / 2, 1000), record(EVENTS, 1000));
    assert!(whole.bytes_written < 2 * half.bytes_written, "it grows with the square of the events");
    let small = record(400, 1000);
    assert_eq!(small.behind, 0, "a small session is always current");
}

#[test]
fn after_a_kill_a_load_reads_no_more_than_snapshot_and_tail() {
    let home = Home::new();
    let mut steps = script(EVENTS);
    // Long enough for the document to be due.
    steps.insert(6_000, json!({"sleep_ms": 900}));
    steps.push(json!({"await_input": {}}));
    let mut child = home.start(steps);
    let told = BufReader::new(child.stdout.take().unwrap()).lines().take(EVENTS).count();
    assert_eq!(told, EVENTS);
    child.kill().unwrap();
    child.wait().unwrap();

    let fs = CountingFs::default();
    let store = Store::open(Fs::new(fs.clone()), store::Home::new(home.path())).unwrap();
    let session = store.load(&id()).unwrap().session;
    assert_eq!(session.revision(), EVENTS as u64);
    let read = fs.bytes_read();
    let document = fs_len(&home.document_path("active", ID));
    let saved = home.document("active", ID);
    let tail = fs_len(&home.journal(ID)) - saved["meta"]["journal_offset"].as_u64().unwrap();
    // The seal of the line the snapshot was made at is looked at, too.
    assert!(read <= document + tail + 100, "read {read}, document {document}, tail {tail}");
    assert!(saved["meta"]["revision"].as_u64().unwrap() >= 6_000, "the document fell behind");
    assert!(tail > 100_000, "there is a tail to be read");
}

fn fs_len(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}
