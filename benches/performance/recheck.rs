//! What it takes to find that all is there: a hundred tasks whose tools are installed.

use std::{
    ffi::OsStr,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::json;

use crate::{
    program::{apply, home, path_with, plan, succeeds, tool, why_not},
    table::{row, time as shown},
    turns::{Rival, against, time},
};

const COUNT: usize = 100;
const ROUNDS: usize = 15;

pub fn rows(place: &Path) {
    // Each task has a tool of its own, so that no answer is cached from another one.
    let tools = home(place, "tools");
    let names: Vec<_> = (0..COUNT).map(|number| format!("tool-{number}")).collect();
    for name in &names {
        tool(&tools, name, "");
    }
    let wanted = names.join(" ");
    fs::write(tools.join("Makefile"), format!("all: {wanted}\n{wanted}:\n\tfalse\n")).unwrap();
    let make = Rival {
        name: "make with nothing to do",
        why_not: why_not("make", &["--version"]),
        way: &mut || {
            let mut command = Command::new("make");
            command.arg("-C").arg(&tools).stdin(Stdio::null()).stdout(Stdio::null());
            time(|| succeeds(&mut command))
        },
    };
    let by_name = |name: &String| format!("command -v {name}");
    let path = path_with(&tools);
    measure(place, ("by-name", "100 satisfied tasks, checked again"), &names, by_name, &path, make);

    let file = |name: &String| format!("test -e {}/{name}", tools.display());
    let lines: Vec<_> = names.iter().map(|name| format!("sh -c '{}'", file(name))).collect();
    let script = lines.join("\n");
    let shell = Rival {
        name: "a shell that spawns an sh for each",
        why_not: None,
        way: &mut || time(|| succeeds(Command::new("sh").args(["-c", &script]))),
    };
    measure(place, ("by-file", "the same by file (test -e)"), &names, file, &path, shell);
}

/// Measures a plan of satisfied tasks beside a rival.
fn measure(
    place: &Path,
    (name, what): (&str, &str),
    names: &[String],
    check: impl Fn(&String) -> String,
    path: &OsStr,
    rival: Rival<'_>,
) {
    let task = |name: &String| {
        json!({
            "id": name,
            "detection": {"check_command": check(name)},
            // Never runs: the task is satisfied.
            "commands": [{"command": "false"}],
        })
    };
    let tasks: Vec<_> = names.iter().map(task).collect();
    let plan = plan(place, name, &tasks);
    let home = home(place, name);
    let mut ours = || time(|| succeeds(apply(&home, &plan, None).env("PATH", path)));
    let Rival { name, why_not, way } = rival;
    let rivals = vec![Rival { name, why_not, way: &mut *way }];
    let (measured, told) = against(ROUNDS, &mut ours, rivals);
    row(what, &shown(measured), &told, "30 ms");
}
