//! The plan of a session, kept beside its journal: what is executed, now and after a resume.

use std::path::{Path, PathBuf};

use super::{Store, StoreError, error::PlanFileError};
use crate::{
    disk::{self, create_if_absent},
    model::{Digest, Document, Plan, SessionId, TaskRecord},
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

    /// Keeps another plan, and the one before as `plan.v1.json`, `plan.v2.json` and so on. Until the
    /// record names the new one, the one before is still found by its digest. The caller holds the
    /// session's lock.
    pub(super) fn supersede_plan(
        &self,
        id: &SessionId,
        plan: &Plan,
    ) -> Result<Option<String>, StoreError> {
        let mut number = 1;
        let version = loop {
            let version = version_of("plan", number);
            let path = self.home.artifacts(id).join(&version);
            match self.fs.link(&self.home.plan(id), &path) {
                Ok(()) => break Some(version),
                Err(error) if error.already_exists() => number += 1,
                Err(error) if error.not_found() => break None,
                Err(error) => return Err(error.into()),
            }
        };
        self.fs.sync_dir(&self.home.artifacts(id))?;
        self.save_plan(id, plan)?;
        Ok(version)
    }

    /// Keeps the record of a task as it is, as `task-ID.v1.json` and so on. The caller holds the
    /// session's lock.
    pub(super) fn archive_task(
        &self,
        id: &SessionId,
        task: &TaskRecord,
    ) -> Result<String, StoreError> {
        let artifacts = self.home.artifacts(id);
        create_if_absent(&self.fs, &artifacts)?;
        let mut number = 1;
        let name = loop {
            let name = version_of(&format!("task-{}", task.task_id), number);
            if self.fs.stat(&artifacts.join(&name))?.is_none() {
                break name;
            }
            number += 1;
        };
        let mut text = serde_json::to_vec_pretty(task).unwrap_or_default();
        text.push(b'\n');
        disk::save(&self.fs, &artifacts.join(&name), &text, None)?;
        Ok(name)
    }

    fn plan_version(&self, id: &SessionId, number: usize) -> PathBuf {
        self.home.artifacts(id).join(version_of("plan", number))
    }

    /// The plan that was kept; `None` if there is none.
    pub fn plan(&self, id: &SessionId) -> Result<Option<Plan>, StoreError> {
        self.plan_at(id, &self.home.plan(id))
    }

    /// The plan that a session has: one that was to take its place and is not on record is not it.
    pub fn plan_of(&self, session: &Document) -> Result<Option<Plan>, StoreError> {
        let id = &session.meta.id;
        if let Some(digest) = &session.plan.digest
            && let Ok(plan) = self.approved_plan(id, digest)
        {
            return Ok(Some(plan));
        }
        self.plan(id)
    }

    fn plan_at(&self, id: &SessionId, path: &Path) -> Result<Option<Plan>, StoreError> {
        let damaged = |source| StoreError::Plan { id: id.clone(), path: path.into(), source };
        let read = disk::if_there(disk::read_whole(&self.fs, path, LARGEST_PLAN))?;
        let Some(bytes) = read else { return Ok(None) };
        let limit = LARGEST_PLAN;
        let bytes = bytes.map_err(|found| damaged(PlanFileError::TooLarge { found, limit }))?;
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
            return Ok(plan);
        }
        // One that was to take its place, and was not recorded any more.
        let mut number = 1;
        while let Some(earlier) = self.plan_at(id, &self.plan_version(id, number))? {
            if earlier.compute_digest() == *digest {
                return Ok(earlier);
            }
            number += 1;
        }
        Err(damaged(PlanFileError::OtherPlan { expected: digest.clone(), found }))
    }
}

/// What the `number`th earlier version of an artifact is called.
fn version_of(artifact: &str, number: usize) -> String {
    format!("{artifact}.v{number}.json")
}
