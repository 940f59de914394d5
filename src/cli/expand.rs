//! `provision expand`: tools beside what a complete session has set up.

use std::process::ExitCode;

use serde_json::json;

use super::{
    failure::{Failure, Kind},
    output,
    run::{given_data, run_with, wishes},
    settings::Settings,
    shell, walk,
    walk_args::RunArgs,
};
use crate::{
    engine::{self, Inheritance, Request},
    face,
    model::{SessionId, TaskId},
    store::Store,
};

pub(super) fn run(
    settings: &Settings,
    names: Vec<String>,
    answers: Vec<(String, String)>,
    mut args: RunArgs,
) -> Result<ExitCode, Failure> {
    let data = given_data(&std::mem::take(&mut args.data))?;
    let mut wishes = wishes(settings, args)?;
    let mut around = settings.surroundings()?;
    let (id, tasks) = meant(&around.store, names)?;
    let session = engine::expandable(&around, &id)?;
    // What it was begun with is what its tasks are found in.
    around.layers = around.layers.or_recorded(&session.profile.catalogs);
    let catalog = engine::load_catalog(&around, &around.layers)?;
    let answers = answers.into_iter().collect();
    let request = Request { answers, data, ..Request::of_tools(tasks.clone()) };
    if wishes.attended {
        return walk::attend(settings, &around, &catalog, Some(request), wishes, |walker| {
            walker.expand(&id, &tasks)
        });
    }
    let inherited = engine::inheritance(&around, &catalog, &id, &tasks)?;
    if !settings.quiet {
        output::talk(&face::already_text(&inherited));
    }
    if inherited.is_empty() {
        return nothing_new(settings, &inherited, &tasks);
    }
    let request =
        Request { profile: inherited.profile.clone(), add: inherited.tasks.clone(), ..request };
    run_with(settings, &around, |around, watcher| {
        let ready = engine::ready(around, &catalog, &request, &wishes, Some(&inherited))?;
        let asked = || engine::asked_of_plan(around, ready.plan(), &wishes);
        wishes.shell_integration = shell::decide(settings, &wishes, asked)?;
        ready.start(around, &wishes, watcher)
    })
}

/// The session and the tasks that were named. A session is named first, if at all.
fn meant(store: &Store, names: Vec<String>) -> Result<(SessionId, Vec<TaskId>), Failure> {
    let is_session = |name: &str| name == "latest" || name.starts_with("prov-");
    let mut names = names.into_iter().peekable();
    let id = match names.next_if(|name| is_session(name)) {
        // The newest of all may be one that is still to be finished.
        Some(name) if name == "latest" => engine::newest_complete(store)?,
        Some(name) => store.resolve(&name)?,
        None => engine::newest_complete(store)?,
    };
    let task = |name: String| {
        super::args::task_id(&name)
            .map_err(|why| Failure::new(Kind::Usage, format!("`{name}` is no task: {why}")))
    };
    Ok((id, names.map(task).collect::<Result<_, _>>()?))
}

/// Nothing is left to be done, or nothing was asked for.
fn nothing_new(
    settings: &Settings,
    inherited: &Inheritance,
    tasks: &[TaskId],
) -> Result<ExitCode, Failure> {
    let id = inherited.session();
    if tasks.is_empty() {
        return Err(Failure::new(Kind::Usage, "which tools should be added?")
            .hint(format!("provision expand {id} TASK…"))
            .hint("`provision catalog list` names them"));
    }
    if settings.json {
        // Whoever read along may have gone.
        let _ = output::json_line(&json!({
            "event": "run_ended", "session_id": id, "status": "completed", "exit_code": 0,
            "already": inherited.already,
        }));
    }
    Ok(ExitCode::SUCCESS)
}
