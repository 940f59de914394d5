//! The one conversation with the person at the terminal. Whoever asks something, or hands the terminal
//! to a command, has it to themselves.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::{Mutex, OwnedMutexGuard};

#[derive(Clone, Debug, Default)]
pub(super) struct Talk {
    one: Arc<Mutex<()>>,
    /// Whether a command has the terminal now.
    is_lent: Arc<AtomicBool>,
}

impl Talk {
    /// Waits until nobody else talks.
    pub(super) async fn begin(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.one).lock_owned().await
    }

    /// The same for what a command wants to know. The one that has the terminal has begun already, and
    /// is the only one that can ask then.
    pub(super) async fn begin_for_command(&self) -> Option<OwnedMutexGuard<()>> {
        if self.is_lent() { None } else { Some(self.begin().await) }
    }

    pub(super) fn is_lent(&self) -> bool {
        self.is_lent.load(Ordering::Relaxed)
    }

    pub(super) fn lend(&self, is_lent: bool) {
        self.is_lent.store(is_lent, Ordering::Relaxed);
    }
}
