//! The record of sessions: documents, journals and their locks. The only writer of the record.
//!
//! The journal is the truth and the document its snapshot. An event is acknowledged when its
//! journal line is synced; from then on neither a crash nor a power cut can lose it.

mod document;
mod error;
mod inbox;
mod journal;
mod layout;
mod line;
mod list;
mod load;
mod migrate;
mod plan;
mod prune;
mod recorder;
mod rescue;
mod runner;
mod scan;
mod snapshot;
mod survey;

use std::time::Duration;

pub use error::{DocumentError, HomeProblem, JournalError, PlanFileError, StoreError};
pub use inbox::{Letter, Request};
pub use layout::{Home, Shelf};
pub use line::LineError;
pub use list::{Listing, SessionSummary, TaskCounts, Unreadable};
pub use load::{Loaded, Note};
pub use migrate::Migrated;
pub use plan::LARGEST_PLAN;
pub use recorder::{Pen, Recorder};
pub use rescue::{LostAttempt, Rewrite, Salvor};
pub use runner::RunnerLock;
pub use scan::{Position, Scan, Tail, scan};
pub use survey::{Damage, Rescue, Source, Survey, Way};

use crate::{disk::Fs, model::Timestamp};

/// A moment, as the clock on the wall has it and as a clock that is never set has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    pub wall: Timestamp,
    pub steady: Duration,
}

/// The sessions of one home.
#[derive(Clone, Debug)]
pub struct Store {
    fs: Fs,
    home: Home,
}

impl Store {
    /// The store in `home`, which need not exist yet; an existing one must be private.
    pub fn open(fs: Fs, home: Home) -> Result<Self, StoreError> {
        home.check(&fs)?;
        Ok(Self { fs, home })
    }

    pub fn fs(&self) -> &Fs {
        &self.fs
    }

    pub fn home(&self) -> &Home {
        &self.home
    }
}
