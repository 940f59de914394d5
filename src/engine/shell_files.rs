//! The configuration of a person's shells: what tasks have for it, putting that in, taking it out,
//! and saying what is there.

use std::path::{Path, PathBuf};

use super::{
    RunError, Surroundings, Wishes,
    changed_plan::kept_plan,
    platform,
    sessions::{approves, check_machine},
};
use crate::{
    disk::{Edit, EditError, Fs, read_as_it_is},
    exec::Environment,
    flow::{
        BlockChange, BlockFlaw, Shell, ShellSurroundings, shell_blocks, with_block, without_blocks,
    },
    model::{
        CommandVerdict, Document, ErrorClass, EventKind, Plan, PlanTask, SessionId, SessionStatus,
        ShellBlockWritten, TaskId, TaskStatus,
    },
};

/// The most that a shell's file may have: whatever is larger is no such file.
const LARGEST: u64 = 4 * 1024 * 1024;
/// How often a file is looked at again that someone changes while we do.
const TRIES: usize = 10;

/// The lines of a task that belong into a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedBlock {
    pub task_id: TaskId,
    pub shell: Shell,
    pub file: PathBuf,
    pub lines: String,
}

/// A file of a shell, and whose lines are in it.
#[derive(Debug)]
pub struct ShellFile {
    pub shell: Shell,
    pub file: PathBuf,
    pub tasks: Result<Vec<TaskId>, BlockError>,
}

/// What became of lines that were to be added: whether the file had to be changed for it.
#[derive(Debug)]
pub struct AddedBlock {
    pub block: WantedBlock,
    pub changed: Result<bool, BlockError>,
}

/// Why a shell's file was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    #[error("`{}` was left as it is: {source}", .file.display())]
    Flaw { file: PathBuf, source: BlockFlaw },
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl BlockError {
    pub(super) fn class(&self) -> ErrorClass {
        match self {
            Self::Edit(error) if error.is_denied() => ErrorClass::PermissionRequired,
            _ => ErrorClass::Unknown,
        }
    }

    /// All of it on one line.
    pub fn text(&self) -> String {
        let cause = std::error::Error::source(self).filter(|_| matches!(self, Self::Edit(_)));
        cause.map_or_else(|| self.to_string(), |cause| format!("{self}: {cause}"))
    }
}

fn surroundings(environment: &Environment) -> ShellSurroundings {
    let variable = |name| environment.variable(name).map(str::to_owned);
    ShellSurroundings {
        home: environment.variable("HOME").map(PathBuf::from),
        login_shell: variable("SHELL"),
        zdotdir: variable("ZDOTDIR"),
        xdg_config_home: variable("XDG_CONFIG_HOME"),
        is_macos: platform(environment).family == "macos",
    }
}

/// The lines that a task has for the shells that are in use here.
pub(super) fn wanted(environment: &Environment, task: &PlanTask) -> Vec<WantedBlock> {
    if task.shell_integration.is_empty() {
        return Vec::new();
    }
    let files = surroundings(environment).files_in_use(is_file);
    let block = |(shell, file): (Shell, PathBuf)| {
        let lines = task.shell_integration.get(shell.name())?;
        Some(WantedBlock { task_id: task.id.clone(), shell, file, lines: lines.clone() })
    };
    files.into_iter().filter_map(block).filter(|block| !block.lines.trim().is_empty()).collect()
}

impl WantedBlock {
    /// Puts the lines where they belong; says whether the file had to be changed for it.
    pub(super) fn put(&self) -> Result<bool, BlockError> {
        change(&self.file, |content| with_block(content, &self.task_id, &self.lines))
    }

    /// Whether the lines are there already.
    pub(super) fn is_there(&self) -> bool {
        let content = read_as_it_is(&Fs::real(), &self.file, LARGEST).ok().flatten();
        with_block(content.as_deref(), &self.task_id, &self.lines) == Ok(BlockChange::Nothing)
    }

    /// What is recorded of it.
    pub(super) fn written(&self, done: &Result<bool, BlockError>) -> EventKind {
        EventKind::ShellBlockWritten(Box::new(ShellBlockWritten {
            task_id: self.task_id.clone(),
            shell: self.shell.name().into(),
            file: self.file.to_string_lossy().into_owned(),
            status: match done {
                Ok(_) => CommandVerdict::Success,
                Err(_) => CommandVerdict::Failure,
            },
            changed: matches!(done, Ok(true)),
            error: done.as_ref().err().map(BlockError::text),
        }))
    }
}

/// Changes a file as `how` says, from what is in it at that moment. Whatever another program writes
/// meanwhile stays: then it is looked at again.
fn change(
    file: &Path,
    how: impl Fn(Option<&[u8]>) -> Result<BlockChange, BlockFlaw>,
) -> Result<bool, BlockError> {
    let fs = Fs::real();
    let how = |content: Option<&[u8]>| {
        how(content).map_err(|source| BlockError::Flaw { file: file.into(), source })
    };
    // What is as it should be is not touched, and need not be writable.
    if how(read_as_it_is(&fs, file, LARGEST)?.as_deref())? == BlockChange::Nothing {
        return Ok(false);
    }
    for _ in 0..TRIES {
        let edit = Edit::begin(&fs, file, LARGEST)?;
        let is_done = match how(edit.content())? {
            BlockChange::Nothing => return Ok(false),
            BlockChange::Content(content) => edit.finish(&content)?,
            BlockChange::NoFile => edit.remove()?,
        };
        if is_done {
            return Ok(true);
        }
    }
    Err(EditError::Busy(file.into()).into())
}

