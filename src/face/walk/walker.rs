//! From phase to phase: who leads the walk, and how it ends when somebody would rather leave.

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use signal_hook::{
    SigId,
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag, low_level,
};

use super::Screen;
use crate::{
    engine::{
        self, Catalog, Conversation, Ended, Failed, Missing, Request, RunError, Stack,
        Surroundings, Told, Waiting, Watcher, Wishes,
    },
    face::{
        already_text,
        paint::Paint,
        resuming_text,
        terminal::{Choice, Left, Line, Pick, Reply, Terminal},
        visible,
    },
    model::{ApprovedBy, Digest, ExecutionMode, Phase, Plan, SessionId, TaskId},
};

/// How often the letters of other processes are looked for.
const LOOK: Duration = Duration::from_millis(200);

/// Why a question was not answered.
#[derive(Debug)]
pub enum Stopped {
    Left(Left),
    Error(RunError),
}

impl From<RunError> for Stopped {
    fn from(error: RunError) -> Self {
        Self::Error(error)
    }
}

impl From<io::Error> for Stopped {
    /// A terminal that cannot be read from or written to is gone.
    fn from(_: io::Error) -> Self {
        Self::Left(Left::HungUp)
    }
}

/// What a person gives, unless they leave.
pub type Given<T> = Result<T, Stopped>;

/// Leads a person through the walk. Each walk returns how its session ended or paused, and `None` if
/// the person chose to begin nothing.
#[derive(Debug)]
pub struct Walker<'w> {
    pub(super) around: &'w Surroundings,
    pub(super) catalog: &'w Catalog,
    pub(super) screen: Screen,
    /// What was given beforehand; whatever it answers is not asked.
    pub(super) request: Option<Request>,
    pub(super) wishes: Wishes,
    /// What a person was asked, or what was taken from what was given beforehand.
    pub(super) asked: HashSet<String>,
    /// What was answered last, by question: whoever comes back to one finds it marked.
    pub(super) remembered: HashMap<String, String>,
    /// The question that is being answered again, and what it was answered before.
    pub(super) again: Option<(String, String)>,
    /// The single tools before the last change of them, and those that were left out.
    pub(super) tools_before: Option<(Vec<TaskId>, Vec<TaskId>)>,
    /// Set when a signal says that nobody waits for an answer any more, between questions too.
    pub(super) cancelled: Arc<AtomicBool>,
    listening: Vec<SigId>,
}

impl Drop for Walker<'_> {
    fn drop(&mut self) {
        for id in self.listening.drain(..) {
            low_level::unregister(id);
        }
    }
}

impl<'w> Walker<'w> {
    pub fn new(
        around: &'w Surroundings,
        catalog: &'w Catalog,
        screen: Screen,
        request: Option<Request>,
        wishes: Wishes,
    ) -> Self {
        let cancelled = Arc::new(AtomicBool::new(false));
        let signals = [SIGINT, SIGTERM, SIGHUP];
        let listening = signals.map(|signal| flag::register(signal, Arc::clone(&cancelled)));
        let listening = listening.into_iter().flatten().collect();
        Self {
            around,
            catalog,
            screen,
            request,
            wishes,
            asked: HashSet::new(),
            remembered: HashMap::new(),
            again: None,
            tools_before: None,
            cancelled,
            listening,
        }
    }

    pub(super) fn terminal(&self) -> Terminal {
        self.screen.terminal()
    }

    pub(super) fn paint(&self) -> Paint {
        Paint(self.terminal().look())
    }

    pub(super) fn say(&self, text: &str) {
        self.terminal().say(text);
    }

    /// A letter; `None` if they want to go back.
    pub(super) fn choose(&self, choice: &Choice) -> Given<Option<char>> {
        given(self.terminal().choose(choice, &self.cancelled)?)
    }

    pub(super) fn line(&self, line: &Line<'_>) -> Given<Option<String>> {
        given(self.terminal().line(line, &self.cancelled)?)
    }

    pub(super) fn pick(&self, pick: &Pick) -> Given<Option<Vec<usize>>> {
        given(self.terminal().pick(pick, &self.cancelled)?)
    }

