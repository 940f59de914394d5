//! `provision apply` and `provision resume`: the talk around a run.

use std::{
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use indexmap::IndexMap;
use serde_json::json;

use super::{
    ask,
    failure::Failure,
    output,
    settings::Settings,
    shell, walk,
    walk_args::{DataArgs, InterruptedArg, RunArgs, YesNo},
};
use crate::{
    engine::{
        self, Approval, Ended, Failed, GivenData, Interrupted, RunError, ShellChoice, Surroundings,
        Told, Trouble, Watcher, Wishes,
    },
    face,
    model::{EventKind, SessionId, SessionStatus, TaskId},
};

/// The most a file of values may have.
const LARGEST_DATA: u64 = 1024 * 1024;

pub(super) fn apply(settings: &Settings, plan: &Path, args: RunArgs) -> Result<ExitCode, Failure> {
    let mut wishes = wishes(settings, args)?;
    if wishes.attended {
        let given = engine::read_plan(plan)?;
        let (around, catalog) = (settings.surroundings()?, engine::Catalog::default());
        return walk::attend(settings, &around, &catalog, None, wishes, |walker| {
            walker.apply(given)
        });
    }
    run_with(settings, &settings.surroundings()?, |around, watcher| {
        let given = engine::read_plan(plan)?;
        let asked = || engine::asked_of_plan(around, &given.0, &wishes);
        wishes.shell_integration = shell::decide(settings, &wishes, asked)?;
        engine::apply(around, given, &wishes, watcher)
    })
}

pub(super) fn resume(
    settings: &Settings,
    session: Option<&str>,
    failed: Option<Failed>,
    from: Option<TaskId>,
    plan: Option<PathBuf>,
    args: RunArgs,
) -> Result<ExitCode, Failure> {
    let mut wishes = Wishes { plan, from, ..wishes(settings, args)? };
    let failed = match failed {
        Some(failed) => failed,
        // Whoever is there is asked.
        None if wishes.attended => Failed::Leave,
        None => Failed::Retry,
    };
    let around = settings.surroundings()?;
    let Some(id) = which_session(settings, &around, session, wishes.attended)? else {
        return Ok(walk::nothing_begun());
    };
    if wishes.attended {
        return walk::resume(settings, &around, &id, failed, wishes);
    }
    run_with(settings, &around, |around, watcher| {
        let asked = || engine::asked_of_session(around, &id, &wishes);
        wishes.shell_integration = shell::decide(settings, &wishes, asked)?;
        engine::resume(around, &id, failed, &wishes, watcher)
    })
}

/// The session that is to be gone on with; `None` if a person would rather not say.
pub(super) fn which_session(
    settings: &Settings,
    around: &Surroundings,
    named: Option<&str>,
    attended: bool,
) -> Result<Option<SessionId>, Failure> {
    if let Some(text) = named {
        return Ok(Some(around.store.resolve(text)?));
    }
    let newest = engine::newest_unfinished(&around.store)?;
    let candidates = engine::candidates(around)?;
    if attended && candidates.len() > 1 {
        return walk::which(settings, around, &candidates);
    }
    let now = around.clock.now().wall;
    for other in candidates.iter().filter(|other| other.id != newest) {
        let other =
            format!("not finished, either: {} ({})", other.id, face::candidate_text(other, &now));
        output::note(settings, &other);
    }
    Ok(Some(newest))
}

pub(super) fn given_data(args: &DataArgs) -> Result<GivenData, Failure> {
    Ok(GivenData {
        command_line: args.data.iter().cloned().collect(),
        file: args.data_file.as_deref().map(read_data).transpose()?.unwrap_or_default(),
        environment: Settings::data_in_environment(),
    })
}

pub(super) fn wishes(settings: &Settings, args: RunArgs) -> Result<Wishes, Failure> {
    let approval = match args.approve {
        Some(digest) => Some(Approval::Digest(digest)),
        None => args.yes.then_some(Approval::Unattended),
    };
    let data = given_data(&args.data)?;
    let interrupted = args.interrupted.map(|what| match what {
        InterruptedArg::Retry => Interrupted::Retry,
        InterruptedArg::Skip => Interrupted::Skip,
    });
    let shell_integration = args
        .shell_integration
        .map(|said| ShellChoice { allowed: said == YesNo::Yes, asked: false });
    // A person decides where there is a terminal, and nothing was approved beforehand.
    let attended = approval.is_none() && !settings.json && ask::can_ask(settings);
    Ok(Wishes {
        approval,
        repair: args.repair,
        keep_going: args.keep_going,
        interrupted,
        data,
        shell_integration,
        attended,
        jobs: args.jobs.map(usize::from),
        ..Wishes::default()
    })
}

/// A JSON object whose values are texts. Its content is repeated in no message.
fn read_data(path: &Path) -> Result<IndexMap<String, String>, Failure> {
    let mut text = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().take(LARGEST_DATA).read_to_end(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LARGEST_DATA).read_to_end(&mut text))
    };
    read.map_err(|error| Failure::data_file(path, &error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Failure::data_file(path, &format!("{place}: not a JSON object of texts"))
    })
}

