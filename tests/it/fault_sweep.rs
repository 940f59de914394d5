//! Every operation of a whole session fails once, or for ever, in every way: nothing that was
//! acknowledged is lost, and the session can always be finished afterwards.

use agentic_provision::{
    model::{Event, EventKind, SessionStatus},
    store::{self, Moment, Recorder, Shelf, Store, StoreError},
};
use rustix::io::Errno;

use crate::harness::{
    faulty::{Fault, FaultKind, FaultyFs, Lasting},
    id, long_walk, moment, pen,
};

const ERRORS: [Errno; 5] = [Errno::IO, Errno::NOSPC, Errno::ACCESS, Errno::ROFS, Errno::INTR];

fn kinds() -> Vec<(FaultKind, Lasting)> {
    let mut kinds = vec![(FaultKind::Crash, Lasting::Once), (FaultKind::PowerCut, Lasting::Once)];
    for lasting in [Lasting::Once, Lasting::ForEver] {
        kinds.extend(ERRORS.map(|errno| (FaultKind::Fails(errno), lasting)));
        kinds.push((FaultKind::ShortWrite, lasting));
    }
    kinds
}

/// What can come after a fault: another process on the same machine, for which what was written
/// without a sync is still there and must do no harm, or a power cut, after which it is not.
fn afterwards(kind: FaultKind) -> Vec<fn(&FaultyFs)> {
    match kind {
        FaultKind::Crash => vec![FaultyFs::restart],
        FaultKind::PowerCut => vec![FaultyFs::lose_power],
        FaultKind::Fails(_) | FaultKind::ShortWrite => {
            vec![FaultyFs::restart, FaultyFs::lose_power]
        }
    }
}

fn open(fs: &FaultyFs) -> Result<Store, StoreError> {
    Store::open(fs.fs(), store::Home::new("/user/home"))
}

/// Time passes so that documents are saved for their age, too.
fn at(event: usize) -> Moment {
    moment(event as u64 * 170)
}

/// Records the walk as far as the fault allows. A call that failed is made again, once, as a
/// person would; what was acknowledged is returned.
fn walk_until_it_fails(fs: &FaultyFs, walk: &[EventKind]) -> Vec<Event> {
    let mut acknowledged = Vec::new();
    let Ok(store) = open(fs) else { return acknowledged };
    let Ok((recorder, first)) = store.create(&id(), &pen(), walk[0].clone(), &at(0)) else {
        return acknowledged;
    };
    acknowledged.push(first);
    record_until_it_fails(recorder, walk, &mut acknowledged);
    acknowledged
}

/// Goes on with the walk where the session stands.
fn record_until_it_fails(
    mut recorder: Recorder,
    walk: &[EventKind],
    acknowledged: &mut Vec<Event>,
) {
    let mut next = usize::try_from(recorder.session().revision()).unwrap();
    while next < walk.len() {
        // Pairs now and then, to have two events behind one sync.
        let count = if next % 5 == 0 { 2 } else { 1 };
        let kinds = walk[next..(next + count).min(walk.len())].to_vec();
        let recorded = recorder
            .record(kinds.clone(), &at(next))
            .or_else(|_| recorder.record(kinds, &at(next)));
        let Ok(events) = recorded else { return };
        next += events.len();
        acknowledged.extend(events);
        assert_eq!(recorder.session().revision(), next as u64);
    }
    let _ = recorder.close();
}

fn finish(store: &Store, walk: &[EventKind]) {
    let mut recorder: Recorder = match store.open_record(&id(), &pen(), &at(100)) {
        Ok(recorder) => recorder,
        Err(StoreError::Unknown(_)) => return,
        Err(error) => panic!("{error:?}"),
    };
    let done = usize::try_from(recorder.session().revision()).unwrap();
    for (number, kind) in walk.iter().enumerate().skip(done) {
        recorder.record(vec![kind.clone()], &at(100 + number)).unwrap();
    }
    recorder.close().unwrap();
}

/// How many documents of the session stand on shelves, and whether each is where it belongs.
fn documents(store: &Store) -> Vec<Shelf> {
    let there =
        |shelf: &Shelf| store.fs().stat(&store.home().document(*shelf, &id())).unwrap().is_some();
    Shelf::ALL.into_iter().filter(there).collect()
}

#[test]
fn no_fault_at_any_operation_loses_what_was_acknowledged() {
    let walk = long_walk();
    let calm = FaultyFs::new();
    assert_eq!(walk_until_it_fails(&calm, &walk).len(), walk.len());
    let operations = calm.operations();

    let mut points = 0;
    let mut cut_short = 0;
    for (kind, lasting) in kinds() {
        for operation in 0..operations {
            let fault = Fault { at: operation, kind, lasting };
            for after in afterwards(kind) {
                let fs = FaultyFs::new();
                fs.arm(fault);
                let acknowledged = walk_until_it_fails(&fs, &walk);
                points += 1;
                cut_short += u32::from(acknowledged.len() < walk.len());
                after(&fs);
                check(&fs, &walk, &acknowledged, fault);
            }
        }
    }
    println!(
        "fault sweep: {points} points ({operations} operations, {} faults), {cut_short} cut the session short",
        kinds().len()
    );
    assert!(points > 3000 && cut_short > points / 3, "the sweep is not what it was");
}

