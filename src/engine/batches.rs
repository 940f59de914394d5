//! Packages of one manager that can be installed together: one call for several tasks, and what
//! becomes of each of them when it fails.
//!
//! A task that needs its packages waits, without a turn, for the others of its group that can begin:
//! those are looked for first. Then the most urgent of them makes the call for all that wait. A call
//! that failed says what to do next: whom the manager names has failed; the others look whether they
//! are there all the same, and come again; where nobody has dropped out, each goes by itself.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
};

use super::{
    RunError,
    attending::until,
    calls::Call,
    commands::{CommandEnd, MOST_UNKNOWN, Tried, Tries, interrupted_each_time},
    run::Run,
};
use crate::{
    flow::{self, Demand, Diagnosis},
    model::{InFlight, PackageManager, PlanCommand, PlanPackages, PlanTask, TaskId},
};

/// What came of the calls that were shared.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// What a call came to for each of those it served, until they take note of it.
    verdicts: RefCell<HashMap<usize, Verdict>>,
    /// With whom a task was called in vain the last time.
    in_vain: RefCell<HashMap<usize, Vec<usize>>>,
    /// Those that go by themselves.
    alone: RefCell<HashSet<usize>>,
    /// Calls of an earlier run, and who takes each of them up.
    taken_up: RefCell<HashMap<u64, usize>>,
}

impl Batches {
    /// Whether a call has served a task in vain.
    pub(super) fn is_seen_through(&self, place: usize) -> bool {
        self.in_vain.borrow().contains_key(&place)
    }
}

#[derive(Clone, Debug)]
enum Verdict {
    Done,
    /// The manager says that it is the reason.
    Failed {
        error: String,
        diagnosis: Diagnosis,
    },
    /// The call failed, and it may be there all the same.
    Look,
    Alone,
    Stopped,
    Undecided,
}

/// What tasks must have in common to be served by one call.
#[derive(PartialEq, Eq, Hash)]
struct Kind {
    manager: PackageManager,
    requires_sudo: bool,
    timeout_seconds: Option<u64>,
    retries: Option<u32>,
    env: BTreeMap<String, String>,
    locks: Vec<String>,
    path: Vec<PathBuf>,
    setup: String,
}

