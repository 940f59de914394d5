//! `provision doctor`

use std::process::ExitCode;

use serde_json::json;

use super::{
    failure::{Failure, Kind},
    output,
    run::watcher,
    settings::Settings,
};
use crate::{
    engine::{self, Level, Trouble},
    face,
    model::{ApprovedBy, SessionStatus},
};

pub(super) fn run(settings: &Settings, repair: bool) -> Result<ExitCode, Failure> {
    let around = match settings.surroundings() {
        Ok(around) => around,
        Err(failure) if failure.kind == Kind::StoreUnusable => {
            let found = [unusable(&failure)];
            show(settings, &found)?;
            return Ok(ExitCode::from(Kind::Undecided.exit_code()));
        }
        Err(failure) => return Err(failure),
    };
    let mut troubles = engine::look_at_machine(&around)?;
    let blocks = |trouble: &Trouble| trouble.level == Level::Blocks;
    if repair {
        let blocking: Vec<_> = troubles.iter().filter(|trouble| blocks(trouble)).cloned().collect();
        let mended = engine::mend(
            &around,
            &blocking,
            "of this machine",
            ApprovedBy::Unattended,
            &mut watcher(settings),
        )?;
        if let Some(mended) = mended {
            let how = match mended.status {
                SessionStatus::Completed => ", also after its repair",
                _ => ", and its repair did not succeed",
            };
            troubles = engine::look_at_machine(&around)?;
            for trouble in &mut troubles {
                if blocking.iter().any(|before| before.id == trouble.id) {
                    trouble.what.push_str(how);
                    trouble.repair = None;
                }
            }
        }
    }
    show(settings, &troubles)?;
    let can_mend = troubles.iter().any(|trouble| blocks(trouble) && trouble.repair.is_some());
    if can_mend && !settings.json {
        output::talk("hint: provision doctor --repair mends what is in the way\n");
    }
    let is_blocked = troubles.iter().any(blocks);
    Ok(ExitCode::from(if is_blocked { Kind::Undecided.exit_code() } else { 0 }))
}

fn show(settings: &Settings, troubles: &[Trouble]) -> Result<(), Failure> {
    if settings.json {
        // One line: behind a repair it stands below the events of that.
        let document = json!({"findings": face::findings_json(troubles)});
        return output::json_line(&document).map_err(|error| Failure::output(&error));
    }
    output::data(&face::findings_text(troubles))
}

/// A store that cannot be opened, as something that is wrong with the machine.
fn unusable(failure: &Failure) -> Trouble {
    let mut what = failure.message.clone();
    for cause in &failure.causes {
        what.push_str(": ");
        what.push_str(cause);
    }
    let advice = failure.hints.first().cloned();
    Trouble {
        id: "store_unusable",
        level: Level::Blocks,
        what,
        advice: advice.unwrap_or_else(|| "name another directory with --home DIR".into()),
        repair: None,
    }
}
