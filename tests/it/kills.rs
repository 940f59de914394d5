//! Runs that are killed without warning, again and again, while they execute commands that must not
//! run twice.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::Stdio,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::harness::{Generator, Home, processes, seed, soak, stub, wait_until};

const KILLS_PER_STEP: usize = 20;
const TASKS: usize = 2;
const COMMANDS: usize = 2;

/// What a run was about when it died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    StartedToClaim,
    ClaimToSpawn,
    Running,
    Result,
    Finish,
    Snapshot,
    Move,
    /// Before the first command, and between two.
    Other,
}

const STEPS: [Step; 7] = [
    Step::StartedToClaim,
    Step::ClaimToSpawn,
    Step::Running,
    Step::Result,
    Step::Finish,
    Step::Snapshot,
    Step::Move,
];

impl Step {
    /// The step that follows `before` when a run says `line`.
    fn after(before: Self, line: &str) -> Self {
        let Some((_, step)) = line.split_once("step=\"") else { return before };
        match step.trim_end().trim_end_matches('"') {
            "started" => Self::StartedToClaim,
            "claimed" => Self::ClaimToSpawn,
            "spawned" => Self::Running,
            "result" => Self::Result,
            "append" | "appended" if matches!(before, Self::Result | Self::Finish) => Self::Finish,
            "snapshot" => Self::Snapshot,
            "move" => Self::Move,
            _ => Self::Other,
        }
    }
}

/// When a run is killed.
#[derive(Clone, Copy, Debug)]
enum When {
    /// So long after it began.
    After(Duration),
    /// So long after it came to a step.
    In(Step, Duration),
    Never,
}

struct Life {
    killed: bool,
    died_in: Step,
    code: Option<i32>,
    /// The events it said were durable.
    told: Vec<Value>,
    stderr: String,
}

fn live(home: &Home, arguments: &[&str], when: When) -> Life {
    let arguments = [&["-v", "--json"], arguments].concat();
    let mut child =
        home.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    let mut stdout = child.stdout.take().unwrap();
    let told = thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        text
    });
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let (came, reached) = mpsc::channel();
    let talk = thread::spawn(move || {
        let (mut last, mut text) = (Step::Other, String::new());
        for line in stderr.lines() {
            let line = line.unwrap();
            let step = Step::after(last, &line);
            if let When::In(wanted, _) = when
                && step == wanted
                && last != wanted
            {
                let _ = came.send(());
            }
            last = step;
            text.push_str(&line);
            text.push('\n');
        }
        (last, text)
    });
    let due = match when {
        When::Never => None,
        When::After(delay) => Some(began + delay),
        When::In(_, delay) => reached.recv().is_ok().then(|| Instant::now() + delay),
    };
    if let Some(due) = due {
        if let Some(long) = due.checked_duration_since(Instant::now() + Duration::from_millis(1)) {
            thread::sleep(long);
        }
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        // It may have ended by itself meanwhile: then this kills nobody.
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    let told = told.join().unwrap();
    let whole = told.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let told = whole.map(|line| serde_json::from_str(line).unwrap()).collect();
    let (died_in, stderr) = talk.join().unwrap();
    Life { killed: status.signal() == Some(9), died_in, code: status.code(), told, stderr }
}

fn tag(task: usize, command: usize) -> String {
    format!("task-{task}.{command}")
}

/// Each command writes its name behind those before it, and takes up to 20 ms.
fn plan(home: &Home, chance: &mut Generator) -> (PathBuf, PathBuf) {
    let witness = home.path().join("witness");
    let _ = fs::remove_file(&witness);
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let commands: Vec<_> = (0..COMMANDS)
                .map(|command| {
                    let (tag, file) = (tag(task, command), witness.display());
                    let before = chance.draw(10);
                    let after = chance.draw(10);
                    json!({"command": format!(
                        "sleep 0.00{before}; echo {tag} >> '{file}'; echo out-{tag}; sleep 0.00{after}"
                    )})
                })
                .collect();
            json!({"id": format!("task-{task}"), "commands": commands})
        })
        .collect();
    (home.plan(&json!(tasks)), witness)
}

/// How often each command ran.
fn counts(witness: &Path) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in fs::read_to_string(witness).unwrap_or_default().lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    counts
}

