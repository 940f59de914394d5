//! Random graphs of tasks, executed in virtual time: what the schedule promises holds in all of them.

use std::{collections::BTreeMap, time::Duration};

use agentic_provision::flow::{Demand, Item, Schedule};

use crate::harness::{Generator, seed, soak};

/// One step of a virtual task.
#[derive(Clone, Debug, Default)]
struct Step {
    millis: u64,
    locks: Vec<String>,
    alone: bool,
}

#[derive(Clone, Debug, Default)]
struct Task {
    behind: Vec<usize>,
    steps: Vec<Step>,
}

impl Task {
    fn millis(&self) -> u64 {
        self.steps.iter().map(|step| step.millis).sum()
    }
}

fn items(tasks: &[Task], first_come: bool) -> Vec<Item> {
    let item = |task: &Task| Item {
        behind: task.behind.clone(),
        // Whoever takes them as they come knows nothing of how long they are.
        weight: Duration::from_millis(if first_come { 0 } else { task.millis() }),
        talks: !first_come && task.steps.iter().any(|step| step.alone),
        ..Item::default()
    };
    tasks.iter().map(item).collect()
}

/// What is going on at one moment.
struct Running {
    task: usize,
    step: usize,
    until: u64,
}

/// Executes `tasks` with `turns`, checks every rule at every moment, and says how long it took.
fn execute(tasks: &[Task], turns: usize, first_come: bool) -> u64 {
    let mut schedule = Schedule::new(turns, &items(tasks, first_come));
    let mut now = 0;
    let mut running: Vec<Running> = Vec::new();
    let mut next_step = vec![0; tasks.len()];
    // Those that have begun and wait for a turn with what their next step wants.
    let mut asking: Vec<usize> = Vec::new();
    let mut begun = vec![false; tasks.len()];
    let mut done = vec![false; tasks.len()];
    loop {
        while let Some(task) = schedule.next(false) {
            if begun[task] {
                asking.retain(|other| *other != task);
                running.push(Running {
                    task,
                    step: next_step[task],
                    until: now + tasks[task].steps[next_step[task]].millis,
                });
            } else {
                assert!(tasks[task].behind.iter().all(|before| done[*before]), "begun too early");
                begun[task] = true;
                go_on(&mut schedule, tasks, task, &next_step, &mut asking, &mut running, now);
            }
        }
        check(tasks, turns, &running, &asking, &next_step, (&begun, &done));
        let Some(earliest) = running.iter().map(|run| run.until).min() else { break };
        now = earliest;
        let over: Vec<_> = running.extract_if(.., |run| run.until == now).collect();
        for run in over {
            next_step[run.task] = run.step + 1;
            schedule.release(run.task);
            if next_step[run.task] == tasks[run.task].steps.len() {
                done[run.task] = true;
                schedule.is_over(run.task);
            } else {
                go_on(&mut schedule, tasks, run.task, &next_step, &mut asking, &mut running, now);
            }
        }
    }
    assert!(done.iter().all(|done| *done), "something never got its turn");
    now
}

/// Asks for what the next step of a task wants; runs it if that is to be had at once.
fn go_on(
    schedule: &mut Schedule,
    tasks: &[Task],
    task: usize,
    next_step: &[usize],
    asking: &mut Vec<usize>,
    running: &mut Vec<Running>,
    now: u64,
) {
    let step = &tasks[task].steps[next_step[task]];
    schedule.ask(task, Demand { locks: step.locks.clone(), alone: step.alone });
    if schedule.has_turn(task) {
        running.push(Running { task, step: next_step[task], until: now + step.millis });
    } else {
        asking.push(task);
    }
}

