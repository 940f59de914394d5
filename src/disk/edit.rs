//! Changing a file that is somebody else's: where a link leads, with the owner and the mode it has,
//! whole or not at all, and without losing what another program wrote meanwhile.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Access, DiskError, EntryKind, File, Fs, Stat, lock, read_whole, save::sibling};

/// As many links in a row as systems follow.
const MOST_LINKS: usize = 40;
const OWNER_WRITES: u32 = 0o200;
const BUSY: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("`{}` is read-only", .0.display())]
    ReadOnly(PathBuf),
    #[error("`{}` is {what}, not a file", .path.display())]
    NotAFile { path: PathBuf, what: &'static str },
    #[error("`{}` has {len} bytes, more than the {limit} that are read", .path.display())]
    TooLarge { path: PathBuf, len: u64, limit: u64 },
    #[error("`{}` leads from link to link and to no file", .0.display())]
    Links(PathBuf),
    #[error("another program is changing `{}`", .0.display())]
    Busy(PathBuf),
    #[error(transparent)]
    Disk(#[from] DiskError),
}

impl EditError {
    /// Whether it is a matter of rights.
    pub fn is_denied(&self) -> bool {
        match self {
            Self::ReadOnly(_) => true,
            Self::Disk(error) => error.is_denied(),
            _ => false,
        }
    }
}

/// An edit that has begun: until it ends, nobody else edits the file in this way.
///
/// What is written stands beside the file first, and takes its place when it is complete. That
/// draft is also the lock: locked by whoever edits, and left behind by one who died, for the next to
/// take over.
#[derive(Debug)]
pub struct Edit<'f> {
    fs: &'f Fs,
    place: PathBuf,
    beside: PathBuf,
    limit: u64,
    draft: File,
    was: Option<Original>,
    is_over: bool,
}

#[derive(Debug)]
struct Original {
    content: Vec<u8>,
    stat: Stat,
}

/// The content of a file, through links; `None` where there is none.
pub fn read_as_it_is(fs: &Fs, path: &Path, limit: u64) -> Result<Option<Vec<u8>>, EditError> {
    let found = original(fs, &follow(fs, path)?, limit)?;
    Ok(found.map(|found| found.content))
}

impl<'f> Edit<'f> {
    /// Begins to edit the file that `path` leads to, which is created with `access` if it does not
    /// exist. Refuses a file of more than `limit` bytes.
    pub fn begin(fs: &'f Fs, path: &Path, access: Access, limit: u64) -> Result<Self, EditError> {
        let place = follow(fs, path)?;
        writable(&place, original(fs, &place, limit)?.as_ref())?;
        let directory = place.parent().unwrap_or(Path::new("/"));
        create_missing(fs, directory)?;
        // The name of a directory may be a link, too.
        let place = match place.file_name() {
            Some(name) => fs.real_path(directory)?.join(name),
            None => place,
        };
        let beside = sibling(&place, ".provision");
        let draft = lock::wait(BUSY, || try_draft(fs, &beside, access))?;
        let draft = draft.ok_or_else(|| EditError::Busy(place.clone()))?;
        let mut edit = Self { fs, place, beside, limit, draft, was: None, is_over: false };
        edit.was = original(fs, &edit.place, limit)?;
        writable(&edit.place, edit.was.as_ref())?;
        Ok(edit)
    }

    /// What is in the file; `None` if there is no file.
    pub fn content(&self) -> Option<&[u8]> {
        self.was.as_ref().map(|was| was.content.as_slice())
    }

    /// Gives the file this content, unless someone has changed it since: then it is left alone, and
    /// the answer is no.
    ///
    /// After a crash or a power cut at any point the file holds the old content or the new, whole.
    /// When this returns it holds the new, provided the file system honours fsync. Owner, group and
    /// mode are kept before anything can be read; what else hangs on the file (further names,
    /// extended attributes) stays with the old one.
    pub fn finish(mut self, content: &[u8]) -> Result<bool, EditError> {
        self.draft.set_len(0)?;
        match &self.was {
            Some(was) => dress(&self.draft, &was.stat)?,
            None => give_to_owner_of(self.fs, self.directory(), &self.draft)?,
        }
        self.draft.write_all_at(content, 0)?;
        self.draft.sync()?;
        if !self.is_unchanged()? {
            return Ok(false);
        }
        self.fs.rename(&self.beside, &self.place)?;
        self.is_over = true;
        self.fs.sync_dir(self.directory())?;
        Ok(true)
    }

