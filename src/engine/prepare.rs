//! A walk without a person, gone through in memory up to its plan: nothing is written before it is
//! certain that it leads there, and everything that keeps it from doing so is told at once.

use indexmap::IndexMap;

use super::{
    Approval, RunError, rehearsing::Rehearsing, request::Request, sessions::approves,
    signals::Signals,
};
use crate::{
    catalog::Catalog,
    exec::Environment,
    flow::{Input, Rehearsal},
    model::{Digest, EventKind, Plan, Platform, SessionCreated, SessionId, Timestamp},
};

/// A walk that leads to a plan.
pub struct Prepared {
    pub plan: Plan,
    pub digest: Digest,
    /// What is to be known besides.
    pub notes: Vec<String>,
    /// What happened on the way, apart from the beginning of the session.
    pub(super) events: Vec<EventKind>,
    /// In memory, and nowhere else.
    pub(super) secrets: IndexMap<String, String>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("digest", &self.digest).finish_non_exhaustive()
    }
}

/// What a walk without a person is gone through with.
pub(super) struct Preparation<'a> {
    pub catalog: &'a Catalog,
    pub catalogs: Vec<String>,
    pub platform: Platform,
    pub environment: &'a Environment,
    pub request: &'a Request,
    pub created: SessionCreated,
    pub now: Timestamp,
    pub unfinished: Vec<SessionId>,
    /// What an earlier session was told, and this one need not be told again.
    pub copied: Vec<EventKind>,
    /// By which the plan is approved, and run at once: then secrets are needed, too.
    pub approval: Option<&'a Approval>,
    pub signals: &'a mut Signals,
}

/// Goes through the walk.
pub(super) async fn prepare(with: Preparation<'_>) -> Result<Prepared, RunError> {
    let Preparation { catalog, request, .. } = with;
    let session = Rehearsal::begin(with.created, with.now)?;
    let mut walk = Rehearsing::new(catalog, &with.platform, request, session);
    walk.needs_secrets = with.approval.is_some();
    walk.step(Input::Checked { unfinished: with.unfinished })?;
    if !walk.choose_stack(catalog, with.catalogs)? {
        return Err(RunError::Unready(Box::new(walk.unready)));
    }
    walk.session.record(with.copied)?;
    let plan = walk.lead_to_plan(catalog, with.environment, with.signals).await?;
    let digest = plan.compute_digest();
    if let Some(approval) = with.approval {
        let (by, mode) = (approves(approval, &digest)?, request.mode);
        walk.step(Input::Approve { digest: digest.clone(), by, mode })?;
    }
    let Rehearsing { session, secrets, notes, .. } = walk;
    Ok(Prepared { plan, digest, notes, events: session.into_events(), secrets })
}
