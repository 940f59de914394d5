//! Which tasks are planned: what was asked for, everything that comes along with it, and what
//! keeps them from being done together.

use std::collections::{HashMap, HashSet, VecDeque};

use indexmap::IndexMap;

use super::{
    NoRecipe, Offer, Presence, Recipe, RecipeSource, Requirements, Situation,
    conflict::{Conflict, conflicts},
    offer::Offered,
    problem::{ADDED, Chain, PlanProblem},
    recipe,
};
use crate::model::{Condition, Platform, PostInstall, Task, TaskId, nearest};

/// What brings a task into the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bringer {
    /// The profile asks for it, whatever is answered.
    Required,
    /// An answer: the question and the letter.
    Answer(String, String),
    /// A tool that comes along with the profile.
    DefaultTool,
    /// A single tool.
    Added,
    /// Another task needs it.
    Needed(TaskId),
    /// It comes behind another task.
    After(TaskId),
}

/// A task of the plan.
#[derive(Clone, Debug)]
pub struct Chosen<'a> {
    pub offered: Offered<'a>,
    by: Bringer,
    /// The `one_of` dependency that serves it.
    pub one_of: Option<TaskId>,
    /// The task that brings its package manager.
    pub provider: Option<TaskId>,
    pub recipe: Option<Recipe>,
    /// Why there is no way to install it here.
    no_recipe: Option<NoRecipe>,
}

impl Chosen<'_> {
    /// Everything it needs.
    pub fn needs(&self) -> Vec<&TaskId> {
        let required = self.offered.task.dependencies.required.iter();
        let mut needs: Vec<&TaskId> = Vec::new();
        for need in required.chain(&self.one_of).chain(&self.provider) {
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        needs
    }
}

/// A task that another one offers to bring along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    pub id: String,
    pub task: TaskId,
    pub prompt: String,
}

#[derive(Clone, Debug, Default)]
pub struct Selection<'a> {
    /// In the order in which they came in.
    pub tasks: IndexMap<TaskId, Chosen<'a>>,
    pub extras: Vec<Extra>,
    /// Those that are decided, too.
    pub conflicts: Vec<Conflict>,
    /// Everything but conflicts, which are decisions until nobody makes them.
    pub problems: Vec<PlanProblem>,
    /// How many problems there are besides.
    pub untold: usize,
    queue: VecDeque<(TaskId, Bringer)>,
    /// How many of them were looked at.
    looked_at: usize,
}

/// What is left out, and by which decision; none where a person named it.
type LeftOut = HashMap<TaskId, Option<String>>;

/// The most problems that are told with the way that leads there; the others are counted.
const MOST_PROBLEMS: usize = 200;

/// Everything a plan is made from, apart from what a person asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub offer: &'a Offer<'a>,
    pub platform: &'a Platform,
    pub facts: &'a Presence,
}

/// Selects tasks until nothing more comes along and every decision is carried out.
pub fn select<'a>(wanted: &Requirements<'a>, ground: Ground<'a>) -> Selection<'a> {
    let mut left_out: LeftOut = wanted.left_out().into_iter().map(|id| (id, None)).collect();
    let mut carried_out: Vec<Conflict> = Vec::new();
    loop {
        let mut selection = Selection::default();
        selection.fill(wanted, ground, &left_out);
        selection.conflicts = conflicts(&selection.tasks, ground);
        let before = left_out.len();
        for conflict in &selection.conflicts {
            let Some(loser) = conflict.loser(wanted) else { continue };
            if !left_out.contains_key(loser) {
                left_out.insert(loser.clone(), Some(conflict.id.clone()));
                carried_out.push(conflict.clone());
            }
        }
        if left_out.len() == before {
            // A decision stays one, though what it was about is gone by it.
            carried_out.retain(|decided| !selection.conflicts.contains(decided));
            selection.conflicts.splice(0..0, carried_out);
            return selection;
        }
    }
}

impl<'a> Selection<'a> {
    fn fill(&mut self, wanted: &Requirements<'a>, ground: Ground<'a>, left_out: &LeftOut) {
        self.queue.extend(roots(wanted));
        loop {
            while let Some((id, by)) = self.queue.pop_front() {
                self.take(id, by, wanted, ground, left_out);
            }
            // What is needed for certain is all there: now for what there is a choice of.
            if self.looked_at == self.tasks.len() {
                break;
            }
            self.look_at(self.looked_at, wanted, ground, left_out);
            self.looked_at += 1;
        }
        self.judge_what_cannot_be_installed(wanted, ground);
    }