fn check(
    tasks: &[Task],
    turns: usize,
    running: &[Running],
    asking: &[usize],
    next_step: &[usize],
    (begun, done): (&[bool], &[bool]),
) {
    assert!(running.len() <= turns, "more than {turns} at once");
    let steps: Vec<_> = running.iter().map(|run| &tasks[run.task].steps[run.step]).collect();
    let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
    for lock in steps.iter().flat_map(|step| &step.locks) {
        *holders.entry(lock).or_default() += 1;
    }
    assert!(holders.values().all(|count| *count == 1), "two with one lock: {holders:?}");
    if steps.iter().any(|step| step.alone) {
        assert_eq!(running.len(), 1, "one that wants to be alone is not");
        return;
    }
    let wants = |task: &usize| &tasks[*task].steps[next_step[*task]];
    // Where somebody wants to be alone, the others come to their end first.
    if running.len() == turns || asking.iter().any(|task| wants(task).alone) {
        return;
    }
    let is_ready =
        |task: usize| !begun[task] && tasks[task].behind.iter().all(|before| done[*before]);
    assert!(!(0..tasks.len()).any(is_ready), "a turn is idle while a task could begin");
    let is_free = |lock: &String| !holders.contains_key(lock.as_str());
    let mut free = asking.iter().filter(|task| wants(task).locks.iter().all(is_free));
    assert_eq!(free.next(), None, "a turn is idle while a task with free locks waits");
}

fn random_graph(chance: &mut Generator, with_locks: bool) -> Vec<Task> {
    let count = 1 + chance.draw(40);
    let density = 1 + chance.draw(6);
    (0..count)
        .map(|place| {
            let behind = (0..place).filter(|_| chance.draw(place.max(1)) < density / 2);
            let behind: Vec<_> = behind.collect();
            let steps = 1 + chance.draw(if with_locks { 3 } else { 1 });
            let step = |chance: &mut Generator| {
                let locks = ["apt", "brew", "npm"].into_iter();
                let locks = locks.filter(|_| with_locks && chance.draw(5) == 0);
                Step {
                    locks: locks.map(str::to_owned).collect(),
                    millis: 1 + chance.draw(1_000) as u64,
                    alone: with_locks && chance.draw(40) == 0,
                }
            };
            Task { behind, steps: (0..steps).map(|_| step(chance)).collect() }
        })
        .collect()
}

/// The longest way through the graph.
fn critical_path(tasks: &[Task]) -> u64 {
    let mut ends = vec![0; tasks.len()];
    for (place, task) in tasks.iter().enumerate() {
        let start = task.behind.iter().map(|before| ends[*before]).max().unwrap_or(0);
        ends[place] = start + task.millis();
    }
    ends.into_iter().max().unwrap_or(0)
}

fn how_many() -> usize {
    if soak() { 30_000 } else { 3_000 }
}

#[test]
fn in_any_graph_no_turn_is_given_twice_no_lock_is_shared_and_none_is_idle_for_nothing() {
    let mut chance = Generator::new(seed("graphs with locks"));
    for _ in 0..how_many() {
        let tasks = random_graph(&mut chance, true);
        let turns = 1 + chance.draw(8);
        let took = execute(&tasks, turns, false);
        assert!(took >= critical_path(&tasks));
    }
}

#[test]
fn without_locks_it_takes_at_most_as_long_as_can_be_proved_and_no_longer_than_first_come() {
    let mut chance = Generator::new(seed("graphs without locks"));
    let (mut longest_first, mut first_come) = (0, 0);
    for _ in 0..how_many() {
        let tasks = random_graph(&mut chance, false);
        let turns = 2 + chance.draw(7);
        let took = execute(&tasks, turns, false);
        let work: u64 = tasks.iter().map(Task::millis).sum();
        // (2 − 1/N) × max(critical path, work/N), without a fraction anywhere.
        let (n, path) = (turns as u64, critical_path(&tasks));
        assert!(took * n * n <= (2 * n - 1) * (path * n).max(work), "{took} ms with {turns} turns");
        longest_first += took;
        first_come += execute(&tasks, turns, true);
    }
    println!("longest way first {longest_first} ms, first come {first_come} ms");
    assert!(longest_first <= first_come);
}

#[test]
fn the_graph_of_the_design_takes_hardly_longer_than_its_bound() {
    let task = |behind: Vec<usize>| {
        let step = Step { millis: 200, ..Step::default() };
        Task { behind, steps: vec![step] }
    };
    let mut tasks: Vec<_> = (0..20).map(|_| task(Vec::new())).collect();
    for number in 20..25 {
        tasks.push(task(if number == 20 { Vec::new() } else { vec![number - 1] }));
    }
    assert!(execute(&tasks, 8, false) <= 1_050);
    // Taken as they come, the chain begins last.
    assert!(execute(&tasks, 8, true) > 1_050);
}

