//! The power goes in the middle of a run: on a file system of its own, which then forgets all that
//! was not synced.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use crate::harness::{Generator, Home, processes, seed, skip, soak, wait_until};

/// An ext4 file system in a file, mounted; gone when dropped.
struct Disk {
    image: PathBuf,
    place: PathBuf,
}

impl Disk {
    /// `None` where this machine does not let us.
    fn within(home: &Home) -> Option<Self> {
        let disk = Self { image: home.path().join("image"), place: home.path().join("disk") };
        fs::create_dir(&disk.place).unwrap();
        fs::File::create(&disk.image).unwrap().set_len(32 * 1024 * 1024).unwrap();
        let formatted = quiet(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&disk.image));
        let ready = formatted && disk.mount() && cut_power_is_known();
        if !ready {
            skip(
                "this machine lets us mount no ext4 of our own (root, mkfs.ext4 and perl are needed)",
            );
        }
        ready.then_some(disk)
    }

    fn mount(&self) -> bool {
        quiet(Command::new("mount").args(["-o", "loop"]).arg(&self.image).arg(&self.place))
    }

    fn unmount(&self) {
        // Whoever was at work on it needs a moment to die.
        wait_until("the unmount", || quiet(Command::new("umount").arg(&self.place)));
        // A namespace that was made meanwhile sees the disk a little longer. What is cut off stays
        // cut off until the last one lets go.
        wait_until("the end of the disk", || {
            let used = Command::new("losetup").arg("--associated").arg(&self.image).output();
            used.is_ok_and(|used| used.stdout.is_empty())
        });
    }

    /// `FS_IOC_SHUTDOWN` without flushing the journal: from now on nothing reaches the disk.
    fn cut_power(&self) {
        let script = r#"open(F, "<", $ARGV[0]) or die; my $how = pack("L", 2); ioctl(F, 0x8004587d, $how) or die $!"#;
        let cut = Command::new("perl").args(["-e", script]).arg(&self.place).output().unwrap();
        assert!(cut.status.success(), "{}", String::from_utf8_lossy(&cut.stderr));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.place).stderr(Stdio::null()).status();
    }
}

fn cut_power_is_known() -> bool {
    quiet(Command::new("perl").args(["-e", "1"]))
}