fn check(fs: &FaultyFs, walk: &[EventKind], acknowledged: &[Event], fault: Fault) {
    let store = open(fs).unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
    let journal = match store.verify(&id()) {
        Ok((_, scan)) => scan.map(|scan| scan.events).unwrap_or_default(),
        Err(StoreError::Unknown(_)) => Vec::new(),
        Err(error) => panic!("{fault:?}: {error:?}"),
    };
    assert!(journal.starts_with(acknowledged), "{fault:?}: an acknowledged event is missing");
    let kinds = journal.iter().map(|event| &event.kind);
    assert!(kinds.eq(&walk[..journal.len()]), "{fault:?}: the journal says something else");

    let listing = store.list(None).unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
    assert!(listing.unreadable.is_empty(), "{fault:?}: {listing:?}");
    assert_eq!(listing.sessions.len(), usize::from(!journal.is_empty()), "{fault:?}");
    assert!(acknowledged.is_empty() || !documents(&store).is_empty(), "{fault:?}: no document");

    finish(&store, walk);
    if !journal.is_empty() {
        assert_eq!(documents(&store), [Shelf::Completed], "{fault:?}");
        // With the power, names may be lost that a dead process gave or took away: the document
        // may then be on another shelf or on two, and is listed once all the same.
        fs.lose_power();
        assert!(!documents(&store).is_empty(), "{fault:?}: no document");
        assert_eq!(store.list(None).unwrap().sessions.len(), 1, "{fault:?}");
        let (loaded, _) =
            store.verify(&id()).unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
        assert_eq!(loaded.session.meta.status, SessionStatus::Completed, "{fault:?}");
        assert_eq!(loaded.session.revision(), walk.len() as u64, "{fault:?}");
    }
}

#[test]
fn what_a_short_write_left_is_not_in_the_way_of_the_next_event() {
    let walk = long_walk();
    let fs = FaultyFs::new();
    let store = open(&fs).unwrap();
    let (mut recorder, _) = store.create(&id(), &pen(), walk[0].clone(), &at(0)).unwrap();
    let remark = |length| vec![EventKind::ErrorRecorded { error: "x".repeat(length) }];
    fs.arm(Fault { at: 0, kind: FaultKind::ShortWrite, lasting: Lasting::Once });
    let error = recorder.record(remark(5000), &at(1)).unwrap_err();
    assert!(matches!(&error, StoreError::Disk(error) if error.is_full()), "{error:?}");
    recorder.record(remark(1), &at(2)).unwrap();
    let (loaded, scan) = store.verify(&id()).unwrap();
    assert_eq!(loaded.notes, []);
    assert_eq!(scan.unwrap().end.seq, 2);
}

/// The process that mends what a crash left is struck itself, at each of its operations.
#[test]
fn a_fault_while_mending_a_crash_loses_nothing_either() {
    let walk = long_walk();
    let crashed = |at| {
        let fs = FaultyFs::new();
        fs.arm(Fault { at, kind: FaultKind::Crash, lasting: Lasting::Once });
        let acknowledged = walk_until_it_fails(&fs, &walk);
        fs.restart();
        (fs, acknowledged)
    };
    let lines = |fs: &FaultyFs| {
        let scan = open(fs).unwrap().journal(&id()).ok().flatten();
        scan.map_or(0, |scan| scan.events.len())
    };
    // Crashes that left a line which was written and not synced, and some that left half a line.
    let unsynced = (20..200).find(|at| crashed(*at).1.len() < lines(&crashed(*at).0)).unwrap();
    let mut points = 0;
    for first in unsynced - 1..=unsynced + 1 {
        for (kind, lasting) in kinds() {
            for operation in 0..80 {
                for after in afterwards(kind) {
                    let (fs, mut acknowledged) = crashed(first);
                    let fault = Fault { at: operation, kind, lasting };
                    fs.arm(fault);
                    let opened = open(&fs).and_then(|store| {
                        let recorder = store.open_record(&id(), &pen(), &at(90))?;
                        Ok((recorder, store.journal(&id())?))
                    });
                    if let Ok((recorder, Some(scan))) = opened {
                        acknowledged = scan.events;
                        record_until_it_fails(recorder, &walk, &mut acknowledged);
                    }
                    points += 1;
                    after(&fs);
                    check(&fs, &walk, &acknowledged, fault);
                }
            }
        }
    }
    println!("fault sweep: {points} points in the process that mends a crash");
}

/// A sync fails, the same process copies the journal to a fresh file and dies on the way.
#[test]
fn a_crash_while_recovering_from_a_failed_sync_loses_nothing_either() {
    let walk = long_walk();
    let mut copied = 0;
    for (sync, crash) in (0..6).flat_map(|sync| (0..16).map(move |crash| (sync, crash))) {
        let fs = FaultyFs::new();
        let store = open(&fs).unwrap();
        let (mut recorder, first) = store.create(&id(), &pen(), walk[0].clone(), &at(0)).unwrap();
        fs.arm(Fault { at: sync, kind: FaultKind::Fails(Errno::IO), lasting: Lasting::Once });
        if recorder.record(vec![walk[1].clone()], &at(1)).is_ok() {
            continue;
        }
        fs.arm(Fault { at: crash, kind: FaultKind::Crash, lasting: Lasting::Once });
        let _ = recorder.record(vec![walk[1].clone()], &at(1));
        copied += u32::from(fs.is_down() && crash > 5);
        drop(recorder);
        fs.restart();
        let mut acknowledged = vec![first];
        let recorder = store.open_record(&id(), &pen(), &at(2)).unwrap();
        acknowledged.extend(store.journal(&id()).unwrap().unwrap().events.into_iter().skip(1));
        record_until_it_fails(recorder, &walk, &mut acknowledged);
        fs.lose_power();
        let fault = Fault { at: crash, kind: FaultKind::Crash, lasting: Lasting::Once };
        check(&fs, &walk, &acknowledged, fault);
    }
    assert!(copied > 0, "no crash hit the copying");
}