#[test]
fn with_one_turn_all_is_as_planned() {
    let mut chance = Generator::new(seed("one turn"));
    for _ in 0..200 {
        let tasks = random_graph(&mut chance, true);
        let mut schedule = Schedule::new(1, &items(&tasks, false));
        for (place, task) in tasks.iter().enumerate() {
            assert_eq!(schedule.next(false), Some(place));
            for step in &task.steps {
                // It keeps its turn whatever it waits for.
                schedule.rest(place);
                schedule.ask(place, Demand { locks: step.locks.clone(), alone: step.alone });
                assert!(schedule.has_turn(place));
                assert_eq!(schedule.next(false), None);
                schedule.release(place);
            }
            schedule.is_over(place);
        }
        assert_eq!(schedule.next(false), None);
    }
}

#[test]
fn what_wants_the_terminal_comes_early_and_alone() {
    let quick = Step { millis: 10, ..Step::default() };
    let long = Step { millis: 1_000, ..Step::default() };
    let talk = Step { millis: 10, alone: true, ..Step::default() };
    // The last one talks, and needs the one before it.
    let tasks = [
        Task { behind: vec![], steps: vec![long.clone()] },
        Task { behind: vec![], steps: vec![long] },
        Task { behind: vec![], steps: vec![quick] },
        Task { behind: vec![2], steps: vec![talk] },
    ];
    let mut schedule = Schedule::new(2, &items(&tasks, false));
    assert_eq!(schedule.next(false), Some(2), "what leads to the terminal comes first");
    assert_eq!(schedule.next(false), Some(0));
    schedule.is_over(2);
    assert_eq!(schedule.next(false), Some(3));
    schedule.ask(3, Demand { alone: true, ..Demand::default() });
    assert_eq!(schedule.next(false), None, "nobody begins who would have to be waited for");
    schedule.is_over(0);
    assert_eq!(schedule.next(false), Some(3));
    assert_eq!(schedule.next(false), None, "it is alone");
    schedule.is_over(3);
    assert_eq!(schedule.next(false), Some(1));
}

#[test]
fn whoever_could_come_along_is_waited_for_and_only_they() {
    let item = |behind: Vec<usize>, weight| Item {
        behind,
        weight: Duration::from_secs(weight),
        group: Some(0),
        ..Item::default()
    };
    let other = |weight| Item { weight: Duration::from_secs(weight), ..Item::default() };
    let items = [item(vec![], 9), other(5), item(vec![], 1), item(vec![1], 1)];
    let mut schedule = Schedule::new(2, &items);
    assert_eq!((schedule.next(false), schedule.next(false)), (Some(0), Some(1)));
    schedule.arrive(0);
    assert!(!schedule.takes_the_lead(0, false), "another one could come along");
    // Where nobody begins any more, nobody is waited for.
    assert!(schedule.clone().takes_the_lead(0, true));
    // It is looked for at the rank of the one that waits.
    assert_eq!(schedule.next(false), Some(2));
    schedule.arrive(2);
    assert!(!schedule.takes_the_lead(2, false), "the most urgent one leads");
    assert!(schedule.takes_the_lead(0, false), "the fourth needs something that is not done");
    schedule.ask(0, Demand { locks: vec!["apt".into()], alone: false });
    assert_eq!(schedule.next(false), Some(0));
    assert_eq!(schedule.call(0), [0, 2]);
    // A later one gathers its own call.
    schedule.is_over(1);
    assert_eq!(schedule.next(false), Some(3));
    schedule.arrive(3);
    assert!(schedule.takes_the_lead(3, false));
    schedule.ask(3, Demand { locks: vec!["apt".into()], alone: false });
    assert_eq!(schedule.next(false), None, "one call at a time");
    schedule.release(0);
    assert_eq!(schedule.next(false), Some(3));
}