    /// What cannot be installed is a problem, unless only what is there needs it: that does without.
    fn judge_what_cannot_be_installed(&mut self, wanted: &Requirements<'a>, ground: Ground<'a>) {
        let mut needed: HashSet<TaskId> = HashSet::new();
        for (id, chosen) in &self.tasks {
            if !ground.facts.is_there(id) {
                needed.extend(chosen.needs().into_iter().cloned());
            }
            if !matches!(chosen.by, Bringer::Needed(_)) {
                needed.insert(id.clone());
            }
        }
        let failed: Vec<TaskId> = self
            .tasks
            .iter()
            .filter(|(_, chosen)| chosen.no_recipe.is_some())
            .map(|(id, _)| id.clone())
            .collect();
        for id in failed {
            if !needed.contains(&id) {
                self.tasks.shift_remove(&id);
                continue;
            }
            let Some(chosen) = self.tasks.get_mut(&id) else { continue };
            let Some(why) = chosen.no_recipe.take() else { continue };
            let by = chosen.by.clone();
            let can_be_left_out = matches!(by, Bringer::Answer(..) | Bringer::DefaultTool);
            self.report(wanted, &by, &id.clone(), |chain| PlanProblem::NoRecipe {
                id,
                why,
                chain,
                can_be_left_out,
            });
        }
    }

    fn take(
        &mut self,
        id: TaskId,
        by: Bringer,
        wanted: &Requirements<'a>,
        ground: Ground<'a>,
        left_out: &LeftOut,
    ) {
        if let Some(decision) = left_out.get(&id) {
            let needed_by = match &by {
                Bringer::Required => {
                    wanted.profile.map(|p| format!("profile `{}` requires it", p.id()))
                }
                Bringer::Needed(task) => Some(format!("task `{task}` needs it")),
                // Who decides against it later has changed their mind.
                Bringer::Added if decision.is_none() => {
                    Some("it was also asked for with --add".into())
                }
                Bringer::Added | Bringer::Answer(..) | Bringer::DefaultTool | Bringer::After(_) => {
                    None
                }
            };
            if let Some(needed_by) = needed_by {
                let decision = decision.clone();
                self.report(wanted, &by, &id.clone(), |chain| PlanProblem::Needed {
                    id,
                    by: needed_by,
                    chain,
                    decision,
                });
            }
            return;
        }
        if self.tasks.contains_key(&id) {
            return;
        }
        let Some(offered) = ground.offer.get(id.as_str()) else {
            let mistake = ground.offer.mistake(id.as_str()).map(str::to_owned);
            self.report(wanted, &by, &id.clone(), |chain| {
                if let Some(mistake) = mistake {
                    return PlanProblem::Mistaken { id, mistake, chain };
                }
                let near = nearest(id.as_str(), ground.offer.ids()).map(str::to_owned);
                PlanProblem::UnknownTask { id, chain, near }
            });
            return;
        };
        if let Some(mistake) = ground.offer.mistake(id.as_str()) {
            let (id, mistake) = (id.clone(), mistake.to_owned());
            self.report(wanted, &by, &id.clone(), |chain| PlanProblem::Mistaken {
                id,
                mistake,
                chain,
            });
        }
        let needs = offered.task.dependencies.required.iter();
        self.queue.extend(needs.map(|need| (need.clone(), Bringer::Needed(id.clone()))));
        let chosen =
            Chosen { offered, by, one_of: None, provider: None, recipe: None, no_recipe: None };
        self.tasks.insert(id, chosen);
    }

