//! The walk from `session_check` to the execution, as a machine without a world: a session and an
//! input make events and effects. What it waits for follows from the record, so that whoever
//! comes next, and whenever, finds it waiting for the same.

use indexmap::IndexMap;
use serde_json::Map;

use super::{
    Offer, Presence, Requirements, agenda,
    agenda::{Ask, Asked, Held},
    found::outputs,
    gates,
    given_plan::presented,
    planner::{Planned, plan},
    problem::PlanProblem,
    requirements::{TOOLS_ADDED, TOOLS_LEFT_OUT},
    second_thoughts::{change_tools, start_over},
    selection::{Ground, to_look_for},
};
use crate::model::{
    ApprovedBy, Digest, Document, EventKind, ExecutionMode, Phase, Plan, Platform, Profile,
    ProfileChoice, SessionId, Task, TaskId, nearest,
};

/// What a walk goes by that is not in the record.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    pub offer: &'a Offer<'a>,
    pub profiles: &'a [&'a Profile],
    pub platform: &'a Platform,
    /// What is there; none before anyone has looked.
    pub facts: Option<&'a Presence>,
    /// The keys of secrets that are held in memory; none where it is not time to ask for secrets.
    pub held: Held<'a>,
}

/// What is recorded as the profile of single tools.
pub const CUSTOM: &str = "custom";

/// What the walk waits for.
#[derive(Clone, Debug, PartialEq)]
pub enum Waiting<'a> {
    /// For the look at the store and at earlier sessions.
    Check,
    /// For a stack.
    Stack,
    /// For an answer: the `number`th of the `total` that are known by now.
    Answer {
        asked: Box<Asked<'a>>,
        number: usize,
        total: usize,
    },
    /// For someone to look which of these are there.
    Facts(Vec<&'a Task>),
    /// For another answer: what was asked for cannot be planned.
    Change(Vec<PlanProblem>),
    /// For the plan to be kept and shown.
    Plan(Box<Plan>),
    /// For someone to approve the plan that was shown.
    Approval(Digest),
    Execution,
    Nothing,
}

/// What a walk is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The store is ours, and these earlier sessions are not finished.
    Checked {
        unfinished: Vec<SessionId>,
    },
    Stack(Box<Stack>),
    /// A letter or a value, for a question.
    Answer {
        question: String,
        answer: String,
    },
    /// What was typed, for a value.
    Value {
        key: String,
        value: String,
    },
    /// To the question before this one, or to the phase before this one.
    Back,
    /// What was answered to this is to be asked again: a question, or the key of a value.
    Withdraw(String),
    /// These are the single tools now, and these are left out.
    Tools {
        add: Vec<TaskId>,
        without: Vec<TaskId>,
    },
    /// From the choice of a stack on, as if nothing had been answered.
    StartOver,
    /// The plan is to be shown.
    Present {
        manifests: IndexMap<String, String>,
    },
    Approve {
        digest: Digest,
        by: ApprovedBy,
        mode: ExecutionMode,
    },
}

/// Which stack, and which single tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stack {
    /// None: only single tools.
    pub profile: Option<String>,
    pub manifest_path: Option<String>,
    /// The folders whose catalogs were added.
    pub catalogs: Vec<String>,
    pub add: Vec<TaskId>,
    pub without: Vec<TaskId>,
}

/// What comes of an input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    pub events: Vec<EventKind>,
    pub effects: Vec<Effect>,
}

/// What is to be done besides recording the events, and before.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Show this, and ask again.
    Explain(String),
    /// Keep the plan beside the record.
    KeepPlan(Box<Plan>),
    /// Keep a secret in memory, and nowhere else.
    Hold { key: String, value: String },
    /// Forget a secret that was held.
    Release { key: String },
}

/// Why an input was not taken. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no profile `{given}`")]
    NoProfile { given: String, near: Option<String> },
    #[error("there is no question `{given}`")]
    NoQuestion { given: String, near: Option<String> },
    #[error("`{given}` is no answer to `{question}`: {valid}")]
    NotAnAnswer { question: String, given: String, valid: String },
    #[error("`{key}` is not a value that is asked for")]
    NoValue { key: String, near: Option<String> },
    #[error("`{key}`: {why}")]
    BadValue { key: String, why: String },
    #[error("there is nothing to go back to")]
    NothingBefore,
    #[error("that is not what the walk waits for in {0}")]
    NotNow(Phase),
    #[error("the digest of the plan is {found}, not {given}")]
    OtherDigest { given: Digest, found: Digest },
}

impl<'a> Walk<'a> {
    fn wanted(self, session: &'a Document) -> Requirements<'a> {
        Requirements::of(session, self.profile(session))
    }

    fn profile(self, session: &Document) -> Option<&'a Profile> {
        let selected = session.profile.selected.as_deref().filter(|id| *id != CUSTOM)?;
        self.profiles.iter().copied().find(|profile| profile.id() == selected)
    }

