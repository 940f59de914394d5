//! A run as plain lines, for a terminal or a file.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
    time::Duration,
};

use super::{
    doctor::repair_hint,
    durations::took,
    note_text, plural,
    text::{and_list, comma_list},
    visible,
};
use crate::{
    engine::{Ended, Told},
    model::{
        AttemptOutcome, CommandFinished, CommandVerdict, Digest, Event, EventKind, ResumeAction,
        SessionStatus, TaskId,
    },
};

/// Turns what a run tells into lines. Lines that are set in belong to the task that was named last:
/// where several run at once, one that has been named is named again before it goes on.
#[derive(Debug, Default)]
pub struct Progress {
    tasks: usize,
    begun: usize,
    /// The tasks that have got their number.
    counted: HashSet<TaskId>,
    /// The task that was named last.
    named: Option<TaskId>,
    /// The task that lines were about before any was named.
    unnamed: Option<TaskId>,
    /// Output that has not come to the end of its line.
    unfinished: HashMap<TaskId, Vec<u8>>,
}

impl Progress {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn lines(&mut self, told: &Told<'_>) -> String {
        let mut text = String::new();
        match told {
            Told::Event(event) => self.event(event, &mut text),
            Told::Begins { settled, plan } => {
                (self.begun, self.tasks) = (settled.len(), plan.tasks.len());
                self.counted.clear();
            }
            Told::Resumes(context) => text.push_str(&super::resuming_text(context)),
            Told::TakenUp { task_id, command } => {
                self.begin(task_id, &mut text);
                let _ = writeln!(text, "  $ {} (begun by an earlier run)", visible(command));
            }
            Told::Output { task_id, skipped, bytes } => {
                let lines = self.output(task_id, *skipped, bytes);
                self.go_on(task_id, &lines, &mut text);
            }
            Told::Tick | Told::Waits { .. } | Told::TerminalLent(_) => {}
            Told::Plan(plan) => text.push_str(&super::plan_text(plan, true)),
            Told::Repaired(ended) => text.push_str(&goodbye(ended)),
            Told::Note(note) => text.push_str(&note_text(note)),
        }
        text
    }

