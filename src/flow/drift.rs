//! How a machine has changed since its sessions: what is still as they left it, what has another
//! version, what is gone, and what came without them.
//!
//! A session says of each task it completed that it is there, in a version. Its baseline, taken when
//! it was complete, says what else was there and what was not. Whoever adopts a machine as it is
//! begins anew: from then on that is what is expected.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde::Serialize;

use super::Presence;
use crate::model::{
    Baseline, BaselineOrigin, Document, SessionId, TaskId, TaskRecord, TaskStatus, Timestamp,
};

/// How a tool came to be expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// The session installed it.
    Brought,
    /// The session found it there.
    Found,
    /// Somebody took the machine as it was.
    Adopted,
}

/// A tool that ought to be there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Who says so.
    pub session_id: SessionId,
    pub since: Timestamp,
    pub how: Since,
    /// The session that installed it, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brought_by: Option<SessionId>,
    /// The session that looked for it last; `None` if nobody but an audit has.
    #[serde(skip)]
    pub looked_for_by: Option<SessionId>,
}

/// What was on the machine when nobody had changed anything by hand yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Before {
    pub session_id: SessionId,
    pub at: Timestamp,
    pub origin: BaselineOrigin,
    absent: HashSet<TaskId>,
}

impl Before {
    /// Whether a tool was looked for, and was not there.
    pub fn lacked(&self, id: &TaskId) -> bool {
        self.absent.contains(id)
    }
}

/// What the sessions of a machine say of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectations {
    /// By id.
    pub tools: IndexMap<TaskId, Expected>,
    /// The newest baseline there is.
    pub baseline: Option<Before>,
    /// What sessions have begun to install and not completed: it may be there, and did not come
    /// without them.
    pub unfinished: HashSet<TaskId>,
}

impl Expectations {
    /// From sessions of one machine, in any order.
    pub fn of<'s>(sessions: impl IntoIterator<Item = &'s Document>) -> Self {
        let mut claims = Vec::new();
        let mut unfinished = HashSet::new();
        let mut baselines: Vec<(&SessionId, &Baseline)> = Vec::new();
        for session in sessions {
            claims.extend(claims_of(session));
            let open = session.tasks.values().filter(|task| is_unfinished(task));
            unfinished.extend(open.map(|task| task.task_id.clone()));
            let taken = session.baseline.iter().chain(&session.adopted);
            baselines.extend(taken.map(|baseline| (&session.meta.id, baseline)));
        }
        claims.sort_by(|(_, a), (_, b)| (&a.since, &a.session_id).cmp(&(&b.since, &b.session_id)));
        baselines.sort_by_key(|(id, baseline)| (baseline.recorded_at.clone(), (*id).clone()));
        let is_adopted =
            |(_, baseline): &&(_, &Baseline)| baseline.origin == BaselineOrigin::Adopted;
        let adopted = baselines.iter().rev().find(is_adopted).copied();
        let mut tools: IndexMap<TaskId, Expected> = IndexMap::new();
        let mut brought: IndexMap<TaskId, SessionId> = IndexMap::new();
        let mut adopted_yet = adopted;
        for (task, claim) in claims {
            if let Some((id, baseline)) =
                adopted_yet.filter(|(_, baseline)| baseline.recorded_at < claim.since)
            {
                tools = taken_as_they_were(id, baseline, &brought, &tools);
                adopted_yet = None;
            }
            if claim.how == Since::Brought {
                brought.insert(task.clone(), claim.session_id.clone());
            }
            let brought_by = brought.get(&task).cloned();
            tools.insert(task, Expected { brought_by, ..claim });
        }
        if let Some((id, baseline)) = adopted_yet {
            tools = taken_as_they_were(id, baseline, &brought, &tools);
        }
        tools.sort_keys();
        let baseline = baselines.last().map(|(id, newest)| Before {
            session_id: (*id).clone(),
            at: newest.recorded_at.clone(),
            origin: newest.origin,
            absent: newest.absent.iter().cloned().collect(),
        });
        Self { tools, baseline, unfinished }
    }
}

/// Whether something was executed for a task that is not done.
fn is_unfinished(task: &TaskRecord) -> bool {
    let has_run = task.commands().iter().any(|command| command.kind.is_none());
    task.status != TaskStatus::Completed && (has_run || !task.in_flight.is_empty())
}