/// Whose lines are in the files of all shells there could be.
pub fn shell_files(environment: &Environment) -> Vec<ShellFile> {
    let around = surroundings(environment);
    let all =
        Shell::ALL.into_iter().filter_map(|shell| Some((shell, around.file(shell, is_file)?)));
    all.map(|(shell, file)| ShellFile { shell, tasks: tasks_in(&file), file }).collect()
}

fn tasks_in(file: &Path) -> Result<Vec<TaskId>, BlockError> {
    let content = read_as_it_is(&Fs::real(), file, LARGEST)?.unwrap_or_default();
    let blocks =
        shell_blocks(&content).map_err(|source| BlockError::Flaw { file: file.into(), source })?;
    Ok(blocks.into_iter().map(|block| block.task_id).collect())
}

/// Takes the lines of these tasks out of a file; says which were there.
pub fn remove_shell_blocks(file: &Path, tasks: &[TaskId]) -> Result<Vec<TaskId>, BlockError> {
    let mut there = tasks_in(file)?;
    there.retain(|task| tasks.contains(task));
    let gone = change(file, |content| without_blocks(content.unwrap_or_default(), &there))?;
    Ok(if gone { there } else { Vec::new() })
}

/// Adds the lines of what a session has installed; with `all`, also of what it found there.
pub fn add_shell_blocks(
    around: &Surroundings,
    id: &SessionId,
    all: bool,
) -> Result<Vec<AddedBlock>, RunError> {
    let mut recorder = around.store.open_record(id, &around.pen, &around.clock.now())?;
    check_machine(recorder.session())?;
    let plan = kept_plan(around, recorder.session())?;
    let mut added = Vec::new();
    let mut events = Vec::new();
    for task in plan.tasks.iter().filter(|task| is_done(recorder.session(), task, all)) {
        for block in wanted(&around.environment, task) {
            let changed = block.put();
            events.push(block.written(&changed));
            added.push(AddedBlock { block, changed });
        }
    }
    recorder.record(events, &around.clock.now())?;
    recorder.close()?;
    Ok(added)
}

/// Whether a task is completed; unless `all` are meant, by this session's own doing.
pub(super) fn is_done(session: &Document, task: &PlanTask, all: bool) -> bool {
    session.tasks.get(&task.id).is_some_and(|record| {
        record.status == TaskStatus::Completed && (all || !record.was_there())
    })
}

/// The lines that a run of this plan would add if that were allowed: what a person is asked about.
/// Nothing, if the plan is not approved and so will not be run.
pub fn asked_of_plan(around: &Surroundings, plan: &Plan, wishes: &Wishes) -> Vec<WantedBlock> {
    let digest = plan.compute_digest();
    match &wishes.approval {
        Some(approval) if approves(approval, &digest).is_ok() => open_blocks(around, plan, None),
        _ => Vec::new(),
    }
}

/// As [`asked_of_plan`], for a session that is to be resumed. What cannot be read is nothing here:
/// resuming says why.
pub fn asked_of_session(
    around: &Surroundings,
    id: &SessionId,
    wishes: &Wishes,
) -> Vec<WantedBlock> {
    let Ok(loaded) = around.store.load(id) else { return Vec::new() };
    let session = &loaded.session;
    let is_settled = session.shell_integration.is_some()
        || session.meta.status == SessionStatus::Completed
        || check_machine(session).is_err();
    let Ok(Some(plan)) = around.store.plan_of(session) else { return Vec::new() };
    let approves = |digest| wishes.approval.as_ref().is_some_and(|a| approves(a, digest).is_ok());
    let is_approved = session.plan.approved_at.is_some() || approves(&plan.compute_digest());
    if is_settled || !is_approved {
        return Vec::new();
    }
    open_blocks(around, &plan, Some(session))
}

/// The lines of what a plan would set up.
pub fn lines_of_plan(around: &Surroundings, plan: &Plan) -> Vec<WantedBlock> {
    open_blocks(around, plan, None)
}

fn open_blocks(around: &Surroundings, plan: &Plan, session: Option<&Document>) -> Vec<WantedBlock> {
    let is_open = |task: &&PlanTask| {
        let record = session.and_then(|session| session.tasks.get(&task.id));
        match record {
            Some(record) => !record.status.is_settled(),
            None => task.found.is_none(),
        }
    };
    let tasks = plan.tasks.iter().filter(is_open);
    let blocks = tasks.flat_map(|task| wanted(&around.environment, task));
    blocks.filter(|block| !block.is_there()).collect()
}

/// Whether there is something that a shell would read, or a link that may lead to it.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| !there.is_dir())
}
