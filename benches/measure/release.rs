//! The program as it is shipped, without the hooks that tests use.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(build);

/// Returns the program; builds it on the first call.
pub fn provision() -> &'static Path {
    &PROGRAM
}

/// Builds without the features of the dev-dependencies, which `cargo bench` turns on, and copies the
/// program to where the next build does not replace it.
fn build() -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_provision"));
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--quiet", "--bin", "provision", "--target-dir"])
        .arg(built.ancestors().nth(2).unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .unwrap();
    assert!(status.success(), "cargo build: {status}");
    let kept = built.with_file_name("provision-shipped");
    fs::copy(built, &kept).unwrap();
    kept
}
