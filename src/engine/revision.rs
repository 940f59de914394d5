//! Changing an earlier answer once there is a plan, or taking over a catalog that has changed since.
//! What it comes to is worked out in memory and shown; only what is confirmed is recorded, and what
//! was there before stays beside it.

use std::collections::BTreeMap;

use super::{
    Ended, Request, RunError, Surroundings, Wishes,
    changed_plan::kept_plan,
    data::UserData,
    driving::{Approach, drive},
    ending::close,
    platform,
    rehearsing::{Rehearsing, is_decision},
    repair::mend_and_go_on,
    run::{Options, Run},
    sessions::{
        agent_of, approves, check_machine, check_rights, look_before, unfinished, within_runtime,
    },
    signals::Signals,
    tell::{Told, Watcher},
    unready::{Unready, mistake_of},
    wishes::{Failed, Resumption},
};
use crate::{
    catalog::Catalog,
    flow::{
        Assessment, Input, Refusal, Rehearsal, STACK_TYPE, TOOLS_ADDED, TOOLS_LEFT_OUT,
        recorded_facts, tools_named,
    },
    model::{
        ApprovedBy, Digest, Document, EventKind, ExecutionMode, Impact, PauseReason, Phase, Plan,
        Profile, Session, SessionId, SessionRevised, SessionStatus, TaskId, TaskStatus,
    },
    store::Recorder,
};

const WAITS: &str = "the revised plan waits for approval";

/// What a revision would come to. Nothing is changed by having one.
#[derive(Clone, Debug)]
pub struct Revision {
    pub session_id: SessionId,
    pub assessment: Assessment,
    pub plan: Plan,
    pub digest: Digest,
    pub notes: Vec<String>,
    reason: String,
    phase_revisited: Phase,
    /// The session it was worked out for: another one needs another.
    based_on: u64,
    /// What comes before the revision itself.
    before: Vec<EventKind>,
    /// What comes behind it: the other answers, and the plan.
    events: Vec<EventKind>,
    /// Who has approved what would run, where that is no other than before.
    stands: Option<ApprovedBy>,
}

/// What came of a revision that was confirmed.
#[derive(Debug)]
pub enum Revised {
    /// Nothing would run otherwise: some tasks are marked for review.
    ForReview(Vec<TaskId>),
    /// The session went on with its plan, or waits for the approval of it.
    Ended(Ended),
}

/// A session that is about to be revised, and the plan it has.
#[derive(Clone, Debug)]
pub(super) struct Original {
    pub session: Session,
    pub plan: Plan,
    pub notes: Vec<String>,
}

impl Original {
    /// The session, if it can be revised.
    pub(super) fn read(around: &Surroundings, id: &SessionId) -> Result<Self, RunError> {
        let notes = look_before(around, id)?;
        let session = around.store.load(id)?.session;
        let not = |why: &str| RunError::NotRevisable { id: id.clone(), why: why.into() };
        check_machine(&session)?;
        if session.meta.status == SessionStatus::Completed {
            return Err(not(
                "it is complete; `provision expand` adds to what it set up, and `provision start` \
                 begins a new one with other answers",
            ));
        }
        if session.plan.digest.is_none() || session.phase.current < Phase::PresentPlan {
            return Err(not("it has no plan yet: whoever resumes it can still answer otherwise"));
        }
        if recorded_facts(&session).is_none() {
            return Err(not("its plan was not made from answers and a catalog"));
        }
        if around.store.is_locked(id)? {
            return Err(not("somebody is at work on it; pause it first"));
        }
        if session.tasks.values().any(|task| !task.in_flight.is_empty()) {
            return Err(not("how its last command ended is not recorded yet; resume it first"));
        }
        let plan = kept_plan(around, &session)?;
        Ok(Self { session, plan, notes })
    }

