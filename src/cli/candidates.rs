//! What could be given to an argument here: sessions, tasks, profiles, answers. Only what parses as
//! an id is offered, so that no name in a store or a catalog says anything to a shell. What cannot be
//! read is not offered, and that is all.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use clap::{Arg, ArgMatches, FromArgMatches as _};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use super::{
    args::Global,
    command::command,
    settings::{self, Settings},
};
use crate::{
    catalog::Catalog,
    disk::Fs,
    engine::SessionSummary,
    exec::Environment,
    model::{SessionStatus, TaskId},
};

/// How many sessions are offered; older ones are found by the beginning of their ids.
const NEWEST: usize = 50;

/// What an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Sessions,
    UnfinishedSessions,
    /// Of the session that the line names.
    TasksOfSession,
    TasksInShells,
    Tasks,
    Profiles,
    TasksAndProfiles,
    Categories,
    /// Of the profile that the line names.
    Answers,
    Commands,
    Files,
    Folders,
}

/// The mark of a candidate that stands for files of this kind.
const FILES: &str = "provision::files";
const FOLDERS: &str = "provision::folders";

/// Which files a shell is to look for, where that is what is wanted.
pub(super) fn file_kind(candidate: &CompletionCandidate) -> Option<&'static str> {
    match candidate.get_id()?.as_str() {
        FILES => Some("files"),
        FOLDERS => Some("folders"),
        _ => None,
    }
}

impl Wanted {
    /// What an argument of a command takes; `None` where clap knows, or nobody does.
    pub(super) fn by(command: &str, argument: &Arg) -> Option<Self> {
        let wanted = match (command, argument.get_id().as_str()) {
            ("resume" | "pause" | "approve" | "advance" | "revise", "session") => {
                Self::UnfinishedSessions
            }
            #[cfg(feature = "testing")]
            ("__script", _) => return None,
            (_, "session") => Self::Sessions,
            ("logs" | "override", "task") | ("recover", "resume_at") | ("resume", "from") => {
                Self::TasksOfSession
            }
            ("remove", "tasks") => Self::TasksInShells,
            (_, "add" | "without") | ("expand", "names") | ("audit", "explain") => Self::Tasks,
            (_, "profile") => Self::Profiles,
            ("show", "id") => Self::TasksAndProfiles,
            (_, "category") => Self::Categories,
            (_, "answer") => Self::Answers,
            ("man", "command") => Self::Commands,
            (_, "home" | "to") => Self::Folders,
            (_, "catalog" | "plan" | "paths" | "answers" | "data_file" | "output" | "html") => {
                Self::Files
            }
            _ => return None,
        };
        Some(wanted)
    }

    pub(super) fn completer(self, line: &TypedLine) -> ArgValueCompleter {
        let line = line.clone();
        ArgValueCompleter::new(move |current: &OsStr| match self {
            Self::Files => vec![CompletionCandidate::new(current).id(Some(FILES.into()))],
            Self::Folders => vec![CompletionCandidate::new(current).id(Some(FOLDERS.into()))],
            _ => self.beginning_with(&current.to_string_lossy(), &line).unwrap_or_default(),
        })
    }

    fn beginning_with(self, current: &str, line: &TypedLine) -> Option<Vec<CompletionCandidate>> {
        let around = || line.settings();
        let found = match self {
            Self::Sessions => sessions(&around()?, false)?,
            Self::UnfinishedSessions => sessions(&around()?, true)?,
            Self::TasksOfSession => tasks_of_session(&around()?, line)?,
            Self::TasksInShells => tasks_in_shells(&around()?),
            Self::Tasks => tasks(&catalog(&around()?)?),
            Self::Profiles => profiles(&catalog(&around()?)?),
            Self::TasksAndProfiles => {
                let catalog = catalog(&around()?)?;
                profiles(&catalog).into_iter().chain(tasks(&catalog)).collect()
            }
            Self::Categories => categories(&catalog(&around()?)?),
            Self::Answers => answers(&catalog(&around()?)?, line, current)?,
            Self::Commands => commands(line)?,
            Self::Files | Self::Folders => return None,
        };
        let is_meant =
            |one: &CompletionCandidate| one.get_value().to_string_lossy().starts_with(current);
        let meant = found.into_iter().filter(is_meant).enumerate();
        Some(meant.map(|(place, one)| one.display_order(Some(place))).collect())
    }
}