    /// Decides what there is a choice of in one task: which `one_of` serves it, how it is
    /// installed, and with whose help.
    fn look_at(
        &mut self,
        at: usize,
        wanted: &Requirements<'a>,
        ground: Ground<'a>,
        left_out: &LeftOut,
    ) {
        let Some((id, chosen)) = self.tasks.get_index(at) else { return };
        let (id, task, by) = (id.clone(), chosen.offered.task, chosen.by.clone());
        let one_of = self.serving(task, wanted, ground, left_out);
        if one_of.is_none() && !task.dependencies.one_of.is_empty() {
            let of = task.dependencies.one_of.clone();
            self.report(wanted, &by, &id, |chain| PlanProblem::NoneOf {
                id: id.clone(),
                of,
                chain,
            });
        }
        let values = task.options.iter().filter_map(|option| wanted.option(task, option));
        let situation =
            Situation { chosen: values.collect(), present: one_of.iter().collect::<HashSet<_>>() };
        let recipe = recipe(task, ground.platform, &situation);
        let provider = match &recipe {
            Ok(Recipe { source: RecipeSource::Packages(manager), .. }) => manager.provider(),
            _ => None,
        };
        // Who names it as one of several has chosen otherwise, or has it already.
        let is_named = |name: &&str| task.dependencies.one_of.iter().any(|id| id.as_str() == *name);
        let provider = provider.filter(|name| !is_named(name) && *name != id.as_str());
        let provider = provider.and_then(|name| ground.offer.get(name)).map(|p| p.task.id.clone());
        for need in one_of.iter().chain(&provider) {
            self.queue.push_back((need.clone(), Bringer::Needed(id.clone())));
        }
        let (recipe, no_recipe) = match recipe {
            Ok(recipe) => (Some(recipe), None),
            // What is there need not be installed.
            Err(_) if ground.facts.is_there(&id) => (None, None),
            Err(why) => (None, Some(why)),
        };
        for entry in &task.post_install {
            self.come_behind(task, entry, wanted);
        }
        if let Some((_, chosen)) = self.tasks.get_index_mut(at) {
            (chosen.one_of, chosen.provider) = (one_of, provider);
            (chosen.recipe, chosen.no_recipe) = (recipe, no_recipe);
        }
    }

    /// The `one_of` dependency that serves a task: one that is there, else one that is chosen, else
    /// the first that this machine can have.
    fn serving(
        &self,
        task: &Task,
        wanted: &Requirements<'a>,
        ground: Ground<'a>,
        left_out: &LeftOut,
    ) -> Option<TaskId> {
        let candidates =
            || task.dependencies.one_of.iter().filter(|id| !left_out.contains_key(*id));
        let is_there =
            |id: &&TaskId| ground.facts.is_there(id) && ground.offer.get(id.as_str()).is_some();
        let is_chosen = |id: &&TaskId| self.tasks.contains_key(*id);
        let can_be_had = |id: &&TaskId| {
            let offered = ground.offer.get(id.as_str());
            ground.offer.mistake(id.as_str()).is_none()
                && offered.is_some_and(|offered| {
                    let task = offered.task;
                    let values = task.options.iter().filter_map(|o| wanted.option(task, o));
                    let present = task.dependencies.one_of.iter().collect();
                    let situation = Situation { chosen: values.collect(), present };
                    recipe(task, ground.platform, &situation).is_ok()
                })
        };
        candidates()
            .find(|id| is_there(id) && is_chosen(id))
            .or_else(|| candidates().find(is_there))
            .or_else(|| candidates().find(is_chosen))
            .or_else(|| candidates().find(can_be_had))
            .cloned()
    }

    fn come_behind(&mut self, task: &Task, entry: &PostInstall, wanted: &Requirements<'a>) {
        let Some(behind) = &entry.task else { return };
        let is_wanted = match entry.condition {
            // Whether it is missing is looked at when its turn comes, like with every task.
            Some(Condition::Always | Condition::IfMissing) => true,
            Some(Condition::UserChoice) | None => {
                let id = format!("also:{}:{behind}", task.id);
                let asked = format!("Also set up {behind}, which goes with {}?", task.name);
                let is_wanted = wanted.decision(&id) == Some("yes");
                self.extras.push(Extra {
                    id,
                    task: behind.clone(),
                    prompt: entry.prompt.clone().unwrap_or(asked),
                });
                is_wanted
            }
        };
        if is_wanted {
            self.queue.push_back((behind.clone(), Bringer::After(task.id.clone())));
        }
    }

    /// Conflicts that nobody has decided, as problems.
    pub fn undecided(&self, wanted: &Requirements<'a>) -> Vec<PlanProblem> {
        let open = self.conflicts.iter().filter(|conflict| !conflict.is_decided(wanted));
        open.map(|conflict| {
            let Conflict { id, one, other, is_there } = conflict.clone();
            let one_chain = self.chain(&one, wanted);
            if is_there {
                return PlanProblem::InstalledConflict { id, one, chain: one_chain, there: other };
            }
            let other_chain = self.chain(&other, wanted);
            PlanProblem::Conflict { id, one, one_chain, other, other_chain }
        })
        .collect()
    }

