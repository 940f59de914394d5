//! A run: one process at work on one session, from its lock to its last word.
//!
//! Events are queued and become durable together, at the latest before a command starts or
//! anything is waited for. Nothing is told before it is durable.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use rustix::process::Signal;

use super::{
    Clock, RunError,
    data::UserData,
    rights::RootRights,
    shelf::Layers,
    shell_blocks::ShellChoice,
    signals::{Heard, Signals},
    tell::{Asker, Told, Watcher},
};
use crate::{
    exec::{Environment, Launcher, Supervisor},
    flow::{Alternative, doctor::Trouble},
    model::{
        Agent, Digest, Event, EventKind, ExecutionMode, Plan, PlanTask, Session, SessionId, TaskId,
    },
    store::{Pen, Recorder, Request, Store},
};

/// How often, while waiting, output is shown, letters are taken and the document is brought up.
pub(super) const TICK: Duration = Duration::from_millis(100);

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
}

/// What to do about a command that nobody knows the end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    Retry,
    Skip,
}

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
    /// What was wrong with the machine and has had its repair.
    pub mended: Vec<&'static str>,
}

/// What keeps a run from starting another command.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop {
    /// How often Ctrl-C was pressed. 1: wait for the command and pause; 2: ask it to end; 3: end
    /// it; 4: leave it.
    pub interrupts: u8,
    /// Wait for the command and pause.
    pub pause: bool,
    /// Go at once, and leave the command to its supervisor.
    pub leave: bool,
    pub reason: Option<String>,
}

impl Stop {
    /// Whether no other command is to be started.
    pub(super) fn is_asked(&self) -> bool {
        self.interrupts > 0 || self.pause || self.leave
    }
}

