//! Ten packages as ten tasks, against one call of apt for all ten: really installed, each time on a
//! machine that has none of them, from archives that were downloaded before.

use std::{path::Path, process::Command, time::Duration};

use serde_json::{Value, json};

use crate::{
    machine::{Machine, Prepared, Shelf},
    program::{jobs_flag, plan_text},
    table::{missing, row, time as shown, times},
    turns::{by_turns, time},
};

const WHAT: &str = "ten apt packages as ten tasks";
const GOAL: &str = "1.2 × one call";
const ROUNDS: usize = 3;
const PLAN: &str = "/packages.json";
const INSTALL: &str = "apt-get install -y --no-install-recommends";

/// Small, needed by nobody, in need of nothing that is not everywhere, and each with a program of
/// its own name. More than ten: some may be there already.
const CANDIDATES: [&str; 12] = [
    "ascii", "buffer", "cpipe", "dos2unix", "entr", "figlet", "hello", "pv", "pwgen", "rlwrap",
    "units", "wdiff",
];

/// Needs no place on the disk: all of it is in memory.
pub fn rows(_: &Path) {
    if let Err(why) = measure() {
        missing(WHAT, &why, GOAL);
    }
}

/// Or why it cannot be measured here. What fails once all is prepared is a mistake, and panics.
fn measure() -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Err("overlays are a thing of Linux".into());
    }
    if !rustix::process::geteuid().is_root() {
        return Err("only root may mount an overlay".into());
    }
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err("there is no apt-get".into());
    }
    let packages = absent_packages()?;
    let mut shelf = Shelf::new().map_err(|why| format!("no overlay can be mounted: {why}"))?;
    let prepared = prepare(&mut shelf, &packages)?;
    let all = [INSTALL, &packages.join(" ")].join(" ");
    let ours =
        |jobs| ["provision --quiet apply", PLAN, "--yes", &jobs_flag(jobs).join(" ")].join(" ");
    let shelf = std::cell::RefCell::new(shelf);
    let install =
        |command: &str| installed_by(command, &mut shelf.borrow_mut(), &prepared, &packages);
    let taken = by_turns(
        ROUNDS,
        &mut [&mut || install(&ours(None)), &mut || install(&all), &mut || install(&ours(Some(1)))],
    );
    let [measured, one_call, in_turn] = taken[..] else { unreachable!("three ways") };
    let against = [
        times(measured, one_call, "one apt-get for all ten"),
        times(measured, in_turn, "--jobs 1"),
    ];
    row(WHAT, &shown(measured), &against, GOAL);
    Ok(())
}

fn absent_packages() -> Result<Vec<&'static str>, String> {
    let is_installed = |package: &str| {
        let asked = Command::new("dpkg-query")
            .args(["--show", "--showformat=${db:Status-Status}", package])
            .output();
        // A package that was never known is an error.
        asked.is_ok_and(|output| output.status.success() && output.stdout == b"installed")
    };
    let mut absent = CANDIDATES.to_vec();
    absent.retain(|package| !is_installed(package));
    absent.truncate(10);
    if absent.len() < 10 {
        return Err("most of the packages are installed here already".into());
    }
    Ok(absent)
}

/// A machine that has downloaded everything and installed nothing.
fn prepare(shelf: &mut Shelf, packages: &[&str]) -> Result<Prepared, String> {
    let machine = shelf.bare().map_err(|why| format!("no overlay can be mounted: {why}"))?;
    // What images for containers bring removes the archives, and apt's reading of its index.
    machine.run(&["rm", "-f", "/etc/apt/apt.conf.d/docker-clean"]).unwrap();
    let download = format!("{INSTALL} --download-only {}", packages.join(" "));
    let download = |machine: &Machine| machine.run(&["sh", "-c", &download]);
    // An index of yesterday will do, if the packages are still there.
    if download(&machine).is_err() {
        let again = machine.run(&["apt-get", "update"]).and_then(|()| download(&machine));
        again.map_err(|_| "the packages cannot be downloaded".to_owned())?;
    }
    let tasks: Vec<_> = packages.iter().map(|package| task(package)).collect();
    machine.write(PLAN, &plan_text(&tasks));
    Ok(machine.end())
}

/// As the planner would write it.
fn task(package: &str) -> Value {
    json!({
        "id": package,
        "detection": {"check_command": format!("command -v {package}")},
        "packages": {"manager": "apt", "names": [package]},
        "commands": [{
            "command": format!("{INSTALL} {package}"),
            "idempotent": true,
            "requires_sudo": true,
            "locks": ["apt"],
        }],
    })
}

/// How long a command takes that installs them all on a new machine.
fn installed_by(
    command: &str,
    shelf: &mut Shelf,
    prepared: &Prepared,
    packages: &[&str],
) -> Duration {
    let machine = shelf.like(prepared).unwrap();
    let words: Vec<_> = command.split_whitespace().collect();
    let taken = time(|| machine.run(&words).unwrap());
    machine.run(&[&["dpkg", "--status"], packages].concat()).unwrap();
    machine.run(&[&["which"], packages].concat()).unwrap();
    taken
}
