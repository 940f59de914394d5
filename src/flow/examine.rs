//! Whether what a document says can be true: field by field, with what to do about it.
//!
//! Events are checked before they are recorded, so a session with a journal is right by its own
//! rules. These are about what the journal cannot know, the files and the machine around it, and
//! about documents that never had a journal.

use std::fmt;

use crate::model::{
    CommandStatus, Document, Machine, Phase, Plan, ProbeKind, ResumePoint, Seconds, SessionStatus,
    TaskId, TaskRecord, TaskStatus, Timestamp,
};

/// Something in a document that cannot be as it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `tasks.git.commands[0].log`
    pub place: String,
    pub message: String,
    /// The way on.
    pub hint: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// What is known about the surroundings of a document.
#[derive(Debug)]
pub struct Facts<'a> {
    pub plan: Option<&'a Plan>,
    /// The machine we are on.
    pub machine: &'a Machine,
    /// Files that are named and not there.
    pub missing: Vec<MissingFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFile {
    pub place: String,
    pub path: String,
    /// Why it could not even be looked for.
    pub error: Option<String>,
    pub hint: Option<String>,
}

/// How many missing files are named one by one.
const NAMED: usize = 3;

/// Everything in a document that cannot be as it says.
pub fn examine(document: &Document, facts: Facts<'_>) -> Vec<Finding> {
    let mut examiner = Examiner { document, findings: Vec::new() };
    examiner.machine(facts.machine);
    examiner.times();
    examiner.phases();
    for (key, task) in &document.tasks {
        examiner.task(key, task, facts.plan);
    }
    examiner.resume_points();
    examiner.files(facts.missing);
    examiner.findings
}

struct Examiner<'a> {
    document: &'a Document,
    findings: Vec<Finding>,
}

