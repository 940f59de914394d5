//! What a recorded, durable command costs beyond a bare spawn of the same shell.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    program::{apply, home, idle_tasks, plan, succeeds},
    table::{beyond, row, time as shown, times},
    turns::time,
};

const SHELL: [&str; 4] = ["--noprofile", "--norc", "-c", ":"];

/// Plans of more commands than this are left out, unless `PROVISION_BENCH_MOST` says another number.
const MOST: usize = 1_000;

pub fn rows(place: &Path) {
    let most = std::env::var("PROVISION_BENCH_MOST")
        .map_or(MOST, |text| text.parse().expect("PROVISION_BENCH_MOST is a number of commands"));
    for count in [100, 1_000, 10_000] {
        if count > most {
            continue;
        }
        let home = home(place, &format!("commands-{count}"));
        let plan = plan(place, &format!("commands-{count}"), &idle_tasks(count));
        let log = place.join(format!("commands-{count}.log"));
        // Bare spawns before and after: what slows the machine down slows both down.
        let some = count.min(500);
        let before = time(|| bare_spawns(some));
        let recorded = time(|| succeeds(&mut apply(&home, &plan, Some(1))));
        let bare = before + time(|| bare_spawns(some));
        let synced = time(|| synced_spawns(some, &log));
        let each = |total: Duration, count: usize| total.div_f64(count as f64);
        let (bare, synced, recorded) =
            (each(bare, 2 * some), each(synced, some), each(recorded, count));
        let against = [
            beyond(recorded, bare, "a bare bash"),
            times(recorded, bare, "a bare bash"),
            times(recorded, synced, "a bash and two syncs"),
        ];
        let what = format!("a recorded command, one of {count}, --jobs 1");
        row(&what, &shown(recorded), &against, "2 ms beyond");
    }
}

fn bare_spawns(count: usize) {
    for _ in 0..count {
        succeeds(Command::new("/bin/bash").args(SHELL).stdin(Stdio::null()));
    }
}

/// The least that durability costs: one synced line before, one behind.
fn synced_spawns(count: usize, log: &Path) {
    let mut file = fs::File::create(log).unwrap();
    let line = [b'x'; 400];
    for _ in 0..count {
        for before in [true, false] {
            file.write_all(&line).unwrap();
            file.sync_data().unwrap();
            if before {
                bare_spawns(1);
            }
        }
    }
}
