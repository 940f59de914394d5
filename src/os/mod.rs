//! What differs between Linux and macOS. No policy: each function does one thing the same way on
//! both, or says that it cannot.

mod boot;
mod executable;
mod machine;
mod platform;
mod process;
mod reserve;
mod signals;
mod subreaper;

pub use boot::boot_id;
pub use executable::{is_executable, own_executable};
pub use machine::{MachineFacts, machine_facts};
pub use platform::{PlatformFacts, platform_facts};
pub use process::{Process, is_alive, remains, signal, started, tree};
pub use reserve::reserve;
pub use signals::is_ignored;
pub use subreaper::adopt_orphans;
