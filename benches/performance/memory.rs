//! The most memory that a run of a thousand tasks has at any time.
//!
//! The kernel keeps the peak of each process for as long as it lives, so looking at it often misses
//! only what grows between the last look and the end. Whoever starts commands is measured, and
//! not what they start; ours has a supervisor for each, of which the largest is told too.

use std::{
    fmt::Write,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::{
    program::{apply, home, idle_tasks, plan, why_not},
    table::{missing, row},
};

const COUNT: usize = 1_000;
const PAUSE: Duration = Duration::from_millis(1);

pub fn rows(place: &Path) {
    let what = "memory while 1,000 tasks run";
    let goal = "30 MB";
    if peak("self").is_none() {
        return missing(what, "this system has no /proc that tells it", goal);
    }
    let home = home(place, "memory");
    let plan = plan(place, "memory", &idle_tasks(COUNT));
    let (ours, supervisor) = peaks(&mut apply(&home, &plan, None));
    let make = why_not("make", &["--version"]).map_or_else(
        || {
            fs::write(place.join("memory.make"), makefile()).unwrap();
            let mut make = Command::new("make");
            make.args(["-s", "-j4", "-f", "memory.make"]).current_dir(place);
            let (make, _) = peaks(make.stdin(Stdio::null()).stdout(Stdio::null()));
            format!("{:.1} × make -j4 ({})", ours as f64 / make as f64, megabytes(make))
        },
        |why| format!("make -j4: {why}"),
    );
    let supervisor = format!("a supervisor, beside it: {}", megabytes(supervisor));
    row(what, &megabytes(ours), &[make, supervisor], goal);
}

/// The peak of a process, and the largest peak of any supervisor it started, in bytes.
fn peaks(command: &mut Command) -> (u64, u64) {
    // When this returns, it is the program that has the number, and no copy of us.
    let mut child = command.spawn().unwrap();
    let pid = child.id().to_string();
    let (mut own, mut supervisor) = (0, 0);
    let status = loop {
        // One that has ended and was not waited for tells nothing, and is never another one.
        own = own.max(peak(&pid).unwrap_or(0));
        supervisor = supervisors(&pid).filter_map(|pid| peak(&pid)).fold(supervisor, u64::max);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        thread::sleep(PAUSE);
    };
    assert!(status.success(), "{command:?}: {status}");
    (own, supervisor)
}

/// In bytes. `None` if it has ended.
fn peak(pid: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Of those that any of its threads has started now. A child is a supervisor when its command line
/// says so: before, it still has the memory of its parent.
fn supervisors(pid: &str) -> impl Iterator<Item = String> + use<> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut children = String::new();
    for thread in threads {
        children += &fs::read_to_string(thread.path().join("children")).unwrap_or_default();
    }
    let children: Vec<_> = children.split_whitespace().map(str::to_owned).collect();
    children.into_iter().filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"__supervise")
    })
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn makefile() -> String {
    let names: Vec<_> = (0..COUNT).map(|number| format!("task-{number}")).collect();
    let mut text = format!("SHELL = /bin/bash\nall: {}\n", names.join(" "));
    for name in names {
        // With the semicolon it is left to a shell, as ours is.
        write!(text, "{name}:\n\t:;\n").unwrap();
    }
    text
}
