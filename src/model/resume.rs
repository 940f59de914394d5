//! Where a session goes on: one point for each task that was touched and is not settled, and
//! always the first unsettled task of the plan.
//!
//! Only the task an event names is looked at, and the first unsettled task only ever moves
//! forward, so that a session of ten thousand tasks costs no more per event than one of ten.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Document, Extra, TaskId, named};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResumePoint {
    pub task_id: TaskId,
    /// Which of the plan's commands for the task; one past the last means its verification.
    pub command_index: usize,
    pub action: ResumeAction,
    pub context: String,
    #[serde(flatten)]
    pub extra: Extra,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum ResumeAction {
        /// It may run without asking.
        Retry = "retry",
        /// A person decided to pass it by; not carried out yet.
        Skip = "skip",
        /// A person must decide.
        Choose = "choose",
    }
}

impl Document {
    /// The point of one task, if it has one.
    pub fn resume_point_of(&self, task_id: &TaskId) -> Option<&ResumePoint> {
        self.resume_points.iter().find(|point| point.task_id == *task_id)
    }

    /// Says where `task_id` goes on, in place of what was said of it before.
    pub(super) fn set_resume_point(
        &mut self,
        task_id: &TaskId,
        command_index: usize,
        action: ResumeAction,
        context: String,
    ) {
        let point = ResumePoint {
            task_id: task_id.clone(),
            command_index,
            action,
            context,
            extra: Extra::new(),
        };
        match self.resume_points.iter_mut().find(|known| known.task_id == *task_id) {
            Some(known) => *known = point,
            None => self.insert_in_plan_order(point),
        }
        self.settle_resume_points();
    }

    /// Forgets the point of a task that has nothing left to do.
    pub(super) fn clear_resume_point(&mut self, task_id: &TaskId) {
        self.resume_points.retain(|point| point.task_id != *task_id);
        self.settle_resume_points();
    }

    /// Derives all points anew, after tasks were planned or set back.
    pub(super) fn rebuild_resume_points(&mut self) {
        let tasks = &self.tasks;
        self.resume_points
            .retain(|point| tasks.get(&point.task_id).is_some_and(|t| !t.status.is_settled()));
        self.resume_points.sort_by_key(|point| tasks.get_index_of(&point.task_id));
        self.resume_points.dedup_by(|later, earlier| later.task_id == earlier.task_id);
        self.resume_point = None;
        self.settle_resume_points();
    }

    fn insert_in_plan_order(&mut self, point: ResumePoint) {
        let place = self.tasks.get_index_of(&point.task_id);
        let at = self
            .resume_points
            .partition_point(|known| self.tasks.get_index_of(&known.task_id) < place);
        self.resume_points.insert(at, point);
    }

    /// Makes `resume_point` the first unsettled task in plan order.
    fn settle_resume_points(&mut self) {
        // Tasks before the present point are settled: it was the first unsettled one.
        let from = self
            .resume_point
            .as_ref()
            .and_then(|point| self.tasks.get_index_of(&point.task_id))
            .unwrap_or(0);
        let rest = &self.tasks.as_slice()[from..];
        let first = rest.iter().find(|(_, task)| !task.status.is_settled()).map(|(id, _)| id);
        if let Some(task_id) = first
            && self.resume_point_of(task_id).is_none()
        {
            self.insert_in_plan_order(ResumePoint {
                task_id: task_id.clone(),
                command_index: 0,
                action: ResumeAction::Retry,
                context: format!("{task_id} has not started"),
                extra: Extra::new(),
            });
        }
        self.resume_point = self.resume_points.first().cloned();
    }
}
