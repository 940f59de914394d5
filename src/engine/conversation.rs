//! The walk with a person, up to where its plan is executed: what it waits for is data, and every
//! answer is on record before the next question. Whoever leaves finds it waiting for the same.

use std::{collections::HashSet, path::PathBuf};

use indexmap::IndexMap;

use super::{
    Ended, GivenData, Inheritance, Request, RunError, Surroundings, Wishes,
    data::UserData,
    driving::drive,
    ending::{close, paused_at},
    examine::expiry_under_lock,
    look::look,
    paper::Paper,
    platform,
    prune::expired,
    repair::mend_and_go_on,
    request::GivenAt,
    run::{Options, Run},
    sessions::{check_resumable, check_rights, look_before, unfinished, within_runtime},
    shelf,
    signals::Signals,
    start::beginning,
    tell::Watcher,
    unready::{Mistake, Unready, mistake_of, secret_in_sight, unknown},
};
use crate::{
    catalog::Catalog,
    exec::{Probe, ProbeEnd, probe},
    flow::{
        self, Ask, Asked, Effect, Input, Offer, Presence, Refusal, Rehearsal, Stack, Step, Waiting,
        Walk, Wanted, plan_problems, recorded_facts,
    },
    model::{
        Agent, ApprovedBy, Digest, Document, EventKind, ExecutionMode, PauseReason, Phase, Plan,
        Platform, Profile, Session, SessionId, SessionStatus, Task, TaskId, WALK, nearest,
    },
    store::Request as Letter,
};

/// What came of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken {
    /// It is on record.
    Recorded,
    /// This is to be shown; nothing has changed.
    Explained(String),
    /// It cannot be; nothing has changed.
    Refused(Refusal),
}

/// A session on its way to a plan, held by us alone.
#[derive(Debug)]
pub struct Conversation<'c> {
    pub(super) around: &'c Surroundings,
    pub(super) catalog: &'c Catalog,
    pub(super) offer: Offer<'c>,
    pub(super) profiles: Vec<&'c Profile>,
    pub(super) platform: Platform,
    pub(super) paper: Paper,
    pub(super) facts: Option<Presence>,
    /// What was looked for to know the facts.
    pub(super) looked_for: HashSet<TaskId>,
    pub(super) secrets: Secrets,
    pub(super) plan: Option<(Plan, Digest)>,
    /// What is to be known of the session that was taken up.
    pub(super) notes: Vec<String>,
}

/// Where other processes leave what they want of a session.
#[derive(Clone, Debug)]
pub struct Mailbox {
    inbox: PathBuf,
}

impl Mailbox {
    pub fn has_mail(&self) -> bool {
        // What is about to become a letter has a name that begins with a dot.
        let is_letter = |name: &std::ffi::OsStr| !name.to_string_lossy().starts_with('.');
        std::fs::read_dir(&self.inbox)
            .is_ok_and(|entries| entries.flatten().any(|entry| is_letter(&entry.file_name())))
    }
}

/// In memory, and nowhere else.
#[derive(Default)]
pub(super) struct Secrets {
    values: IndexMap<String, String>,
    held: HashSet<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(&self.held).finish()
    }
}

/// Whether what a session waits for is an answer: it is on its way to a plan that the catalog
/// makes. One that was begun with a plan, which `has_plan` says is kept, only waits for approval.
fn is_conversation(session: &Document, has_plan: bool) -> bool {
    let is_made_here = session.plan.digest.is_some() && recorded_facts(session).is_some();
    session.phase.current <= Phase::PresentPlan
        && session.plan.approved_at.is_none()
        // What was executed in part is answered otherwise only by revising it.
        && !flow::anything_begun(session)
        && (is_without_plan(session) || is_made_here || !has_plan)
}

/// Whether a plan beside a session is none of its own: one that was taken back, or never shown.
pub(super) fn is_without_plan(session: &Document) -> bool {
    let was_shown = session.plan.digest.is_some();
    let is_shown = was_shown && session.phase.current >= Phase::PresentPlan;
    let is_walk = session.meta.objective.as_deref() == Some(WALK);
    (is_walk || was_shown) && !is_shown
}

/// The same of a session in the store.
pub fn waits_for_answers(around: &Surroundings, id: &SessionId) -> Result<bool, RunError> {
    let loaded = around.store.load(id)?;
    // One that cannot be read is there all the same.
    let has_plan = !matches!(around.store.plan(id), Ok(None));
    let is_over = loaded.session.meta.status == SessionStatus::Completed;
    Ok(!is_over && is_conversation(&loaded.session, has_plan))
}

