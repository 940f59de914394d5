//! The catalog tells the truth: tasks of every kind are set up for real on an overlay of this machine.
//! What was not there is there, works, has a version, and is not done twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use agentic_provision::{
    catalog::{Catalog, LayerSource},
    disk::Fs,
};
use serde_json::Value;

use crate::{
    audit_truth::assert_tells_the_truth,
    harness::{overlay::Overlay, skip},
    real_apt::{WANTED, is_installed},
};

/// Tasks, the packages and the programs that must not be there before, and what they are a test of.
struct Chosen {
    task: &'static str,
    by: &'static str,
    packages: &'static [&'static str],
    programs: &'static [&'static str],
}

const fn apt(
    task: &'static str,
    packages: &'static [&'static str],
    programs: &'static [&'static str],
) -> Chosen {
    Chosen { task, by: "apt-get install", packages, programs }
}

const fn npm(task: &'static str, programs: &'static [&'static str]) -> Chosen {
    Chosen { task, by: "npm install", packages: &[], programs }
}

const fn pipx(task: &'static str, programs: &'static [&'static str]) -> Chosen {
    Chosen { task, by: "pipx install", packages: &[], programs }
}

const CHOSEN: [Chosen; 19] = [
    apt("ripgrep", &["ripgrep"], &["rg"]),
    apt("fd", &["fd-find"], &["fd", "fdfind"]),
    apt("bat", &["bat"], &["bat", "batcat"]),
    apt("fzf", &["fzf"], &["fzf"]),
    apt("jq", &["jq"], &["jq"]),
    apt("tree", &["tree"], &["tree"]),
    apt("htop", &["htop"], &["htop"]),
    apt("shellcheck", &["shellcheck"], &["shellcheck"]),
    apt("hyperfine", &["hyperfine"], &["hyperfine"]),
    // Its lines go into the files of shells.
    apt("direnv", &["direnv"], &["direnv"]),
    apt("zoxide", &["zoxide"], &["zoxide"]),
    apt("sqlite", &["sqlite3"], &["sqlite3"]),
    apt("pipx", &["pipx"], &["pipx"]),
    // These need one of several ways to have Node.js.
    npm("typescript", &["tsc"]),
    npm("pnpm", &["pnpm"]),
    npm("prettier", &["prettier"]),
    // The end of a chain: the index of packages, pipx, and then this.
    pipx("ruff", &["ruff"]),
    pipx("tldr", &["tldr"]),
    // A variant that an option chooses.
    Chosen { task: VARIANT, by: "set editing-mode vi", packages: &[], programs: &[] },
];

const VARIANT: &str = "readline-defaults";
const OPTION: &str = "readline-defaults.editing_keys=vi";

fn names() -> Vec<&'static str> {
    CHOSEN.iter().map(|chosen| chosen.task).collect()
}

/// This machine without any of it.
fn bare_machine() -> Option<Overlay> {
    let machine = Overlay::with_apt()?;
    let there: Vec<_> = CHOSEN
        .iter()
        .flat_map(|chosen| chosen.packages)
        .copied()
        .filter(|package| is_installed(&machine, package))
        .collect();
    if !there.is_empty() {
        let purge = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "purge", "--yes"];
        machine.said(&[&purge, &there[..]].concat());
    }
    for program in CHOSEN.iter().flat_map(|chosen| chosen.programs) {
        for directory in Overlay::program_directories() {
            let _ = fs::remove_file(machine.path(&format!("{directory}/{program}")));
        }
    }
    // The index is old, and has to be fetched.
    let lists = ["/var/lib/apt/lists", "/var/lib/apt/lists/partial"];
    machine.said(&[&["touch", "--date", "90 days ago"][..], &lists[..]].concat());
    // Neither is what is tested here, and both take long.
    machine.said(&["rm", "-f", "/etc/apt/apt.conf.d/docker-clean", "/var/lib/man-db/auto-update"]);
    machine.write(&format!("{}/.bashrc", Overlay::HOME), "# mine\n");
    Some(machine)
}

/// What is planned for each task.
fn plan(machine: &Overlay) -> BTreeMap<String, Value> {
    let tasks = names().join(",");
    let words = ["provision", "--json", "plan", "--add", &tasks, "--data", OPTION, "--no-input"];
    let plan: Value = serde_json::from_str(&machine.said(&words)).unwrap();
    let tasks = plan["tasks"].as_array().unwrap().iter();
    tasks.map(|task| (task["id"].as_str().unwrap().to_owned(), task.clone())).collect()
}

fn start(machine: &Overlay) {
    let tasks = names().join(",");
    let words = ["provision", "start", "--add", &tasks, "--data", OPTION, "--yes", "--no-input"];
    machine.said(&[&words[..], &["--shell-integration", "yes"]].concat());
}