/// What a session says is there.
fn claims_of(session: &Document) -> impl Iterator<Item = (TaskId, Expected)> {
    let done = session.tasks.values().filter(|task| task.status == TaskStatus::Completed);
    done.map(|task| {
        let known = |key: &str| task.result_text(key).map(str::to_owned);
        let how = if task.was_there() { Since::Found } else { Since::Brought };
        // What says no more than that it is done was done at the earliest moment it could have been:
        // that the session is touched again makes it no newer.
        let moments = [&task.completed_at, &task.started_at];
        let since = moments.into_iter().flatten().next().unwrap_or(&session.meta.created_at);
        let claim = Expected {
            version: known("version"),
            path: known("path"),
            session_id: session.meta.id.clone(),
            since: since.clone(),
            how,
            brought_by: None,
            looked_for_by: Some(session.meta.id.clone()),
        };
        (task.task_id.clone(), claim)
    })
}

fn taken_as_they_were(
    id: &SessionId,
    baseline: &Baseline,
    brought: &IndexMap<TaskId, SessionId>,
    before: &IndexMap<TaskId, Expected>,
) -> IndexMap<TaskId, Expected> {
    let tool = |(task, found): (&TaskId, &crate::model::Found)| {
        let expected = Expected {
            version: found.version.clone(),
            path: found.path.clone(),
            session_id: id.clone(),
            since: baseline.recorded_at.clone(),
            how: Since::Adopted,
            brought_by: brought.get(task).cloned(),
            looked_for_by: before.get(task).and_then(|before| before.looked_for_by.clone()),
        };
        (task.clone(), expected)
    };
    baseline.present.iter().map(tool).collect()
}

/// A tool that is there as it ought to be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kept {
    pub task_id: TaskId,
    /// As it is now; `None` where it was not asked, or did not say.
    pub version: Option<String>,
    #[serde(flatten)]
    pub since: Sessions,
}

/// A tool that is there in another version.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changed {
    pub task_id: TaskId,
    pub from: String,
    pub to: String,
    #[serde(flatten)]
    pub since: Sessions,
}

/// A tool that is not there any more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Removed {
    pub task_id: TaskId,
    pub version: Option<String>,
    #[serde(flatten)]
    pub since: Sessions,
}

/// A tool that no session knows of, and that was not there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Added {
    pub task_id: TaskId,
    pub version: Option<String>,
    pub path: Option<String>,
    /// Whose baseline says that it was not there.
    pub session_id: SessionId,
    /// When it was not there yet.
    pub since: Timestamp,
}

/// Who says what a tool was like, and who installed it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sessions {
    pub session_id: SessionId,
    pub since: Timestamp,
    pub how: Since,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brought_by: Option<SessionId>,
}

impl Sessions {
    fn of(expected: &Expected) -> Self {
        Self {
            session_id: expected.session_id.clone(),
            since: expected.since.clone(),
            how: expected.how,
            brought_by: expected.brought_by.clone(),
        }
    }
}

/// How a machine differs from what its sessions say. Each list is in the order of ids.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Drift {
    pub still_installed: Vec<Kept>,
    pub version_changed: Vec<Changed>,
    pub removed: Vec<Removed>,
    pub added_outside: Vec<Added>,
    /// Known from sessions, and nobody can tell now: nothing to look for, or no answer.
    pub unknown: Vec<TaskId>,
}

impl Drift {
    /// Compares what is expected with what was found. `looked_for` are the tools that were looked
    /// for; of others nothing is said.
    pub fn between(
        expectations: &Expectations,
        presence: &Presence,
        looked_for: &HashSet<TaskId>,
    ) -> Self {
        let mut drift = Self::default();
        let is_unanswered = |id: &TaskId| presence.unanswered.iter().any(|(known, _)| known == id);
        for (task_id, expected) in &expectations.tools {
            let (task_id, since) = (task_id.clone(), Sessions::of(expected));
            match presence.found(&task_id) {
                _ if !looked_for.contains(&task_id) => {}
                None if is_unanswered(&task_id) => drift.unknown.push(task_id),
                None => {
                    let version = expected.version.clone();
                    drift.removed.push(Removed { task_id, version, since });
                }
                Some(found) => match (&expected.version, &found.version) {
                    (Some(from), Some(to)) if from != to => {
                        let (from, to) = (from.clone(), to.clone());
                        drift.version_changed.push(Changed { task_id, from, to, since });
                    }
                    (_, version) => {
                        let version = version.clone();
                        drift.still_installed.push(Kept { task_id, version, since });
                    }
                },
            }
        }
        if let Some(before) = &expectations.baseline {
            for (task_id, found) in presence.all() {
                let is_known = expectations.tools.contains_key(task_id)
                    || expectations.unfinished.contains(task_id);
                if !is_known && before.lacked(task_id) && looked_for.contains(task_id) {
                    drift.added_outside.push(Added {
                        task_id: task_id.clone(),
                        version: found.version.clone(),
                        path: found.path.clone(),
                        session_id: before.session_id.clone(),
                        since: before.at.clone(),
                    });
                }
            }
        }
        drift
    }

