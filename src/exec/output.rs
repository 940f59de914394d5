//! The output of an attempt on disk: the first mebibyte in `output.log`, and of what comes after
//! it the last one to two mebibytes, in `tail.0` and `tail.1` by turns.
//!
//! A tail begins with its place in the output and only ever grows; the next one takes its name by
//! rename. So a reader sees each either whole or not at all.

use std::path::{Path, PathBuf};

use crate::disk::{DiskError, File, Fs};

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
        match self.fs.remove(&temporary) {
            Err(error) if !error.not_found() => return Err(error),
            _ => {}
        }
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

/// What one file has at or after `from`; `None` if that is nothing.
fn read_file(fs: &Fs, path: &Path, from: u64, is_tail: bool) -> Result<Option<Piece>, DiskError> {
    let file = match fs.open_read(path) {
        Ok(file) => file,
        Err(error) if error.not_found() => return Ok(None),
        Err(error) => return Err(error),
    };
    let (begin, header) = if is_tail {
        let mut header = [0; HEADER];
        if file.read_exact_at(&mut header, 0).is_err() {
            return Ok(None);
        }
        let begin = std::str::from_utf8(&header).ok().and_then(|text| text.trim().parse().ok());
        let Some(begin) = begin else { return Ok(None) };
        (begin, HEADER as u64)
    } else {
        (0, 0)
    };
    let start = from.max(begin);
    let bytes = file.read_from(header + (start - begin))?;
    Ok((!bytes.is_empty()).then_some(Piece { start, bytes }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{CAP, Log, read_all, read_next};
    use crate::disk::{FaultyFs, Fs};

    fn written(total: usize, chunk: usize) -> Vec<super::Piece> {
        let fs = Fs::Faulty(FaultyFs::new());
        let directory = Path::new("/attempt");
        fs.create_dir(directory).unwrap();
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
        let fs = Fs::Faulty(FaultyFs::new());
        let directory = Path::new("/attempt");
        fs.create_dir(directory).unwrap();
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