impl<'c> Conversation<'c> {
    /// Begins a session with the choice of a stack.
    pub fn begin(
        around: &'c Surroundings,
        catalog: &'c Catalog,
        stack: Stack,
        inherited: Option<Inheritance>,
    ) -> Result<Self, RunError> {
        // Whoever else is at work in this home is named before anything more is asked.
        let _only = around.store.lock_runner(&around.pen)?;
        let mut created = beginning(around.clock.session_id(), Agent::user());
        created.expanded_from = inherited.as_ref().map(|inherited| inherited.from.clone());
        created.objective = Some(WALK.into());
        let id = created.session_id.clone();
        let (offer, profiles) = (shelf::offer(catalog), shelf::profiles(catalog));
        let platform = platform(&around.environment);
        let walk = Walk {
            offer: &offer,
            profiles: &profiles,
            platform: &platform,
            facts: None,
            held: None,
        };
        let named = stack.add.iter().chain(&stack.without);
        let unknown: Vec<_> = named
            .filter(|task| offer.get(task.as_str()).is_none())
            .map(|task| unknown("task", task.as_str(), nearest(task.as_str(), offer.ids())))
            .collect();
        if !unknown.is_empty() {
            return Err(unready(unknown));
        }
        let now = around.clock.now();
        let mut rehearsal = Rehearsal::begin(created.clone(), now.wall.clone())?;
        let unfinished = unfinished(&around.store, None)?;
        for input in [Input::Checked { unfinished }, Input::Stack(Box::new(stack))] {
            let step = walk
                .take(&rehearsal, input)
                .map_err(|refusal| unready(vec![mistake_of(&refusal)]))?;
            rehearsal.record(step.events)?;
        }
        rehearsal.record(inherited.into_iter().flat_map(|inherited| inherited.copied))?;
        let first = EventKind::SessionCreated(Box::new(created));
        let (recorder, _) = around.store.create(&id, &around.pen, first, &now)?;
        let mut conversation = Self {
            around,
            catalog,
            offer,
            profiles,
            platform,
            paper: Paper::Record(Box::new(recorder)),
            facts: None,
            looked_for: HashSet::new(),
            secrets: Secrets::default(),
            plan: None,
            notes: Vec::new(),
        };
        conversation.record(rehearsal.into_events())?;
        Ok(conversation)
    }

    /// Takes up a session that somebody left on its way to a plan. A plan that was shown is made
    /// again: the machine may have changed since.
    pub fn take_up(
        around: &'c Surroundings,
        catalog: &'c Catalog,
        id: &SessionId,
    ) -> Result<Self, RunError> {
        let notes = look_before(around, id)?;
        let _only = around.store.lock_runner(&around.pen)?;
        let mut recorder = around.store.open_record(id, &around.pen, &around.clock.now())?;
        check_resumable(recorder.session())?;
        let expiry = expiry_under_lock(&around.store, recorder.session(), &around.clock)?;
        let mut events = expired(expiry).unwrap_or_default();
        if events.is_empty() && recorder.session().meta.status == SessionStatus::InProgress {
            events.push(EventKind::SessionPaused {
                reason: PauseReason::SystemError,
                context: Some("the run before this one ended without a word".into()),
            });
        }
        events.push(EventKind::SessionResumed {});
        recorder.record(events, &around.clock.now())?;
        let (offer, profiles) = (shelf::offer(catalog), shelf::profiles(catalog));
        let mut conversation = Self {
            around,
            catalog,
            offer,
            profiles,
            platform: platform(&around.environment),
            paper: Paper::Record(Box::new(recorder)),
            facts: None,
            looked_for: HashSet::new(),
            secrets: Secrets::default(),
            plan: None,
            notes,
        };
        if conversation.session().phase.current == Phase::SessionCheck {
            let unfinished = unfinished(&around.store, Some(id))?;
            conversation.tell(Input::Checked { unfinished })?;
        }
        if conversation.session().phase.current == Phase::PresentPlan {
            conversation.tell(Input::Back)?;
        }
        conversation.paper.settle()?;
        Ok(conversation)
    }

    pub fn session(&self) -> &Session {
        self.paper.session()
    }

