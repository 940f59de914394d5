//! The way of a plan file to its execution: what is recorded before the first command may run.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::model::{
    ApprovedBy, Category, Digest, Document, EventKind, ExecutionMode, Extra, GateLevel, GateRecord,
    GateStatus, Phase, Plan, PlannedTask, ProfileChoice,
};

/// The events that bring a session from the phase it is in to the execution of `plan`.
///
/// `user_data` are the values that may be written down. The plan's approval is part of it: whoever
/// calls this has it.
pub fn walk_to_execution(
    session: &Document,
    plan: &Plan,
    digest: &Digest,
    user_data: &[(String, String)],
    approved_by: ApprovedBy,
) -> Vec<EventKind> {
    let ahead = Phase::ALL
        .into_iter()
        .filter(|phase| *phase >= session.phase.current && *phase < Phase::Execute);
    ahead.flat_map(|phase| steps(phase, plan, digest, user_data, approved_by)).collect()
}

fn steps(
    phase: Phase,
    plan: &Plan,
    digest: &Digest,
    user_data: &[(String, String)],
    approved_by: ApprovedBy,
) -> Vec<EventKind> {
    let mut events = Vec::new();
    let gates = match phase {
        Phase::SessionCheck => vec![
            passed("store_writable", "its lock is held and its first event recorded"),
            passed("no_other_runner", "the lock of the home's one runner is held"),
        ],
        Phase::StackSelection => {
            let selected = plan.profile.clone().unwrap_or_else(|| "custom".into());
            events.push(EventKind::StackSelected {
                profile: ProfileChoice { selected: Some(selected.clone()), ..Default::default() },
                question: "What should be set up?".into(),
                answer: selected,
            });
            vec![passed("profile_valid", "the plan is complete and without mistakes")]
        }
        Phase::GatherRequirements => {
            events.extend(user_data.iter().map(|(key, value)| EventKind::UserDataGiven {
                key: key.clone(),
                value: Value::String(value.clone()),
            }));
            vec![
                passed("questions_answered", "the plan asks none"),
                passed("conflicts_resolved", "the plan was made without any"),
            ]
        }
        Phase::PresentPlan => {
            events.push(EventKind::PlanPresented {
                digest: digest.clone(),
                categories: categories(plan),
                tasks: plan
                    .tasks
                    .iter()
                    .map(|task| PlannedTask {
                        task_id: task.id.clone(),
                        commands: task.commands.len(),
                    })
                    .collect(),
                manifest_digests: IndexMap::new(),
            });
            events.push(EventKind::PlanApproved {
                digest: digest.clone(),
                approved_by,
                execution_mode: ExecutionMode::AllAtOnce,
            });
            vec![
                passed("plan_approved", digest.as_str()),
                passed("commands_unchanged", "the approved plan is what is executed"),
            ]
        }
        Phase::Execute | Phase::Completion => return events,
    };
    events.push(EventKind::GatesEvaluated { phase, gates });
    events.push(completed(phase));
    events
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

pub fn passed(gate: &str, evidence: &str) -> GateRecord {
    GateRecord {
        gate: gate.into(),
        level: GateLevel::Must,
        status: GateStatus::Passed,
        evidence: Some(evidence.into()),
        evaluated_at: None,
        extra: Extra::new(),
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
