//! Random histories: the journal replayed is the document, wherever the journal is cut, and a
//! changed byte never goes unseen.

use std::path::Path;

use agentic_provision::{
    disk,
    model::{Event, Session},
    store::{self, JournalError, Note, Recorder, Store, StoreError},
};
use proptest::{prelude::*, test_runner::Config};
use serde_json::Value;

use crate::harness::{
    Generator, Home, ID, created, faulty::FaultyFs, id, moment, pen, soak, walk_script,
};

/// A recorded history: what each event led to, and the document as it was at each save.
struct History {
    store: Store,
    journal: Vec<u8>,
    /// The session after event N + 1.
    states: Vec<Session>,
    /// Where line N + 1 ends.
    ends: Vec<usize>,
}

impl History {
    fn random(seed: u64, length: usize) -> Self {
        let fs = FaultyFs::new().fs();
        let store = Store::open(fs, store::Home::new("/home")).unwrap();
        let mut generator = Generator::new(seed);
        let mut recorder = store.create(&id(), &pen(), created(), &moment(0)).unwrap().0;
        let mut states = vec![recorder.session().clone()];
        let mut now = 0;
        while states.len() < length {
            now += generator.draw(400) as u64;
            let Some(first) = generator.legal(recorder.session(), |_| {}) else { break };
            let batch = generator.draw(4) == 0;
            let kinds =
                if batch { two_legal(&mut generator, &recorder, first) } else { vec![first] };
            let mut state = recorder.session().clone();
            for event in recorder.record(kinds, &moment(now)).unwrap() {
                state.apply(&event).unwrap();
                states.push(state.clone());
            }
            assert_eq!(recorder.session(), &state);
        }
        drop(recorder);
        let journal = read(&store, &store.home().journal(&id()));
        let ends = (0..journal.len()).filter(|at| journal[*at] == b'\n').map(|at| at + 1);
        let ends: Vec<_> = ends.collect();
        assert_eq!(ends.len(), states.len());
        Self { store, journal, states, ends }
    }

    /// Puts the document of `revision` in the place of the one that is there.
    fn set_document(&self, revision: usize) {
        let state = &self.states[revision - 1];
        let home = self.store.home();
        for shelf in store::Shelf::ALL {
            let _ = self.store.fs().remove(&home.document(shelf, &id()));
        }
        let path = home.document(store::Shelf::of(state.meta.status), &id());
        let text = serde_json::to_vec_pretty(state.document()).unwrap();
        disk::save(self.store.fs(), &path, &text, None).unwrap();
    }

    /// How many of `whole` lines were written whole: of a write that was not over, none counts.
    fn acknowledged(&self, whole: usize) -> usize {
        let Some(last) = whole.checked_sub(1) else { return 0 };
        let start = last.checked_sub(1).map_or(0, |before| self.ends[before]);
        let line: Value = serde_json::from_slice(&self.journal[start..self.ends[last]]).unwrap();
        let number =
            |which: usize| line["batch"][which].as_u64().map(|n| usize::try_from(n).unwrap());
        match (number(0), number(1)) {
            (Some(first), Some(last)) if last > whole => first - 1,
            _ => whole,
        }
    }

    fn set_journal(&self, bytes: &[u8]) {
        let file = self.store.fs().open_write(&self.store.home().journal(&id())).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        file.write_all_at(bytes, 0).unwrap();
    }

    /// The first line of the last write.
    fn last_write(&self) -> u64 {
        let events = self.store.journal(&id()).unwrap().unwrap().events;
        let last = events.last().unwrap();
        last.batch.map_or(last.seq, |(first, _)| first)
    }

    /// Which line the byte at `offset` belongs to, from 1.
    fn line_of(&self, offset: usize) -> u64 {
        self.ends.iter().filter(|end| **end <= offset).count() as u64 + 1
    }
}

fn two_legal(
    generator: &mut Generator,
    recorder: &Recorder,
    first: agentic_provision::model::EventKind,
) -> Vec<agentic_provision::model::EventKind> {
    // An event that may happen now and says nothing about what happens next can go first or last.
    let second = generator.legal(recorder.session(), |_| {});
    let mut next = recorder.session().clone();
    let event = |session: &Session, kind| Event {
        seq: session.revision() + 1,
        batch: None,
        timestamp: session.meta.updated_at.clone(),
        kind,
        chain: session.meta.chain.clone().unwrap(),
        end: 0,
    };
    next.apply(&event(&next, first.clone())).unwrap();
    let second = second.filter(|kind| next.check(kind).is_ok());
    std::iter::once(first).chain(second).collect()
}

