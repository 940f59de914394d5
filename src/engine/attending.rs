//! The one place where a run waits. Whatever its tasks are about, signals are heard, letters are
//! taken, and what the tasks have queued is written down as soon as all of them wait.

use std::{future::poll_fn, task::Poll, time::Duration};

use rustix::process::Signal;
use tokio::time::MissedTickBehavior;

use super::{RunError, run::Run, signals::Heard, tell::Told};
use crate::{flow::count, store::Request};

/// How often, while waiting, output is shown, letters are taken and the document is brought up.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Waits until `is_so`: something that only this run changes. Its tasks are asked again whenever it
/// has changed anything, so nobody has to be woken.
pub(super) async fn until(mut is_so: impl FnMut() -> bool) {
    poll_fn(|_| if is_so() { Poll::Ready(()) } else { Poll::Pending }).await;
}

impl Run<'_> {
    /// Waits for `work`, which is all that this run does, and hears everything that a run hears.
    ///
    /// When the record cannot be written, nothing of `work` goes on; it is only waited for until a
    /// person who is being asked has given the terminal back.
    pub(super) async fn attend<T>(
        &self,
        work: impl Future<Output = Result<T, RunError>>,
    ) -> Result<T, RunError> {
        tokio::pin!(work);
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failed: Option<RunError> = None;
        loop {
            let is_asking = self.is_asking();
            if let Some(error) = failed.take_if(|_| !is_asking) {
                return Err(error);
            }
            let happened = tokio::select! {
                biased;
                heard = poll_fn(|context| self.signals.borrow_mut().poll_next(context)) => {
                    self.hear(heard);
                    Ok(())
                }
                done = &mut work => match failed {
                    None => return done,
                    Some(error) => return Err(error),
                },
                () = until(|| failed.is_none() && self.ledger.has_news()) => self.flush(),
                _ = ticks.tick() => self.tick(),
            };
            if let Err(error) = happened {
                failed.get_or_insert(error);
                self.stop.fail();
            }
            if self.stop.is_urgent() {
                // Whoever wants to stop does not want to answer first.
                self.rights().cancel_asking();
            }
        }
    }

    /// Makes all that is queued durable, then tells it.
    pub(super) fn flush(&self) -> Result<(), RunError> {
        for event in &self.ledger.write(&self.around.clock.now())? {
            self.tell(Told::Event(event));
        }
        self.turns.has_changed();
        Ok(())
    }

    fn hear(&self, heard: Heard) {
        // What was pressed before a command gave the terminal back was meant for it.
        let now = self.around.clock.now().steady;
        let is_just_back =
            self.terminal_back_since.get().is_some_and(|since| now.saturating_sub(since) < TICK);
        if heard.is_a_key() && (self.talk.is_lent() || is_just_back) {
            return;
        }
        match heard {
            Heard::Interrupt => {
                let pressed = self.stop.interrupt();
                let running = self.commands_under_way();
                let them = if running == 1 { "it" } else { "them" };
                let text = match pressed {
                    _ if running == 0 => "pausing".to_owned(),
                    1 => format!("{}; Ctrl-C again ends {them}", self.when_it_pauses()),
                    2 => format!("asking {} to end; Ctrl-C again kills {them}", named(running)),
                    3 => format!("killing {}; Ctrl-C again leaves {them} running", named(running)),
                    _ => format!("leaving {} running", named(running)),
                };
                self.note(&text);
            }
            Heard::Suspend => {
                // As if nobody had listened: whoever continues us finds us where we were.
                let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
            }
            Heard::HangUp => self.stop.leave("the terminal was closed"),
            Heard::Terminate | Heard::Quit => self.stop.leave("the run was asked to terminate"),
        }
        if self.stop.is_near() {
            self.turns.has_changed();
        }
    }

    pub(super) fn commands_under_way(&self) -> usize {
        let session = self.session();
        let open = session.tasks.values().flat_map(|task| &task.in_flight);
        // One that serves several tasks is under way once.
        open.map(|open| open.seq).collect::<std::collections::HashSet<_>>().len()
    }

    /// What whoever wants to pause has to wait for.
    pub(super) fn when_it_pauses(&self) -> &'static str {
        match self.commands_under_way() {
            0 | 1 => "pausing as soon as the command is done",
            _ => "pausing as soon as all commands are done",
        }
    }

    pub(super) fn take_letters(&self) -> Result<(), RunError> {
        let letters = self.around.store.take_letters(&self.ledger.recorder())?;
        for Request::Pause { reason } in letters {
            self.stop.pause(reason.as_deref().unwrap_or("asked to pause"));
            self.note(&format!("asked to pause: {}", self.when_it_pauses()));
            self.turns.has_changed();
        }
        Ok(())
    }

    /// What has to be done now and then while something is waited for.
    fn tick(&self) -> Result<(), RunError> {
        self.take_letters()?;
        let due = self.ledger.recorder().due_in(&self.around.clock.now());
        if due.is_some_and(|due| due.is_zero()) {
            // The journal has everything: what cannot be saved now is saved later.
            self.ledger.recorder().try_to_settle();
        }
        if !self.is_screen_taken() {
            self.screen.catch_up();
        }
        Ok(())
    }
}

fn named(commands: usize) -> String {
    if commands == 1 { "the command".into() } else { count(commands, "command") }
}
