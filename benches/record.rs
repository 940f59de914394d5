//! What recording, loading and listing cost, next to a plain append and fdatasync in the same run.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark makes files, tells the time and prints"
)]

use std::{
    fs,
    hint::black_box,
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use agentic_provision::{
    disk::{Fs, Holder},
    engine::Clock,
    model::{
        Agent, Arch, EventKind, Extra, Machine, Phase, PlannedTask, SessionCreated, SessionId,
        VERSION,
    },
    store::{Home, Pen, Store},
};

fn main() {
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    println!("{:<46} {:>12} {:>22}", "what", "time", "ratio");
    recording(disk.path());
    let memory = if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" };
    for count in [100, 10_000] {
        let home = tempfile::tempdir_in(memory).unwrap();
        reading(home.path(), count);
    }
    let home = tempfile::tempdir_in(memory).unwrap();
    loading_a_long_session(home.path());
    let home = tempfile::tempdir_in(memory).unwrap();
    recording_in_a_large_session(home.path());
}

fn row(what: &str, time: Duration, ratio: &str) {
    let micros = time.as_secs_f64() * 1e6;
    println!("{what:<46} {micros:>9.1} µs {ratio:>22}");
}

fn ratio(time: Duration, baseline: Duration, what: &str) -> String {
    format!("{:.3} × {what}", time.as_secs_f64() / baseline.as_secs_f64())
}

/// The best of a few runs: the others were disturbed.
fn best(runs: usize, mut run: impl FnMut() -> Duration) -> Duration {
    (0..runs).map(|_| run()).min().unwrap()
}

fn recording(place: &Path) {
    const COUNT: u32 = 1000;
    let line = [b'x'; 280];
    let baseline = best(3, || {
        let mut file = fs::File::create(place.join("plain")).unwrap();
        let start = Instant::now();
        for _ in 0..COUNT {
            file.write_all(&line).unwrap();
            file.sync_data().unwrap();
        }
        start.elapsed() / COUNT
    });
    row("plain append of 280 bytes + fdatasync", baseline, "");
    let clock = Clock::system();
    let mut run = 0;
    for batch in [1, 8] {
        let time = best(3, || {
            run += 1;
            let store = store(&place.join(format!("home-{run}")));
            let id = session_id(run);
            let (mut recorder, _) = store.create(&id, &pen(), created(&id), &clock.now()).unwrap();
            let start = Instant::now();
            for _ in 0..COUNT / batch {
                let kinds = (0..batch).map(|_| remark()).collect();
                black_box(recorder.record(kinds, &clock.now()).unwrap());
            }
            start.elapsed() / COUNT
        });
        let what = format!("one recorded event, {batch} to a sync");
        row(&what, time, &ratio(time, baseline, "plain"));
    }
}

fn reading(place: &Path, count: u32) {
    let store = store(&place.join("home"));
    let clock = Clock::system();
    for number in 0..count {
        let id = session_id(number);
        let (mut recorder, _) = store.create(&id, &pen(), created(&id), &clock.now()).unwrap();
        recorder.record((0..20).map(|_| remark()).collect(), &clock.now()).unwrap();
        recorder.close().unwrap();
    }
    let timed = |run: &dyn Fn()| {
        best(5, || {
            let start = Instant::now();
            run();
            start.elapsed()
        })
    };
    let plain = timed(&|| {
        for entry in fs::read_dir(place.join("home/sessions/active")).unwrap() {
            black_box(fs::read(entry.unwrap().path()).unwrap());
        }
    });
    row(&format!("plain read of {count} documents"), plain, "");
    let all = timed(&|| drop(black_box(store.list(None).unwrap())));
    row(&format!("list all of {count} sessions"), all, &ratio(all, plain, "plain read"));
    let newest = timed(&|| drop(black_box(store.list(Some(50)).unwrap())));
    row(&format!("list the newest 50 of {count}"), newest, &ratio(newest, plain, "plain read"));
    let id = session_id(count / 2);
    let load = timed(&|| drop(black_box(store.load(&id).unwrap())));
    row(&format!("load one of {count} sessions"), load, "");
}

fn loading_a_long_session(place: &Path) {
    let store = store(&place.join("home"));
    let clock = Clock::system();
    let id = session_id(0);
    let (mut recorder, _) = store.create(&id, &pen(), created(&id), &clock.now()).unwrap();
    for _ in 0..10_000 {
        recorder.record(vec![remark()], &clock.now()).unwrap();
    }
    drop(recorder);
    let journal = best(3, || {
        let start = Instant::now();
        black_box(store.journal(&id).unwrap());
        start.elapsed()
    });
    row("verify a journal of 10,000 events", journal, "");
    store.open_record(&id, &pen(), &clock.now()).unwrap().close().unwrap();
    let load = best(3, || {
        let start = Instant::now();
        black_box(store.load(&id).unwrap());
        start.elapsed()
    });
    row("load a session of 10,000 events", load, &ratio(load, journal, "verify"));
}

/// Whether a session of many tasks costs more per event than a small one; in memory, where there
/// is no sync to hide it.
fn recording_in_a_large_session(place: &Path) {
    const COUNT: u32 = 1000;
    let clock = Clock::system();
    let mut baseline = [Duration::ZERO; 2];
    for (run, tasks) in [10, 10_000].into_iter().enumerate() {
        let store = store(&place.join(format!("home-{tasks}")));
        let id = session_id(0);
        let (mut recorder, _) = store.create(&id, &pen(), created(&id), &clock.now()).unwrap();
        recorder.record(planned(tasks), &clock.now()).unwrap();
        for (column, batch) in [1, 2].into_iter().enumerate() {
            let time = best(5, || {
                let start = Instant::now();
                for _ in 0..COUNT / batch {
                    let kinds = (0..batch).map(|_| remark()).collect();
                    black_box(recorder.record(kinds, &clock.now()).unwrap());
                }
                start.elapsed() / COUNT
            });
            let what = format!("one event, {batch} to a sync, among {tasks} tasks");
            if run == 0 {
                baseline[column] = time;
                row(&what, time, "");
            } else {
                row(&what, time, &ratio(time, baseline[column], "among 10"));
            }
        }
    }
}

/// The events of a walk up to a presented plan of `tasks` tasks.
fn planned(tasks: usize) -> Vec<EventKind> {
    let done = |phase| EventKind::PhaseCompleted {
        phase,
        evidence: Extra::new(),
        outputs: Extra::new(),
        commands_executed: Vec::new(),
    };
    let task =
        |number| PlannedTask { task_id: format!("task-{number}").parse().unwrap(), commands: 1 };
    vec![
        done(Phase::SessionCheck),
        done(Phase::StackSelection),
        done(Phase::GatherRequirements),
        EventKind::PlanPresented {
            digest: "d".repeat(64).parse().unwrap(),
            categories: Vec::new(),
            tasks: (0..tasks).map(task).collect(),
            manifest_digests: indexmap::IndexMap::new(),
        },
    ]
}

fn store(home: &Path) -> Store {
    Store::open(Fs::real(), Home::new(home)).unwrap()
}

fn session_id(number: u32) -> SessionId {
    format!("prov-20260202-{:06}-{:04x}", number / 65536, number % 65536).parse().unwrap()
}

fn pen() -> Pen {
    let holder =
        Holder { pid: std::process::id(), started_at: String::new(), command: "bench".into() };
    Pen { holder, patience: Duration::ZERO }
}

fn remark() -> EventKind {
    EventKind::ErrorRecorded {
        error: "something of the usual length that is told in a line".into(),
    }
}

fn created(id: &SessionId) -> EventKind {
    EventKind::SessionCreated(Box::new(SessionCreated {
        format: VERSION.into(),
        session_id: id.clone(),
        machine: Machine {
            hostname: "bench".into(),
            os_version: "1".into(),
            arch: Arch::X86_64,
            chip: String::new(),
            machine_id: None,
            extra: Extra::new(),
        },
        agent: Agent::unattended(),
        objective: None,
        branch: None,
        starting_commit: None,
        expanded_from: None,
    }))
}
