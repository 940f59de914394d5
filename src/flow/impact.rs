//! How far a change of mind reaches once a plan was made: what would run otherwise, what begins
//! anew, and what a person should look at again.

use std::collections::HashSet;

use serde_json::Value;

use super::{plan_difference, waiting_for};
use crate::model::{Document, Impact, Plan, PlanTask, TaskId, TaskStatus, environment_name};

/// What a revised plan means for a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    pub impact: Impact,
    /// What would run otherwise than was approved, a line each.
    pub difference: Vec<String>,
    /// Tasks that are planned now and were not.
    pub added: Vec<TaskId>,
    /// Tasks that were planned, are not done, and are not planned any more.
    pub dropped: Vec<TaskId>,
    /// Tasks that are done, stay so, and are not planned any more.
    pub left_installed: Vec<TaskId>,
    /// Tasks that are pending again, whatever they were.
    pub begin_anew: Vec<TaskId>,
    /// Those of them that are there as this session made them, and are to be made otherwise.
    pub to_redo: Vec<TaskId>,
    /// Tasks that were passed by, and stay so.
    pub stay_skipped: Vec<TaskId>,
    /// Tasks that are what they were, in other words.
    pub reworded: Vec<TaskId>,
    /// What those words were and are, a line each.
    pub words: Vec<String>,
}

impl Assessment {
    /// What a plan that takes the place of `before` means for a session that has run part of it.
    pub fn of(session: &Document, before: &Plan, now: &Plan) -> Self {
        let impact = if before.profile != now.profile {
            Impact::Major
        } else if before.compute_digest() == now.compute_digest() {
            Impact::Minor
        } else {
            Impact::Moderate
        };
        let is_planned = |id: &TaskId| now.task(id).is_some();
        let status = |id: &TaskId| session.tasks.get(id).map(|task| task.status);
        let gone = || before.tasks.iter().map(|task| &task.id).filter(|id| !is_planned(id));
        let is_done = |id: &&TaskId| status(id) == Some(TaskStatus::Completed);
        let pairs = || now.tasks.iter().filter_map(|task| Some((before.task(&task.id)?, task)));
        let reworded = || pairs().filter(|(known, task)| known.words() != task.words());
        let begin_anew = begin_anew(session, before, now, impact);
        let is_ours = |id: &&TaskId| {
            is_done(id) && !session.tasks.get(*id).is_some_and(|task| task.was_there())
        };
        let told = changed_data(before, now);
        let is_other = |id: &&TaskId| is_made_otherwise(id, before, now, &told);
        let to_redo = begin_anew.iter().filter(is_ours).filter(is_other);
        let is_skipped = |task: &&PlanTask| status(&task.id) == Some(TaskStatus::Skipped);
        let stay_skipped = now.tasks.iter().filter(is_skipped);
        let stay_skipped = ids(stay_skipped.filter(|task| !begin_anew.contains(&task.id)));
        Self {
            impact,
            to_redo: to_redo.cloned().collect(),
            stay_skipped,
            difference: plan_difference(before, now),
            added: ids(now.tasks.iter().filter(|task| before.task(&task.id).is_none())),
            dropped: gone().filter(|id| !is_done(id)).cloned().collect(),
            left_installed: gone().filter(is_done).cloned().collect(),
            begin_anew,
            reworded: ids(reworded().map(|(_, task)| task)),
            words: reworded().flat_map(|(known, task)| other_words(known, task)).collect(),
        }
    }

    /// Whether nothing is other than it was.
    pub fn is_nothing(&self) -> bool {
        self.impact == Impact::Minor && self.difference.is_empty() && self.reworded.is_empty()
    }

    /// The tasks that a person should look at again: what is there and is not wanted any more, and
    /// what was approved in other words.
    pub fn to_review(&self) -> Vec<TaskId> {
        match self.impact {
            Impact::Minor => self.reworded.clone(),
            Impact::Moderate | Impact::Major => self.left_installed.clone(),
        }
    }
}

fn ids<'t>(tasks: impl Iterator<Item = &'t PlanTask>) -> Vec<TaskId> {
    tasks.map(|task| task.id.clone()).collect()
}

