//! Reading the files of a catalog: which there are, and what is in them, within limits.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    diagnostic::{Code, Diagnostic, Source},
    place::{KeyPath, Place},
};
use crate::disk::{self, DiskError, Entry, EntryKind, Fs};

/// The most a file may hold, in bytes. It is asked before the file is read.
pub const LARGEST_FILE: u64 = 4 * 1024 * 1024;
/// How deep folders may stand in each other.
const DEEPEST: usize = 16;
/// The most names that are looked at below one path: more is not a catalog.
const MOST_ENTRIES: usize = 20_000;

/// Why the files of a catalog cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("there is no `{}`", .0.display())]
    Missing(PathBuf),
    #[error("`{}` is neither a file nor a folder", .0.display())]
    Odd(PathBuf),
    #[error("below `{}` there is more than {MOST_ENTRIES} names: it is not a catalog", .0.display())]
    TooMany(PathBuf),
    #[error("`{}` cannot be looked at", .path.display())]
    Disk { path: PathBuf, source: DiskError },
}

/// What was found at a path.
#[derive(Debug, Default)]
pub struct Listing {
    pub files: Vec<PathBuf>,
    /// Folders that were not looked into, and why.
    pub closed: Vec<(PathBuf, String)>,
}

/// The YAML files at `path`: itself, or those in the folder and the folders in it, by name.
/// Names that begin with a dot are passed by.
pub fn files_at(fs: &Fs, path: &Path) -> Result<Listing, SourceError> {
    let refused = |source| SourceError::Disk { path: path.into(), source };
    // Links are followed: a catalog may be kept elsewhere.
    let Some(place) = disk::resolve(path).map_err(refused)? else {
        return Err(SourceError::Missing(path.into()));
    };
    match fs.stat(&place).map_err(refused)?.map(|stat| stat.kind) {
        Some(EntryKind::File) => Ok(Listing { files: vec![path.into()], closed: Vec::new() }),
        Some(EntryKind::Directory) => {
            let mut walk = Walk { fs, seen: HashSet::new(), entries: 0, found: Listing::default() };
            if walk.enter(path, 0) {
                Ok(walk.found)
            } else {
                Err(SourceError::TooMany(path.into()))
            }
        }
        Some(_) => Err(SourceError::Odd(path.into())),
        None => Err(SourceError::Missing(path.into())),
    }
}

struct Walk<'a> {
    fs: &'a Fs,
    seen: HashSet<PathBuf>,
    entries: usize,
    found: Listing,
}

impl Walk<'_> {
    /// Looks through a folder; `false` when there is too much below it.
    fn enter(&mut self, folder: &Path, depth: usize) -> bool {
        if depth > DEEPEST {
            let why = format!("it stands more than {DEEPEST} folders deep");
            self.found.closed.push((folder.into(), why));
            return true;
        }
        let place = match disk::resolve(folder) {
            Ok(Some(place)) => place,
            Ok(None) => return true,
            Err(error) => return self.close(folder, &error),
        };
        // A link may lead back up: no folder is looked into twice.
        if !self.seen.insert(place.clone()) {
            return true;
        }
        let mut entries = match self.fs.list(&place) {
            Ok(entries) => entries,
            Err(error) => return self.close(folder, &error),
        };
        self.entries += entries.len();
        if self.entries > MOST_ENTRIES {
            return false;
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        entries.iter().all(|entry| self.look_at(folder, entry, depth))
    }

    fn look_at(&mut self, folder: &Path, entry: &Entry, depth: usize) -> bool {
        if entry.name.to_string_lossy().starts_with('.') {
            return true;
        }
        let path = folder.join(&entry.name);
        let kind = match entry.kind {
            EntryKind::Symlink => kind_behind(self.fs, &path),
            kind => Some(kind),
        };
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        match kind {
            Some(EntryKind::Directory) => return self.enter(&path, depth + 1),
            // A link that leads nowhere is a file that cannot be read.
            Some(EntryKind::File) | None if extension == "yaml" || extension == "yml" => {
                self.found.files.push(path);
            }
            _ => {}
        }
        true
    }

    fn close(&mut self, folder: &Path, error: &DiskError) -> bool {
        self.found.closed.push((folder.into(), unreadable(error)));
        true
    }
}

fn unreadable(error: &DiskError) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    format!("it cannot be read: {}", cause.unwrap_or_else(|| error.to_string()))
}

/// A mistake about a file or a folder that could not be read.
pub fn unread(path: &Path, layer: usize, code: Code, message: String) -> Diagnostic {
    let name = path.to_string_lossy().into_owned();
    let source = Arc::new(Source { name, text: String::new(), layer });
    Diagnostic::error(code, &source, Place::BEGINNING, KeyPath::root(), message)
}

fn kind_behind(fs: &Fs, link: &Path) -> Option<EntryKind> {
    let place = disk::resolve(link).ok()??;
    fs.stat(&place).ok()?.map(|stat| stat.kind)
}

/// What is in a file, or what is wrong with it.
pub fn read_source(fs: &Fs, path: &Path, layer: usize) -> Result<Arc<Source>, Diagnostic> {
    let bytes = match read(fs, path) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(length)) => {
            let message =
                format!("it is {length} bytes long; the most a file may have is {LARGEST_FILE}");
            return Err(unread(path, layer, Code::TooLarge, message));
        }
        Err(error) => return Err(unread(path, layer, Code::Unreadable, error)),
    };
    let name = path.to_string_lossy().into_owned();
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Arc::new(Source { name, text, layer })),
        Err(error) => Err(not_text(name, layer, &error)),
    }
}

fn read(fs: &Fs, path: &Path) -> Result<Result<Vec<u8>, u64>, String> {
    let place = disk::resolve(path).map_err(|error| unreadable(&error))?;
    let place = place.ok_or("it leads nowhere: there is no such file")?;
    disk::read_whole(fs, &place, LARGEST_FILE).map_err(|error| unreadable(&error))
}

/// The place of the first byte that belongs to no character, in as much of the text as there is.
fn not_text(name: String, layer: usize, error: &std::string::FromUtf8Error) -> Diagnostic {
    let at = error.utf8_error().valid_up_to();
    let bytes = error.as_bytes();
    let text = String::from_utf8_lossy(bytes).into_owned();
    let message = format!("it is not UTF-8: byte 0x{:02x} belongs to no character", bytes[at]);
    let place = Place::of(&text, at, at + 1);
    let source = Arc::new(Source { name, text, layer });
    Diagnostic::error(Code::NotUtf8, &source, place, KeyPath::root(), message)
}
