//! Timing several ways by turns: what slows the machine down slows all of them down.

use std::time::{Duration, Instant};

use crate::table::times;

/// Does its work and tells how long that took; what it has to prepare is not counted.
pub type Way<'a> = &'a mut dyn FnMut() -> Duration;

/// What we are compared with.
pub struct Rival<'a> {
    pub name: &'a str,
    /// Why it cannot be measured here.
    pub why_not: Option<&'a str>,
    pub way: Way<'a>,
}

pub fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The median of each way. Each round begins with another one, so that none always comes first.
pub fn by_turns(rounds: usize, ways: &mut [Way<'_>]) -> Vec<Duration> {
    let mut taken = vec![Vec::new(); ways.len()];
    for round in 0..rounds {
        for turn in 0..ways.len() {
            let way = (round + turn) % ways.len();
            taken[way].push(ways[way]());
        }
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    taken.into_iter().map(median).collect()
}

/// The median of ours, and for the table how it stands against each rival.
pub fn against<'a>(
    rounds: usize,
    ours: Way<'a>,
    rivals: Vec<Rival<'a>>,
) -> (Duration, Vec<String>) {
    let mut ways = vec![ours];
    let mut names = Vec::new();
    for Rival { name, why_not, way } in rivals {
        names.push((name, why_not));
        if why_not.is_none() {
            ways.push(way);
        }
    }
    let mut taken = by_turns(rounds, &mut ways).into_iter();
    let measured = taken.next().unwrap();
    let told = |(name, why_not): (&str, Option<&str>)| match why_not {
        Some(why) => format!("{name}: {why}"),
        None => times(measured, taken.next().unwrap(), name),
    };
    (measured, names.into_iter().map(told).collect())
}