fn offered(value: impl Into<OsString>, help: impl Into<String>) -> CompletionCandidate {
    let help = Some(help.into()).filter(|help| !help.is_empty()).map(Into::into);
    CompletionCandidate::new(value).help(help)
}

/// Whether a name says nothing to a shell. Ids of tasks and sessions are of this kind anyway.
fn is_plain(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain)
}

/// The line before the word that is being typed, as far as it can be parsed.
#[derive(Clone, Debug)]
pub(super) struct TypedLine(ArgMatches);

impl TypedLine {
    pub(super) fn new(matches: ArgMatches) -> Self {
        Self(matches)
    }

    /// Returns the values of an argument of the innermost command that is named.
    fn values(&self, argument: &str) -> Vec<String> {
        let mut innermost = &self.0;
        while let Some((_, below)) = innermost.subcommand() {
            innermost = below;
        }
        let values = innermost.try_get_raw(argument).ok().flatten().into_iter().flatten();
        values.map(|value| value.to_string_lossy().into_owned()).collect()
    }

    /// Returns the settings that the line will have.
    fn settings(&self) -> Option<Settings> {
        let mut global = Global::from_arg_matches(&self.0).ok()?;
        // The shell has not expanded these yet.
        let environment = Environment::new(settings::variables());
        let expand = |path: &PathBuf| environment.expand(&path.to_string_lossy());
        global.home = global.home.as_ref().map(expand);
        global.catalog = global.catalog.iter().map(expand).collect();
        Settings::from_args(global).ok()
    }
}

fn catalog(settings: &Settings) -> Option<Catalog> {
    settings.layers().ok()?.load(&Fs::real()).ok()
}

fn sessions(settings: &Settings, unfinished: bool) -> Option<Vec<CompletionCandidate>> {
    let listing = settings.store().ok()?.list(Some(NEWEST)).ok()?;
    let is_meant =
        |session: &SessionSummary| !(unfinished && session.status == SessionStatus::Completed);
    let mut found = Vec::new();
    for session in listing.sessions.into_iter().filter(is_meant) {
        let profile = session.profile.map(|profile| format!(", {profile}")).unwrap_or_default();
        let help = format!("{}{profile}", session.status.name().replace('_', " "));
        found.push(offered(session.id.as_str(), help));
    }
    // A record that cannot be read is what `recover` is for.
    let unreadable = listing.unreadable.iter().filter(|_| !unfinished);
    found.extend(unreadable.map(|one| offered(one.id.as_str(), "cannot be read")));
    if !found.is_empty() {
        found.push(offered("latest", "the newest session"));
    }
    Some(found)
}

fn tasks_of_session(settings: &Settings, line: &TypedLine) -> Option<Vec<CompletionCandidate>> {
    let store = settings.store().ok()?;
    let session = line.values("session");
    let id = store.resolve(session.first().map_or("latest", String::as_str)).ok()?;
    let loaded = store.load(&id).ok();
    let recorded = loaded.into_iter().flat_map(|loaded| {
        let tasks = loaded.session.tasks.values();
        tasks.map(|task| offered(task.task_id.as_str(), "")).collect::<Vec<_>>()
    });
    let mut found: Vec<_> = recorded.collect();
    if found.is_empty() {
        // A damaged record may still have its plan.
        let plan = store.plan(&id).ok()??;
        found.extend(plan.tasks.iter().map(|task| offered(task.id.as_str(), "")));
    }
    Some(found)
}

