//! The way of a plan file to its execution: what is recorded before the first command may run.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::gates;
use crate::model::{
    ApprovedBy, Category, Digest, Document, EventKind, ExecutionMode, Extra, Phase, Plan,
    PlannedTask, ProfileChoice, SessionId,
};

/// A plan that is run as it is, and everything that its session records of where it came from.
#[derive(Clone, Copy, Debug)]
pub struct GivenPlan<'a> {
    pub plan: &'a Plan,
    pub digest: &'a Digest,
    /// The values that may be written down.
    pub user_data: &'a [(String, String)],
    /// Its approval is part of it: whoever gives the plan has it.
    pub approved_by: ApprovedBy,
    pub mode: ExecutionMode,
    /// Earlier sessions that are not finished.
    pub unfinished: &'a [SessionId],
}

impl GivenPlan<'_> {
    /// The events that bring a session from the phase it is in to the execution of the plan.
    /// What was shown or approved before is not said again.
    pub fn walk_to_execution(&self, session: &Document) -> Vec<EventKind> {
        let ahead = Phase::ALL
            .into_iter()
            .filter(|phase| *phase >= session.phase.current && *phase < Phase::Execute);
        ahead.flat_map(|phase| self.steps(phase, session)).collect()
    }

    fn steps(&self, phase: Phase, session: &Document) -> Vec<EventKind> {
        let Self { plan, digest, user_data, approved_by, mode, unfinished } = *self;
        let mut events = Vec::new();
        let gates = match phase {
            Phase::SessionCheck => gates::session_check(unfinished),
            Phase::StackSelection => {
                let selected = plan.profile.clone().unwrap_or_else(|| "custom".into());
                events.push(EventKind::StackSelected {
                    profile: ProfileChoice {
                        selected: Some(selected.clone()),
                        ..Default::default()
                    },
                    question: "What should be set up?".into(),
                    answer: selected,
                });
                gates::stack_selection("the plan is complete and without mistakes")
            }
            Phase::GatherRequirements => {
                events.extend(user_data.iter().map(|(key, value)| EventKind::UserDataGiven {
                    key: key.clone(),
                    value: Value::String(value.clone()),
                }));
                gates::gather_requirements(0, &[], &[])
            }
            Phase::PresentPlan => {
                let is_shown = session.plan.digest.as_ref() == Some(digest);
                if !is_shown {
                    events.push(presented(plan, digest, IndexMap::new()));
                }
                if !is_shown || session.plan.approved_at.is_none() {
                    events.push(EventKind::PlanApproved {
                        digest: digest.clone(),
                        approved_by,
                        execution_mode: mode,
                    });
                }
                gates::present_plan(Some(digest), digest)
            }
            Phase::Execute | Phase::Completion => return events,
        };
        events.push(EventKind::GatesEvaluated { phase, gates });
        events.push(completed(phase));
        events
    }
}

/// The phase is over; its gates are its evidence.
pub fn completed(phase: Phase) -> EventKind {
    EventKind::PhaseCompleted {
        phase,
        evidence: Map::new(),
        outputs: Map::new(),
        commands_executed: Vec::new(),
    }
}

/// The plan is shown.
pub fn presented(
    plan: &Plan,
    digest: &Digest,
    manifest_digests: IndexMap<String, String>,
) -> EventKind {
    let planned = plan
        .tasks
        .iter()
        .map(|task| PlannedTask { task_id: task.id.clone(), commands: task.commands.len() });
    EventKind::PlanPresented {
        digest: digest.clone(),
        categories: categories(plan),
        tasks: planned.collect(),
        manifest_digests,
    }
}

/// In the order in which the plan first names them.
fn categories(plan: &Plan) -> Vec<Category> {
    let mut categories = Vec::<Category>::new();
    for task in &plan.tasks {
        let name = task.category.as_deref().unwrap_or("other");
        let item = task.id.to_string();
        match categories.iter_mut().find(|category| category.name == name) {
            Some(category) => category.items.push(item),
            None => categories.push(Category {
                name: name.into(),
                items: vec![item],
                extra: Extra::new(),
            }),
        }
    }
    categories
}