    /// The session in memory, with everything behind `phase` open again.
    pub(super) fn draft(&self, around: &Surroundings, phase: Phase) -> Result<Rehearsal, RunError> {
        let now = around.clock.now().wall;
        let mut draft = Rehearsal::going_on(&self.session, now);
        draft.record(opened(&self.session))?;
        // What is under way may not be planned any more.
        let begun = |status| matches!(status, TaskStatus::Failed | TaskStatus::InProgress);
        let under_way = self.session.tasks.values().filter(|task| begun(task.status));
        draft.record([EventKind::SessionRevised(SessionRevised {
            phase_revisited: phase.min(self.session.phase.current),
            impact: Impact::Moderate,
            reason: String::new(),
            downstream_archived: Vec::new(),
            tasks_reset: under_way.map(|task| task.task_id.clone()).collect(),
            tasks_to_redo: Vec::new(),
            tasks_to_review: Vec::new(),
        })])?;
        Ok(draft)
    }
}

/// What takes a session up that nobody works on.
fn opened(session: &Document) -> Vec<EventKind> {
    let mut events = Vec::new();
    if session.meta.status == SessionStatus::InProgress {
        events.push(EventKind::SessionPaused {
            reason: PauseReason::SystemError,
            context: Some("the run before this one ended without a word".into()),
        });
    }
    events.push(EventKind::SessionResumed {});
    events
}

/// What a session would come to with other answers, or with the catalog as it is now. `None` if it
/// would be the same.
pub fn revision(
    around: &Surroundings,
    catalog: &Catalog,
    id: &SessionId,
    asked: &Request,
    reason: Option<String>,
) -> Result<Option<Revision>, RunError> {
    let original = Original::read(around, id)?;
    let session = &original.session;
    let (add, without) = tools(session, asked);
    let request = &Request { add, without, ..asked.clone() };
    let platform = platform(&around.environment);
    let mut walk = Rehearsing::new(
        catalog,
        &platform,
        request,
        original.draft(around, Phase::GatherRequirements)?,
    );
    let stack = request.profile.as_deref().map(|given| walk.walk().find_profile(given));
    let stack = stack.transpose().map_err(|refusal| refused(&refusal))?.cloned();
    let stack = stack.filter(|stack| session.profile.selected.as_deref() != Some(stack.id()));
    let phase = match stack {
        Some(_) => Phase::StackSelection,
        None => Phase::GatherRequirements,
    };
    if stack.is_some() {
        walk.session = original.draft(around, phase)?;
    }
    let told = walk.session.events().len();
    walk.session.record(taken_back(session, request, stack.as_ref()))?;
    if stack.is_some() {
        if !walk.choose_stack(catalog, session.profile.catalogs.clone())? {
            return Err(RunError::Unready(Box::new(walk.unready)));
        }
    } else {
        let (add, without) = (request.add.clone(), request.without.clone());
        walk.step(Input::Tools { add, without })?;
    }
    let plan = within_runtime(async {
        let mut signals = Signals::listen().map_err(RunError::Runtime)?;
        walk.lead_to_plan(catalog, &around.environment, &mut signals).await
    })?;
    check_rights(around, &plan)?;
    let reason = reason.unwrap_or_else(|| reason_of(asked));
    let notes = [original.notes.clone(), std::mem::take(&mut walk.notes)].concat();
    let revision = Revision::new(&original, phase, plan, walk.session, told, reason);
    Ok(revision.map(|revision| Revision { notes, ..revision }))
}

/// The answers and values that are given anew, and those that another stack does not ask for.
pub(super) fn taken_back(
    session: &Document,
    request: &Request,
    stack: Option<&Profile>,
) -> Vec<EventKind> {
    let own = [STACK_TYPE, TOOLS_ADDED, TOOLS_LEFT_OUT];
    let is_foreign = |id: &str| {
        let asks = |stack: &Profile| stack.question_flow.iter().any(|q| q.id == *id);
        stack.is_some_and(|stack| !asks(stack)) && !own.contains(&id) && !is_decision(id)
    };
    let answers = session.choices.keys();
    let answers = answers.filter(|id| request.answers.contains_key(*id) || is_foreign(id));
    let named: Vec<&str> = request.named_data().collect();
    let of_task = |key: &str| {
        key.split_once('.').is_some_and(|(task, option)| {
            let options = request.options.iter().find(|(id, _)| id.as_str() == task);
            let is_given = options.is_some_and(|(_, options)| options.contains_key(option));
            is_given || named.contains(&option)
        })
    };
    let data = session.user_data.keys();
    let data = data.filter(|key| named.contains(&key.as_str()) || of_task(key));
    answers
        .map(|id| EventKind::AnswerWithdrawn { question_id: id.clone() })
        .chain(data.map(|key| EventKind::UserDataWithdrawn { key: key.clone() }))
        .collect()
}

