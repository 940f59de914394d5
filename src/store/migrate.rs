//! A document of an earlier format, written down as the present one has it: beside, never in place.

use std::path::PathBuf;

use super::{Note, Pen, Store, StoreError, document};
use crate::{
    disk::{self, create_if_absent},
    model::{Adaptation, SessionId},
};

/// A document that was migrated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The version it has.
    pub from: String,
    /// Where it is, as it was.
    pub original: PathBuf,
    pub path: PathBuf,
    pub changes: Vec<Adaptation>,
}

impl Store {
    /// Writes a legacy document in the present format beside the original, which is not touched;
    /// `None` if the session is in the present format.
    pub fn migrate(&self, id: &SessionId, pen: &Pen) -> Result<Option<Migrated>, StoreError> {
        if self.legacy(id)?.is_none() {
            return Ok(None);
        }
        self.home.prepare(&self.fs)?;
        create_if_absent(&self.fs, &self.home.record(id))?;
        self.fs.sync_dir(&self.home.records())?;
        let _lock = self.lock(id, pen)?;
        // It may have been taken over before the lock was ours.
        let Some((loaded, from, changes)) = self.legacy(id)? else { return Ok(None) };
        create_if_absent(&self.fs, &self.home.artifacts(id))?;
        self.fs.sync_dir(&self.home.record(id))?;
        let path = self.home.artifacts(id).join("migrated.json");
        let bytes = document::print(&loaded.session.migrated());
        tracing::trace!(step = "migrate");
        disk::save(&self.fs, &path, &bytes, None)?;
        tracing::trace!(step = "migrated");
        Ok(Some(Migrated { from, original: loaded.path, path, changes }))
    }

    fn legacy(
        &self,
        id: &SessionId,
    ) -> Result<Option<(super::Loaded, String, Vec<Adaptation>)>, StoreError> {
        let loaded = self.load(id)?;
        let legacy = loaded.notes.iter().find_map(|note| match note {
            Note::Legacy { version, adapted } => Some((version.clone(), adapted.clone())),
            _ => None,
        });
        Ok(legacy.map(|(version, adapted)| (loaded, version, adapted)))
    }
}
