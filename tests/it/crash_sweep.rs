//! The real binary, killed without warning again and again while it records: nothing that it
//! acknowledged is ever lost, and the record is readable after every death.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read},
    os::unix::process::ExitStatusExt,
    process::Stdio,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use agentic_provision::model::SessionId;
use serde_json::Value;

use crate::harness::{Generator, Home, seed, soak, walk_script};

const KILLS_PER_STEP: usize = 20;

/// What the process was about when it died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    BeforeAppend,
    BetweenAppendAndAcknowledgement,
    Snapshot,
    Move,
}

impl Step {
    /// The step that a trace line begins; `None` for other lines.
    fn begun_by(line: &str) -> Option<Self> {
        let (_, step) = line.split_once("step=\"")?;
        Some(match step.trim_end().trim_end_matches('"') {
            "append" | "acknowledged" => Self::BeforeAppend,
            "appended" | "snapshot-saved" | "moved" => Self::BetweenAppendAndAcknowledgement,
            "snapshot" => Self::Snapshot,
            "move" => Self::Move,
            other => panic!("unknown step {other}"),
        })
    }
}

/// One life of the process.
struct Life {
    killed: bool,
    died_in: Step,
    /// The whole lines it told, each an event it said was durable.
    told: Vec<String>,
    finished: bool,
}

/// Starts the process and kills it `delay` after it has begun a `target` for the `nth` time.
fn live(home: &Home, id: &SessionId, target: Step, nth: usize, delay: Duration) -> Life {
    let script = home.path().join("script.jsonl");
    let arguments = ["-v", "__script", "--session", id.as_str(), script.to_str().unwrap()];
    let mut child =
        home.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let told = thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        text
    });
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let (begun, reached) = mpsc::channel();
    let last = thread::spawn(move || {
        let (mut last, mut seen) = (Step::BeforeAppend, 0);
        for step in stderr.lines().filter_map(|line| Step::begun_by(&line.unwrap())) {
            last = step;
            seen += usize::from(step == target);
            if step == target && seen == nth {
                // Nobody listens any more if the process has died of something else.
                let _ = begun.send(());
            }
        }
        last
    });
    if reached.recv().is_ok() {
        let start = Instant::now();
        while start.elapsed() < delay {
            std::hint::spin_loop();
        }
        // It may have finished by itself meanwhile: then this kills nobody.
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    let text = told.join().unwrap();
    let told = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    Life {
        killed: status.signal() == Some(9),
        died_in: last.join().unwrap(),
        told: told.map(str::to_owned).collect(),
        finished: status.success(),
    }
}

/// What must be true after every death.
fn check(home: &Home, id: &SessionId, told: &[String]) {
    let history = home.run(&["--json", "history", id.as_str()]);
    if told.is_empty() && history.code == Some(2) {
        return;
    }
    assert_eq!(history.code, Some(0), "{}", history.stderr);
    let journal: Vec<_> = history.stdout.split_inclusive('\n').collect();
    for (number, line) in told.iter().enumerate() {
        assert_eq!(Some(&line.as_str()), journal.get(number), "event {} is lost", number + 1);
    }
    let status = home.json(&["status", id.as_str()]);
    assert_eq!(status["session_id"], id.as_str());
    let list = home.json(&["sessions", "--all"]);
    assert_eq!(list["unreadable"], Value::Array(Vec::new()));
    let mine = list["sessions"].as_array().unwrap().iter().filter(|s| s["id"] == id.as_str());
    assert_eq!(mine.count(), 1, "exactly one copy is listed");
    assert_eq!(home.run(&["history", id.as_str(), "--verify"]).code, Some(0));
}

#[test]
fn killed_at_any_moment_it_loses_nothing_it_acknowledged() {
    let mut chance = Generator::new(seed("crash sweep"));
    let targets =
        [Step::BeforeAppend, Step::BetweenAppendAndAcknowledgement, Step::Snapshot, Step::Move];
    let mut kills = BTreeMap::<Step, usize>::new();
    let mut sessions = 0;
    let wanted_kills = if soak() { 10_000 } else { 500 };
    let enough = |kills: &BTreeMap<Step, usize>| {
        kills.values().sum::<usize>() >= wanted_kills
            && targets.iter().all(|step| kills.get(step) >= Some(&KILLS_PER_STEP))
    };
    // On a real disk: a sync then takes long enough to be hit.
    let mut home = Home::on_disk();
    while !enough(&kills) {
        // A home for every fifty sessions keeps the list short.
        if sessions % 50 == 0 {
            home = Home::on_disk();
            home.script("script.jsonl", walk_script());
        }
        sessions += 1;
        assert!(sessions < 100_000, "some step is never hit: {kills:?}");
        let id: SessionId = format!("prov-20260202-143052-{sessions:04x}").parse().unwrap();
        let mut told = Vec::new();
        loop {
            // The rarest step is aimed at most.
            let wanted = targets.iter().min_by_key(|step| kills.get(step).copied().unwrap_or(0));
            let any = targets[chance.draw(targets.len())];
            let target = if chance.draw(2) == 0 { *wanted.unwrap() } else { any };
            let nth = 1 + chance.draw(if target == Step::Move { 2 } else { 12 });
            let delay = Duration::from_micros(chance.draw(400) as u64);
            let life = live(&home, &id, target, nth, delay);
            assert!(life.killed || life.finished, "it died of something else");
            // Each life tells all events from the first: it must begin with what was told before.
            assert!(life.told.len() >= told.len() || life.killed);
            if life.told.len() > told.len() {
                assert!(life.told.starts_with(&told));
                told = life.told;
            }
            if life.killed {
                *kills.entry(life.died_in).or_default() += 1;
                check(&home, &id, &told);
            }
            if life.finished {
                break;
            }
        }
    }
    let total: usize = kills.values().sum();
    println!("crash sweep: {total} kills of a live process in {sessions} sessions: {kills:?}");
}
