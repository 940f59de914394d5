//! What differs between Linux and macOS. No policy: each function does one thing the same way on
//! both, or says that it cannot.

mod machine;
mod process;
mod reserve;

pub use machine::{MachineFacts, machine_facts};
pub use process::is_alive;
pub use reserve::reserve;