fn begin_anew(session: &Document, before: &Plan, now: &Plan, impact: Impact) -> Vec<TaskId> {
    if impact == Impact::Minor {
        return Vec::new();
    }
    let told = changed_data(before, now);
    let is_other = |id: &TaskId| is_made_otherwise(id, before, now, &told);
    let begun = session.tasks.values().filter(|task| task.status != TaskStatus::Pending);
    let mut anew: Vec<TaskId> = begun
        .filter(|task| match now.task(&task.task_id) {
            Some(_) => impact == Impact::Major || is_other(&task.task_id),
            // What is done stays on record; what is not has nothing to go on with.
            None => !task.status.is_settled(),
        })
        .map(|task| task.task_id.clone())
        .collect();
    let gone = before.tasks.iter().map(|task| &task.id).filter(|id| now.task(id).is_none());
    let roots: Vec<TaskId> = anew.iter().chain(gone).cloned().collect();
    let known: HashSet<TaskId> = anew.iter().cloned().collect();
    let waiting = waiting_for(session, &roots).into_iter();
    anew.extend(waiting.filter(|id| now.task(id).is_some() && !known.contains(id)));
    anew.sort_by_key(|id| session.tasks.get_index_of(id));
    anew
}

/// Whether a task would be executed otherwise than it was planned before.
fn is_made_otherwise(id: &TaskId, before: &Plan, now: &Plan, told: &[String]) -> bool {
    match (before.task(id), now.task(id)) {
        (Some(known), Some(task)) => {
            let (known, task) = (made_by(known), made_by(task));
            known != task || told.iter().any(|name| task.to_string().contains(name))
        }
        // What was executed without being planned was executed otherwise.
        _ => true,
    }
}

/// What brings a task about. What it merely comes after does not: where that is all that changed, what
/// is done need not be done again.
fn made_by(task: &PlanTask) -> Value {
    let mut executable = task.executable_json();
    if let Value::Object(fields) = &mut executable {
        fields.remove("after");
    }
    executable
}

/// What is said of a task otherwise than before.
fn other_words(before: &PlanTask, now: &PlanTask) -> Vec<String> {
    let (known, words) = (before.words(), now.words());
    let said = |text: Option<&str>| format!("`{}`", text.unwrap_or("nothing"));
    if known.len() != words.len() {
        return vec![format!("{}: other steps are described", now.id)];
    }
    let pairs = known.iter().zip(&words).filter(|(known, words)| known != words);
    pairs
        .map(|(known, words)| format!("{}: {} was {}", now.id, said(*words), said(*known)))
        .collect()
}

