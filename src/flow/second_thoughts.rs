//! Changing one's mind before anything is executed: back by one question, another answer to an
//! earlier one, other tools, or all of it again.

use super::{
    agenda::{Ask, Asked, Held, Wanted},
    requirements::{TOOLS_ADDED, TOOLS_LEFT_OUT},
    walk::{Effect, Refusal, Step, Walk, tools},
};
use crate::model::{Document, EventKind, Phase, TaskId};

fn reopened(phase: Phase, reason: &str) -> EventKind {
    EventKind::PhaseReopened { phase, reason: reason.into() }
}

/// What takes the answer to a question back.
fn withdrawn(question_id: &str) -> EventKind {
    EventKind::AnswerWithdrawn { question_id: question_id.to_owned() }
}

/// Back to where answers are given, if the plan is on the table already.
fn to_questions(session: &Document, reason: &str) -> Result<Vec<EventKind>, Refusal> {
    match session.phase.current {
        Phase::GatherRequirements => Ok(Vec::new()),
        Phase::PresentPlan => Ok(vec![reopened(Phase::GatherRequirements, reason)]),
        phase => Err(Refusal::NotNow(phase)),
    }
}

/// Back to the choice of a stack. Single tools were chosen with it.
fn to_stack(session: &Document, reason: &str) -> Vec<EventKind> {
    let named = [TOOLS_ADDED, TOOLS_LEFT_OUT].into_iter();
    let named = named.filter(|id| session.choices.contains_key(*id));
    named.map(withdrawn).chain([reopened(Phase::StackSelection, reason)]).collect()
}

impl Walk<'_> {
    /// Takes back the last answer; where there is none, the phase before is open again.
    pub(super) fn back(&self, session: &Document) -> Result<Step, Refusal> {
        let reason = "gone back to";
        match session.phase.current {
            Phase::PresentPlan => Ok(Step::of(vec![reopened(Phase::GatherRequirements, reason)])),
            Phase::GatherRequirements => {
                let agenda = self.agenda(session);
                let open = agenda.iter().position(Asked::is_open).unwrap_or(agenda.len());
                let last =
                    agenda[..open].iter().rev().find_map(|asked| self.taken_back(session, asked));
                Ok(last.unwrap_or_else(|| Step::of(to_stack(session, reason))))
            }
            Phase::SessionCheck | Phase::StackSelection => Err(Refusal::NothingBefore),
            phase @ (Phase::Execute | Phase::Completion) => Err(Refusal::NotNow(phase)),
        }
    }

    /// Has something that was answered asked again.
    pub(super) fn withdraw(&self, session: &Document, id: &str) -> Result<Step, Refusal> {
        let mut events = to_questions(session, "another answer")?;
        let agenda = self.agenda(session);
        let mut named = agenda.iter().filter(|asked| asked.id() == id);
        let step = named.find_map(|asked| self.taken_back(session, asked));
        let step = step.ok_or_else(|| Refusal::NoQuestion { given: id.into(), near: None })?;
        events.extend(step.events);
        Ok(Step { events, effects: step.effects })
    }

    /// What takes an answer back, if there is one: on record, or a secret in memory.
    fn taken_back(&self, session: &Document, asked: &Asked<'_>) -> Option<Step> {
        match &asked.ask {
            Ask::Choice(question) => session
                .choices
                .contains_key(&question.id)
                .then(|| Step::of(vec![withdrawn(&question.id)])),
            Ask::Value(wanted) if wanted.is_secret() => {
                let key = wanted.key.clone();
                let is_held = self.held.is_some_and(|held| held.contains(&key));
                let effects = vec![Effect::Release { key }];
                is_held.then(|| Step { events: Vec::new(), effects })
            }
            Ask::Value(Wanted { key, .. }) => session
                .user_data
                .contains_key(key)
                .then(|| Step::of(vec![EventKind::UserDataWithdrawn { key: key.clone() }])),
        }
    }
}

pub(super) fn change_tools(
    session: &Document,
    add: Vec<TaskId>,
    without: Vec<TaskId>,
) -> Result<Step, Refusal> {
    let mut events = to_questions(session, "other tools")?;
    for (id, tasks) in [(TOOLS_ADDED, add), (TOOLS_LEFT_OUT, without)] {
        match tools(id, tasks) {
            Some(given) => events.push(given),
            None if session.choices.contains_key(id) => events.push(withdrawn(id)),
            None => {}
        }
    }
    Ok(Step::of(events))
}

pub(super) fn start_over(session: &Document, held: Held<'_>) -> Result<Step, Refusal> {
    match session.phase.current {
        Phase::GatherRequirements | Phase::PresentPlan => {}
        phase => return Err(Refusal::NotNow(phase)),
    }
    let data = session.user_data.keys();
    let mut events: Vec<EventKind> =
        data.map(|key| EventKind::UserDataWithdrawn { key: key.clone() }).collect();
    events.extend(session.choices.keys().map(|id| withdrawn(id)));
    events.push(reopened(Phase::StackSelection, "started over"));
    let held = held.into_iter().flatten();
    let effects = held.map(|key| Effect::Release { key: key.clone() }).collect();
    Ok(Step { events, effects })
}