/// The single tools, and those left out, once those of a request are counted in.
pub(super) fn tools(session: &Document, request: &Request) -> (Vec<TaskId>, Vec<TaskId>) {
    let with = |known: Vec<TaskId>, more: &[TaskId], less: &[TaskId]| {
        let all = known.into_iter().chain(more.iter().cloned());
        all.filter(|task| !less.contains(task)).collect()
    };
    (
        with(tools_named(session, TOOLS_ADDED), &request.add, &request.without),
        with(tools_named(session, TOOLS_LEFT_OUT), &request.without, &request.add),
    )
}

/// What was asked for, in a line.
pub(super) fn reason_of(request: &Request) -> String {
    let profile = request.profile.iter().map(|profile| format!("stack: {profile}"));
    let answers = request.answers.iter().map(|(id, answer)| format!("{id}: {answer}"));
    // What was given may be a secret: its name says enough.
    let data = request.named_data().map(|key| format!("another {key}"));
    let add = request.add.iter().map(|task| format!("with {task}"));
    let without = request.without.iter().map(|task| format!("without {task}"));
    let all: Vec<_> = profile.chain(answers).chain(data).chain(add).chain(without).collect();
    if all.is_empty() { "the catalog has changed".into() } else { all.join(", ") }
}

impl Revision {
    /// What `draft`, which leads to `plan`, would do to a session with what happened in it behind
    /// the first `told` events. `None` if that is nothing.
    pub(super) fn new(
        original: &Original,
        phase: Phase,
        plan: Plan,
        draft: Rehearsal,
        told: usize,
        reason: String,
    ) -> Option<Self> {
        let Original { session, plan: plan_before, notes } = original;
        let assessment = Assessment::of(session, plan_before, &plan);
        let is_answered = is_answered_otherwise(session, &draft);
        if assessment.is_nothing() && !is_answered {
            return None;
        }
        let digest = plan.compute_digest();
        // Words alone take nothing back: the session goes on where it stands.
        let only_words = assessment.impact == Impact::Minor && !is_answered;
        let is_approved = session.plan.approved_at.is_some();
        Some(Self {
            session_id: session.meta.id.clone(),
            phase_revisited: if only_words { session.phase.current } else { phase },
            based_on: session.revision(),
            before: if only_words { Vec::new() } else { opened(session) },
            events: if only_words { Vec::new() } else { draft.into_events().split_off(told) },
            stands: session
                .plan
                .approved_by
                .filter(|_| is_approved && session.plan.digest.as_ref() == Some(&digest)),
            notes: notes.clone(),
            assessment,
            plan,
            digest,
            reason,
        })
    }

