//! A damaged record made usable again: at which level, what that does, and what it may cost.

use std::path::PathBuf;

use super::{
    Surroundings,
    lost_attempts::{self, Remains},
    sessions::agent_of,
    start::beginning,
};
use crate::{
    disk::DiskError,
    exec::Attempt,
    flow::{GivenPlan, count},
    model::{
        ApprovedBy, CommandSkipped, Digest, EventKind, ExecutionMode, PauseReason, Phase, Plan,
        Session, SessionId, SessionStatus, TaskId,
    },
    store::{Damage, Rescue, Rewrite, Salvor, Source, Store, StoreError, Survey, Way},
};

/// Level 3 needs a person who knows what was done.
pub const BY_HAND: u8 = 3;

/// What would be done about a damaged record.
#[derive(Debug)]
pub struct Prospect {
    pub damage: Vec<Damage>,
    pub level: u8,
    /// A level that would save more.
    pub better: Option<u8>,
    pub done: String,
    pub lost: String,
    /// Where a session can be made to go on by hand, and what is known of each place.
    pub places: Vec<Place>,
    /// The plan that they are of.
    pub plan: Option<Plan>,
}

/// A planned command, as what is left of the attempts tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub task_id: TaskId,
    pub command_index: usize,
    pub command: String,
    pub known: String,
}

/// Where a person says that a session goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeAt {
    pub task_id: TaskId,
    pub command_index: usize,
}

