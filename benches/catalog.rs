//! What the catalog costs: to load what comes along, and nothing to commands that do not need it.
//!
//! Everything is measured in one run, and told next to something of the same run.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement starts processes, tells the time and prints"
)]

use std::{
    hint::black_box,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use agentic_provision::{
    catalog::{Catalog, EMBEDDED_FILES, LayerSource, Node},
    disk::Fs,
};

const RUNS: usize = 200;

fn main() {
    println!("{:<44} {:>10} {:>24}", "what", "time", "ratio");
    loading();
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    commands(home.path());
}

fn row(what: &str, time: Duration, ratio: &str) {
    println!("{what:<44} {:>7.2} ms {ratio:>24}", time.as_secs_f64() * 1e3);
}

fn ratio(time: Duration, baseline: Duration, what: &str) -> String {
    format!("{:.2} × {what}", time.as_secs_f64() / baseline.as_secs_f64())
}

/// The middle of many: neither luck nor disturbance.
fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[RUNS / 2]
}

fn loading() {
    let bytes: usize = EMBEDDED_FILES.iter().map(|(_, text)| text.len()).sum();
    let parsing = median(|| {
        for (_, text) in EMBEDDED_FILES {
            black_box(Node::parse(text).unwrap());
        }
    });
    let loading = median(|| {
        black_box(Catalog::load(&Fs::real(), &[LayerSource::Embedded]).unwrap());
    });
    let what = format!("the embedded catalog ({} kB) as trees", bytes / 1000);
    row(&what, parsing, "");
    row(
        "… loaded, checked and linted (goal 10 ms)",
        loading,
        &ratio(loading, parsing, "the trees"),
    );
}

fn commands(home: &Path) {
    let run = |arguments: &[&str]| {
        median(|| {
            let status = Command::new(env!("CARGO_BIN_EXE_provision"))
                .args(arguments)
                .env("AGENTIC_PROVISION_HOME", home)
                .stdout(Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
        })
    };
    let version = run(&["--version"]);
    row("provision --version", version, "");
    for arguments in [&["sessions"][..], &["schema", "task"], &["catalog", "list"]] {
        let time = run(arguments);
        row(
            &format!("provision {}", arguments.join(" ")),
            time,
            &ratio(time, version, "--version"),
        );
    }
}
