//! A profile set up with the real apt, on an overlay of this machine: all of it, nothing twice, and
//! to the end also if it is killed on the way.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Stdio},
};

use serde_json::{Value, json};

use crate::harness::{overlay::Overlay, processes, wait_until};

const START: [&str; 5] = ["provision", "start", "essentials", "--yes", "--no-input"];
const METHODS: &str = "/usr/lib/apt/methods/";

/// What apt has to do in every test: the task, its package, and the programs any of which would do.
pub const WANTED: [(&str, &str, &[&str]); 8] = [
    ("unzip", "unzip", &["unzip"]),
    ("ripgrep", "ripgrep", &["rg"]),
    ("fd", "fd-find", &["fd", "fdfind"]),
    ("bat", "bat", &["bat", "batcat"]),
    ("fzf", "fzf", &["fzf"]),
    ("jq", "jq", &["jq"]),
    ("tree", "tree", &["tree"]),
    ("htop", "htop", &["htop"]),
];

fn bare_machine() -> Option<Overlay> {
    bare_machine_with(&[])
}

/// This machine as if nobody had ever installed what is wanted, with these places of the real one.
pub fn bare_machine_with(shared: &[PathBuf]) -> Option<Overlay> {
    let machine = Overlay::with_apt_and(shared)?;
    let packages = WANTED.iter().map(|(_, package, _)| *package);
    let there: Vec<_> = packages.filter(|package| is_installed(&machine, package)).collect();
    if !there.is_empty() {
        let purge = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "purge", "--yes"];
        machine.said(&[&purge, &there[..]].concat());
    }
    // There may be copies that no package brought.
    for program in WANTED.iter().flat_map(|(_, _, programs)| *programs) {
        for directory in Overlay::program_directories() {
            let _ = fs::remove_file(machine.path(&format!("{directory}/{program}")));
        }
    }
    // The index is old. That apt was used lately, as the purge has, does not make it new.
    let lists = ["/var/lib/apt/lists", "/var/lib/apt/lists/partial"];
    machine.said(&[&["touch", "--date", "90 days ago"][..], &lists[..]].concat());
    // What images for containers bring makes apt read the whole index for each command, and the
    // pages of the manual are sorted anew after each package: neither is what is tested here.
    machine.said(&["rm", "-f", "/etc/apt/apt.conf.d/docker-clean", "/var/lib/man-db/auto-update"]);
    for (task, package, programs) in WANTED {
        assert!(!is_installed(&machine, package), "{package} cannot be purged");
        assert!(!is_found(&machine, programs), "{task} is still there");
    }
    Some(machine)
}

