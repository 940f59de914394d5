//! The table: what, measured, against what, goal. Rows are shown as they are known.

use std::time::Duration;

pub fn header() {
    line("what", "measured", "against what", "goal");
    line(&"-".repeat(46), &"-".repeat(9), &"-".repeat(46), &"-".repeat(14));
}

/// What else there is to compare with follows in lines of its own.
pub fn row(what: &str, measured: &str, against: &[String], goal: &str) {
    let mut against = against.iter().map(String::as_str);
    line(what, measured, against.next().unwrap_or_default(), goal);
    for more in against {
        line("", "", more, "");
    }
}

/// A row that cannot be measured here.
pub fn missing(what: &str, why: &str, goal: &str) {
    row(what, "-", &[why.to_owned()], goal);
}

fn line(what: &str, measured: &str, against: &str, goal: &str) {
    println!("{}", format!("{what:<46}  {measured:>9}  {against:<46}  {goal}").trim_end());
}

/// In the unit a person would use.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.2} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

/// `2.00 × make (1.50 s)`
pub fn times(measured: Duration, baseline: Duration, what: &str) -> String {
    let ratio = measured.as_secs_f64() / baseline.as_secs_f64();
    format!("{ratio:.2} × {what} ({})", time(baseline))
}

/// `1.20 ms beyond make (1.50 s)`; disturbed, it may be less than nothing.
pub fn beyond(measured: Duration, baseline: Duration, what: &str) -> String {
    let more = measured.as_secs_f64() - baseline.as_secs_f64();
    format!("{:.2} ms beyond {what} ({})", more * 1e3, time(baseline))
}
