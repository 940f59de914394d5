//! The supervisor: one process for one attempt. It claims the attempt, runs the command, keeps its
//! output and says how it ended. It needs nobody to have begun, and outlives whoever began it.
//!
//! One thread, no runtime. Whatever happens to the one who started it, the command is not
//! disturbed.

use std::{
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::Path,
    process::{Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Signal, WaitOptions, WaitStatus},
};
use sha2::{Digest as _, Sha256};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1};

use super::{
    Finish, Spec, Word,
    claim::{Claimed, RESULT},
    output::Log,
    redact::Redactor,
    tree::{self, Tree},
};
use crate::{
    disk::Fs,
    model::{AttemptOutcome, Digest},
    os,
};

/// How long output is waited for that others hold back when the command itself has ended.
const DRAIN: Duration = Duration::from_millis(100);
/// Between two rounds of ending a tree that grows while it is ended.
const ROUND: Duration = Duration::from_millis(20);
/// How long a tree is ended before what is left of it is given up and reported.
const PERSISTENCE: Duration = Duration::from_secs(10);
const CHUNK: usize = 64 * 1024;
/// How many chunks are taken in before everything else is looked at again.
const CHUNKS: usize = 16;

/// The program `provision __supervise`. `on_terminal`, it stays where its command can talk with a
/// person: in the foreground of the terminal, together with whoever started it.
pub(super) fn supervise(on_terminal: bool) -> ExitCode {
    // Without a session of our own we would die with the terminal of whoever started us.
    if !on_terminal && rustix::process::setsid().is_err() {
        return ExitCode::FAILURE;
    }
    let Ok(runner) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut runner = UnixStream::from(runner);
    // All that needs no order is done before it comes: it may be waited for.
    let Ok(signals) = Signals::listen(on_terminal) else { return ExitCode::FAILURE };
    os::adopt_orphans();
    let fs = Fs::real();
    let started = os::started(std::process::id()).unwrap_or(0);
    // An order that ends before its end was given by one who died: it does not count.
    let Ok(spec) = Spec::receive(&mut runner) else { return ExitCode::FAILURE };
    let order = spec.order.clone();
    let claimed = match Claimed::take(&fs, &spec.directory, &spec.boot_id, started, order) {
        Ok(Some(claimed)) => claimed,
        Ok(None) => {
            tell(&mut runner, &Word::ClaimedByAnother);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            let text = format!("{error}: {}", error.source);
            let word = Word::NotClaimed { error: text, full: error.is_full() };
            tell(&mut runner, &word);
            return ExitCode::FAILURE;
        }
    };
    tell(&mut runner, &Word::Claimed);
    Watch::begin(&fs, &spec, &claimed, signals, &mut runner).run(claimed, &mut runner);
    ExitCode::SUCCESS
}

/// Whoever started us may be gone: then nobody needs to be told.
fn tell(runner: &mut UnixStream, word: &Word) {
    let mut line = serde_json::to_vec(word).unwrap_or_default();
    line.push(b'\n');
    let _ = runner.write_all(&line);
}

/// What was signalled to us. None of it ends us.
struct Signals {
    wake: UnixStream,
    terminate: Arc<AtomicBool>,
    kill: Arc<AtomicBool>,
}

impl Signals {
    /// Handlers, not ignored signals: those the command would inherit. What a person types at the
    /// terminal is meant for the command alone.
    fn listen(on_terminal: bool) -> io::Result<Self> {
        let (wake, sender) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        sender.set_nonblocking(true)?;
        let signals = Self { wake, terminate: Arc::default(), kill: Arc::default() };
        signal_hook::flag::register(SIGTERM, Arc::clone(&signals.terminate))?;
        let kill = if on_terminal { SIGUSR1 } else { SIGQUIT };
        signal_hook::flag::register(kill, Arc::clone(&signals.kill))?;
        let typed = [SIGTSTP, SIGUSR1].into_iter().filter(|_| on_terminal);
        for signal in [SIGCHLD, SIGTERM, SIGQUIT, SIGHUP, SIGINT].into_iter().chain(typed) {
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
        }
        Ok(signals)
    }

    fn settle(&mut self) {
        let mut buffer = [0; 256];
        while self.wake.read(&mut buffer).is_ok_and(|read| read > 0) {}
    }
}

/// One attempt under way.
struct Watch<'a> {
    fs: &'a Fs,
    spec: &'a Spec,
    signals: Signals,
    child: Option<u32>,
    problem: Option<String>,
    began: Instant,
    /// Where the output comes from, until all who could write have closed it.
    pipe: Option<OwnedFd>,
    redactor: Redactor,
    log: Log,
    hash: Sha256,
    bytes: u64,
    ended: Option<(WaitStatus, Instant)>,
    /// Since when the command is over its time.
    overdue: Option<Instant>,
    /// Since when the tree is being ended for good.
    killing: Option<Instant>,
    has_children: bool,
    tree: Tree,
}

