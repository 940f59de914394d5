//! What it takes from `start` to the plan: the catalog, a look at the machine, and the planning
//! itself.
//!
//! Everything is measured in one run, and told next to something of the same run.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement starts processes, tells the time and prints"
)]

mod measure;

use std::{
    hint::black_box,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use agentic_provision::{
    catalog::{Catalog, LayerSource},
    disk::Fs,
    flow::{Input, Offer, Offered, Presence, Rehearsal, Stack, Walk},
    model::{
        Agent, Arch, Extra, Machine, Platform, Profile, SessionCreated, Task, Timestamp, VERSION,
    },
};
use serde_json::json;

use measure::{header, median, ratio, row};

const RUNS: usize = 15;

fn main() {
    header();
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    commands(home.path());
    planning();
}

const ANSWERS: [&str; 20] = [
    "--answer",
    "node=nvm",
    "--answer",
    "js_packages=pnpm",
    "--answer",
    "typescript=a",
    "--answer",
    "backend=python",
    "--answer",
    "python_tools=uv-ruff",
    "--answer",
    "database=postgresql",
    "--answer",
    "containers=docker",
    "--answer",
    "editor=neovim",
    "--answer",
    "git_identity=none",
    "--without",
    "fzf",
];

fn commands(home: &Path) {
    let run = |arguments: &[&str]| {
        median(RUNS, || {
            let status = Command::new(measure::release::provision())
                .args(arguments)
                .env("AGENTIC_PROVISION_HOME", home)
                .stdout(Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
        })
    };
    let list = run(&["catalog", "list"]);
    row("provision catalog list", list, "");
    let essentials = run(&["plan", "essentials"]);
    row("provision plan essentials", essentials, &ratio(essentials, list, "catalog list"));
    let arguments = [&["plan", "fullstack-web"][..], &ANSWERS[..]].concat();
    let web = run(&arguments);
    let probes = probes_of(home, &arguments);
    let in_turn = median(RUNS, || {
        for probe in &probes {
            let _ = Command::new("bash")
                .args(["-c", probe])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
    });
    row(&format!("the {} probes behind it, one after the other", probes.len()), in_turn, "");
    row("provision plan fullstack-web", web, &ratio(web, in_turn, "the probes in turn"));
}

/// What is asked of the machine for a plan: the check of every task, the version of those there.
fn probes_of(home: &Path, arguments: &[&str]) -> Vec<String> {
    let output = Command::new(measure::release::provision())
        .arg("--json")
        .args(arguments)
        .env("AGENTIC_PROVISION_HOME", home)
        .output()
        .unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let catalog = Catalog::load(&Fs::real(), &[LayerSource::Embedded]).unwrap();
    let mut probes = Vec::new();
    for planned in plan["tasks"].as_array().unwrap() {
        let detection = &catalog.task(planned["id"].as_str().unwrap()).unwrap().item.detection;
        probes.extend(detection.check_command.clone());
        if planned["action"] == "already_installed" {
            probes.extend(detection.version_command.clone());
        }
    }
    probes
}

/// The planner by itself, on chains: the longest way there is.
fn planning() {
    let mut before = None;
    for count in [100, 1_000, 10_000] {
        let tasks: Vec<Task> = (0..count).map(|number| chained(number, count)).collect();
        let time = median(RUNS, || assert_eq!(black_box(planned(&tasks)), count));
        let ratio = before.map_or_else(String::new, |before| ratio(time, before, "a tenth of it"));
        row(&format!("planning a chain of {count} tasks"), time, &ratio);
        before = Some(time);
    }
}

fn chained(number: usize, of: usize) -> Task {
    let next = (number + 1 < of).then(|| format!("t{}", number + 1));
    serde_json::from_value(json!({
        "id": format!("t{number}"),
        "dependencies": {"required": next.into_iter().collect::<Vec<_>>()},
        "install": {"steps": [{"command": "true"}]}
    }))
    .unwrap()
}

fn planned(tasks: &[Task]) -> usize {
    let profile: Profile =
        serde_json::from_value(json!({"metadata": {"id": "p"}, "required_tasks": ["t0"]})).unwrap();
    let offer = Offer::new(tasks.iter().map(|task| Offered { task, layer: "bench" }));
    let (platform, facts) = (Platform::default(), Presence::default());
    let walk = Walk {
        offer: &offer,
        profiles: &[&profile],
        platform: &platform,
        facts: Some(&facts),
        held: None,
    };
    let created = SessionCreated {
        format: VERSION.into(),
        session_id: "prov-20260202-143052-a7b3".parse().unwrap(),
        machine: Machine {
            hostname: "bench".into(),
            os_version: "0".into(),
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
    };
    let at: Timestamp = "2026-02-02T14:30:52Z".parse().unwrap();
    let mut session = Rehearsal::begin(created, at).unwrap();
    let stack = Stack { profile: Some("p".into()), ..Stack::default() };
    for input in [Input::Checked { unfinished: Vec::new() }, Input::Stack(Box::new(stack))] {
        let step = walk.take(&session, input).unwrap();
        session.record(step.events).unwrap();
    }
    walk.plan(&session, &facts).plan.unwrap().tasks.len()
}