    /// A new session; the stack is asked for if none was named.
    pub fn begin(&mut self, named: Option<Stack>) -> Given<Option<Ended>> {
        let stack = match named {
            Some(stack) => stack,
            // There is nothing before the first question.
            None => loop {
                if let Some(stack) = self.choose_stack()? {
                    break stack;
                }
            },
        };
        self.converse(Conversation::begin(self.around, self.catalog, stack, None)?)
    }

    /// A plan file: shown, approved and run, or left.
    pub fn apply(&mut self, (plan, digest): (Plan, Digest)) -> Given<Option<Ended>> {
        if !self.approve_file(&plan, &digest)? {
            return Ok(None);
        }
        let lines = engine::lines_of_plan(self.around, &plan);
        self.wishes.shell_integration = self.shell_choice(&lines)?;
        self.run(|around, wishes, watcher| {
            engine::apply(around, (plan.clone(), digest.clone()), wishes, watcher)
        })
    }

    /// A session that somebody comes back to, wherever it stands.
    pub fn resume_session(&mut self, id: &SessionId, failed: Failed) -> Given<Option<Ended>> {
        if engine::waits_for_answers(self.around, id)? {
            return self.take_up(id);
        }
        self.resume(id, failed)
    }

    /// More tools for a session that is complete; they are asked for if none were named.
    pub fn expand(&mut self, id: &SessionId, tasks: &[TaskId]) -> Given<Option<Ended>> {
        let inherited = engine::inheritance(self.around, self.catalog, id, tasks)?;
        self.say(&already_text(&inherited));
        if !inherited.is_empty() {
            return self.expand_with(inherited);
        }
        if tasks.is_empty() { self.add_to(id) } else { Ok(None) }
    }

    /// A session that has a plan, gone through again: what is different is shown, and nothing is
    /// changed before it is approved. With `asks`, what is to be changed is asked for first.
    pub fn revise(
        &mut self,
        id: &SessionId,
        asks: bool,
        reason: Option<String>,
    ) -> Given<Option<Ended>> {
        let mut conversation = Conversation::revise(self.around, self.catalog, id, reason)?;
        let session = conversation.session();
        let stack = session.profile.selected.as_deref().unwrap_or_default();
        self.say(&format!("Revising session {id} ({}).\n", visible(stack)));
        // Whoever comes to a question finds marked what was answered.
        let choices = session.choices.iter();
        self.remembered.extend(choices.map(|(id, choice)| (id.clone(), choice.value.clone())));
        if let Some(plan) = conversation.plan_before().cloned().filter(|_| asks) {
            // Whoever changes nothing is shown what the catalog has changed, if it has.
            self.change(&mut conversation, &plan)?;
        }
        if let Some(request) = self.request.clone() {
            conversation.take_back(&request)?;
        }
        self.converse(conversation)
    }

    /// A session that was left on its way to a plan.
    pub(super) fn take_up(&mut self, id: &SessionId) -> Given<Option<Ended>> {
        let conversation = Conversation::take_up(self.around, self.catalog, id)?;
        self.say(&format!("Going on with session {id}.\n"));
        self.converse(conversation)
    }

    /// From wherever a conversation stands to its end, or to where a person leaves it.
    pub(super) fn converse(&mut self, mut conversation: Conversation<'w>) -> Given<Option<Ended>> {
        for note in conversation.notes() {
            self.say(&crate::face::note_text(note));
        }
        let _watching = Letters::watch(&conversation, &self.cancelled);
        let ended = match self.lead(&mut conversation) {
            Ok(mode) => self.execute(conversation, mode),
            Err(Stopped::Left(left)) => match conversation.asked_to_pause()? {
                Some(reason) => conversation.pause(&reason),
                None => conversation.pause(left.why()),
            },
            Err(Stopped::Error(RunError::Interrupted)) => {
                conversation.pause(Left::Interrupted.why())
            }
            Err(Stopped::Error(error)) => {
                // What could not be planned today can be planned another day.
                let _ = conversation.pause(&error.to_string());
                Err(error)
            }
        };
        Ok(Some(ended?))
    }

