//! Tasks that wait for each other.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    cross_lint::{lint_of_task, named},
    diagnostic::{Code, Diagnostic},
    layers::Catalog,
    place::KeyPath,
};
use crate::model::TaskId;

/// Tells every group of tasks that wait for each other, once, with the whole way around; returns
/// those on the way. It is told of the task that was added last: it closed the circle.
pub(super) fn cycles(catalog: &Catalog, found: &mut Vec<Diagnostic>) -> Vec<Vec<TaskId>> {
    let waiting = waiting_for_ever(catalog);
    let mut told: HashSet<&TaskId> = HashSet::new();
    let mut all_ways = Vec::new();
    for (id, _) in catalog.tasks.iter().filter(|(id, _)| waiting.contains(id)) {
        if told.contains(id) {
            continue;
        }
        let Some(mut way) = way_back(catalog, &waiting, id) else { continue };
        told.extend(way.iter().copied());
        all_ways.push(way.iter().map(|id| (*id).clone()).collect());
        let layer = |id: &TaskId| catalog.tasks.get(id).map_or(0, |task| task.source.layer);
        let strongest = way.iter().map(|id| layer(id)).max().unwrap_or(0);
        let first = way.iter().position(|id| layer(id) == strongest).unwrap_or(0);
        way.rotate_left(first);
        let Some((id, task)) = catalog.tasks.get_key_value(way[0]) else { continue };
        let chain: Vec<_> = way.iter().chain([&way[0]]).map(|id| id.as_str()).collect();
        let next = way.get(1).unwrap_or(&way[0]);
        let mut all = task.item.dependencies.all();
        let Some((field, ..)) = all.find(|(_, _, id)| id == next) else { continue };
        let list = KeyPath::root().key("dependencies").key(field);
        let mut lint = lint_of_task(task, found);
        let at = named(lint.root, &list).into_iter().find(|(_, id)| *id == next.as_str());
        let at = at.map_or(list, |(at, _)| at);
        let message = format!("`{id}` waits for itself: {}", chain.join(" → "));
        lint.at(Code::DependencyCycle, &at, message);
    }
    all_ways
}

/// The tasks that are left when all are taken away, again and again, that wait for none of the
/// others: each is in a cycle, or waits for one.
fn waiting_for_ever(catalog: &Catalog) -> HashSet<&TaskId> {
    let mut waits: HashMap<&TaskId, usize> = HashMap::new();
    let mut waited_for: HashMap<&TaskId, Vec<&TaskId>> = HashMap::new();
    for (id, task) in &catalog.tasks {
        let known = |next: &&TaskId| catalog.tasks.contains_key(*next);
        let next: Vec<_> =
            task.item.dependencies.all().map(|(_, _, id)| id).filter(known).collect();
        waits.insert(id, next.len());
        for next in next {
            waited_for.entry(next).or_default().push(id);
        }
    }
    let mut open: Vec<&TaskId> =
        waits.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    while let Some(done) = open.pop() {
        waits.remove(done);
        for id in waited_for.get(done).into_iter().flatten() {
            let count = waits.get_mut(id);
            if let Some(count) = count {
                *count -= 1;
                if *count == 0 {
                    open.push(id);
                }
            }
        }
    }
    waits.into_keys().collect()
}

/// The shortest way along dependencies from a task back to itself.
fn way_back<'a>(
    catalog: &'a Catalog,
    among: &HashSet<&'a TaskId>,
    id: &'a TaskId,
) -> Option<Vec<&'a TaskId>> {
    let mut before: HashMap<&TaskId, &TaskId> = HashMap::new();
    let mut open = VecDeque::from([id]);
    while let Some(current) = open.pop_front() {
        let Some(task) = catalog.tasks.get(current) else { continue };
        for (_, _, next) in task.item.dependencies.all() {
            if next == id {
                let mut way = vec![current];
                while let Some(step) = before.get(way[way.len() - 1]) {
                    way.push(step);
                }
                way.reverse();
                return Some(way);
            }
            if among.contains(next) && !before.contains_key(next) {
                before.insert(next, current);
                open.push_back(next);
            }
        }
    }
    None
}
