//! What can be wrong with the record, each with what it was about.

use std::path::{Path, PathBuf};

use super::LineError;
use crate::{
    disk::{DiskError, LockError},
    model::{Difference, Digest, Illegal, SessionId},
};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("`{}` is not a session id, the beginning of one, or `latest`", .0.escape_debug())]
    NotAnId(String),
    #[error("there is no session {0}")]
    Unknown(String),
    #[error("there are no sessions yet in `{}`", .0.display())]
    Empty(PathBuf),
    #[error("`{prefix}` is the beginning of {} session ids", .candidates.len())]
    Ambiguous { prefix: String, candidates: Vec<SessionId> },
    #[error("session {0} exists already")]
    Exists(SessionId),

    #[error("session {id} is in use")]
    Locked { id: SessionId, source: LockError },

    #[error("another process is running a session in this home")]
    Busy { source: LockError },

    #[error("the plan of session {id} is damaged")]
    Plan { id: SessionId, path: PathBuf, source: PlanFileError },
    #[error("the document of session {id} is damaged")]
    Document { id: SessionId, path: PathBuf, source: DocumentError },
    #[error("the journal of session {id} is damaged")]
    Journal { id: SessionId, path: PathBuf, source: JournalError },
    #[error("the document of session {id} does not say what was recorded: one of them was edited")]
    Edited { id: SessionId, path: PathBuf, differences: Vec<Difference> },
    #[error("the document of session {id} was written by a newer version ({version})")]
    Newer { id: SessionId, path: PathBuf, version: String },

    #[error("this event may not happen now")]
    Illegal { id: SessionId, source: Illegal },

    #[error("`{}` {problem}", .path.display())]
    Home { path: PathBuf, problem: HomeProblem },
    #[error("the record cannot be read or written")]
    Disk(#[from] DiskError),
}

#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("it is empty")]
    Empty,
    #[error("it is {found} bytes long; the most a document may have is {limit}")]
    TooLarge { found: u64, limit: u64 },
    #[error("it is a symbolic link; a document must be a file of its own")]
    Symlink,
    #[error("it is not UTF-8: byte {0} belongs to no character")]
    NotUtf8(usize),
    #[error("it is not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    #[error("{}{}", at(.place), in_words(.error))]
    Field { place: String, error: serde_json::Error },
    #[error("it says it belongs to session {0}")]
    OtherSession(SessionId),
}

/// The place of a field, where it is not the document as a whole.
fn at(place: &str) -> String {
    match place {
        "." => "it is not a session document: ".into(),
        place => format!("{place}: "),
    }
}

/// What serde says of a value, in the words of someone who does not write Rust.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let words = [
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected usize", "expected a whole number, 0 or more"),
        ("expected u32", "expected a whole number, 0 or more"),
        ("expected struct Document", "expected an object"),
        ("unknown variant", "unknown word"),
    ];
    words.iter().fold(text, |text, (rust, plain)| text.replace(rust, plain))
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("it is missing, and the document has taken in {0} of its lines")]
    Missing(u64),
    #[error("line {line}: {source}")]
    Line { line: u64, source: LineError },
    #[error("line {line}: {source}")]
    Illegal { line: u64, source: Illegal },
    #[error("it is {found} bytes long; the most that is read of a journal is {limit}")]
    TooLarge { found: u64, limit: u64 },
    #[error("it ends after line {line}, and the document has taken in {revision}")]
    Short { line: u64, revision: u64 },
    #[error("it ends after line {line}, and attempt {attempt} began after that")]
    Lost { line: u64, attempt: u64 },
    #[error("a recovery of it was cut short")]
    HalfRecovered,
    #[error("line {line} is not the one the document was made from")]
    OtherLine { line: u64 },
    #[error("it is a symbolic link; a journal must be a file of its own")]
    Symlink,
}

impl JournalError {
    /// Whether it was written by a program that knows more than this one. That is no damage.
    pub fn is_newer(&self) -> bool {
        matches!(
            self,
            Self::Line { source: LineError::Unknown(_), .. }
                | Self::Illegal { source: Illegal::Format { .. }, .. }
        )
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    #[error("it is missing, and the session has approved it")]
    Missing,
    #[error("it is {found} bytes long; the most a plan may have is {limit}")]
    TooLarge { found: u64, limit: u64 },
    #[error("it is not a plan: {0}")]
    NotAPlan(#[source] serde_json::Error),
    #[error("its digest is {found}, and the session's plan is {expected}")]
    OtherPlan { expected: Digest, found: Digest },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HomeProblem {
    #[error("is a symbolic link; sessions are kept only in a directory of their own")]
    Symlink,
    #[error("is not a directory")]
    NotADirectory,
    #[error("can be written by others (mode {mode:03o}); what is in it cannot be trusted")]
    Writable { mode: u32 },
    #[error("belongs to another user (uid {owner})")]
    Foreign { owner: u32 },
}

impl StoreError {
    /// Whether the record itself is damaged, rather than busy, absent or out of reach.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Document { .. }
                | Self::Journal { .. }
                | Self::Edited { .. }
                | Self::Newer { .. }
                | Self::Plan { .. }
        )
    }

    /// The file it is about, where there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Empty(path)
            | Self::Document { path, .. }
            | Self::Journal { path, .. }
            | Self::Edited { path, .. }
            | Self::Newer { path, .. }
            | Self::Plan { path, .. }
            | Self::Home { path, .. } => Some(path),
            Self::Disk(error)
            | Self::Locked { source: LockError::Disk(error), .. }
            | Self::Busy { source: LockError::Disk(error) } => Some(&error.path),
            Self::NotAnId(_)
            | Self::Unknown(_)
            | Self::Ambiguous { .. }
            | Self::Exists(_)
            | Self::Locked { .. }
            | Self::Busy { .. }
            | Self::Illegal { .. } => None,
        }
    }

    /// The session it is about, where there is one.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Exists(id)
            | Self::Locked { id, .. }
            | Self::Document { id, .. }
            | Self::Journal { id, .. }
            | Self::Edited { id, .. }
            | Self::Newer { id, .. }
            | Self::Plan { id, .. }
            | Self::Illegal { id, .. } => Some(id),
            Self::NotAnId(_)
            | Self::Unknown(_)
            | Self::Empty(_)
            | Self::Ambiguous { .. }
            | Self::Busy { .. }
            | Self::Home { .. }
            | Self::Disk(_) => None,
        }
    }
}
