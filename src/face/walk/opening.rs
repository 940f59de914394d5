//! `session_check`: what is there from before, and what can be done with it.

use std::{fmt::Write, time::Duration};

use super::walker::{Given, Stopped, Walker};
use crate::{
    engine::{
        self, Candidate, Catalog, Conversation, Ended, Failed, Found, Inheritance, RunError, Stack,
    },
    face::{
        already_text, candidate_text, comma_list, completion_text, drift_line,
        durations::ago,
        plural, status_text,
        terminal::{Choice, Lettered},
        visible,
    },
    model::{Phase, Session, SessionId, SessionStatus, TaskStatus, Timestamp},
};

/// How long whoever comes waits to be told what has changed.
const GLANCE: Duration = Duration::from_millis(1500);

/// What a person chose to do with what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Resume(Failed),
    Fresh,
    Show,
    Add,
    Exit,
}

impl Walker<'_> {
    /// Runs the whole walk: shows earlier sessions, and runs the action that the person chooses.
    pub fn walk(&mut self) -> Given<Option<Ended>> {
        self.say(&format!("{}\n", self.paint().bold("provision")));
        self.tell_drift()?;
        loop {
            let Some(found) = engine::newest_of_interest(self.around)? else {
                self.say(
                    "It asks what you need, shows a plan, and runs nothing before you say so.\n",
                );
                return self.begin(None);
            };
            let id = found.session.meta.id.clone();
            match self.wish(&found)? {
                Wish::Resume(failed) => {
                    if engine::waits_for_answers(self.around, &id)? {
                        return self.go_on_talking(&id);
                    }
                    return self.resume(&id, failed);
                }
                Wish::Fresh => return self.begin(None),
                Wish::Add => {
                    if let Some(ended) = self.add_to(&id)? {
                        return Ok(Some(ended));
                    }
                }
                Wish::Show => self.show(&id, found.session.meta.status)?,
                Wish::Exit => return Ok(None),
            }
        }
    }

    /// What has changed on the machine since its sessions, in a line.
    fn tell_drift(&self) -> Given<()> {
        match engine::drift_at_a_glance(self.around, self.catalog, GLANCE) {
            Ok(drift) => {
                if let Some(line) = drift.as_ref().and_then(drift_line) {
                    self.say(&format!("{}\n", self.terminal().wrapped(&line, 0)));
                }
                Ok(())
            }
            Err(RunError::Interrupted) => Err(Stopped::Error(RunError::Interrupted)),
            // Whoever comes to set something up can do that all the same; `audit` says what is wrong.
            Err(_) => Ok(()),
        }
    }

    /// Asks which of several sessions to resume.
    pub fn which(&self, candidates: &[Candidate]) -> Given<SessionId> {
        let now = self.around.clock.now().wall;
        let lettered: Vec<_> = ('A'..='Z').zip(candidates).collect();
        let more = candidates.len().saturating_sub(lettered.len());
        let mut heading = "Which session do you want to go on with?".to_owned();
        if more > 0 {
            let _ = write!(heading, "\n{}: provision sessions", plural(more, "older one"));
        }
        let choice = Choice {
            heading,
            options: lettered
                .iter()
                .map(|(letter, candidate)| {
                    let note = candidate.expiry.note();
                    let option = Lettered::new(*letter, candidate_text(candidate, &now));
                    let id = candidate.id.as_str();
                    option.meaning(note.map_or_else(|| id.into(), |note| format!("{id}; {note}")))
                })
                .collect(),
            summary: Some("Session".into()),
            ..Choice::default()
        };
        loop {
            let Some(letter) = self.choose(&choice)? else { continue };
            if let Some((_, chosen)) = lettered.iter().find(|(known, _)| *known == letter) {
                return Ok(chosen.id.clone());
            }
        }
    }

    fn wish(&self, found: &Found) -> Given<Wish> {
        let (heading, offers) = offers(found, &self.around.clock.now().wall);
        let choice = Choice {
            heading,
            options: offers.iter().map(|(option, _)| option.clone()).collect(),
            summary: Some("Earlier session".into()),
            passing: offers
                .iter()
                .filter(|(_, w)| *w == Wish::Show)
                .map(|(o, _)| o.letter)
                .collect(),
            ..Choice::default()
        };
        loop {
            let Some(letter) = self.choose(&choice)? else { continue };
            let chosen = offers.iter().find(|(option, _)| option.letter == letter);
            if let Some((_, wish)) = chosen {
                return Ok(*wish);
            }
        }
    }

    fn go_on_talking(&mut self, id: &SessionId) -> Given<Option<Ended>> {
        let loaded = self.around.store.load(id).map_err(RunError::from)?;
        let layers = self.around.layers.or_recorded(&loaded.session.profile.catalogs);
        if layers.named == self.around.layers.named {
            return self.converse(Conversation::take_up(self.around, self.catalog, id)?);
        }
        // It was begun with folders of its own.
        let catalog = engine::load_catalog(self.around, &layers)?;
        self.with_catalog(&catalog).take_up(id)
    }

    fn with_catalog<'c>(&'c self, catalog: &'c Catalog) -> Walker<'c> {
        Walker::new(
            self.around,
            catalog,
            self.screen.clone(),
            self.request.clone(),
            self.wishes.clone(),
        )
    }

    /// More tools for a session that is complete; `None` if none are wanted after all.
    pub(super) fn add_to(&mut self, id: &SessionId) -> Given<Option<Ended>> {
        loop {
            let Some(tasks) = self.pick_tools("Which tools should be added?", &[])? else {
                return Ok(None);
            };
            if tasks.is_empty() {
                return Ok(None);
            }
            let inherited = engine::inheritance(self.around, self.catalog, id, &tasks)?;
            self.say(&already_text(&inherited));
            if !inherited.is_empty() {
                return self.expand_with(inherited);
            }
        }
    }

    /// A new session beside one that is complete.
    pub(super) fn expand_with(&mut self, inherited: Inheritance) -> Given<Option<Ended>> {
        let stack = Stack {
            profile: inherited.profile.clone(),
            catalogs: self.around.layers.recorded(),
            add: inherited.tasks.clone(),
            ..Stack::default()
        };
        self.converse(Conversation::begin(self.around, self.catalog, stack, Some(inherited))?)
    }

    fn show(&self, id: &SessionId, status: SessionStatus) -> Given<()> {
        let terminal = self.terminal();
        if status == SessionStatus::Completed {
            let summary = engine::summary(self.around, id)?;
            terminal.say(&completion_text(&summary, terminal));
            return Ok(());
        }
        let context = engine::context_of(self.around, id)?;
        terminal.say(&status_text(&context));
        terminal.say("\n");
        Ok(())
    }
}

