//! A look at the machine itself: before a plan is executed, when a command has failed, and when
//! someone asks. Only what the plan needs is looked at, and nothing is changed.

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use super::{
    RunError, Surroundings,
    ending::{Ended, pause},
    package_locks::holder_of,
    platform,
    run::Run,
    sessions::within_runtime,
};
use crate::{
    exec::{Environment, Probe, ProbeEnd, probe},
    flow::{
        SystemManager,
        doctor::{
            AptFacts, Facts, HALF_DONE, Index, Level, Needs, Room, Trouble, Use, explains, judge,
        },
    },
    model::{ErrorClass, PackageManager, PauseReason, PlanTask, Timestamp},
    os,
};

const MILLIS_PER_DAY: u64 = 24 * 60 * 60 * 1000;

/// What is wrong with this machine, whatever is to be done with it.
pub fn look_at_machine(around: &Surroundings) -> Result<Vec<Trouble>, RunError> {
    let managers = platform(&around.environment).managers;
    let has_apt = managers.contains(&PackageManager::Apt);
    let own = [PackageManager::Apt, PackageManager::Dnf, PackageManager::Pacman];
    let needs = Needs::of_machine(has_apt, own.iter().any(|own| managers.contains(own)));
    within_runtime(async { Ok(troubles(around, &needs).await) })
}

async fn troubles(around: &Surroundings, needs: &Needs) -> Vec<Trouble> {
    let facts = facts(around, needs).await;
    judge(needs, &facts)
}

impl Run<'_> {
    /// A look before the first command. What is in the way pauses the session: how that ended.
    pub(super) async fn look_at_machine(&self) -> Result<Option<Ended>, RunError> {
        let open = self.plan.tasks.iter().filter(|task| !self.is_settled(task));
        let needs = Needs::of(open);
        if needs == Needs::default() {
            return Ok(None);
        }
        let found = troubles(self.around, &needs).await;
        let found = self.not_mended_here(found);
        let (blocking, warnings): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|trouble| trouble.level == Level::Blocks);
        for trouble in warnings {
            self.note(&format!("{}; {}", trouble.what, trouble.advice));
        }
        if blocking.is_empty() {
            return Ok(None);
        }
        let reason: Vec<_> = blocking.iter().map(|trouble| trouble.what.as_str()).collect();
        let mut ended = pause(self, PauseReason::SystemError, reason.join("; "), false)?;
        ended.troubles = blocking;
        Ok(Some(ended))
    }

    /// What of the machine explains that a task failed. Whoever ends the run is told of it, too.
    pub(super) async fn behind_failure(
        &self,
        class: ErrorClass,
        task: &PlanTask,
    ) -> Result<Vec<Trouble>, RunError> {
        let found = troubles(self.around, &Needs::of([task])).await;
        let mut found = self.not_mended_here(found);
        found.retain(|trouble| explains(trouble, class));
        for trouble in &found {
            let mut known = self.troubles.borrow_mut();
            if !known.contains(trouble) {
                known.push(trouble.clone());
            }
        }
        Ok(found)
    }

    /// What this very plan mends is no news to it. What was mended already and is still there will
    /// not be mended by doing the same again.
    fn not_mended_here(&self, mut troubles: Vec<Trouble>) -> Vec<Trouble> {
        let is_planned = |task: &PlanTask| self.plan.task(&task.id).is_some();
        troubles.retain(|trouble| !trouble.repair.as_ref().is_some_and(is_planned));
        for trouble in &mut troubles {
            if self.options.mended.contains(&trouble.id) {
                trouble.what.push_str(", also after its repair");
                trouble.repair = None;
            }
        }
        troubles
    }
}

async fn facts(around: &Surroundings, needs: &Needs) -> Facts {
    let environment = &around.environment;
    let now = around.clock.now().wall;
    Facts {
        apt: if needs.apt { Some(apt(environment, &now).await) } else { None },
        rooms: rooms(around, needs),
        is_root: rustix::process::geteuid().is_root(),
        has_sudo: environment.find("sudo").is_some(),
    }
}