/// What was done about a damaged record.
#[derive(Debug)]
pub struct Recovered {
    pub session: Session,
    pub level: u8,
    pub done: String,
    pub lost: String,
    pub set_aside: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("session {id} cannot be recovered at level {level}")]
    NoLevel { id: SessionId, level: u8, why: String },
    #[error("{what} of session {id} still runs, and its record cannot be made again meanwhile")]
    StillRunning { id: SessionId, what: String },
    #[error("nothing but a plan could say what session {id} was to do, and there is none")]
    NoPlan { id: SessionId },
    #[error("the plan of session {id} is {found}, and the one it has approved is {approved}")]
    OtherPlan { id: SessionId, approved: Digest, found: Digest },
    #[error("the plan of session {id} has no {what}")]
    NoPlace { id: SessionId, what: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<DiskError> for RecoverError {
    fn from(error: DiskError) -> Self {
        Self::Store(error.into())
    }
}

/// Looks at a record and says what can be done about it; `None` if nothing is wrong. `plan` stands
/// in for one that cannot be read.
pub fn prospect(
    store: &Store,
    id: &SessionId,
    level: Option<u8>,
    plan: Option<Plan>,
) -> Result<Option<Prospect>, RecoverError> {
    let survey = store.survey(id)?;
    // A document that never had a journal can be set right by hand as well.
    let by_itself = || store.load(id).is_ok_and(|loaded| !loaded.has_journal());
    if survey.damage.is_empty() && !(level == Some(BY_HAND) && by_itself()) {
        return Ok(None);
    }
    let best = match survey.rescues.first() {
        Some(rescue) if tells_enough(store, id, rescue)? => rescue.source.level(),
        _ => BY_HAND,
    };
    let level = level.unwrap_or(best);
    let (done, lost) = match level {
        BY_HAND => by_hand(),
        level => {
            let rescue = chosen(&survey, level)?;
            check_enough(store, id, rescue)?;
            describe(rescue)
        }
    };
    let plan = match (level, plan) {
        (BY_HAND, Some(plan)) => Some(plan),
        (BY_HAND, None) => match store.plan(id) {
            Err(StoreError::Plan { .. }) => None,
            plan => plan?,
        },
        _ => None,
    };
    let places = plan.as_ref().map(|plan| places(store, id, plan)).transpose()?.unwrap_or_default();
    let better = (level > best).then_some(best);
    Ok(Some(Prospect { damage: survey.damage, level, better, done, lost, places, plan }))
}

fn check_enough(store: &Store, id: &SessionId, rescue: &Rescue) -> Result<(), RecoverError> {
    if tells_enough(store, id, rescue)? {
        return Ok(());
    }
    let why = "commands ran of which it would know nothing: only you can say where to go on";
    let level = rescue.source.level();
    Err(RecoverError::NoLevel { id: id.clone(), level, why: why.into() })
}

/// Whether what a rescue leads to knows of the commands that ran: going on from there must not run
/// them again.
fn tells_enough(store: &Store, id: &SessionId, rescue: &Rescue) -> Result<bool, RecoverError> {
    let session = &rescue.session;
    if session.phase.current < Phase::Execute {
        // The plan was not approved yet, so nothing can have run that it knows of.
        for directory in store.all_attempts(id)? {
            if Attempt::new(store.fs(), &directory).claim()?.is_some() {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    // One attempt that nobody can say anything of may be the next command: that can be asked. Which
    // commands several of them were cannot.
    let mut unknown = 0;
    for (_, directory) in store.attempts(id)?.iter().filter(|(seq, _)| *seq > session.revision()) {
        let order = Attempt::new(store.fs(), directory).claim()?.and_then(|claim| claim.order);
        let is_planned =
            order.is_some_and(|order| Some(&order.plan) == session.plan.digest.as_ref());
        unknown = if is_planned { 0 } else { unknown + 1 };
    }
    Ok(unknown <= 1)
}

/// Makes a record usable again; `None` if nothing is wrong with it.
pub fn recover(
    around: &Surroundings,
    id: &SessionId,
    level: u8,
) -> Result<Option<Recovered>, RecoverError> {
    let salvor = around.store.take_wreck(id, &around.pen)?;
    if salvor.survey.damage.is_empty() {
        return Ok(None);
    }
    let rescue = chosen(&salvor.survey, level)?.clone();
    check_enough(&around.store, id, &rescue)?;
    let (done, mut lost) = describe(&rescue);
    let mut rewrite = salvor.rewrite(&rescue, &around.clock.now())?;
    if let Some(rewrite) = &mut rewrite {
        let told = take_up_attempts(around, &salvor, &rescue, rewrite)?;
        lost.extend(told.map(|told| format!(" {told}")));
        let event = EventKind::SessionRecovered { level, done: done.clone(), lost: lost.clone() };
        conclude(&salvor, rewrite, event)?;
    }
    finish(around, salvor, rewrite.as_ref(), level, done, lost).map(Some)
}

/// Begins the record of a session anew, on the word of a person who knows how far it came; `None` if
/// nothing is wrong with it any more.
pub fn recover_by_hand(
    around: &Surroundings,
    id: &SessionId,
    plan: &Plan,
    resume_at: &ResumeAt,
    approved_by: ApprovedBy,
) -> Result<Option<Recovered>, RecoverError> {
    check_place(id, plan, resume_at)?;
    let digest = plan.compute_digest();
    let salvor = around.store.take_wreck(id, &around.pen)?;
    // Someone may have recovered it, and gone on with it, while this was thought over.
    if salvor.survey.damage.is_empty() && around.store.load(id)?.has_journal() {
        return Ok(None);
    }
    let known = salvor.survey.rescues.iter().find_map(|rescue| rescue.session.plan.digest.clone());
    if let Some(approved) = known.filter(|approved| *approved != digest) {
        return Err(RecoverError::OtherPlan { id: id.clone(), approved, found: digest });
    }
    let mut rewrite = salvor.rewrite_anew(&around.clock.now());
    let attempts = salvor.attempts(&rewrite)?;
    attempts.iter().try_for_each(|lost| Remains::read(around.store.fs(), id, lost).map(drop))?;
    salvor.keep_plan(plan)?;
    let (done, lost) = by_hand();
    let illegal = |source| RecoverError::Store(salvor.illegal(source));
    let created = beginning(id.clone(), agent_of(approved_by));
    rewrite.record(EventKind::SessionCreated(Box::new(created))).map_err(illegal)?;
    let given = GivenPlan {
        plan,
        digest: &digest,
        user_data: &[],
        approved_by,
        mode: ExecutionMode::AllAtOnce,
        unfinished: &[],
    };
    let walk = rewrite.session().map(|session| given.walk_to_execution(session));
    for kind in walk.into_iter().flatten().chain(assumed(plan, resume_at)) {
        rewrite.record(kind).map_err(illegal)?;
    }
    let level = BY_HAND;
    let event = EventKind::SessionRecovered { level, done: done.clone(), lost: lost.clone() };
    conclude(&salvor, &mut rewrite, event)?;
    finish(around, salvor, Some(&rewrite), level, done, lost).map(Some)
}

fn finish(
    around: &Surroundings,
    salvor: Salvor,
    rewrite: Option<&Rewrite>,
    level: u8,
    done: String,
    lost: String,
) -> Result<Recovered, RecoverError> {
    let (recorder, set_aside) = salvor.commit(rewrite, &around.clock.now())?;
    Ok(Recovered { session: recorder.close()?, level, done, lost, set_aside })
}

fn chosen(survey: &Survey, level: u8) -> Result<&Rescue, RecoverError> {
    survey.rescue(level).ok_or_else(|| {
        let why = match level {
            1 => "neither the document nor the one before it is whole",
            2 => "the journal cannot be read from its first line on",
            _ => "there are levels 1, 2 and 3",
        };
        RecoverError::NoLevel { id: survey.id.clone(), level, why: why.into() }
    })
}

/// What a rescue does, and what may be lost by it.
fn describe(rescue: &Rescue) -> (String, String) {
    let revision = rescue.session.revision();
    let after = |from: u64| match revision.saturating_sub(from) {
        0 => String::new(),
        lines => format!(" and {} behind it", count(lines, "journal line")),
    };
    let from = match rescue.source {
        Source::Document { revision: from } => {
            format!("the document as of revision {from}{}", after(from))
        }
        Source::Backup { revision: from } => {
            format!("the backup as of revision {from}{}", after(from))
        }
        Source::Journal => count(revision, "journal line"),
    };
    match &rescue.way {
        Way::Keep => {
            (format!("The document is made again from {from}."), "Nothing is lost.".into())
        }
        Way::Cut { broken, .. } => (
            format!(
                "The session is made again from {from} and the attempts; the journal is cut before \
                 line {broken}, where its damage begins."
            ),
            format!("What line {broken} and those behind it said may be lost."),
        ),
        Way::Anew { lost } => (
            format!(
                "The session is made again from {from}, with a new journal in place of the damaged \
                 one."
            ),
            if *lost {
                format!("What happened after revision {revision} may be lost.")
            } else {
                "Nothing of the session's state is lost; its earlier history is in what was set \
                 aside."
                    .into()
            },
        ),
    }
}

fn by_hand() -> (String, String) {
    (
        "The session begins anew with its plan, and what comes before the place to resume at is \
         taken as done, on your word."
            .into(),
        "Whatever was recorded and cannot be read is lost: answers, results, exit codes.".into(),
    )
}

/// The last events of a recovery: what was done, and that the session waits for someone.
fn conclude(
    salvor: &Salvor,
    rewrite: &mut Rewrite,
    recovered: EventKind,
) -> Result<(), RecoverError> {
    let illegal = |source| RecoverError::Store(salvor.illegal(source));
    rewrite.record(recovered).map_err(illegal)?;
    let open = rewrite.session().is_some_and(|s| s.meta.status == SessionStatus::InProgress);
    if open {
        let context = Some("its record was damaged and has been recovered".into());
        let kind = EventKind::SessionPaused { reason: PauseReason::SystemError, context };
        rewrite.record(kind).map_err(illegal)?;
    }
    Ok(())
}

/// Takes up what the attempts tell that the journal no longer does; says what came of it.
fn take_up_attempts(
    around: &Surroundings,
    salvor: &Salvor,
    rescue: &Rescue,
    rewrite: &mut Rewrite,
) -> Result<Option<String>, RecoverError> {
    let plan = match around.store.plan_of(&rescue.session) {
        Err(StoreError::Plan { .. }) => None,
        plan => plan?.filter(|plan| Some(plan.compute_digest()) == rescue.session.plan.digest),
    };
    let attempts = salvor.attempts(rewrite)?;
    let read = |lost| Remains::read(around.store.fs(), &salvor.survey.id, lost);
    let remains = attempts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    lost_attempts::record(&remains, rescue.session.revision(), plan.as_ref(), rewrite)
        .map_err(|source| RecoverError::Store(salvor.illegal(source)))
}

/// Whether a plan has the place that a session is to go on at.
pub fn check_place(id: &SessionId, plan: &Plan, at: &ResumeAt) -> Result<(), RecoverError> {
    let no_place = |what| Err(RecoverError::NoPlace { id: id.clone(), what });
    let Some(task) = plan.tasks.iter().find(|task| task.id == at.task_id) else {
        return no_place(format!("task `{}`", at.task_id));
    };
    // One past the last command is its verification.
    if at.command_index > task.commands.len() {
        let (index, count) = (at.command_index, task.commands.len());
        return no_place(format!("command {index} of task `{}`: it has {count}", task.id));
    }
    Ok(())
}

/// What a person says was done before the place to resume at.
fn assumed(plan: &Plan, at: &ResumeAt) -> Vec<EventKind> {
    let said = "taken as done by whoever recovered the session";
    let mut events = Vec::new();
    for task in &plan.tasks {
        let task_id = task.id.clone();
        events.push(EventKind::TaskStarted { task_id: task_id.clone() });
        if task.id == at.task_id {
            let done = task.commands.iter().take(at.command_index).enumerate();
            events.extend(done.map(|(command_index, command)| {
                EventKind::CommandSkipped(CommandSkipped {
                    task_id: task_id.clone(),
                    command_index,
                    command: command.command.clone(),
                    description: command.description.clone(),
                    user_choice: None,
                    reason: said.into(),
                })
            }));
            break;
        }
        let result = [("assumed".to_owned(), said.into())].into_iter().collect();
        events.push(EventKind::TaskCompleted { task_id, result });
    }
    events
}

/// Every place of the plan, with what is left of its attempts.
fn places(store: &Store, id: &SessionId, plan: &Plan) -> Result<Vec<Place>, RecoverError> {
    let digest = plan.compute_digest();
    let mut told = std::collections::HashMap::new();
    for directory in store.all_attempts(id)? {
        let attempt = Attempt::new(store.fs(), &directory);
        let Some(claim) = attempt.claim()? else { continue };
        let Some(order) = claim.order.filter(|order| order.plan == digest) else { continue };
        let known = match attempt.result()? {
            Some(finish) => {
                super::calls::describe(&finish, None, None).unwrap_or_else(|| "ended well".into())
            }
            None if attempt.is_claimed()? => "still runs".into(),
            None => "began; nobody knows how it ended".into(),
        };
        for task_id in order.task_ids {
            told.insert((task_id, order.command_index), known.clone());
        }
    }
    let mut places = Vec::new();
    for task in &plan.tasks {
        for (command_index, command) in task.commands.iter().enumerate() {
            let known = told.remove(&(task.id.clone(), command_index));
            places.push(Place {
                task_id: task.id.clone(),
                command_index,
                command: command.command.clone(),
                known: known.unwrap_or_else(|| "nothing is known of it".into()),
            });
        }
    }
    Ok(places)
}