/// The only session of the home; `None` if the run died before there was one. A name that was
/// reserved and never used is none.
fn session(home: &Home) -> Option<String> {
    let records = fs::read_dir(home.path().join("records")).ok()?;
    let ids = records.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut sessions = ids.filter(|id| home.run(&["status", id]).code == Some(0));
    let id = sessions.next();
    assert_eq!(sessions.next(), None, "one home, one session");
    id
}

fn assert_told_is_recorded(home: &Home, id: &str, told: &[Value]) {
    let events = home.events(id);
    for event in told.iter().filter(|event| event["event"] != "run_ended") {
        let seq = usize::try_from(event["seq"].as_u64().unwrap()).unwrap();
        assert_eq!(events.get(seq - 1), Some(event), "an acknowledged event is lost");
    }
}

fn status(home: &Home, id: &str) -> String {
    home.json(&["status", id])["status"].as_str().unwrap().to_owned()
}

/// What is executed while runs are killed, and how it is looked at afterwards.
struct Trial {
    jobs: &'static str,
    plan: fn(&Home, &mut Generator) -> (PathBuf, PathBuf),
    /// Looks at what was executed and at its record; says how many results were taken up.
    check: fn(&Value, &Path) -> usize,
}

fn kill_and_resume(trial: &Trial, chance: &mut Generator) {
    let wanted = if soak() { 10_000 } else { 300 };
    let mut kills = BTreeMap::<Step, usize>::new();
    let mut sessions = 0;
    let mut recovered = 0;
    let jobs = ["--yes", "--jobs", trial.jobs];
    while kills.values().sum::<usize>() < wanted
        || STEPS.iter().any(|step| kills.get(step).copied().unwrap_or(0) < KILLS_PER_STEP)
    {
        sessions += 1;
        assert!(sessions < 20_000, "some step is never hit: {kills:?}");
        let home = Home::on_disk();
        let (plan, witness) = (trial.plan)(&home, chance);
        let mut told = Vec::new();
        let mut lives = 0;
        loop {
            let id = session(&home);
            if id.as_deref().is_some_and(|id| status(&home, id) == "completed") {
                break;
            }
            lives += 1;
            // Some step that is rare as yet, or any moment at all; at last to the end.
            let rarest = STEPS.iter().min_by_key(|step| kills.get(step).copied().unwrap_or(0));
            let when = match chance.draw(3) {
                _ if lives > 12 => When::Never,
                0 => When::After(Duration::from_micros(chance.draw(60_000) as u64)),
                1 => When::In(*rarest.unwrap(), Duration::from_micros(chance.draw(400) as u64)),
                _ => {
                    let step = STEPS[chance.draw(STEPS.len())];
                    When::In(step, Duration::from_micros(chance.draw(3_000) as u64))
                }
            };
            let first = match &id {
                None => ["apply", plan.to_str().unwrap()],
                // A run that died before it recorded the approval needs it again.
                Some(id) => ["resume", id],
            };
            let life = live(&home, &[&first[..], &jobs].concat(), when);
            if life.killed {
                *kills.entry(life.died_in).or_default() += 1;
            } else {
                assert_eq!(life.code, Some(0), "{}", life.stderr);
            }
            told.extend(life.told);
        }
        let id = session(&home).unwrap();
        // One that died on the last step of all left the document on the wrong shelf: whoever
        // comes next puts it right, though there is nothing to resume.
        assert_eq!(home.run(&["resume", &id]).code, Some(2));
        assert_told_is_recorded(&home, &id, &told);
        assert_eq!(home.run(&["history", &id, "--verify"]).code, Some(0));
        recovered += (trial.check)(&home.document("completed", &id), &witness);
    }
    let all: usize = kills.values().sum();
    println!("{all} kills in {sessions} sessions, {recovered} results taken up: {kills:?}");
    assert!(recovered > 0, "no kill ever left a result to be taken up");
}

#[test]
fn killed_at_any_moment_a_run_is_resumed_and_every_command_runs_exactly_once() {
    let mut chance = Generator::new(seed("kills of the runner"));
    let check = |document: &Value, witness: &Path| {
        let expected: Vec<_> = (0..TASKS)
            .flat_map(|task| (0..COMMANDS).map(move |command| tag(task, command)))
            .collect();
        let ran = fs::read_to_string(witness).unwrap();
        assert_eq!(ran.lines().collect::<Vec<_>>(), expected, "each once, in order");
        let mut recovered = 0;
        for task in 0..TASKS {
            let record = &document["tasks"][format!("task-{task}")];
            assert_eq!(record["status"], "completed");
            for command in 0..COMMANDS {
                let record = &record["commands"][command];
                assert_eq!(record["output_summary"], format!("out-{}", tag(task, command)));
                recovered += is_taken_up(record);
            }
        }
        recovered
    };
    kill_and_resume(&Trial { jobs: "1", plan, check }, &mut chance);
}

