//! What was asked for: a stack, answers, single tools, values. Read from the record alone, so that
//! the same record always asks for the same.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::Offer;
use crate::model::{
    Answer, Choice, Document, OptionKind, Profile, Question, Task, TaskId, TaskOption,
};

/// The single tools that a choice of a session names.
pub fn tools_named(session: &Document, choice: &str) -> Vec<TaskId> {
    tools_in(&session.choices, choice)
}

fn tools_in(choices: &IndexMap<String, Choice>, choice: &str) -> Vec<TaskId> {
    let value = choices.get(choice).map(|choice| choice.value.as_str());
    value.unwrap_or_default().split(' ').filter_map(|name| name.parse().ok()).collect()
}

/// The choice that holds the stack.
pub const STACK_TYPE: &str = "stack_type";
/// The choice that holds tasks beside those of the stack.
pub const TOOLS_ADDED: &str = "tools_added";
/// The choice that holds tasks that are left out.
pub const TOOLS_LEFT_OUT: &str = "tools_left_out";

#[derive(Clone, Copy, Debug)]
pub struct Requirements<'a> {
    /// None where only single tools are asked for.
    pub profile: Option<&'a Profile>,
    choices: &'a IndexMap<String, Choice>,
    user_data: &'a Map<String, Value>,
}

impl<'a> Requirements<'a> {
    pub fn of(session: &'a Document, profile: Option<&'a Profile>) -> Self {
        Self { profile, choices: &session.choices, user_data: &session.user_data }
    }

    /// What was chosen for a question, if it is one of its answers.
    pub fn answer<'q>(&self, question: &'q Question) -> Option<&'q Answer> {
        let choice = self.choices.get(&question.id)?;
        let same_value = |answer: &&Answer| answer.value() == choice.value;
        let exactly =
            question.answers().find(|answer| same_value(answer) && answer.letter == choice.answer);
        exactly.or_else(|| question.answers().find(same_value))
    }

    /// The questions of the profile that are asked, in order: one that follows up on another only
    /// behind the answer that pulls it in.
    pub fn questions(&self) -> Vec<&'a Question> {
        let Some(profile) = self.profile else { return Vec::new() };
        let all = &profile.question_flow;
        let follows = |question: &Question| {
            profile.options().any(|option| option.follow_up.as_ref() == Some(&question.id))
        };
        let mut asked: Vec<&Question> = Vec::new();
        for question in all.iter().filter(|question| !follows(question)) {
            let mut next = Some(question);
            // Each once: a profile may send us in a circle.
            while let Some(question) = next.filter(|next| !asked.iter().any(|q| q.id == next.id)) {
                asked.push(question);
                let follow_up = self.answer(question).and_then(|answer| answer.follow_up.as_ref());
                next = follow_up.and_then(|id| all.iter().find(|question| question.id == *id));
            }
        }
        asked
    }

    /// A decision that is not one of the profile's questions.
    pub fn decision(&self, id: &str) -> Option<&'a str> {
        self.choices.get(id).map(|choice| choice.value.as_str())
    }

    pub fn added(&self) -> Vec<TaskId> {
        tools_in(self.choices, TOOLS_ADDED)
    }

    pub fn left_out(&self) -> Vec<TaskId> {
        tools_in(self.choices, TOOLS_LEFT_OUT)
    }

    /// A value that was given for the whole session.
    pub fn datum(&self, key: &str) -> Option<&'a str> {
        self.user_data.get(key)?.as_str()
    }

    /// Whether what has this name is a secret, to the profile or to any task.
    pub fn is_secret(&self, name: &str, offer: &Offer<'_>) -> bool {
        let request = self.profile.and_then(|profile| profile.user_data.get(name));
        request.is_some_and(|request| request.secret) || offer.is_secret(name)
    }

    /// What was chosen for an option of a task, or counts where nothing was.
    pub fn option<'t>(&self, task: &Task, option: &'t TaskOption) -> Option<&'t str>
    where
        'a: 't,
    {
        if option.kind == OptionKind::Secret {
            return None;
        }
        let own = self.datum(&option_key(task, option));
        own.or_else(|| self.datum(&option.id)).or(option.default.as_deref())
    }
}

/// What the value of a task's option is recorded as.
pub fn option_key(task: &Task, option: &TaskOption) -> String {
    format!("{}.{}", task.id, option.id)
}