fn tasks_in_shells(settings: &Settings) -> Vec<CompletionCandidate> {
    let files = settings.shell_files();
    let tasks: BTreeSet<TaskId> =
        files.into_iter().filter_map(|file| file.tasks.ok()).flatten().collect();
    tasks.iter().map(|task| offered(task.as_str(), "")).collect()
}

fn tasks(catalog: &Catalog) -> Vec<CompletionCandidate> {
    let listed = catalog.tasks().map(|task| &task.item);
    listed.map(|task| offered(task.id.as_str(), &task.name)).collect()
}

fn profiles(catalog: &Catalog) -> Vec<CompletionCandidate> {
    let listed = catalog.profiles().map(|profile| &profile.item);
    let listed = listed.filter(|profile| is_plain(profile.id()));
    listed.map(|profile| offered(profile.id(), &profile.metadata.name)).collect()
}

fn categories(catalog: &Catalog) -> Vec<CompletionCandidate> {
    let names: BTreeSet<_> = catalog.tasks().map(|task| task.item.category.as_str()).collect();
    names.into_iter().filter(|name| is_plain(name)).map(|name| offered(name, "")).collect()
}

/// `question=` while the question is typed, then `question=answer`.
fn answers(catalog: &Catalog, line: &TypedLine, current: &str) -> Option<Vec<CompletionCandidate>> {
    let profile = &catalog.profile(line.values("profile").first()?)?.item;
    let questions = profile.question_flow.iter().filter(|question| is_plain(&question.id));
    let Some((id, _)) = current.split_once('=') else {
        return Some(
            questions
                .map(|question| offered(format!("{}=", question.id), &question.question))
                .collect(),
        );
    };
    let question = questions.into_iter().find(|question| question.id == id)?;
    let answers = question.options.iter().filter(|answer| answer.action.is_none());
    let value = |answer: &crate::model::Answer| {
        let name = answer.value.as_ref().filter(|value| is_plain(value));
        name.unwrap_or(&answer.letter).clone()
    };
    let answers = answers.map(|answer| (value(answer), &answer.text));
    let answers = answers.filter(|(value, _)| is_plain(value));
    Some(answers.map(|(value, text)| offered(format!("{id}={value}"), text)).collect())
}

/// The commands below those that are named already.
fn commands(line: &TypedLine) -> Option<Vec<CompletionCandidate>> {
    let program = command();
    let mut above = &program;
    for name in &line.values("command") {
        above = above.find_subcommand(name)?;
    }
    let below = above.get_subcommands().filter(|below| !below.is_hide_set());
    let about = |one: &clap::Command| one.get_about().map(ToString::to_string).unwrap_or_default();
    Some(below.map(|one| offered(one.get_name(), about(one))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments whose value nobody but the person knows.
    const FREE: [&str; 10] = [
        "digest",
        "reason",
        "approve",
        "data",
        "words",
        "level",
        "older_than",
        "lock_timeout",
        "file",
        "jobs",
    ];

    fn check(command: &clap::Command) {
        for argument in command.get_arguments().filter(|one| one.get_action().takes_values()) {
            let is_known = Wanted::by(command.get_name(), argument).is_some()
                || !argument.get_possible_values().is_empty()
                || FREE.contains(&argument.get_id().as_str())
                || command.is_hide_set();
            assert!(is_known, "nothing completes `{argument}` of `{}`", command.get_name());
        }
        command.get_subcommands().for_each(check);
    }

    #[test]
    fn whatever_can_be_completed_is() {
        check(&command());
    }

    #[test]
    fn names_that_could_order_a_shell_about_are_not_plain() {
        for name in ["", "-rf", "a b", "$(x)", "`x`", "a;b", "a\nb", "a\u{202e}b", "*", "~", "a:b"]
        {
            assert!(!is_plain(name), "{name:?}");
        }
        assert!(is_plain("fullstack-web_2.0"));
    }
}