/// Looks at the record of a command that ran once; whether its result was taken up.
fn is_taken_up(record: &Value) -> usize {
    assert_eq!(record["status"], "success", "{record}");
    assert_eq!(record["exit_code"], 0);
    assert_eq!(record["outcome"], "exited");
    assert_eq!(record["retry_count"], 0, "{record}");
    usize::from(record["recovered"] == true)
}

/// Tasks that stand alone, one that needs another, two that share a lock, and three whose packages
/// are installed in one call. Each command writes its name behind those before it, and says so when
/// it runs beside one that it must not run beside.
fn plan_side_by_side(home: &Home, chance: &mut Generator) -> (PathBuf, PathBuf) {
    let witness = home.path().join("witness");
    let _ = fs::remove_file(&witness);
    let file = witness.display().to_string();
    let lock = home.path().join("in-use").display().to_string();
    let mut nap = || format!("sleep 0.00{}", chance.draw(10));
    let mut says = |tag: &str| {
        let (before, after) = (nap(), nap());
        json!({"command": format!("{before}; echo {tag} >> '{file}'; echo out-{tag}; {after}")})
    };
    let mut tasks: Vec<_> = (0..2)
        .map(|task| {
            let commands = [says(&format!("alone-{task}.0")), says(&format!("alone-{task}.1"))];
            json!({"id": format!("alone-{task}"), "commands": commands})
        })
        .collect();
    let first = format!("grep -qx alone-0.1 '{file}' || echo too-early >> '{file}'");
    let mut needs = says("needs.0");
    needs["command"] = json!(format!("{first}; {}", needs["command"].as_str().unwrap()));
    tasks.push(json!({"id": "needs", "depends_on": ["alone-0"], "commands": [needs]}));
    for number in 0..2 {
        let mut command = says(&format!("lock-{number}.0"));
        let text = command["command"].as_str().unwrap().to_owned();
        let held = format!("mkdir '{lock}' || echo both >> '{file}'; {text}; rmdir '{lock}'");
        command["command"] = json!(held);
        command["locks"] = json!(["x"]);
        tasks.push(json!({"id": format!("lock-{number}"), "commands": [command]}));
    }
    let stubs = home.path().join("stubs");
    let installs = format!(
        "shift 2; echo call-of-$# >> '{file}'; for p; do sleep 0.003; echo $p.0 >> '{file}'; done"
    );
    stub(&stubs, "npm", &installs);
    for number in 0..3 {
        tasks.push(json!({
            "id": format!("pack-{number}"), "path": [&stubs],
            "packages": {"manager": "npm", "names": [format!("pack-{number}")]},
            "commands": [{"command": format!("npm install --global pack-{number}"),
                "idempotent": true, "locks": ["npm"]}],
        }));
    }
    (home.plan(&json!(tasks)), witness)
}

#[test]
fn killed_at_any_moment_tasks_side_by_side_are_resumed_and_every_command_runs_exactly_once() {
    let mut chance = Generator::new(seed("kills of a runner with several tasks"));
    let check = |document: &Value, witness: &Path| {
        let mut recovered = 0;
        let mut expected = BTreeMap::from([("call-of-3".to_owned(), 1)]);
        for (id, task) in document["tasks"].as_object().unwrap() {
            assert_eq!(task["status"], "completed");
            for (index, record) in task["commands"].as_array().unwrap().iter().enumerate() {
                expected.insert(format!("{id}.{index}"), 1);
                recovered += is_taken_up(record);
            }
        }
        // Nothing twice, and no word of what must not be.
        assert_eq!(counts(witness), expected);
        assert_eq!(expected.len(), 11);
        let calls: Vec<_> =
            (0..3).map(|n| &document["tasks"][format!("pack-{n}")]["commands"][0]["log"]).collect();
        assert!(calls.iter().all(|log| *log == calls[0]), "one call for three: {calls:?}");
        recovered
    };
    kill_and_resume(&Trial { jobs: "4", plan: plan_side_by_side, check }, &mut chance);
}

