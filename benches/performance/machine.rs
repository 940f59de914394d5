//! Machines that may be spoiled: this one, seen through overlays in memory. One is prepared, and
//! each of the others begins as that was left. Nothing is left behind on this one.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, ChildStderr, Command, Stdio},
};

use tempfile::TempDir;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Not that of anyone here, who may have sessions and settings of their own.
const HOME: &str = "/home-of-the-measurement";
/// Servers may be out of reach without them.
const PROXIES: [&str; 6] =
    ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

/// Memory for all the overlays, seen by nobody else, until the end of its input.
const SHELF: &str = r#"
set -eu
mount -t tmpfs tmpfs "$1"
echo "$$"
exec cat
"#;

/// Builds a machine on the shelf, tells the number of its first process, and waits for the end of
/// its input.
const INIT: &str = r#"
set -eu
# There is still the real machine's /proc: it knows this shell by the number it has outside.
read -r outside rest < /proc/self/stat
mkdir "$1/$2"
cd "$1/$2"
mkdir upper work root
mount -t overlay overlay -o "lowerdir=$3,upperdir=upper,workdir=work" root
# It is often a link to where the overlay does not reach.
cp --dereference --remove-destination /etc/resolv.conf root/etc/resolv.conf
mount -t proc proc root/proc
mount --bind /dev root/dev
# Who holds a lock is told by numbers of files, which on overlays of memory are not all different:
# the sessions' own locks are elsewhere.
mkdir -p "root$4"
mount -t tmpfs tmpfs "root$4"
# A shell that waits collects what others leave behind, as the first process has to.
exec chroot root /bin/sh -c 'exec 3<&0; cat <&3 >/dev/null & echo "$0"; wait "$!"' "$outside"
"#;

/// Where the overlays are.
pub struct Shelf {
    keeper: Kept,
    mount_point: TempDir,
    machines: usize,
}

impl Shelf {
    /// Or why there can be none here.
    pub fn new() -> Result<Self, String> {
        let mount_point = tempfile::Builder::new().prefix("provision-").tempdir().unwrap();
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "/bin/sh", "-c", SHELF, "shelf"]).arg(mount_point.path());
        let keeper = Kept::start(unshare)?;
        Ok(Self { keeper, mount_point, machines: 0 })
    }

    /// This machine, with the program that is measured.
    pub fn bare(&mut self) -> Result<Machine, String> {
        let machine = self.machine("/")?;
        let program = machine.path("/usr/local/bin/provision");
        fs::copy(crate::release::provision(), program).unwrap();
        Ok(machine)
    }

    /// A machine as the first one was left. That one is used up: what is below an overlay may not
    /// change.
    pub fn like(&mut self, prepared: &Prepared) -> Result<Machine, String> {
        let Prepared(number) = prepared;
        self.machine(&format!("{}/{number}/upper:/", self.mount_point.path().display()))
    }

    fn machine(&mut self, lower: &str) -> Result<Machine, String> {
        let number = self.machines;
        self.machines += 1;
        let mut enter = Command::new("nsenter");
        enter
            .args(["--mount", "--target", &self.keeper.pid.to_string(), "--"])
            .args(["unshare", "--mount", "--pid", "--fork", "--kill-child"])
            .args(["/bin/sh", "-c", INIT, "init"])
            .arg(self.mount_point.path())
            .args([&number.to_string(), lower, HOME]);
        Ok(Machine { first: Kept::start(enter)?, number })
    }
}

pub struct Machine {
    first: Kept,
    number: usize,
}

/// A machine that has ended, for others to begin as.
pub struct Prepared(usize);

impl Machine {
    pub fn end(self) -> Prepared {
        Prepared(self.number)
    }

    /// Where a file of that machine is found from here.
    fn path(&self, inside: &str) -> PathBuf {
        format!("/proc/{}/root{inside}", self.first.pid).into()
    }

    pub fn write(&self, inside: &str, content: &str) {
        fs::write(self.path(inside), content).unwrap();
    }

    /// Runs it there, with nothing of the environment here. What it said, if it fails.
    pub fn run(&self, words: &[&str]) -> Result<(), String> {
        let output = Command::new("nsenter")
            .args(["--mount", "--pid", "--root", "--wd", "--target", &self.first.pid.to_string()])
            .arg("--")
            .args(words)
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", HOME)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .envs(PROXIES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("{words:?}: {}\n{}", output.status, String::from_utf8_lossy(&said)))
        }
    }
}

/// A process that lives until we let go of its input, or end.
struct Kept {
    child: Child,
    /// By its own account: it may be a child of the one we started.
    pid: u32,
}

impl Kept {
    fn start(mut command: Command) -> Result<Self, String> {
        command.env_clear().env("PATH", PATH);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        match said.trim().parse() {
            Ok(pid) => Ok(Self { child, pid }),
            Err(_) => Err(last_words(child)),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // With its input it ends, with the first process the others, and with them the mounts.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn last_words(mut child: Child) -> String {
    let mut why = String::new();
    let read = |mut stderr: ChildStderr| stderr.read_to_string(&mut why);
    let _ = child.stderr.take().map(read);
    let _ = child.wait();
    why.lines().last().unwrap_or("it ended without a word").to_owned()
}