pub fn is_installed(machine: &Overlay, package: &str) -> bool {
    // A package that was never known is an error.
    let asked = machine.run(&["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]);
    asked.code == Some(0) && asked.stdout == "installed"
}

pub fn is_found(machine: &Overlay, programs: &[&str]) -> bool {
    programs
        .iter()
        .any(|program| machine.run(&["sh", "-c", "command -v \"$0\"", program]).code == Some(0))
}

/// All that dpkg knows and has done.
fn packages(machine: &Overlay) -> (String, Vec<u8>, Vec<u8>) {
    let list = machine.said(&["dpkg-query", "--show"]);
    let read = |path| fs::read(machine.path(path)).unwrap();
    (list, read("/var/lib/dpkg/status"), read("/var/log/dpkg.log"))
}

/// Everything is there, no package is half installed, and the record says so too.
fn assert_set_up(machine: &Overlay) -> (Value, Vec<Value>) {
    for (task, package, programs) in WANTED {
        assert!(is_installed(machine, package), "{package} is not installed");
        assert!(is_found(machine, programs), "{task} is not found");
    }
    assert_eq!(machine.said(&["dpkg", "--audit"]), "", "some package is half installed");
    machine.said(&["provision", "history", "--verify"]);
    let document = machine.document();
    assert_eq!(document["meta"]["status"], "completed", "{document:#}");
    for (task, record) in document["tasks"].as_object().unwrap() {
        assert_eq!(record["status"], "completed", "{task}: {record:#}");
    }
    (document, machine.events())
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// How often each task's command was begun, whoever else it served. All these tasks have one.
fn attempts(events: &[Value]) -> BTreeMap<&str, u64> {
    let mut attempts = BTreeMap::<_, u64>::new();
    for started in of_kind(events, "command_started") {
        for task in started["task_ids"].as_array().unwrap() {
            *attempts.entry(task.as_str().unwrap()).or_default() += 1;
        }
        assert_eq!(started["attempt"], attempts[started["task_id"].as_str().unwrap()]);
    }
    attempts
}

/// Every task of apt took one attempt, and those of `but` two.
fn assert_attempts(events: &[Value], but: &[String]) {
    let attempts = attempts(events);
    assert!(attempts.contains_key("apt-index"), "the index was not fetched");
    for (task, _, _) in WANTED {
        assert!(attempts.contains_key(task), "{task} was not installed by us");
    }
    for (task, attempts) in attempts {
        let expected = if but.iter().any(|other| other == task) { 2 } else { 1 };
        assert_eq!(attempts, expected, "{task}");
    }
}

#[test]
fn a_profile_is_installed_and_the_second_start_changes_nothing() {
    let Some(machine) = bare_machine() else { return };
    // New machines have none at all.
    machine.said(&["sh", "-c", "rm -rf /var/lib/apt/lists/*"]);
    let first = machine.run(&START);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    println!("{}", first.stderr);
    let (_, events) = assert_set_up(&machine);
    assert_attempts(&events, &[]);
    assert_eq!(of_kind(&events, "command_started").len(), 2, "the index, and one install");
    for finished in of_kind(&events, "command_finished") {
        assert_eq!(finished["status"], "success", "{finished}");
        assert!(finished["command"].as_str().unwrap().starts_with("apt-get "), "{finished}");
    }

    let before = packages(&machine);
    let second = machine.run(&START);
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    println!("{}", second.stderr);
    let (document, again) = assert_set_up(&machine);
    assert_ne!(again[0]["session_id"], events[0]["session_id"], "it is another session");
    assert_eq!(of_kind(&again, "command_started"), Vec::<&Value>::new());
    for (task, record) in document["tasks"].as_object().unwrap() {
        assert_eq!(record["result"]["already_installed"], json!(true), "{task}: {record:#}");
    }
    assert!(packages(&machine) == before, "the second start changed a package");
}

/// A start that was left half way, when its apt had begun to fetch packages; that apt is stopped.
struct Frozen {
    machine: Overlay,
    apt: u32,
    /// The tasks it works for.
    tasks: Vec<String>,
}

impl Frozen {
    /// The one who runs the session is killed, and nobody else.
    fn without_runner() -> Option<Self> {
        let machine = bare_machine()?;
        // One by one there are several calls, and a chance in each to see it fetch.
        let mut start = machine.command(&[&START[..], &["--jobs", "1"]].concat());
        let mut start = start.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(start.stderr.take().unwrap());
        // It has some packages to fetch, and tasks before and behind it.
        wait_for(&mut said, "$ apt-get install -y --no-install-recommends bat");
        let apt = freeze_apt(&machine, &mut start);
        let runners = machine.running_as(&START);
        assert_eq!(runners.len(), 1);
        processes::signal(runners[0], "KILL");
        assert_eq!(start.wait().unwrap().signal(), Some(9));
        let events = machine.events();
        let last = events.last().unwrap();
        assert_eq!(last["event"], "command_started", "nobody recorded how it ended: {last}");
        println!("killed during {}", last["command"]);
        let tasks = serde_json::from_value(last["task_ids"].clone()).unwrap();
        Some(Self { machine, apt, tasks })
    }
}

/// All that was said up to and with a line.
fn wait_for(said: &mut impl BufRead, line: &str) -> String {
    let mut all = String::new();
    while !all.lines().next_back().is_some_and(|last| last.contains(line)) {
        assert!(said.read_line(&mut all).unwrap() > 0, "`{}` was never said:\n{all}", line.trim());
    }
    all
}

/// Stops an apt that fetches packages. One whose dpkg has begun is left alone: a package that is
/// half unpacked asks for more than another attempt.
fn freeze_apt(machine: &Overlay, start: &mut Child) -> u32 {
    let mut frozen = None;
    wait_until("an apt that only fetches packages", || {
        assert_eq!(start.try_wait().unwrap(), None, "it ended, and no apt was seen to fetch");
        let installing = machine.running_as(&["apt-get", "install"]);
        frozen = installing.into_iter().filter(|apt| fetches(*apt)).find(|apt| {
            processes::signal(*apt, "STOP");
            wait_until("its stop", || matches!(processes::state(*apt), None | Some('T' | 'Z')));
            // It may have gone on until then.
            let still = fetches(*apt);
            if !still {
                processes::signal(*apt, "CONT");
            }
            still
        });
        frozen.is_some()
    });
    frozen.unwrap()
}

/// Whether it has children, and all of them fetch. One that is not yet anything may become a dpkg.
fn fetches(apt: u32) -> bool {
    let children = processes::children_of(apt);
    let is_method = |pid: &u32| {
        processes::command_line(*pid).first().is_some_and(|program| program.starts_with(METHODS))
    };
    !children.is_empty() && children.iter().all(is_method)
}

#[test]
fn when_the_runner_is_killed_apt_ends_by_itself_and_its_result_is_taken_up() {
    let Some(Frozen { machine, apt, tasks }) = Frozen::without_runner() else { return };
    assert_eq!(machine.running_as(&["apt-get", "install"]), [apt], "it outlives the runner");
    let mut resume = machine.command(&["provision", "resume", "--jobs", "1"]);
    let mut resume = resume.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(resume.stderr.take().unwrap());
    let mut said = wait_for(&mut stderr, "(begun by an earlier run)");
    assert_eq!(machine.running_as(&["apt-get", "install"]), [apt], "there is no second one");
    processes::signal(apt, "CONT");
    stderr.read_to_string(&mut said).unwrap();
    println!("{said}");
    assert_eq!(resume.wait().unwrap().code(), Some(0), "{said}");
    let (_, events) = assert_set_up(&machine);
    assert_attempts(&events, &[]);
    for finished in of_kind(&events, "command_finished") {
        assert_eq!(finished["status"], "success", "{finished}");
        assert_eq!(finished["recovered"] == true, finished["task_id"] == *tasks[0], "{finished}");
    }
}

#[test]
fn when_everything_is_killed_apt_is_started_again() {
    let Some(Frozen { machine, apt: _, tasks }) = Frozen::without_runner() else { return };
    let left = machine.running();
    let supervisors = left
        .iter()
        .filter(|pid| processes::command_line(**pid).iter().any(|word| word == "__supervise"));
    assert_eq!(supervisors.count(), 1);
    // Nobody is to see another one die.
    for signal in ["STOP", "KILL"] {
        for pid in &left {
            processes::signal(*pid, signal);
        }
    }
    wait_until("the death of all", || machine.running().is_empty());
    let resume = machine.run(&["provision", "resume", "--jobs", "1"]);
    println!("{}", resume.stderr);
    assert_eq!(resume.code, Some(0), "{}", resume.stderr);
    let (_, events) = assert_set_up(&machine);
    assert_attempts(&events, &tasks);
    let ends: Vec<_> = of_kind(&events, "command_finished")
        .into_iter()
        .filter(|finished| tasks.iter().any(|task| finished["task_id"] == *task))
        .map(|finished| finished["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(ends, ["indeterminate", "exited"]);
}