pub(super) struct Run<'a> {
    pub around: &'a Surroundings,
    pub recorder: Recorder,
    pub plan: Arc<Plan>,
    pub digest: Digest,
    pub data: UserData,
    pub options: Options,
    pub signals: Signals,
    pub launcher: Launcher,
    pub rights: RootRights,
    pub stop: Stop,
    /// Whether a command has the terminal now.
    pub terminal_is_lent: bool,
    pub boot_id: String,
    /// Failed tasks that are to be tried again.
    pub retried: HashSet<TaskId>,
    /// What of the machine explains failures of this run.
    pub troubles: Vec<Trouble>,
    /// What was said of commands that nobody knows the end of.
    pub decided: HashMap<TaskId, Interrupted>,
    /// The letter by which a person had the next command begun.
    pub chosen: Option<&'static str>,
    /// The other way that a person has chosen: it is gone once this run has ended.
    pub instead: Option<Alternative>,
    /// Tasks that were set up in another way: they are looked for once more.
    pub set_up_elsewhere: HashSet<TaskId>,
    /// Where each task stands in the plan.
    places: HashMap<TaskId, usize>,
    watcher: &'a mut Watcher<'a>,
    queue: Vec<EventKind>,
    supervisors: Vec<Supervisor>,
    last_look: Option<Duration>,
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
            recorder,
            places: places.collect(),
            plan: Arc::new(plan),
            digest,
            data,
            options,
            signals,
            launcher: Launcher::new(label),
            rights: RootRights::none(),
            stop: Stop::default(),
            terminal_is_lent: false,
            boot_id: crate::os::boot_id(),
            retried: HashSet::new(),
            troubles: Vec::new(),
            decided: HashMap::new(),
            chosen: None,
            instead: None,
            set_up_elsewhere: HashSet::new(),
            watcher,
            queue: Vec::new(),
            supervisors: Vec::new(),
            last_look: None,
        }
    }

    pub(super) fn session(&self) -> &Session {
        self.recorder.session()
    }

    pub(super) fn id(&self) -> SessionId {
        self.session().meta.id.clone()
    }

    pub(super) fn tell(&mut self, told: Told<'_>) {
        (self.watcher)(told);
    }

    pub(super) fn note(&mut self, text: &str) {
        self.tell(Told::Note(text));
    }

    /// Becomes durable with the next [`Run::flush`].
    pub(super) fn queue(&mut self, kind: EventKind) {
        self.queue.push(kind);
    }

    /// Makes all that is queued durable, then tells it. Returns the last of it.
    pub(super) fn flush(&mut self) -> Result<Option<Event>, RunError> {
        if self.queue.is_empty() {
            return Ok(None);
        }
        let kinds = std::mem::take(&mut self.queue);
        let events = self.recorder.record(kinds, &self.around.clock.now())?;
        for event in &events {
            (self.watcher)(Told::Event(event));
        }
        Ok(events.into_iter().next_back())
    }

    /// Gives up what is queued: it could not be recorded.
    pub(super) fn forget(&mut self) {
        self.queue.clear();
    }

    pub(super) fn record(&mut self, kind: EventKind) -> Result<(), RunError> {
        self.queue(kind);
        self.flush().map(drop)
    }

    /// Whether another command may be started: the record can be written, and nobody asked to stop.
    pub(super) async fn may_go_on(&mut self) -> Result<bool, RunError> {
        loop {
            tokio::select! {
                biased;
                heard = self.signals.next() => self.hear(heard),
                () = std::future::ready(()) => break,
            }
        }
        let now = self.around.clock.now().steady;
        if self.last_look.is_none_or(|last| now.saturating_sub(last) >= TICK) {
            self.last_look = Some(now);
            self.take_letters()?;
        }
        if self.recorder.stale().is_some() {
            // With no room for the document there will soon be none for the journal.
            self.recorder.settle()?;
        }
        self.supervisors.retain_mut(|supervisor| !supervisor.has_ended());
        Ok(!self.stop.is_asked())
    }

    pub(super) fn hear(&mut self, heard: Heard) {
        if self.terminal_is_lent && heard.is_a_key() {
            return;
        }
        // Whoever wants to stop does not want to answer first.
        if heard != Heard::Suspend && self.rights.is_asking() {
            self.rights.cancel_asking();
        }
        match heard {
            Heard::Interrupt => {
                self.stop.interrupts = self.stop.interrupts.saturating_add(1);
                self.stop.reason.get_or_insert_with(|| "interrupted with Ctrl-C".into());
                let mut tasks = self.session().tasks.values();
                let is_running = tasks.any(|task| !task.in_flight.is_empty());
                let text = match self.stop.interrupts {
                    _ if !is_running => "pausing",
                    1 => "pausing as soon as the command is done; Ctrl-C again ends it",
                    2 => "asking the command to end; Ctrl-C again kills it",
                    3 => "killing the command; Ctrl-C again leaves it to itself",
                    _ => "leaving the command to itself",
                };
                self.stop.leave = self.stop.interrupts > 3;
                self.note(text);
            }
            Heard::Suspend => {
                // As if nobody had listened: whoever continues us finds us where we were.
                let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
            }
            Heard::Terminate | Heard::HangUp | Heard::Quit => {
                self.stop.leave = true;
                let why = if heard == Heard::HangUp {
                    "the terminal was closed"
                } else {
                    "the run was asked to terminate"
                };
                self.stop.reason.get_or_insert_with(|| why.into());
            }
        }
    }

    pub(super) fn take_letters(&mut self) -> Result<(), RunError> {
        for request in self.around.store.take_letters(&self.recorder)? {
            match request {
                Request::Pause { reason } => {
                    self.stop.pause = true;
                    let reason = reason.unwrap_or_else(|| "asked to pause".into());
                    self.stop.reason.get_or_insert(reason);
                    self.note("asked to pause: pausing as soon as the command is done");
                }
            }
        }
        Ok(())
    }

    /// What has to be done now and then while something is waited for.
    pub(super) fn tick(&mut self) -> Result<(), RunError> {
        self.take_letters()?;
        let due = self.recorder.due_in(&self.around.clock.now());
        if due.is_some_and(|due| due.is_zero()) {
            // The journal has everything: what cannot be saved now is saved later.
            self.recorder.try_to_settle();
        }
        Ok(())
    }

    /// Waits for something that is no command, and hears all that a run hears meanwhile.
    pub(super) async fn meanwhile<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, RunError> {
        tokio::pin!(work);
        let mut failed = None;
        loop {
            tokio::select! {
                biased;
                done = &mut work => return failed.map_or(Ok(done), Err),
                heard = self.signals.next() => self.hear(heard),
                () = tokio::time::sleep(TICK) => failed = self.tick().err().or(failed),
            }
            let is_asking = self.rights.is_asking();
            if let Some(error) = failed.take_if(|_| !is_asking) {
                return Err(error);
            }
            if self.stop.is_asked() || failed.is_some() {
                // Whoever wants to stop does not want to answer first.
                self.rights.cancel_asking();
            }
        }
    }

    pub(super) fn keep(&mut self, supervisor: Supervisor) {
        self.supervisors.push(supervisor);
    }

    /// The directories that come first in PATH for a task: its own, and those of all it needs.
    pub(super) fn path_of(&self, task: &PlanTask) -> Vec<PathBuf> {
        let mut path = Vec::new();
        let mut seen = HashSet::new();
        let mut open = vec![task];
        while let Some(task) = open.pop() {
            if seen.insert(&task.id) {
                path.extend(task.path.iter().map(|place| self.around.environment.expand(place)));
                let needed = task.depends_on.iter().filter_map(|id| self.places.get(id));
                open.extend(needed.filter_map(|at| self.plan.tasks.get(*at)));
            }
        }
        path
    }

    /// The shell text that sets up what a task needs: of all it depends on, the deepest first, and
    /// its own for its probes.
    pub(super) fn setup_of(&self, task: &PlanTask, with_own: bool) -> String {
        let mut texts: Vec<&str> = Vec::new();
        let mut seen = HashSet::new();
        let mut open = vec![(task, false)];
        while let Some((at, is_left)) = open.pop() {
            if is_left {
                let own = at.env_setup.as_deref().filter(|_| with_own || at.id != task.id);
                texts.extend(own.map(str::trim_end));
            } else if seen.insert(&at.id) {
                open.push((at, true));
                let needed = at.depends_on.iter().filter_map(|id| self.places.get(id));
                let needed = needed.filter_map(|at| self.plan.tasks.get(*at));
                open.extend(needed.map(|task| (task, false)));
            }
        }
        texts.join("\n")
    }
}
