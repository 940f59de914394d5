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
    engine::{self, Candidate, GivenData, Request, RunError, Stack, Surroundings, Wishes},
    face::{WalkEnd, Walker},
    model::{Digest, Plan, SessionId, TaskId},
};

/// The walk, where somebody can be asked; else what there is, and what can be done.
pub(super) fn run(settings: &Settings) -> Result<ExitCode, Failure> {
    if settings.json || !ask::can_ask(settings) {
        overview::run(settings)?;
        return Ok(ExitCode::SUCCESS);
    }
    let around = settings.surroundings()?;
    let catalog = catalog::load(settings)?;
    let walker = Walker::new(&around, &catalog, settings.screen.clone(), None, attended());
    end(settings, &around, walker.walk())
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
    let screen = settings.screen.clone();
    let walker = Walker::new(around, catalog, screen, Some(request), wishes);
    end(settings, around, walker.begin(stack))
}

/// A plan file that a person decides about.
pub(super) fn apply(
    settings: &Settings,
    plan: (Plan, Digest),
    wishes: Wishes,
) -> Result<ExitCode, Failure> {
    let around = settings.surroundings()?;
    let catalog = engine::Catalog::default();
    let walker = Walker::new(&around, &catalog, settings.screen.clone(), None, wishes);
    end(settings, &around, walker.apply(plan))
}

/// More tools for a session that is complete.
pub(super) fn expand(
    settings: &Settings,
    around: &Surroundings,
    catalog: &engine::Catalog,
    (id, tasks): (&SessionId, &[TaskId]),
    request: Request,
    wishes: Wishes,
) -> Result<ExitCode, Failure> {
    let screen = settings.screen.clone();
    let walker = Walker::new(around, catalog, screen, Some(request), wishes);
    end(settings, around, walker.expand(id, tasks))
}

/// A session that has a plan, gone through again.
pub(super) fn revise(
    settings: &Settings,
    around: &Surroundings,
    catalog: &engine::Catalog,
    id: &SessionId,
    Change { request, asks, reason }: Change,
    wishes: Wishes,
) -> Result<ExitCode, Failure> {
    let screen = settings.screen.clone();
    let walker = Walker::new(around, catalog, screen, Some(request), wishes);
    end(settings, around, walker.revise(id, asks, reason))
}

/// What is to be otherwise.
pub(super) struct Change {
    pub request: Request,
    /// Whether that is to be asked for.
    pub asks: bool,
    /// Why, if somebody has said so.
    pub reason: Option<String>,
}

/// A session that waits for answers, or for a person to decide.
pub(super) fn resume(
    settings: &Settings,
    around: &Surroundings,
    id: &SessionId,
    failed: engine::Failed,
    wishes: Wishes,
) -> Result<ExitCode, Failure> {
    let screen = settings.screen.clone();
    if !engine::waits_for_answers(around, id)? {
        // Its plan says all that is needed: the catalog may be gone.
        let catalog = engine::Catalog::default();
        let walker = Walker::new(around, &catalog, screen, None, wishes);
        return end(settings, around, walker.resume_session(id, failed));
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
    let walker = Walker::new(around, &catalog, screen, Some(request), wishes);
    end(settings, around, walker.resume_session(id, failed))
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
    Ok(walker.which(candidates)?)
}

/// Nobody wanted anything after all.
pub(super) fn nothing_begun() -> ExitCode {
    output::talk("nothing was begun, and nothing is changed\n");
    ExitCode::from(Kind::Undecided.exit_code())
}

/// What somebody wants who is there to decide the rest.
fn attended() -> Wishes {
    Wishes {
        approval: None,
        mode: None,
        repair: false,
        keep_going: false,
        interrupted: None,
        data: GivenData { environment: Settings::data_in_environment(), ..GivenData::default() },
        plan: None,
        from: None,
        shell_integration: None,
        attended: true,
        jobs: None,
    }
}

/// The last words.
fn end(
    settings: &Settings,
    around: &Surroundings,
    end: Result<WalkEnd, RunError>,
) -> Result<ExitCode, Failure> {
    match end? {
        WalkEnd::Ended(ended) => Ok(say_goodbye(settings, around, &ended)),
        WalkEnd::Nothing { by_choice: true } => Ok(ExitCode::SUCCESS),
        WalkEnd::Nothing { by_choice: false } => Ok(nothing_begun()),
    }
}