/// The index of packages was fetched, then pipx installed from it, then a tool by pipx: each needs the
/// one before, and began when that was done.
fn assert_chain_of_three(machine: &Overlay, document: &Value) {
    let id = document["meta"]["id"].as_str().unwrap();
    let record = format!("{}/.agentic-provision/records/{id}", Overlay::HOME);
    let plan = fs::read(machine.path(&format!("{record}/artifacts/plan.json"))).unwrap();
    let plan: Value = serde_json::from_slice(&plan).unwrap();
    let events = machine.events();
    let at = |kind: &str, task: &str| {
        // A call that serves several tasks is recorded under the name of one of them.
        let is_of = |event: &Value| {
            let served = event["task_ids"].as_array();
            event["task_id"] == task || served.is_some_and(|ids| ids.iter().any(|id| id == task))
        };
        let is_it = |event: &Value| event["event"] == kind && is_of(event);
        events.iter().position(is_it).unwrap_or_else(|| panic!("no {kind} of {task}"))
    };
    for (needs, task) in [("apt-index", "pipx"), ("pipx", "ruff")] {
        let planned = plan["tasks"].as_array().unwrap().iter().find(|t| t["id"] == task).unwrap();
        let depends_on = planned["depends_on"].as_array().unwrap();
        assert!(depends_on.iter().any(|id| id == needs), "{task} needs {depends_on:?}");
        assert!(at("task_completed", needs) < at("command_started", task), "{task}");
        at("command_started", needs);
    }
}

#[test]
fn tasks_of_every_kind_do_what_they_say() {
    if std::env::var_os("PROVISION_TEST_PACKAGES").is_none() {
        skip("it fetches from package registries (tests/run asks for that)");
        return;
    }
    let Some(machine) = bare_machine() else { return };

    let planned = plan(&machine);
    for Chosen { task, by, .. } in &CHOSEN {
        let planned = &planned[*task];
        // What is no program is a setting.
        let action = if *task == VARIANT { "configure" } else { "install" };
        assert_eq!(planned["action"], action, "{task} is not there, and nobody says it is");
        let commands = planned["commands"].as_array().unwrap();
        let by_it = |command: &Value| command["command"].as_str().unwrap().contains(by);
        assert!(commands.iter().any(by_it), "{task} comes by {by}: {commands:?}");
    }
    let count = |by: &str| CHOSEN.iter().filter(|chosen| chosen.by.starts_with(by)).count();
    assert!(count("apt") >= 10 && count("npm") >= 3 && count("pipx") >= 2);
    assert_eq!(planned[VARIANT]["variant"], "vi");

    start(&machine);
    let document = machine.document();
    assert_eq!(document["meta"]["status"], "completed");
    assert_chain_of_three(&machine, &document);
    for task in names() {
        let record = &document["tasks"][task];
        assert_eq!(record["status"], "completed", "{task}: {record:#}");
        assert_eq!(record["result"].get("already_installed"), None, "{task}");
        let version = record["result"]["version"].as_str().unwrap_or_default();
        assert!(version.contains(|c: char| c.is_ascii_digit()), "{task}: {version:?}");
        let commands = record["commands"].as_array().unwrap();
        let verified = commands.iter().find(|command| command["kind"] == "verification").unwrap();
        assert_eq!(verified["status"], "success", "{task}: {verified:#}");
        println!("{task} {version}");
    }
    assert_eq!(machine.said(&["dpkg", "--audit"]), "");
    let read = |file: &str| {
        fs::read_to_string(machine.path(&format!("{}/{file}", Overlay::HOME))).unwrap()
    };
    let (rc, lines) = (read(".bashrc"), read(".agentic-provision/env.bash"));
    assert!(rc.starts_with("# mine\n") && rc.contains("/.agentic-provision/env.bash"), "{rc}");
    assert!(lines.contains("direnv hook bash"), "{lines}");

    // All of it is seen, with the version that is on record.
    for (task, planned) in plan(&machine).iter().filter(|(id, _)| names().contains(&id.as_str())) {
        assert_eq!(planned["action"], "already_installed", "{task}");
        assert_eq!(planned["version"], document["tasks"][task]["result"]["version"], "{task}");
    }
    let packages = fs::read(machine.path("/var/lib/dpkg/status")).unwrap();
    start(&machine);
    let events = machine.events();
    let ran = events.iter().filter(|event| event["event"] == "command_started");
    assert_eq!(ran.collect::<Vec<_>>(), Vec::<&Value>::new(), "a second run has nothing to do");
    assert_eq!(fs::read(machine.path("/var/lib/dpkg/status")).unwrap(), packages);
    assert_eq!((read(".bashrc"), read(".agentic-provision/env.bash")), (rc, lines));
    assert_tells_the_truth(&machine, 25);
}

#[test]
fn what_no_test_installs_is_named() {
    let catalog = Catalog::load(&Fs::real(), &[LayerSource::Embedded]).unwrap();
    let all: BTreeSet<&str> = catalog.tasks().map(|listed| listed.item.id.as_str()).collect();
    let essentials = WANTED.iter().map(|(task, ..)| *task);
    let installed: BTreeSet<&str> = names().into_iter().chain(essentials).collect();
    assert!(installed.is_subset(&all), "{:?}", installed.difference(&all));
    let never: Vec<&str> = all.difference(&installed).copied().collect();
    println!("{} of {} tasks are installed by a test", installed.len(), all.len());
    println!("never installed by a test: {}", never.join(" "));
}
