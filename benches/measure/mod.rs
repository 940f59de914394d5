//! Times as rows of a table, next to something of the same run.

#[allow(dead_code, reason = "not every measurement runs the program")]
pub mod release;

use std::time::{Duration, Instant};

pub fn header() {
    println!("{:<52} {:>11} {:>26}", "what", "time", "ratio");
}

pub fn row(what: &str, time: Duration, ratio: &str) {
    println!("{what:<52} {:>8.2} ms {ratio:>26}", time.as_secs_f64() * 1e3);
}

pub fn ratio(time: Duration, baseline: Duration, what: &str) -> String {
    format!("{:.2} × {what}", time.as_secs_f64() / baseline.as_secs_f64())
}

/// The middle of many: neither luck nor disturbance.
pub fn median(runs: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2]
}
