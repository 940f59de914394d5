//! How long something took, may take, or is ago.

use std::time::Duration;

use crate::{
    engine::how_long,
    model::{Seconds, Timestamp},
};

/// `0.4 s`, `2 min 3 s`, `3 h 5 min`.
pub(super) fn took(duration: Duration) -> String {
    match duration.as_secs() {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        whole @ 60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        long => format!("{} h {} min", long / 3600, long % 3600 / 60),
    }
}

/// The same of a length that is on record.
pub(super) fn took_seconds(seconds: &Seconds) -> String {
    took(Duration::from_millis(seconds.millis()))
}

/// `12 ms`, and from a second on as above: where short ones are told apart.
pub(super) fn took_exactly(duration: Duration) -> String {
    if duration.as_millis() < 1000 {
        format!("{} ms", duration.as_millis())
    } else {
        took(duration)
    }
}

/// `about 40 s`, `about 3 min`.
pub(super) fn about(duration: Duration) -> String {
    match duration.as_secs() {
        0..2 => "about 1 s".into(),
        short @ 2..90 => format!("about {short} s"),
        long @ 90..5400 => format!("about {} min", (long + 30) / 60),
        long => format!("about {} h", (long + 1800) / 3600),
    }
}

/// `just now`, `3 hours ago`.
pub(super) fn ago(now: &Timestamp, then: &Timestamp) -> String {
    match now.millis_since(then) {
        0..60_000 => "just now".into(),
        millis => format!("{} ago", how_long(millis)),
    }
}
