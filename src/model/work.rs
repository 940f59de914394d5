//! What the events of the work do: tasks, the attempts under way, and the commands behind them.
//! The rules have been checked: nothing here can fail.

use std::sync::Arc;

use serde_json::Value;

use super::{
    AttemptOutcome, CommandFinished, CommandRecord, CommandSkipped, CommandStarted, CommandStatus,
    CommandVerdict, Document, Extra, InFlight, PlannedTask, ProbeFinished, ResumeAction,
    ShellBlockRecord, ShellBlockWritten, TaskId, TaskRecord, TaskStatus, Timestamp,
};

impl Document {
    /// Plan order for all; what was executed before keeps its record.
    pub(super) fn plan_tasks(&mut self, planned: &[PlannedTask]) {
        let known = std::mem::take(&mut self.tasks);
        self.tasks = planned
            .iter()
            .map(|plan| {
                let mut task = known
                    .get(&plan.task_id)
                    .cloned()
                    .unwrap_or_else(|| Arc::new(TaskRecord::pending(plan.task_id.clone(), None)));
                Arc::make_mut(&mut task).planned_commands = Some(plan.commands);
                (plan.task_id.clone(), task)
            })
            .collect();
        // What was settled before another plan was made stays on record behind it.
        for (id, task) in known.into_iter().filter(|(_, task)| task.status.is_settled()) {
            self.tasks.entry(id).or_insert(task);
        }
        self.rebuild_resume_points();
    }

    pub(super) fn start_task(&mut self, task_id: &TaskId, at: &Timestamp) {
        let point = self.resume_point_of(task_id);
        let is_asked = point.is_some_and(|point| point.action == ResumeAction::Choose);
        let task = self.task_mut(task_id);
        // A question about a task that was never begun is not answered by beginning it.
        let stays = is_asked && task.status == TaskStatus::Pending;
        task.status = TaskStatus::InProgress;
        task.started_at.get_or_insert_with(|| at.clone());
        task.failed_at = None;
        task.failure_context = None;
        if !stays {
            let context = format!("{task_id} has started");
            self.place_resume_point(task_id, ResumeAction::Retry, context);
        }
    }

    pub(super) fn settle(&mut self, task_id: &TaskId, status: TaskStatus) -> &mut TaskRecord {
        self.task_mut(task_id).status = status;
        self.clear_resume_point(task_id);
        let task = self.task_mut(task_id);
        task.to_redo = false;
        task
    }

    pub(super) fn start_command(&mut self, started: &CommandStarted, seq: u64, at: &Timestamp) {
        for task_id in &started.task_ids {
            let task = self.task_mut(task_id);
            // Each task counts its own tries, whatever else the execution serves.
            let tried = task.command(started.command_index).and_then(|command| command.attempts);
            task.in_flight.push(InFlight {
                seq,
                task_ids: started.task_ids.clone(),
                attempt: tried.unwrap_or(0).saturating_add(1),
                command_index: started.command_index,
                command: started.command.clone(),
                description: started.description.clone(),
                user_choice: started.user_choice.clone(),
                idempotent: started.idempotent,
                started_at: at.clone(),
                cookie: started.cookie.clone(),
                boot_id: started.boot_id.clone(),
                extra: Extra::new(),
            });
            self.place_resume_point(task_id, ResumeAction::Choose, String::new());
        }
    }

    pub(super) fn finish_command(&mut self, finished: &CommandFinished) {
        let seq = finished.started_seq;
        let task = self.task_mut(&finished.task_id);
        let open = task.in_flight.iter().find(|open| open.seq == seq);
        let served = open.map(|open| open.task_ids.clone()).unwrap_or_default();
        for task_id in &served {
            let task = self.task_mut(task_id);
            let Some(at) = task.in_flight.iter().position(|open| open.seq == seq) else {
                continue;
            };
            let open = task.in_flight.remove(at);
            let number = open.command_index.saturating_add(1);
            put_command(task, finished_record(finished, open));
            let (action, context) = if finished.status == CommandVerdict::Success {
                (ResumeAction::Retry, format!("command {number} of {task_id} succeeded"))
            } else {
                let why = finished.error.as_deref().unwrap_or("it failed");
                let context = format!("command {number} of {task_id} failed: {why}");
                (finished.resume.unwrap_or(ResumeAction::Choose), context)
            };
            self.place_resume_point(task_id, action, context);
        }
    }

    pub(super) fn skip_command(&mut self, skipped: &CommandSkipped, at: &Timestamp) {
        let task_id = &skipped.task_id;
        let task = self.task_mut(task_id);
        let before = task.command(skipped.command_index).cloned();
        let record = CommandRecord {
            command: skipped.command.clone(),
            description: skipped.description.clone(),
            status: CommandStatus::Skipped,
            user_choice: skipped.user_choice.clone(),
            output_summary: Some(skipped.reason.clone()),
            executed_at: at.clone(),
            command_index: Some(skipped.command_index),
            // A command that failed before it was passed by keeps how it failed.
            ..before.unwrap_or_else(|| blank_command(at))
        };
        put_command(task, record);
        let number = skipped.command_index.saturating_add(1);
        let context = format!("command {number} of {task_id} was skipped");
        self.place_resume_point(task_id, ResumeAction::Retry, context);
    }

