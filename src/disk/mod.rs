//! The one way bytes reach a file: a seam with a real and a faulty side, the atomic save, the
//! edit of a file that others have, and locks. Knows nothing of sessions.

mod edit;
mod error;
mod faulty;
mod faulty_content;
mod fs;
mod lock;
mod real;
mod save;

pub use edit::{Edit, EditError, read_as_it_is};
pub use error::{DiskError, Operation};
pub use faulty::{Fault, FaultKind, FaultyFs, Lasting};
pub use fs::{Entry, EntryKind, File, Fs, Stat, Traffic};
pub use lock::{Holder, Lock, LockError, is_held};
pub use save::{read_whole, remove_if_there, resolve, save, write_into};
