//! The output of an attempt on disk: the first mebibyte in `output.log`, and of what comes after
//! it the last one to two mebibytes, in `tail.0` and `tail.1` by turns.
//!
//! A tail begins with its place in the output and only ever grows; the next one takes its name by
//! rename. So a reader sees each either whole or not at all.

use std::path::{Path, PathBuf};

use crate::disk::{DiskError, File, Fs, if_there, remove_if_there};

const HEAD: &str = "output.log";
const TAILS: [&str; 2] = ["tail.0", "tail.1"];
const TEMPORARY: &str = "tail.tmp";
/// How much the head, and each tail, may hold.
pub(super) const CAP: u64 = 1024 * 1024;
/// The place of a tail: digits, blanks before them, a new line behind.
const HEADER: usize = 32;

/// Writes output as it comes. Never fails: what cannot be written is counted.
#[derive(Debug)]
pub(super) struct Log {
    fs: Fs,
    directory: PathBuf,
    /// Where the next byte goes, and how much that file still takes.
    file: Option<File>,
    offset: u64,
    left: u64,
    tails: usize,
    pub kept: u64,
    pub dropped: u64,
}

impl Log {
    pub(super) fn new(fs: &Fs, directory: &Path) -> Self {
        Self {
            fs: fs.clone(),
            directory: directory.into(),
            file: None,
            offset: 0,
            left: 0,
            tails: 0,
            kept: 0,
            dropped: 0,
        }
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Ok(now) = self.take(bytes) else {
                self.dropped += bytes.len() as u64;
                return;
            };
            bytes = &bytes[now..];
        }
    }

    /// Writes what fits into the present file; opens the next one where that is full.
    fn take(&mut self, bytes: &[u8]) -> Result<usize, DiskError> {
        if self.left == 0 || self.file.is_none() {
            self.file = Some(self.next_file()?);
        }
        let Some(file) = &self.file else { return Ok(0) };
        let now = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let written = file.write_at(&bytes[..now], self.offset)?;
        self.offset += written as u64;
        self.left -= written as u64;
        self.kept += written as u64;
        Ok(written)
    }

    fn next_file(&mut self) -> Result<File, DiskError> {
        if self.kept == 0 {
            let file = self.fs.create_new(&self.directory.join(HEAD))?;
            (self.offset, self.left) = (0, CAP);
            return Ok(file);
        }
        let temporary = self.directory.join(TEMPORARY);
        remove_if_there(&self.fs, &temporary)?;
        let file = self.fs.create_new(&temporary)?;
        file.write_all_at(format!("{:>1$}\n", self.kept, HEADER - 1).as_bytes(), 0)?;
        self.fs.rename(&temporary, &self.directory.join(TAILS[self.tails % 2]))?;
        self.tails += 1;
        (self.offset, self.left) = (HEADER as u64, CAP);
        Ok(file)
    }
}

/// Some output, and where in all of it it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub start: u64,
    pub bytes: Vec<u8>,
}

/// The next output that is there at or after `from`. If it begins later, what was between has
/// been passed by.
pub fn read_next(fs: &Fs, directory: &Path, from: u64) -> Result<Option<Piece>, DiskError> {
    if let Some(piece) = read_file(fs, &directory.join(HEAD), from, false)? {
        return Ok(Some(piece));
    }
    let mut tails = Vec::new();
    for name in TAILS {
        tails.extend(read_file(fs, &directory.join(name), from, true)?);
    }
    Ok(tails.into_iter().min_by_key(|piece| piece.start))
}

/// All that is kept.
pub fn read_all(fs: &Fs, directory: &Path) -> Result<Vec<Piece>, DiskError> {
    let mut pieces = Vec::<Piece>::new();
    let mut from = 0;
    // The head and both tails, and no more: a command may be writing as fast as we read.
    for _ in 0..=TAILS.len() {
        let Some(piece) = read_next(fs, directory, from)? else { break };
        from = piece.start + piece.bytes.len() as u64;
        match pieces.last_mut() {
            Some(last) if last.start + last.bytes.len() as u64 == piece.start => {
                last.bytes.extend(piece.bytes);
            }
            _ => pieces.push(piece),
        }
    }
    Ok(pieces)
}

/// The beginning and the end of what was kept, and how much lies between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub head: Vec<u8>,
    /// How many bytes lie between the two.
    pub left_out: u64,
    pub tail: Vec<u8>,
}

/// Reads at most `head` bytes of the beginning and `tail` of the end, however long it is.
pub fn read_ends(fs: &Fs, directory: &Path, head: u64, tail: u64) -> Result<Ends, DiskError> {
    let mut files = Vec::new();
    for (name, is_tail) in [(HEAD, false), (TAILS[0], true), (TAILS[1], true)] {
        let opened = if_there(fs.open_read(&directory.join(name)))?;
        let Some(file) = opened else { continue };
        let Some((begin, header)) = beginning_of(&file, is_tail) else { continue };
        let length = file.stat()?.len.saturating_sub(header);
        files.push((begin, length, header, file));
    }
    files.sort_by_key(|(begin, ..)| *begin);
    let end = files.iter().map(|(begin, length, ..)| begin + length).max().unwrap_or(0);
    let head_end = if end <= head.saturating_add(tail) { end } else { head };
    let tail_begin = end.saturating_sub(tail).max(head_end);
    let mut ends = Ends::default();
    let mut read = 0;
    for (begin, length, header, file) in &files {
        for (from, to, into) in [(0, head_end, &mut ends.head), (tail_begin, end, &mut ends.tail)] {
            let (from, to) = (from.max(*begin), to.min(begin + length));
            if from >= to {
                continue;
            }
            let mut bytes = vec![0; usize::try_from(to - from).unwrap_or(0)];
            file.read_exact_at(&mut bytes, header + (from - begin))?;
            read += to - from;
            into.extend(bytes);
        }
    }
    ends.left_out = end.saturating_sub(read);
    Ok(ends)
}

