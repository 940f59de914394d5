//! What a run tells, in the order in which it became true. While a person is asked something, or a
//! command has the terminal, it is held: nothing is written over what they look at.

use std::cell::RefCell;

use super::tell::{Told, Watcher};
use crate::model::{Event, TaskId};

/// The most output that is held. What comes beyond is counted, and is in the log.
const MOST_OUTPUT: usize = 256 * 1024;

/// What is told later.
enum Held {
    Event(Box<Event>),
    TakenUp { task_id: TaskId, command: String },
    Output { task_id: TaskId, skipped: u64, bytes: Vec<u8> },
    Note(String),
}

pub(super) struct Screen<'a> {
    watcher: RefCell<&'a mut Watcher<'a>>,
    held: RefCell<Vec<Held>>,
}

impl<'a> Screen<'a> {
    pub(super) fn new(watcher: &'a mut Watcher<'a>) -> Self {
        Self { watcher: RefCell::new(watcher), held: RefCell::default() }
    }

    /// Tells it now, behind all that was held; or, if the screen is `taken`, later.
    pub(super) fn tell(&self, told: Told<'_>, taken: bool) {
        if taken {
            return self.hold(&told);
        }
        self.catch_up();
        (self.watcher.borrow_mut())(told);
    }

    /// The terminal changes hands: that is told whatever is held.
    pub(super) fn lend(&self, lent: bool) {
        if lent {
            self.catch_up();
        }
        (self.watcher.borrow_mut())(Told::TerminalLent(lent));
    }

    /// Tells what was held.
    pub(super) fn catch_up(&self) {
        let held = self.held.take();
        let mut watcher = self.watcher.borrow_mut();
        for told in &held {
            watcher(match told {
                Held::Event(event) => Told::Event(event),
                Held::TakenUp { task_id, command } => Told::TakenUp { task_id, command },
                Held::Output { task_id, skipped, bytes } => {
                    Told::Output { task_id, skipped: *skipped, bytes }
                }
                Held::Note(text) => Told::Note(text),
            });
        }
    }

    fn hold(&self, told: &Told<'_>) {
        let mut held = self.held.borrow_mut();
        let known = held.iter().map(|held| match held {
            Held::Output { bytes, .. } => bytes.len(),
            _ => 0,
        });
        let is_full = known.sum::<usize>() >= MOST_OUTPUT;
        held.push(match told {
            Told::Event(event) => Held::Event(Box::new((*event).clone())),
            Told::TakenUp { task_id, command } => {
                Held::TakenUp { task_id: (*task_id).clone(), command: (*command).to_owned() }
            }
            Told::Output { task_id, skipped, bytes } => {
                let (task_id, skipped) = ((*task_id).clone(), *skipped);
                if is_full {
                    let skipped = skipped + bytes.len() as u64;
                    Held::Output { task_id, skipped, bytes: Vec::new() }
                } else {
                    Held::Output { task_id, skipped, bytes: bytes.to_vec() }
                }
            }
            Told::Note(text) => Held::Note((*text).to_owned()),
            // That time passes, or is waited for, is nothing to tell later; the rest is told before anyone is asked.
            Told::Tick
            | Told::Waits { .. }
            | Told::Begins { .. }
            | Told::Resumes(_)
            | Told::TerminalLent(_)
            | Told::Plan(_)
            | Told::Repaired(_) => return,
        });
    }
}
