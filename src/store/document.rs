//! One session document as bytes: read with care, and printed with a seal.
//!
//! The last key of a document that this program wrote is `checksum`, the SHA-256 of every byte
//! before it. A document whose seal fits is as it was written. One whose seal does not fit, or that
//! has none, may be right all the same: then the journal must say so.

use std::path::Path;

use chrono::{DateTime, Local, LocalResult, NaiveDateTime, TimeDelta, TimeZone};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{StoreError, error::DocumentError};
use crate::{
    disk::{self, Fs},
    model::{Adaptation, Digest, Document, SessionId, VERSION, is_legacy, modernize},
};

/// The most bytes a document may have: a hundred times what ten thousand commands take.
pub(super) const LARGEST_DOCUMENT: u64 = 128 * 1024 * 1024;

/// The key of the seal.
const CHECKSUM: &str = "checksum";
const BEFORE_SEAL: &[u8] = b",\n  \"checksum\": \"";
const AFTER_SEAL: &[u8] = b"\"\n}\n";
const SEAL: usize = BEFORE_SEAL.len() + Digest::LENGTH + AFTER_SEAL.len();

/// A document, and how far it can be trusted by itself.
#[derive(Debug)]
pub(super) struct Reading {
    pub document: Document,
    pub trust: Trust,
}

#[derive(Debug)]
pub(super) enum Trust {
    /// Byte for byte as it was written.
    Sealed,
    /// Changed since, or never sealed: only its journal can vouch for it.
    Unsealed,
    /// Of an earlier format: what was read differently from how it is written.
    Legacy(Vec<Adaptation>),
}

/// Reads a document and checks that it is the one it should be.
pub(super) fn read(fs: &Fs, id: &SessionId, path: &Path) -> Result<Reading, StoreError> {
    let bytes = read_bytes(fs, id, path)?;
    parse(id, path, &bytes)
}

pub(super) fn read_bytes(fs: &Fs, id: &SessionId, path: &Path) -> Result<Vec<u8>, StoreError> {
    let damaged = |source| StoreError::Document { id: id.clone(), path: path.into(), source };
    let limit = LARGEST_DOCUMENT;
    match disk::read_whole(fs, path, limit) {
        Err(error) if error.is_symlink() => Err(damaged(DocumentError::Symlink)),
        Err(error) => Err(error.into()),
        Ok(Err(found)) => Err(damaged(DocumentError::TooLarge { found, limit })),
        Ok(Ok(bytes)) if bytes.is_empty() => Err(damaged(DocumentError::Empty)),
        Ok(Ok(bytes)) => Ok(bytes),
    }
}

fn parse(id: &SessionId, path: &Path, bytes: &[u8]) -> Result<Reading, StoreError> {
    let damaged = |source| StoreError::Document { id: id.clone(), path: path.into(), source };
    let reading = parse_bytes(bytes).map_err(|unread| match unread {
        Unread::Newer(version) => StoreError::Newer { id: id.clone(), path: path.into(), version },
        Unread::Damaged(source) => damaged(source),
    })?;
    if reading.document.meta.id != *id {
        return Err(damaged(DocumentError::OtherSession(reading.document.meta.id)));
    }
    Ok(reading)
}

enum Unread {
    Newer(String),
    Damaged(DocumentError),
}

/// A document from bytes of any origin.
fn parse_bytes(bytes: &[u8]) -> Result<Reading, Unread> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Unread::Damaged(DocumentError::NotUtf8(error.valid_up_to())))?;
    if is_sealed(bytes)
        && let Ok(mut document) = serde_json::from_str::<Document>(text)
        && !is_newer(&document.meta.version)
    {
        document.extra.shift_remove(CHECKSUM);
        return Ok(Reading { document, trust: Trust::Sealed });
    }
    let mut value: Value = serde_json::from_str(text)
        .map_err(|error| Unread::Damaged(DocumentError::NotJson(error)))?;
    // A newer format may have any shape: look for its version before calling it damaged.
    let version = match &value["meta"]["version"] {
        Value::String(version) => Some(version.clone()),
        Value::Number(version) => Some(version.to_string()),
        _ => None,
    };
    if let Some(version) = version.filter(|version| is_newer(version)) {
        return Err(Unread::Newer(version));
    }
    let trust = if is_legacy(&value) {
        Trust::Legacy(modernize(&mut value, &local_time))
    } else {
        Trust::Unsealed
    };
    let mut document: Document = serde_path_to_error::deserialize(value).map_err(|error| {
        let place = error.path().to_string();
        Unread::Damaged(DocumentError::Field { place, error: error.into_inner() })
    })?;
    // A seal that does not fit seals nothing; whoever prints the document puts a new one on it.
    document.extra.shift_remove(CHECKSUM);
    Ok(Reading { document, trust })
}

pub(super) fn is_newer(version: &str) -> bool {
    let major = |version: &str| version.split('.').next().and_then(|n| n.parse::<u64>().ok());
    major(version) > major(VERSION)
}

/// What a time without a zone means on this machine.
fn local_time(naive: NaiveDateTime) -> Option<DateTime<chrono::FixedOffset>> {
    let local = match Local.from_local_datetime(&naive) {
        LocalResult::Single(time) | LocalResult::Ambiguous(time, _) => time,
        // An hour that the clocks were put forward over: what it would have been without that.
        LocalResult::None => {
            let before = naive.checked_sub_signed(TimeDelta::hours(1))?;
            Local
                .from_local_datetime(&before)
                .earliest()?
                .checked_add_signed(TimeDelta::hours(1))?
        }
    };
    Some(local.fixed_offset())
}

/// A document as it is written: pretty, and sealed.
pub(super) fn print(document: &Document) -> Vec<u8> {
    // The model's types have string keys and no failing serializers: this cannot fail.
    let mut bytes = serde_json::to_vec_pretty(document).unwrap_or_default();
    if bytes.ends_with(b"\n}") {
        bytes.truncate(bytes.len() - b"\n}".len());
        let sum = checksum(&bytes);
        bytes.extend_from_slice(BEFORE_SEAL);
        bytes.extend_from_slice(sum.as_str().as_bytes());
        bytes.extend_from_slice(AFTER_SEAL);
    }
    bytes
}

/// Whether a document is byte for byte as it was written.
pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    let sealed = || {
        let (body, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL)?)?;
        let digits = seal.strip_prefix(BEFORE_SEAL)?.strip_suffix(AFTER_SEAL)?;
        Some(checksum(body).as_str().as_bytes() == digits)
    };
    sealed().unwrap_or(false)
}

fn checksum(body: &[u8]) -> Digest {
    Digest::of(Sha256::digest(body).into())
}
