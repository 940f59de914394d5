//! What a failed command says: what went wrong, why, what to do next, and the exit code.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    model::{SessionId, TaskId, Timestamp, named, nearest},
    store::StoreError,
};

/// How many differences of two documents are named.
const MOST: usize = 8;

named! {
    /// The exit codes of the command line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Kind {
        Internal = "internal",
        Usage = "usage",
        Undecided = "decision_needed",
        Locked = "locked",
        Damaged = "record_damaged",
        InvalidPlan = "invalid_plan",
        InvalidCatalog = "invalid_catalog",
        StoreUnusable = "store_unusable",
        ShellFile = "shell_file_unusable",
    }
}

impl Kind {
    pub(super) fn exit_code(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Undecided => 4,
            Self::Locked => 5,
            Self::Damaged => 6,
            Self::InvalidPlan | Self::InvalidCatalog => 8,
            Self::StoreUnusable | Self::ShellFile => 9,
        }
    }
}

#[derive(Debug)]
pub(super) struct Failure {
    pub kind: Kind,
    pub message: String,
    pub causes: Vec<String>,
    pub hints: Vec<String>,
    /// Whoever read our output has seen enough: no failure at all.
    pub reader_is_gone: bool,
    pub file: Option<PathBuf>,
    pub session: Option<SessionId>,
}

impl Failure {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
            reader_is_gone: false,
            file: None,
            session: None,
        }
    }

    /// Returns a failure with the message and the sources of an error.
    pub(super) fn of(kind: Kind, error: &dyn Error) -> Self {
        Self { causes: causes(error), ..Self::new(kind, error.to_string()) }
    }

    /// Adds an error and its sources to the causes.
    pub(super) fn because(self, error: &dyn Error) -> Self {
        self.cause(error.to_string()).causes(causes(error))
    }

    pub(super) fn cause(self, cause: impl Into<String>) -> Self {
        self.causes([cause.into()])
    }

    pub(super) fn causes(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        self.causes.extend(causes);
        self
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        self.hints([hint.into()])
    }

    pub(super) fn hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.hints.extend(hints);
        self
    }

    /// Adds a hint with the known name nearest to the typed one, if any is near.
    pub(super) fn did_you_mean<'n>(
        self,
        typed: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        self.hints(nearest(typed, known).map(|name| format!("did you mean `{name}`?")))
    }

    pub(super) fn file(self, file: impl Into<PathBuf>) -> Self {
        Self { file: Some(file.into()), ..self }
    }

    pub(super) fn session(self, id: SessionId) -> Self {
        Self { session: Some(id), ..self }
    }

    pub(super) fn no_home() -> Self {
        Self::new(Kind::Usage, "there is no home directory to keep sessions in: HOME is not set")
            .hint("name a directory with --home DIR")
    }

    pub(super) fn home(path: &Path, error: &io::Error) -> Self {
        let message = format!("`{}` cannot be the home of sessions", path.display());
        Self::new(Kind::Usage, message).because(error).hint("name a directory with --home DIR")
    }

    pub(super) fn output(error: &io::Error) -> Self {
        let mut failure = Self::new(Kind::Internal, "the output cannot be written").because(error);
        failure.reader_is_gone = error.kind() == io::ErrorKind::BrokenPipe;
        failure
    }

    /// Returns the failure to write `what` to a path.
    pub(super) fn unwritable(what: &str, path: &Path, error: &dyn Error) -> Self {
        let message = format!("{what} cannot be written to `{}`", path.display());
        Self::new(Kind::Usage, message).because(error).file(path)
    }

    pub(super) fn data_file(path: &Path, why: &str) -> Self {
        Self::new(Kind::Usage, format!("cannot read `{}`", path.display()))
            .cause(why)
            .hint(r#"it must be a JSON object such as {"git_name": "Ada"}"#)
    }

    pub(super) fn no_task(id: &SessionId, task: &TaskId) -> Self {
        let message = format!("session {id} has no task `{task}`");
        Self::new(Kind::Usage, message).hint(format!("`provision history {id}` names them"))
    }

    /// Some sessions of a list cannot be read; the others have been shown.
    pub(super) fn unreadable(count: usize, worst: &StoreError) -> Self {
        let what = crate::face::plural(count, "session");
        Self::new(kind_of(worst), format!("{what} cannot be read"))
            .hint("`provision status ID` says more about each of them")
    }

    pub(super) fn to_json(&self, operation: &str, now: &Timestamp) -> Value {
        json!({"error": {
            "kind": self.kind.name(),
            "message": self.message,
            "causes": self.causes,
            "hints": self.hints,
            "operation": operation,
            "file": self.file.as_ref().map(|file| file.to_string_lossy()),
            "session_id": self.session,
            "timestamp": now,
            "exit_code": self.kind.exit_code(),
        }})
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let mut failure = Self::of(kind_of(&error), &error);
        failure.file = error.path().map(Into::into);
        failure.session = error.session().cloned();
        if let Some(path) = error.path()
            && !failure.message.contains(&*path.to_string_lossy())
            && error.is_damage()
        {
            failure.causes.insert(0, format!("the file is `{}`", path.display()));
        }
        if let StoreError::Edited { differences, .. } = &error {
            failure.causes.extend(differences.iter().take(MOST).map(ToString::to_string));
            if let Some(more @ 1..) = differences.len().checked_sub(MOST) {
                failure.causes.push(format!("… and {}", crate::face::plural(more, "other field")));
            }
        }
        failure.hints(hint_for(&error))
    }
}

