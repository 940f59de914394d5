//! Commands that say nothing for a long time: whoever waits is told for how long.

use std::time::Duration;

use crate::flow::how_long;

/// When it is said for the first times; after that, as often as the last.
const TOLD_AFTER: [Duration; 4] = [
    Duration::from_mins(1),
    Duration::from_mins(3),
    Duration::from_mins(10),
    Duration::from_mins(20),
];

/// How long a command has been silent, and how often that was told.
#[derive(Debug, Default)]
pub(super) struct Silence {
    since: Option<Duration>,
    told: usize,
}

impl Silence {
    /// Something was heard.
    pub(super) fn broken(&mut self, now: Duration) {
        *self = Self { since: Some(now), told: 0 };
    }

    /// What is to be said of it now, if anything.
    pub(super) fn report(&mut self, now: Duration) -> Option<String> {
        let age = now.saturating_sub(*self.since.get_or_insert(now));
        let last = TOLD_AFTER[TOLD_AFTER.len() - 1];
        let more = u32::try_from(self.told.saturating_sub(TOLD_AFTER.len() - 1)).unwrap_or(0);
        let due = TOLD_AFTER.get(self.told).copied().unwrap_or(last * (more + 1));
        if age < due {
            return None;
        }
        self.told += 1;
        let millis = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        Some(format!("no output for {}", how_long(millis)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Silence;

    #[test]
    fn silence_is_told_less_and_less_often() {
        let mut silence = Silence::default();
        let told = |minute: &u64| silence.report(Duration::from_mins(*minute)).is_some();
        let minutes: Vec<u64> = (0..=80).filter(told).collect();
        assert_eq!(minutes, [1, 3, 10, 20, 40, 60, 80]);
    }

    #[test]
    fn a_word_begins_it_anew() {
        let mut silence = Silence::default();
        assert_eq!(silence.report(Duration::ZERO), None);
        silence.broken(Duration::from_mins(5));
        assert_eq!(silence.report(Duration::from_secs(359)), None);
        let said = silence.report(Duration::from_mins(6)).unwrap();
        assert_eq!(said, "no output for 1 minute");
    }
}
