//! A walk in memory, with nobody to ask: everything that was given is answered with, and what is
//! wrong with it, or missing, is collected until there is a plan or none can be.

use std::collections::{BTreeSet, HashSet};

use indexmap::{IndexMap, IndexSet};

use super::{
    RunError,
    look::look,
    request::{GivenAt, Request},
    shelf,
    signals::Signals,
    unready::{Mistake, Unanswered, Unready, mistake_of, secret_in_sight, unanswered, unknown},
};
use crate::{
    catalog::Catalog,
    exec::Environment,
    flow::{
        Ask, Asked, CUSTOM, Effect, Input, Offer, PlanProblem, Presence, Refusal, Rehearsal, Stack,
        Step, Walk, plan_problems, valid_answers,
    },
    model::{Plan, Platform, Profile, Task, nearest},
};

pub(super) struct Rehearsing<'a> {
    pub offer: Offer<'a>,
    pub profiles: Vec<&'a Profile>,
    pub platform: &'a Platform,
    pub request: &'a Request,
    pub session: Rehearsal,
    pub facts: Option<Presence>,
    pub secrets: IndexMap<String, String>,
    pub held: HashSet<String>,
    pub needs_secrets: bool,
    pub notes: Vec<String>,
    pub unready: Unready,
    /// What was answered, well or not: once is enough.
    tried: HashSet<String>,
}

impl<'a> Rehearsing<'a> {
    pub(super) fn new(
        catalog: &'a Catalog,
        platform: &'a Platform,
        request: &'a Request,
        session: Rehearsal,
    ) -> Self {
        Self {
            offer: shelf::offer(catalog),
            profiles: shelf::profiles(catalog),
            platform,
            request,
            session,
            facts: None,
            secrets: IndexMap::new(),
            held: HashSet::new(),
            needs_secrets: false,
            notes: Vec::new(),
            unready: Unready::default(),
            tried: HashSet::new(),
        }
    }
}

