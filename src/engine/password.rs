//! The password for sudo: asked of a person at most once, found right before it is used, and kept
//! nowhere but here. Programs that ask for it are answered as long as the run lasts.

use std::{
    io,
    os::unix::net::UnixListener as Socket,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    task::JoinHandle,
};

use super::{talk::Talk, tell::Asker};
use crate::{
    exec::{Environment, PasswordRequest, SudoDesk, finish_check},
    os,
};

/// How often a person may try.
const TRIES: usize = 3;
/// A person may have several, and root another one.
const QUESTION: &str = "your own password, for sudo";
/// The longest request that is read.
const LONGEST: u64 = 16 * 1024;

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Known,
    /// sudo took none of them: what it said last.
    Refused(String),
    /// sudo lets this user do nothing, whatever the password: what it said.
    Forbidden(String),
    /// The person would rather not.
    Declined,
}

/// Keeps the password, and answers those who may have it.
#[derive(Debug)]
pub(super) struct PasswordKeeper {
    asker: Asker,
    environment: Environment,
    desk: Arc<SudoDesk>,
    kept: Mutex<Kept>,
    /// One conversation at a time, whoever wants to know what.
    talk: Talk,
    is_asking: AtomicBool,
    cancelled: Arc<AtomicBool>,
}

#[derive(Default)]
struct Kept {
    /// One that is being tried, and the sudo that tries it.
    candidate: Option<(u32, String)>,
    /// Every sudo that was told: whoever asks again did not like the answer.
    told: Vec<(u32, u64)>,
    outcome: Option<Asked>,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

/// Who has asked: the sudo behind the program that came to the socket.
struct Inquirer {
    pid: u32,
    started: u64,
}

impl PasswordKeeper {
    pub(super) fn new(
        asker: Asker,
        environment: Environment,
        desk: Arc<SudoDesk>,
        talk: Talk,
    ) -> Arc<Self> {
        // An earlier run of this process may have asked already.
        let outcome = asker.password().map(|_| Asked::Known);
        Arc::new(Self {
            asker,
            environment,
            desk,
            kept: Mutex::new(Kept { outcome, ..Kept::default() }),
            talk,
            is_asking: AtomicBool::new(false),
            cancelled: Arc::default(),
        })
    }

