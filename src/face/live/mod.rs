//! A run on a screen that can be redrawn: a line for each command that runs, with its last line of
//! output, a bar for all of it, and a quiet line for each task that is done.
//!
//! `lines` says which line shows which task, `tail` what is kept of a command's output and `left`
//! how long it may still take: they draw nothing. `screen` does.

mod left;
mod lines;
mod screen;
mod tail;

pub use screen::Live;
