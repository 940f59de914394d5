//! The configuration of a person's shells: adds, removes and lists the lines that tasks have for it.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use super::{
    RunError, Surroundings, Wishes,
    changed_plan::kept_plan,
    platform,
    sessions::{approves, check_machine},
};
use crate::{
    disk::{Access, Edit, EditError, Fs, read_as_it_is},
    exec::Environment,
    flow::{
        BlockFlaw, Shell, ShellSurroundings, has_line, is_env_file, sections, shell_blocks,
        source_line, with_line, with_section, without_blocks, without_line, without_sections,
    },
    model::{
        CommandVerdict, Document, ErrorClass, EventKind, Plan, PlanTask, Session, SessionId,
        SessionStatus, ShellBlockWritten, TaskId, TaskStatus,
    },
};

/// The most that a shell's file may have: whatever is larger is no such file.
const LARGEST: u64 = 4 * 1024 * 1024;
/// How often an edit is tried of a file that another program changes meanwhile.
const MAX_TRIES: usize = 10;

/// The lines of a task for a shell, and the files they need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedBlock {
    pub task_id: TaskId,
    pub shell: Shell,
    /// The person's file, which sources the env file.
    pub file: PathBuf,
    pub env_file: PathBuf,
    pub lines: String,
    source_line: String,
}

/// A file with lines of tasks for a shell.
#[derive(Debug)]
pub struct ShellFile {
    pub shell: Shell,
    pub file: PathBuf,
    pub tasks: Result<Vec<TaskId>, BlockError>,
    /// The person's file and the line in it that sources this one; `None` for a person's file itself,
    /// which holds blocks of an earlier version.
    source: Option<(PathBuf, String)>,
}

/// The result of adding lines: whether a file had to be changed.
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
    #[error("`{}` was left as it is: provision did not write it", .0.display())]
    Foreign(PathBuf),
    #[error("no line of a shell can source `{}`: its path is not plain text", .0.display())]
    UnfitPath(PathBuf),
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
pub(super) fn wanted(around: &Surroundings, task: &PlanTask) -> Vec<WantedBlock> {
    if task.shell_integration.is_empty() {
        return Vec::new();
    }
    let person = surroundings(&around.environment);
    let block = |(shell, file): (Shell, PathBuf)| {
        let lines = task.shell_integration.get(shell.name())?.clone();
        let env_file = ShellSurroundings::env_file(shell, around.store.home().path());
        let source_line = source_line(shell, &env_file, person.home.as_deref());
        let task_id = task.id.clone();
        Some(WantedBlock { task_id, shell, file, env_file, lines, source_line })
    };
    let files = person.files_in_use(is_file).into_iter();
    files.filter_map(block).filter(|block| !block.lines.trim().is_empty()).collect()
}

impl WantedBlock {
    /// Puts the lines into the env file and has the person's file source it, in place of a block of
    /// an earlier version. Returns each file that was changed or could not be.
    ///
    /// Writes nothing if the person's file cannot be changed: another task may source the env file
    /// later.
    pub(super) fn put(&self) -> Vec<(&Path, Result<bool, BlockError>)> {
        let sourced = |content: Option<&[u8]>| self.sourced(content).map(Some);
        if let Err(error) = self.check_path().and_then(|()| check(&self.file, sourced)) {
            return vec![(&self.file, Err(error))];
        }
        let section = change(&self.env_file, Access::Private, |content| {
            let env_file = text_of(&self.env_file, content)?;
            Ok(Some(with_section(&env_file, &self.task_id, &self.lines).into_bytes()))
        });
        let mut done = vec![(self.env_file.as_path(), section)];
        if done[0].1.is_ok() {
            let sourced = change(&self.file, Access::Shared, sourced);
            if !matches!(sourced, Ok(false)) {
                done.push((&self.file, sourced));
            }
        }
        done
    }

    fn check_path(&self) -> Result<(), BlockError> {
        let path = self.env_file.to_str().filter(|path| !path.contains(char::is_control));
        path.map(drop).ok_or_else(|| BlockError::UnfitPath(self.env_file.clone()))
    }

    /// Returns the person's file as it should be.
    fn sourced(&self, content: Option<&[u8]>) -> Result<Vec<u8>, BlockError> {
        let content = content.unwrap_or_default();
        let without = without_blocks(content, std::slice::from_ref(&self.task_id))
            .map_err(|source| BlockError::Flaw { file: self.file.clone(), source })?;
        Ok(with_line(&without, &self.source_line))
    }