/// Every process that a run of this session left: supervisors, and the commands they run.
fn left_by(id: &str, cookies: &[String]) -> (Vec<u32>, Vec<u32>) {
    let supervisors = processes::with_in_command_line(&["__supervise", id]);
    let commands = cookies.iter().flat_map(|cookie| processes::with_in_environment(cookie));
    (supervisors, commands.collect())
}

fn kill(pids: &[u32]) {
    for pid in pids {
        processes::signal(*pid, "KILL");
    }
}

#[test]
fn when_the_supervisor_dies_too_nothing_runs_twice_unasked_and_every_such_attempt_is_reported() {
    let mut chance = Generator::new(seed("kills of runner and supervisor"));
    let wanted = if soak() { 500 } else { 40 };
    let (mut unknown, mut sessions) = (0, 0);
    while unknown < wanted {
        sessions += 1;
        assert!(sessions < 5_000, "the supervisor is never hit");
        let home = Home::new();
        let (plan, witness) = plan(&home, &mut chance);
        let delay = Duration::from_micros(chance.draw(15_000) as u64);
        let step = [Step::ClaimToSpawn, Step::Running][chance.draw(2)];
        let apply = ["apply", plan.to_str().unwrap(), "--yes", "--jobs", "1"];
        let first = live(&home, &apply, When::In(step, delay));
        let Some(id) = session(&home) else { continue };
        let starts = |home: &Home| -> Vec<Value> {
            let events = home.events(&id).into_iter();
            events.filter(|event| event["event"] == "command_started").collect()
        };
        let cookies: Vec<_> =
            starts(&home).iter().map(|e| e["cookie"].as_str().unwrap().to_owned()).collect();
        let (supervisors, commands) = left_by(&id, &cookies);
        kill(&supervisors);
        if chance.draw(2) == 0 {
            kill(&commands);
        }
        wait_until("the death of the supervisors", || left_by(&id, &[]).0.is_empty());
        // What the attempts' own files say: claimed, and no result.
        let lost: Vec<_> = starts(&home)
            .into_iter()
            .filter(|start| {
                let attempt = home.record(&id).join(format!("attempts/{}", start["seq"]));
                attempt.join("claim").exists() && !attempt.join("result").exists()
            })
            .collect();
        let second = live(&home, &["resume", &id, "--yes"], When::Never);
        if lost.is_empty() {
            assert_eq!(second.code, if first.code == Some(0) { Some(2) } else { Some(0) });
            continue;
        }
        unknown += lost.len();
        assert_eq!(second.code, Some(4), "{}", second.stderr);
        assert_eq!(status(&home, &id), "paused");
        let ends: Vec<_> = home
            .events(&id)
            .into_iter()
            .filter(|event| event["outcome"] == "indeterminate")
            .map(|event| event["started_seq"].clone())
            .collect();
        assert_eq!(ends, lost.iter().map(|start| start["seq"].clone()).collect::<Vec<_>>());
        assert!(counts(&witness).values().all(|count| *count == 1), "nothing ran twice unasked");
        // Asked again without an answer, it waits again.
        assert_eq!(home.run(&["resume", &id]).code, Some(4));
        let answer = ["retry", "skip"][chance.draw(2)];
        let last = live(&home, &["resume", &id, "--interrupted", answer], When::Never);
        assert_eq!(last.code, Some(0), "{}", last.stderr);
        let asked =
            format!("{}.{}", lost[0]["task_id"].as_str().unwrap(), lost[0]["command_index"]);
        for (tag, count) in counts(&witness) {
            let most = if tag == asked && answer == "retry" { 2 } else { 1 };
            assert!(count <= most, "{tag} ran {count} times");
        }
        let task = &home.document("completed", &id)["tasks"][lost[0]["task_id"].as_str().unwrap()];
        assert_eq!(task["status"], if answer == "skip" { "skipped" } else { "completed" });
        told_and_verified(&home, &id, &[first.told, second.told, last.told].concat());
    }
    println!("{unknown} attempts without an end in {sessions} sessions");
}

fn told_and_verified(home: &Home, id: &str, told: &[Value]) {
    assert_told_is_recorded(home, id, told);
    assert_eq!(home.run(&["history", id, "--verify"]).code, Some(0));
}
