//! `provision` alone: what there is, and what can be done.

use super::{failure::Failure, output, sessions, settings::Settings};
use crate::{engine, face};

const NEWEST: usize = 10;

pub(super) fn run(settings: &Settings) -> Result<(), Failure> {
    if settings.json {
        return sessions::run(settings, false);
    }
    let store = settings.store()?;
    let listing = store.list(Some(NEWEST))?;
    let expiries = engine::expiries(&store, &listing, &settings.clock)?;
    let mut text = face::session_table(&listing, &expiries);
    text.push_str(
        "\nprovision catalog list   what can be installed\n\
         provision plan PROFILE   what a profile would install here; nothing is changed\n\
         provision start PROFILE  install it: the plan is shown, and waits for approval\n\
         provision apply PLAN     run a plan file as a new session\n\
         provision resume         go on with the newest unfinished session\n\
         provision status ID      where a session stands, and what comes next\n\
         provision history ID     what happened in it\n\
         provision doctor         what keeps this machine from being set up\n\
         provision --help         everything else\n",
    );
    output::data(&text)?;
    sessions::complain(&listing)
}