    /// Whether nothing is to be run otherwise, or answered otherwise.
    pub fn is_only_words(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether somebody has to approve what would run.
    pub fn needs_approval(&self) -> bool {
        !self.is_only_words() && self.stands.is_none()
    }

    /// Records what was confirmed, and goes on with the session as far as that is approved.
    pub fn carry_out(
        self,
        around: &Surroundings,
        mode: Option<ExecutionMode>,
        wishes: &Wishes,
        watcher: &mut Watcher<'_>,
    ) -> Result<Revised, RunError> {
        // Whoever names a digest means that plan, approved before or not.
        let given = wishes.approval.as_ref().map(|given| approves(given, &self.digest));
        let given = given.transpose()?;
        let approved_by = self.stands.or(given);
        let ended = within_runtime(async {
            let signals = Signals::listen().map_err(RunError::Runtime)?;
            let _only = around.store.lock_runner(&around.pen)?;
            let id = self.session_id.clone();
            let mut recorder = around.store.open_record(&id, &around.pen, &around.clock.now())?;
            if recorder.session().revision() != self.based_on {
                return Err(RunError::ChangedMeanwhile { id });
            }
            // Whoever lacks a secret is told before anything is recorded.
            let goes_on = approved_by.is_some() && !self.is_only_words();
            let session = recorder.session();
            let gathered = || UserData::gather(&self.plan, Some(session), &wishes.data);
            let data = goes_on.then(gathered).transpose()?;
            self.record(around, &mut recorder, data.is_none(), watcher)?;
            let Some((data, approved_by)) = data.zip(approved_by) else {
                recorder.close()?;
                return Ok(None);
            };
            let agent = agent_of(approved_by);
            let recorded = recorder.session().plan.execution_mode;
            let mode = mode.or(recorded).unwrap_or(ExecutionMode::AllAtOnce);
            let review = mode == ExecutionMode::ReviewEachStep && wishes.attended;
            let options = Options { mode, review, ..wishes.options(agent) };
            let (plan, digest) = (self.plan.clone(), self.digest.clone());
            let run = Run::new(around, recorder, plan, digest, data, options, signals, watcher);
            let earlier = unfinished(&around.store, Some(&id))?;
            let walk = Approach::of(approved_by, earlier);
            let failed = if wishes.attended { Failed::Leave } else { Failed::Retry };
            let how = Resumption { is_taken_up: true, ..Resumption::of(failed) };
            let ended = drive(&run, Some(walk), Some(&how)).await;
            close(run, ended).map(Some)
        })?;
        match ended {
            Some(ended) => {
                let ended = mend_and_go_on(around, ended, wishes, watcher)?;
                Ok(Revised::Ended(ended))
            }
            None if self.is_only_words() => Ok(Revised::ForReview(self.assessment.to_review())),
            None => Ok(Revised::Ended(Ended::waiting(self.session_id, WAITS, self.digest))),
        }
    }

    /// The record of the revision: what was there before is kept first.
    fn record(
        &self,
        around: &Surroundings,
        recorder: &mut Recorder,
        stops: bool,
        watcher: &mut Watcher<'_>,
    ) -> Result<(), RunError> {
        let (store, session) = (&around.store, recorder.session());
        let mut archived = Vec::new();
        if self.is_only_words() {
            // It says the same in other words, and so is no other plan.
            recorder.keep_plan(store, &self.plan)?;
        } else {
            archived.extend(recorder.replace_plan(store, &self.plan)?);
        }
        let anew = &self.assessment.begin_anew;
        for task in anew.iter().filter_map(|id| session.tasks.get(id)) {
            archived.push(recorder.archive_task(store, task)?);
        }
        let mut events = self.before.clone();
        events.push(EventKind::SessionRevised(SessionRevised {
            phase_revisited: self.phase_revisited.min(session.phase.current),
            impact: self.assessment.impact,
            reason: self.reason.clone(),
            downstream_archived: archived,
            tasks_reset: anew.clone(),
            tasks_to_redo: self.assessment.to_redo.clone(),
            tasks_to_review: self.assessment.to_review(),
        }));
        events.extend(self.events.clone());
        if stops && !self.is_only_words() {
            events.push(EventKind::SessionPaused {
                reason: PauseReason::UserRequest,
                context: Some(WAITS.into()),
            });
        }
        for event in recorder.record(events, &around.clock.now())? {
            watcher(Told::Event(&event));
        }
        Ok(())
    }
}

/// Whether a session says otherwise than another what is wanted.
fn is_answered_otherwise(before: &Document, now: &Document) -> bool {
    fn said(session: &Document) -> BTreeMap<&str, &str> {
        let choices = session.choices.iter();
        choices.map(|(id, choice)| (id.as_str(), choice.value.as_str())).collect()
    }
    said(before) != said(now) || before.user_data != now.user_data
}

fn refused(refusal: &Refusal) -> RunError {
    let mistakes = vec![mistake_of(refusal)];
    RunError::Unready(Box::new(Unready { mistakes, ..Unready::default() }))
}

/// Records that somebody has looked at the tasks that were marked for review; says which.
pub fn reviewed(around: &Surroundings, id: &SessionId) -> Result<Vec<TaskId>, RunError> {
    let mut recorder = around.store.open_record(id, &around.pen, &around.clock.now())?;
    let marked = recorder.session().tasks.values().filter(|task| task.needs_review);
    let marked: Vec<TaskId> = marked.map(|task| task.task_id.clone()).collect();
    let seen = marked.iter().map(|task_id| EventKind::TaskReviewed { task_id: task_id.clone() });
    let seen: Vec<_> = seen.collect();
    if !seen.is_empty() {
        recorder.record(seen, &around.clock.now())?;
    }
    recorder.close()?;
    Ok(marked)
}
