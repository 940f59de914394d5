//! Which line shows which tasks, and which lines there is room for.
//!
//! A call that serves several tasks has one line, that of the first of them. Whoever is settled or
//! begins something else leaves it, and it passes to the next.

use super::tail::Tail;
use crate::model::TaskId;

/// The most lines that are drawn.
const ROOM: usize = 10;

/// The lines, in the order in which they began. `B` is what draws one.
#[derive(Debug)]
pub(super) struct Lines<B>(Vec<Line<B>>);

#[derive(Debug)]
pub(super) struct Line<B> {
    /// Never empty.
    tasks: Vec<TaskId>,
    /// Whether nothing of it runs: it waits for a lock, or for another try.
    pub(super) waits: bool,
    pub(super) tail: Tail,
    pub(super) bar: B,
}

impl<B> Line<B> {
    pub(super) fn tasks(&self) -> &[TaskId] {
        &self.tasks
    }

    /// `git`, and `git +2` where it serves two others.
    pub(super) fn label(&self) -> String {
        match self.tasks.as_slice() {
            [] => String::new(),
            [one] => one.to_string(),
            [first, others @ ..] => format!("{first} +{}", others.len()),
        }
    }

    fn shows(&self, task_id: &TaskId) -> bool {
        self.tasks.contains(task_id)
    }
}

impl<B> Lines<B> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Line<B>> {
        self.0.iter()
    }

    /// The line that shows a task.
    pub(super) fn of(&mut self, task_id: &TaskId) -> Option<&mut Line<B>> {
        self.0.iter_mut().find(|line| line.shows(task_id))
    }

    /// How many things run at once.
    pub(super) fn running(&self) -> usize {
        self.0.iter().filter(|line| !line.waits).count()
    }

    /// Puts these tasks on one line: the one that showed the first of them and nobody else, or a new
    /// one below the others. Returns what drew the lines that show nobody now.
    pub(super) fn begin(&mut self, tasks: &[TaskId], new: impl FnOnce() -> B) -> Vec<B> {
        let Some(first) = tasks.first() else { return Vec::new() };
        let is_own = |line: &Line<B>| {
            line.shows(first) && line.tasks.iter().all(|task| tasks.contains(task))
        };
        let own = self.0.iter().position(is_own);
        for (at, line) in self.0.iter_mut().enumerate() {
            if Some(at) == own {
                line.tasks = tasks.to_vec();
            } else {
                line.tasks.retain(|task| !tasks.contains(task));
            }
        }
        if own.is_none() {
            let (tail, bar) = (Tail::default(), new());
            self.0.push(Line { tasks: tasks.to_vec(), waits: false, tail, bar });
        }
        self.take_empty()
    }

    /// A task is no longer shown. Returns what drew its line, if that showed nobody else.
    pub(super) fn leave(&mut self, task_id: &TaskId) -> Vec<B> {
        for line in &mut self.0 {
            line.tasks.retain(|task| task != task_id);
        }
        self.take_empty()
    }

    /// Nothing is shown any more.
    pub(super) fn clear(&mut self) -> Vec<B> {
        self.0.drain(..).map(|line| line.bar).collect()
    }

    /// The lines, last one first, and whether there is room for each. Those that only wait give way.
    pub(super) fn drawn(&mut self) -> impl Iterator<Item = (&mut Line<B>, bool)> {
        let mut room = ROOM;
        let mut is_drawn = vec![false; self.0.len()];
        for waits in [false, true] {
            for (line, drawn) in self.0.iter().zip(&mut is_drawn) {
                if line.waits == waits && room > 0 {
                    *drawn = true;
                    room -= 1;
                }
            }
        }
        self.0.iter_mut().zip(is_drawn).rev()
    }

    fn take_empty(&mut self) -> Vec<B> {
        let gone = self.0.extract_if(.., |line| line.tasks.is_empty());
        gone.map(|line| line.bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, ROOM};
    use crate::model::TaskId;

    fn ids(names: &[&str]) -> Vec<TaskId> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    /// Lines that are drawn by a number each: the how manyth it is.
    struct Sheet {
        lines: Lines<usize>,
        begun: usize,
    }

    impl Sheet {
        fn new() -> Self {
            Self { lines: Lines::new(), begun: 0 }
        }

        fn begin(&mut self, tasks: &[&str]) -> Vec<usize> {
            let begun = &mut self.begun;
            let gone = self.lines.begin(&ids(tasks), || {
                *begun += 1;
                *begun
            });
            self.lines.of(&ids(tasks)[0]).unwrap().waits = false;
            gone
        }

        fn wait(&mut self, task: &str) {
            self.begin(&[task]);
            self.lines.of(&ids(&[task])[0]).unwrap().waits = true;
        }

        fn leave(&mut self, task: &str) -> Vec<usize> {
            self.lines.leave(&ids(&[task])[0])
        }

        fn labels(&self) -> Vec<String> {
            self.lines.iter().map(super::Line::label).collect()
        }

        fn drawn(&mut self) -> Vec<String> {
            let drawn = self.lines.drawn().filter(|(_, drawn)| *drawn);
            let mut labels: Vec<_> = drawn.map(|(line, _)| line.label()).collect();
            labels.reverse();
            labels
        }
    }

    #[test]
    fn each_has_a_line_in_the_order_they_began_and_takes_but_its_own_away() {
        let mut sheet = Sheet::new();
        for task in ["c", "a", "b", "a"] {
            assert!(sheet.begin(&[task]).is_empty());
        }
        assert_eq!(sheet.labels(), ["c", "a", "b"]);
        assert_eq!(sheet.leave("a"), [2]);
        assert!(sheet.leave("z").is_empty());
        assert_eq!(sheet.labels(), ["c", "b"]);
    }

    #[test]
    fn a_call_for_several_has_the_line_of_the_first() {
        let mut sheet = Sheet::new();
        for task in ["x", "a", "b", "c"] {
            sheet.begin(&[task]);
        }
        assert_eq!(sheet.begin(&["a", "b", "c"]), [3, 4]);
        assert_eq!(sheet.labels(), ["x", "a +2"]);
        assert_eq!(sheet.lines.of(&ids(&["c"])[0]).unwrap().bar, 2);
    }

    #[test]
    fn the_line_of_a_call_passes_to_whoever_is_left() {
        let mut sheet = Sheet::new();
        sheet.begin(&["a", "b", "c"]);
        assert!(sheet.leave("a").is_empty());
        assert_eq!(sheet.labels(), ["b +1"]);
        sheet.begin(&["b"]);
        assert_eq!(sheet.labels(), ["c", "b"]);
        assert_eq!(sheet.leave("c"), [1]);
        assert_eq!(sheet.labels(), ["b"]);
    }

    #[test]
    fn those_that_wait_give_way() {
        let mut sheet = Sheet::new();
        sheet.wait("patient");
        let names: Vec<_> = (0..ROOM).map(|number| format!("t{number}")).collect();
        for name in &names[1..] {
            sheet.begin(&[name]);
        }
        assert_eq!(sheet.drawn()[0], "patient");
        assert_eq!(sheet.drawn().len(), ROOM);
        sheet.begin(&[&names[0]]);
        assert_eq!(sheet.drawn().len(), ROOM);
        assert!(!sheet.drawn().contains(&"patient".to_owned()));
        assert_eq!(sheet.lines.running(), ROOM);
        // It runs again: now the last one that began has to.
        sheet.begin(&["patient"]);
        assert_eq!(sheet.drawn()[0], "patient");
        assert!(!sheet.drawn().contains(&names[0]));
    }
}
