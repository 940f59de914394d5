//! A look at the machine: which tasks are there, and in which version. Probes run side by side; one
//! that does not answer is cut off, told of, and not believed.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{footing, side_by_side::side_by_side};
use crate::{
    exec::{Environment, PROBE_LIMIT, Probe, ProbeEnd, probe},
    flow::{self, Offer, Presence},
    model::{Detection, Found, Plan, PlanTask, Task, TaskId},
};

/// Everything about one task that a probe needs, to be taken along.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub id: TaskId,
    detection: Detection,
    path: Vec<PathBuf>,
    setup: String,
}

/// How closely is looked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depth {
    /// Whether what is there is asked for its version.
    pub versions: bool,
    /// How long all of it may take; each probe has a limit of its own besides.
    pub patience: Option<Duration>,
}

impl Depth {
    pub(super) const FULL: Self = Self { versions: true, patience: None };
}

/// What came of looking for one task.
pub(super) enum Seen {
    There { found: Found, no_version: Option<String> },
    NotThere,
    Unanswered(String),
}

impl Seen {
    fn there(found: Found) -> Self {
        Self::There { found, no_version: None }
    }
}

/// Looks for tasks of a catalog.
pub(super) async fn look(
    tasks: &[&Task],
    offer: &Offer<'_>,
    environment: &Environment,
) -> Presence {
    let looks = tasks.iter().map(|task| Look::of_catalog(task, offer, environment));
    look_at(looks, Depth::FULL, environment).await
}

/// Looks for all of them. What has not answered when patience ends is cut off, and not answered.
pub(super) async fn look_at(
    looks: impl IntoIterator<Item = Look>,
    depth: Depth,
    environment: &Environment,
) -> Presence {
    let mut presence = Presence::default();
    let mut slow = Vec::new();
    for look in looks {
        let wants_version = depth.versions && look.detection.version_command.is_some();
        match look.in_process(environment) {
            Some(Seen::There { .. }) if wants_version => slow.push(look),
            Some(seen) => note(&mut presence, look.id, seen),
            None => slow.push(look),
        }
    }
    let environment = Arc::new(environment.clone());
    let mut open: HashSet<TaskId> = slow.iter().map(|look| look.id.clone()).collect();
    let works = slow.into_iter().map(|look| {
        let environment = Arc::clone(&environment);
        async move {
            let seen = look.go(depth.versions, &environment).await;
            (look.id, seen)
        }
    });
    let all = side_by_side(works, |(id, seen)| {
        open.remove(&id);
        note(&mut presence, id, seen);
    });
    match depth.patience {
        // What came of it until then is there.
        Some(patience) => drop(tokio::time::timeout(patience, all).await),
        None => all.await,
    }
    let left = open.into_iter().map(|id| (id, "there was no time to ask".to_owned()));
    presence.unanswered.extend(left);
    presence.unanswered.sort();
    presence.unversioned.sort();
    presence
}

fn note(presence: &mut Presence, id: TaskId, seen: Seen) {
    match seen {
        Seen::There { found, no_version } => {
            presence.unversioned.extend(no_version.map(|why| (id.clone(), why)));
            presence.add(id, found);
        }
        Seen::Unanswered(why) => presence.unanswered.push((id, why)),
        Seen::NotThere => {}
    }
}

impl Look {
    /// With the PATH and the shell text of everything the task could build on.
    pub(super) fn of_catalog(task: &Task, offer: &Offer<'_>, environment: &Environment) -> Self {
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
        let (id, detection) = (task.id.clone(), task.detection.clone());
        Self { id, detection, path, setup: setups.join("\n") }
    }

    /// As a run of the plan would look for it; `None` where the plan does not say how.
    pub(super) fn of_plan(task: &PlanTask, plan: &Plan, environment: &Environment) -> Option<Self> {
        let detection = task.detection.clone()?;
        let find = |id: &TaskId| plan.task(id);
        Some(Self {
            id: task.id.clone(),
            detection,
            path: footing::path_of(task, find, environment),
            setup: footing::setup_of(task, find, true),
        })
    }

    /// Whether there is anything by which it could be seen.
    pub(super) fn can_see(&self) -> bool {
        self.detection.check_command.is_some() || self.detection.installed_indicator.is_some()
    }

    /// Looks without starting a process; `None` if that takes one.
    pub(super) fn in_process(&self, environment: &Environment) -> Option<Seen> {
        let Self { detection, path, setup, .. } = self;
        if let Some(check) = &detection.check_command {
            let answer = environment.answer(check, path, setup)?;
            if answer.succeeds {
                let path = answer.paths.first().map(|path| path.to_string_lossy().into_owned());
                return Some(Seen::there(Found { version: None, path }));
            }
        }
        Some(self.indicator(environment).map_or(Seen::NotThere, Seen::there))
    }

    /// Returns the path whose existence shows that the task is there.
    pub(super) fn indicator(&self, environment: &Environment) -> Option<Found> {
        at(&environment.expand(self.detection.installed_indicator.as_ref()?))
    }

    async fn go(&self, versions: bool, environment: &Environment) -> Seen {
        let Self { detection, path, setup, .. } = self;
        let ask = async |command| probe(&Probe { command, environment, path, setup }).await;
        let mut found = None;
        let mut silence = None;
        if let Some(command) = &detection.check_command {
            match ask(command).await {
                ProbeEnd::Exited { code: 0, output } => {
                    let output = String::from_utf8_lossy(&output).into_owned();
                    let place = output.lines().next().filter(|line| line.starts_with('/'));
                    found = Some(Found { version: None, path: place.map(str::to_owned) });
                }
                ProbeEnd::TimedOut => silence = Some(no_answer(command)),
                ProbeEnd::NotStarted(error) => silence = Some(format!("`{command}`: {error}")),
                ProbeEnd::Exited { .. } | ProbeEnd::Signaled(_) => {}
            }
        }
        let mut found = match (found.or_else(|| self.indicator(environment)), silence) {
            (Some(found), _) => found,
            (None, Some(silence)) => return Seen::Unanswered(silence),
            (None, None) => return Seen::NotThere,
        };
        let mut no_version = None;
        if let Some(command) = detection.version_command.as_ref().filter(|_| versions) {
            match ask(command).await {
                ProbeEnd::Exited { code: 0, output } => {
                    found.version = flow::version_in(&String::from_utf8_lossy(&output));
                }
                ProbeEnd::TimedOut => no_version = Some(no_answer(command)),
                ProbeEnd::NotStarted(_) | ProbeEnd::Exited { .. } | ProbeEnd::Signaled(_) => {}
            }
        }
        Seen::There { found, no_version }
    }
}

fn at(place: &Path) -> Option<Found> {
    let path = Some(place.to_string_lossy().into_owned());
    place.exists().then_some(Found { version: None, path })
}

fn no_answer(command: &str) -> String {
    format!("`{command}` did not answer within {} s", PROBE_LIMIT.as_secs())
}