    /// Whether the lines are there already.
    pub(super) fn is_there(&self) -> bool {
        let read = |file| read_as_it_is(&Fs::real(), file, LARGEST).ok().flatten();
        let env_file = read(&self.env_file).unwrap_or_default();
        let env_file = String::from_utf8_lossy(&env_file);
        let content = read(&self.file);
        with_section(&env_file, &self.task_id, &self.lines) == env_file
            && self.sourced(content.as_deref()).is_ok_and(|sourced| Some(sourced) == content)
    }

    fn replaces_block(&self) -> bool {
        let blocks = read(&self.file).ok().and_then(|content| shell_blocks(&content).ok());
        blocks.is_some_and(|blocks| blocks.iter().any(|(task, _)| *task == self.task_id))
    }

    /// Returns the events that record the change of each file.
    pub(super) fn written(&self, done: &[(&Path, Result<bool, BlockError>)]) -> Vec<EventKind> {
        let written = |(file, done): &(&Path, Result<bool, BlockError>)| {
            EventKind::ShellBlockWritten(Box::new(ShellBlockWritten {
                task_id: self.task_id.clone(),
                shell: self.shell.name().into(),
                file: file.to_string_lossy().into_owned(),
                status: match done {
                    Ok(_) => CommandVerdict::Success,
                    Err(_) => CommandVerdict::Failure,
                },
                changed: matches!(done, Ok(true)),
                error: done.as_ref().err().map(BlockError::text),
            }))
        };
        done.iter().map(written).collect()
    }
}

/// Changes a file with `how`, which maps its content; `None` is a missing file. Returns whether the
/// content changed. Retries if another program writes the file meanwhile, so that nothing is lost.
fn change(
    file: &Path,
    access: Access,
    how: impl Fn(Option<&[u8]>) -> Result<Option<Vec<u8>>, BlockError>,
) -> Result<bool, BlockError> {
    let fs = Fs::real();
    // A file that is as it should be is not touched, and need not be writable.
    let now = read_as_it_is(&fs, file, LARGEST)?;
    if how(now.as_deref())? == now {
        return Ok(false);
    }
    for _ in 0..MAX_TRIES {
        let edit = Edit::begin(&fs, file, access, LARGEST)?;
        let after = how(edit.content())?;
        if after.as_deref() == edit.content() {
            return Ok(false);
        }
        let is_done = match after {
            Some(content) => edit.finish(&content)?,
            None => edit.remove()?,
        };
        if is_done {
            return Ok(true);
        }
    }
    Err(EditError::Busy(file.into()).into())
}

/// Checks that a person's file can be changed with `how`, if that changes it.
fn check(
    file: &Path,
    how: impl Fn(Option<&[u8]>) -> Result<Option<Vec<u8>>, BlockError>,
) -> Result<(), BlockError> {
    let now = read_as_it_is(&Fs::real(), file, LARGEST)?;
    if how(now.as_deref())? != now {
        Edit::begin(&Fs::real(), file, Access::Shared, LARGEST)?;
    }
    Ok(())
}

/// Returns the text of an env file; an error if the file is something else.
fn text_of<'a>(file: &Path, content: Option<&'a [u8]>) -> Result<Cow<'a, str>, BlockError> {
    let content = content.unwrap_or_default();
    if is_env_file(content) {
        Ok(String::from_utf8_lossy(content))
    } else {
        Err(BlockError::Foreign(file.into()))
    }
}

/// The files of all shells there could be, with the tasks whose lines are in them: the env files of
/// a home, and the person's own files with blocks of an earlier version.
pub fn shell_files(home: &Path, environment: &Environment) -> Vec<ShellFile> {
    let person = surroundings(environment);
    let mut files = Vec::new();
    for shell in Shell::ALL {
        let Some(rc) = person.file(shell, is_file) else { continue };
        let file = ShellSurroundings::env_file(shell, home);
        let line = source_line(shell, &file, person.home.as_deref());
        let tasks = read(&file).and_then(|content| {
            let content = text_of(&file, Some(&content))?;
            Ok(sections(&content).into_iter().map(|(task, _)| task).collect())
        });
        files.push(ShellFile { shell, file, tasks, source: Some((rc.clone(), line)) });
        let tasks = read(&rc).and_then(|content| {
            let blocks = shell_blocks(&content)
                .map_err(|source| BlockError::Flaw { file: rc.clone(), source })?;
            Ok(blocks.into_iter().map(|(task, _)| task).collect())
        });
        files.push(ShellFile { shell, file: rc, tasks, source: None });
    }
    files
}