/// Where the content of a file begins in all that was written, and in the file itself.
fn beginning_of(file: &File, is_tail: bool) -> Option<(u64, u64)> {
    if !is_tail {
        return Some((0, 0));
    }
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0).ok()?;
    let begin = std::str::from_utf8(&header).ok()?.trim().parse().ok()?;
    Some((begin, HEADER as u64))
}

/// What one file has at or after `from`; `None` if that is nothing.
fn read_file(fs: &Fs, path: &Path, from: u64, is_tail: bool) -> Result<Option<Piece>, DiskError> {
    let Some(file) = if_there(fs.open_read(path))? else { return Ok(None) };
    let Some((begin, header)) = beginning_of(&file, is_tail) else { return Ok(None) };
    let start = from.max(begin);
    let bytes = file.read_from(header + (start - begin))?;
    Ok((!bytes.is_empty()).then_some(Piece { start, bytes }))
}

#[cfg(test)]
mod tests {
    use super::{CAP, Ends, Log, read_all, read_ends, read_next};
    use crate::disk::Fs;

    fn written(total: usize, chunk: usize) -> Vec<super::Piece> {
        let fs = Fs::real();
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let mut log = Log::new(&fs, directory);
        let mut at = 0;
        while at < total {
            let now = chunk.min(total - at);
            let bytes: Vec<u8> = (at..at + now).map(|n| u8::try_from(n % 251).unwrap()).collect();
            log.write(&bytes);
            at += now;
        }
        assert_eq!((log.kept, log.dropped), (total as u64, 0));
        read_all(&fs, directory).unwrap()
    }

    #[test]
    fn of_both_ends_no_more_is_read_than_is_wanted() {
        let fs = Fs::real();
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let cap = usize::try_from(CAP).unwrap();
        let total = 4 * cap + 500;
        let mut log = Log::new(&fs, directory);
        let content: Vec<u8> = (0..total).map(|n| u8::try_from(n % 251).unwrap()).collect();
        content.chunks(9_973).for_each(|chunk| {
            log.write(chunk);
        });
        let ends = read_ends(&fs, directory, 100, 1_000).unwrap();
        assert_eq!(ends.head, content[..100]);
        assert_eq!(ends.tail, content[total - 1_000..]);
        assert_eq!(ends.left_out, total as u64 - 1_100);
    }

    #[test]
    fn what_is_short_is_read_whole() {
        let fs = Fs::real();
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        assert_eq!(read_ends(&fs, directory, 5, 5).unwrap(), Ends::default());
        Log::new(&fs, directory).write(b"0123456789");
        let whole = Ends { head: b"0123456789".into(), left_out: 0, tail: Vec::new() };
        assert_eq!(read_ends(&fs, directory, 5, 5).unwrap(), whole);
        let cut = Ends { head: b"0123".into(), left_out: 3, tail: b"789".into() };
        assert_eq!(read_ends(&fs, directory, 4, 3).unwrap(), cut);
    }

    #[test]
    fn up_to_two_tails_nothing_is_left_out() {
        let cap = usize::try_from(CAP).unwrap();
        for total in [0, 1, cap - 1, cap, cap + 1, 2 * cap, 3 * cap] {
            let pieces = written(total, 10_007);
            assert_eq!(pieces.iter().map(|piece| piece.bytes.len()).sum::<usize>(), total);
            assert!(pieces.len() <= 1);
        }
    }

    #[test]
    fn of_more_the_beginning_and_the_end_are_kept() {
        let cap = usize::try_from(CAP).unwrap();
        let total = 5 * cap + 4321;
        let pieces = written(total, 65_536);
        let [head, tail] = &pieces[..] else { panic!("{} pieces", pieces.len()) };
        assert_eq!((head.start, head.bytes.len()), (0, cap));
        assert_eq!(tail.start, 4 * CAP);
        assert_eq!(tail.bytes.len(), cap + 4321);
        for piece in &pieces {
            let right =
                |(at, byte): (usize, &u8)| u64::from(*byte) == (piece.start + at as u64) % 251;
            assert!(piece.bytes.iter().enumerate().all(right));
        }
    }

    #[test]
    fn one_who_follows_gets_each_byte_once() {
        let fs = Fs::real();
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let mut log = Log::new(&fs, directory);
        let mut from = 0;
        for round in 0..40_u8 {
            log.write(&vec![round; 100_003]);
            while let Some(piece) = read_next(&fs, directory, from).unwrap() {
                assert_eq!(piece.start, from);
                from += piece.bytes.len() as u64;
            }
            assert_eq!(from, log.kept);
        }
    }
}
