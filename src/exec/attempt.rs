//! An attempt as its directory tells it, to a runner that may not be the one that began it.

use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::{
    Claim, Finish,
    claim::{ALIVE, RESULT},
    finish,
};
use crate::{
    disk::{DiskError, Fs, create_if_absent, if_there},
    os::{self, Process, Sent},
};

#[derive(Clone, Debug)]
pub struct Attempt {
    fs: Fs,
    directory: PathBuf,
}

/// What has become of an attempt that was begun in this boot of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No supervisor has taken it: nothing has run, and it can be started.
    Unclaimed,
    /// Another attempt of that number left its directory here: nothing of this one has run.
    Another,
    /// Its supervisor lives: a result will come.
    Running(Claim),
    Finished(Box<Finish>),
    /// Its supervisor is gone without a result, and something of it still runs: what that is.
    Orphaned(Vec<String>),
    /// Its supervisor is gone without a result, and nothing is left: how it ended nobody knows.
    Lost,
}

impl Attempt {
    pub fn new(fs: &Fs, directory: &Path) -> Self {
        Self { fs: fs.clone(), directory: directory.into() }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes the attempt's directory, unless it is there.
    pub fn prepare(&self) -> Result<(), DiskError> {
        if if_there(create_if_absent(&self.fs, &self.directory))?.is_none() {
            create_if_absent(&self.fs, self.directory.parent().unwrap_or(&self.directory))?;
            create_if_absent(&self.fs, &self.directory)?;
        }
        Ok(())
    }

    /// Valid only for an attempt of this boot: after another one files tell nothing.
    pub fn standing(&self, cookie: &str) -> Result<Standing, DiskError> {
        let Some((claim, file)) = Claim::read(&self.fs, &self.directory)? else {
            return Ok(Standing::Unclaimed);
        };
        if claim.order.as_ref().is_some_and(|order| order.cookie != cookie) {
            return Ok(Standing::Another);
        }
        // The order matters: a result is published before the claim is let go.
        let locked = file.is_locked()?;
        if let Some(finish) = finish::read(&self.fs, &self.directory.join(RESULT))? {
            return Ok(Standing::Finished(Box::new(finish)));
        }
        if locked {
            return Ok(Standing::Running(claim));
        }
        // Nobody's number leads a session that could be looked for.
        let leader = if claim.pid == 0 { u32::MAX } else { claim.pid };
        let remains = os::remains(leader, claim.start_time, cookie);
        let mut names: Vec<_> =
            remains.iter().map(|process| format!("{} ({})", process.name, process.pid)).collect();
        if names.is_empty() && self.is_alive()? {
            names.push("a process that cannot be seen".into());
        }
        Ok(if names.is_empty() { Standing::Lost } else { Standing::Orphaned(names) })
    }

    /// Who claimed it, if anyone did.
    pub fn claim(&self) -> Result<Option<Claim>, DiskError> {
        Ok(Claim::read(&self.fs, &self.directory)?.map(|(claim, _)| claim))
    }

    /// How it ended, if that was written down.
    pub fn result(&self) -> Result<Option<Finish>, DiskError> {
        finish::read(&self.fs, &self.directory.join(RESULT))
    }

    /// Whether a supervisor holds it now.
    pub fn is_claimed(&self) -> Result<bool, DiskError> {
        let claim = Claim::read(&self.fs, &self.directory)?;
        claim.map_or(Ok(false), |(_, file)| file.is_locked())
    }

    /// Asks the supervisor to end the command: at first politely, then not. Whether there was one
    /// to ask.
    pub fn end(&self, harshly: bool) -> Result<bool, DiskError> {
        let Some((claim, file)) = Claim::read(&self.fs, &self.directory)? else {
            return Ok(false);
        };
        // While the claim is locked its number is that of the supervisor and of nobody else.
        if claim.pid == 0 || !file.is_locked()? {
            return Ok(false);
        }
        let supervisor = Process {
            pid: claim.pid,
            parent: 0,
            session: claim.sid,
            name: String::new(),
            started: claim.start_time,
        };
        // On a terminal anyone can type the one: there, another means it.
        let is_on_terminal = claim.sid != claim.pid;
        let signal = match (harshly, is_on_terminal) {
            (false, _) => Signal::TERM,
            (true, false) => Signal::QUIT,
            (true, true) => Signal::USR1,
        };
        Ok(os::signal(&supervisor, signal) == Sent::Sent)
    }

    /// Whether something that the command started still holds its sign of life.
    pub fn is_alive(&self) -> Result<bool, DiskError> {
        let alive = if_there(self.fs.open_read(&self.directory.join(ALIVE)))?;
        alive.map_or(Ok(false), |file| file.is_locked())
    }
}
