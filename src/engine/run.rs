//! A run: one process at work on one session, from its lock to its last word.
//!
//! Its tasks go on side by side, on one thread, and share it: what they change of it they change in
//! between their waits. What they record is written down together (`ledger.rs`), what they tell goes
//! over one screen (`screen.rs`), and there is one place where all of it is waited for
//! (`attending.rs`).

use std::{
    cell::{Cell, Ref, RefCell},
    collections::{HashMap, HashSet},
    path::PathBuf,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use super::{
    Clock, RunError,
    attending::TICK,
    batches::Batches,
    data::UserData,
    footing,
    ledger::Ledger,
    report::Reporter,
    rights::RootRights,
    screen::Screen,
    shelf::Layers,
    shell_blocks::ShellChoice,
    signals::Signals,
    stop::Stop,
    talk::Talk,
    tell::{Asker, Told, Watcher},
    turns::Turns,
};
use crate::{
    exec::{Environment, Launcher, Supervisor},
    flow::{Alternative, doctor::Trouble},
    model::{
        Agent, Digest, EventKind, ExecutionMode, Plan, PlanTask, Session, SessionId, TaskId,
        TaskRecord,
    },
    store::{Pen, Recorder, Store},
};

/// Where a run takes place.
#[derive(Debug)]
pub struct Surroundings {
    pub store: Store,
    pub clock: Clock,
    pub pen: Pen,
    pub environment: Environment,
    pub layers: Layers,
    /// Whoever sits before the terminal, if somebody does.
    pub asker: Option<Asker>,
    /// How a session is told of in a page, once it is complete.
    pub reporter: Reporter,
}

/// What to do about a command that nobody knows the end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    Retry,
    Skip,
}

/// How many tasks go on at once where nothing else was said.
const JOBS: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub agent: Agent,
    pub keep_going: bool,
    pub interrupted: Option<Interrupted>,
    pub shell_integration: Option<ShellChoice>,
    /// Whether somebody is there who decides what comes up.
    pub attended: bool,
    pub mode: ExecutionMode,
    /// Whether they want to see each command before it runs.
    pub review: bool,
    /// How many tasks may go on at once, where that was said.
    pub jobs: Option<usize>,
    /// What was wrong with the machine and has had its repair.
    pub mended: Vec<&'static str>,
}

pub(super) struct Run<'a> {
    pub around: &'a Surroundings,
    pub ledger: Ledger,
    pub screen: Screen<'a>,
    pub turns: Turns,
    pub batches: Batches,
    pub plan: Arc<Plan>,
    pub digest: Digest,
    pub data: UserData,
    pub options: Options,
    pub signals: RefCell<Signals>,
    pub launcher: RefCell<Launcher>,
    pub stop: Stop,
    rights: RefCell<Rc<RootRights>>,
    pub talk: Talk,
    /// Whether a person is being asked to decide something.
    pub is_deciding: Cell<bool>,
    /// Whether each command is to be seen before it runs, still.
    pub review: Cell<bool>,
    /// Since when we have the terminal back that a command had.
    pub terminal_back_since: Cell<Option<Duration>>,
    pub boot_id: String,
    /// Failed tasks that are to be tried again.
    pub retried: RefCell<HashSet<TaskId>>,
    /// What of the machine explains failures of this run.
    pub troubles: RefCell<Vec<Trouble>>,
    /// What was said of commands that nobody knows the end of.
    pub decided: RefCell<HashMap<TaskId, Interrupted>>,
    /// The letters by which a person had the next command of a task begun.
    pub chosen: RefCell<HashMap<TaskId, &'static str>>,
    /// The other way that a person has chosen: it is gone once this run has ended.
    pub instead: RefCell<Option<Alternative>>,
    /// Tasks that were set up in another way: they are looked for once more.
    pub set_up_elsewhere: RefCell<HashSet<TaskId>>,
    /// Where each task stands in the plan.
    places: HashMap<TaskId, usize>,
    supervisors: RefCell<Vec<Supervisor>>,
    last_look: Cell<Option<Duration>>,
}

impl<'a> Run<'a> {
    #[expect(clippy::too_many_arguments, reason = "each is a part of the run")]
    pub(super) fn new(
        around: &'a Surroundings,
        recorder: Recorder,
        plan: Plan,
        digest: Digest,
        data: UserData,
        options: Options,
        signals: Signals,
        watcher: &'a mut Watcher<'a>,
    ) -> Self {
        let label = recorder.session().meta.id.to_string();
        let places = plan.tasks.iter().enumerate().map(|(at, task)| (task.id.clone(), at));
        Self {
            around,
            ledger: Ledger::new(recorder),
            screen: Screen::new(watcher),
            turns: Turns::none(),
            batches: Batches::default(),
            places: places.collect(),
            plan: Arc::new(plan),
            digest,
            data,
            review: Cell::new(options.review),
            options,
            signals: RefCell::new(signals),
            launcher: RefCell::new(Launcher::new(label)),
            stop: Stop::default(),
            rights: RefCell::new(Rc::new(RootRights::none())),
            talk: Talk::default(),
            is_deciding: Cell::new(false),
            terminal_back_since: Cell::new(None),
            boot_id: crate::os::boot_id(),
            retried: RefCell::default(),
            troubles: RefCell::default(),
            decided: RefCell::default(),
            chosen: RefCell::default(),
            instead: RefCell::default(),
            set_up_elsewhere: RefCell::default(),
            supervisors: RefCell::default(),
            last_look: Cell::new(None),
        }
    }