fn read(store: &Store, path: &Path) -> Vec<u8> {
    store.fs().open_read(path).unwrap().read_from(0).unwrap()
}

fn config(cases: u32) -> Config {
    let cases = if soak() { cases * 20 } else { cases };
    Config { cases, failure_persistence: None, max_shrink_iters: 50, ..Config::default() }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn the_journal_replayed_is_the_document(seed: u64, length in 1_usize..=60) {
        let history = History::random(seed, length);
        let (loaded, scan) = history.store.verify(&id()).unwrap();
        prop_assert_eq!(&loaded.session, history.states.last().unwrap());
        prop_assert!(loaded.notes.is_empty());
        let replayed = scan.unwrap().events.iter().fold(None::<Session>, |session, event| {
            Some(match session {
                None => Session::begin(event).unwrap(),
                Some(mut session) => { session.apply(event).unwrap(); session }
            })
        });
        prop_assert_eq!(&replayed.unwrap(), history.states.last().unwrap());
    }

    #[test]
    fn what_the_rules_refuse_changes_nothing(seed: u64) {
        let store = Store::open(FaultyFs::new().fs(), store::Home::new("/home")).unwrap();
        let mut recorder = store.create(&id(), &pen(), created(), &moment(0)).unwrap().0;
        let mut generator = Generator::new(seed);
        for step in 1..40 {
            let mut refused = Vec::new();
            let legal = generator.legal(recorder.session(), |kind| refused.push(kind));
            let before = (recorder.session().clone(), read(&store, &store.home().journal(&id())));
            for kind in refused.into_iter().take(5) {
                let error = recorder.record(vec![kind], &moment(step)).unwrap_err();
                let illegal = matches!(error, StoreError::Illegal { .. });
                prop_assert!(illegal);
            }
            prop_assert_eq!(recorder.session(), &before.0);
            prop_assert_eq!(read(&store, &store.home().journal(&id())), before.1);
            let Some(kind) = legal else { break };
            recorder.record(vec![kind], &moment(step)).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(config(20))]

    /// For every length the journal can be cut to, with the document as it was at some revision.
    #[test]
    fn a_cut_journal_gives_its_last_whole_write_or_says_it_is_damaged(
        seed: u64, length in 20_usize..=60, at in 0.0..1.0_f64
    ) {
        let history = History::random(seed, length);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
            reason = "a share of a small number")]
        let revision = 1 + (at * (history.states.len() - 1) as f64) as usize;
        // No document is ever written in the middle of a write.
        let revision = history.acknowledged(revision);
        history.set_document(revision);
        for cut in (0..=history.journal.len()).rev() {
            history.set_journal(&history.journal[..cut]);
            let whole = history.ends.iter().filter(|end| **end <= cut).count();
            match history.store.load(&id()) {
                Ok(loaded) => {
                    prop_assert!(whole >= revision, "a shorter journal was accepted at {}", cut);
                    let known = history.acknowledged(whole);
                    prop_assert_eq!(&loaded.session, &history.states[known - 1], "cut at {}", cut);
                    let torn = cut > history.ends[known - 1];
                    let noted = matches!(loaded.notes.as_slice(), [Note::TornTail { .. }]);
                    prop_assert_eq!(torn, noted, "cut at {}: {:?}", cut, loaded.notes);
                }
                Err(StoreError::Journal { source: JournalError::Short { line, .. }, .. }) => {
                    prop_assert!(whole < revision, "a whole journal was refused at {}", cut);
                    prop_assert_eq!(line, history.acknowledged(whole) as u64);
                }
                Err(other) => prop_assert!(false, "cut at {}: {:?}", cut, other),
            }
        }
    }

    /// A power cut in the middle of a write of several lines may keep its end and lose its
    /// beginning: the file is as long as it should be, and zero where pages were not written.
    #[test]
    fn a_last_write_that_lost_its_beginning_is_no_damage(seed: u64, length in 10_usize..=40) {
        let history = History::random(seed, length);
        let mut generator = Generator::new(seed);
        let mut recorder = history.store.open_record(&id(), &pen(), &moment(99_000)).unwrap();
        let Some(first) = generator.legal(recorder.session(), |_| {}) else { return Ok(()) };
        let kinds = two_legal(&mut generator, &recorder, first);
        prop_assume!(kinds.len() > 1);
        let before = recorder.session().clone();
        recorder.record(kinds, &moment(99_000)).unwrap();
        drop(recorder);
        history.set_document(history.states.len());
        let journal = read(&history.store, &history.store.home().journal(&id()));
        let start = history.journal.len();
        for lost in (start + 1..=journal.len()).step_by(7).chain([journal.len()]) {
            let mut cut = journal.clone();
            cut[start..lost].fill(0);
            history.set_journal(&cut);
            let loaded = history.store.load(&id()).unwrap();
            prop_assert_eq!(&loaded.session, &before, "lost up to {}", lost - start);
            prop_assert_eq!(loaded.notes.len(), 1);
        }
        // Whoever writes next does so behind what was acknowledged.
        let recorder = history.store.open_record(&id(), &pen(), &moment(99_001)).unwrap();
        prop_assert_eq!(recorder.session(), &before);
        drop(recorder);
        prop_assert!(history.store.verify(&id()).is_ok());
    }

    /// Whatever a session takes in together it can forget again.
    #[test]
    fn events_that_could_not_be_written_leave_no_trace(seed: u64, length in 10_usize..=60) {
        let history = History::random(seed, length);
        let events = history.store.journal(&id()).unwrap().unwrap().events;
        for from in 0..events.len() - 1 {
            for to in from + 1..events.len().min(from + 5) {
                let mut session = history.states[from].clone();
                let undo = session.apply_all(&events[from + 1..=to]).unwrap();
                prop_assert_eq!(&session, &history.states[to]);
                session.undo(undo);
                prop_assert_eq!(&session, &history.states[from]);
            }
        }
    }

    /// For every byte, one bit of it changed.
    #[test]
    fn a_changed_byte_is_reported_with_its_line(
        seed: u64, length in 10_usize..=60, bit in 0_u8..8
    ) {
        let history = History::random(seed, length);
        let revision = history.states.len() / 2;
        history.set_document(revision);
        let last_write = history.last_write();
        let file = history.store.fs().open_write(&history.store.home().journal(&id())).unwrap();
        for at in 0..history.journal.len() {
            let original = history.journal[at];
            file.write_all_at(&[original ^ (1 << bit)], at as u64).unwrap();
            let expected = history.line_of(at);
            match history.store.verify(&id()) {
                Err(StoreError::Journal { source: JournalError::Line { line, .. }, .. }) => {
                    prop_assert_eq!(line, expected, "byte {}", at);
                }
                other => prop_assert!(false, "byte {}: {:?}", at, other),
            }
            // A load looks only at what the document has not taken in: it finds the damage there,
            // says so, and never makes anything of it.
            match history.store.load(&id()) {
                Ok(loaded) if expected <= revision as u64 => {
                    prop_assert_eq!(&loaded.session, history.states.last().unwrap());
                }
                Ok(loaded) => {
                    let noted = matches!(loaded.notes.as_slice(), [Note::BadTail { .. }]);
                    prop_assert!(noted && expected >= last_write, "byte {}", at);
                    let before = usize::try_from(expected).unwrap() - 2;
                    prop_assert_eq!(&loaded.session, &history.states[before]);
                }
                Err(error) => prop_assert!(error.is_damage(), "byte {}: {:?}", at, error),
            }
            file.write_all_at(&[original], at as u64).unwrap();
        }
    }
}

