//! Letters to the one who holds a session. Anyone of the home may leave one; only the holder
//! takes them out.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Recorder, Store, StoreError};
use crate::{
    disk::{Fs, create_if_absent, if_there, remove_if_there},
    model::SessionId,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Start no other command, and pause.
    Pause {
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// A letter that was left.
#[derive(Debug)]
pub struct Letter {
    fs: Fs,
    path: PathBuf,
}

impl Letter {
    /// Whether it still lies there.
    pub fn is_waiting(&self) -> Result<bool, StoreError> {
        Ok(self.fs.stat(&self.path)?.is_some())
    }

    /// Takes it back; whether it was still there.
    pub fn withdraw(self) -> Result<bool, StoreError> {
        Ok(if_there(self.fs.remove(&self.path))?.is_some())
    }
}

impl Store {
    /// Leaves a letter for whoever holds the session. It appears whole, or not at all.
    pub fn leave_letter(&self, id: &SessionId, request: &Request) -> Result<Letter, StoreError> {
        let inbox = self.home.inbox(id);
        create_if_absent(&self.fs, &inbox)?;
        let temporary = inbox.join(format!(".{}.tmp", std::process::id()));
        remove_if_there(&self.fs, &temporary)?;
        let file = self.fs.create_new(&temporary)?;
        file.write_all_at(&serde_json::to_vec(request).unwrap_or_default(), 0)?;
        let mut number = 1;
        let path = loop {
            let path = inbox.join(format!("{number}.json"));
            match self.fs.link(&temporary, &path) {
                Ok(()) => break path,
                Err(error) if error.already_exists() => number += 1,
                Err(error) => return Err(error.into()),
            }
        };
        remove_if_there(&self.fs, &temporary)?;
        Ok(Letter { fs: self.fs.clone(), path })
    }

    /// Takes out all letters to the holder of a session, oldest first.
    pub fn take_letters(&self, holder: &Recorder) -> Result<Vec<Request>, StoreError> {
        let inbox = self.home.inbox(&holder.session().meta.id);
        let entries = if_there(self.fs.list(&inbox))?.unwrap_or_default();
        let number = |name: &str| name.strip_suffix(".json")?.parse::<u64>().ok();
        let mut numbers: Vec<_> =
            entries.iter().filter_map(|entry| number(entry.name.to_str()?)).collect();
        numbers.sort_unstable();
        let mut requests = Vec::new();
        for number in numbers {
            let path = inbox.join(format!("{number}.json"));
            let bytes = self.fs.open_read(&path).and_then(|file| file.read_from(0));
            remove_if_there(&self.fs, &path)?;
            // One that says nothing we understand is no request.
            requests.extend(bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()));
        }
        Ok(requests)
    }
}