    /// The session, as it stands on disk. Nobody may hold it while they wait: it changes then.
    pub(super) fn session(&self) -> Ref<'_, Session> {
        self.ledger.session()
    }

    pub(super) fn id(&self) -> SessionId {
        self.session().meta.id.clone()
    }

    pub(super) fn task_record(&self, task: &PlanTask) -> Option<Arc<TaskRecord>> {
        self.session().tasks.get(&task.id).cloned()
    }

    pub(super) fn is_settled(&self, task: &PlanTask) -> bool {
        self.session().tasks.get(&task.id).is_some_and(|record| record.status.is_settled())
    }

    pub(super) fn rights(&self) -> Rc<RootRights> {
        Rc::clone(&self.rights.borrow())
    }

    pub(super) fn have_rights(&self, rights: RootRights) {
        self.rights.replace(Rc::new(rights));
    }

    /// Whether a person has a question before them.
    pub(super) fn is_asking(&self) -> bool {
        self.is_deciding.get() || self.rights().is_asking()
    }

    /// Whether what is on the screen is not ours to write over.
    pub(super) fn is_screen_taken(&self) -> bool {
        self.is_asking() || self.talk.is_lent()
    }

    /// A command gets the terminal, or gives it back.
    pub(super) fn lend_terminal(&self, is_lent: bool) {
        self.talk.lend(is_lent);
        if !is_lent {
            self.terminal_back_since.set(Some(self.around.clock.now().steady));
        }
        self.screen.lend(is_lent);
    }

    pub(super) fn tell(&self, told: Told<'_>) {
        self.screen.tell(told, self.is_screen_taken());
    }

    pub(super) fn note(&self, text: &str) {
        self.tell(Told::Note(text));
    }

    /// Becomes durable with all else that is queued, when all tasks wait.
    pub(super) fn queue(&self, kind: EventKind) {
        self.ledger.queue(kind);
    }

    /// Records it, and waits until it is durable.
    pub(super) async fn record(&self, kind: EventKind) {
        self.queue(kind);
        self.ledger.is_durable().await;
    }

    /// Whether another command may be started for a task: the record can be written, and nobody asked
    /// to stop.
    pub(super) fn may_go_on_with(&self, place: usize) -> Result<bool, RunError> {
        self.may_go_on()?;
        Ok(!self.is_ending(place))
    }

    /// The same for what is no task's.
    pub(super) fn may_go_on(&self) -> Result<bool, RunError> {
        let now = self.around.clock.now().steady;
        if self.last_look.get().is_none_or(|last| now.saturating_sub(last) >= TICK) {
            self.last_look.set(Some(now));
            self.take_letters()?;
        }
        let is_stale = self.ledger.recorder().stale().is_some();
        if is_stale {
            // With no room for the document there will soon be none for the journal.
            self.ledger.recorder().settle()?;
        }
        self.supervisors.borrow_mut().retain_mut(|supervisor| !supervisor.has_ended());
        Ok(!self.stop.is_near())
    }

    /// How many tasks may go on at once. Whoever looks at each step looks at one at a time.
    pub(super) fn jobs(&self) -> usize {
        self.options.jobs.unwrap_or(if self.options.review { 1 } else { JOBS })
    }

    /// Where a task stands in the plan.
    pub(super) fn place_of(&self, task: &PlanTask) -> usize {
        self.place_of_id(&task.id).unwrap_or(usize::MAX)
    }

    pub(super) fn place_of_id(&self, id: &TaskId) -> Option<usize> {
        self.places.get(id).copied()
    }

    pub(super) fn keep(&self, supervisor: Supervisor) {
        self.supervisors.borrow_mut().push(supervisor);
    }

    /// The directories that come first in PATH for a task.
    pub(super) fn path_of(&self, task: &PlanTask) -> Vec<PathBuf> {
        footing::path_of(task, |id| self.planned(id), &self.around.environment)
    }

    /// The shell text that sets up what a task needs, and its own for its probes.
    pub(super) fn setup_of(&self, task: &PlanTask, with_own: bool) -> String {
        footing::setup_of(task, |id| self.planned(id), with_own)
    }

    fn planned(&self, id: &TaskId) -> Option<&PlanTask> {
        self.plan.tasks.get(*self.places.get(id)?)
    }
}