impl<'a> Watch<'a> {
    fn begin(
        fs: &'a Fs,
        spec: &'a Spec,
        claimed: &Claimed,
        signals: Signals,
        runner: &mut UnixStream,
    ) -> Self {
        let mut watch = Self {
            fs,
            spec,
            signals,
            child: None,
            problem: None,
            began: now(),
            pipe: None,
            redactor: Redactor::new(&spec.secrets),
            log: Log::new(fs, &spec.directory),
            hash: Sha256::new(),
            bytes: 0,
            ended: None,
            overdue: None,
            killing: None,
            has_children: true,
            tree: Tree::default(),
        };
        match start(spec, claimed) {
            Ok((child, pipe)) => {
                (watch.child, watch.pipe) = (Some(child), pipe);
                tell(runner, &Word::Spawned);
            }
            Err(error) => watch.problem = Some(error.to_string()),
        }
        watch
    }

    /// Watches to the end, and for as long after it as something of the command writes.
    fn run(mut self, claimed: Claimed, runner: &mut UnixStream) {
        let Claimed { lock, alive: _alive, room } = claimed;
        let mut buffer = vec![0; CHUNK];
        while self.child.is_some() && !self.is_over() {
            self.wait();
            self.read(&mut buffer);
            self.reap();
            self.end_if_due();
        }
        self.read(&mut buffer);
        let mut rest = Vec::new();
        self.redactor.finish(&mut rest);
        self.keep(&rest);
        let finish = self.finish();
        // Whoever listens is told, even where it cannot be written.
        let _ = room.publish(self.fs, &finish, &self.spec.directory.join(RESULT));
        // Whoever looks now finds the result, or knows that none will come.
        drop(lock);
        tell(runner, &Word::Finished(Box::new(finish)));
        let _ = runner.shutdown(std::net::Shutdown::Both);
        self.drain(&mut buffer);
    }

    fn is_over(&self) -> bool {
        if let Some(since) = self.killing.or(self.overdue) {
            // It was to end with all it started. What cannot be ended is not waited for for ever.
            let given_up = since.elapsed() > self.grace() + PERSISTENCE;
            return given_up || (self.ended.is_some() && !self.has_children);
        }
        let Some((_, at)) = self.ended else { return false };
        self.pipe.is_none() || at.elapsed() >= DRAIN
    }

    fn grace(&self) -> Duration {
        Duration::from_millis(self.spec.grace_ms)
    }

    fn time_limit(&self) -> Option<Duration> {
        self.spec.timeout_ms.map(Duration::from_millis)
    }

