//! The plan of a session, kept beside its journal: what is executed, now and after a resume.

use super::{Store, StoreError, error::PlanFileError, layout::create_if_absent};
use crate::{
    disk,
    model::{Digest, Plan, SessionId},
};

/// The most bytes a plan may have: some hundred thousand commands.
pub const LARGEST_PLAN: u64 = 64 * 1024 * 1024;

impl Store {
    /// Keeps the plan of a session that is about to begin. Durable once the record's directory is
    /// synced, which the first event waits for. The caller holds the session's lock.
    pub(super) fn save_plan(&self, id: &SessionId, plan: &Plan) -> Result<(), StoreError> {
        create_if_absent(&self.fs, &self.home.artifacts(id))?;
        let mut text = serde_json::to_vec_pretty(plan).unwrap_or_default();
        text.push(b'\n');
        Ok(disk::save(&self.fs, &self.home.plan(id), &text, None)?)
    }

    /// Keeps a plan in the place of one that is gone or cannot be read, which is set aside.
    /// The caller holds the session's lock.
    pub(super) fn replace_plan(&self, id: &SessionId, plan: &Plan) -> Result<(), StoreError> {
        if matches!(self.plan(id), Ok(Some(kept)) if kept == *plan) {
            return Ok(());
        }
        self.keep_aside(id, &self.home.plan(id), "plan")?;
        self.save_plan(id, plan)?;
        Ok(self.fs.sync_dir(&self.home.record(id))?)
    }

    /// The plan that was kept; `None` if there is none.
    pub fn plan(&self, id: &SessionId) -> Result<Option<Plan>, StoreError> {
        let path = self.home.plan(id);
        let damaged = |source| StoreError::Plan { id: id.clone(), path: path.clone(), source };
        let bytes = match disk::read_whole(&self.fs, &path, LARGEST_PLAN) {
            Ok(bytes) => bytes
                .map_err(|found| damaged(PlanFileError::TooLarge { found, limit: LARGEST_PLAN }))?,
            Err(error) if error.not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| damaged(PlanFileError::NotAPlan(error)))
    }

    /// The plan of a session that has approved the one with `digest`.
    pub fn approved_plan(&self, id: &SessionId, digest: &Digest) -> Result<Plan, StoreError> {
        let damaged =
            |source| StoreError::Plan { id: id.clone(), path: self.home.plan(id), source };
        let plan = self.plan(id)?.ok_or_else(|| damaged(PlanFileError::Missing))?;
        let found = plan.compute_digest();
        if found == *digest {
            Ok(plan)
        } else {
            Err(damaged(PlanFileError::OtherPlan { expected: digest.clone(), found }))
        }
    }
}
