//! The prompts of the interactive walk, on a real terminal: one of several by letter, a line that
//! is typed, any number of many found by typing. Keys come from standard input, everything shown
//! goes to standard error, and whatever happens the terminal is left as it was found.
//!
//! What is shown (`choosing`, `typing`, `picking`) and what a key means (`key`) is pure; `mode`,
//! `input` and `stage` deal with the terminal itself. Where the cursor cannot be moved, `plain`
//! asks with whole lines instead.

mod choosing;
mod device;
mod editor;
mod found;
mod input;
mod key;
mod layout;
mod mode;
mod picking;
mod plain;
mod prompt;
mod screen;
mod stage;
mod typing;

pub use device::Terminal;
pub use mode::Mode;
pub use prompt::{Choice, Item, Left, Lettered, Line, Look, Pick, Reply};
