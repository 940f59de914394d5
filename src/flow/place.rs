//! Where a session stands, in a few words.

use crate::model::{Document, Phase};

/// `command 2 of redis`, `its questions`: what whoever goes on with it comes to first.
pub fn place_of(session: &Document) -> String {
    match session.phase.current {
        Phase::SessionCheck => "the look at earlier sessions".into(),
        Phase::StackSelection => "the choice of a stack".into(),
        Phase::GatherRequirements => "its questions".into(),
        Phase::PresentPlan => "its plan".into(),
        Phase::Execute => match &session.resume_point {
            Some(point) => {
                let task = session.tasks.get(&point.task_id);
                let planned = task.and_then(|task| task.planned_commands);
                if planned.is_some_and(|planned| point.command_index >= planned) {
                    format!("the verification of {}", point.task_id)
                } else {
                    let number = point.command_index.saturating_add(1);
                    format!("command {number} of {}", point.task_id)
                }
            }
            None => "the end of its tasks".into(),
        },
        Phase::Completion => "its end".into(),
    }
}