    /// Answers whoever comes, until the handle is aborted. Must be called within a runtime.
    pub(super) fn serve(self: &Arc<Self>, socket: Socket) -> io::Result<JoinHandle<()>> {
        let listener = UnixListener::from_std(socket)?;
        let keeper = Arc::clone(self);
        Ok(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let keeper = Arc::clone(&keeper);
                // Whoever goes away in between needs no answer.
                tokio::spawn(async move { drop(keeper.attend_to(stream).await) });
            }
        }))
    }

    /// What must not appear in any output.
    pub(super) fn password(&self) -> Option<String> {
        self.asker.password()
    }

    /// Whether a person is being asked right now.
    pub(super) fn is_asking(&self) -> bool {
        self.is_asking.load(Ordering::Relaxed)
    }

    /// Ends the conversation with the person, if there is one: the run is to stop.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Sees to it that the password is known: asks for it and has sudo check it.
    pub(super) async fn know(&self, why: &str) -> Asked {
        // What is known keeps nobody waiting for what somebody else is asked.
        let known = self.kept().outcome.clone();
        if let Some(outcome) = known {
            return outcome;
        }
        let _one = self.talk.begin_for_command().await;
        let known = self.kept().outcome.clone();
        if let Some(outcome) = known {
            return outcome;
        }
        let outcome = self.ask_and_check(why).await;
        self.kept().outcome = Some(outcome.clone());
        outcome
    }

    async fn ask_and_check(&self, why: &str) -> Asked {
        let mut said = String::new();
        for number in 1..=TRIES {
            let text = if number == 1 {
                why.to_owned()
            } else {
                format!("sudo did not accept it ({said}); try {number} of {TRIES}")
            };
            let question = format!("{text}\n{QUESTION}");
            let Some(password) = self.ask(question).await else { return Asked::Declined };
            match self.check(password).await {
                Ok(()) => return Asked::Known,
                // No other password would help.
                Err(why) if is_about_rights(&why) => return Asked::Forbidden(why),
                Err(why) => said = why,
            }
        }
        Asked::Refused(said)
    }

    /// Keeps the password if sudo takes it.
    async fn check(&self, password: String) -> Result<(), String> {
        let child = {
            // It may ask before we know its number: until then nobody is answered.
            let mut kept = self.kept();
            let child = self.desk.begin_check(&self.environment).map_err(|e| e.to_string())?;
            kept.candidate = child.id().map(|pid| (pid, password.clone()));
            child
        };
        let checked = finish_check(child).await;
        self.kept().candidate = None;
        if checked.is_ok() {
            self.asker.remember(password);
        }
        checked
    }

    async fn ask(&self, text: String) -> Option<String> {
        let (asker, cancelled) = (self.asker.clone(), Arc::clone(&self.cancelled));
        cancelled.store(false, Ordering::Relaxed);
        self.is_asking.store(true, Ordering::Relaxed);
        let answer = tokio::task::spawn_blocking(move || asker.ask_secret(&text, &cancelled)).await;
        self.is_asking.store(false, Ordering::Relaxed);
        // One that cannot be asked has not answered.
        answer.ok()?.ok()?.filter(|secret| !secret.contains(['\n', '\0']))
    }

    async fn attend_to(&self, mut stream: UnixStream) -> io::Result<()> {
        let Some(inquirer) = inquirer(&stream) else { return Ok(()) };
        let mut line = String::new();
        BufReader::new((&mut stream).take(LONGEST)).read_line(&mut line).await?;
        let request: PasswordRequest = serde_json::from_str(&line)?;
        let answer = self.answer(&inquirer, &request).await.unwrap_or_default();
        stream.write_all(format!("{answer}\n").as_bytes()).await?;
        stream.shutdown().await
    }

    async fn answer(&self, inquirer: &Inquirer, request: &PasswordRequest) -> Option<String> {
        if !request.is_for_sudo() {
            // Something else that stands before sudo, such as a second factor.
            let _one = self.talk.begin_for_command().await;
            return self.ask(request.prompt.trim_end_matches([':', ' ']).to_owned()).await;
        }
        if let Some(candidate) = self.take_candidate(inquirer) {
            return candidate;
        }
        let asked_again = {
            let mut kept = self.kept();
            let known = (inquirer.pid, inquirer.started);
            let asked_again = kept.told.contains(&known);
            kept.told.push(known);
            asked_again
        };
        if asked_again {
            return None;
        }
        self.know("a command wants to run something as root").await;
        self.password()
    }

    /// What is being tried, for the one who tries it, once; `None` for everyone else.
    #[expect(clippy::option_option, reason = "whether it is its turn, and whether it gets one")]
    fn take_candidate(&self, inquirer: &Inquirer) -> Option<Option<String>> {
        let mut kept = self.kept();
        let (pid, candidate) = kept.candidate.as_mut()?;
        if *pid != inquirer.pid {
            return None;
        }
        let candidate = std::mem::take(candidate);
        Some((!candidate.is_empty()).then_some(candidate))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether sudo refuses the person rather than the password.
fn is_about_rights(said: &str) -> bool {
    ["may not run sudo", "not in the sudoers", "not allowed to"].iter().any(|w| said.contains(w))
}

/// Who is behind a connection, if it is one who may ask: a program of this user that a program with
/// root's rights has started, as sudo starts its askpass.
fn inquirer(stream: &UnixStream) -> Option<Inquirer> {
    let credentials = stream.peer_cred().ok()?;
    if credentials.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let pid = u32::try_from(credentials.pid()?).ok()?;
    let parent = os::parent(pid)?;
    os::has_rights_of_root(parent).then_some(())?;
    Some(Inquirer { pid: parent, started: os::started(parent)? })
}
