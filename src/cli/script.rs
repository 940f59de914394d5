//! `provision __script`: records a session from a written list of events, for tests.

use std::{fs::File, io::BufReader, path::Path};

use super::{
    failure::{Failure, Kind},
    output,
    settings::Settings,
};
use crate::{
    engine::{Script, ScriptError, run_script},
    model::SessionId,
};

pub(super) fn run(
    settings: &Settings,
    session: Option<SessionId>,
    file: &Path,
) -> Result<(), Failure> {
    let text = File::open(file).map_err(|error| {
        Failure::new(Kind::Usage, format!("cannot read `{}`", file.display())).because(&error)
    })?;
    let script = Script::read(BufReader::new(text))?;
    let id = session.unwrap_or_else(|| settings.clock.session_id());
    let store = settings.store()?;
    let mut tell = |event: &_| output::json_line(event);
    run_script(&store, &settings.clock, &id, &settings.pen(), script, &mut tell)?;
    Ok(())
}

impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Self {
        match error {
            ScriptError::Store(error) => error.into(),
            ScriptError::Read(error) => Self::output(&error),
            error => Self::of(Kind::Usage, &error),
        }
    }
}