async fn apt(environment: &Environment, now: &Timestamp) -> AptFacts {
    let was_in_use = holder_of(SystemManager::Apt).is_some();
    let asked = Probe { command: HALF_DONE, environment, path: &[], setup: "" };
    let half_done = match probe(&asked).await {
        ProbeEnd::Exited { code: 0, output } => String::from_utf8_lossy(&output).into_owned(),
        // What could not be asked is not held against the machine.
        _ => String::new(),
    };
    let is_step = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let steps = names_in("/var/lib/dpkg/updates").iter().filter(|name| is_step(name)).count();
    AptFacts {
        // Whoever began or ended in between was at work as well.
        in_use: was_in_use || holder_of(SystemManager::Apt).is_some(),
        unfinished_steps: steps,
        half_done,
        index: index(now),
        archives: archives(),
    }
}

fn names_in(folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

fn index(now: &Timestamp) -> Index {
    const LISTS: &str = "/var/lib/apt/lists";
    if !Path::new(LISTS).is_dir() {
        return Index::Unknown;
    }
    if !names_in(LISTS).iter().any(|name| name.contains("_Packages")) {
        return Index::Missing;
    }
    // The lists themselves have the time of the server; the folders tell when apt last looked.
    let looked = [LISTS, "/var/lib/apt/lists/partial"].iter().filter_map(|folder| {
        let changed = std::fs::metadata(folder).and_then(|folder| folder.modified()).ok()?;
        i64::try_from(changed.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
    });
    looked.max().map_or(Index::Unknown, |looked| Index::Fetched {
        days_ago: now.millis_since(&Timestamp::clamped(looked)) / MILLIS_PER_DAY,
    })
}

/// The file system of the packages that apt keeps, and their size.
fn archives() -> Option<(u64, u64)> {
    let folder = Path::new("/var/cache/apt/archives");
    let device = folder.metadata().ok()?.dev();
    let entries = std::fs::read_dir(folder).ok()?;
    let packages = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        path.extension().is_some_and(|extension| extension == "deb").then_some(path)
    });
    let size = packages.filter_map(|path| Some(path.metadata().ok()?.len())).sum();
    Some((device, size))
}

/// The file systems that are needed, each once, by the most important of its uses.
fn rooms(around: &Surroundings, needs: &Needs) -> Vec<Room> {
    let home = around.environment.home();
    let store = around.store.home().path();
    let mut wanted: Vec<(&Path, Use)> = Vec::new();
    if needs.system {
        wanted.extend([(Path::new("/"), Use::Packages), (Path::new("/var"), Use::Packages)]);
    }
    if needs.home {
        wanted.push((home, Use::Packages));
    }
    if needs.commands {
        wanted.extend([(home, Use::Scratch), (Path::new("/tmp"), Use::Scratch)]);
        wanted.push((store, Use::Record));
    }
    let mut rooms = Vec::<Room>::new();
    for (place, needed_for) in wanted {
        let Some(place) = existing(place) else { continue };
        let Ok(left) = os::space(&place) else { continue };
        if !rooms.iter().any(|known| known.device == left.device) {
            let mount = mount_of(&place, left.device).to_string_lossy().into_owned();
            let os::Space { device, bytes, files } = left;
            rooms.push(Room { mount, device, bytes, files, needed_for });
        }
    }
    rooms
}

/// The nearest folder above that is there.
fn existing(place: &Path) -> Option<PathBuf> {
    place.ancestors().find_map(|place| place.canonicalize().ok())
}

fn mount_of(place: &Path, device: u64) -> &Path {
    let same = |place: &&Path| place.metadata().is_ok_and(|place| place.dev() == device);
    place.ancestors().take_while(same).last().unwrap_or(place)
}