    fn ground(self, facts: &'a Presence) -> Ground<'a> {
        Ground { offer: self.offer, platform: self.platform, facts }
    }

    /// The plan of what was asked for so far.
    pub fn plan(self, session: &'a Document, facts: &'a Presence) -> Planned<'a> {
        let mut planned = plan(&self.wanted(session), self.ground(facts));
        let selected = session.profile.selected.as_deref().filter(|id| *id != CUSTOM);
        if let Some(id) = selected.filter(|_| self.profile(session).is_none()) {
            planned.plan = Err(vec![PlanProblem::UnknownProfile { id: id.to_owned() }]);
        }
        planned
    }

    /// The tasks whose presence can matter for the plan.
    pub fn to_look_for(self, session: &'a Document) -> Vec<&'a Task> {
        to_look_for(&self.wanted(session), self.offer)
    }

    /// Everything that is asked, by what is known so far.
    pub fn agenda(self, session: &'a Document) -> Vec<Asked<'a>> {
        let wanted = self.wanted(session);
        let mut asked = agenda::questions(&wanted, self.offer, self.held);
        if let Some(facts) = self.facts {
            let ground = self.ground(facts);
            let selection = super::selection::select(&wanted, ground);
            asked.extend(agenda::of_tasks(&wanted, ground, &selection, self.held));
        }
        asked
    }

    pub fn waiting(self, session: &'a Document) -> Waiting<'a> {
        match session.phase.current {
            Phase::SessionCheck => Waiting::Check,
            Phase::StackSelection => Waiting::Stack,
            Phase::GatherRequirements => self.gathering(session),
            Phase::PresentPlan => match &session.plan.digest {
                Some(digest) if session.plan.approved_at.is_none() => {
                    Waiting::Approval(digest.clone())
                }
                Some(_) => Waiting::Execution,
                None => self.gathering(session),
            },
            Phase::Execute => Waiting::Execution,
            Phase::Completion => Waiting::Nothing,
        }
    }

    fn gathering(self, session: &'a Document) -> Waiting<'a> {
        let mut agenda = self.agenda(session);
        if let Some(at) = agenda.iter().position(Asked::is_open) {
            let total = agenda.len();
            return Waiting::Answer {
                asked: Box::new(agenda.swap_remove(at)),
                number: at + 1,
                total,
            };
        }
        let Some(facts) = self.facts else { return Waiting::Facts(self.to_look_for(session)) };
        match self.plan(session, facts).plan {
            Ok(plan) => Waiting::Plan(Box::new(plan)),
            Err(problems) => Waiting::Change(problems),
        }
    }

    /// What an input does to a session. Nothing is changed by asking.
    pub fn take(&self, session: &Document, input: Input) -> Result<Step, Refusal> {
        let phase = session.phase.current;
        match (input, phase) {
            (Input::Checked { unfinished }, Phase::SessionCheck) => {
                Ok(Step::of(leave(phase, gates::session_check(&unfinished))))
            }
            (Input::Stack(stack), Phase::StackSelection) => self.choose_stack(*stack),
            (Input::Answer { question, answer }, Phase::GatherRequirements) => {
                self.answer(session, &question, &answer)
            }
            (Input::Value { key, value }, Phase::GatherRequirements) => {
                self.value(session, &key, &value)
            }
            (Input::Back, _) => self.back(session),
            (Input::Withdraw(id), _) => self.withdraw(session, &id),
            (Input::Tools { add, without }, _) => change_tools(session, add, without),
            (Input::StartOver, _) => start_over(session, self.held),
            // Once it is executed, a plan is shown again only by one who goes back to it.
            (
                Input::Present { manifests },
                Phase::GatherRequirements | Phase::PresentPlan | Phase::Execute,
            ) => self.present(session, manifests),
            (Input::Approve { digest, by, mode }, Phase::PresentPlan) => {
                approve(session, digest, by, mode)
            }
            _ => Err(Refusal::NotNow(phase)),
        }
    }

    fn choose_stack(&self, stack: Stack) -> Result<Step, Refusal> {
        let Stack { profile, manifest_path, catalogs, add, without } = stack;
        let found = match &profile {
            Some(id) => Some(self.find_profile(id)?),
            None => None,
        };
        let selected = found.map_or(CUSTOM, |profile| profile.id()).to_owned();
        let letter = found.and_then(Profile::letter).map_or(selected.clone(), str::to_owned);
        let choice = ProfileChoice {
            selected: Some(selected.clone()),
            manifest_path,
            base_tasks: found.map(|profile| profile.required_tasks.clone()),
            catalogs,
            ..Default::default()
        };
        let mut events = vec![EventKind::StackSelected {
            profile: choice,
            question: "What should be set up?".into(),
            answer: letter,
        }];
        let evidence = match found {
            Some(_) => format!("profile {selected} and what it can bring have no mistake"),
            None => "single tools, each without a mistake".to_owned(),
        };
        events.extend(leave(Phase::StackSelection, gates::stack_selection(evidence)));
        events.extend(tools(TOOLS_ADDED, add));
        events.extend(tools(TOOLS_LEFT_OUT, without));
        Ok(Step::of(events))
    }

    /// A profile by its id or its letter, in any case.
    pub fn find_profile(&self, given: &str) -> Result<&'a Profile, Refusal> {
        let same = |name: &str| name.eq_ignore_ascii_case(given);
        let by_id = self.profiles.iter().find(|profile| same(profile.id()));
        let found = by_id
            // Of two with the same letter, the one of the later layer is meant, as on the screen.
            .or_else(|| self.profiles.iter().rfind(|profile| profile.letter().is_some_and(same)));
        found.copied().ok_or_else(|| Refusal::NoProfile {
            given: given.to_owned(),
            near: nearest(given, self.profiles.iter().map(|profile| profile.id())).map(Into::into),
        })
    }

    fn answer(&self, session: &Document, id: &str, given: &str) -> Result<Step, Refusal> {
        let agenda = self.agenda(session);
        let mut questions = agenda.iter().filter(|asked| matches!(asked.ask, Ask::Choice(_)));
        match questions.find(|question| question.id() == id) {
            Some(question) => question.answered(given),
            None => Err(Refusal::NoQuestion { given: id.to_owned(), near: near(id, &agenda) }),
        }
    }

    fn value(&self, session: &Document, key: &str, given: &str) -> Result<Step, Refusal> {
        let agenda = self.agenda(session);
        let mut values = agenda.iter().filter(|asked| matches!(asked.ask, Ask::Value(_)));
        match values.find(|value| value.id() == key) {
            Some(value) => value.answered(given),
            None => Err(Refusal::NoValue { key: key.to_owned(), near: near(key, &agenda) }),
        }
    }

    fn present(
        &self,
        session: &Document,
        manifests: IndexMap<String, String>,
    ) -> Result<Step, Refusal> {
        let phase = session.phase.current;
        let (Some(facts), Waiting::Plan(plan)) = (self.facts, self.gathering(session)) else {
            return Err(Refusal::NotNow(phase));
        };
        let mut events = Vec::new();
        if phase == Phase::GatherRequirements {
            let asked = self.agenda(session).len();
            let gates = gates::gather_requirements(asked, &[], &[]);
            events.push(EventKind::GatesEvaluated { phase, gates });
            events.push(EventKind::PhaseCompleted {
                phase,
                evidence: Map::new(),
                outputs: outputs(facts, self.platform),
                commands_executed: Vec::new(),
            });
        }
        let digest = plan.compute_digest();
        events.push(presented(&plan, &digest, manifests));
        let gates = gates::present_plan(None, &digest);
        events.push(EventKind::GatesEvaluated { phase: Phase::PresentPlan, gates });
        Ok(Step { events, effects: vec![Effect::KeepPlan(plan)] })
    }
}

impl Step {
    pub(super) fn of(events: Vec<EventKind>) -> Self {
        Self { events, effects: Vec::new() }
    }
}

/// Returns the id of the agenda that is nearest to `id`.
fn near(id: &str, agenda: &[Asked<'_>]) -> Option<String> {
    nearest(id, agenda.iter().map(Asked::id)).map(str::to_owned)
}

fn approve(
    session: &Document,
    digest: Digest,
    by: ApprovedBy,
    mode: ExecutionMode,
) -> Result<Step, Refusal> {
    let Some(found) = session.plan.digest.clone() else {
        return Err(Refusal::NotNow(session.phase.current));
    };
    if digest != found {
        return Err(Refusal::OtherDigest { given: digest, found });
    }
    let gates = gates::present_plan(Some(&digest), &found);
    let approved = EventKind::PlanApproved { digest, approved_by: by, execution_mode: mode };
    let gates = EventKind::GatesEvaluated { phase: Phase::PresentPlan, gates };
    Ok(Step::of(vec![approved, gates, super::completed(Phase::PresentPlan)]))
}

fn leave(phase: Phase, gates: Vec<crate::model::GateRecord>) -> Vec<EventKind> {
    vec![EventKind::GatesEvaluated { phase, gates }, super::completed(phase)]
}

/// Tasks that were named one by one. In the order of their names: who names them in another order
/// wants the same.
pub(super) fn tools(id: &str, mut tasks: Vec<TaskId>) -> Option<EventKind> {
    let question = match id {
        TOOLS_LEFT_OUT => "Which tools should be left out?",
        _ => "Which tools beside the stack?",
    };
    tasks.sort();
    tasks.dedup();
    let names: Vec<_> = tasks.iter().map(TaskId::as_str).collect();
    (!names.is_empty()).then(|| EventKind::AnswerGiven {
        question_id: id.to_owned(),
        question: question.to_owned(),
        answer: names.join(", "),
        value: names.join(" "),
    })
}