    /// How many tools are not as they ought to be.
    pub fn count(&self) -> usize {
        self.version_changed.len() + self.removed.len() + self.added_outside.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::{Value, json};

    use super::{Drift, Expectations, Since};
    use crate::{
        flow::Presence,
        model::{Document, Found, TaskId},
    };

    fn task(id: &str) -> TaskId {
        id.parse().unwrap()
    }

    /// A session of the day in January, whose tasks were completed at noon.
    fn session(day: u32, tasks: &[(&str, Option<&str>, bool)], baselines: &[Value]) -> Document {
        let taken = |origin: &str| baselines.iter().find(|baseline| baseline["origin"] == origin);
        let tasks: serde_json::Map<String, Value> = tasks
            .iter()
            .map(|(id, version, was_there)| {
                let mut result = json!({});
                if let Some(version) = version {
                    result["version"] = json!(version);
                }
                if *was_there {
                    result["already_installed"] = json!(true);
                }
                let record = json!({
                    "task_id": id, "status": "completed", "result": result,
                    "completed_at": format!("2026-01-{day:02}T12:00:00.000Z"),
                });
                ((*id).to_owned(), record)
            })
            .collect();
        serde_json::from_value(json!({
            "meta": {
                "id": format!("prov-202601{day:02}-110000-aaaa"),
                "created_at": format!("2026-01-{day:02}T11:00:00.000Z"),
                "updated_at": format!("2026-01-{day:02}T13:00:00.000Z"),
                "status": "completed",
                "machine": {"hostname": "box", "os_version": "12", "arch": "x86_64"},
            },
            "phase": {"current": "completion", "history": []},
            "tasks": tasks,
            "baseline": taken("completion"),
            "adopted": taken("adopted"),
        }))
        .unwrap()
    }

    fn baseline(day: u32, origin: &str, present: &[(&str, &str)], absent: &[&str]) -> Value {
        let present: serde_json::Map<String, Value> = present
            .iter()
            .map(|(id, version)| ((*id).to_owned(), json!({"version": version})))
            .collect();
        json!({
            "recorded_at": format!("2026-01-{day:02}T12:30:00.000Z"), "agent": "user",
            "origin": origin, "present": present, "absent": absent,
        })
    }

    fn now(found: &[(&str, &str)]) -> Presence {
        let mut presence = Presence::default();
        for (id, version) in found {
            let found = Found { version: Some((*version).into()), path: None };
            presence.add(task(id), found);
        }
        presence
    }

    fn drift(sessions: &[Document], found: &[(&str, &str)], looked_for: &[&str]) -> Drift {
        let looked_for: HashSet<_> = looked_for.iter().map(|id| task(id)).collect();
        Drift::between(&Expectations::of(sessions), &now(found), &looked_for)
    }

    fn names<T>(list: &[T], id: impl Fn(&T) -> &TaskId) -> Vec<&str> {
        list.iter().map(|one| id(one).as_str()).collect()
    }

    #[test]
    fn every_tool_is_in_the_list_it_belongs_to() {
        let tasks = [("a", Some("1"), false), ("b", Some("1"), false), ("c", Some("1"), true)];
        let before = baseline(1, "completion", &[("e", "1")], &["d", "f"]);
        let sessions = [session(1, &tasks, &[before])];
        let all = ["a", "b", "c", "d", "e", "f", "g"];
        // `g` was not looked for when the baseline was taken: nobody knows when it came.
        let found = [("a", "1"), ("b", "2"), ("d", "5"), ("e", "9"), ("g", "1")];
        let drift = drift(&sessions, &found, &all);
        assert_eq!(names(&drift.still_installed, |one| &one.task_id), ["a"]);
        assert_eq!(names(&drift.removed, |one| &one.task_id), ["c"]);
        assert_eq!(drift.removed[0].since.how, Since::Found);
        assert_eq!(names(&drift.added_outside, |one| &one.task_id), ["d"]);
        let [changed] = &drift.version_changed[..] else { panic!("{drift:?}") };
        assert_eq!((changed.from.as_str(), changed.to.as_str()), ("1", "2"));
        assert_eq!(changed.since.session_id.as_str(), "prov-20260101-110000-aaaa");
        assert_eq!(drift.count(), 3);
    }

    #[test]
    fn a_later_session_knows_better_and_who_installed_it_is_kept() {
        let sessions = [
            session(2, &[("a", Some("2"), true)], &[]),
            session(1, &[("a", Some("1"), false)], &[]),
        ];
        let drift = drift(&sessions, &[("a", "2")], &["a"]);
        let [kept] = &drift.still_installed[..] else { panic!("{drift:?}") };
        assert_eq!(kept.since.session_id.as_str(), "prov-20260102-110000-aaaa");
        assert_eq!(kept.since.brought_by.as_ref().unwrap().as_str(), "prov-20260101-110000-aaaa");
    }

    #[test]
    fn what_was_adopted_is_expected_and_what_was_gone_then_is_not() {
        let tasks = [("a", Some("1"), false), ("b", Some("1"), false)];
        let adopted = baseline(3, "adopted", &[("a", "2"), ("d", "1")], &["b"]);
        let sessions = [session(1, &tasks, &[adopted])];
        let all = ["a", "b", "d"];
        assert_eq!(drift(&sessions, &[("a", "2"), ("d", "1")], &all).count(), 0);
        let later = drift(&sessions, &[("a", "1"), ("b", "1")], &all);
        assert_eq!(names(&later.version_changed, |one| &one.task_id), ["a"]);
        assert_eq!(names(&later.removed, |one| &one.task_id), ["d"]);
        assert_eq!(names(&later.added_outside, |one| &one.task_id), ["b"]);
    }

    #[test]
    fn what_a_session_brings_after_an_adoption_is_expected_again() {
        let adopted = baseline(3, "adopted", &[], &["b"]);
        let sessions = [
            session(1, &[("b", Some("1"), false)], &[adopted]),
            session(4, &[("b", Some("2"), false)], &[]),
        ];
        assert_eq!(drift(&sessions, &[("b", "2")], &["b"]).count(), 0);
        assert_eq!(names(&drift(&sessions, &[], &["b"]).removed, |one| &one.task_id), ["b"]);
    }

    #[test]
    fn what_was_adopted_counts_when_the_session_that_keeps_it_is_completed_later() {
        let adopted = baseline(3, "adopted", &[("a", "2")], &["d"]);
        let complete = baseline(5, "completion", &[("a", "2")], &[]);
        let sessions = [session(1, &[("a", Some("1"), false)], &[adopted, complete])];
        // `d` was there when the session was completed.
        assert_eq!(drift(&sessions, &[("a", "2"), ("d", "1")], &["a", "d"]).count(), 0);
    }

    #[test]
    fn what_a_session_began_to_install_did_not_come_without_it() {
        let mut failed = session(2, &[], &[]);
        let command = json!({
            "command": "install d", "executed_at": "2026-01-02T12:00:00.000Z", "exit_code": 0,
            "status": "success", "retry_count": 0,
        });
        let record = json!({"task_id": "d", "status": "failed", "commands": [command]});
        failed.tasks.insert(task("d"), serde_json::from_value(record).unwrap());
        let before = session(1, &[], &[baseline(1, "completion", &[], &["d"])]);
        assert_eq!(drift(std::slice::from_ref(&before), &[("d", "1")], &["d"]).count(), 1);
        assert_eq!(drift(&[before, failed], &[("d", "1")], &["d"]).count(), 0);
    }

    #[test]
    fn who_looked_for_a_tool_is_known_after_an_adoption() {
        let adopted = baseline(3, "adopted", &[("a", "2"), ("z", "1")], &[]);
        let sessions = [
            session(1, &[("a", Some("1"), true)], &[]),
            session(2, &[("b", Some("1"), false)], &[adopted]),
        ];
        let tools = Expectations::of(&sessions).tools;
        let by = |id: &str| tools[&task(id)].looked_for_by.as_ref().map(ToString::to_string);
        assert_eq!(by("a").as_deref(), Some("prov-20260101-110000-aaaa"));
        assert_eq!(by("z"), None);
    }

    #[test]
    fn what_did_not_answer_is_neither_there_nor_gone() {
        let sessions = [session(1, &[("a", Some("1"), false)], &[])];
        let mut presence = Presence::default();
        presence.unanswered.push((task("a"), "no answer".into()));
        let looked_for = HashSet::from([task("a")]);
        let drift = Drift::between(&Expectations::of(&sessions), &presence, &looked_for);
        assert_eq!(drift.unknown, [task("a")]);
        assert_eq!(drift.count(), 0);
    }

    #[test]
    fn without_a_version_nothing_has_changed() {
        let sessions = [session(1, &[("a", None, false), ("b", Some("1"), false)], &[])];
        let mut presence = now(&[("a", "2")]);
        presence.add(task("b"), Found::default());
        let looked_for = ["a", "b"].map(task).into();
        let drift = Drift::between(&Expectations::of(&sessions), &presence, &looked_for);
        assert_eq!((drift.still_installed.len(), drift.count()), (2, 0));
    }

    #[test]
    fn of_what_was_not_looked_for_nothing_is_said() {
        let tasks = [("a", Some("1"), false)];
        let sessions = [session(1, &tasks, &[baseline(1, "completion", &[], &["d"])])];
        assert_eq!(drift(&sessions, &[("d", "1")], &[]), Drift::default());
    }
}
