//! `provision` alone, and every command that a person attends: the walk in a terminal.

use std::process::ExitCode;

use super::{
    ask, catalog,
    failure::{Failure, Kind},
    output, overview,
    run::say_goodbye,
    settings::Settings,
};
use crate::{
    engine::{self, Candidate, Ended, GivenData, Request, Stack, Surroundings, Wishes},
    face::{Given, Stopped, Walker},
    model::SessionId,
};

/// The walk, where somebody can be asked; else what there is, and what can be done.
pub(super) fn run(settings: &Settings) -> Result<ExitCode, Failure> {
    if settings.json || !ask::can_ask(settings) {
        overview::run(settings)?;
        return Ok(ExitCode::SUCCESS);
    }
    let around = settings.surroundings()?;
    let catalog = catalog::load(settings)?;
    attend(settings, &around, &catalog, None, attended(), Walker::walk)
}

/// A new session whose stack, answers or tools were named, as far as they were.
pub(super) fn start(
    settings: &Settings,
    around: &Surroundings,
    catalog: &engine::Catalog,
    request: Request,
    wishes: Wishes,
) -> Result<ExitCode, Failure> {
    let stack = (request.profile.is_some() || !request.add.is_empty()).then(|| Stack {
        profile: request.profile.clone(),
        manifest_path: None,
        catalogs: around.layers.recorded(),
        add: request.add.clone(),
        without: request.without.clone(),
    });
    attend(settings, around, catalog, Some(request), wishes, |walker| walker.begin(stack))
}

/// A session that waits for answers, or for a person to decide.
pub(super) fn resume(
    settings: &Settings,
    around: &Surroundings,
    id: &SessionId,
    failed: engine::Failed,
    wishes: Wishes,
) -> Result<ExitCode, Failure> {
    if !engine::waits_for_answers(around, id)? {
        // Its plan says all that is needed: the catalog may be gone.
        let catalog = engine::Catalog::default();
        return attend(settings, around, &catalog, None, wishes, |walker| {
            walker.resume_session(id, failed)
        });
    }
    if wishes.plan.is_some() || failed == engine::Failed::Skip {
        let message = format!("session {id} has no plan yet: it waits for answers");
        return Err(Failure::new(Kind::Usage, message)
            .hint(format!("provision resume {id}"))
            .session(id.clone()));
    }
    let loaded = around.store.load(id)?;
    let layers = around.layers.or_recorded(&loaded.session.profile.catalogs);
    let catalog = engine::load_catalog(around, &layers)?;
    let request = Request { data: wishes.data.clone(), ..Request::of_tools(Vec::new()) };
    attend(settings, around, &catalog, Some(request), wishes, |walker| {
        walker.resume_session(id, failed)
    })
}

/// Which of several sessions somebody means; `None` if they would rather leave.
pub(super) fn which(
    settings: &Settings,
    around: &Surroundings,
    candidates: &[Candidate],
) -> Result<Option<SessionId>, Failure> {
    let catalog = engine::Catalog::default();
    let screen = settings.screen.clone();
    let walker = Walker::new(around, &catalog, screen, None, attended());
    match walker.which(candidates) {
        Ok(id) => Ok(Some(id)),
        Err(Stopped::Left(_)) => Ok(None),
        Err(Stopped::Error(error)) => Err(error.into()),
    }
}

/// Nobody wanted anything after all.
pub(super) fn nothing_begun() -> ExitCode {
    output::talk("nothing was begun, and nothing is changed\n");
    ExitCode::from(Kind::Undecided.exit_code())
}

/// What somebody wants who is there to decide the rest.
fn attended() -> Wishes {
    Wishes {
        data: GivenData { environment: Settings::data_in_environment(), ..GivenData::default() },
        attended: true,
        ..Wishes::default()
    }
}

/// Leads a person through a walk, and prints how it ended.
pub(super) fn attend<'w>(
    settings: &Settings,
    around: &'w Surroundings,
    catalog: &'w engine::Catalog,
    request: Option<Request>,
    wishes: Wishes,
    walk: impl FnOnce(&mut Walker<'w>) -> Given<Option<Ended>>,
) -> Result<ExitCode, Failure> {
    let screen = settings.screen.clone();
    let ended = walk(&mut Walker::new(around, catalog, screen, request, wishes));
    match ended {
        Ok(Some(ended)) => Ok(say_goodbye(settings, around, &ended)),
        Ok(None) => Ok(ExitCode::SUCCESS),
        Err(Stopped::Left(_)) => Ok(nothing_begun()),
        Err(Stopped::Error(error)) => Err(error.into()),
    }
}
