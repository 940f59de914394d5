//! One table of how fast `provision` is, each row next to something else of the same run.
//!
//! Machines differ, and so do minutes: what is compared is measured by turns, and only ratios and
//! differences say much. Nothing here passes or fails by a time. docs/performance.md says what each
//! row is.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement starts processes, writes files, tells the time and prints"
)]

mod audit;
mod commands;
mod graph;
mod machine;
mod memory;
mod packages;
mod program;
mod recheck;
#[path = "../measure/release.rs"]
mod release;
mod startup;
mod table;
mod turns;

use std::path::Path;

/// Measures and shows, with a place for its files.
type Rows = fn(&Path);

/// By the names they are asked for with.
const GROUPS: [(&str, Rows); 7] = [
    ("commands", commands::rows),
    ("graph", graph::rows),
    ("recheck", recheck::rows),
    ("audit", audit::rows),
    ("packages", packages::rows),
    ("startup", startup::rows),
    ("memory", memory::rows),
];

fn main() {
    // On the disk that holds the target directory: what is synced is synced to it.
    let place = tempfile::Builder::new()
        .prefix("performance-")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    // `cargo bench` adds words of its own, which begin with a dash.
    let wanted: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    table::header();
    for (group, rows) in GROUPS {
        if wanted.is_empty() || wanted.iter().any(|name| name == group) {
            rows(place.path());
        }
    }
}
