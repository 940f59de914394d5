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
use crate::disk::{self, DiskError, EntryKind, Fs};

/// The most a file may hold, in bytes. It is asked before the file is read.
pub const LARGEST_FILE: u64 = 4 * 1024 * 1024;
/// How deep folders may stand in each other.
const DEEPEST: usize = 16;
/// The most files of one layer.
const MOST_FILES: usize = 5_000;

/// Why the files of a catalog cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("there is no `{}`", .0.display())]
    Missing(PathBuf),
    #[error("`{}` is neither a file nor a folder", .0.display())]
    Odd(PathBuf),
    #[error("`{}` holds more than {MOST_FILES} YAML files: it is not a catalog", .0.display())]
    TooMany(PathBuf),
    #[error("`{}` cannot be looked into", .path.display())]
    Disk { path: PathBuf, source: DiskError },
}

/// The YAML files at `path`: itself, or those in the folder and the folders in it, by name.
/// Names that begin with a dot are passed by.
pub fn files_at(fs: &Fs, path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let refused = |source| SourceError::Disk { path: path.into(), source };
    // Links are followed: a catalog may be kept elsewhere.
    let Some(place) = disk::resolve(path).map_err(refused)? else {
        return Err(SourceError::Missing(path.into()));
    };
    match fs.stat(&place).map_err(refused)?.map(|stat| stat.kind) {
        Some(EntryKind::File) => Ok(vec![path.into()]),
        Some(EntryKind::Directory) => {
            let mut found = Vec::new();
            let mut seen = HashSet::new();
            walk(fs, path, 0, &mut seen, &mut found)?;
            Ok(found)
        }
        Some(_) => Err(SourceError::Odd(path.into())),
        None => Err(SourceError::Missing(path.into())),
    }
}

fn walk(
    fs: &Fs,
    folder: &Path,
    depth: usize,
    seen: &mut HashSet<PathBuf>,
    found: &mut Vec<PathBuf>,
) -> Result<(), SourceError> {
    let refused = |source| SourceError::Disk { path: folder.into(), source };
    let Some(place) = disk::resolve(folder).map_err(refused)? else { return Ok(()) };
    // A link may lead back up: no folder is looked into twice.
    if depth > DEEPEST || !seen.insert(place.clone()) {
        return Ok(());
    }
    let mut entries = fs.list(&place).map_err(refused)?;
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    for entry in entries {
        let name = entry.name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        let path = folder.join(&entry.name);
        let kind = match entry.kind {
            EntryKind::Symlink => kind_behind(fs, &path),
            kind => Some(kind),
        };
        let is_yaml =
            path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        match kind {
            Some(EntryKind::Directory) => walk(fs, &path, depth + 1, seen, found)?,
            // A link that leads nowhere is a file that cannot be read.
            Some(EntryKind::File) | None if is_yaml => found.push(path),
            _ => {}
        }
        if found.len() > MOST_FILES {
            return Err(SourceError::TooMany(folder.into()));
        }
    }
    Ok(())
}

fn kind_behind(fs: &Fs, link: &Path) -> Option<EntryKind> {
    let place = disk::resolve(link).ok()??;
    fs.stat(&place).ok()?.map(|stat| stat.kind)
}

/// What is in a file, or what is wrong with it.
pub fn read_source(fs: &Fs, path: &Path, layer: usize) -> Result<Arc<Source>, Diagnostic> {
    let name = path.to_string_lossy().into_owned();
    let unread = |code, name: String, message: String| {
        let source = Arc::new(Source { name, text: String::new(), layer });
        Diagnostic::error(code, &source, Place::BEGINNING, KeyPath::root(), message)
    };
    let bytes = match read(fs, path) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(length)) => {
            let message =
                format!("it is {length} bytes long; the most a file may have is {LARGEST_FILE}");
            return Err(unread(Code::TooLarge, name, message));
        }
        Err(error) => return Err(unread(Code::Unreadable, name, error)),
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Arc::new(Source { name, text, layer })),
        Err(error) => Err(not_text(name, layer, &error)),
    }
}

fn read(fs: &Fs, path: &Path) -> Result<Result<Vec<u8>, u64>, String> {
    let reason = |error: &DiskError| {
        let cause = std::error::Error::source(error).map(ToString::to_string);
        format!("it cannot be read: {}", cause.unwrap_or_else(|| error.to_string()))
    };
    let place = disk::resolve(path).map_err(|error| reason(&error))?;
    let place = place.ok_or("it leads nowhere: there is no such file")?;
    disk::read_whole(fs, &place, LARGEST_FILE).map_err(|error| reason(&error))
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