impl Rehearsing<'_> {
    /// Answers, looks at the machine, and plans. What shows the plan is recorded with it.
    pub(super) async fn lead_to_plan(
        &mut self,
        catalog: &Catalog,
        environment: &Environment,
        signals: &mut Signals,
    ) -> Result<Plan, RunError> {
        self.answer_all()?;
        let facts = {
            let walked = self.walk();
            let tasks = walked.to_look_for(&self.session);
            tokio::select! {
                facts = look(&tasks, &self.offer, environment) => facts,
                // What is dropped ends its probes.
                _ = signals.next() => return Err(RunError::Interrupted),
            }
        };
        for (id, why) in &facts.unanswered {
            self.notes.push(format!(
                "whether {id} is there could not be found out: {why}; it is taken as not there"
            ));
        }
        self.facts = Some(facts);
        self.answer_all()?;
        self.check_what_was_given();
        self.find_what_is_missing();
        let selected = self.session.profile.selected.clone().unwrap_or_default();
        let mut unsound = Vec::new();
        let plan = match self.plan() {
            Ok(plan) => {
                unsound.extend(plan_problems(&plan).iter().map(ToString::to_string));
                Some(plan)
            }
            Err(problems) => {
                self.unready.problems = problems;
                None
            }
        };
        self.unready.catalog =
            shelf::mistakes_in_profile(catalog, &selected, &self.unready.problems);
        if selected == CUSTOM {
            self.unready.catalog.clear();
        }
        self.unready.catalog.extend(unsound);
        let is_told = |id: &str| self.unready.problems.iter().any(|problem| problem.decides(id));
        self.unready.missing = std::mem::take(&mut self.unready.missing)
            .into_iter()
            .filter(|missing| !is_told(&missing.id))
            .collect();
        let Some(plan) = plan.filter(|_| self.unready.is_empty()) else {
            return Err(RunError::Unready(Box::new(std::mem::take(&mut self.unready))));
        };
        self.step(Input::Present { manifests: shelf::manifests(catalog, &plan) })?;
        Ok(plan)
    }

    pub(super) fn walk(&self) -> Walk<'_> {
        Walk {
            offer: &self.offer,
            profiles: &self.profiles,
            platform: self.platform,
            facts: self.facts.as_ref(),
            held: Some(&self.held).filter(|_| self.needs_secrets),
        }
    }

    fn plan(&self) -> Result<Plan, Vec<PlanProblem>> {
        let nothing = Presence::default();
        let facts = self.facts.as_ref().unwrap_or(&nothing);
        self.walk().plan(&self.session, facts).plan
    }

    /// Takes a step that cannot be refused, unless something is wrong with the walk itself.
    pub(super) fn step(&mut self, input: Input) -> Result<(), RunError> {
        let step = self.walk().take(&self.session, input);
        let step = step.map_err(|refusal| {
            RunError::Unready(Box::new(Unready {
                mistakes: vec![mistake_of(&refusal)],
                ..Unready::default()
            }))
        })?;
        self.carry_out(step)
    }

    fn carry_out(&mut self, step: Step) -> Result<(), RunError> {
        for effect in step.effects {
            if let Effect::Hold { key, value } = effect {
                self.held.insert(key.clone());
                self.secrets.insert(key, value);
            }
        }
        Ok(self.session.record(step.events)?)
    }

    /// Whether the stack could be chosen.
    pub(super) fn choose_stack(
        &mut self,
        catalog: &Catalog,
        catalogs: Vec<String>,
    ) -> Result<bool, RunError> {
        let request = self.request;
        if request.profile.is_none() && request.add.is_empty() {
            let names: Vec<_> = catalog.profiles().map(|listed| listed.item.id()).collect();
            self.unready.missing.push(Unanswered {
                id: "profile".into(),
                question: "What should be set up?".into(),
                how: format!("name a profile ({}), or single tools with --add", names.join(", ")),
            });
            return Ok(false);
        }
        let found = request.profile.as_deref().map(|given| self.walk().find_profile(given));
        let id = found.and_then(Result::ok).map(|profile| profile.id().to_owned());
        let listed = id.and_then(|id| catalog.all_profiles().find(|p| p.item.id() == id));
        if let Some(listed) = listed
            && !self.platform.is_among(&listed.item.platforms)
        {
            let platforms = listed.item.platforms.join(", ");
            let message = format!("profile `{}` is for {platforms} only", listed.item.id());
            self.unready.mistakes.push(Mistake { message, hint: None, about: None });
            return Ok(false);
        }
        let stack = Stack {
            profile: request.profile.clone(),
            manifest_path: listed.map(|listed| listed.source.name.clone()),
            catalogs,
            add: request.add.clone(),
            without: request.without.clone(),
        };
        match self.walk().take(&self.session, Input::Stack(Box::new(stack))) {
            Ok(step) => {
                self.carry_out(step)?;
                Ok(true)
            }
            Err(refusal) => {
                let mut mistake = mistake_of(&refusal);
                let names: Vec<_> = self.profiles.iter().map(|profile| profile.id()).collect();
                mistake.hint.get_or_insert(format!("there are: {}", names.join(", ")));
                self.unready.mistakes.push(mistake);
                Ok(false)
            }
        }
    }

    /// Gives every answer that there is, until nothing more is asked that could be answered.
    fn answer_all(&mut self) -> Result<(), RunError> {
        loop {
            let steps = {
                let agenda = self.walk().agenda(&self.session);
                let unanswered = agenda.iter().filter(|asked| asked.answer.is_none());
                let new = unanswered.filter(|asked| !self.tried.contains(&name_of(asked)));
                let answered =
                    new.filter_map(|asked| Some((asked, self.request.answer_to(asked)?)));
                let step = |(asked, (given, at)): (&Asked<'_>, (String, GivenAt))| {
                    (name_of(asked), answered_step(asked, &given, at))
                };
                answered.map(step).collect::<Vec<_>>()
            };
            if steps.is_empty() {
                return Ok(());
            }
            for (name, step) in steps {
                self.tried.insert(name);
                match step {
                    Ok(step) => self.carry_out(step)?,
                    Err(mistake) => self.unready.mistakes.push(mistake),
                }
            }
        }
    }

    /// Looks at what was given and not used: a name that is not known was meant for another.
    fn check_what_was_given(&mut self) {
        let mut mistakes = Vec::new();
        let mut notes = Vec::new();
        let walk = self.walk();
        let agenda = walk.agenda(&self.session);
        let profile =
            self.profiles.iter().find(|p| Some(p.id()) == self.session.profile.selected.as_deref());
        let questions = profile.map(|profile| profile.question_flow.as_slice()).unwrap_or_default();
        for (id, answer) in &self.request.answers {
            let is_asked =
                |asked: &Asked<'_>| matches!(asked.ask, Ask::Choice(_)) && asked.id() == id;
            if agenda.iter().any(is_asked)
                || is_decision(id) && self.session.choices.contains_key(id)
            {
                continue;
            }
            match questions.iter().find(|question| question.id == *id) {
                Some(question) if question.option(answer).is_none() => {
                    mistakes.push(mistake_of(&Refusal::NotAnAnswer {
                        question: id.clone(),
                        given: answer.clone(),
                        valid: valid_answers(question),
                    }));
                }
                Some(_) => notes.push(format!("`{id}` is not asked: its answer is not used")),
                None if is_decision(id) => {
                    notes.push(format!("there is nothing to decide about `{id}`"));
                }
                None => {
                    let known = questions.iter().map(|question| question.id.as_str());
                    let known: IndexSet<_> = known.chain(agenda.iter().map(Asked::id)).collect();
                    let near = nearest(id, known.iter().copied()).map(str::to_owned);
                    let mut mistake = mistake_of(&Refusal::NoQuestion { given: id.clone(), near });
                    if mistake.hint.is_none() && !known.is_empty() {
                        let known: Vec<_> = known.into_iter().collect();
                        mistake.hint = Some(format!("there are: {}", known.join(", ")));
                    }
                    mistakes.push(mistake);
                }
            }
        }
        let tasks = walk.to_look_for(&self.session);
        let known = Known::of(profile.copied(), &tasks, &agenda, &self.offer);
        for key in self.request.named_data() {
            if !known.keys.contains(key) {
                let near = nearest(key, known.keys.iter().map(String::as_str));
                let refusal = Refusal::NoValue { key: key.into(), near: near.map(Into::into) };
                mistakes.push(mistake_of(&refusal));
            }
        }
        let in_sight = self.request.data.command_line.keys().chain(self.request.user_data.keys());
        let of_options = self.request.options.values().flat_map(IndexMap::keys);
        let seen: HashSet<&String> = in_sight.chain(of_options).collect();
        let told: Vec<String> = self.unready.mistakes.iter().map(|m| m.message.clone()).collect();
        for key in seen.into_iter().filter(|key| known.secrets.contains(*key)) {
            let mistake = secret_in_sight(key);
            if !told.contains(&mistake.message) {
                mistakes.push(mistake);
            }
        }
        for (task, options) in &self.request.options {
            let Some(offered) = self.offer.get(task.as_str()) else {
                let near = nearest(task.as_str(), self.offer.ids());
                mistakes.push(unknown("task", task.as_str(), near));
                continue;
            };
            let names = || offered.task.options.iter().map(|option| option.id.as_str());
            for option in options.keys().filter(|option| !names().any(|name| name == *option)) {
                let message = format!("task `{task}` has no option `{option}`");
                let near = nearest(option, names()).map(|near| format!("did you mean `{near}`?"));
                mistakes.push(Mistake { message, hint: near, about: None });
            }
        }
        for task in &self.request.without {
            if self.offer.get(task.as_str()).is_none() {
                let near = nearest(task.as_str(), self.offer.ids());
                mistakes.push(unknown("task", task.as_str(), near));
            } else if !tasks.iter().any(|planned| planned.id == *task) {
                notes.push(format!("{task} is not planned anyway"));
            }
        }
        mistakes.sort_by(|a, b| a.message.cmp(&b.message));
        self.unready.mistakes.extend(mistakes);
        self.notes.extend(notes);
    }

    fn find_what_is_missing(&mut self) {
        let walk = self.walk();
        let agenda = walk.agenda(&self.session);
        let open = agenda.iter().filter(|asked| asked.is_open());
        // What was answered wrongly is told of as that.
        let mistakes = &self.unready.mistakes;
        let is_wrong = |name: &str| mistakes.iter().any(|m| m.about.as_deref() == Some(name));
        let missing = open.filter(|asked| !is_wrong(&name_of(asked))).map(unanswered).collect();
        self.unready.missing = missing;
    }
}

