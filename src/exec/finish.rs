//! How an attempt ended: the file `result`, whole or not there.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::claim::create_own;
use crate::{
    disk::{DiskError, File, Fs, if_there},
    model::{AttemptOutcome, Digest},
};

/// More than any result has. Written before the command starts, so that a disk that fills up
/// meanwhile still has room for it.
const ROOM: usize = 2048;
const CHECKSUM: usize = Digest::LENGTH;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finish {
    pub outcome: AttemptOutcome,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub duration_ms: u64,
    /// How much the command wrote.
    pub bytes: u64,
    /// How much of that, after redaction, could not be kept because the disk was full.
    pub dropped: u64,
    /// SHA-256 of the redacted output.
    pub hash: Digest,
    /// Processes it left behind.
    pub descendants: usize,
    /// The names of some of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<String>,
    /// Why it could not be started.
    pub problem: Option<String>,
}

impl Finish {
    /// One of which nothing has run: why.
    pub fn not_started(problem: String) -> Self {
        Self {
            outcome: AttemptOutcome::NotStarted,
            exit_code: None,
            signal: None,
            duration_ms: 0,
            bytes: 0,
            dropped: 0,
            hash: checksum(b""),
            descendants: 0,
            survivors: Vec::new(),
            problem: Some(problem),
        }
    }
}

/// A result to come: room for it is taken.
#[derive(Debug)]
pub(super) struct Room(File);

impl Room {
    pub(super) fn take(fs: &Fs, path: &Path) -> Result<Self, DiskError> {
        let file = create_own(fs, path)?;
        file.write_all_at(&[b' '; ROOM], 0)?;
        Ok(Self(file))
    }

    /// Publishes `finish` as `path`: from then on it is there, whole. Not synced: it outlives every
    /// process, and the journal outlives the machine.
    pub(super) fn publish(self, fs: &Fs, finish: &Finish, path: &Path) -> Result<(), DiskError> {
        let text = serde_json::to_vec(finish).unwrap_or_default();
        let mut bytes = checksum(&text).as_str().as_bytes().to_vec();
        bytes.push(b'\n');
        bytes.extend_from_slice(&text);
        bytes.push(b'\n');
        self.0.write_all_at(&bytes, 0)?;
        self.0.set_len(bytes.len() as u64)?;
        fs.rename(self.0.path(), path)
    }
}

/// The result at `path`; `None` if there is none, or none that can be trusted.
pub(super) fn read(fs: &Fs, path: &Path) -> Result<Option<Finish>, DiskError> {
    let Some(file) = if_there(fs.open_read(path))? else { return Ok(None) };
    let bytes = file.read_from(0)?;
    let Some((sum, text)) = bytes.split_at_checked(CHECKSUM) else { return Ok(None) };
    let text = text.strip_prefix(b"\n").and_then(|text| text.strip_suffix(b"\n"));
    let whole = text.filter(|text| checksum(text).as_str().as_bytes() == sum);
    Ok(whole.and_then(|text| serde_json::from_slice(text).ok()))
}

fn checksum(text: &[u8]) -> Digest {
    Digest::of(Sha256::digest(text).into())
}