pub(super) fn run_with(
    settings: &Settings,
    around: &Surroundings,
    work: impl FnOnce(&Surroundings, &mut Watcher<'_>) -> Result<Ended, RunError>,
) -> Result<ExitCode, Failure> {
    let json = settings.json;
    let ended = work(around, &mut watcher(settings));
    settings.screen.end();
    match ended {
        Ok(ended) => Ok(say_goodbye(settings, around, &ended)),
        Err(error) => {
            if let RunError::NotApproved { plan, .. } = &error
                && !json
            {
                output::talk(&face::plan_text(plan, true));
            }
            let failure = Failure::from(error);
            if let Some(id) = &failure.session
                && json
            {
                let loaded = around.store.load(id).ok();
                let status = loaded.map(|loaded| loaded.session.meta.status.name());
                run_ended(id, status.unwrap_or("unknown"), failure.kind.exit_code(), &[]);
            }
            Err(failure)
        }
    }
}

/// Shows what a run tells, as it was asked for.
pub(super) fn watcher(settings: &Settings) -> impl FnMut(Told<'_>) {
    let (json, quiet) = (settings.json, settings.quiet);
    let screen = settings.screen.clone();
    move |told: Told<'_>| match told {
        // Whoever read along may have gone; the run goes on all the same.
        Told::Event(event) if json => drop(output::json_line(event)),
        Told::Repaired(ended) if json => json_end(ended),
        // Events are all there is on stdout; what else is to know is said beside them.
        Told::Note(note) if json && !quiet => {
            output::talk(&face::note_text(note));
        }
        told if !json && (!quiet || is_bad_news(&told)) => screen.show(&told),
        _ => {}
    }
}

/// Whether even those want to hear it who want to hear little.
fn is_bad_news(told: &Told<'_>) -> bool {
    matches!(told, Told::Event(event) if matches!(event.kind, EventKind::TaskFailed { .. }))
}

fn exit_code(status: SessionStatus) -> u8 {
    match status {
        SessionStatus::Completed => 0,
        SessionStatus::Failed => 3,
        SessionStatus::Paused | SessionStatus::InProgress => 4,
    }
}

/// What is left to say when a run is over, and what the program exits with.
pub(super) fn say_goodbye(settings: &Settings, around: &Surroundings, ended: &Ended) -> ExitCode {
    let code = exit_code(ended.status);
    let on_screen = io::stderr().is_terminal() && !settings.quiet;
    if settings.json {
        json_end(ended);
    } else if code == 0
        && on_screen
        && let Ok(summary) = engine::summary(around, &ended.session_id)
    {
        let terminal = settings.screen.terminal();
        terminal.say(&face::completion_text(&summary, terminal));
    } else if code != 0 || !settings.quiet {
        output::talk(&face::goodbye(ended));
    }
    ExitCode::from(code)
}

/// The last line of a session that came to an end, or to a stop.
fn json_end(ended: &Ended) {
    let Ended { session_id, status, troubles, .. } = ended;
    run_ended(session_id, status.name(), exit_code(*status), troubles);
}

/// The last line of a run for programs, with what is wrong with the machine where it ended for that.
fn run_ended(id: &SessionId, status: &str, exit_code: u8, troubles: &[Trouble]) {
    let mut line =
        json!({"event": "run_ended", "session_id": id, "status": status, "exit_code": exit_code});
    if !troubles.is_empty() {
        line["findings"] = json!(face::findings_json(troubles));
    }
    // Nobody is left to be told if even this cannot be written.
    let _ = output::json_line(&line);
}
