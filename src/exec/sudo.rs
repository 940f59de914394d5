//! Root's rights from the runner's side: whether they can be had, whether that takes a password,
//! whether a password is right, and what commands are given so that their `sudo` comes to us.

use std::{
    io,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::{Environment, askpass, helpers, sudo_shim};
use crate::{disk::Fs, os};

/// How long sudo may take to answer. It waits a while by itself before it says that a password was
/// wrong, and some look users up over a network.
const LIMIT: Duration = Duration::from_secs(30);
/// The longest name a socket can have everywhere.
const LONGEST_SOCKET: usize = 100;

/// How root's rights can be had by whoever runs this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    Root,
    Sudo,
    /// Not at all.
    Missing,
}

impl Environment {
    pub fn rights(&self) -> Rights {
        if rustix::process::geteuid().is_root() {
            Rights::Root
        } else if self.find("sudo").is_some() {
            Rights::Sudo
        } else {
            Rights::Missing
        }
    }
}

/// What stands between a command and sudo: a directory with this program under the name `sudo`, and
/// a socket where it asks for the password.
#[derive(Debug)]
pub struct SudoDesk {
    directory: PathBuf,
    socket: PathBuf,
    /// Where the socket is if it cannot be beside the rest.
    elsewhere: Option<TempDir>,
}

impl SudoDesk {
    /// Sets it up in a directory that is ours alone. It is left there: a command may outlive us.
    pub fn set_up(fs: &Fs, directory: &Path) -> io::Result<Self> {
        let disk = |error: crate::disk::DiskError| io::Error::other(error.to_string());
        match fs.create_dir(directory) {
            Err(error) if error.already_exists() => {}
            created => created.map_err(disk)?,
        }
        let program = os::own_path()?;
        for name in [helpers::SUDO, helpers::ASKPASS] {
            let link = directory.join(name);
            match fs.remove(&link) {
                Err(error) if error.not_found() => {}
                removed => removed.map_err(disk)?,
            }
            std::os::unix::fs::symlink(&program, link)?;
        }
        let beside = directory.join("socket");
        let (elsewhere, socket) = if beside.as_os_str().len() <= LONGEST_SOCKET {
            (None, beside)
        } else {
            let short = tempfile::Builder::new().prefix("provision-").tempdir()?;
            let socket = short.path().join("socket");
            (Some(short), socket)
        };
        match fs.remove(&socket) {
            Err(error) if error.not_found() => {}
            removed => removed.map_err(disk)?,
        }
        Ok(Self { directory: directory.into(), socket, elsewhere })
    }

    /// Where programs that ask for the password come to.
    pub fn listen(&mut self) -> io::Result<UnixListener> {
        let listener = match UnixListener::bind(&self.socket) {
            // Not every file system has sockets.
            Err(_) if self.elsewhere.is_none() => {
                let short = tempfile::Builder::new().prefix("provision-").tempdir()?;
                self.socket = short.path().join("socket");
                self.elsewhere = Some(short);
                UnixListener::bind(&self.socket)?
            }
            bound => bound?,
        };
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// The directory that comes first in PATH.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What runs something as root.
    pub fn program(&self) -> PathBuf {
        self.directory.join(helpers::SUDO)
    }

    /// What a command must be told so that its `sudo` finds us. `names` are variables that are to
    /// reach what it runs; `asks` says whether there is somebody who could give a password.
    pub fn variables(&self, names: &[String], asks: bool) -> Vec<(String, String)> {
        let mut variables = vec![(sudo_shim::KEEP.to_owned(), names.join(","))];
        if asks {
            let text = |path: &Path| path.to_string_lossy().into_owned();
            variables.extend([
                (sudo_shim::ASK.to_owned(), "1".to_owned()),
                (askpass::SOCKET.to_owned(), text(&self.socket)),
                // For those who call the real one by its path.
                ("SUDO_ASKPASS".to_owned(), text(&self.directory.join(helpers::ASKPASS))),
                ("SUDO_PROMPT".to_owned(), sudo_shim::PROMPT.to_owned()),
            ]);
        }
        variables
    }

    /// Starts sudo so that it takes a password and does nothing with it. It asks for it here.
    pub fn begin_check(&self, environment: &Environment) -> io::Result<Child> {
        let words = ["-A", "-k", "-p", sudo_shim::PROMPT, "-v"];
        let mut sudo = detached_sudo(environment, &words)?;
        sudo.envs(self.variables(&[], true)).stderr(Stdio::piped()).spawn()
    }
}

/// How a check ended: content, or what sudo had to say.
pub async fn finish_check(child: Child) -> Result<(), String> {
    let ended = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
    match ended {
        Ok(Ok(output)) if output.status.success() => Ok(()),
        Ok(Ok(output)) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
            Err(last.unwrap_or("sudo refused without a word").to_owned())
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("sudo did not answer within {} s", LIMIT.as_secs())),
    }
}

/// Whether sudo wants a password of this user: what it remembers of a terminal does not count, for
/// commands have none.
pub async fn sudo_wants_password(environment: &Environment) -> bool {
    let Ok(mut sudo) = detached_sudo(environment, &["-k", "-n", "true"]) else { return true };
    let Ok(child) = sudo.stderr(Stdio::null()).spawn() else { return true };
    let ended = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
    !matches!(ended, Ok(Ok(output)) if output.status.success())
}

#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
fn detached_sudo(environment: &Environment, words: &[&str]) -> io::Result<Command> {
    let sudo = environment.find("sudo").ok_or(io::ErrorKind::NotFound)?;
    let mut command = std::process::Command::new(os::own_executable()?);
    command
        .arg(helpers::DETACHED)
        .arg(sudo)
        .args(words)
        .env_clear()
        .envs(environment.variables(&[], []))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    Ok(command)
}