    /// Until something happens or is due.
    fn wait(&mut self) {
        let due = if self.killing.is_some() {
            Some(ROUND)
        } else if let Some(since) = self.overdue {
            Some(self.grace().saturating_sub(since.elapsed()).min(ROUND))
        } else if let Some((_, at)) = self.ended {
            Some(DRAIN.saturating_sub(at.elapsed()))
        } else {
            self.time_limit().map(|limit| limit.saturating_sub(self.began.elapsed()))
        };
        let timeout = due.map(|due| {
            Timespec::try_from(due + Duration::from_millis(1))
                .unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 })
        });
        let mut sources = vec![PollFd::new(&self.signals.wake, PollFlags::IN)];
        sources.extend(self.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        // Interrupted or not, everything is looked at.
        let _ = poll(&mut sources, timeout.as_ref());
        self.signals.settle();
    }

    fn read(&mut self, buffer: &mut [u8]) {
        for _ in 0..CHUNKS {
            let Some(pipe) = &self.pipe else { return };
            match rustix::io::read(pipe, &mut *buffer) {
                Ok(0) => self.pipe = None,
                Ok(read) => {
                    self.bytes += read as u64;
                    let mut shown = Vec::with_capacity(read + 64);
                    self.redactor.push(&buffer[..read], &mut shown);
                    self.keep(&shown);
                }
                Err(Errno::INTR) => {}
                // Nothing there now.
                Err(Errno::AGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }

    fn keep(&mut self, shown: &[u8]) {
        self.hash.update(shown);
        self.log.write(shown);
    }

    /// Collects everyone who has ended: the command, and whoever came to us as an orphan.
    fn reap(&mut self) {
        loop {
            let stopped_too = self.spec.on_terminal.then_some(WaitOptions::UNTRACED);
            let which = WaitOptions::NOHANG | stopped_too.unwrap_or(WaitOptions::empty());
            match rustix::process::wait(which) {
                // Nobody could start it again: there is no shell that knows of it.
                Ok(Some((_, status))) if status.stopped() => {
                    self.tree.signal(Signal::CONT, self.spec, now());
                }
                Ok(Some((pid, status))) => {
                    let pid = u32::try_from(pid.as_raw_nonzero().get()).ok();
                    self.tree.reaped(pid.unwrap_or(0));
                    if pid == self.child && self.ended.is_none() {
                        self.ended = Some((status, now()));
                    }
                }
                Ok(None) => {
                    self.has_children = true;
                    return;
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.has_children = false;
                    return;
                }
            }
        }
    }

    fn end_if_due(&mut self) {
        if self.signals.terminate.swap(false, Ordering::Relaxed) {
            self.tree.signal(Signal::TERM, self.spec, now());
        }
        if self.signals.kill.swap(false, Ordering::Relaxed) {
            self.killing.get_or_insert_with(now);
        }
        let limit = self.time_limit();
        if self.ended.is_none()
            && self.overdue.is_none()
            && limit.is_some_and(|limit| self.began.elapsed() >= limit)
        {
            self.overdue = Some(now());
            self.tree.signal(Signal::TERM, self.spec, now());
            // One that is stopped would not notice.
            self.tree.signal(Signal::CONT, self.spec, now());
        }
        if self.overdue.is_some_and(|since| since.elapsed() >= self.grace()) {
            self.killing.get_or_insert_with(now);
        }
        if self.killing.is_some() {
            self.tree.signal(Signal::KILL, self.spec, now());
        }
    }

    fn finish(&mut self) -> Finish {
        let status = self.ended.map(|(status, _)| status);
        let outcome = match status {
            None if self.problem.is_some() => AttemptOutcome::NotStarted,
            _ if self.overdue.is_some() => AttemptOutcome::TimedOut,
            Some(status) if status.exited() => AttemptOutcome::Exited,
            _ => AttemptOutcome::Signaled,
        };
        let ended = self.ended.map_or_else(now, |(_, at)| at);
        let duration = ended.saturating_duration_since(self.began);
        let may_be_left = self.has_children || !cfg!(target_os = "linux");
        let (descendants, survivors) =
            if self.child.is_some() && may_be_left { tree::survivors() } else { (0, Vec::new()) };
        Finish {
            outcome,
            exit_code: status.and_then(WaitStatus::exit_status),
            signal: status.and_then(WaitStatus::terminating_signal),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            bytes: self.bytes,
            dropped: self.log.dropped,
            hash: Digest::of(self.hash.clone().finalize().into()),
            descendants,
            survivors,
            problem: self.problem.take(),
        }
    }

    /// A daemon that the command left may write for years: it must not break over a closed pipe.
    /// Only being asked to terminate ends this before the daemon does.
    fn drain(mut self, buffer: &mut [u8]) {
        self.signals.terminate.store(false, Ordering::Relaxed);
        while let Some(pipe) = &self.pipe {
            let mut sources =
                [PollFd::new(&self.signals.wake, PollFlags::IN), PollFd::new(pipe, PollFlags::IN)];
            let _ = poll(&mut sources, None);
            self.signals.settle();
            match rustix::io::read(pipe, &mut *buffer) {
                Ok(0) => return,
                Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return,
            }
            self.reap();
            if self.signals.terminate.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

/// Starts the command in a group of its own; returns its number and where its output comes from. On
/// the terminal it stays in the group that has it, and its output is for whoever sits there.
#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
fn start(spec: &Spec, claimed: &Claimed) -> io::Result<(u32, Option<OwnedFd>)> {
    let token = claimed.token().map_err(|error| error.source)?;
    let shell = super::environment::shell();
    let mut command = match spec.sudo.as_ref().filter(|_| spec.as_root) {
        Some(program) => {
            let mut command = Command::new(program);
            command.arg(shell.program);
            command
        }
        None => Command::new(shell.program),
    };
    command
        .args(shell.arguments)
        .arg("-c")
        .arg(&spec.command)
        .env_clear()
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&spec.working_dir);
    let reader = if spec.on_terminal {
        let terminal = os::open_terminal()?;
        command.stdin(terminal.try_clone()?).stdout(terminal.try_clone()?).stderr(terminal);
        None
    } else {
        let (reader, writer) = io::pipe()?;
        let reader = OwnedFd::from(reader);
        rustix::io::ioctl_fionbio(&reader, true)?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
        Some(reader)
    };
    let child = command.spawn().map_err(|error| explain(&error, spec, shell.program))?;
    drop(token);
    Ok((child.id(), reader))
}

/// The system does not say what it did not find.
fn explain(error: &io::Error, spec: &Spec, shell: &str) -> io::Error {
    let place = &spec.working_dir;
    let text = if !Path::new(place).is_dir() {
        format!("its working directory `{}` is not there", place.display())
    } else if error.raw_os_error() == Some(Errno::TOOBIG.raw_os_error()) {
        "the command and its environment are larger than the system takes".into()
    } else {
        format!("{shell} cannot be started: {error}")
    };
    io::Error::new(error.kind(), text)
}

/// Time awake, which deadlines are measured in.
#[expect(clippy::disallowed_methods, reason = "a deadline is kept where the command is")]
fn now() -> Instant {
    Instant::now()
}