impl Run<'_> {
    /// The group of each task that can share a call with others, by its place in the plan.
    pub(super) fn groups(&self, open: &[bool]) -> Vec<Option<usize>> {
        let mut kinds: HashMap<Kind, usize> = HashMap::new();
        let tasks = self.plan.tasks.iter().zip(open);
        tasks
            .map(|(task, open)| {
                // Whoever looks at each command looks at each by itself.
                let kind = self.kind(task).filter(|_| *open && !self.review.get())?;
                let next = kinds.len();
                Some(*kinds.entry(kind).or_insert(next))
            })
            .collect()
    }

    fn kind(&self, task: &PlanTask) -> Option<Kind> {
        let packages =
            task.packages.as_ref().filter(|packages| packages.manager.takes_several())?;
        let [command] = task.commands.as_slice() else { return None };
        // Only a call that says no more than what it installs can be made for others, too.
        let known = packages.manager.installation(&packages.names);
        let [template] = known.as_slice() else { return None };
        let PlanCommand { idempotent, requires_sudo, timeout_seconds, retries, env, locks, .. } =
            command.clone();
        if command.command != template.command
            || !idempotent
            || command.interactive
            || command.working_dir.is_some()
        {
            return None;
        }
        // Its own folders are of use to nobody before it is there.
        let own: Vec<_> =
            task.path.iter().map(|place| self.around.environment.expand(place)).collect();
        let mut path = self.path_of(task);
        path.retain(|place| !own.contains(place));
        Some(Kind {
            manager: packages.manager,
            requires_sudo,
            timeout_seconds,
            retries,
            env,
            locks,
            path,
            setup: self.setup_of(task, false),
        })
    }

    pub(super) fn can_be_shared(&self, place: usize) -> bool {
        self.turns.look(|schedule| schedule.has_group(place))
            && !self.batches.alone.borrow().contains(&place)
    }

    /// Has the packages of a task installed together with those of others. `None` if it goes by
    /// itself.
    pub(super) async fn share(
        &self,
        task: &PlanTask,
        command: &PlanCommand,
    ) -> Result<Option<CommandEnd>, RunError> {
        let place = self.place_of(task);
        loop {
            if !self.may_go_on_with(place)? {
                self.turns.change(|schedule| schedule.part(place));
                return Ok(Some(CommandEnd::Stopped));
            }
            self.turns.change(|schedule| schedule.arrive(place));
            self.say_what_is_waited_for(place, "waits for others that go into the same call").await;
            let mut leads = false;
            until(|| {
                let only_begun = self.begins_nothing();
                leads = self.turns.quietly(|schedule| schedule.takes_the_lead(place, only_begun));
                // Whoever is served already waits for what comes of it.
                let is_waiting = self.turns.look(|schedule| schedule.is_waiting(place));
                leads || self.has_verdict(place) || is_waiting && self.is_ending(place)
            })
            .await;
            if leads {
                self.lead(task, command).await?;
            }
            let verdict = self.batches.verdicts.borrow_mut().remove(&place);
            let end = match verdict {
                None | Some(Verdict::Stopped) => CommandEnd::Stopped,
                Some(Verdict::Done) => CommandEnd::Done,
                Some(Verdict::Failed { error, diagnosis }) => {
                    CommandEnd::Failed { error, diagnosis }
                }
                Some(Verdict::Undecided) => interrupted_each_time(task, 0),
                Some(Verdict::Alone) => {
                    self.batches.alone.borrow_mut().insert(place);
                    self.turn_back(place).await;
                    return Ok(None);
                }
                Some(Verdict::Look) => {
                    self.turn_back(place).await;
                    if self.detect(task).await?.is_none() {
                        continue;
                    }
                    CommandEnd::Done
                }
            };
            self.turns.change(|schedule| schedule.part(place));
            if !matches!(end, CommandEnd::Stopped) {
                self.turn_back(place).await;
            }
            return Ok(Some(end));
        }
    }

    fn has_verdict(&self, place: usize) -> bool {
        self.batches.verdicts.borrow().contains_key(&place)
    }

    /// Makes the call for all that wait, and says to each what came of it.
    async fn lead(&self, task: &PlanTask, command: &PlanCommand) -> Result<(), RunError> {
        let place = self.place_of(task);
        let own = Call { tasks: &[task], index: 0, command };
        if let Some(end) = self.turn_and_packages(&own).await? {
            if let CommandEnd::Failed { error, diagnosis } = end {
                // Nobody could have more luck with it.
                let waiting = self.turns.change(|schedule| schedule.call(place));
                self.tell_all(&waiting, |_| Verdict::Failed {
                    error: error.clone(),
                    diagnosis: diagnosis.clone(),
                });
            } else {
                self.turns.change(|schedule| schedule.give_up_lead(place));
            }
            return Ok(());
        }
        let served = self.turns.change(|schedule| schedule.call(place));
        let in_vain = |place: &usize| self.batches.in_vain.borrow().get(place) == Some(&served);
        if served.len() < 2 || served.iter().all(in_vain) {
            self.turns.change(|schedule| schedule.release(place));
            self.tell_all(&served, |_| Verdict::Alone);
            return Ok(());
        }
        let mut tasks: Vec<_> = served.iter().map(|place| &self.plan.tasks[*place]).collect();
        let command = joint(&tasks, command);
        // The one that has the turn stands first: the call is recorded under its name.
        tasks.sort_by_key(|other| other.id != task.id);
        let call = Call { tasks: &tasks, index: 0, command: &command };
        let mut tries = Tries::default();
        loop {
            let open = self.begin(&call).await?;
            match self.attempt(&call, &open, true, &mut tries).await? {
                Tried::Done => {
                    self.tell_all(&served, |_| Verdict::Done);
                    return Ok(());
                }
                Tried::Stopped => {
                    self.tell_all(&served, |_| Verdict::Stopped);
                    return Ok(());
                }
                Tried::Failed { error, diagnosis, said } => {
                    for other in &served {
                        self.batches.in_vain.borrow_mut().insert(*other, served.clone());
                    }
                    let blamed = blamed(&tasks, &said);
                    self.tell_all(&served, |task| {
                        if blamed.contains(&&task.id) {
                            let (error, diagnosis) = (error.clone(), diagnosis.clone());
                            Verdict::Failed { error, diagnosis }
                        } else {
                            Verdict::Look
                        }
                    });
                    self.send_again(&served);
                    return Ok(());
                }
                Tried::Unknown if tries.unknown >= MOST_UNKNOWN => {
                    self.tell_all(&served, |_| Verdict::Undecided);
                    return Ok(());
                }
                Tried::Unknown | Tried::Again => {}
            }
            let kept = if self.wait_before_retry(&call, &tries).await {
                self.turn_and_packages(&call).await?
            } else {
                Some(CommandEnd::Stopped)
            };
            if let Some(end) = kept {
                self.tell_all(&served, |_| match &end {
                    CommandEnd::Failed { error, diagnosis } => {
                        let (error, diagnosis) = (error.clone(), diagnosis.clone());
                        Verdict::Failed { error, diagnosis }
                    }
                    _ => Verdict::Stopped,
                });
                return Ok(());
            }
        }
    }

    fn tell_all(&self, served: &[usize], verdict: impl Fn(&PlanTask) -> Verdict) {
        let mut verdicts = self.batches.verdicts.borrow_mut();
        for place in served {
            verdicts.insert(*place, verdict(&self.plan.tasks[*place]));
        }
        self.turns.has_changed();
    }

    /// Those who are to look for themselves are on their way to the next call: nobody makes it
    /// without them.
    fn send_again(&self, served: &[usize]) {
        let verdicts = self.batches.verdicts.borrow();
        let looks = |place: &&usize| matches!(verdicts.get(place), Some(Verdict::Look));
        for place in served.iter().filter(looks) {
            self.turns.change(|schedule| {
                schedule.come_again(*place);
                schedule.ask(*place, Demand::default());
            });
        }
    }

    /// Takes up a call that serves several tasks and that an earlier run began: once, for all of
    /// them. `false` if it is left to itself.
    pub(super) async fn take_up_shared(
        &self,
        task: &PlanTask,
        command: &PlanCommand,
        open: &InFlight,
    ) -> Result<bool, RunError> {
        let place = self.place_of(task);
        // Whoever comes first does it.
        let first = *self.batches.taken_up.borrow_mut().entry(open.seq).or_insert(place);
        if first != place {
            self.turns.change(|schedule| schedule.rest(place));
            let is_open = || {
                let record = self.task_record(task);
                record.is_some_and(|record| record.in_flight.iter().any(|o| o.seq == open.seq))
            };
            let is_given_up = || self.turns.look(|schedule| schedule.has_ended(first));
            until(|| self.stop.is_leaving() || is_given_up() || !is_open()).await;
            if is_open() {
                return Ok(false);
            }
            self.turn_back(place).await;
            return Ok(true);
        }
        let others = open.task_ids.iter().filter_map(|id| self.place_of_id(id));
        let mut tasks: Vec<_> = others.map(|place| &self.plan.tasks[place]).collect();
        tasks.sort_by_key(|other| other.id != task.id);
        let command = PlanCommand { command: open.command.clone(), ..command.clone() };
        let call = Call { tasks: &tasks, index: open.command_index, command: &command };
        if !self.turn_for_open(place, call.demand()).await {
            return Ok(false);
        }
        let tried = self.attempt(&call, open, false, &mut Tries::default()).await?;
        Ok(!matches!(tried, Tried::Stopped))
    }
}

