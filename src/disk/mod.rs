//! The one way bytes reach a file: the file system, the atomic save, the edit of a file that
//! belongs to the user, and locks. Knows nothing of sessions.

mod backend;
mod edit;
mod error;
mod fs;
mod lock;
mod real;
mod save;

pub use backend::{Access, Backend, Entry, EntryKind, Handle, Open, Stat};
pub use edit::{Edit, EditError, read_as_it_is};
pub use error::{DiskError, Operation};
pub use fs::{File, Fs};
pub use lock::{Holder, Lock, LockError, is_held};
pub use real::Real;
pub use save::{
    create_if_absent, if_there, read_whole, remove_if_there, resolve, save, write_into,
};