fn read(file: &Path) -> Result<Vec<u8>, BlockError> {
    Ok(read_as_it_is(&Fs::real(), file, LARGEST)?.unwrap_or_default())
}

impl ShellFile {
    /// Returns the person's file that sources this one.
    pub fn sourced_by(&self) -> Option<&Path> {
        self.source.as_ref().map(|(rc, _)| rc.as_path())
    }

    /// Returns the line that sources this file if the person's file lacks it.
    pub fn missing_line(&self) -> Option<&str> {
        let (rc, line) = self.source.as_ref()?;
        let is_sourced = read(rc).is_ok_and(|content| has_line(&content, line));
        (!is_sourced).then_some(line)
    }

    /// Removes the lines of these tasks; returns those that were there. The line that sources an env
    /// file goes with the last of its sections. An env file without sections is removed.
    pub fn remove(&self, tasks: &[TaskId]) -> Result<Vec<TaskId>, BlockError> {
        let mut gone = self.tasks.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
        gone.retain(|task| tasks.contains(task));
        let Some((rc, line)) = &self.source else {
            if !gone.is_empty() {
                change(&self.file, Access::Shared, |content| {
                    let rest = content.map(|content| without_blocks(content, &gone)).transpose();
                    rest.map_err(|source| BlockError::Flaw { file: self.file.clone(), source })
                })?;
            }
            return Ok(gone);
        };
        change(&self.file, Access::Private, |content| {
            let rest = without_sections(&text_of(&self.file, content)?, &gone).into_bytes();
            Ok(Some(rest).filter(|rest| !rest.is_empty()))
        })?;
        if read(&self.file)?.is_empty() {
            change(rc, Access::Shared, |content| {
                Ok(content.map(|content| without_line(content, line)))
            })?;
            // A run may have added a section after the file was found empty.
            if !read(&self.file)?.is_empty() {
                change(rc, Access::Shared, |content| {
                    Ok(Some(with_line(content.unwrap_or_default(), line)))
                })?;
            }
        }
        Ok(gone)
    }
}

/// Adds the lines of what a session has installed; with `all`, also of what it found there.
pub fn add_shell_blocks(
    around: &Surroundings,
    id: &SessionId,
    all: bool,
) -> Result<Vec<AddedBlock>, RunError> {
    let mut recorder = around.store.open_record(id, &around.pen, &around.clock.now())?;
    let mut added = Vec::new();
    let mut events = Vec::new();
    for block in blocks_of(around, recorder.session(), all)? {
        let done = block.put();
        events.extend(block.written(&done));
        let changes: Result<Vec<bool>, _> = done.into_iter().map(|(_, done)| done).collect();
        let changed = changes.map(|changes| changes.contains(&true));
        added.push(AddedBlock { block, changed });
    }
    recorder.record(events, &around.clock.now())?;
    recorder.close()?;
    Ok(added)
}

/// The lines that [`add_shell_blocks`] puts in place of a block of an earlier version.
pub fn blocks_to_replace(
    around: &Surroundings,
    id: &SessionId,
    all: bool,
) -> Result<Vec<WantedBlock>, RunError> {
    let mut blocks = blocks_of(around, &around.store.load(id)?.session, all)?;
    blocks.retain(WantedBlock::replaces_block);
    Ok(blocks)
}

fn blocks_of(
    around: &Surroundings,
    session: &Session,
    all: bool,
) -> Result<Vec<WantedBlock>, RunError> {
    check_machine(session)?;
    let plan = kept_plan(around, session)?;
    let done = plan.tasks.iter().filter(|task| is_done(session, task, all));
    Ok(done.flat_map(|task| wanted(around, task)).collect())
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
    let blocks = tasks.flat_map(|task| wanted(around, task));
    blocks.filter(|block| !block.is_there()).collect()
}

/// Whether there is something that a shell would read, or a link that may lead to it.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| !there.is_dir())
}
