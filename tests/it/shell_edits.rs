//! Edits of files that are somebody else's: whole or not at all, whatever fails, and without losing
//! what others write.

use std::{fs, path::Path, thread, time::Duration};

use agentic_provision::disk::{Access, Edit, Fs, read_as_it_is};
use rustix::io::Errno;

use crate::harness::{
    Home,
    faulty::{Fault, FaultKind, FaultyFs, Lasting},
};

const FILE: &str = "/ada/.bashrc";
const LIMIT: u64 = 1024;

/// A disk with the file on it, for good.
fn disk() -> FaultyFs {
    let faulty = FaultyFs::new();
    let fs = faulty.fs();
    fs.create_dir(Path::new("/ada")).unwrap();
    let file = fs.create_new(Path::new(FILE)).unwrap();
    file.write_all_at(b"old", 0).unwrap();
    file.sync().unwrap();
    fs.sync_dir(Path::new("/ada")).unwrap();
    fs.sync_dir(Path::new("/")).unwrap();
    faulty
}

fn edit(fs: &Fs, content: &[u8]) -> bool {
    Edit::begin(fs, Path::new(FILE), Access::Shared, LIMIT)
        .and_then(|edit| edit.finish(content))
        .unwrap_or(false)
}

fn content(fs: &Fs) -> Vec<u8> {
    read_as_it_is(fs, Path::new(FILE), LIMIT).unwrap().unwrap()
}

#[test]
fn whatever_fails_the_file_is_the_old_one_or_the_new_one_and_can_be_edited_again() {
    let kinds = [
        FaultKind::Crash,
        FaultKind::PowerCut,
        FaultKind::ShortWrite,
        FaultKind::Fails(Errno::NOSPC),
        FaultKind::Fails(Errno::ROFS),
        FaultKind::Fails(Errno::IO),
    ];
    let mut old_ones = 0;
    for kind in kinds {
        let mut at = 0;
        loop {
            let faulty = disk();
            let fs = faulty.fs();
            faulty.arm(Fault { at, kind, lasting: Lasting::Once });
            let is_done = edit(&fs, b"new content");
            let was_struck = faulty.operations() > at;
            if kind == FaultKind::Crash {
                faulty.restart();
            } else {
                faulty.lose_power();
            }
            let found = content(&fs);
            assert!(found == b"new content" || found == b"old", "{kind:?} at {at}: {found:?}");
            assert!(
                !is_done || found == b"new content",
                "{kind:?} at {at}: it was said to be done"
            );
            old_ones += usize::from(found == b"old");
            assert!(edit(&fs, b"newest"), "{kind:?} at {at}: what was left is in the way");
            assert_eq!(content(&fs), b"newest");
            let names = fs.list(Path::new("/ada")).unwrap();
            assert_eq!(names.len(), 1, "{kind:?} at {at}: {names:?}");
            if !was_struck {
                break;
            }
            at += 1;
        }
        assert!(at > 10, "{kind:?}: only {at} operations");
    }
    assert!(old_ones > 20, "{old_ones}");
}

#[test]
fn what_someone_else_writes_meanwhile_is_not_lost() {
    let home = Home::new();
    let path = home.path().join("rc");
    fs::write(&path, "old").unwrap();
    let disk = Fs::real();
    let edit = Edit::begin(&disk, &path, Access::Shared, LIMIT).unwrap();
    fs::write(&path, "theirs").unwrap();
    assert!(!edit.finish(b"ours").unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    let edit = Edit::begin(&disk, &path, Access::Shared, LIMIT).unwrap();
    fs::write(&path, "theirs again").unwrap();
    assert!(!edit.remove().unwrap());
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn the_second_waits_for_the_first_and_sees_what_it_wrote() {
    let home = Home::new();
    let path = home.path().join("rc");
    fs::write(&path, "old").unwrap();
    let disk = Fs::real();
    let first = Edit::begin(&disk, &path, Access::Shared, LIMIT).unwrap();
    thread::scope(|scope| {
        let second = scope.spawn(|| {
            let disk = Fs::real();
            let edit = Edit::begin(&disk, &path, Access::Shared, LIMIT).unwrap();
            edit.content().unwrap().to_vec()
        });
        // Long enough for it to be waiting; if it is not, it sees the same.
        thread::sleep(Duration::from_millis(50));
        assert!(first.finish(b"of the first").unwrap());
        assert_eq!(second.join().unwrap(), b"of the first");
    });
}