/// What can be named, and which of it is secret.
#[derive(Default)]
struct Known {
    keys: BTreeSet<String>,
    secrets: HashSet<String>,
}

impl Known {
    fn of(
        profile: Option<&Profile>,
        tasks: &[&Task],
        agenda: &[Asked<'_>],
        offer: &Offer<'_>,
    ) -> Self {
        let mut known = Self::default();
        if let Some(profile) = profile {
            for (key, request) in &profile.user_data {
                known.keys.insert(key.clone());
                if request.secret {
                    known.secrets.insert(key.clone());
                }
            }
            let options = profile.question_flow.iter().flat_map(|question| &question.options);
            known.keys.extend(options.flat_map(|option| option.user_data_required.clone()));
            let secret = known.keys.iter().filter(|key| offer.is_secret(key)).cloned();
            known.secrets.extend(secret.collect::<Vec<_>>());
        }
        for task in tasks {
            for option in &task.options {
                known.keys.extend([option.id.clone(), format!("{}.{}", task.id, option.id)]);
                if offer.is_secret(&option.id) {
                    known.secrets.extend([option.id.clone(), format!("{}.{}", task.id, option.id)]);
                }
            }
        }
        for asked in agenda {
            if let Ask::Value(wanted) = &asked.ask {
                known.keys.extend([wanted.key.clone(), wanted.name.clone()]);
            }
        }
        known
    }
}

/// What is asked, apart from everything else that is: a question and a value may share their id.
fn name_of(asked: &Asked<'_>) -> String {
    let kind = match &asked.ask {
        Ask::Choice(_) => "question",
        Ask::Value(_) => "value",
    };
    format!("{kind} {}", asked.id())
}

/// What an answer comes to; otherwise what is wrong with it.
fn answered_step(asked: &Asked<'_>, given: &str, at: GivenAt) -> Result<Step, Mistake> {
    let about = |mistake: Mistake| Mistake { about: Some(name_of(asked)), ..mistake };
    if let Ask::Value(wanted) = &asked.ask
        && wanted.is_secret()
        && at.is_in_sight()
    {
        return Err(about(secret_in_sight(&wanted.name)));
    }
    let step = asked.answered(given).map_err(|refusal| about(mistake_of(&refusal)))?;
    if let (Some(Effect::Explain(_)), Ask::Choice(question)) = (step.effects.first(), &asked.ask) {
        return Err(about(mistake_of(&Refusal::NotAnAnswer {
            question: question.id.clone(),
            given: given.to_owned(),
            valid: valid_answers(question),
        })));
    }
    Ok(step)
}

/// Whether it is about a decision that no profile asks for.
pub(super) fn is_decision(id: &str) -> bool {
    id.starts_with("conflict:") || id.starts_with("also:")
}
