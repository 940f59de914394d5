//! Writing to the terminal: data on stdout, talk on stderr. A reader that has gone away is no
//! error.

use std::{
    fmt::Write as _,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use super::{failure::Failure, settings::Settings};
use crate::{
    disk::{self, Fs},
    engine::Clock,
    face::{note_text, visible},
};

/// Data, on stdout.
pub(super) fn data(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::output(&error))
}

/// One line of JSON, on stdout.
pub(super) fn json_line(value: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}

/// One JSON document, on stdout.
pub(super) fn json_document(value: &impl serde::Serialize) -> Result<(), Failure> {
    // As it is told, not in one piece: it may be long.
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    let written = serde_json::to_writer_pretty(&mut stdout, value).map_err(io::Error::from);
    let written = written.and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::output(&error))
}

/// A file where somebody wants it: it is there whole, or what was there before. What is no file, such
/// as a pipe, is written to, and never replaced.
pub(super) fn file(what: &str, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: &dyn std::error::Error| Failure::unwritable(what, path, error);
    let path = std::path::absolute(path).map_err(|error| failed(&error))?;
    // Who names a link means what it leads to.
    let place = disk::resolve(&path).map_err(|error| failed(&error))?.unwrap_or(path.clone());
    let is_file = std::fs::metadata(&place).map_or(true, |there| there.is_file());
    if is_file {
        return disk::save(&Fs::real(), &place, bytes, None).map_err(|error| failed(&error));
    }
    disk::write_into(&place, bytes).map_err(|error| failed(&error))
}

/// Something to know about what is done, on stderr.
pub(super) fn note(settings: &Settings, text: &str) {
    if !settings.quiet {
        talk(&note_text(text));
    }
}

/// Something to know that is not an error, on stderr.
pub(super) fn warning(text: &str) {
    talk(&format!("warning: {}\n", visible(text)));
}

pub(super) fn failure(failure: &Failure, operation: &str, json: bool) -> ExitCode {
    if failure.reader_is_gone {
        return ExitCode::SUCCESS;
    }
    if json {
        talk(&format!("{}\n", failure.to_json(operation, &Clock::system().now().wall)));
    } else {
        let mut text = format!("error: {}\n", visible(&failure.message));
        for cause in &failure.causes {
            let _ = writeln!(text, "  cause: {}", visible(cause));
        }
        for hint in &failure.hints {
            let _ = writeln!(text, "hint: {}", visible(hint));
        }
        talk(&text);
    }
    ExitCode::from(failure.kind.exit_code())
}

/// What clap has to say: help and version on stdout, mistakes on stderr.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    // What was typed cannot be parsed, but this much of it can be recognised.
    if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        return failure(&Failure::usage(error), "usage", true);
    }
    // Nobody is left to be told if even this cannot be written.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Talk, on stderr.
pub(super) fn talk(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
