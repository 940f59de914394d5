//! One attempt of a planned command: begun, watched, and, if another run began it, taken up.

use std::{io, time::Duration};

use super::{
    RunError,
    attending::{TICK, until},
    calls::Call,
    run::Run,
    silence::Silence,
    tell::Told,
};
use crate::{
    exec::{
        Attempt, COOKIE, Finish, Order, Spec, Standing, Word, WordReader, read_next, with_setup,
    },
    model::{InFlight, PlanCommand},
    os,
};

/// Between asking a tree to end because its time is over and ending it.
const GRACE: Duration = Duration::from_secs(5);
/// How often the end of a command that another run began is looked for.
const LOOK: Duration = Duration::from_millis(20);
/// How often a supervisor that dies before it claims is replaced.
const LAUNCHES: usize = 5;

/// What came of waiting for an attempt.
#[derive(Debug)]
pub(super) enum AttemptEnd {
    Finished {
        finish: Box<Finish>,
        /// Whether an earlier run began it.
        recovered: bool,
    },
    /// It began, and nobody can know how it ended: why.
    Indeterminate(String),
    /// It goes on without us.
    Left,
}

/// An attempt while it is waited for.
struct Awaited<'t> {
    call: &'t Call<'t>,
    attempt: Attempt,
    order: Order,
    /// How much of its output was shown.
    shown: u64,
    /// Up to which level of stopping its supervisor was signalled.
    signalled: u8,
    /// What was known of stopping when it was last looked at.
    heard: (u8, bool),
    named: Vec<String>,
    silence: Silence,
    /// Since when a command that has the terminal is to give it back.
    told_to_go: Option<Duration>,
}

