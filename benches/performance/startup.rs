//! What it takes to begin: the program itself, a session that is looked up, the catalog.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    program::{apply, home, idle_tasks, plan, provision, succeeds},
    table::{beyond, row, time as shown, times},
    turns::{by_turns, time},
};

const ROUNDS: usize = 101;

pub fn rows(place: &Path) {
    let home = home(place, "startup");
    let plan = plan(place, "startup", &idle_tasks(20));
    succeeds(&mut apply(&home, &plan, None));
    let run = |arguments: &[&str]| time(|| succeeds(provision(&home).args(arguments)));
    let taken = by_turns(
        ROUNDS,
        &mut [
            &mut || time(|| succeeds(Command::new("true").stdin(Stdio::null()))),
            &mut || run(&["--version"]),
            &mut || run(&["status"]),
            &mut || run(&["catalog", "list"]),
        ],
    );
    let [bare, version, status, catalog] = taken[..] else { unreachable!("four ways") };
    row("--version", &shown(version), &[times(version, bare, "a spawn of `true`")], "3 ms");
    let what = "status of a session of 20 tasks";
    row(what, &shown(status), &[times(status, version, "--version")], "10 ms");
    let against = [times(catalog, version, "--version"), beyond(catalog, version, "--version")];
    row("catalog list: the whole catalog is loaded", &shown(catalog), &against, "");
}
