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

mod measure;

use std::{
    hint::black_box,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use agentic_provision::{
    catalog::{Catalog, EMBEDDED_FILES, LayerSource, Node},
    disk::Fs,
};

use measure::{header, median, ratio, row};

const RUNS: usize = 200;

fn main() {
    header();
    loading();
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    commands(home.path());
}

fn loading() {
    let bytes: usize = EMBEDDED_FILES.iter().map(|(_, text)| text.len()).sum();
    let parsing = median(RUNS, || {
        for (_, text) in EMBEDDED_FILES {
            black_box(Node::parse(text).unwrap());
        }
    });
    let loading = median(RUNS, || {
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
