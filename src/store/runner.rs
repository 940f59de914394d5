//! One executing runner in a home: two would fight over the same machine.

use super::{Pen, Store, StoreError};
use crate::disk::{Lock, LockError};

const LOCK: &str = "runner.lock";

/// Held for as long as sessions of the home may be executed by us alone.
#[derive(Debug)]
pub struct RunnerLock(#[expect(dead_code, reason = "keeping it is what holds it")] Lock);

impl Store {
    /// Becomes the one runner of this home, waiting as long as `pen` is patient.
    pub fn lock_runner(&self, pen: &Pen) -> Result<RunnerLock, StoreError> {
        self.home.prepare(&self.fs)?;
        self.home.check(&self.fs)?;
        let lock = Lock::acquire(&self.fs, self.home.path(), LOCK, &pen.holder, pen.patience);
        lock.map(RunnerLock).map_err(|source| match source {
            LockError::Disk(error) => StoreError::Disk(error),
            held @ LockError::Held { .. } => StoreError::Busy { source: held },
        })
    }
}
