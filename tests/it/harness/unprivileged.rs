//! The binary as a user who is not root, whom file permissions bind.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use super::{Home, ID, Output, walk_script};

pub const NOBODY: u32 = 65534;

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Copies the binary to a place where all users can run it.
fn public_binary(place: &Path) -> PathBuf {
    let copy = place.join("provision");
    fs::copy(env!("CARGO_BIN_EXE_provision"), &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    copy
}

/// A copy of the binary for the home inside a home, as a user who is not root.
pub fn unprivileged(home: &Home, binary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.env_clear().env("AGENTIC_PROVISION_HOME", home.path().join("inner")).args(arguments);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// A home with another one inside, which has one session and belongs to the user of [`unprivileged`].
/// Also returns the binary for that user.
pub fn unprivileged_home() -> (Home, PathBuf) {
    // Not in memory: programs may not be allowed to run from there.
    let home = Home::in_temporary_directory().damaged();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let inner = home.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o700)).unwrap();
    if is_root() {
        std::os::unix::fs::chown(&inner, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let binary = public_binary(home.path());
    let script = home.script("script.jsonl", walk_script());
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    let arguments = ["__script", "--session", ID, script.to_str().unwrap()];
    let output = Output::of(&mut unprivileged(&home, &binary, &arguments));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    (home, binary)
}