impl Run<'_> {
    /// Runs the attempt that `open` records, or takes it up where an earlier run left it.
    pub(super) async fn conclude(
        &self,
        call: &Call<'_>,
        open: &InFlight,
        begun_here: bool,
    ) -> Result<AttemptEnd, RunError> {
        let directory = self.around.store.home().attempt(&self.id(), open.seq);
        let attempt = Attempt::new(self.around.store.fs(), &directory);
        // No lock outlives the machine: one that is held says more than any name of a boot.
        if open.boot_id != self.boot_id && !attempt.is_claimed()? {
            return Ok(AttemptEnd::Indeterminate(
                "the machine was restarted while it was running".into(),
            ));
        }
        let mut awaited = Awaited {
            call,
            attempt,
            order: Order {
                plan: self.digest.clone(),
                task_ids: open.task_ids.clone(),
                command_index: open.command_index,
                command: open.command.clone(),
                idempotent: open.idempotent,
                cookie: open.cookie.clone(),
            },
            shown: 0,
            signalled: 0,
            heard: (0, false),
            named: Vec::new(),
            silence: Silence::default(),
            told_to_go: None,
        };
        if !begun_here {
            let (task_id, command) = (&call.first().id, &call.command.command);
            self.tell(Told::TakenUp { task_id, command });
        }
        let mut launched_here = false;
        let mut launches = 0;
        // One that was only just recorded cannot have been claimed by anyone.
        let mut standing = if begun_here && awaited.attempt.claim()?.is_none() {
            Standing::Unclaimed
        } else {
            awaited.attempt.standing(&open.cookie)?
        };
        loop {
            match standing {
                Standing::Unclaimed => {
                    if !begun_here && self.stop.is_asked() {
                        return Ok(AttemptEnd::Left);
                    }
                    launches += 1;
                    if launches > LAUNCHES {
                        let error = io::Error::other("its supervisor dies before it begins");
                        return Err(RunError::Attempt { id: self.id(), source: error });
                    }
                    let finish = self.start(&mut awaited, call.command).await?;
                    launched_here = true;
                    if let Some(finish) = finish {
                        return Ok(AttemptEnd::Finished { finish, recovered: false });
                    }
                }
                Standing::Another => {
                    // A recovery brought back numbers that had been used before.
                    self.around.store.put_attempt_aside(&self.id(), open.seq)?;
                }
                Standing::Finished(finish) => {
                    self.show_all_output(&mut awaited)?;
                    return Ok(AttemptEnd::Finished { finish, recovered: !launched_here });
                }
                Standing::Running(_) => self.pause_for(&mut awaited, LOOK).await?,
                Standing::Orphaned(names) => {
                    if awaited.named != names {
                        let text = format!(
                            "the supervisor of this command was killed; waiting for what it left: {}",
                            names.join(", ")
                        );
                        self.note(&text);
                        awaited.named = names;
                    }
                    self.pause_for(&mut awaited, TICK).await?;
                    if self.stop.is_asked() {
                        return Ok(AttemptEnd::Left);
                    }
                }
                Standing::Lost => {
                    self.show_all_output(&mut awaited)?;
                    return Ok(AttemptEnd::Indeterminate(
                        "its supervisor was killed while it was running".into(),
                    ));
                }
            }
            if self.stop.is_leaving() {
                return Ok(AttemptEnd::Left);
            }
            standing = awaited.attempt.standing(&open.cookie)?;
        }
    }

    /// Starts a supervisor and listens to it. `None` when it has nothing more to say and what has
    /// become of the attempt must be looked at.
    async fn start(
        &self,
        awaited: &mut Awaited<'_>,
        command: &PlanCommand,
    ) -> Result<Option<Box<Finish>>, RunError> {
        awaited.attempt.prepare()?;
        let spec = self.spec(awaited, command);
        let id = self.id();
        let failed = |source| RunError::Attempt { id: id.clone(), source };
        let settings = if command.interactive {
            self.signals.borrow_mut().leave_keys_to_command().map_err(failed)?;
            // Before it is kept as it is: whoever draws on it has set it otherwise.
            self.lend_terminal(true);
            let Ok(settings) = os::TerminalSettings::keep() else {
                self.lend_terminal(false);
                let problem = "it wants to talk with a person, and there is no terminal";
                return Ok(Some(Box::new(Finish::not_started(problem.into()))));
            };
            Some(settings)
        } else {
            None
        };
        let launched = self.launcher.borrow_mut().launch(&spec);
        let heard = match launched {
            Ok((supervisor, mut words)) => {
                self.keep(supervisor);
                drop(spec);
                self.listen(awaited, &mut words).await
            }
            Err(error) => Err(failed(error)),
        };
        if let Some(settings) = settings {
            drop(settings);
            self.lend_terminal(false);
        }
        heard
    }

    async fn listen(
        &self,
        awaited: &mut Awaited<'_>,
        words: &mut WordReader,
    ) -> Result<Option<Box<Finish>>, RunError> {
        loop {
            let heard = awaited.heard;
            let word = tokio::select! {
                biased;
                word = words.next() => word,
                () = until(|| self.heard() != heard) => {
                    awaited.heard = self.heard();
                    self.pass_on_stop(awaited)?;
                    if self.stop.is_leaving() && awaited.call.command.interactive {
                        // Without us it would sit on a terminal that belongs to somebody else.
                        awaited.attempt.end(awaited.told_to_go.is_some())?;
                        let now = self.around.clock.now().steady;
                        awaited.told_to_go.get_or_insert(now);
                    } else if self.stop.is_leaving() {
                        return Ok(None);
                    }
                    continue;
                }
                () = tokio::time::sleep(TICK) => {
                    self.show_output(awaited)?;
                    self.mention_silence(awaited);
                    self.show_time();
                    self.pass_on_stop(awaited)?;
                    let now = self.around.clock.now().steady;
                    if awaited.told_to_go.is_some_and(|since| now.saturating_sub(since) > GRACE) {
                        awaited.attempt.end(true)?;
                    }
                    continue;
                }
            };
            match word {
                Some(Word::Claimed) => tracing::trace!(step = "claimed"),
                Some(Word::Spawned) => {
                    tracing::trace!(step = "spawned");
                    self.pass_on_stop(awaited)?;
                }
                Some(Word::Finished(finish)) => {
                    tracing::trace!(step = "result");
                    if finish.bytes > 0 {
                        self.show_all_output(awaited)?;
                    }
                    return Ok(Some(finish));
                }
                Some(Word::NotClaimed { error, full }) => {
                    return Err(RunError::Unclaimed { id: self.id(), error, full });
                }
                Some(Word::ClaimedByAnother) | None => return Ok(None),
            }
        }
    }

    /// Lets time pass while another run's supervisor works.
    async fn pause_for(
        &self,
        awaited: &mut Awaited<'_>,
        duration: Duration,
    ) -> Result<(), RunError> {
        let heard = awaited.heard;
        tokio::select! {
            () = until(|| self.heard() != heard) => awaited.heard = self.heard(),
            () = tokio::time::sleep(duration) => {}
        }
        self.show_output(awaited)?;
        self.mention_silence(awaited);
        self.show_time();
        self.pass_on_stop(awaited)
    }

    /// Whoever shows how long something takes is told that time passes.
    fn show_time(&self) {
        self.tell(Told::Tick);
    }

    /// What is known of stopping, as far as commands are concerned.
    fn heard(&self) -> (u8, bool) {
        (self.stop.interrupts(), self.stop.is_leaving())
    }

    /// Whoever waits for a command that says nothing is told so now and then.
    fn mention_silence(&self, awaited: &mut Awaited<'_>) {
        // One that talks with a person is not silent for want of output that we could see.
        if self.is_screen_taken() {
            return;
        }
        if let Some(text) = awaited.silence.report(self.around.clock.now().steady) {
            self.note(&format!("{}: {text}", awaited.call.first().id));
        }
    }

    /// A person who insists is heard by the command too.
    fn pass_on_stop(&self, awaited: &mut Awaited<'_>) -> Result<(), RunError> {
        let level = self.stop.interrupts();
        if level >= 2 && awaited.signalled < level && awaited.attempt.end(level >= 3)? {
            awaited.signalled = level;
        }
        Ok(())
    }

    /// Shows the next of what was written, if there is any. Not all of it: one that writes without
    /// end must not keep us from hearing anything else.
    fn show_output(&self, awaited: &mut Awaited<'_>) -> Result<bool, RunError> {
        // It would run over the question that is on the screen.
        if self.is_screen_taken() { Ok(false) } else { self.show_next(awaited) }
    }

    fn show_next(&self, awaited: &mut Awaited<'_>) -> Result<bool, RunError> {
        let directory = awaited.attempt.directory();
        let Some(piece) = read_next(self.around.store.fs(), directory, awaited.shown)? else {
            return Ok(false);
        };
        awaited.silence.broken(self.around.clock.now().steady);
        let skipped = piece.start - awaited.shown;
        awaited.shown = piece.start + piece.bytes.len() as u64;
        let bytes = &piece.bytes;
        self.tell(Told::Output { task_id: &awaited.call.first().id, skipped, bytes });
        Ok(true)
    }

    /// Shows what is left of the output of a command that has ended.
    fn show_all_output(&self, awaited: &mut Awaited<'_>) -> Result<(), RunError> {
        while self.show_next(awaited)? {}
        Ok(())
    }

    fn spec(&self, awaited: &Awaited<'_>, command: &PlanCommand) -> Spec {
        let environment = &self.around.environment;
        let literal = command.env.iter().map(|(name, value)| (name.clone(), value.clone()));
        let cookie = [(COOKIE.to_owned(), awaited.order.cookie.clone())];
        let mut given: Vec<_> = self.data.variables().chain(literal).chain(cookie).collect();
        let names = environment.names_for_root(given.iter().map(|(name, _)| name.clone()));
        let rights = self.rights();
        given.extend(rights.variables(&names));
        let mut path = Vec::from_iter(rights.directory());
        for place in awaited.call.tasks.iter().flat_map(|task| self.path_of(task)) {
            if !path.contains(&place) {
                path.push(place);
            }
        }
        let place = command.working_dir.as_deref().map(|place| environment.expand(place));
        let sudo = rights.sudo();
        let as_root = command.requires_sudo && sudo.is_some();
        let mut text = with_setup(&self.setup_of(awaited.call.first(), false), &command.command);
        if as_root {
            text = with_setup(&environment.path_for_root(&path), &text);
        }
        Spec {
            directory: awaited.attempt.directory().into(),
            order: awaited.order.clone(),
            command: text,
            sudo,
            as_root,
            on_terminal: command.interactive,
            environment: if command.interactive {
                environment.variables_on_terminal(&path, given)
            } else {
                environment.variables(&path, given)
            },
            working_dir: place.unwrap_or_else(|| environment.home().into()),
            timeout_ms: command.timeout_seconds.map(|seconds| seconds.saturating_mul(1000)),
            grace_ms: u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX),
            boot_id: self.boot_id.clone(),
            secrets: self.data.secrets().into_iter().chain(rights.password()).collect(),
        }
    }
}
