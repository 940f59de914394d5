//! The binary with another time on its clock. The clock that is never set stays as it is.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use super::{Home, Output, skip};

/// The library that lies about the time; `None` where it is not installed.
pub fn faketime() -> Option<PathBuf> {
    let found = Command::new("sh")
        .args(["-c", "ls /usr/lib/*/faketime/libfaketime.so.1 /usr/lib/faketime/libfaketime.so.1"])
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    let library = found.lines().next().map(PathBuf::from);
    if library.is_none() {
        skip("faketime is not installed (tests/run installs it)");
    }
    library
}

/// Runs the binary at another time, such as `+25h` or `-365d`.
pub fn at(library: &std::path::Path, home: &Home, offset: &str, arguments: &[&str]) -> Output {
    let mut command = home.command(arguments);
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME", offset)
        .env("NO_FAKE_STAT", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    Output::of(&mut command)
}
