//! The kind of machine we are on, and what can be seen of its tools without running anything.

use std::path::PathBuf;

use crate::{
    exec::Environment,
    model::{PackageManager, Platform, Task},
    os,
};

pub fn platform(environment: &Environment) -> Platform {
    let facts = os::platform_facts();
    let is_there = |manager: &PackageManager| environment.find(manager.program()).is_some();
    Platform {
        family: facts.family.into(),
        id: if facts.id.is_empty() { facts.family.into() } else { facts.id },
        like: facts.like,
        release: facts.release,
        arch: facts.arch.into(),
        managers: PackageManager::ALL.into_iter().filter(is_there).collect(),
    }
}

/// Whether a task is there, as far as that can be told without running a probe; `None` where it
/// takes one.
pub fn seems_installed(task: &Task, environment: &Environment) -> Option<bool> {
    let indicator = task.detection.installed_indicator.as_ref();
    if indicator.is_some_and(|path| environment.expand(path).exists()) {
        return Some(true);
    }
    let path: Vec<PathBuf> = task.path.iter().map(|place| environment.expand(place)).collect();
    match &task.detection.check_command {
        Some(command) => {
            let setup = task.env_setup.as_deref().unwrap_or("");
            environment.answer(command, &path, setup).map(|answer| answer.succeeds)
        }
        None => Some(false),
    }
}
