//! Time and chance. Nothing else in the program reads a clock or draws a random number, so a test
//! can hold both still.

use std::{
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::{
    model::{SessionId, Timestamp},
    store::Moment,
};

#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's clock; the instant is when we began to look.
    System(Instant),
    /// Always the same moment.
    #[cfg(feature = "testing")]
    Fixed(Timestamp),
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is where the time is told")]
    pub fn system() -> Self {
        Self::System(Instant::now())
    }

    pub fn now(&self) -> Moment {
        match self {
            Self::System(start) => Moment { wall: wall(), steady: start.elapsed() },
            #[cfg(feature = "testing")]
            Self::Fixed(wall) => Moment { wall: wall.clone(), steady: Duration::ZERO },
        }
    }

    /// A new id for a session that begins now.
    #[expect(clippy::disallowed_methods, reason = "this is where chance is drawn")]
    pub fn session_id(&self) -> SessionId {
        SessionId::new(&self.now().wall, rand::random())
    }
}

/// A mark that no other attempt has.
#[expect(clippy::disallowed_methods, reason = "this is where chance is drawn")]
pub fn cookie() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// `duration`, and up to a quarter more.
#[expect(clippy::disallowed_methods, reason = "this is where chance is drawn")]
pub fn with_jitter(duration: Duration) -> Duration {
    duration + duration.mul_f64(rand::random::<f64>() / 4.0)
}

/// Lets time pass.
pub fn pause(duration: Duration) {
    thread::sleep(duration);
}

#[expect(clippy::disallowed_methods, reason = "this is where the time is told")]
fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::clamped(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
