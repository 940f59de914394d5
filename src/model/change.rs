//! What each event does to the document. The rules have been checked: nothing here can fail.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::{
    Baseline, BaselineOrigin, Checkpoint, Choice, CommandStatus, DeferredVerification, Document,
    Event, EventKind, Expansion, Extra, Lifecycle, Meta, Phase, PhaseArtifact, PhaseEntry,
    PhaseState, PhaseTiming, PlanRecord, ProfileChoice, Recovery, ResumeAction, ResumePoint,
    Revision, Seconds, SessionCreated, SessionRevised, SessionStatus, ShellDecision, TaskId,
    TaskRecord, TaskStatus, Timestamp, UserOverride, VERSION, Violation, WorkflowStructure, work,
};

impl Document {
    /// The document of a session whose first event is `session_created`.
    pub(super) fn created(created: &SessionCreated, at: &Timestamp) -> Self {
        let expansions = created.expanded_from.iter().flat_map(|from| {
            let last = Expansion {
                session_id: from.session_id.clone(),
                expanded_at: at.clone(),
                tasks_added: from.tasks_added.clone(),
                extra: Extra::new(),
            };
            from.earlier.iter().cloned().chain([last])
        });
        let mut document = Self {
            meta: Meta {
                id: created.session_id.clone(),
                created_at: at.clone(),
                updated_at: at.clone(),
                status: SessionStatus::InProgress,
                version: VERSION.into(),
                machine: created.machine.clone(),
                imported_from: None,
                revision: None,
                chain: None,
                journal_offset: None,
                objective: created.objective.clone(),
                agent: Some(created.agent.clone()),
                branch: created.branch.clone(),
                starting_commit: created.starting_commit.clone(),
                outcome: None,
                extra: Extra::new(),
            },
            phase: PhaseState {
                current: Phase::SessionCheck,
                history: Vec::new(),
                extra: Extra::new(),
            },
            profile: ProfileChoice::default(),
            choices: IndexMap::new(),
            user_data: Map::new(),
            tasks: IndexMap::new(),
            plan: PlanRecord::default(),
            resume_point: None,
            expansion_history: expansions.collect(),
            workflow_structure: Some(WorkflowStructure::current()),
            lifecycle: Some(Lifecycle::default()),
            phase_timing: IndexMap::new(),
            phase_artifacts: IndexMap::new(),
            checkpoints: IndexMap::new(),
            gates: IndexMap::new(),
            violations: Vec::new(),
            user_overrides: Vec::new(),
            deferred_verifications: Vec::new(),
            revision_history: Vec::new(),
            recoveries: Vec::new(),
            baseline: None,
            adopted: None,
            shell_integration: None,
            resume_points: Vec::new(),
            extra: Extra::new(),
        };
        document.start_phase(Phase::SessionCheck, at);
        document
    }

    /// A document that lived without a journal, as a record of the present format has it.
    #[must_use]
    pub fn migrated(&self) -> Self {
        let mut document = self.clone();
        if document.meta.version != VERSION {
            document.meta.imported_from.get_or_insert(self.meta.version.clone());
        }
        Self::imported(&document)
    }