/// The same through the binary, at the places that differ: the exit code and the words.
#[test]
fn the_binary_says_which_line_is_bad_and_exits_with_6() {
    let home = Home::new().damaged();
    assert_eq!(home.play(walk_script()).code, Some(0));
    let journal = std::fs::read(home.journal(ID)).unwrap();
    let ends: Vec<_> = (0..journal.len()).filter(|at| journal[*at] == b'\n').collect();

    let mut changed = journal.clone();
    changed[ends[6] + 20] ^= 1;
    std::fs::write(home.journal(ID), &changed).unwrap();
    let output = home.run(&["history", ID, "--verify"]);
    assert_eq!(output.code, Some(6), "{}", output.stderr);
    assert!(output.stderr.contains("line 8: its chain does not fit"), "{}", output.stderr);
    assert_eq!(home.run(&["history", ID]).code, Some(6));

    std::fs::write(home.journal(ID), &journal[..ends[20] + 5]).unwrap();
    for command in ["status", "history"] {
        let arguments =
            if command == "history" { vec![command, ID, "--verify"] } else { vec![command, ID] };
        let output = home.run(&arguments);
        assert_eq!(output.code, Some(6), "{}", output.stderr);
        assert!(output.stderr.contains("it ends after line 21"), "{}", output.stderr);
    }
    assert_eq!(std::fs::read(home.journal(ID)).unwrap(), &journal[..ends[20] + 5]);
}
