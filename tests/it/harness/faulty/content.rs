//! The content of a file or a directory in a [`FaultyFs`](super::FaultyFs): as a process sees it, and
//! as a power cut would leave it.

use std::{collections::BTreeMap, ffi::OsString, io, ops::Range, sync::Weak};

use agentic_provision::disk::EntryKind;
use rustix::io::Errno;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node(pub usize);

#[derive(Debug)]
pub(super) struct Content {
    pub body: Body,
    pub lock: Weak<()>,
}

#[derive(Debug)]
pub(super) enum Body {
    /// `dirty` is what was written and neither synced nor given up.
    File {
        seen: Vec<u8>,
        durable: Vec<u8>,
        dirty: Vec<Range<usize>>,
    },
    Directory {
        seen: BTreeMap<OsString, Node>,
        durable: BTreeMap<OsString, Node>,
    },
}

/// How much of a sync was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    All,
    Half,
}

impl Content {
    pub(super) fn file() -> Self {
        let body = Body::File { seen: Vec::new(), durable: Vec::new(), dirty: Vec::new() };
        Self { body, lock: Weak::new() }
    }

    pub(super) fn directory() -> Self {
        let body = Body::Directory { seen: BTreeMap::new(), durable: BTreeMap::new() };
        Self { body, lock: Weak::new() }
    }

    pub(super) fn kind(&self) -> EntryKind {
        match self.body {
            Body::File { .. } => EntryKind::File,
            Body::Directory { .. } => EntryKind::Directory,
        }
    }

    pub(super) fn write(&mut self, start: usize, bytes: &[u8]) -> io::Result<()> {
        let Body::File { seen, dirty, .. } = &mut self.body else {
            return Err(Errno::ISDIR.into());
        };
        let end = start + bytes.len();
        if seen.len() < end {
            seen.resize(end, 0);
        }
        seen[start..end].copy_from_slice(bytes);
        dirty.push(start..end);
        Ok(())
    }

    pub(super) fn sync(&mut self, share: Share) {
        match &mut self.body {
            Body::File { seen, durable, dirty } => {
                let kept = match share {
                    Share::All => seen.len(),
                    Share::Half => usize::midpoint(durable.len().min(seen.len()), seen.len()),
                };
                durable.resize(kept, 0);
                for range in dirty.drain(..) {
                    let range = range.start.min(kept)..range.end.min(kept);
                    durable[range.clone()].copy_from_slice(&seen[range]);
                }
            }
            Body::Directory { seen, durable } => durable.clone_from(seen),
        }
    }

    pub(super) fn give_up(&mut self) {
        if let Body::File { dirty, .. } = &mut self.body {
            dirty.clear();
        }
    }

    pub(super) fn forget_unsynced(&mut self) {
        match &mut self.body {
            Body::File { seen, durable, dirty } => {
                seen.clone_from(durable);
                dirty.clear();
            }
            Body::Directory { seen, durable } => seen.clone_from(durable),
        }
    }
}
