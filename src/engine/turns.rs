//! The turns of a run's tasks: who may go on now, and waiting until one may.

use std::cell::{Cell, RefCell};

use super::{attending::until, run::Run, tell::Told};
use crate::flow::{Demand, Schedule};

/// The schedule of the tasks that are executed now. Outside of the execution it is empty, and
/// nobody waits for anything.
pub(super) struct Turns {
    schedule: RefCell<Schedule>,
    /// How often anything changed that somebody could wait for.
    changes: Cell<u64>,
    /// Whether all that is scheduled begins, whoever wants to stop: what is open is looked after.
    is_pressing: Cell<bool>,
}

impl Turns {
    pub(super) fn none() -> Self {
        let schedule = RefCell::new(Schedule::new(1, &[]));
        Self { schedule, changes: Cell::new(0), is_pressing: Cell::new(false) }
    }

    pub(super) fn set(&self, schedule: Schedule, is_pressing: bool) {
        self.schedule.replace(schedule);
        self.is_pressing.set(is_pressing);
    }

    /// Changes the schedule. Everyone who waits looks again.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Schedule) -> T) -> T {
        self.has_changed();
        change(&mut self.schedule.borrow_mut())
    }

    /// Changes what nobody waits for.
    pub(super) fn quietly<T>(&self, change: impl FnOnce(&mut Schedule) -> T) -> T {
        change(&mut self.schedule.borrow_mut())
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&Schedule) -> T) -> T {
        look(&self.schedule.borrow())
    }

    /// Something is otherwise than before: everyone who waits looks again.
    pub(super) fn has_changed(&self) {
        self.changes.set(self.changes.get().wrapping_add(1));
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes.get()
    }
}

impl Run<'_> {
    /// Waits for a turn, with all that is wanted for a command. `false` if nothing more is to be
    /// begun: then it has none.
    pub(super) async fn turn_for(&self, place: usize, demand: Demand) -> bool {
        let what = if demand.locks.is_empty() {
            "waits for its turn".to_owned()
        } else {
            format!("waits for its turn with {}", demand.locks.join(" and "))
        };
        self.turns.change(|schedule| schedule.ask(place, demand));
        if !self.has_turn(place) {
            self.say_what_is_waited_for(place, &what).await;
        }
        until(|| self.is_ending(place) || self.has_turn(place)).await;
        if self.is_ending(place) {
            self.turns.change(|schedule| {
                schedule.withdraw(place);
                schedule.release(place);
            });
            return false;
        }
        true
    }

    /// Tells what a task waits for, behind all that happened to it before.
    pub(super) async fn say_what_is_waited_for(&self, place: usize, what: &str) {
        self.ledger.is_durable().await;
        if !self.has_turn(place)
            && let Some(task) = self.plan.tasks.get(place)
        {
            self.tell(Told::Waits { task_id: &task.id, what });
        }
    }

    /// Waits for a turn for a command that is under way already. `false` if it is left to itself.
    pub(super) async fn turn_for_open(&self, place: usize, demand: Demand) -> bool {
        self.turns.change(|schedule| schedule.ask(place, demand));
        until(|| self.stop.is_leaving() || self.has_turn(place)).await;
        self.has_turn(place)
    }

    /// Waits for a turn to finish what was begun, also where nothing more is begun.
    pub(super) async fn turn_back(&self, place: usize) {
        if !self.has_turn(place) {
            self.turns.change(|schedule| schedule.ask(place, Demand::default()));
            until(|| self.has_turn(place)).await;
        }
    }

    /// Whether no task begins any more.
    pub(super) fn begins_nothing(&self) -> bool {
        self.stop.is_near() && !self.turns.is_pressing.get()
    }

    /// Whether nothing more is to be begun for a task. One whom a failed call has served is seen
    /// through: it has nothing to do with why that failed.
    pub(super) fn is_ending(&self, place: usize) -> bool {
        self.stop.is_urgent() || self.stop.is_near() && !self.batches.is_seen_through(place)
    }

    fn has_turn(&self, place: usize) -> bool {
        self.turns.look(|schedule| schedule.has_turn(place))
    }
}
