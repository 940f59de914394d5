//! The walk in a terminal, from nothing to a machine that is set up: what is asked in each phase,
//! and what becomes of it. The engine knows what it waits for; this asks the person for it.

mod changes;
mod opening;
mod person;
mod plan;
mod questions;
mod screen;
mod shells;
mod stack;
mod walker;

pub use person::AtTerminal;
pub use screen::Screen;
pub use shells::ask_about_shells;
pub use walker::{Given, Stopped, Walker};
