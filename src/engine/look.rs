//! A look at the machine before the plan is made: which tasks are there, and in which version.
//! Probes run side by side; one that does not answer is cut off, told of, and not believed.

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use tokio::task::{JoinError, JoinSet};

use crate::{
    exec::{Environment, PROBE_LIMIT, Probe, ProbeEnd, probe},
    flow::{self, Offer, Presence},
    model::{Detection, Found, Task, TaskId},
};

/// Everything about one task that a probe needs, to be taken along.
struct Look {
    id: TaskId,
    detection: Detection,
    path: Vec<PathBuf>,
    setup: String,
}

/// What came of looking for one task.
enum Seen {
    There(Found),
    NotThere,
    Unanswered(String),
}

/// Looks for `tasks`.
pub(super) async fn look(
    tasks: &[&Task],
    offer: &Offer<'_>,
    environment: &Environment,
) -> Presence {
    let environment = Arc::new(environment.clone());
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    // A probe mostly waits, for the disk or for an interpreter to come up.
    let most = cores.saturating_mul(4).min(32);
    let mut presence = Presence::default();
    let mut running = JoinSet::new();
    for task in tasks {
        if running.len() >= most
            && let Some(done) = running.join_next().await
        {
            note(&mut presence, done);
        }
        let look = prepared(task, offer, &environment);
        let environment = Arc::clone(&environment);
        running.spawn(async move {
            let seen = look_for(&look, &environment).await;
            (look.id, seen)
        });
    }
    while let Some(done) = running.join_next().await {
        note(&mut presence, done);
    }
    presence.unanswered.sort();
    presence
}

fn note(presence: &mut Presence, done: Result<(TaskId, Seen), JoinError>) {
    match done {
        Ok((id, Seen::There(found))) => presence.add(id, found),
        Ok((id, Seen::Unanswered(why))) => presence.unanswered.push((id, why)),
        // A look that broke off has found nothing.
        Ok((_, Seen::NotThere)) | Err(_) => {}
    }
}

/// With the PATH and the shell text of everything the task could build on.
fn prepared(task: &Task, offer: &Offer<'_>, environment: &Environment) -> Look {
    let (mut path, mut setups) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    let mut open = vec![task];
    while let Some(task) = open.pop() {
        if !seen.insert(&task.id) {
            continue;
        }
        path.extend(task.path.iter().map(|place| environment.expand(place)));
        setups.extend(task.env_setup.as_deref().map(str::trim_end));
        let needs = task.dependencies.required.iter().chain(&task.dependencies.one_of);
        // What the manager of a language installs is where that manager puts things.
        let managers = task.packages.keys().filter(|manager| !manager.is_native());
        let managers = managers.filter_map(|manager| manager.provider());
        let needs = needs.map(TaskId::as_str).chain(managers);
        open.extend(needs.filter_map(|id| offer.get(id)).map(|offered| offered.task));
    }
    setups.reverse();
    Look { id: task.id.clone(), detection: task.detection.clone(), path, setup: setups.join("\n") }
}

async fn look_for(look: &Look, environment: &Environment) -> Seen {
    let Look { detection, path, setup, .. } = look;
    let ask = |command| Probe { command, environment, path, setup };
    let mut found = None;
    let mut silence = None;
    if let Some(command) = &detection.check_command {
        match probe(&ask(command)).await {
            ProbeEnd::Exited { code: 0, output } => {
                let output = String::from_utf8_lossy(&output).into_owned();
                let place = output.lines().next().filter(|line| line.starts_with('/'));
                found = Some(Found { version: None, path: place.map(str::to_owned) });
            }
            ProbeEnd::TimedOut => {
                silence =
                    Some(format!("`{command}` did not answer within {} s", PROBE_LIMIT.as_secs()));
            }
            ProbeEnd::NotStarted(error) => silence = Some(format!("`{command}`: {error}")),
            ProbeEnd::Exited { .. } | ProbeEnd::Signaled(_) => {}
        }
    }
    if let Some(indicator) = detection.installed_indicator.as_ref().filter(|_| found.is_none()) {
        let place = environment.expand(indicator);
        if place.exists() {
            let path = Some(place.to_string_lossy().into_owned());
            found = Some(Found { version: None, path });
        }
    }
    match (found, silence) {
        (Some(mut found), _) => {
            if let Some(command) = &detection.version_command
                && let ProbeEnd::Exited { code: 0, output } = probe(&ask(command)).await
            {
                found.version = flow::version_in(&String::from_utf8_lossy(&output));
            }
            Seen::There(found)
        }
        (None, Some(silence)) => Seen::Unanswered(silence),
        (None, None) => Seen::NotThere,
    }
}
