//! The order of tasks: everything behind what it needs, and otherwise as it was asked for.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::model::TaskId;

/// What stands between tasks.
#[derive(Clone, Debug, Default)]
pub struct Edges<'a> {
    /// What a task needs.
    pub needs: HashMap<&'a TaskId, Vec<&'a TaskId>>,
    /// What a task had better come after; given up where it would close a circle.
    pub after: Vec<(&'a TaskId, &'a TaskId)>,
}

/// Tasks that wait for each other: the way around, the first not repeated.
pub type Circle = Vec<TaskId>;

/// `tasks`, each behind all it needs. Which of several that are free comes first is decided by the
/// order in which they were given, so that the same tasks always come out the same way.
pub fn ordered<'a>(
    tasks: &[&'a TaskId],
    edges: &Edges<'a>,
) -> Result<Vec<&'a TaskId>, Vec<Circle>> {
    let circles = circles(tasks, &edges.needs);
    if !circles.is_empty() {
        return Err(circles);
    }
    let mut waiting = Waiting::new(tasks, edges);
    let mut order = Vec::with_capacity(tasks.len());
    while let Some(at) = waiting.next() {
        order.push(tasks[at]);
        waiting.has_come(at);
    }
    Ok(order)
}

/// How many each task still waits for, by its place among the given ones.
struct Waiting {
    needs: Vec<usize>,
    wishes: Vec<usize>,
    needed_by: Vec<Vec<usize>>,
    wished_by: Vec<Vec<usize>>,
    /// Those that wait for nothing.
    free: BTreeSet<usize>,
    /// Those that wait for wishes only: one of them goes first where nobody is free.
    wishing: BTreeSet<usize>,
}

impl Waiting {
    fn new<'a>(tasks: &[&'a TaskId], edges: &Edges<'a>) -> Self {
        let places: HashMap<&TaskId, usize> =
            tasks.iter().enumerate().map(|(at, task)| (*task, at)).collect();
        let count = tasks.len();
        let (mut needs, mut wishes) = (vec![0; count], vec![0; count]);
        let (mut needed_by, mut wished_by) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (at, task) in tasks.iter().enumerate() {
            for need in edges.needs.get(task).into_iter().flatten() {
                if let Some(before) = places.get(need) {
                    needs[at] += 1;
                    needed_by[*before].push(at);
                }
            }
        }
        for (task, earlier) in &edges.after {
            if let (Some(at), Some(before)) = (places.get(task), places.get(earlier)) {
                wishes[*at] += 1;
                wished_by[*before].push(*at);
            }
        }
        let mut waiting = Self {
            needs,
            wishes,
            needed_by,
            wished_by,
            free: BTreeSet::new(),
            wishing: BTreeSet::new(),
        };
        (0..count).for_each(|at| waiting.sort_in(at));
        waiting
    }

    fn sort_in(&mut self, at: usize) {
        if self.needs[at] == 0 && self.wishes[at] == 0 {
            self.wishing.remove(&at);
            self.free.insert(at);
        } else if self.needs[at] == 0 {
            self.wishing.insert(at);
        }
    }

    fn next(&mut self) -> Option<usize> {
        self.free.pop_first().or_else(|| self.wishing.pop_first())
    }

    fn has_come(&mut self, at: usize) {
        // Whoever comes before its wishes are met waits for them no more.
        self.wishes[at] = usize::MAX;
        for next in std::mem::take(&mut self.needed_by[at]) {
            self.needs[next] -= 1;
            self.sort_in(next);
        }
        for next in std::mem::take(&mut self.wished_by[at]) {
            if self.wishes[next] != usize::MAX {
                self.wishes[next] -= 1;
                self.sort_in(next);
            }
        }
    }
}