fn kind_of(error: &StoreError) -> Kind {
    match error {
        StoreError::NotAnId(_)
        | StoreError::Unknown(_)
        | StoreError::Empty(_)
        | StoreError::Ambiguous { .. }
        | StoreError::Exists(_) => Kind::Usage,
        StoreError::Locked { .. } | StoreError::Busy { .. } => Kind::Locked,
        StoreError::Document { .. }
        | StoreError::Journal { .. }
        | StoreError::Edited { .. }
        | StoreError::Plan { .. }
        | StoreError::Newer { .. } => Kind::Damaged,
        StoreError::Illegal { .. } => Kind::Internal,
        StoreError::Home { .. } | StoreError::Disk(_) => Kind::StoreUnusable,
    }
}

fn hint_for(error: &StoreError) -> Option<String> {
    let hint = match error {
        StoreError::NotAnId(_) | StoreError::Unknown(_) => {
            "`provision sessions` lists the sessions there are".into()
        }
        StoreError::Ambiguous { candidates, .. } => {
            let shown: Vec<_> = candidates.iter().rev().take(5).map(ToString::to_string).collect();
            format!("give more of the id: {}", shown.join(", "))
        }
        StoreError::Exists(id) => format!("`provision status {id}` shows it"),
        StoreError::Locked { id, .. } => {
            format!(
                "`provision history {id} --follow` shows what it does; or wait longer with --lock-timeout"
            )
        }
        StoreError::Busy { .. } => {
            "one home runs one session at a time; wait for it, or use --lock-timeout to wait longer"
                .into()
        }
        StoreError::Plan { id, .. } => {
            format!(
                "nothing was changed or run; `provision resume {id} --plan FILE` goes on with a copy"
            )
        }
        StoreError::Journal { source, .. } if source.is_newer() => {
            "nothing was changed; a newer provision wrote it: update this one to use it".into()
        }
        StoreError::Journal { id, .. } => {
            format!(
                "nothing was changed; `provision recover {id}` says what can be saved, \
                 `provision history {id} --verify` checks every line"
            )
        }
        StoreError::Document { id, .. } => {
            format!("nothing was changed; `provision recover {id}` says what can be saved")
        }
        StoreError::Edited { id, .. } => {
            format!("nothing was changed; `provision recover {id}` goes back to what was recorded")
        }
        StoreError::Newer { .. } => "nothing was changed; update provision to use it".into(),
        StoreError::Home { path, problem } => home_hint(path, *problem),
        StoreError::Disk(error) if error.is_full() => {
            "nothing recorded is lost; make space and run it again".into()
        }
        StoreError::Disk(error) if error.is_denied() => {
            "check who owns it, or name another directory with --home DIR".into()
        }
        StoreError::Empty(_) => "sessions that are kept elsewhere are found with --home DIR".into(),
        StoreError::Illegal { .. } | StoreError::Disk(_) => return None,
    };
    Some(hint)
}

fn home_hint(path: &Path, problem: crate::store::HomeProblem) -> String {
    use crate::store::HomeProblem;
    match problem {
        HomeProblem::Writable { .. } => {
            format!("look at what is in it, then: chmod 700 '{}'", path.display())
        }
        HomeProblem::Symlink | HomeProblem::NotADirectory | HomeProblem::Foreign { .. } => {
            "name a directory of your own with --home DIR".into()
        }
    }
}

/// Everything behind an error, nearest first.
fn causes(error: &dyn Error) -> Vec<String> {
    let mut causes = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        // A cause that the one before it quotes has been said.
        if causes.last().is_none_or(|last: &String| !last.contains(&text)) {
            causes.push(text);
        }
        source = cause.source();
    }
    causes
}
