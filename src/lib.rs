//! Sets up a machine with a person: asks, shows a plan, runs it command by command, and keeps a
//! record that survives anything.
//!
//! The rooms stand in layers, and each knows only those below it: `model`, `disk` and `os` at the
//! bottom, `flow`, `catalog`, `store` and `exec` on them, `engine` above, `face` over that, and `cli` on top.

pub mod catalog;
pub mod cli;
pub mod disk;
pub mod engine;
pub mod exec;
pub mod face;
pub mod flow;
pub mod model;
pub mod os;
pub mod store;
