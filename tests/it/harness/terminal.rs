//! A terminal with a person before it, who reads the screen and types when there is something to
//! answer.

use std::{
    io::{Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use super::Home;

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_mins(2);

pub struct Terminal {
    child: Child,
    keyboard: ChildStdin,
    pieces: Receiver<Vec<u8>>,
    screen: String,
    /// How much of the screen has been read.
    read: usize,
}

/// What runs programs of a home on a terminal that cannot draw: it ends where words can follow.
pub fn plain(home: &Home) -> Command {
    let mut command = Command::new("env");
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.path())
        .env("AGENTIC_PROVISION_HOME", home.path())
        .env("TERM", "dumb");
    command
}

impl Terminal {
    /// Turns `command`, which ends where words can follow, into one that runs `line` on a terminal
    /// of its own, which shows what is typed as every terminal does.
    pub fn start(mut command: Command, line: &str) -> Self {
        command
            .args(["script", "--quiet", "--return", "--flush", "--echo", "always"])
            .args(["--command", line, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let keyboard = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard, pieces, screen: String::new(), read: 0 }
    }

    /// Reads on until `text` stands there. What comes after it is read next.
    pub fn wait_for(&mut self, text: &str) -> &mut Self {
        let since = Instant::now();
        loop {
            if let Some(at) = self.screen[self.read..].find(text) {
                self.read += at + text.len();
                return self;
            }
            let rest = PATIENCE.saturating_sub(since.elapsed());
            match self.pieces.recv_timeout(rest) {
                Ok(piece) => self.screen.push_str(&String::from_utf8_lossy(&piece)),
                Err(error) => panic!("{error} while waiting for {text:?} in:\n{}", self.screen),
            }
        }
    }

    /// The next of what is written, as it is; `None` when that takes longer than `patience`, or all
    /// is over.
    pub fn next_piece(&mut self, patience: Duration) -> Option<Vec<u8>> {
        self.pieces.recv_timeout(patience).ok()
    }

    /// Goes away, and everybody who is on it is told.
    pub fn close(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn type_in(&mut self, text: &str) -> &mut Self {
        self.keyboard.write_all(text.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
        self
    }

    /// All that was ever on the screen, and the exit code, once the program has ended.
    pub fn end(mut self) -> (String, Option<i32>) {
        loop {
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => self.screen.push_str(&String::from_utf8_lossy(&piece)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end:\n{}", self.screen),
            }
        }
        let status = self.child.wait().unwrap();
        (self.screen.replace('\r', ""), status.code())
    }
}
