//! The power goes in the middle of a run: on a file system of its own, which then forgets all that
//! was not synced.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::harness::{Generator, Home, processes, seed, soak, wait_until};

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
            println!(
                "skipped: this machine lets us mount no ext4 of our own (root, mkfs.ext4 and perl are needed)"
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

fn counts(witness: &Path) -> Vec<(String, usize)> {
    let text = fs::read_to_string(witness).unwrap_or_default();
    let mut counts = Vec::<(String, usize)>::new();
    for line in text.lines() {
        match counts.iter_mut().find(|(tag, _)| tag == line) {
            Some((_, count)) => *count += 1,
            None => counts.push((line.to_owned(), 1)),
        }
    }
    counts
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
        // On another disk: it says what really ran.
        let witness = home.path().join("witness");
        let command = |number: usize| json!({"command": format!("echo {number} >> '{}'; sleep 0.00{}", witness.display(), number % 10)});
        let tasks: Vec<_> = (0..15)
            .map(|number| json!({"id": format!("task-{number}"), "commands": [command(number)]}))
            .collect();
        let plan = home.plan(&json!(tasks));
        let mut told = Vec::<Value>::new();
        let mut boots = 0;
        loop {
            let id = told.first().map(|event| event["session_id"].as_str().unwrap().to_owned());
            let arguments = match &id {
                None => vec!["apply", plan.to_str().unwrap(), "--yes"],
                Some(id) => vec!["resume", id, "--yes", "--interrupted", "skip"],
            };
            let mut runner = provision(&home, &disk, boots, &arguments)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(runner.stdout.take().unwrap()).lines();
            // So many events, and a little later.
            let events = chance.draw(40);
            let read =
                |line: std::io::Result<String>| serde_json::from_str(&line.unwrap()).unwrap();
            told.extend(lines.by_ref().take(events).map(read));
            std::thread::sleep(Duration::from_micros(chance.draw(20_000) as u64));
            let last_boot = boots > 3;
            if !last_boot {
                disk.cut_power();
                boots += 1;
            }
            told.extend(lines.map(read));
            let output = runner.wait_with_output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            if output.status.code() == Some(0) {
                break;
            }
            assert!(!last_boot, "{stderr}");
            assert_eq!(output.status.code(), Some(9), "{stderr}");
            told.retain(|event| event["event"] != "run_ended");
            cuts += 1;
            // The power took every process with it.
            for pid in processes::with_in_command_line(&["__supervise"]) {
                let cwd = format!("/proc/{pid}/fd");
                let on_disk = fs::read_dir(cwd).is_ok_and(|mut files| {
                    files.any(|file| {
                        let target = fs::read_link(file.unwrap().path()).unwrap_or_default();
                        target.starts_with(&disk.place)
                    })
                });
                if on_disk {
                    processes::signal(pid, "KILL");
                }
            }
            disk.unmount();
            assert!(disk.mount());
            if told.is_empty() {
                // Nothing was promised; whether a session is there nobody can say.
                let _ = fs::remove_dir_all(disk.place.join("home"));
                continue;
            }
            let id = told[0]["session_id"].as_str().unwrap();
            let home_on_disk = disk.place.join("home");
            let history =
                home.run(&["--home", home_on_disk.to_str().unwrap(), "--json", "history", id]);
            assert_eq!(history.code, Some(0), "{}", history.stderr);
            let journal: Vec<Value> =
                history.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            for event in &told {
                let seq = usize::try_from(event["seq"].as_u64().unwrap()).unwrap();
                assert_eq!(journal.get(seq - 1), Some(event), "an acknowledged event is lost");
            }
            let verified =
                home.run(&["--home", home_on_disk.to_str().unwrap(), "history", id, "--verify"]);
            assert!(matches!(verified.code, Some(0 | 6)), "{}", verified.stderr);
        }
        acknowledged += told.len();
        unknown += told.iter().filter(|event| event["outcome"] == "indeterminate").count();
        // Skipped where nobody knew how it ended: so nothing ran twice.
        for (tag, count) in counts(&witness) {
            assert_eq!(count, 1, "command {tag} ran {count} times");
        }
        for event in told.iter().filter(|event| event["event"] == "command_finished") {
            if event["status"] == "success" {
                let number = event["task_id"].as_str().unwrap().trim_start_matches("task-");
                assert!(counts(&witness).iter().any(|(tag, _)| tag == number), "{event}");
            }
        }
    }
    println!(
        "{cuts} power cuts in {rounds} sessions, {acknowledged} events acknowledged, {unknown} attempts indeterminate"
    );
}