/// The call that installs the packages of all these, otherwise like that of one of them.
fn joint(tasks: &[&PlanTask], like: &PlanCommand) -> PlanCommand {
    let packages = || tasks.iter().filter_map(|task| task.packages.as_ref());
    let mut names: Vec<String> = Vec::new();
    for name in packages().flat_map(|packages| &packages.names) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let calls = packages().next().map(|packages| packages.manager.installation(&names));
    match calls.and_then(|calls| calls.into_iter().next()) {
        Some(PlanCommand { command, description, .. }) => {
            PlanCommand { command, description, name: None, ..like.clone() }
        }
        // A group is of those that have packages.
        None => like.clone(),
    }
}

/// Those of the tasks that one call served whose packages the manager names as the reason.
fn blamed<'t>(tasks: &[&'t PlanTask], said: &[u8]) -> Vec<&'t TaskId> {
    let packages = || tasks.iter().filter_map(|task| Some((&task.id, task.packages.as_ref()?)));
    let Some((_, PlanPackages { manager, .. })) = packages().next() else { return Vec::new() };
    let names: Vec<&str> =
        packages().flat_map(|(_, packages)| &packages.names).map(String::as_str).collect();
    let blamed = flow::blamed(*manager, said, &names);
    let is_blamed =
        |packages: &PlanPackages| packages.names.iter().any(|name| blamed.contains(&name.as_str()));
    packages().filter(|(_, packages)| is_blamed(packages)).map(|(id, _)| id).collect()
}
