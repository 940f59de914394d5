//! What keeps a run from starting another command.

use std::cell::{Cell, RefCell};

#[derive(Debug, Default)]
pub(super) struct Stop {
    /// How often Ctrl-C was pressed. 1: wait for the commands and pause; 2: ask them to end; 3: end
    /// them; 4: leave them.
    interrupts: Cell<u8>,
    /// Wait for the commands and pause.
    pause: Cell<bool>,
    /// Go at once, and leave the commands to their supervisors.
    leave: Cell<bool>,
    /// Something failed or is undecided, and nobody wants to go on with the rest.
    halt: Cell<bool>,
    /// The record cannot be written.
    failed: Cell<bool>,
    reason: RefCell<Option<String>>,
}

impl Stop {
    /// Whether somebody asked for it.
    pub(super) fn is_asked(&self) -> bool {
        self.interrupts.get() > 0 || self.pause.get() || self.leave.get()
    }

    /// Whether no other command is to be started, for whatever reason.
    pub(super) fn is_near(&self) -> bool {
        self.is_urgent() || self.halt.get()
    }

    /// Whether what was begun together is not seen through to its end, either.
    pub(super) fn is_urgent(&self) -> bool {
        self.is_asked() || self.failed.get()
    }

    pub(super) fn interrupts(&self) -> u8 {
        self.interrupts.get()
    }

    /// Whether the commands are left to their supervisors.
    pub(super) fn is_leaving(&self) -> bool {
        self.leave.get()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.get()
    }

    pub(super) fn reason(&self) -> Option<String> {
        self.reason.borrow().clone()
    }

    /// Ctrl-C, once more: how often by now.
    pub(super) fn interrupt(&self) -> u8 {
        let pressed = self.interrupts.get().saturating_add(1);
        self.interrupts.set(pressed);
        self.because("interrupted with Ctrl-C");
        self.leave.set(self.leave.get() || pressed > 3);
        pressed
    }

    pub(super) fn pause(&self, why: &str) {
        self.pause.set(true);
        self.because(why);
    }

    pub(super) fn leave(&self, why: &str) {
        self.leave.set(true);
        self.because(why);
    }

    pub(super) fn halt(&self) {
        self.halt.set(true);
    }

    pub(super) fn fail(&self) {
        self.failed.set(true);
    }

    /// What was said first counts.
    fn because(&self, why: &str) {
        self.reason.borrow_mut().get_or_insert_with(|| why.to_owned());
    }
}
