//! When a session that nobody works on counts as paused, and when as abandoned.

use super::count;
use crate::model::{Document, SessionStatus, Timestamp};

const HOUR: u64 = 60 * 60 * 1000;
const DAY: u64 = 24 * HOUR;
/// Without activity for this long, a session in progress counts as paused.
const INACTIVE: u64 = DAY;
/// And for this long as abandoned.
const ABANDONED: u64 = 7 * DAY;
/// Two clocks that agree to within this agree.
const SKEW: u64 = 60 * 1000;

/// What the time since its last activity means for a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expiry {
    /// Nothing: it is fresh, someone works on it, or it is not in progress.
    #[default]
    None,
    Inactive {
        millis: u64,
    },
    Abandoned {
        millis: u64,
    },
    /// The clock is behind the session: it can tell nothing about its age.
    ClockBehind {
        millis: u64,
    },
}

impl Expiry {
    /// Of a session that was last heard of at `last_activity`. One that is busy is not inactive,
    /// however long it has been silent.
    pub fn of(document: &Document, last_activity: &Timestamp, busy: bool, now: &Timestamp) -> Self {
        let behind = document.meta.updated_at.millis_since(now);
        if behind > SKEW {
            return Self::ClockBehind { millis: behind };
        }
        if document.meta.status != SessionStatus::InProgress || busy {
            return Self::None;
        }
        match now.millis_since(last_activity) {
            millis @ ABANDONED.. => Self::Abandoned { millis },
            millis @ INACTIVE.. => Self::Inactive { millis },
            _ => Self::None,
        }
    }

    /// Whether the age of a session could mean something, as a line of a list knows it.
    pub fn may_be(status: SessionStatus, updated: &Timestamp, now: &Timestamp) -> bool {
        let old = status == SessionStatus::InProgress && now.millis_since(updated) >= INACTIVE;
        old || updated.millis_since(now) > SKEW
    }

    /// What a program calls it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Inactive { .. } => Some("inactive"),
            Self::Abandoned { .. } => Some("abandoned"),
            Self::None | Self::ClockBehind { .. } => None,
        }
    }

    /// What a person should know of it.
    pub fn note(self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Inactive { millis } => {
                Some(format!("no activity for {}: it counts as paused", how_long(millis)))
            }
            Self::Abandoned { millis } => {
                Some(format!("no activity for {}: it counts as abandoned", how_long(millis)))
            }
            Self::ClockBehind { millis } => Some(format!(
                "this machine's clock is {} behind the session's last change: nothing expires by it",
                how_long(millis)
            )),
        }
    }
}

/// `25 hours`, `8 days`: to the nearest.
pub fn how_long(millis: u64) -> String {
    let (unit, name) = match millis {
        millis if millis >= 3 * DAY => (DAY, "day"),
        millis if millis >= HOUR => (HOUR, "hour"),
        _ => (60_000, "minute"),
    };
    count(millis.saturating_add(unit / 2) / unit, name)
}