    /// The lines of a task's output that have come to their end.
    fn output(&mut self, task_id: &TaskId, skipped: u64, bytes: &[u8]) -> String {
        let mut lines = String::new();
        if skipped > 0 {
            lines = self.end_line(task_id);
            let _ = writeln!(lines, "  … {skipped} bytes of output not shown");
        }
        let unfinished = self.unfinished.entry(task_id.clone()).or_default();
        unfinished.extend_from_slice(bytes);
        let Some(end) = unfinished.iter().rposition(|byte| *byte == b'\n') else {
            // A line without an end is not waited for for ever.
            if unfinished.len() > LONGEST_LINE {
                lines += &self.end_line(task_id);
            }
            return lines;
        };
        let rest = unfinished.split_off(end + 1);
        let whole = std::mem::replace(unfinished, rest);
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            output_line(line, &mut lines);
        }
        lines
    }

    fn end_line(&mut self, task_id: &TaskId) -> String {
        let mut line = String::new();
        if let Some(rest) = self.unfinished.remove(task_id).filter(|rest| !rest.is_empty()) {
            output_line(&rest, &mut line);
        }
        line
    }

    /// Names a task when something of it begins in this run.
    fn begin(&mut self, task_id: &TaskId, text: &mut String) {
        if self.named.as_ref() != Some(task_id) {
            self.name(task_id, text);
        }
    }

    /// Says what is new of a task, under its name.
    fn go_on(&mut self, task_id: &TaskId, lines: &str, text: &mut String) {
        if lines.is_empty() {
            return;
        }
        match self.named.as_ref().or(self.unnamed.as_ref()) {
            // Before the run begins, what is said is about no task in particular.
            None if self.tasks == 0 => {}
            None => self.unnamed = Some(task_id.clone()),
            Some(known) if known == task_id => {}
            Some(_) => self.name(task_id, text),
        }
        text.push_str(lines);
    }

    /// The first time with its number, if there are as many as was said.
    fn name(&mut self, task_id: &TaskId, text: &mut String) {
        self.named = Some(task_id.clone());
        let is_new = self.begun < self.tasks && self.counted.insert(task_id.clone());
        let _ = if is_new {
            self.begun += 1;
            writeln!(text, "[{}/{}] {task_id}", self.begun, self.tasks)
        } else {
            // How many there are is not known either while something is decided before the run.
            writeln!(text, "{task_id}")
        };
    }

    fn event(&mut self, event: &Event, text: &mut String) {
        let _ = match &event.kind {
            EventKind::SessionCreated(created) => writeln!(text, "session {}", created.session_id),
            EventKind::SessionResumed {} => writeln!(text, "resumed"),
            EventKind::PlanPresented { tasks, .. } => {
                writeln!(text, "plan of {}", plural(tasks.len(), "task"))
            }
            EventKind::TaskStarted { task_id } => {
                self.begin(task_id, text);
                Ok(())
            }
            EventKind::CommandStarted(started) => {
                self.begin(&started.task_id, text);
                let again = if started.attempt > 1 {
                    format!(" (try {})", started.attempt)
                } else {
                    String::new()
                };
                let served = if started.task_ids.len() > 1 {
                    format!(" (for {})", and_list(&started.task_ids))
                } else {
                    String::new()
                };
                let lines: Vec<_> = started.command.trim_end().lines().map(visible).collect();
                writeln!(text, "  $ {}{again}{served}", lines.join("\n    "))
            }
            EventKind::TaskSkipped { task_id, reason, .. } => {
                self.begin(task_id, text);
                writeln!(text, "  skipped: {}", visible(reason))
            }
            EventKind::CommandFinished(finished) => {
                let mut lines = self.end_line(&finished.task_id);
                let written = finished_line(finished, &mut lines);
                self.go_on(&finished.task_id, &lines, text);
                written
            }
            EventKind::TaskCompleted { task_id, result } => {
                let there = result.get("already_installed").is_some_and(|there| there == true);
                let what = if there { "already there" } else { "done" };
                let lines = match result.get("version").and_then(|version| version.as_str()) {
                    Some(version) => format!("  {what}: {}\n", visible(version)),
                    None => format!("  {what}\n"),
                };
                self.go_on(task_id, &lines, text);
                Ok(())
            }
            EventKind::TaskFailed { task_id, error, failure_context } => {
                let class = visible(&failure_context.error_type);
                let advice = visible(&failure_context.suggested_resolution);
                let lines = format!("  failed ({class}): {}\n  {advice}\n", visible(error));
                self.go_on(task_id, &lines, text);
                Ok(())
            }
            EventKind::ShellBlockWritten(written) if written.error.is_none() => {
                let what = if written.changed { "added to" } else { "is in" };
                let line = format!("  {what} {}\n", visible(&written.file));
                self.go_on(&written.task_id, &line, text);
                Ok(())
            }
            EventKind::TaskReset { task_id, reason } => {
                self.go_on(task_id, &format!("  {}\n", visible(reason)), text);
                Ok(())
            }
            _ => Ok(()),
        };
    }
}

const LONGEST_LINE: usize = 64 * 1024;

fn output_line(line: &[u8], text: &mut String) {
    let _ = writeln!(text, "  | {}", shown(line));
}

/// A line of output as a terminal would show it in the end, and that orders none about.
pub(super) fn shown(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches(['\n', '\r']);
    // A terminal would show what was written last over what it replaces.
    let shown = line.rsplit('\r').next().unwrap_or_default();
    safe_line(shown)
}

/// A line of output that orders no terminal about; tabs stay.
fn safe_line(line: &str) -> String {
    line.split('\t').map(visible).collect::<Vec<_>>().join("\t")
}

fn finished_line(finished: &CommandFinished, text: &mut String) -> std::fmt::Result {
    let took = took(Duration::from_millis(finished.duration_ms));
    let recovered = if finished.recovered { ", taken up from an earlier run" } else { "" };
    if finished.status == CommandVerdict::Success {
        writeln!(text, "  ok, {took}{recovered}")
    } else if finished.resume == Some(ResumeAction::Choose) && !finished.is_unknown() {
        // What becomes of its task is said next, and why.
        Ok(())
    } else {
        let error = finished.error.as_deref().unwrap_or("failed");
        if finished.is_unknown() {
            // How long it took is not known either.
            return writeln!(text, "  {}", visible(error));
        }
        writeln!(text, "  {} ({took}{recovered})", visible(error))
    }
}

