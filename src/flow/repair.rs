//! What mends a machine: small tasks of few commands, each with a check that it did.

use indexmap::IndexMap;

use super::doctor::Trouble;
use crate::model::{Plan, PlanCommand, PlanFormat, PlanTask, Verification};

/// Prints every package that is neither installed nor gone: its state, what is wrong with it, its
/// name. It says nothing where all is well, in whatever language.
pub const HALF_DONE: &str = "dpkg-query --show --showformat='${db:Status-Status} ${db:Status-Eflag} ${Package}\\n' | \
     sed -E '/^(installed|config-files|not-installed) ok /d'";

/// The settings of the person stay as they are where a package brings others: nobody is asked.
const KEEP: &str = "--force-confdef --force-confold";

/// One plan for all that can be mended; `None` where nothing can.
pub fn repair_plan<'t>(troubles: impl IntoIterator<Item = &'t Trouble>) -> Option<Plan> {
    let mut tasks = Vec::<PlanTask>::new();
    for task in troubles.into_iter().filter_map(|trouble| trouble.repair.as_ref()) {
        if !tasks.iter().any(|known| known.id == task.id) {
            tasks.push(task.clone());
        }
    }
    (!tasks.is_empty()).then(|| Plan {
        format: PlanFormat::V1,
        digest: None,
        profile: Some("repair".into()),
        user_data: IndexMap::new(),
        tasks,
    })
}

pub(super) fn of_dpkg() -> Option<PlanTask> {
    let configure = format!("dpkg {KEEP} --configure -a");
    let options = KEEP.split(' ').map(|option| format!("-o Dpkg::Options::={option}"));
    let options = options.collect::<Vec<_>>().join(" ");
    let fix = format!("apt-get install --fix-broken -y {options}");
    let commands = vec![
        command(&configure, "Finish what dpkg had begun"),
        command(&fix, "Install what is missing for that"),
    ];
    task("repair-dpkg", "Packages that were left half done", commands, HALF_DONE)
}

pub(super) fn of_index() -> Option<PlanTask> {
    let commands = vec![command("apt-get update", "Fetch the list of packages")];
    let check = "find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' -print -quit | grep -q . || echo none";
    task("repair-apt-index", "apt's index of packages", commands, check)
}

pub(super) fn of_archives() -> Option<PlanTask> {
    let commands = vec![command("apt-get clean", "Remove packages that were fetched and kept")];
    let check = "find /var/cache/apt/archives -maxdepth 1 -name '*.deb'";
    task("repair-space", "Packages that apt keeps", commands, check)
}

/// A task that is done when `check` has nothing to say.
fn task(id: &str, name: &str, commands: Vec<PlanCommand>, check: &str) -> Option<PlanTask> {
    Some(PlanTask {
        name: Some(name.into()),
        category: Some("repair".into()),
        commands,
        verification: Some(Verification {
            command: check.into(),
            expected_pattern: None,
            expected_output: Some(String::new()),
        }),
        ..PlanTask::new(id.parse().ok()?)
    })
}

fn command(text: &str, description: &str) -> PlanCommand {
    PlanCommand {
        command: text.into(),
        description: Some(description.into()),
        idempotent: true,
        requires_sudo: true,
        locks: vec!["apt".into()],
        ..PlanCommand::default()
    }
}