    /// What is to be known of the session that was taken up.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub fn id(&self) -> SessionId {
        self.session().meta.id.clone()
    }

    /// The plan that was shown, if one was.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref().map(|(plan, _)| plan)
    }

    pub(super) fn walk(&self) -> Walk<'_> {
        let mut walk = Walk {
            offer: &self.offer,
            profiles: &self.profiles,
            platform: &self.platform,
            facts: None,
            held: Some(&self.secrets.held),
        };
        // What matters now may be more than what was looked for.
        let known = |task: &&Task| self.looked_for.contains(&task.id);
        if self.facts.is_some() && walk.to_look_for(self.session()).iter().all(known) {
            walk.facts = self.facts.as_ref();
        }
        walk
    }

    /// What the walk waits for.
    pub fn waiting(&self) -> Waiting<'_> {
        self.walk().waiting(self.session())
    }

    /// Everything that is asked, by what is known so far.
    pub fn agenda(&self) -> Vec<Asked<'_>> {
        self.walk().agenda(self.session())
    }

    /// Tells the walk something. What it comes to is on record when this returns.
    pub fn tell(&mut self, input: Input) -> Result<Taken, RunError> {
        let step = match self.walk().take(self.session(), input) {
            Ok(step) => step,
            Err(refusal) => return Ok(Taken::Refused(refusal)),
        };
        let Step { events, effects } = step;
        for effect in effects {
            match effect {
                Effect::Explain(text) => return Ok(Taken::Explained(text)),
                Effect::Hold { key, value } => {
                    self.secrets.held.insert(key.clone());
                    self.secrets.values.insert(key, value);
                }
                Effect::Release { key } => {
                    self.secrets.held.remove(&key);
                    self.secrets.values.shift_remove(&key);
                }
                Effect::KeepPlan(plan) => self.keep(*plan)?,
            }
        }
        self.record(events)?;
        Ok(Taken::Recorded)
    }

    /// Before it is shown, a plan is beside the record.
    fn keep(&mut self, plan: Plan) -> Result<(), RunError> {
        self.paper.keep(&self.around.store, &plan)?;
        let digest = plan.compute_digest();
        self.plan = Some((plan, digest));
        Ok(())
    }

    pub(super) fn record(&mut self, events: Vec<EventKind>) -> Result<(), RunError> {
        self.paper.record(events, &self.around.clock)
    }

    /// The answer to something that was given beforehand, on the command line or in a file. A secret
    /// that others can read there is refused.
    pub fn given(&self, request: &Request, asked: &Asked<'_>) -> Result<Option<String>, RunError> {
        let given = request.answer_to(asked).filter(|(_, at)| *at != GivenAt::Default);
        let Some((value, at)) = given else { return Ok(None) };
        match &asked.ask {
            Ask::Value(wanted) if wanted.is_secret() && at.is_in_sight() => {
                Err(unready(vec![secret_in_sight(&wanted.name)]))
            }
            _ => Ok(Some(value)),
        }
    }

    /// Where other processes leave what they want of us.
    pub fn mailbox(&self) -> Mailbox {
        Mailbox { inbox: self.around.store.home().inbox(&self.id()) }
    }

    /// Takes what other processes have left for us: whether we are asked to pause, and why.
    pub fn asked_to_pause(&mut self) -> Result<Option<String>, RunError> {
        // Whoever has only a draft takes nobody's letters.
        let Paper::Record(recorder) = &self.paper else { return Ok(None) };
        let letters = self.around.store.take_letters(recorder)?;
        Ok(letters
            .into_iter()
            .next()
            .map(|Letter::Pause { reason }| reason.unwrap_or_else(|| "asked to pause".into())))
    }

    /// What the machine itself says that a value could be.
    pub fn suggestion(&self, wanted: &Wanted) -> Option<String> {
        let command = wanted.default_command.as_deref()?;
        let environment = &self.around.environment;
        let asked = Probe { command, environment, path: &[], setup: "" };
        let end = within_runtime(async { Ok(probe(&asked).await) }).ok()?;
        let ProbeEnd::Exited { code: 0, output } = end else { return None };
        let text = String::from_utf8_lossy(&output);
        let line = text.lines().next()?.trim().to_owned();
        Some(line).filter(|line| !line.is_empty() && wanted.check(line).is_ok())
    }

    /// Looks at the machine for all that can matter. Says what could not be found out.
    pub fn look(&mut self) -> Result<Vec<String>, RunError> {
        let walk = self.walk();
        let tasks = walk.to_look_for(self.session());
        let looked_for = tasks.iter().map(|task| task.id.clone()).collect();
        let (offer, environment) = (&self.offer, &self.around.environment);
        let facts = within_runtime(async {
            let mut signals = Signals::listen().map_err(RunError::Runtime)?;
            tokio::select! {
                facts = look(&tasks, offer, environment) => Ok(facts),
                // What is dropped ends its probes.
                _ = signals.next() => Err(RunError::Interrupted),
            }
        })?;
        let unsure = facts.unanswered.iter().map(|(id, why)| {
            format!("whether {id} is there could not be found out: {why}; it is taken as not there")
        });
        let unsure = unsure.collect();
        self.looked_for = looked_for;
        self.facts = Some(facts);
        Ok(unsure)
    }

    /// Puts the plan on the table. The walk must wait for that.
    pub fn present(&mut self) -> Result<(), RunError> {
        let Waiting::Plan(plan) = self.waiting() else { return Ok(()) };
        let selected = self.session().profile.selected.clone().unwrap_or_default();
        let mut mistakes: Vec<_> = plan_problems(&plan).iter().map(ToString::to_string).collect();
        if plan.profile.is_some() {
            mistakes.extend(shelf::mistakes_in_profile(self.catalog, &selected, &[]));
        }
        if !mistakes.is_empty() {
            let unready = Unready { catalog: mistakes, ..Unready::default() };
            return Err(RunError::Unready(Box::new(unready)));
        }
        check_rights(self.around, &plan)?;
        let manifests = shelf::manifests(self.catalog, &plan);
        self.tell(Input::Present { manifests }).map(drop)
    }

    /// Leaves the walk where it is. Whoever comes back finds it so.
    pub fn pause(mut self, context: &str) -> Result<Ended, RunError> {
        let (reason, context) = (PauseReason::UserRequest, context.to_owned());
        if let Paper::Draft(draft) = self.paper {
            return Ok(draft.given_up());
        }
        let place = flow::place_of(self.session());
        let at = Some(paused_at(&context, &place));
        self.record(vec![EventKind::SessionPaused { reason, context: at }])?;
        let id = self.id();
        self.paper.close()?;
        let ended = Ended::stopped(id, SessionStatus::Paused, context);
        Ok(Ended { place: Some(place), ..ended })
    }

    /// Approves the plan that was shown, and executes it: to its end, or to where it must stop.
    pub fn execute(
        mut self,
        by: ApprovedBy,
        mode: ExecutionMode,
        wishes: &Wishes,
        watcher: &mut Watcher<'_>,
    ) -> Result<Ended, RunError> {
        let Some((plan, digest)) = self.plan.take() else {
            return Err(RunError::NoPlan { id: self.id() });
        };
        if let Paper::Draft(draft) = &self.paper {
            let data = GivenData { file: self.secrets.values, ..GivenData::default() };
            let wishes = Wishes { data, ..wishes.clone() };
            return draft.carry_out(self.around, &plan, &digest, mode, wishes, watcher);
        }
        // Whoever cannot run it now has not approved it yet.
        let only = match self.around.store.lock_runner(&self.around.pen) {
            Ok(only) => only,
            Err(error) => {
                self.pause(&error.to_string())?;
                return Err(error.into());
            }
        };
        let digest_shown = digest.clone();
        if let Taken::Refused(_) = self.tell(Input::Approve { digest: digest_shown, by, mode })? {
            return Err(RunError::NoPlan { id: self.id() });
        }
        let Self { around, paper: Paper::Record(recorder), secrets, .. } = self else {
            return Err(RunError::NoPlan { id: self.id() });
        };
        // What was typed for a tool that is no longer planned is nobody's business.
        let is_asked = |key: &String| plan.user_data.contains_key(key);
        let secrets: IndexMap<_, _> =
            secrets.values.into_iter().filter(|(key, _)| is_asked(key)).collect();
        let data = GivenData { file: secrets.clone(), ..GivenData::default() };
        let later = Wishes { data, plan: None, ..wishes.clone() };
        let ended = within_runtime(async {
            let signals = Signals::listen().map_err(RunError::Runtime)?;
            let _only = only;
            let data = UserData::of(&plan, secrets);
            let review = mode == ExecutionMode::ReviewEachStep;
            let options = Options { review, ..wishes.options(Agent::user()) };
            let run = Run::new(around, *recorder, plan, digest, data, options, signals, watcher);
            let ended = drive(&run, None, None).await;
            close(run, ended)
        })?;
        mend_and_go_on(around, ended, &later, watcher)
    }
}

pub(super) fn unready(mistakes: Vec<Mistake>) -> RunError {
    RunError::Unready(Box::new(Unready { mistakes, ..Unready::default() }))
}
