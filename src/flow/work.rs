//! Decisions of the execution: what may run, what is done, what a version is.

use std::{fmt::Display, sync::LazyLock};

use regex::Regex;

use super::{diagnose, screen::without_orders};
use crate::model::{
    AttemptOutcome, DeferReason, Document, ErrorClass, Plan, PlanTask, TaskId, TaskRecord,
    TaskStatus, Verification,
};

/// The dependency that keeps a task from being done: one that failed or was passed by.
pub fn missing_dependency<'a>(session: &Document, task: &'a PlanTask) -> Option<&'a TaskId> {
    task.depends_on.iter().find(|needed| {
        let record = session.tasks.get(*needed);
        record.is_some_and(|task| matches!(task.status, TaskStatus::Failed | TaskStatus::Skipped))
    })
}

/// Tasks that nothing can become of, each with what it needs and is not there: where nothing else is
/// left to do. Otherwise none: what can still be done may be gone on with.
pub fn left_without(session: &Document, plan: &Plan) -> Vec<(TaskId, TaskId)> {
    let status = |id: &TaskId| session.tasks.get(id).map_or(TaskStatus::Pending, |t| t.status);
    let mut lost: Vec<(TaskId, TaskId)> = Vec::new();
    for task in &plan.tasks {
        if status(&task.id).is_settled() || status(&task.id) == TaskStatus::Failed {
            continue;
        }
        let is_lost = |id: &TaskId| lost.iter().any(|(task, _)| task == id);
        let is_missing = |id: &&TaskId| {
            matches!(status(id), TaskStatus::Failed | TaskStatus::Skipped) || is_lost(id)
        };
        match task.depends_on.iter().find(is_missing) {
            Some(missing) if status(&task.id) == TaskStatus::Pending => {
                lost.push((task.id.clone(), missing.clone()));
            }
            _ => return Vec::new(),
        }
    }
    lost
}

/// The tasks that were passed by because of what `retried` are, directly or not.
pub fn waiting_for(session: &Document, retried: &[TaskId]) -> Vec<TaskId> {
    let mut roots = retried.to_vec();
    let mut found = Vec::new();
    // Plan order: whoever waits stands behind what it waits for.
    for task in session.tasks.values() {
        if let Some(root) = &task.skipped_because_of
            && roots.contains(root)
        {
            roots.push(task.task_id.clone());
            found.push(task.task_id.clone());
        }
    }
    found
}

/// Whether any of a task's own commands was tried.
pub fn has_begun(task: &TaskRecord) -> bool {
    !task.in_flight.is_empty()
        || task.commands().iter().any(|command| command.command_index.is_some())
}

/// Whether any command of a session was ever started.
pub fn anything_begun(session: &Document) -> bool {
    session.tasks.values().any(|task| has_begun(task))
}

/// Whether the last thing known of a command is that nobody knows how it ended.
pub fn is_indeterminate(task: &TaskRecord, index: usize) -> bool {
    task.command(index)
        .is_some_and(|command| command.outcome == Some(AttemptOutcome::Indeterminate))
}

/// Whether what a verification printed is what it should; otherwise what is wrong.
pub fn judge(verification: &Verification, output: &str) -> Result<(), String> {
    if let Some(expected) = &verification.expected_output
        && output.trim() != expected.trim()
    {
        return Err(format!("its output is not `{}`", expected.trim()));
    }
    if let Some(pattern) = &verification.expected_pattern
        && !Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(output))
    {
        return Err(format!("its output does not match `{pattern}`"));
    }
    Ok(())
}

/// What is left of a verification that was not content.
#[derive(Clone, Copy, Debug)]
pub enum Unsure<'o> {
    /// It did not answer in time.
    Silent,
    Said {
        code: i32,
        output: &'o [u8],
    },
}

/// Why a verification could not tell, where that is all that is known: a service that is not up yet
/// says nothing about what was installed. `None` if it could.
pub fn deferral(verification: &Verification, unsure: Unsure<'_>) -> Option<DeferReason> {
    let (code, output) = match unsure {
        Unsure::Silent => return Some(DeferReason::Timeout),
        Unsure::Said { code, output } => (code, output),
    };
    if code != 0 {
        let class = diagnose(AttemptOutcome::Exited, Some(code), output).class;
        let is_away = matches!(class, ErrorClass::Network | ErrorClass::Dns);
        return is_away.then_some(DeferReason::ServiceUnavailable);
    }
    let expects = verification.expected_pattern.is_some()
        || verification.expected_output.as_ref().is_some_and(|text| !text.trim().is_empty());
    (expects && output.trim_ascii().is_empty()).then_some(DeferReason::NoResults)
}

/// The version in what a version command printed: the first that looks like one, else the first
/// line.
pub fn version_in(output: &str) -> Option<String> {
    static VERSION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[0-9]+(\.[0-9]+)+([-+~.][0-9A-Za-z]+)*").ok());
    // Some say who they are first. What stands further down is about something else.
    const LOOKED_AT: usize = 20;
    let lines = output.lines().map(plain).filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.take(LOOKED_AT).collect();
    let version = VERSION.as_ref();
    let found = lines.iter().find_map(|line| version.and_then(|version| version.find(line)));
    match found {
        Some(found) => Some(found.as_str().to_owned()),
        None => lines.first().map(|line| line.chars().take(100).collect()),
    }
}

/// `1 line`, `2 lines`.
pub fn count(number: impl TryInto<u64> + Copy + Display, noun: &str) -> String {
    let is_one = number.try_into().is_ok_and(|number| number == 1);
    if is_one { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The most characters of a line that are worth repeating.
const LONGEST_SUMMARY: usize = 300;

/// The last line of some output that says anything, as it would look on paper.
pub fn last_line(output: &[u8]) -> Option<String> {
    let lines = output.rsplit(|byte| matches!(byte, b'\n' | b'\r'));
    lines.map(|line| plain(&String::from_utf8_lossy(line))).find(|line| !line.is_empty())
}

/// Without colours and other orders to a terminal.
fn plain(line: &str) -> String {
    let line = without_orders(line);
    let shown: String = line.chars().filter(|c| !c.is_control()).collect();
    shown.trim().chars().take(LONGEST_SUMMARY).collect()
}

#[cfg(test)]
mod tests {
    use super::{last_line, version_in};

    #[test]
    fn the_last_line_is_what_a_person_would_have_read_last() {
        for (output, line) in [
            (&b"one\ntwo\n\n"[..], Some("two")),
            (b"10%\r50%\r100%\r\n", Some("100%")),
            (b"\x1b[1;31merror:\x1b[0m no \x1b]0;title\x07space\n", Some("error: no space")),
            (b"\xff\xfe", Some("\u{fffd}\u{fffd}")),
            (b"\n \n", None),
        ] {
            assert_eq!(last_line(output).as_deref(), line);
        }
    }

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, version) in [
            ("ShellCheck - a tool\nversion: 0.9.0\n", Some("0.9.0")),
            ("\u{1b}[1mtool\u{1b}[0m \u{1b}[32m3.1\u{1b}[0m\n", Some("3.1")),
            ("git version 2.43.0\n", Some("2.43.0")),
            ("v22.1.0", Some("22.1.0")),
            ("rustc 1.95.0-nightly (abc 2026-01-01)", Some("1.95.0-nightly")),
            ("\nstable\nmore", Some("stable")),
            ("", None),
        ] {
            assert_eq!(version_in(said).as_deref(), version);
        }
    }
}
