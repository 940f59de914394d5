//! Ends a run that hangs: names the test, lists its processes, kills them and exits.
//!
//! A test hangs if, for two and a half minutes, none of its processes prints, starts, ends or
//! computes, and neither does the thread of the test. No single wait of a test is that long.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::Write as _,
    process,
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT},
    flag,
};

use super::processes;

const PATIENCE: Duration = Duration::from_secs(150);
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// A process that only waits in a loop uses less than this many clock ticks.
const TICKS_OF_A_STEP: u64 = 10;

static TESTS: Mutex<BTreeMap<u64, Watched>> = Mutex::new(BTreeMap::new());

struct Watched {
    test: String,
    /// The thread of the test, below `/proc`.
    thread: String,
    processes: Box<dyn Fn() -> Vec<u32> + Send>,
    seen: Signs,
    since: Instant,
}

/// The signs of life of a test.
#[derive(Default, PartialEq)]
struct Signs {
    pids: Vec<u32>,
    written: u64,
    steps: u64,
}

/// Keeps a test watched until it is dropped.
pub struct Watch(u64);

impl Watch {
    /// Watches the test of this thread; `processes` finds its processes.
    pub fn start(processes: impl Fn() -> Vec<u32> + Send + 'static) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        static RUN: Once = Once::new();
        RUN.call_once(|| {
            restore_signals();
            if cfg!(target_os = "linux") {
                thread::spawn(watch);
            }
        });
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let thread = fs::read_link("/proc/thread-self").unwrap_or_default();
        let watched = Watched {
            test: thread::current().name().unwrap_or("a test").to_owned(),
            thread: thread.to_string_lossy().into_owned(),
            processes: Box::new(processes),
            seen: Signs::default(),
            since: Instant::now(),
        };
        TESTS.lock().unwrap_or_else(PoisonError::into_inner).insert(number, watched);
        Self(number)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        TESTS.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Has programs that tests start get these signals, though a script or `nohup` that started the tests
/// ignores them: an ignored signal stays ignored in all children, a handled one does not.
fn restore_signals() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    for signal in [SIGHUP, SIGINT, SIGQUIT] {
        if ignored & 1 << (signal - 1) != 0 {
            flag::register(signal, Arc::new(AtomicBool::new(false))).unwrap();
        }
    }
}

/// How long a test may hang; a test of the watchdog itself says another time.
fn patience() -> Duration {
    let millis = std::env::var("PROVISION_TEST_PATIENCE_MS").ok();
    millis.and_then(|millis| millis.parse().ok()).map_or(PATIENCE, Duration::from_millis)
}

fn watch() {
    let patience = patience();
    loop {
        thread::sleep(POLL_INTERVAL.min(patience / 4));
        let mut tests = TESTS.lock().unwrap_or_else(PoisonError::into_inner);
        for watched in tests.values_mut() {
            // Signs are only collected of a test that is quiet for some time: it takes a while.
            if watched.since.elapsed() < patience / 2 {
                continue;
            }
            let signs = Signs::of(watched);
            if signs != watched.seen {
                (watched.seen, watched.since) = (signs, Instant::now());
            } else if watched.since.elapsed() >= patience {
                end_run(watched);
            }
        }
    }
}

impl Signs {
    fn of(watched: &Watched) -> Self {
        let pids = (watched.processes)();
        let written = pids.iter().map(|pid| processes::bytes_written(*pid)).sum();
        let of_processes: u64 = pids.iter().map(|pid| processes::ticks(&pid.to_string())).sum();
        let steps = (of_processes + processes::ticks(&watched.thread)) / TICKS_OF_A_STEP;
        Self { pids, written, steps }
    }
}

/// Names the test that hangs, kills its processes and ends the run.
#[expect(clippy::exit, reason = "a thread that hangs can be ended in no other way")]
fn end_run(watched: &Watched) -> ! {
    let mut text = format!(
        "\n{} hangs: for {:?} nothing printed, started, ended or computed. Its processes:\n",
        watched.test,
        patience()
    );
    for pid in &watched.seen.pids {
        let state = processes::state(*pid).unwrap_or('?');
        let waits_in = fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        let line = processes::command_line(*pid).join(" ");
        let _ = writeln!(text, "  {pid} {state} {waits_in} {line}");
    }
    // Past the capture of the test whose thread started the watchdog.
    let _ = std::io::stderr().write_all(text.as_bytes());
    for pid in &watched.seen.pids {
        processes::signal(*pid, "KILL");
    }
    process::exit(1);
}

/// Hangs, when [`watchdog_ends_a_run_that_hangs`] asks for it.
#[test]
fn hangs_on_request() {
    if std::env::var_os("PROVISION_TEST_HANG").is_some() {
        let home = super::Home::new();
        let mut child = home.program("sleep").arg("1000").spawn().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn watchdog_ends_a_run_that_hangs() {
    let output = process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "harness::watchdog::hangs_on_request"])
        .env("PROVISION_TEST_HANG", "1")
        .env("PROVISION_TEST_PATIENCE_MS", "2000")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("hangs_on_request hangs"), "{text}");
    let line = text.lines().find(|line| line.ends_with("sleep 1000")).expect("its child is listed");
    let pid = line.split_whitespace().next().unwrap().parse().unwrap();
    super::wait_until("the end of its child", || {
        processes::state(pid).is_none_or(|state| state == 'Z')
    });
}
