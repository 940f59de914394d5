//! A home of its own for each test, and the real binary in it.

pub mod counting;
mod events;
pub mod faketime;
pub mod faulty;
pub mod overlay;
pub mod processes;
mod schema;
pub mod screen;
mod skip;
pub mod terminal;
pub mod unprivileged;
mod watchdog;

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use agentic_provision::{
    disk::Holder,
    model::{SessionId, Timestamp},
    store::{Moment, Pen},
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub use events::{Generator, created, long_walk, task, walk_script};
pub use schema::{assert_document, assert_line, document_problems, line_problems};
pub use skip::skip;
pub use watchdog::Watch;

pub const ID: &str = "prov-20260202-143052-a7b3";

/// A private home. When the test is over, every document and journal line in it must be as the
/// published schemas say, unless the test damaged them on purpose.
pub struct Home {
    directory: TempDir,
    damaged: bool,
    _watch: Watch,
}

pub struct Output {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Home {
    /// In memory where the machine offers that: most tests are not about the disk.
    pub fn new() -> Self {
        let memory = Path::new("/dev/shm");
        Self::within(if memory.is_dir() { memory.into() } else { std::env::temp_dir() })
    }

    /// Where everyone may run programs.
    pub fn in_temporary_directory() -> Self {
        Self::within(std::env::temp_dir())
    }

    /// On a real disk.
    pub fn on_disk() -> Self {
        Self::within(env!("CARGO_TARGET_TMPDIR").into())
    }

    fn within(place: PathBuf) -> Self {
        fs::create_dir_all(&place).unwrap();
        let directory = tempfile::Builder::new().prefix("provision-").tempdir_in(place).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let path = directory.path().to_string_lossy().into_owned();
        let watch = Watch::start(move || processes::with_in_environment(&path));
        Self { directory, damaged: false, _watch: watch }
    }

    /// A copy of a home that was recorded by an earlier version of the program.
    pub fn of_fixture(name: &str) -> Self {
        let home = Self::new();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
        copy_private(&fixtures.join(name), home.path());
        home
    }

    /// Files in this home are wrong on purpose: they are not held against the schemas.
    pub fn damaged(mut self) -> Self {
        self.damaged = true;
        self
    }

    /// With a session document on a shelf.
    pub fn with_document(self, shelf: &str, id: &str, content: impl AsRef<[u8]>) -> Self {
        let directory = self.path().join("sessions").join(shelf);
        private_dirs(&directory, self.path());
        fs::write(directory.join(format!("{id}.json")), content).unwrap();
        self
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn record(&self, id: &str) -> PathBuf {
        self.path().join("records").join(id)
    }

    pub fn journal(&self, id: &str) -> PathBuf {
        self.record(id).join("history.jsonl")
    }

    pub fn document_path(&self, shelf: &str, id: &str) -> PathBuf {
        self.path().join("sessions").join(shelf).join(format!("{id}.json"))
    }

    pub fn document(&self, shelf: &str, id: &str) -> Value {
        serde_json::from_slice(&fs::read(self.document_path(shelf, id)).unwrap()).unwrap()
    }

    /// The binary, with this home and nothing of the tester's environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_provision"));
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// A program, with this home and nothing of the tester's environment.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path())
            .env("AGENTIC_PROVISION_HOME", self.path());
        command
    }

    /// Runs the binary on a terminal of its own, with `typed` on the keyboard. All it says, to
    /// whomever, is what is on the screen.
    pub fn on_terminal(&self, arguments: &[&str], typed: &str) -> Output {
        let line = [&[env!("CARGO_BIN_EXE_provision")], arguments].concat().join(" ");
        let mut child = self
            .program("script")
            .args(["--quiet", "--return", "--echo", "never", "--command", &line, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        Output::after(child)
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        Output::of(&mut self.command(arguments))
    }

    /// Runs, expects success, and parses what came out.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[&["--json"], arguments].concat());
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        serde_json::from_str(&output.stdout).unwrap()
    }

    /// A plan file with these tasks.
    pub fn plan(&self, tasks: &Value) -> PathBuf {
        self.plan_file(&json!({"format": "plan-v1", "tasks": tasks}))
    }

    /// A plan file.
    pub fn plan_file(&self, plan: &Value) -> PathBuf {
        let path = self.path().join("plan.json");
        fs::write(&path, plan.to_string()).unwrap();
        path
    }

    /// Applies a plan of these tasks, approved.
    pub fn apply(&self, tasks: &Value, more: &[&str]) -> Output {
        let plan = self.plan(tasks);
        self.run(&[&["apply", plan.to_str().unwrap(), "--yes"], more].concat())
    }

    /// The session whose record is the newest.
    pub fn latest(&self) -> String {
        let sessions = self.json(&["sessions"]);
        sessions["sessions"][0]["id"].as_str().unwrap().to_owned()
    }

    /// The session document, wherever it stands.
    pub fn latest_document(&self) -> Value {
        let sessions = self.json(&["sessions"]);
        let path = sessions["sessions"][0]["path"].as_str().unwrap();
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    /// Every event of a session.
    pub fn events(&self, id: &str) -> Vec<Value> {
        let journal = fs::read_to_string(self.journal(id)).unwrap();
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// A file with a script for `__script`.
    pub fn script(&self, name: &str, steps: impl IntoIterator<Item = Value>) -> PathBuf {
        let path = self.path().join(name);
        let mut file = fs::File::create(&path).unwrap();
        for step in steps {
            writeln!(file, "{step}").unwrap();
        }
        path
    }

    /// Starts to record `steps` in session [`ID`]; its input and output are ours.
    pub fn start(&self, steps: impl IntoIterator<Item = Value>) -> Child {
        let script = self.script("script.jsonl", steps);
        let mut command = self.command(&["__script", "--session", ID, script.to_str().unwrap()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// Records `steps` in session [`ID`].
    pub fn play(&self, steps: impl IntoIterator<Item = Value>) -> Output {
        self.play_as(ID, steps)
    }

    /// As [`Home::play`], for another session.
    pub fn play_as(&self, id: &str, steps: impl IntoIterator<Item = Value>) -> Output {
        let script = self.script("script.jsonl", steps);
        self.run(&["__script", "--session", id, script.to_str().unwrap()])
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.damaged || std::thread::panicking() {
            return;
        }
        for shelf in ["active", "completed", "failed"] {
            for path in files(&self.path().join("sessions").join(shelf), "json") {
                assert_document(&fs::read(path).unwrap());
            }
        }
        let Ok(records) = fs::read_dir(self.path().join("records")) else { return };
        for record in records {
            let journal =
                fs::read(record.unwrap().path().join("history.jsonl")).unwrap_or_default();
            // What stands behind the last new line was never finished.
            let whole = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            journal[..whole].split_inclusive(|byte| *byte == b'\n').for_each(assert_line);
        }
    }
}

impl Output {
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn after(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Exit code, stdout and stderr in one text, with what differs from run to run left out.
    pub fn snapshot(&self, home: &Home) -> String {
        let text = format!(
            "exit {}\n--- stdout\n{}--- stderr\n{}",
            self.code.map_or("by signal".into(), |code| code.to_string()),
            self.stdout,
            self.stderr
        );
        text.replace(&*home.path().to_string_lossy(), "[HOME]")
    }
}

/// Waits until `happened`: an event, not a time. A minute is far more than any of them needs.
pub fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !happened() {
        assert!(start.elapsed() < Duration::from_mins(1), "{what} never happened");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The seed of a random test: given, or another one each time. It is printed.
pub fn seed(test: &str) -> u64 {
    let given = std::env::var("PROVISION_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| u64::from(std::process::id()));
    println!("{test}: PROVISION_TEST_SEED={seed}");
    seed
}

/// Whether the random tests should go on for long.
pub fn soak() -> bool {
    std::env::var_os("PROVISION_TEST_SOAK").is_some()
}

pub fn id() -> SessionId {
    ID.parse().unwrap()
}

/// A moment some milliseconds into the session.
pub fn moment(millis: u64) -> Moment {
    let wall = Timestamp::clamped(1_770_042_652_000 + i64::try_from(millis).unwrap());
    Moment { wall, steady: Duration::from_millis(millis) }
}

pub fn pen() -> Pen {
    let holder = Holder {
        pid: std::process::id(),
        started_at: "2026-02-02T14:30:52Z".into(),
        command: "a test".into(),
    };
    Pen { holder, patience: Duration::ZERO }
}

/// Every file below `root` with its content and mode: to see that nothing changed.
pub fn tree(root: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(directory) = open.pop() {
        let mut entries: Vec<_> = fs::read_dir(&directory).unwrap().map(Result::unwrap).collect();
        entries.sort_by_key(fs::DirEntry::path);
        for entry in entries {
            let metadata = entry.metadata().unwrap();
            let large = metadata.len() > 10_000_000;
            let content = if metadata.is_file() && !large {
                fs::read(entry.path()).unwrap()
            } else {
                Vec::new()
            };
            found.push((entry.path(), metadata.permissions().mode(), content));
            if metadata.is_dir() {
                open.push(entry.path());
            }
        }
    }
    found
}

/// A program of this name in `directory`, which bash runs.
pub fn stub(directory: &Path, name: &str, text: &str) {
    fs::create_dir_all(directory).unwrap();
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Copies a directory tree; the copied directories are private to their owner.
fn copy_private(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_private(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension() == Some(OsStr::new(extension))).collect()
}

fn private_dirs(path: &Path, up_to: &Path) {
    fs::create_dir_all(path).unwrap();
    for directory in path.ancestors().take_while(|ancestor| *ancestor != up_to) {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    }
}
