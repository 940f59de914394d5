//! Whether the longest way through a plan is begun first: twenty tasks of 0.2 s, and a chain of
//! five that is listed last. With eight jobs nothing can be faster than the chain, 1.0 s; who
//! begins it when most of the twenty are done needs 1.4 s and more.

use std::{
    fmt::Write,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    program::{apply, home, plan, succeeds, why_not},
    table::{row, time as shown},
    turns::{Rival, against, time},
};

const ROUNDS: usize = 5;

pub fn rows(place: &Path) {
    let home = home(place, "graph");
    let plan = plan(place, "graph", &tasks());
    fs::write(place.join("graph.make"), makefile()).unwrap();
    fs::write(place.join("graph.just"), justfile()).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(place).stdin(Stdio::null()).stdout(Stdio::null());
        time(|| succeeds(&mut command))
    };
    let just = ["--quiet", "--justfile", "graph.just"];
    let mut in_make = || run("make", &["-s", "-j8", "-f", "graph.make"]);
    let mut in_just = || run("just", &just);
    let rivals = vec![
        Rival { name: "make -j8", why_not: why_not("make", &["--version"]), way: &mut in_make },
        Rival {
            name: "just, which starts all at once",
            // Older ones cannot read it: they do one after the other.
            why_not: why_not("just", &[&just[..], &["--summary"]].concat()),
            way: &mut in_just,
        },
    ];
    let mut ours = || time(|| succeeds(&mut apply(&home, &plan, Some(8))));
    let (measured, told) = against(ROUNDS, &mut ours, rivals);
    row("20 × 0.2 s and a chain of 5 × 0.2 s, --jobs 8", &shown(measured), &told, "1.1 s");
}

/// Each task, and what it depends on.
fn graph() -> Vec<(String, Option<String>)> {
    let alone = (1..=20).map(|number| (format!("alone-{number}"), None));
    let chain = (1..=5).map(|number| {
        let before = (number > 1).then(|| format!("chain-{}", number - 1));
        (format!("chain-{number}"), before)
    });
    alone.chain(chain).collect()
}

fn tasks() -> Vec<Value> {
    let task = |(id, before): (String, Option<String>)| {
        let before: Vec<_> = before.into_iter().collect();
        json!({"id": id, "depends_on": before, "commands": [{"command": "sleep 0.2"}]})
    };
    graph().into_iter().map(task).collect()
}

fn makefile() -> String {
    recipes("all:")
}

fn justfile() -> String {
    recipes("[parallel]\nall:")
}

/// The rules of both read the same.
fn recipes(all: &str) -> String {
    let graph = graph();
    let names: Vec<_> = graph.iter().map(|(name, _)| name.as_str()).collect();
    let mut text = format!("{all} {}\n", names.join(" "));
    for (name, before) in &graph {
        let before = before.as_deref().unwrap_or_default();
        write!(text, "\n{name}: {before}\n\tsleep 0.2\n").unwrap();
    }
    text
}