    /// Removes the file, unless someone has changed it since: then the answer is no.
    pub fn remove(self) -> Result<bool, EditError> {
        if !self.is_unchanged()? {
            return Ok(false);
        }
        self.fs.remove(&self.place)?;
        self.fs.sync_dir(self.directory())?;
        Ok(true)
    }

    fn directory(&self) -> &Path {
        self.place.parent().unwrap_or(Path::new("/"))
    }

    fn is_unchanged(&self) -> Result<bool, EditError> {
        let now = original(self.fs, &self.place, self.limit)?;
        Ok(now.as_ref().map(|now| &now.content) == self.was.as_ref().map(|was| &was.content))
    }
}

impl Drop for Edit<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // Best effort: what is left is taken over by the next edit.
            let _ = self.fs.remove(&self.beside);
        }
    }
}

/// Where a path leads, link by link: to what is there, or to what a link names that is not.
fn follow(fs: &Fs, path: &Path) -> Result<PathBuf, EditError> {
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let is_link = fs.stat(&place)?.is_some_and(|stat| stat.kind == EntryKind::Symlink);
        if !is_link {
            return Ok(place);
        }
        let to = fs.read_link(&place)?;
        place = place.parent().unwrap_or(Path::new("/")).join(to);
    }
    Err(EditError::Links(path.into()))
}

fn original(fs: &Fs, place: &Path, limit: u64) -> Result<Option<Original>, EditError> {
    let Some(stat) = fs.stat(place)? else { return Ok(None) };
    let path = place.to_path_buf();
    match stat.kind {
        EntryKind::File => {}
        EntryKind::Directory => return Err(EditError::NotAFile { path, what: "a directory" }),
        EntryKind::Symlink => return Err(EditError::Busy(path)),
        EntryKind::Other => {
            return Err(EditError::NotAFile { path, what: "a pipe, a socket or a device" });
        }
    }
    match read_whole(fs, place, limit)? {
        Ok(content) => Ok(Some(Original { content, stat })),
        Err(len) => Err(EditError::TooLarge { path, len, limit }),
    }
}

/// Whether its owner lets anyone write it. Root could all the same, and does not.
fn writable(place: &Path, original: Option<&Original>) -> Result<(), EditError> {
    let is_closed = original.is_some_and(|original| original.stat.mode & OWNER_WRITES == 0);
    if is_closed { Err(EditError::ReadOnly(place.into())) } else { Ok(()) }
}

fn create_missing(fs: &Fs, directory: &Path) -> Result<(), EditError> {
    let missing: Vec<&Path> =
        directory.ancestors().take_while(|place| is_missing(fs, place)).collect();
    for place in missing.into_iter().rev() {
        match fs.create_shared_dir(place) {
            // Another one was quicker.
            Err(error) if error.already_exists() => continue,
            created => created?,
        }
        let parent = place.parent().unwrap_or(Path::new("/"));
        if let Ok(made) = fs.open_dir(place) {
            give_to_owner_of(fs, parent, &made)?;
        }
        fs.sync_dir(&fs.real_path(parent)?)?;
    }
    Ok(())
}

fn is_missing(fs: &Fs, place: &Path) -> bool {
    matches!(fs.stat(place), Ok(None))
}

/// The draft, locked, if nobody else has it.
fn try_draft(fs: &Fs, beside: &Path, access: Access) -> Result<Option<File>, DiskError> {
    let created = match access {
        Access::Private => fs.create_new(beside),
        Access::Shared => fs.create_shared(beside),
    };
    let draft = match created {
        Err(error) if error.already_exists() => match fs.open_write(beside) {
            // It has just become the file itself, or was removed.
            Err(error) if error.not_found() => return Ok(None),
            opened => opened?,
        },
        created => created?,
    };
    Ok((draft.try_lock()? && draft.is_at(beside)?).then_some(draft))
}

/// Gives the draft the owner and the mode that the file has.
fn dress(draft: &File, as_is: &Stat) -> Result<(), EditError> {
    let now = draft.stat()?;
    if (now.owner, now.group) != (as_is.owner, as_is.group) {
        draft.set_owner(as_is.owner, as_is.group)?;
    }
    Ok(draft.set_mode(as_is.mode)?)
}

/// What root makes in a person's directory is the person's.
fn give_to_owner_of(fs: &Fs, directory: &Path, made: &File) -> Result<(), EditError> {
    let Some(around) = fs.stat(&fs.real_path(directory)?)? else { return Ok(()) };
    let now = made.stat()?;
    if rustix::process::geteuid().is_root() && around.owner != now.owner {
        made.set_owner(around.owner, around.group)?;
    }
    Ok(())
}