/// The names under which commands find values that are others now.
fn changed_data(before: &Plan, now: &Plan) -> Vec<String> {
    let keys: HashSet<&String> = before.user_data.keys().chain(now.user_data.keys()).collect();
    let value = |plan: &Plan, key: &String| {
        plan.user_data.get(key).map(|datum| (datum.value.clone(), datum.secret))
    };
    let changed = keys.into_iter().filter(|key| value(before, key) != value(now, key));
    changed.map(|key| environment_name(key)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(profile: &str, tasks: &Value) -> Plan {
        let plan = json!({"format": "plan-v1", "profile": profile, "tasks": tasks});
        serde_json::from_value(plan).unwrap()
    }

    fn session(tasks: &Value) -> Document {
        let document = json!({
            "meta": {
                "id": "prov-20260202-143052-a7b3", "status": "paused", "version": "1.1.0",
                "created_at": "2026-02-02T14:30:52Z", "updated_at": "2026-02-02T14:30:52Z",
                "machine": {"hostname": "here", "os_version": "1", "arch": "x86_64"},
            },
            "phase": {"current": "execute"},
            "tasks": tasks,
        });
        serde_json::from_value(document).unwrap()
    }

    fn task(id: &str, status: &str) -> Value {
        json!({"task_id": id, "status": status})
    }

    fn names(ids: &[TaskId]) -> Vec<&str> {
        ids.iter().map(TaskId::as_str).collect()
    }

    #[test]
    fn only_what_would_run_otherwise_begins_anew() {
        let before = plan(
            "web",
            &json!([
                {"id": "git", "commands": [{"command": "get git"}]},
                {"id": "vim", "commands": [{"command": "get vim"}]},
                {"id": "emacs", "commands": [{"command": "get emacs"}]},
                {"id": "db", "commands": [{"command": "get db 16"}]},
            ]),
        );
        let now = plan(
            "web",
            &json!([
                {"id": "git", "commands": [{"command": "get git"}]},
                {"id": "db", "commands": [{"command": "get db 17"}]},
                {"id": "helix", "commands": [{"command": "get helix"}]},
            ]),
        );
        let session = session(&json!({
            "git": task("git", "completed"),
            "vim": task("vim", "completed"),
            "emacs": task("emacs", "failed"),
            "db": task("db", "completed"),
        }));
        let found = Assessment::of(&session, &before, &now);
        assert_eq!(found.impact, Impact::Moderate);
        assert_eq!(names(&found.begin_anew), ["emacs", "db"]);
        assert_eq!(names(&found.left_installed), ["vim"]);
        assert_eq!(names(&found.dropped), ["emacs"]);
        assert_eq!(names(&found.added), ["helix"]);
        assert_eq!(names(&found.to_review()), ["vim"]);
    }

    #[test]
    fn what_is_done_is_not_done_again_because_something_new_had_better_come_first() {
        let git = json!({"id": "git", "commands": [{"command": "get git"}]});
        let before = plan("web", &json!([git]));
        let mut behind = git.clone();
        behind["after"] = json!(["delta"]);
        let now = plan("web", &json!([{"id": "delta"}, behind]));
        let session = session(&json!({"git": task("git", "completed")}));
        let found = Assessment::of(&session, &before, &now);
        assert_eq!(found.impact, Impact::Moderate);
        assert_eq!((found.begin_anew, found.to_redo), (vec![], vec![]));
        assert!(found.difference.contains(&"+ git: after[0]: delta".to_owned()));
    }

    #[test]
    fn another_profile_restarts_all_that_is_still_planned() {
        let tasks = json!([{"id": "git", "commands": [{"command": "get git"}]}]);
        let (before, now) = (plan("web", &tasks), plan("systems", &tasks));
        let session = session(&json!({
            "git": task("git", "completed"),
            "vim": task("vim", "completed"),
        }));
        let found = Assessment::of(&session, &before, &now);
        assert_eq!(found.impact, Impact::Major);
        assert_eq!(names(&found.begin_anew), ["git"]);
    }

    #[test]
    fn other_words_are_for_review_and_nothing_else() {
        let before = plan("web", &json!([{"id": "git", "description": "a tool"}, {"id": "vim"}]));
        let now = plan("web", &json!([{"id": "git", "description": "the tool"}, {"id": "vim"}]));
        let session = session(&json!({"git": task("git", "completed")}));
        let found = Assessment::of(&session, &before, &now);
        assert_eq!(found.impact, Impact::Minor);
        assert_eq!(names(&found.to_review()), ["git"]);
        assert_eq!(found.begin_anew, []);
        assert!(!found.is_nothing());
        assert!(Assessment::of(&session, &now, &now).is_nothing());
    }

    #[test]
    fn a_value_begins_those_tasks_anew_that_name_it() {
        let mut before = plan(
            "web",
            &json!([
                {"id": "git", "commands": [{"command": "git config user.name \"$GIT_NAME\""}]},
                {"id": "vim", "commands": [{"command": "get vim"}]},
            ]),
        );
        let datum = |value: &str| serde_json::from_value(json!({"value": value})).unwrap();
        before.user_data.insert("git_name".into(), datum("Ada"));
        let mut now = before.clone();
        now.user_data.insert("git_name".into(), datum("Grace"));
        let session = session(&json!({
            "git": task("git", "completed"),
            "vim": task("vim", "completed"),
        }));
        let found = Assessment::of(&session, &before, &now);
        assert_eq!((found.impact, names(&found.begin_anew)), (Impact::Moderate, vec!["git"]));
    }
}
