//! How long what is left may take, by what tasks took before and in this run.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use crate::{
    engine::Durations,
    model::{Plan, TaskId},
};

/// What is known about how long things take.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// How long tasks took before.
    known: Durations,
    /// What is left to do, and how long each may take.
    open: HashMap<TaskId, Option<Duration>>,
    /// How long the commands of tasks that are not settled have taken.
    took: HashMap<TaskId, Duration>,
    /// How long those took that are.
    settled: Vec<Duration>,
    /// How many ran at once when the last one began. What ends may be followed by another in a
    /// moment: it does not count until then.
    at_once: usize,
}

/// Something that is on the screen.
pub(super) struct Under<'a> {
    /// The tasks that one call serves, or the one that waits.
    pub(super) tasks: &'a [TaskId],
    /// For how long it has run.
    pub(super) elapsed: Duration,
}

impl Pace {
    pub(super) fn knows(&mut self, known: Durations) {
        self.known = known;
    }

    /// A run begins that is to do this.
    pub(super) fn begin(&mut self, plan: &Plan, settled: &HashSet<TaskId>) {
        let tasks = plan.tasks.iter().filter(|task| !settled.contains(&task.id));
        self.open = tasks
            .map(|task| {
                let quick = task.found.is_some() || task.upkeep;
                let known = self.known.get(&task.id).copied();
                (task.id.clone(), if quick { Some(Duration::ZERO) } else { known })
            })
            .collect();
        self.rest();
    }

    /// A task that was settled is to be done after all.
    pub(super) fn reopen(&mut self, task_id: &TaskId) {
        self.open.insert(task_id.clone(), self.known.get(task_id).copied());
    }

    /// Nothing runs any more.
    pub(super) fn rest(&mut self) {
        self.took.clear();
        self.at_once = 0;
    }

    /// Something began, and so many run now.
    pub(super) fn runs(&mut self, at_once: usize) {
        self.at_once = at_once;
    }

    /// A command took so long. Each of the tasks that it served has its share in that.
    pub(super) fn add(&mut self, served: &[TaskId], took: Duration) {
        for task_id in served {
            let sum = self.took.entry(task_id.clone()).or_default();
            *sum = sum.saturating_add(share(took, served));
        }
    }

    /// A task is done with, for now: what it took says nothing.
    pub(super) fn forget(&mut self, task_id: &TaskId) {
        self.took.remove(task_id);
    }

    /// A task is settled. Returns how long it took, if it had something to do.
    pub(super) fn settle(&mut self, task_id: &TaskId) -> Option<Duration> {
        self.open.remove(task_id);
        let took = self.took.remove(task_id).filter(|took| !took.is_zero());
        self.settled.extend(took);
        took
    }

    /// How long it may still take while this is under way; `None` where nothing is known of a task.
    pub(super) fn left<'a>(&self, under_way: impl Iterator<Item = Under<'a>>) -> Option<Duration> {
        let average = self.average();
        let open = self.open.iter().map(|(id, known)| Some((id, known.or(average)?)));
        let mut open: HashMap<_, _> = open.collect::<Option<_>>()?;
        let mut parts = Vec::new();
        for Under { tasks, elapsed } in under_way {
            let done = share(elapsed, tasks);
            let left = tasks.iter().filter_map(|id| open.remove(id));
            let left = left.map(|whole| whole.saturating_sub(done));
            // What one call does for several is one thing to wait for.
            parts.push(left.fold(Duration::ZERO, Duration::saturating_add));
        }
        parts.extend(open.into_values());
        Some(divided(&parts, self.at_once))
    }

    /// How long a task took in this run, where at least two are known.
    fn average(&self) -> Option<Duration> {
        let count = u32::try_from(self.settled.len()).ok().filter(|count| *count >= 2)?;
        Some(self.settled.iter().sum::<Duration>() / count)
    }
}

/// What each of the tasks has of it.
fn share(whole: Duration, tasks: &[TaskId]) -> Duration {
    whole / u32::try_from(tasks.len()).unwrap_or(u32::MAX).max(1)
}

