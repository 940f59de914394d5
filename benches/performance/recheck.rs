//! What it takes to find that all is there: a hundred tasks whose tools are installed.

use std::{
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
    // Each has a tool of its own: nothing is answered by having been asked before.
    let tools = home(place, "tools");
    let names: Vec<_> = (0..COUNT).map(|number| format!("tool-{number}")).collect();
    for name in &names {
        tool(&tools, name, "");
    }
    let wanted = names.join(" ");
    fs::write(tools.join("Makefile"), format!("all: {wanted}\n{wanted}:\n\tfalse\n")).unwrap();

    let tasks: Vec<_> = names
        .iter()
        .map(|name| {
            let check = format!("command -v {name}");
            json!({
                "id": name,
                "detection": {"check_command": check},
                // Nobody gets here.
                "commands": [{"command": "false"}],
            })
        })
        .collect();
    let plan = plan(place, "recheck", &tasks);
    let home = home(place, "recheck");
    let path = path_with(&tools);
    let mut ours = || time(|| succeeds(apply(&home, &plan, None).env("PATH", &path)));
    let make = Rival {
        name: "make with nothing to do",
        why_not: why_not("make", &["--version"]),
        way: &mut || {
            let mut command = Command::new("make");
            command.arg("-C").arg(&tools).stdin(Stdio::null()).stdout(Stdio::null());
            time(|| succeeds(&mut command))
        },
    };
    let (measured, told) = against(ROUNDS, &mut ours, vec![make]);
    row("100 satisfied tasks, checked again", &shown(measured), &told, "30 ms");
}