/// What is left to say when a run is over.
pub fn goodbye(ended: &Ended) -> String {
    let id = &ended.session_id;
    let reason =
        ended.reason.as_deref().map_or_else(String::new, |why| format!(": {}", visible(why)));
    let place =
        ended.place.as_deref().map_or_else(String::new, |place| format!(" goes on at {place}"));
    match ended.status {
        SessionStatus::Completed => format!("completed: session {id}\n"),
        SessionStatus::Failed => format!(
            "failed{reason}\nhint: `provision logs {id}` shows the output; when it is mended: provision resume {id}\n{}",
            ended.troubles.iter().map(|trouble| repair_hint(trouble, id)).collect::<String>()
        ),
        SessionStatus::Paused | SessionStatus::InProgress if ended.unapproved.is_some() => {
            let digest = ended.unapproved.as_ref().map_or("", Digest::beginning);
            format!(
                "paused{reason}; nothing has been run\nhint: read what it would run, above; then: provision resume {id} --approve {digest}\nhint: or approve it now and run it later: provision approve {id} {digest}\n"
            )
        }
        SessionStatus::Paused | SessionStatus::InProgress if ended.undecided => format!(
            "paused{reason}\nhint: look at what it did, then: provision resume {id} --interrupted retry (or skip)\n"
        ),
        SessionStatus::Paused | SessionStatus::InProgress if !ended.troubles.is_empty() => {
            let hints = ended.troubles.iter().map(|trouble| {
                let repair = repair_hint(trouble, id);
                format!("hint: {}; then: provision resume {id}\n{repair}", visible(&trouble.advice))
            });
            format!("paused{reason}\n{}", hints.collect::<String>())
        }
        SessionStatus::Paused | SessionStatus::InProgress => {
            format!("paused{reason}\nhint: provision resume {id}{place}\n")
        }
    }
}

/// The line above the output of an attempt.
pub fn log_header(
    task_ids: &[TaskId],
    command: &str,
    outcome: Option<AttemptOutcome>,
    exit_code: Option<i32>,
    signal: Option<i32>,
) -> String {
    let ended = match (outcome, exit_code, signal) {
        (None, ..) => "not recorded how it ended".into(),
        (Some(AttemptOutcome::Indeterminate), ..) => "nobody knows how it ended".into(),
        (Some(AttemptOutcome::TimedOut), ..) => "timed out".into(),
        (Some(AttemptOutcome::NotStarted), ..) => "could not be started".into(),
        (_, Some(code), _) => format!("exit code {code}"),
        (_, _, Some(signal)) => format!("signal {signal}"),
        _ => "ended".into(),
    };
    format!("== {} $ {} ({ended})\n", comma_list(task_ids), visible(command))
}

