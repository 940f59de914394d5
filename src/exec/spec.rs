//! What a supervisor is told, once, on its standard input: a length and that many bytes of JSON.
//! Whatever ends before that is no order.

use std::{
    io::{self, Read, Write},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use super::Order;

/// The most a spec may have: an environment larger than this could not be given to a program.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Everything about one attempt. Holds secrets: it is sent, and never written anywhere.
#[derive(Clone, Deserialize, Serialize)]
pub struct Spec {
    /// The attempt's directory.
    pub directory: PathBuf,
    /// Which command of which plan it is.
    pub order: Order,
    pub command: String,
    /// What becomes root, where we are not.
    pub sudo: Option<PathBuf>,
    /// Whether the command is run by that.
    pub as_root: bool,
    /// Whether it has the terminal: then nothing of its output is kept.
    pub on_terminal: bool,
    /// The whole environment of the command.
    pub environment: Vec<(String, String)>,
    pub working_dir: PathBuf,
    pub timeout_ms: Option<u64>,
    /// Between asking the tree to end and ending it.
    pub grace_ms: u64,
    pub boot_id: String,
    /// What must not appear in the output.
    pub secrets: Vec<String>,
}

impl std::fmt::Debug for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The environment and the secrets stay out of every message.
        f.debug_struct("Spec").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Spec {
    pub(super) fn send(&self, mut to: impl Write) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        to.write_all(&(text.len() as u64).to_le_bytes())?;
        to.write_all(&text)?;
        to.flush()
    }

    pub(super) fn receive(mut from: impl Read) -> io::Result<Self> {
        let mut length = [0; 8];
        from.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > LARGEST {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        let mut text = Vec::new();
        from.take(length).read_to_end(&mut text)?;
        if text.len() as u64 != length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        Ok(serde_json::from_slice(&text)?)
    }
}
