//! What differs between Linux and macOS. No policy: each function does one thing the same way on
//! both, or says that it cannot.

mod boot;
mod executable;
mod lock_holder;
mod machine;
mod platform;
mod process;
mod reserve;
mod signals;
mod space;
mod subreaper;
mod terminal;

pub use boot::boot_id;
pub use executable::{is_executable, own_executable, own_path};
pub use lock_holder::{LockHolder, lock_holder};
pub use machine::{MachineFacts, machine_facts};
pub use platform::{PlatformFacts, platform_facts};
pub use process::{
    Process, Sent, carrying, has_rights_of_root, is_alive, named, parent, remains, signal, started,
    tree,
};
pub use reserve::reserve;
pub use signals::is_ignored;
pub use space::{Space, space};
pub use subreaper::adopt_orphans;
pub use terminal::{TerminalSettings, has_terminal, open_terminal};