/// Output that orders no terminal about, with a word about what is missing before it.
pub fn log_text(bytes: &[u8], left_out: u64) -> String {
    let mut text = String::new();
    if left_out > 0 {
        let _ = writeln!(text, "… {left_out} bytes were not kept");
    }
    for line in String::from_utf8_lossy(bytes).lines() {
        let _ = writeln!(text, "{}", safe_line(line.trim_end_matches('\r')));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use indexmap::IndexMap;
    use serde_json::Map;

    use super::Progress;
    use crate::{
        engine::Told,
        model::{
            Agent, AttemptOutcome, CommandFinished, CommandStarted, CommandVerdict, Event,
            EventKind, Plan, PlanFormat, PlanTask, TaskId, Timestamp,
        },
    };

    fn id(name: &str) -> TaskId {
        name.parse().unwrap()
    }

    /// What is said of a run of so many tasks.
    struct Talk {
        progress: Progress,
        said: String,
    }

    impl Talk {
        fn of(total: usize) -> Self {
            let mut talk = Self { progress: Progress::new(), said: String::new() };
            let tasks = (0..total).map(|n| PlanTask::new(id(&format!("task-{n}")))).collect();
            let (format, user_data) = (PlanFormat::V1, IndexMap::new());
            let plan = &Plan { format, digest: None, profile: None, user_data, tasks };
            talk.tell(&Told::Begins { settled: &HashSet::new(), plan });
            talk
        }

        fn tell(&mut self, told: &Told<'_>) -> &mut Self {
            self.said += &self.progress.lines(told);
            self
        }

        fn event(&mut self, kind: EventKind) -> &mut Self {
            let chain = "0".repeat(64).parse().unwrap();
            let timestamp = Timestamp::clamped(0);
            self.tell(&Told::Event(&Event { seq: 1, timestamp, batch: None, kind, chain, end: 0 }))
        }

        fn begins(&mut self, task: &str) -> &mut Self {
            self.event(EventKind::TaskStarted { task_id: id(task) })
        }

        fn runs(&mut self, tasks: &[&str], command: &str) -> &mut Self {
            self.event(EventKind::CommandStarted(Box::new(CommandStarted {
                task_id: id(tasks[0]),
                task_ids: tasks.iter().map(|task| id(task)).collect(),
                command_index: 0,
                attempt: 1,
                command: command.into(),
                arguments: Vec::new(),
                agent: Agent::user(),
                description: None,
                user_choice: None,
                idempotent: true,
                digest: "0".repeat(64).parse().unwrap(),
                cookie: String::new(),
                boot_id: String::new(),
            })))
        }

        fn writes(&mut self, task: &str, bytes: &str) -> &mut Self {
            let (task_id, bytes) = (&id(task), bytes.as_bytes());
            self.tell(&Told::Output { task_id, skipped: 0, bytes })
        }

        fn ends(&mut self, task: &str) -> &mut Self {
            self.event(EventKind::CommandFinished(Box::new(CommandFinished {
                started_seq: 1,
                task_id: id(task),
                command: String::new(),
                arguments: Vec::new(),
                agent: Agent::user(),
                status: CommandVerdict::Success,
                outcome: AttemptOutcome::Exited,
                exit_code: Some(0),
                signal: None,
                duration_ms: 1500,
                error: None,
                output_summary: None,
                recovered: false,
                log: None,
                resume: None,
            })))
        }

        fn is_done(&mut self, task: &str) -> &mut Self {
            self.event(EventKind::TaskCompleted { task_id: id(task), result: Map::new() })
        }
    }

    #[test]
    fn one_after_the_other_each_is_named_once() {
        let mut talk = Talk::of(2);
        talk.begins("a").runs(&["a"], "make a").writes("a", "half").writes("a", " a line\nand");
        talk.ends("a").is_done("a").begins("b").runs(&["b"], "make b").ends("b").is_done("b");
        assert_eq!(
            talk.said,
            "[1/2] a\n  $ make a\n  | half a line\n  | and\n  ok, 1.5 s\n  done\n\
             [2/2] b\n  $ make b\n  ok, 1.5 s\n  done\n"
        );
    }

    #[test]
    fn whoever_goes_on_after_another_is_named_again_and_counted_once() {
        let mut talk = Talk::of(2);
        talk.begins("a").runs(&["a"], "make a").begins("b").runs(&["b"], "make b");
        talk.writes("a", "one\n").writes("a", "two\n").writes("b", "three\n");
        talk.ends("b").ends("a").is_done("a").is_done("b");
        assert_eq!(
            talk.said,
            "[1/2] a\n  $ make a\n[2/2] b\n  $ make b\na\n  | one\n  | two\nb\n  | three\n  \
             ok, 1.5 s\na\n  ok, 1.5 s\n  done\nb\n  done\n"
        );
    }

    #[test]
    fn half_a_line_waits_for_its_own_end_and_names_nobody() {
        let mut talk = Talk::of(2);
        talk.begins("a").begins("b").writes("a", "left ").writes("b", "right ");
        talk.writes("a", "over\n").writes("b", "here").ends("b");
        assert_eq!(
            talk.said,
            "[1/2] a\n[2/2] b\na\n  | left over\nb\n  | right here\n  ok, 1.5 s\n"
        );
    }

    #[test]
    fn a_call_says_once_whom_it_serves() {
        let mut talk = Talk::of(3);
        talk.begins("a").begins("b").begins("c").runs(&["a", "b", "c"], "get a b c");
        talk.writes("a", "got them\n").ends("a").is_done("a").is_done("b").is_done("c");
        assert_eq!(
            talk.said,
            "[1/3] a\n[2/3] b\n[3/3] c\na\n  $ get a b c (for a, b and c)\n  | got them\n  \
             ok, 1.5 s\n  done\nb\n  done\nc\n  done\n"
        );
    }

    #[test]
    fn no_number_goes_past_the_total() {
        let mut talk = Talk::of(1);
        talk.begins("a").begins("b").begins("a");
        assert_eq!(talk.said, "[1/1] a\nb\na\n");
    }
}
