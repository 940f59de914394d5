//! Reading a journal: line by line, each verified, and a clear word about how it ends.

use super::{LineError, line};
use crate::model::{Digest, Event};

/// A place between two lines of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// How many lines are before it.
    pub seq: u64,
    /// The chain of the last of them.
    pub chain: Option<Digest>,
    /// How many bytes are before it.
    pub offset: u64,
}

impl Position {
    /// Returns the place behind the line of an event.
    pub(super) fn behind(event: &Event) -> Self {
        Self { seq: event.seq, chain: Some(event.chain.clone()), offset: event.end }
    }
}

/// How a journal ends.
#[derive(Debug)]
pub enum Tail {
    Whole,
    /// A line that was never finished, so never acknowledged: the writer died in the middle.
    Torn {
        line: u64,
        bytes: usize,
    },
    /// A last line that is there and wrong, or a last write of which some line is.
    Bad {
        line: u64,
        error: LineError,
    },
}

/// The verified lines of a journal from some position on.
#[derive(Debug)]
pub struct Scan {
    pub events: Vec<Event>,
    /// The good lines, as they stand on disk.
    pub raw: Vec<u8>,
    /// The end of the last good line.
    pub end: Position,
    pub tail: Tail,
}

/// Verifies `bytes`, which stand in the journal from `start` on.
///
/// A bad line with others after it is an error, with its number, unless all of them belong to the
/// last write. A bad end is for the caller to judge, who knows whether it was ever acknowledged.
pub fn scan(bytes: &[u8], start: &Position) -> Result<Scan, (u64, LineError)> {
    let mut events = Vec::new();
    let mut end = start.clone();
    let mut rest = bytes;
    while let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = (&rest[..length], &rest[length + 1..]);
        let number = end.seq.saturating_add(1);
        match line::decode(line, &end) {
            Ok(event) => {
                end = Position::behind(&event);
                events.push(event);
            }
            Err(_) if begins_whole(line, &end) => return Err((number, LineError::Unended)),
            Err(error) if error.may_be_unfinished() && is_last_write(after, number) => {
                let tail = Tail::Bad { line: number, error };
                let raw = bytes[..bytes.len() - rest.len()].to_vec();
                return Ok(Scan { events, raw, end, tail });
            }
            Err(error) => return Err((number, error)),
        }
        rest = after;
    }
    let line = end.seq.saturating_add(1);
    if begins_whole(rest, &end) {
        return Err((line, LineError::Unended));
    }
    let tail = if rest.is_empty() { Tail::Whole } else { Tail::Torn { line, bytes: rest.len() } };
    let raw = bytes[..bytes.len() - rest.len()].to_vec();
    let scan = Scan { events, raw, end, tail };
    Ok(scan.without_half_a_write(bytes.len(), start))
}

impl Scan {
    /// What was written together is there together, or none of it was acknowledged: a power cut may
    /// keep whole lines of a write that was not over.
    fn without_half_a_write(mut self, all: usize, start: &Position) -> Self {
        let Some((first, last)) = self.events.last().and_then(|event| event.batch) else {
            return self;
        };
        if last <= self.end.seq || first <= start.seq {
            return self;
        }
        let kept = self.events.iter().take_while(|event| event.seq < first).count();
        self.events.truncate(kept);
        self.end = self.events.last().map_or_else(|| start.clone(), Position::behind);
        let good = usize::try_from(self.end.offset - start.offset).unwrap_or(usize::MAX);
        self.raw.truncate(good);
        self.tail = Tail::Torn { line: first, bytes: all.saturating_sub(good) };
        self
    }
}

/// Whether all lines that follow the bad line `lost` were written together with it. A power cut may
/// keep the end of one write and lose its beginning; none of it was acknowledged then.
fn is_last_write(after: &[u8], lost: u64) -> bool {
    let mut lines = after.split_inclusive(|byte| *byte == b'\n');
    lines.all(|line| match line.strip_suffix(b"\n") {
        Some(whole) => line::is_of_batch(whole, lost),
        // Cut in the middle: it was being written as well.
        None => true,
    })
}

/// Whether `bytes` begin with the whole line that belongs there, and something else than a new
/// line follows. Lines are written with their new line, so no interrupted write leaves that: the
/// line was acknowledged, and must not be taken for one that never was.
fn begins_whole(bytes: &[u8], before: &Position) -> bool {
    line::ends(bytes).any(|end| end < bytes.len() && line::decode(&bytes[..end], before).is_ok())
}

/// The good lines of a journal that may be damaged anywhere, up to the first that is not good.
#[derive(Debug)]
pub(super) struct Salvage {
    pub events: Vec<Event>,
    pub end: Position,
    /// The first line that is not good, and why.
    pub broken: Option<(u64, String)>,
    /// Or one that was written whole by a program that knows more than this one.
    pub newer: Option<(u64, LineError)>,
}

/// Reads `bytes`, which stand in the journal from `start` on, as far as they can be verified.
pub(super) fn salvage(bytes: &[u8], start: Position) -> Salvage {
    let mut salvage = Salvage { events: Vec::new(), end: start, broken: None, newer: None };
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let number = salvage.end.seq.saturating_add(1);
        // A last line without its newline still counts if its chain is intact.
        let whole = line.strip_suffix(b"\n");
        match line::decode(whole.unwrap_or(line), &salvage.end) {
            Ok(event) => {
                salvage.end = Position::behind(&event);
                salvage.events.push(event);
                if whole.is_none() {
                    salvage.broken = Some((number + 1, "the line before it lost its end".into()));
                }
                continue;
            }
            Err(_) if whole.is_none() => {
                salvage.broken = Some((number, "it is cut off".into()));
            }
            Err(error @ LineError::Unknown(_)) => salvage.newer = Some((number, error)),
            Err(error) => salvage.broken = Some((number, error.to_string())),
        }
        break;
    }
    salvage
}