/// The circles that a walk along the needs runs into. Of those that share a task one is enough:
/// when it is broken, the others show.
fn circles<'a>(tasks: &[&'a TaskId], needs: &HashMap<&'a TaskId, Vec<&'a TaskId>>) -> Vec<Circle> {
    let mut done = HashSet::new();
    let mut found: Vec<Circle> = Vec::new();
    let mut told: HashSet<&TaskId> = HashSet::new();
    for task in tasks {
        // The way from `task` to where we are, with the need that is followed next.
        let mut way: Vec<(&TaskId, usize)> = vec![(task, 0)];
        let mut on_the_way: HashMap<&TaskId, usize> = HashMap::from([(*task, 0)]);
        while let Some((task, next)) = way.pop() {
            if done.contains(task) {
                on_the_way.remove(task);
                continue;
            }
            let Some(need) = needs.get(task).and_then(|needs| needs.get(next)) else {
                done.insert(task);
                on_the_way.remove(task);
                continue;
            };
            way.push((task, next + 1));
            if let Some(at) = on_the_way.get(need) {
                let circle: Vec<&TaskId> = way[*at..].iter().map(|(task, _)| *task).collect();
                if !circle.iter().any(|task| told.contains(task)) {
                    found.push(circle.iter().map(|task| (*task).clone()).collect());
                    told.extend(circle);
                }
            } else if !done.contains(need) {
                on_the_way.insert(need, way.len());
                way.push((need, 0));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Edges, TaskId, ordered};

    fn order(
        tasks: &str,
        needs: &[(&str, &str)],
        after: &[(&str, &str)],
    ) -> Result<String, String> {
        let ids: Vec<TaskId> = "abcdefgh".chars().map(|c| c.to_string().parse().unwrap()).collect();
        let id = |name: &str| ids.iter().find(|id| id.as_str() == name).unwrap();
        let mut edges = Edges::default();
        for (task, need) in needs {
            edges.needs.entry(id(task)).or_default().push(id(need));
        }
        edges.after = after.iter().map(|(task, earlier)| (id(task), id(earlier))).collect();
        let tasks: Vec<_> = tasks.chars().map(|c| id(&c.to_string())).collect();
        match ordered(&tasks, &edges) {
            Ok(order) => Ok(order.iter().map(|id| id.as_str()).collect()),
            Err(circles) => {
                let words =
                    circles.iter().map(|way| way.iter().map(TaskId::as_str).collect::<String>());
                Err(words.collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[test]
    fn what_is_needed_comes_first_and_the_rest_as_it_was_asked_for() {
        assert_eq!(order("cba", &[], &[]).unwrap(), "cba");
        assert_eq!(order("abc", &[("a", "c"), ("c", "b")], &[]).unwrap(), "bca");
    }

    #[test]
    fn a_wish_gives_way_to_a_need() {
        assert_eq!(order("ab", &[], &[("a", "b")]).unwrap(), "ba");
        assert_eq!(order("ab", &[("b", "a")], &[("a", "b")]).unwrap(), "ab");
        assert_eq!(order("abc", &[("c", "a")], &[("a", "b"), ("b", "c")]).unwrap(), "acb");
        assert_eq!(order("ab", &[], &[("a", "b"), ("b", "a")]).unwrap(), "ab");
    }

    #[test]
    fn every_circle_is_told_once() {
        assert_eq!(order("a", &[("a", "a")], &[]).unwrap_err(), "a");
        let needs = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "e"), ("e", "d"), ("f", "d")];
        assert_eq!(order("adf", &needs, &[]).unwrap_err(), "bc de");
    }

    #[test]
    fn a_long_chain_is_no_trouble() {
        let ids: Vec<TaskId> = (0..50_000).map(|n| format!("t{n}").parse().unwrap()).collect();
        let mut edges = Edges::default();
        for pair in ids.windows(2) {
            edges.needs.insert(&pair[0], vec![&pair[1]]);
        }
        edges.after = ids.windows(2).map(|pair| (&pair[1], &pair[0])).collect();
        let all: Vec<_> = ids.iter().collect();
        let order = ordered(&all, &edges).unwrap();
        assert!(order.iter().rev().copied().eq(&ids));
    }
}