/// What is said of a session, and what is offered.
fn offers(found: &Found, now: &Timestamp) -> (String, Vec<(Lettered, Wish)>) {
    let session = &found.session;
    let (id, phase) = (&session.meta.id, session.phase.current);
    let count = |status| session.tasks.values().filter(|task| task.status == status).count();
    let done = count(TaskStatus::Completed);
    let profile = session.profile.selected.as_deref().unwrap_or("no stack chosen yet");
    let what = format!("{} ({id}, {})", visible(profile), ago(now, &session.meta.updated_at));
    let fresh = |letter| {
        let fresh = Lettered::new(letter, "Start fresh");
        (fresh.meaning("a new session; this one stays as it is"), Wish::Fresh)
    };
    let exit = |letter| (Lettered::new(letter, "Exit").meaning("nothing is changed"), Wish::Exit);
    let others = match found.others {
        0 => String::new(),
        some => {
            format!("\n{} not finished, either: provision sessions", plural(some, "older session"))
        }
    };
    let place = match &session.resume_point {
        _ if phase < Phase::PresentPlan => "at the question where you left it".to_owned(),
        _ if phase == Phase::PresentPlan => "with its plan, which waits for you".to_owned(),
        Some(point) => format!("at command {} of {}", point.command_index + 1, point.task_id),
        None => format!("in {phase}"),
    };
    match session.meta.status {
        SessionStatus::InProgress | SessionStatus::Paused => {
            let total = session.tasks.len();
            let progress = match total {
                _ if phase <= Phase::PresentPlan => format!("It stands in {phase}."),
                total => format!("{done} of {} done; it stands {place}.", plural(total, "task")),
            };
            let failed = names_of_failed(session);
            let progress = match failed.as_str() {
                "" => progress,
                names => format!("{progress} {names} failed."),
            };
            let note = found.expiry.note().map_or_else(String::new, |note| format!("\n{note}"));
            if found.is_running {
                let heading =
                    format!("Another process is working on a session: {what}.\n{progress}");
                let show = Lettered::new('A', "Show it").meaning("where it stands right now");
                return (heading, vec![(show, Wish::Show), fresh('B'), exit('C')]);
            }
            let heading = format!(
                "There is a session you have not finished: {what}.\n{progress}{note}{others}"
            );
            let resume = Lettered::new('A', "Resume")
                .meaning(format!("go on {place}; nothing is done twice"));
            let show = Lettered::new('C', "Show it")
                .meaning("what was done, what is left, and why it stopped");
            (
                heading,
                vec![
                    (resume, Wish::Resume(Failed::Retry)),
                    fresh('B'),
                    (show, Wish::Show),
                    exit('D'),
                ],
            )
        }
        SessionStatus::Failed => {
            let names = names_of_failed(session);
            let heading = format!(
                "Your last session failed: {what}.\n{done} of {} done; {names} failed.{others}",
                plural(session.tasks.len(), "task")
            );
            let retry = Lettered::new('A', "Retry").meaning(format!("go on {place}"));
            let skip = Lettered::new('B', "Skip")
                .meaning(format!("pass by {names} and what needs it, do the rest"));
            let show =
                Lettered::new('D', "Show it").meaning("what failed, and what is known of why");
            (
                heading,
                vec![
                    (retry, Wish::Resume(Failed::Retry)),
                    (skip, Wish::Resume(Failed::Skip)),
                    fresh('C'),
                    (show, Wish::Show),
                    exit('E'),
                ],
            )
        }
        SessionStatus::Completed => {
            let heading =
                format!("This machine was set up before: {what}, {}.", plural(done, "task"));
            let add =
                Lettered::new('A', "Add tools").meaning("find more, and add them to what is there");
            let show = Lettered::new('C', "Show what is installed").meaning("with versions");
            (heading, vec![(add, Wish::Add), fresh('B'), (show, Wish::Show), exit('D')])
        }
    }
}

fn names_of_failed(session: &Session) -> String {
    let failed = session.tasks.values().filter(|task| task.status == TaskStatus::Failed);
    comma_list(failed.map(|task| &task.task_id))
}