/// How long `parts` take that are done so many at a time: at least as long as the longest of them,
/// which is not divided.
fn divided(parts: &[Duration], at_once: usize) -> Duration {
    let sum = parts.iter().copied().fold(Duration::ZERO, Duration::saturating_add);
    let longest = parts.iter().copied().max().unwrap_or_default();
    let hands = u32::try_from(at_once.min(parts.len())).unwrap_or(u32::MAX).max(1);
    (sum / hands).max(longest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Pace, Under, divided};
    use crate::model::TaskId;

    fn seconds(parts: &[u64]) -> Vec<Duration> {
        parts.iter().copied().map(Duration::from_secs).collect()
    }

    fn ids(names: &[&str]) -> Vec<TaskId> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    /// A run in which these are left, and take so many seconds.
    fn pace(open: &[(&str, Option<u64>)]) -> Pace {
        let open = open
            .iter()
            .map(|(name, known)| (name.parse().unwrap(), known.map(Duration::from_secs)));
        Pace { open: open.collect(), ..Pace::default() }
    }

    fn left(pace: &Pace, under_way: &[(&[&str], u64)]) -> Option<u64> {
        let tasks: Vec<_> = under_way.iter().map(|(names, _)| ids(names)).collect();
        let under_way = tasks.iter().zip(under_way).map(|(tasks, (_, elapsed))| {
            let elapsed = Duration::from_secs(*elapsed);
            Under { tasks, elapsed }
        });
        pace.left(under_way).map(|left| left.as_secs())
    }

    #[test]
    fn one_at_a_time_takes_all_of_it() {
        let parts = seconds(&[10, 20, 30]);
        for at_once in [0, 1] {
            assert_eq!(divided(&parts, at_once), Duration::from_mins(1));
        }
        assert_eq!(divided(&[], 4), Duration::ZERO);
    }

    #[test]
    fn several_at_once_share_it() {
        assert_eq!(divided(&seconds(&[20, 20, 20, 20]), 2), Duration::from_secs(40));
        // Nobody helps with what is not there.
        assert_eq!(divided(&seconds(&[20, 20]), 8), Duration::from_secs(20));
    }

    #[test]
    fn the_longest_of_them_is_waited_for() {
        assert_eq!(divided(&seconds(&[100, 1, 1, 1]), 4), Duration::from_secs(100));
    }

    #[test]
    fn what_has_been_done_of_each_is_not_left() {
        let mut pace = pace(&[("a", Some(60)), ("b", Some(60)), ("c", Some(60))]);
        pace.runs(1);
        assert_eq!(left(&pace, &[]), Some(180));
        pace.runs(2);
        assert_eq!(left(&pace, &[(&["a"], 20), (&["b"], 90)]), Some(60));
        assert_eq!(left(&pace, &[(&["a"], 0), (&["b"], 20)]), Some(80));
    }

    #[test]
    fn a_call_for_several_is_one_thing_and_each_has_its_share_of_it() {
        let mut pace = pace(&[("a", Some(30)), ("b", Some(30)), ("c", Some(10))]);
        pace.runs(2);
        assert_eq!(left(&pace, &[(&["a", "b"], 20), (&["c"], 5)]), Some(40));
        pace.add(&ids(&["a", "b"]), Duration::from_secs(50));
        assert_eq!(pace.settle(&ids(&["a"])[0]), Some(Duration::from_secs(25)));
        assert_eq!(pace.settle(&ids(&["c"])[0]), None);
    }

    #[test]
    fn what_is_not_known_takes_as_long_as_the_others_of_this_run() {
        let mut pace = pace(&[("a", Some(1)), ("b", Some(1)), ("c", None)]);
        assert_eq!(left(&pace, &[]), None);
        for (name, took) in [("a", 10), ("b", 30)] {
            pace.add(&ids(&[name]), Duration::from_secs(took));
            pace.settle(&ids(&[name])[0]);
        }
        assert_eq!(left(&pace, &[]), Some(20));
    }
}
