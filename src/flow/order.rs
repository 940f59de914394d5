//! The order of tasks: everything behind what it needs, and otherwise as it was asked for.

use std::collections::{HashMap, HashSet};

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
    let mut before = edges.needs.clone();
    for (task, earlier) in &edges.after {
        if !reaches(&before, earlier, task) {
            before.entry(task).or_default().push(earlier);
        }
    }
    let mut done = HashSet::new();
    let mut order = Vec::with_capacity(tasks.len());
    for task in tasks {
        visit(task, &before, &mut done, &mut order);
    }
    Ok(order)
}

/// Puts a task into the order, after all that comes before it. There are no circles.
fn visit<'a>(
    task: &'a TaskId,
    before: &HashMap<&'a TaskId, Vec<&'a TaskId>>,
    done: &mut HashSet<&'a TaskId>,
    order: &mut Vec<&'a TaskId>,
) {
    // By hand: a chain of needs may be longer than a stack is deep.
    let mut open = vec![(task, 0)];
    while let Some((task, next)) = open.pop() {
        if done.contains(task) {
            continue;
        }
        if let Some(earlier) = before.get(task).and_then(|before| before.get(next)) {
            open.push((task, next + 1));
            open.push((earlier, 0));
        } else {
            done.insert(task);
            order.push(task);
        }
    }
}

fn reaches<'a>(
    before: &HashMap<&'a TaskId, Vec<&'a TaskId>>,
    from: &'a TaskId,
    goal: &'a TaskId,
) -> bool {
    let (mut open, mut seen) = (vec![from], HashSet::new());
    while let Some(task) = open.pop() {
        if task == goal {
            return true;
        }
        if seen.insert(task) {
            open.extend(before.get(task).into_iter().flatten());
        }
    }
    false
}

/// Every circle that a walk along the needs runs into, each once.
fn circles<'a>(tasks: &[&'a TaskId], needs: &HashMap<&'a TaskId, Vec<&'a TaskId>>) -> Vec<Circle> {
    let mut done = HashSet::new();
    let mut found = Vec::new();
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
                found.push(way[*at..].iter().map(|(task, _)| (*task).clone()).collect());
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
        assert_eq!(order("abc", &[("c", "a")], &[("a", "b"), ("b", "c")]).unwrap(), "bac");
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
        let order = ordered(&[&ids[0]], &edges).unwrap();
        assert!(order.iter().rev().copied().eq(&ids));
    }
}