    fn lead(&mut self, conversation: &mut Conversation<'w>) -> Given<ExecutionMode> {
        loop {
            if self.cancelled.load(Ordering::Relaxed) {
                return Err(Stopped::Left(Left::NotWanted));
            }
            match conversation.waiting() {
                Waiting::Stack => self.choose_stack_again(conversation)?,
                Waiting::Answer { .. } => self.ask_next(conversation)?,
                Waiting::Facts(_) => {
                    self.say(&self.paint().dim("Looking at what is there already…\n"));
                    for note in conversation.look()? {
                        self.say(&crate::face::note_text(&note));
                    }
                }
                Waiting::Change(problems) => {
                    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
                    self.resolve(conversation, &problems)?;
                }
                Waiting::Plan(_) => conversation.present()?,
                Waiting::Approval(_) => {
                    if let Some(mode) = self.approve(conversation)? {
                        return Ok(mode);
                    }
                }
                Waiting::Check | Waiting::Execution | Waiting::Nothing => {
                    return Err(Stopped::Error(RunError::NoPlan { id: conversation.id() }));
                }
            }
        }
    }

    fn execute(
        &mut self,
        conversation: Conversation<'w>,
        mode: ExecutionMode,
    ) -> Result<Ended, RunError> {
        let screen = self.screen.clone();
        let mut watcher = |told: Told<'_>| screen.show(&told);
        let ended = conversation.execute(ApprovedBy::User, mode, &self.wishes, &mut watcher);
        self.screen.end();
        ended
    }

    /// Goes on with a session whose plan is approved.
    pub(super) fn resume(&mut self, id: &SessionId, failed: Failed) -> Given<Option<Ended>> {
        let context = engine::context_of(self.around, id)?;
        if context.phase == Phase::Execute {
            self.say(&resuming_text(&context));
        }
        let lines = engine::asked_of_session(self.around, id, &self.wishes);
        self.wishes.shell_integration = self.shell_choice(&lines)?;
        self.run(|around, wishes, watcher| engine::resume(around, id, failed, wishes, watcher))
    }

    /// Runs something on the screen, and asks for what it lacks.
    fn run(
        &mut self,
        work: impl Fn(&Surroundings, &Wishes, &mut Watcher<'_>) -> Result<Ended, RunError>,
    ) -> Given<Option<Ended>> {
        self.screen.knows(engine::known_durations(&self.around.store)?);
        loop {
            let screen = self.screen.clone();
            let mut watcher = |told: Told<'_>| screen.show(&told);
            let ended = work(self.around, &self.wishes, &mut watcher);
            self.screen.end();
            match ended {
                Err(RunError::MissingData { missing }) => self.ask_for(&missing)?,
                Err(RunError::NotApproved { plan, digest, .. }) => {
                    if !self.approve_file(&plan, &digest)? {
                        return Err(Stopped::Left(Left::NotWanted));
                    }
                }
                ended => return Ok(Some(ended?)),
            }
        }
    }

    /// Asks for what a plan's commands need and no record holds: secrets, above all.
    fn ask_for(&mut self, missing: &[Missing]) -> Given<()> {
        for Missing { key, secret, prompt } in missing {
            let line = Line {
                heading: prompt.clone().unwrap_or_else(|| key.replace('_', " ")),
                place: None,
                default: None,
                hidden: *secret,
                can_go_back: false,
                summary: None,
                check: &|text| {
                    if text.trim().is_empty() { Err("it is empty".into()) } else { Ok(()) }
                },
            };
            if let Some(value) = self.line(&line)? {
                self.wishes.data.file.insert(key.clone(), value);
            }
        }
        Ok(())
    }
}

/// Looks whether another process has asked the session to pause, for as long as it lives.
struct Letters {
    is_over: Arc<AtomicBool>,
}

impl Letters {
    fn watch(conversation: &Conversation<'_>, cancelled: &Arc<AtomicBool>) -> Self {
        let (mailbox, cancelled) = (conversation.mailbox(), Arc::clone(cancelled));
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                if mailbox.has_mail() {
                    cancelled.store(true, Ordering::Relaxed);
                    return;
                }
                thread::sleep(LOOK);
            }
        });
        Self { is_over }
    }
}

impl Drop for Letters {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

pub(super) fn given<T>(reply: Reply<T>) -> Given<Option<T>> {
    match reply {
        Reply::Answer(given) => Ok(Some(given)),
        Reply::Back => Ok(None),
        Reply::Left(left) => Err(Stopped::Left(left)),
    }
}