fn quiet(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The program as after `boots` starts of the machine: each boot has an id of its own.
fn provision(home: &Home, disk: &Disk, boots: usize, arguments: &[&str]) -> Command {
    let boot = home.path().join(format!("boot-{boots}"));
    fs::write(&boot, format!("00000000-0000-4000-8000-{boots:012}\n")).unwrap();
    let script = r#"mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec "$@""#;
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", script, "-"])
        .arg(&boot)
        .arg(env!("CARGO_BIN_EXE_provision"))
        .args(["--json", "--home"])
        .arg(disk.place.join("home"))
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", home.path())
        .stdin(Stdio::null());
    command
}

/// Seconds since 1970, as commands tell them.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

/// How often each command ran. What one did whose power was gone it did not do.
fn counts(witness: &Path, without_power: &[(f64, f64)]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in fs::read_to_string(witness).unwrap_or_default().lines() {
        let (tag, time) = line.split_once(' ').unwrap();
        let time: f64 = time.parse().unwrap();
        if !without_power.iter().any(|(from, to)| (*from..*to).contains(&time)) {
            *counts.entry(tag.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// A power cut takes every process with it.
fn end_supervisors(disk: &Disk) {
    for pid in processes::with_in_command_line(&["__supervise"]) {
        let on_disk = fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|mut files| {
            files.any(|file| {
                let target = fs::read_link(file.unwrap().path()).unwrap_or_default();
                target.starts_with(&disk.place)
            })
        });
        if on_disk {
            processes::signal(pid, "KILL");
        }
    }
}

/// Everything that was told is there, and what is there can be gone on with.
fn assert_kept(home: &Home, disk: &Disk, told: &[Value]) {
    let id = told[0]["session_id"].as_str().unwrap();
    let place = disk.place.join("home");
    let with = |more: &[&str]| home.run(&[&["--home", place.to_str().unwrap()], more].concat());
    let history = with(&["--json", "history", id]);
    assert_eq!(history.code, Some(0), "{}", history.stderr);
    let journal: Vec<Value> =
        history.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in told {
        let seq = usize::try_from(event["seq"].as_u64().unwrap()).unwrap();
        assert_eq!(journal.get(seq - 1), Some(event), "an acknowledged event is lost");
    }
    assert_eq!(with(&["status", id]).code, Some(0));
}

#[test]
fn no_acknowledged_result_is_lost_and_no_record_torn() {
    let mut chance = Generator::new(seed("power cuts"));
    let wanted = if soak() { 100 } else { 20 };
    let (mut cuts, mut acknowledged, mut unknown, mut rounds) = (0, 0, 0, 0);
    while cuts < wanted {
        rounds += 1;
        assert!(rounds < 1_000, "no cut ever lands");
        let home = Home::on_disk().damaged();
        let Some(disk) = Disk::within(&home) else { return };
        // On another disk: it says what really ran, and when.
        let witness = home.path().join("witness");
        let command = |number: usize| {
            let script = format!(
                "echo {number} $EPOCHREALTIME >> '{}'; sleep 0.00{}",
                witness.display(),
                number % 10
            );
            json!({"id": format!("task-{number}"), "commands": [{"command": script}]})
        };
        let plan = home.plan(&(0..15).map(command).collect());
        let mut told = Vec::<Value>::new();
        let mut without_power = Vec::new();
        for boot in 0.. {
            let id = told.first().map(|event| event["session_id"].as_str().unwrap().to_owned());
            let arguments = match &id {
                None => vec!["apply", plan.to_str().unwrap(), "--yes"],
                Some(id) => vec!["resume", id, "--yes", "--interrupted", "skip"],
            };
            let mut runner = provision(&home, &disk, boot, &arguments)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let lines = BufReader::new(runner.stdout.take().unwrap()).lines();
            let (say, heard) = mpsc::channel::<Value>();
            let reader = thread::spawn(move || {
                let read = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
                read.for_each(|event| say.send(event).unwrap());
            });
            // So many events, and a little later. What is told after that may be told by one whose
            // power is gone: a file system cut off in this way calls a sync a success that was under
            // way when it happened.
            told.extend(heard.iter().take(chance.draw(40)));
            thread::sleep(Duration::from_micros(chance.draw(20_000) as u64));
            told.extend(heard.try_iter());
            let cut = (boot < 4).then(|| {
                let at = now();
                disk.cut_power();
                at
            });
            let later: Vec<_> = heard.iter().collect();
            reader.join().unwrap();
            let output = runner.wait_with_output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            if output.status.code() == Some(0) {
                told.extend(later.into_iter().filter(|_| cut.is_none()));
                break;
            }
            if output.status.code() == Some(2) && stderr.contains("is completed") {
                // The run before had come to its end, and lost power before it could say so.
                break;
            }
            let from = cut.unwrap_or_else(|| panic!("{stderr}"));
            assert_eq!(output.status.code(), Some(9), "{stderr}");
            cuts += 1;
            end_supervisors(&disk);
            disk.unmount();
            assert!(disk.mount());
            without_power.push((from, now()));
            if told.is_empty() {
                // Nothing was promised; whether a session is there nobody can say.
                let _ = fs::remove_dir_all(disk.place.join("home"));
            } else {
                assert_kept(&home, &disk, &told);
            }
        }
        told.retain(|event| event["event"] != "run_ended");
        acknowledged += told.len();
        unknown += told.iter().filter(|event| event["outcome"] == "indeterminate").count();
        // Passed by where nobody knew how it ended: so nothing ran twice.
        let counts = counts(&witness, &without_power);
        for (tag, count) in &counts {
            assert_eq!(*count, 1, "command {tag} ran {count} times");
        }
        for event in told.iter().filter(|event| event["event"] == "command_finished") {
            let number = event["task_id"].as_str().unwrap().trim_start_matches("task-");
            assert!(event["status"] == "failure" || counts.contains_key(number), "{event}");
        }
    }
    println!(
        "{cuts} power cuts in {rounds} sessions, {acknowledged} events acknowledged, \
         {unknown} attempts indeterminate"
    );
}
