//! A machine that may be spoiled: this one, seen through an overlay, with processes of its own.
//! Whatever is done to it is in memory, and gone with it.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, OnceLock},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{Output, Watch, assert_document, assert_line, processes, skip};

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Not that of anyone on this machine, who may have sessions and settings of their own.
const HOME: &str = Overlay::HOME;
/// Servers may be out of reach without them.
const PROXIES: [&str; 6] =
    ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

/// Builds the machine, tells the number of its first process, and waits for the end of its input.
const INIT: &str = r#"
set -eu
# There is still the machine's own /proc: it knows this shell by the number it has outside.
read -r outside rest < /proc/self/stat
# What other tests have mounted is none of ours: they wait until nobody holds it.
while read -r _ place rest; do
  case $place in */provision-*) umount -l "$place" ;; esac
done < /proc/self/mounts
mount -t tmpfs tmpfs "$1"
cd "$1"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
# It is often a link to where the overlay does not reach.
cp --dereference --remove-destination /etc/resolv.conf root/etc/resolv.conf
mount -t proc proc root/proc
mount --bind /dev root/dev
mount -t devpts -o ptmxmode=666 devpts root/dev/pts
# What is mounted by itself is not under the overlay: it is shared with the machine.
shift
for place; do
  mkdir -p "root$place"
  mount --rbind "$place" "root$place"
done
# A shell that waits collects what others leave behind, as the first process has to.
exec chroot root /bin/sh -c 'exec 3<&0; cat <&3 >/dev/null & echo "$0"; wait "$!"' "$outside"
"#;

pub struct Overlay {
    /// When this ends, or the test does, so does everything inside.
    keeper: Child,
    /// The first process inside, by its number outside.
    init: u32,
    /// All that there was inside when nothing had been started.
    idle: Vec<u32>,
    _mount_point: TempDir,
    _watch: Watch,
}

impl Overlay {
    /// Where that machine's user is at home.
    pub const HOME: &str = "/home-of-the-test";

    /// `None`, and a word why, only where there can be no such thing: not on Linux, not as root,
    /// without apt. Anywhere else it is there, or the test fails.
    pub fn with_apt() -> Option<Self> {
        Self::with_apt_and(&[])
    }

    /// The same, with these places of the real machine in it: what is written there stays.
    pub fn with_apt_and(shared: &[PathBuf]) -> Option<Self> {
        let why_not = if !cfg!(target_os = "linux") {
            "overlays are a thing of Linux"
        } else if !rustix::process::geteuid().is_root() {
            "only root may mount an overlay"
        } else if !Path::new("/usr/bin/apt-get").exists() {
            "there is no apt-get"
        } else {
            return Some(Self::new(shared));
        };
        skip(why_not);
        None
    }

    fn new(shared: &[PathBuf]) -> Self {
        let init_of_watch = Arc::new(OnceLock::new());
        let init_seen = Arc::clone(&init_of_watch);
        let watch = Watch::start(move || {
            init_seen.get().map_or_else(Vec::new, |init| processes::in_namespace_of(*init))
        });
        let mount_point = tempfile::Builder::new().prefix("provision-").tempdir().unwrap();
        let mut keeper = Command::new("unshare")
            .args(["--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", INIT, "init"])
            .arg(mount_point.path())
            .args(shared)
            .env_clear()
            .env("PATH", PATH)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("unshare, of util-linux, makes the namespaces of the overlay");
        let mut said = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let Ok(init) = said.trim().parse() else {
            let mut why = String::new();
            keeper.stderr.take().unwrap().read_to_string(&mut why).unwrap();
            let _ = keeper.wait();
            panic!("this machine has root and apt-get, and must let us mount an overlay:\n{why}");
        };
        let _ = init_of_watch.set(init);
        let idle = processes::in_namespace_of(init);
        let overlay = Self { keeper, init, idle, _mount_point: mount_point, _watch: watch };
        fs::create_dir(overlay.path(HOME)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_provision"), overlay.path("/usr/local/bin/provision"))
            .unwrap();
        overlay
    }

    /// Where a file of that machine is found from here.
    pub fn path(&self, inside: &str) -> PathBuf {
        format!("/proc/{}/root{inside}", self.init).into()
    }

    pub fn write(&self, inside: &str, content: &str) {
        fs::write(self.path(inside), content).unwrap();
    }

    /// The directories in which programs are looked for.
    pub fn program_directories() -> impl Iterator<Item = &'static str> {
        PATH.split(':')
    }

    /// A command of that machine, with nothing of the tester's environment.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--mount", "--pid", "--root", "--wd", "--target", &self.init.to_string(), "--"])
            .args(words)
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", HOME)
            .env("AGENTIC_PROVISION_HOME", format!("{HOME}/.agentic-provision"))
            .envs(PROXIES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, words: &[&str]) -> Output {
        Output::of(&mut self.command(words))
    }

    /// Runs, expects success, and gives what came out.
    pub fn said(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.code, Some(0), "{words:?}\n{}{}", output.stdout, output.stderr);
        output.stdout
    }

    /// Everything that was started inside and has not ended.
    pub fn running(&self) -> Vec<u32> {
        let mut pids = processes::in_namespace_of(self.init);
        pids.retain(|pid| !self.idle.contains(pid) && processes::state(*pid) != Some('Z'));
        pids
    }

    /// The processes inside whose command line begins so.
    pub fn running_as(&self, words: &[&str]) -> Vec<u32> {
        let mut pids = self.running();
        pids.retain(|pid| {
            let line = processes::command_line(*pid);
            line.len() >= words.len() && line.iter().zip(words).all(|(has, wanted)| has == wanted)
        });
        pids
    }

    /// The newest session's document, as the schemas want it.
    pub fn document(&self) -> Value {
        let sessions = self.said(&["provision", "--json", "sessions"]);
        let sessions: Value = serde_json::from_str(&sessions).unwrap();
        let path = sessions["sessions"][0]["path"].as_str().unwrap();
        let document = fs::read(self.path(path)).unwrap();
        assert_document(&document);
        serde_json::from_slice(&document).unwrap()
    }

    /// Every event of the newest session, each as the schemas want it.
    pub fn events(&self) -> Vec<Value> {
        let document = self.document();
        let id = document["meta"]["id"].as_str().unwrap();
        let journal = self.path(&format!("{HOME}/.agentic-provision/records/{id}/history.jsonl"));
        let journal = fs::read(journal).unwrap();
        let lines = journal.split_inclusive(|byte| *byte == b'\n');
        lines
            .inspect(|line| assert_line(line))
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        // With their first process the others of a namespace die, and with the last its mounts.
        processes::signal(self.init, "KILL");
        let _ = self.keeper.wait();
    }
}
