//! What was asked for on a command line and in a file: answers to questions nobody has put yet.

use indexmap::IndexMap;

use super::GivenData;
use crate::{
    flow::{Ask, Asked, Wanted},
    model::{ExecutionMode, TaskId},
};

/// Everything a walk without a person goes by.
#[derive(Clone, Debug)]
pub struct Request {
    /// None: only single tools.
    pub profile: Option<String>,
    /// Letters or values, by question.
    pub answers: IndexMap<String, String>,
    /// Options of tasks, by task.
    pub options: IndexMap<TaskId, IndexMap<String, String>>,
    /// Data from the file with the answers: no place for secrets.
    pub user_data: IndexMap<String, String>,
    pub data: GivenData,
    pub add: Vec<TaskId>,
    pub without: Vec<TaskId>,
    pub mode: ExecutionMode,
}

/// Where a value was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenAt {
    CommandLine,
    AnswersFile,
    DataFile,
    Environment,
    /// Nobody gave it: it is what counts then.
    Default,
}

impl GivenAt {
    /// Whether others can read it there.
    pub(super) fn is_in_sight(self) -> bool {
        matches!(self, Self::CommandLine | Self::AnswersFile)
    }
}

impl Request {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.profile.is_none()
            && self.answers.is_empty()
            && self.options.is_empty()
            && self.user_data.is_empty()
            && self.data.command_line.is_empty()
            && self.data.file.is_empty()
            && self.add.is_empty()
            && self.without.is_empty()
    }

    /// Single tools, and nothing else.
    pub fn of_tools(add: Vec<TaskId>) -> Self {
        Self {
            profile: None,
            answers: IndexMap::new(),
            options: IndexMap::new(),
            user_data: IndexMap::new(),
            data: GivenData::default(),
            add,
            without: Vec::new(),
            mode: ExecutionMode::AllAtOnce,
        }
    }

    /// The answer to something that is asked, if it was given.
    pub(super) fn answer_to(&self, asked: &Asked<'_>) -> Option<(String, GivenAt)> {
        let given = match &asked.ask {
            Ask::Choice(question) => {
                let answer = self.answers.get(&question.id);
                answer.map(|answer| (answer.clone(), GivenAt::CommandLine))
            }
            Ask::Value(wanted) => self.value_for(wanted),
        };
        given.or_else(|| Some((asked.default()?.to_owned(), GivenAt::Default)))
    }

    fn value_for(&self, wanted: &Wanted) -> Option<(String, GivenAt)> {
        let option = || {
            let of_task = self.options.get(wanted.task.as_ref()?)?;
            of_task.get(&wanted.name).map(|value| (value.clone(), GivenAt::AnswersFile))
        };
        let named = |name: &str| {
            let places = [
                (&self.data.command_line, GivenAt::CommandLine),
                (&self.data.file, GivenAt::DataFile),
            ];
            let mut places = places.into_iter();
            places.find_map(|(place, at)| Some((place.get(name)?.clone(), at)))
        };
        let in_environment = || {
            let name = crate::model::environment_name(&wanted.name);
            Some((self.data.environment.get(&name)?.clone(), GivenAt::Environment))
        };
        let in_file = |name: &str| {
            self.user_data.get(name).map(|value| (value.clone(), GivenAt::AnswersFile))
        };
        // `task.option` says more than `option`.
        let in_full = wanted.task.as_ref().map(|task| format!("{task}.{}", wanted.name));
        named(&wanted.key)
            .or_else(|| named(in_full.as_deref()?))
            .or_else(|| named(&wanted.name))
            .or_else(option)
            .or_else(in_environment)
            .or_else(|| in_file(&wanted.key))
            .or_else(|| in_file(&wanted.name))
    }

    /// Every key of a value that was named.
    pub(super) fn named_data(&self) -> impl Iterator<Item = &str> {
        let given = [&self.data.command_line, &self.data.file, &self.user_data];
        given.into_iter().flat_map(|place| place.keys()).map(String::as_str)
    }
}