    /// A document that lived without a journal, taken over as it is.
    pub(super) fn imported(document: &Self) -> Self {
        let mut document = document.clone();
        document.meta.version = VERSION.into();
        for task in document.tasks.values_mut() {
            number_commands(Arc::make_mut(task));
        }
        let given = document.resume_point.clone();
        if document.resume_points.is_empty() {
            document.resume_points.extend(given.clone());
        }
        let begun: Vec<_> = document
            .tasks
            .values()
            .filter(|task| task.status.is_under_way())
            .filter(|task| document.resume_point_of(&task.task_id).is_none())
            .map(|task| where_to_go_on(task))
            .collect();
        document.resume_points.extend(begun);
        document.rebuild_resume_points();
        // A point for a task that is not listed yet is all there is to go by.
        if document.resume_point.is_none() {
            document.resume_point = given;
        }
        document
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
    pub(super) fn change(&mut self, event: &Event) {
        let at = &event.timestamp;
        match &event.kind {
            // Handled by `Session::begin`: a record begins only once.
            EventKind::SessionCreated(_) | EventKind::SessionImported { .. } => {}
            EventKind::SessionPaused { reason, context } => {
                self.meta.status = SessionStatus::Paused;
                let lifecycle = self.lifecycle_mut();
                lifecycle.paused = true;
                lifecycle.paused_at = Some(at.clone());
                lifecycle.paused_reason = Some(*reason);
                lifecycle.paused_context.clone_from(context);
            }
            EventKind::SessionResumed {} => self.resume(at),
            EventKind::SessionFailed { error } => {
                self.meta.status = SessionStatus::Failed;
                self.note_error(error, at);
            }
            EventKind::SessionCompleted { outcome } => {
                self.meta.status = SessionStatus::Completed;
                self.meta.outcome.clone_from(outcome);
                let total = at.millis_since(&self.meta.created_at);
                let lifecycle = self.lifecycle_mut();
                lifecycle.completed = true;
                lifecycle.completed_at = Some(at.clone());
                lifecycle.total_duration_seconds = Some(Seconds::from_millis(total));
            }
            EventKind::SessionAbandoned {} => self.lifecycle_mut().abandoned = true,
            EventKind::SessionRevised(revised) => self.revise(revised, at),
            EventKind::SessionRecovered { level, done, lost } => self.recoveries.push(Recovery {
                timestamp: at.clone(),
                level: *level,
                done: done.clone(),
                lost: lost.clone(),
                extra: Extra::new(),
            }),
            EventKind::ErrorRecorded { error } => self.note_error(error, at),
            EventKind::PhaseCompleted { phase, evidence, outputs, commands_executed } => {
                let artifact = PhaseArtifact {
                    evidence: self.gate_evidence(*phase, evidence),
                    outputs: outputs.clone(),
                    commands_executed: commands_executed.clone(),
                    timestamp: at.clone(),
                    extra: Extra::new(),
                };
                self.phase_artifacts.insert(*phase, artifact);
                self.complete_phase(*phase, at);
            }
            EventKind::PhaseReopened { phase, .. } => self.go_back(*phase, at),
            EventKind::GatesEvaluated { phase, gates } => {
                self.checkpoints.insert(*phase, Checkpoint::of(gates));
                let mut gates = gates.clone();
                for gate in &mut gates {
                    gate.evaluated_at.get_or_insert_with(|| at.clone());
                }
                self.gates.insert(*phase, gates);
            }
            EventKind::ViolationRecorded { phase, requirement, severity, recovery } => {
                self.violations.push(Violation {
                    timestamp: at.clone(),
                    phase: *phase,
                    requirement: requirement.clone(),
                    severity: *severity,
                    recovery: recovery.clone(),
                    extra: Extra::new(),
                });
            }
            EventKind::StackSelected { profile, question, answer } => {
                let value = profile.selected.clone().unwrap_or_default();
                self.answer("stack_type", question, answer, &value, at);
                self.profile = profile.clone();
            }
            EventKind::AnswerGiven { question_id, question, answer, value } => {
                self.answer(question_id, question, answer, value, at);
            }
            EventKind::AnswerWithdrawn { question_id } => {
                self.choices.shift_remove(question_id);
            }
            EventKind::UserDataGiven { key, value } => {
                self.user_data.insert(key.clone(), value.clone());
            }
            EventKind::UserDataWithdrawn { key } => {
                self.user_data.shift_remove(key);
            }
            EventKind::PlanPresented { digest, categories, tasks, manifest_digests } => {
                self.plan.digest = Some(digest.clone());
                self.plan.categories = Some(categories.clone());
                self.withdraw_approval();
                self.plan_tasks(tasks);
                let structure =
                    self.workflow_structure.get_or_insert_with(WorkflowStructure::current);
                structure.task_ids = tasks.iter().map(|task| task.task_id.clone()).collect();
                structure.manifest_digests.clone_from(manifest_digests);
            }
            EventKind::PlanApproved { approved_by, execution_mode, .. } => {
                self.plan.approved_at = Some(at.clone());
                self.plan.approved_by = Some(*approved_by);
                self.plan.execution_mode = Some(*execution_mode);
            }
            EventKind::TaskStarted { task_id } => self.start_task(task_id, at),
            EventKind::TaskCompleted { task_id, result } => {
                let task = self.settle(task_id, TaskStatus::Completed);
                task.completed_at = Some(at.clone());
                task.failure_context = None;
                task.result = Some(result.clone());
                work::list_changed_files(task);
            }
            EventKind::TaskFailed { task_id, error, failure_context } => {
                let task = self.task_mut(task_id);
                task.status = TaskStatus::Failed;
                task.failed_at = Some(at.clone());
                task.failure_context = Some(failure_context.clone());
                self.place_resume_point(task_id, ResumeAction::Choose, error.clone());
            }
            EventKind::TaskSkipped { task_id, reason, because_of } => {
                let task = self.settle(task_id, TaskStatus::Skipped);
                task.skipped = true;
                task.skipped_reason = Some(reason.clone());
                task.skipped_because_of.clone_from(because_of);
            }
            EventKind::TaskReset { task_id, reason } => {
                let task = self.task_mut(task_id);
                let was_settled = task.status.is_settled();
                task.status = TaskStatus::Pending;
                task.skipped = false;
                task.skipped_reason = None;
                task.skipped_because_of = None;
                if was_settled {
                    // It may come before what was the first unsettled task.
                    self.resume_point = None;
                }
                self.place_resume_point(task_id, ResumeAction::Retry, reason.clone());
            }
            EventKind::TaskReviewed { task_id } => self.task_mut(task_id).needs_review = false,
            EventKind::CommandStarted(started) => self.start_command(started, event.seq, at),
            EventKind::CommandFinished(finished) => self.finish_command(finished),
            EventKind::CommandSkipped(skipped) => self.skip_command(skipped, at),
            EventKind::ProbeFinished(probe) => {
                let record = work::probed(probe, at);
                work::put_command(self.task_mut(&probe.task_id), record);
            }
            EventKind::ShellIntegrationDecided { allowed, agent } => {
                self.shell_integration = Some(ShellDecision {
                    allowed: *allowed,
                    decided_by: agent.clone(),
                    decided_at: at.clone(),
                    extra: Extra::new(),
                });
            }
            EventKind::ShellBlockWritten(written) => {
                work::put_shell_block(self.task_mut(&written.task_id), written, at);
            }
            EventKind::ResumeChosen { task_id, action, context } => {
                let index = self.resume_point_of(task_id).map_or(0, |point| point.command_index);
                self.set_resume_point(task_id, index, *action, context.clone());
            }
            EventKind::BaselineRecorded { origin, agent, sighting } => {
                let kept = match origin {
                    BaselineOrigin::Completion => &mut self.baseline,
                    BaselineOrigin::Adopted => &mut self.adopted,
                };
                *kept = Some(Baseline {
                    recorded_at: at.clone(),
                    agent: agent.clone(),
                    origin: *origin,
                    present: sighting.present.clone(),
                    absent: sighting.absent.clone(),
                    extra: Extra::new(),
                });
            }
            EventKind::OverrideRecorded { task_id, reason, verification } => {
                self.user_overrides.push(UserOverride {
                    task_id: task_id.clone(),
                    reason: reason.clone(),
                    verification: verification.clone(),
                    logged_at: at.clone(),
                    extra: Extra::new(),
                });
            }
            EventKind::VerificationDeferred { task_id, command, reason } => {
                self.deferred_verifications.push(DeferredVerification {
                    task_id: task_id.clone(),
                    command: command.clone(),
                    reason: *reason,
                    added_at: at.clone(),
                    resolved: false,
                    error: None,
                    extra: Extra::new(),
                });
            }
            EventKind::VerificationResolved { task_id, command } => {
                self.deferred_mut(task_id, command).for_each(|deferred| deferred.resolved = true);
            }
            EventKind::VerificationRefuted { task_id, command, error } => {
                let open = self.deferred_mut(task_id, command).filter(|known| !known.resolved);
                open.for_each(|deferred| deferred.error = Some(error.clone()));
            }
        }
    }

    fn deferred_mut<'d>(
        &'d mut self,
        task_id: &TaskId,
        command: &str,
    ) -> impl Iterator<Item = &'d mut DeferredVerification> {
        let all = self.deferred_verifications.iter_mut();
        all.filter(move |known| known.task_id == *task_id && known.command == command)
    }

    fn lifecycle_mut(&mut self) -> &mut Lifecycle {
        self.lifecycle.get_or_insert_default()
    }

    fn note_error(&mut self, error: &str, at: &Timestamp) {
        let lifecycle = self.lifecycle_mut();
        lifecycle.last_error = Some(error.into());
        lifecycle.last_error_at = Some(at.clone());
    }

    fn resume(&mut self, at: &Timestamp) {
        self.meta.status = SessionStatus::InProgress;
        let lifecycle = self.lifecycle_mut();
        let since = lifecycle.paused.then(|| lifecycle.paused_at.clone()).flatten();
        lifecycle.paused = false;
        lifecycle.abandoned = false;
        lifecycle.resumed_at = Some(at.clone());
        lifecycle.resume_count = lifecycle.resume_count.saturating_add(1);
        if let Some(since) = since
            && let Some(timing) = self.phase_timing.get_mut(&self.phase.current)
        {
            let before = timing.paused_seconds.as_ref().map_or(0, Seconds::millis);
            // The phase may have been reopened during the pause.
            let total = before.saturating_add(at.millis_since((&since).max(&timing.started_at)));
            timing.paused_seconds = Some(Seconds::from_millis(total));
        }
    }

    fn start_phase(&mut self, phase: Phase, at: &Timestamp) {
        self.phase.current = phase;
        let timing = PhaseTiming {
            started_at: at.clone(),
            completed_at: None,
            duration_seconds: None,
            paused_seconds: None,
            extra: Extra::new(),
        };
        self.phase_timing.insert(phase, timing);
        self.checkpoints.insert(phase, Checkpoint::Pending);
    }

    fn complete_phase(&mut self, phase: Phase, at: &Timestamp) {
        let entry = PhaseEntry { phase, completed_at: at.clone(), extra: Extra::new() };
        self.phase.history.push(entry);
        self.checkpoints.insert(phase, Checkpoint::Passed);
        // A session that was imported in the middle of a phase has no start for it.
        if !self.phase_timing.contains_key(&phase) {
            self.start_phase(phase, at);
            self.checkpoints.insert(phase, Checkpoint::Passed);
        }
        if let Some(timing) = self.phase_timing.get_mut(&phase) {
            timing.completed_at = Some(at.clone());
            timing.duration_seconds =
                Some(Seconds::from_millis(at.millis_since(&timing.started_at)));
        }
        if let Some(next) = phase.next() {
            self.start_phase(next, at);
        }
    }

    fn gate_evidence(&self, phase: Phase, given: &Map<String, Value>) -> Map<String, Value> {
        let gates = self.gates.get(&phase).map(Vec::as_slice).unwrap_or_default();
        let of_gates = gates
            .iter()
            .filter_map(|gate| Some((gate.gate.clone(), Value::String(gate.evidence.clone()?))));
        of_gates.chain(given.clone()).collect()
    }

    fn go_back(&mut self, phase: Phase, at: &Timestamp) {
        for later in Phase::ALL.into_iter().filter(|later| *later > phase) {
            self.phase_timing.shift_remove(&later);
            self.checkpoints.shift_remove(&later);
            self.gates.shift_remove(&later);
            self.phase_artifacts.shift_remove(&later);
        }
        self.gates.shift_remove(&phase);
        self.phase_artifacts.shift_remove(&phase);
        // The journal knows that they were completed before; now they are not.
        self.phase.history.retain(|entry| entry.phase < phase);
        self.start_phase(phase, at);
        if phase <= Phase::PresentPlan {
            self.withdraw_approval();
        }
    }

    fn withdraw_approval(&mut self) {
        self.plan.approved_at = None;
        self.plan.approved_by = None;
    }

    fn revise(&mut self, revised: &SessionRevised, at: &Timestamp) {
        for task_id in &revised.tasks_reset {
            let task = self.task_mut(task_id);
            let planned = task.planned_commands;
            // What was installed is there, whatever becomes of the task.
            let is_there = task.status == TaskStatus::Completed;
            let result = task.result.take().filter(|_| is_there);
            *task = TaskRecord::pending(task_id.clone(), planned);
            task.result = result;
        }
        for task_id in &revised.tasks_to_redo {
            self.task_mut(task_id).to_redo = true;
        }
        for task_id in &revised.tasks_to_review {
            self.task_mut(task_id).needs_review = true;
        }
        // What begins anew is verified anew.
        for deferred in &mut self.deferred_verifications {
            deferred.resolved |= revised.tasks_reset.contains(&deferred.task_id);
        }
        self.revision_history.push(Revision {
            phase_revisited: revised.phase_revisited,
            impact: revised.impact,
            reason: revised.reason.clone(),
            downstream_archived: revised.downstream_archived.clone(),
            timestamp: at.clone(),
            extra: Extra::new(),
        });
        self.resume_points.retain(|point| !revised.tasks_reset.contains(&point.task_id));
        self.rebuild_resume_points();
        if revised.phase_revisited < self.phase.current {
            self.go_back(revised.phase_revisited, at);
        }
    }

    fn answer(&mut self, id: &str, question: &str, answer: &str, value: &str, at: &Timestamp) {
        let choice = Choice {
            question: question.into(),
            answer: answer.into(),
            value: value.into(),
            timestamp: at.clone(),
            extra: Extra::new(),
        };
        self.choices.insert(id.into(), choice);
    }
}

/// Where a task goes on that was begun by a program which did not say so.
fn where_to_go_on(task: &TaskRecord) -> ResumePoint {
    let commands = || task.commands().iter().filter(|command| command.kind.is_none());
    let failed = commands().find(|command| command.status == CommandStatus::Failed);
    let (index, action, context) = match failed {
        Some(failed) => (failed.command_index, ResumeAction::Choose, "it did not end well"),
        // What was running had no word of its own then: the next command may have run.
        None => (Some(commands().count()), ResumeAction::Choose, "it was under way"),
    };
    ResumePoint {
        task_id: task.task_id.clone(),
        command_index: index.unwrap_or(0),
        action,
        context: context.into(),
        extra: Extra::new(),
    }
}

/// Gives each planned command of a document that did not number them its place in the plan.
fn number_commands(task: &mut TaskRecord) {
    let commands = task.commands.iter_mut().flatten().filter(|command| command.kind.is_none());
    for (index, command) in commands.enumerate() {
        command.command_index.get_or_insert(index);
    }
}
