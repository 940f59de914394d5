//! The tasks that are executed now, side by side on one thread: begun when their turn comes, gone on
//! with whenever something changed, and what they come to all together.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use super::{RunError, estimates::last_durations, run::Run, tasks::TaskEnd};
use crate::{
    flow::{Item, Schedule},
    model::{PlanTask, TaskId},
};

/// What a task may take of which nothing is known.
const UNKNOWN: Duration = Duration::from_secs(1);

type Work<'r> = Pin<Box<dyn Future<Output = Result<TaskEnd, RunError>> + 'r>>;

/// Those who are at work, and what came of the others.
struct Crew<'r> {
    at_work: Vec<(usize, Work<'r>)>,
    /// Who has not begun yet.
    waiting: Vec<bool>,
    has_failed: bool,
    is_stopped: bool,
    undecided: Option<String>,
    error: Option<RunError>,
}

impl Run<'_> {
    /// Executes these tasks of the plan, and says what they come to.
    pub(super) async fn execute_these(
        &self,
        places: &[usize],
        is_pressing: bool,
    ) -> Result<TaskEnd, RunError> {
        let mut waiting = vec![false; self.plan.tasks.len()];
        for place in places {
            waiting[*place] = !self.is_settled(&self.plan.tasks[*place]);
        }
        self.turns.set(self.schedule(&waiting), is_pressing);
        let mut crew = Crew {
            at_work: Vec::new(),
            waiting,
            has_failed: false,
            is_stopped: false,
            undecided: None,
            error: None,
        };
        poll_fn(|context| crew.poll(self, context)).await
    }

    fn schedule(&self, open: &[bool]) -> Schedule {
        let jobs = self.jobs();
        let tasks = &self.plan.tasks;
        // What took how long matters only where not all can go on at once.
        let is_crowded = jobs > 1 && open.iter().filter(|open| **open).count() > jobs;
        let wanted = || tasks.iter().zip(open).filter(|(_, open)| **open).map(|(task, _)| &task.id);
        let known = is_crowded.then(|| last_durations(&self.around.store, wanted()).ok()).flatten();
        let known = known.unwrap_or_default();
        let weight = |task: &PlanTask| match known.get(&task.id) {
            Some(known) => *known,
            None if task.found.is_some() || task.upkeep => Duration::ZERO,
            None => UNKNOWN,
        };
        let groups = self.groups(open);
        let items: Vec<_> = tasks
            .iter()
            .zip(open)
            .zip(groups)
            .map(|((task, open), group)| Item {
                behind: behind(task).filter_map(|id| self.place_of_id(id)).collect(),
                weight: weight(task),
                talks: task.commands.iter().any(|command| command.interactive),
                group,
                is_over: !open,
            })
            .collect();
        Schedule::new(jobs, &items)
    }
}

/// What comes before a task, whether it needs it or not.
fn behind(task: &PlanTask) -> impl Iterator<Item = &TaskId> {
    task.depends_on.iter().chain(&task.after)
}

impl<'r> Crew<'r> {
    fn poll(
        &mut self,
        run: &'r Run<'_>,
        context: &mut Context<'_>,
    ) -> Poll<Result<TaskEnd, RunError>> {
        loop {
            let before = run.turns.changes();
            let has_moved = self.begin(run) | self.go_on(run, context);
            // Until nobody has anything to go on with: what one does may be what another waits for.
            if !has_moved && run.turns.changes() == before {
                break;
            }
        }
        // A person who is being asked gives the terminal back first.
        if self.error.is_some()
            && !run.is_asking()
            && let Some(error) = self.error.take()
        {
            self.at_work.clear();
            return Poll::Ready(Err(error));
        }
        if !self.at_work.is_empty() || self.error.is_some() {
            return Poll::Pending;
        }
        Poll::Ready(Ok(self.end(run)))
    }

    /// Begins whatever can begin now. Whether anyone has got a turn.
    fn begin(&mut self, run: &'r Run<'_>) -> bool {
        let mut has_moved = false;
        if self.error.is_some() {
            return false;
        }
        loop {
            let next = run.turns.quietly(|schedule| schedule.next(run.begins_nothing()));
            let Some(place) = next else { return has_moved };
            has_moved = true;
            if std::mem::take(&mut self.waiting[place]) {
                let work = run.run_task_as_decided(&run.plan.tasks[place]);
                self.at_work.push((place, Box::pin(work)));
            }
        }
    }

    /// Whether any of them has come to its end.
    fn go_on(&mut self, run: &Run<'_>, context: &mut Context<'_>) -> bool {
        let mut has_moved = false;
        let mut at = 0;
        while let Some((place, work)) = self.at_work.get_mut(at) {
            let Poll::Ready(end) = work.as_mut().poll(context) else {
                at += 1;
                continue;
            };
            let place = *place;
            drop(self.at_work.remove(at));
            run.turns.change(|schedule| schedule.is_over(place));
            has_moved = true;
            self.take_note(run, end);
        }
        has_moved
    }

    fn take_note(&mut self, run: &Run<'_>, end: Result<TaskEnd, RunError>) {
        match end {
            Ok(TaskEnd::Settled) => {}
            Ok(TaskEnd::Stopped) => self.is_stopped = true,
            Ok(TaskEnd::Failed) => {
                self.has_failed = true;
                if !run.options.keep_going {
                    run.stop.halt();
                }
            }
            Ok(TaskEnd::Undecided(what)) => {
                self.undecided.get_or_insert(what);
                run.stop.halt();
            }
            Err(error) => {
                run.stop.fail();
                self.error.get_or_insert(error);
            }
        }
    }

    fn end(&mut self, run: &Run<'_>) -> TaskEnd {
        if let Some(what) = self.undecided.take() {
            return TaskEnd::Undecided(what);
        }
        let is_stopped = self.is_stopped || self.waiting.contains(&true);
        if run.commands_under_way() > 0 {
            // What was left to itself is not over, whatever else has failed.
            return TaskEnd::Stopped;
        }
        if self.has_failed && (!is_stopped || !run.options.keep_going) {
            TaskEnd::Failed
        } else if is_stopped {
            TaskEnd::Stopped
        } else {
            TaskEnd::Settled
        }
    }
}