impl Examiner<'_> {
    fn find(&mut self, place: impl Into<String>, message: impl Into<String>) {
        let finding = Finding { place: place.into(), message: message.into(), hint: None };
        self.findings.push(finding);
    }

    fn find_with_hint(
        &mut self,
        place: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.find(place, message);
        if let Some(last) = self.findings.last_mut() {
            last.hint = Some(hint.into());
        }
    }

    fn machine(&mut self, ours: &Machine) {
        let theirs = &self.document.meta.machine;
        let message = match (&theirs.machine_id, &ours.machine_id) {
            (Some(theirs_id), Some(ours_id)) if theirs_id == ours_id => return,
            (Some(_), Some(_)) => {
                format!("this is the session of another machine (`{}`)", theirs.hostname)
            }
            _ if theirs.hostname == ours.hostname || theirs.hostname == "unknown" => return,
            _ => {
                format!("it was recorded on `{}`, and this is `{}`", theirs.hostname, ours.hostname)
            }
        };
        let hint = "go on with it where it began, or run its plan here as a new session";
        self.find_with_hint("meta.machine", message, hint);
    }

    fn times(&mut self) {
        let meta = &self.document.meta;
        self.ordered(
            "meta",
            ("created_at", Some(&meta.created_at)),
            ("updated_at", Some(&meta.updated_at)),
        );
        for (phase, timing) in &self.document.phase_timing {
            let place = format!("phase_timing.{phase}");
            let completed = timing.completed_at.as_ref();
            self.ordered(
                &place,
                ("started_at", Some(&timing.started_at)),
                ("completed_at", completed),
            );
            self.not_negative(&place, "duration_seconds", timing.duration_seconds.as_ref());
            self.not_negative(&place, "paused_seconds", timing.paused_seconds.as_ref());
        }
        if let Some(lifecycle) = &self.document.lifecycle {
            let total = lifecycle.total_duration_seconds.as_ref();
            self.not_negative("lifecycle", "total_duration_seconds", total);
        }
    }

    fn ordered(
        &mut self,
        place: &str,
        first: (&str, Option<&Timestamp>),
        then: (&str, Option<&Timestamp>),
    ) {
        if let ((first, Some(early)), (then, Some(late))) = (first, then)
            && late < early
        {
            self.find(format!("{place}.{then}"), format!("{late} is before `{first}`, {early}"));
        }
    }

    fn not_negative(&mut self, place: &str, key: &str, seconds: Option<&Seconds>) {
        if seconds.is_some_and(Seconds::is_negative) {
            self.find(format!("{place}.{key}"), "a length of time cannot be negative");
        }
    }

    fn phases(&mut self) {
        let document = self.document;
        let current = document.phase.current;
        let history = &document.phase.history;
        for (at, pair) in history.windows(2).enumerate() {
            let place = format!("phase.history[{}]", at + 1);
            let (before, after) = (pair[0].phase, pair[1].phase);
            if after <= before {
                self.find(&place, format!("{after} cannot come behind {before}"));
            }
            self.ordered(
                &place,
                ("completed_at of the one before", Some(&pair[0].completed_at)),
                ("completed_at", Some(&pair[1].completed_at)),
            );
        }
        // Every walk begins with it, and old documents do not say so.
        let passed = Phase::ALL.into_iter().filter(|p| *p < current && *p > Phase::SessionCheck);
        for phase in passed {
            if !history.iter().any(|entry| entry.phase == phase) {
                let message = format!("{current} comes after {phase}, which was not completed");
                self.find("phase.current", message);
            }
        }
        if current >= Phase::Execute && document.plan.approved_at.is_none() {
            self.find("plan.approved_at", format!("missing, and the session is in {current}"));
        }
        if document.meta.status == SessionStatus::Completed {
            if current != Phase::Completion {
                self.find("meta.status", format!("completed, and the phase is {current}"));
            }
            let open = document.tasks.values().find(|task| !task.status.is_settled());
            if let Some(task) = open {
                let message =
                    format!("completed, and `{}` is {}", task.task_id, task.status.name());
                self.find("meta.status", message);
            }
        }
    }

    fn task(&mut self, key: &TaskId, task: &TaskRecord, plan: Option<&Plan>) {
        let place = format!("tasks.{key}");
        if task.task_id != *key {
            self.find(format!("{place}.task_id"), format!("`{}` is another task", task.task_id));
        }
        let started = ("started_at", task.started_at.as_ref());
        self.ordered(&place, started, ("completed_at", task.completed_at.as_ref()));
        self.ordered(&place, started, ("failed_at", task.failed_at.as_ref()));
        if task.status == TaskStatus::Completed
            // What another program did was recorded by its own rules.
            && (self.document.meta.imported_from.is_none() || task.planned_commands.is_none())
            && let Some(message) = without_attempts(task)
        {
            self.find_with_hint(
                format!("{place}.status"),
                message,
                "look whether it is there; a new session of its plan runs it again",
            );
        }
        let planned = plan.map(|plan| plan.task(key));
        match planned {
            // What was settled before the session was revised stays on record.
            Some(None)
                if task.status.is_settled() && !self.document.revision_history.is_empty() => {}
            Some(None) => self.find(&place, "the plan has no such task"),
            Some(Some(planned)) if task.status == TaskStatus::Completed => {
                for needed in &planned.depends_on {
                    let status = self.document.tasks.get(needed).map(|task| task.status);
                    if let Some(status) = status.filter(|status| !status.is_settled()) {
                        let status = status.name();
                        self.find(
                            format!("{place}.status"),
                            format!("completed, though `{needed}`, which it needs, is {status}"),
                        );
                    }
                }
            }
            _ => {}
        }
        for (at, command) in task.commands().iter().enumerate() {
            if let (Some(index), Some(planned)) = (command.command_index, task.planned_commands)
                && index >= planned
            {
                self.find(
                    format!("{place}.commands[{at}].command_index"),
                    format!("{index}, and the task has {}", super::count(planned, "command")),
                );
            }
        }
    }

    fn resume_points(&mut self) {
        let document = self.document;
        if let Some(point) = &document.resume_point {
            self.resume_point("resume_point", point);
        }
        let others = document.resume_points.iter().enumerate();
        for (at, point) in
            others.filter(|(_, point)| Some(*point) != document.resume_point.as_ref())
        {
            self.resume_point(&format!("resume_points[{at}]"), point);
        }
    }

    fn resume_point(&mut self, place: &str, point: &ResumePoint) {
        let id = &self.document.meta.id;
        let by_hand =
            format!("`provision recover {id} --level 3 --resume-at TASK[:N]` sets another");
        let Some(task) = self.document.tasks.get(&point.task_id) else {
            let message = format!("the session has no task `{}`", point.task_id);
            return self.find_with_hint(format!("{place}.task_id"), message, by_hand);
        };
        if let Some(planned) = task.planned_commands
            && point.command_index > planned
        {
            let (index, task) = (point.command_index, &point.task_id);
            let commands = super::count(planned, "command");
            let message = format!("{index}, and `{task}` has {commands}");
            self.find_with_hint(format!("{place}.command_index"), message, by_hand);
        }
    }

    fn files(&mut self, missing: Vec<MissingFile>) {
        let more = missing.len().saturating_sub(NAMED);
        for file in missing.into_iter().take(NAMED) {
            let message = match file.error {
                None => format!("`{}` is not there", file.path),
                Some(error) => format!("`{}` cannot be looked for: {error}", file.path),
            };
            self.find(file.place, message);
            if let Some(last) = self.findings.last_mut() {
                last.hint = file.hint;
            }
        }
        if more > 0 {
            let what = super::count(more, "other file");
            self.find("files", format!("{what} that the session names cannot be found"));
        }
    }
}

/// Why a completed task cannot be: nothing that was executed or found shows that it is done.
fn without_attempts(task: &TaskRecord) -> Option<String> {
    let commands = task.commands();
    let assumed = task.result.as_ref().is_some_and(|result| result.contains_key("assumed"));
    let found = commands.iter().any(|command| {
        matches!(command.kind, Some(ProbeKind::Detection | ProbeKind::Verification))
            && command.status == CommandStatus::Success
    });
    if assumed || found {
        return None;
    }
    let Some(planned) = task.planned_commands else {
        let bare = commands.is_empty() && task.result.is_none();
        return bare.then(|| "completed, and no command of it was recorded".into());
    };
    let done = |index: &usize| {
        task.command(*index).is_some_and(|command| command.status != CommandStatus::Failed)
    };
    let open = (0..planned).find(|index| !done(index))?;
    Some(format!("completed, and command {} of {planned} was not", open + 1))
}