    /// Tells a problem with `id`, which `by` brings. What is told of in hundreds need not be told
    /// in thousands.
    fn report(
        &mut self,
        wanted: &Requirements<'a>,
        by: &Bringer,
        id: &TaskId,
        problem: impl FnOnce(Chain) -> PlanProblem,
    ) {
        if self.problems.len() >= MOST_PROBLEMS {
            self.untold += 1;
            return;
        }
        let problem = problem(self.chain_of(by, id, wanted));
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// The way that led to a task of the plan.
    pub fn chain(&self, id: &TaskId, wanted: &Requirements<'a>) -> Chain {
        match self.tasks.get(id) {
            Some(chosen) => self.chain_of(&chosen.by, id, wanted),
            None => Chain(vec![id.to_string()]),
        }
    }

    fn chain_of(&self, by: &Bringer, id: &TaskId, wanted: &Requirements<'a>) -> Chain {
        let mut way = vec![id.to_string()];
        let mut by = Some(by);
        while let Some(now) = by.take() {
            match now {
                Bringer::Required | Bringer::DefaultTool => {}
                Bringer::Answer(question, letter) => way.push(format!("{question}: {letter}")),
                Bringer::Added => way.push(ADDED.into()),
                Bringer::Needed(task) | Bringer::After(task) => {
                    way.push(task.to_string());
                    by = self.tasks.get(task).map(|chosen| &chosen.by);
                }
            }
            if !matches!(now, Bringer::Added | Bringer::Needed(_) | Bringer::After(_)) {
                way.extend(wanted.profile.map(|profile| profile.id().to_owned()));
            }
        }
        way.reverse();
        Chain(way)
    }

    /// What had better come first, where both are planned.
    pub fn after(&self) -> Vec<(&TaskId, &TaskId)> {
        let mut after = Vec::new();
        for (id, chosen) in &self.tasks {
            let optional = chosen.offered.task.dependencies.optional.iter();
            let planned = optional.filter_map(|other| self.tasks.get_key_value(other));
            after.extend(planned.map(|(other, _)| (id, other)));
            if let Bringer::After(behind) = &chosen.by {
                after.push((id, behind));
            }
        }
        after
    }
}

/// What a person asked for, in the order in which it was asked.
fn roots(wanted: &Requirements<'_>) -> Vec<(TaskId, Bringer)> {
    let mut roots = Vec::new();
    if let Some(profile) = wanted.profile {
        roots.extend(profile.required_tasks.iter().map(|id| (id.clone(), Bringer::Required)));
        for question in wanted.questions() {
            let Some(answer) = wanted.answer(question) else { continue };
            let by = || Bringer::Answer(question.id.clone(), answer.letter.clone());
            roots.extend(answer.tasks.iter().map(|id| (id.clone(), by())));
        }
        let tools = profile.default_cli_tools.iter();
        roots.extend(tools.map(|id| (id.clone(), Bringer::DefaultTool)));
    }
    roots.extend(wanted.added().into_iter().map(|id| (id, Bringer::Added)));
    roots
}

/// Every task whose presence can matter for the plan: all that could come along, whatever is
/// there, and what could be in its way.
pub fn to_look_for<'a>(wanted: &Requirements<'a>, offer: &Offer<'a>) -> Vec<&'a Task> {
    let mut found: IndexMap<&str, &'a Task> = IndexMap::new();
    let mut open: Vec<TaskId> = roots(wanted).into_iter().map(|(id, _)| id).rev().collect();
    while let Some(id) = open.pop() {
        let Some(Offered { task, .. }) = offer.get(id.as_str()) else { continue };
        if found.insert(task.id.as_str(), task).is_some() {
            continue;
        }
        let dependencies = task.dependencies.required.iter().chain(&task.dependencies.one_of);
        let behind = task.post_install.iter().filter_map(|entry| entry.task.as_ref());
        open.extend(dependencies.chain(behind).cloned());
        let providers = task.packages.keys().filter_map(|manager| manager.provider());
        open.extend(providers.filter_map(|name| Some(offer.get(name)?.task.id.clone())));
    }
    let planned: HashSet<&TaskId> = found.values().map(|task| &task.id).collect();
    let named: HashSet<&TaskId> = found.values().flat_map(|task| &task.conflicts_with).collect();
    let mut in_the_way: Vec<&Task> = offer
        .tasks()
        .filter(|task| !planned.contains(&task.id))
        .filter(|task| {
            named.contains(&task.id) || task.conflicts_with.iter().any(|id| planned.contains(id))
        })
        .collect();
    in_the_way.sort_by_key(|task| &task.id);
    found.into_values().chain(in_the_way).collect()
}
