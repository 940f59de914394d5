//! Root's rights during a run: commands find our `sudo`, and a person is asked for the password
//! before anything runs, if one is needed at all.

use std::{path::PathBuf, sync::Arc};

use tokio::task::JoinHandle;

use super::{
    RunError,
    password::{Asked, PasswordKeeper},
    run::{Run, Surroundings},
    talk::Talk,
};
use crate::{
    exec::{Rights, SudoDesk, sudo_wants_password},
    flow,
    model::{PauseReason, SessionId, TaskId},
};

/// What commands are given to become root with.
#[derive(Debug)]
pub(super) struct RootRights {
    desk: Option<Arc<SudoDesk>>,
    keeper: Option<Arc<PasswordKeeper>>,
    serving: Option<JoinHandle<()>>,
    rights: Rights,
}

impl Drop for RootRights {
    fn drop(&mut self) {
        if let Some(serving) = &self.serving {
            serving.abort();
        }
    }
}

/// Why a run cannot go on without a person.
pub(super) struct NotAuthorized {
    pub reason: PauseReason,
    pub context: String,
}

impl RootRights {
    pub(super) fn none() -> Self {
        Self { desk: None, keeper: None, serving: None, rights: Rights::Missing }
    }

    fn set_up(around: &Surroundings, id: &SessionId, talk: &Talk) -> std::io::Result<Self> {
        let rights = around.environment.rights();
        let place = around.store.home().helpers(id);
        let mut desk = SudoDesk::set_up(around.store.fs(), &place)?;
        let Some(asker) = around.asker.clone().filter(|_| rights == Rights::Sudo) else {
            let desk = Some(Arc::new(desk));
            return Ok(Self { desk, keeper: None, serving: None, rights });
        };
        let socket = desk.listen()?;
        let desk = Arc::new(desk);
        let environment = around.environment.clone();
        let keeper = PasswordKeeper::new(asker, environment, Arc::clone(&desk), talk.clone());
        let serving = Some(keeper.serve(socket)?);
        Ok(Self { desk: Some(desk), keeper: Some(keeper), serving, rights })
    }

    /// What comes first in a command's PATH.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        self.desk.as_ref().map(|desk| desk.directory().into())
    }

    pub(super) fn variables(&self, names: &[String]) -> Vec<(String, String)> {
        let desk = self.desk.as_ref();
        desk.map_or_else(Vec::new, |desk| desk.variables(names, self.keeper.is_some()))
    }

    /// What becomes root, where we are not.
    pub(super) fn sudo(&self) -> Option<PathBuf> {
        self.desk.as_ref().filter(|_| self.rights != Rights::Root).map(|desk| desk.program())
    }

    pub(super) fn password(&self) -> Option<String> {
        self.keeper.as_ref().and_then(|keeper| keeper.password())
    }

    pub(super) fn is_asking(&self) -> bool {
        self.keeper.as_ref().is_some_and(|keeper| keeper.is_asking())
    }

    pub(super) fn cancel_asking(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.cancel();
        }
    }
}

impl Run<'_> {
    /// Makes ready what commands need to become root, and asks for the password if it will be
    /// needed. Why it cannot go on, if it cannot.
    pub(super) async fn get_rights(&self) -> Result<Option<NotAuthorized>, RunError> {
        let id = self.id();
        match RootRights::set_up(self.around, &id, &self.talk) {
            Ok(rights) => self.have_rights(rights),
            Err(error) => {
                let context =
                    format!("what commands need to become root cannot be set up: {error}");
                return Ok(Some(NotAuthorized { reason: PauseReason::SystemError, context }));
            }
        }
        let tasks = flow::tasks_that_want_root(&self.session(), &self.plan);
        if tasks.is_empty() || self.rights().rights != Rights::Sudo {
            return Ok(None);
        }
        let around = self.around;
        let wants_password = sudo_wants_password(&around.environment).await;
        // Whoever has asked to stop meanwhile is not asked for anything.
        if !wants_password || self.stop.is_asked() {
            return Ok(None);
        }
        let Some(keeper) = self.rights().keeper.clone() else {
            self.note(
                "sudo wants a password, and nobody is here to give it: what needs it will fail",
            );
            return Ok(None);
        };
        let names = tasks.iter().map(TaskId::as_str);
        let why = format!("root's rights are needed for {}", flow::gates::some_of(names));
        Ok(match keeper.know(&why).await {
            Asked::Known => None,
            Asked::Refused(said) => Some(NotAuthorized {
                reason: PauseReason::CheckpointFailed,
                context: format!("sudo did not accept the password: {said}"),
            }),
            Asked::Forbidden(said) => Some(NotAuthorized {
                reason: PauseReason::CheckpointFailed,
                context: format!(
                    "this user may not use sudo, an administrator must allow it: {said}"
                ),
            }),
            Asked::Declined => {
                let why = self.stop.reason();
                let context = why.unwrap_or_else(|| "no password was given for sudo".into());
                Some(NotAuthorized { reason: PauseReason::UserRequest, context })
            }
        })
    }
}