    /// Says where a task goes on: at the first command under way, whose end nobody has recorded;
    /// else at the first that neither succeeded nor was skipped, as `action` and `context` say.
    pub(super) fn place_resume_point(
        &mut self,
        task_id: &TaskId,
        action: ResumeAction,
        context: String,
    ) {
        let task = self.task_mut(task_id);
        let Some(open) = task.in_flight.iter().min_by_key(|open| open.command_index) else {
            // What is done stays done: the search goes on where the last one ended.
            let task = self.tasks.get(task_id).map(Arc::as_ref);
            let known = self.resume_point_of(task_id).map_or(0, |point| point.command_index);
            let index = task.map_or(0, |task| next_command(task, known));
            return self.set_resume_point(task_id, index, action, context);
        };
        let (index, number) = (open.command_index, open.command_index.saturating_add(1));
        let (action, end) = if open.idempotent {
            (ResumeAction::Retry, "it may run again")
        } else {
            (ResumeAction::Choose, "how it ended is not recorded")
        };
        let context = format!("command {number} of {task_id} was running: {end}");
        self.set_resume_point(task_id, index, action, context);
    }

    /// Says that what attempts wrote has been moved: what was in `attempts/` is in `place` now.
    pub fn relocate_logs(&mut self, place: &str) {
        for task in self.tasks.values_mut() {
            for command in Arc::make_mut(task).commands.iter_mut().flatten() {
                let seq = command.log.as_deref().and_then(|log| log.strip_prefix("attempts/"));
                if let Some(seq) = seq {
                    command.log = Some(format!("{place}{seq}"));
                }
            }
        }
    }

    /// The record of a task that the rules have found in the plan.
    pub(super) fn task_mut(&mut self, task_id: &TaskId) -> &mut TaskRecord {
        let task = self
            .tasks
            .entry(task_id.clone())
            .or_insert_with(|| Arc::new(TaskRecord::pending(task_id.clone(), None)));
        Arc::make_mut(task)
    }
}

/// The first command from `start` on that neither succeeded nor was skipped.
fn next_command(task: &TaskRecord, start: usize) -> usize {
    let done = |index: &usize| {
        task.command(*index).is_some_and(|command| command.status != CommandStatus::Failed)
    };
    let end = start.saturating_add(task.commands().len());
    (start..end).find(|index| !done(index)).unwrap_or(end)
}

fn finished_record(finished: &CommandFinished, open: InFlight) -> CommandRecord {
    CommandRecord {
        command: open.command,
        description: open.description,
        status: finished.status.into(),
        exit_code: finished.exit_code,
        error: finished.error.clone(),
        output_summary: finished.output_summary.clone(),
        user_choice: open.user_choice,
        retry_count: Some(open.attempt.saturating_sub(1)),
        executed_at: open.started_at,
        command_index: Some(open.command_index),
        kind: None,
        duration_ms: (finished.outcome != AttemptOutcome::Indeterminate)
            .then_some(finished.duration_ms),
        attempts: Some(open.attempt),
        recovered: finished.recovered,
        log: finished.log.clone(),
        outcome: Some(finished.outcome),
        task_ids: if open.task_ids.len() > 1 { open.task_ids } else { Vec::new() },
        extra: Extra::new(),
    }
}

pub(super) fn probed(probe: &ProbeFinished, at: &Timestamp) -> CommandRecord {
    CommandRecord {
        command: probe.command.clone(),
        status: probe.status.into(),
        exit_code: probe.exit_code,
        error: probe.error.clone(),
        output_summary: probe.output_summary.clone(),
        kind: Some(probe.kind),
        duration_ms: Some(probe.duration_ms),
        ..blank_command(at)
    }
}

fn blank_command(at: &Timestamp) -> CommandRecord {
    CommandRecord {
        command: String::new(),
        description: None,
        status: CommandStatus::Skipped,
        exit_code: None,
        error: None,
        output_summary: None,
        user_choice: None,
        retry_count: None,
        executed_at: at.clone(),
        command_index: None,
        kind: None,
        duration_ms: None,
        attempts: None,
        recovered: false,
        log: None,
        outcome: None,
        task_ids: Vec::new(),
        extra: Extra::new(),
    }
}

/// Puts a record where it belongs in plan order, in place of the one that was there.
pub(super) fn put_command(task: &mut TaskRecord, record: CommandRecord) {
    let commands = task.commands.get_or_insert_default();
    match commands.binary_search_by_key(&record.place(), CommandRecord::place) {
        Ok(at) => commands[at] = record,
        Err(at) => commands.insert(at, record),
    }
}

/// Puts what was written in place of what was known of the same file.
pub(super) fn put_shell_block(task: &mut TaskRecord, written: &ShellBlockWritten, at: &Timestamp) {
    let known = task.shell_blocks.iter_mut().find(|block| block.file == written.file);
    let record = ShellBlockRecord {
        shell: written.shell.clone(),
        file: written.file.clone(),
        status: written.status.into(),
        // What was changed before has been changed, whatever a second look finds.
        changed: written.changed || known.as_ref().is_some_and(|block| block.changed),
        error: written.error.clone(),
        written_at: at.clone(),
        extra: Extra::new(),
    };
    match known {
        Some(block) => *block = record,
        None => task.shell_blocks.push(record),
    }
    list_changed_files(task);
}

/// Says in the result of a task which files it changed, once it has one.
pub(super) fn list_changed_files(task: &mut TaskRecord) {
    let changed = task.shell_blocks.iter().filter(|block| block.changed);
    let files: Vec<_> = changed.map(|block| Value::String(block.file.clone())).collect();
    if let Some(result) = task.result.as_mut().filter(|_| !files.is_empty()) {
        result.insert("files_changed".into(), Value::Array(files));
    }
}
