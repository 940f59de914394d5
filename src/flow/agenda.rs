//! What has to be asked, in order, and what of it is answered. It follows from the record, the
//! catalog and what is there; asking is somebody else's business.

use std::{borrow::Cow, collections::HashSet};

use regex::Regex;

use super::{
    Offer, Requirements,
    conflict::{BOTH, Conflict, LEAVE_OUT},
    option_key,
    planner::required_data,
    selection::{Extra, Ground, Selection},
};
use crate::model::{Answer, DatumRequest, OptionKind, Question, TaskId};

/// The keys of secrets that are held in memory; none where it is not time to ask for secrets.
pub type Held<'h> = Option<&'h HashSet<String>>;

/// One thing that is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked<'a> {
    pub ask: Ask<'a>,
    /// What was answered, where something was: a value, or nothing that could be shown.
    pub answer: Option<String>,
    /// Whether the plan cannot do without: what is only for a task that is there already can wait.
    pub is_needed: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ask<'a> {
    /// One of several, by letter.
    Choice(Cow<'a, Question>),
    /// Something to type.
    Value(Wanted),
}

/// A value that commands are told.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// What it is recorded as.
    pub key: String,
    /// What it is called by itself, whichever task it is for.
    pub name: String,
    /// The task whose option it is; none where an answer requires it.
    pub task: Option<TaskId>,
    pub prompt: String,
    pub kind: OptionKind,
    pub choices: Vec<String>,
    /// A regular expression that the whole value must match.
    pub pattern: Option<String>,
    pub default: Option<String>,
    /// A probe whose first line of output is offered to a person.
    pub default_command: Option<String>,
    /// A value that would do.
    pub example: Option<String>,
}

impl Asked<'_> {
    pub fn id(&self) -> &str {
        match &self.ask {
            Ask::Choice(question) => &question.id,
            Ask::Value(wanted) => &wanted.key,
        }
    }

    /// What counts where nobody answers.
    pub fn default(&self) -> Option<&str> {
        match &self.ask {
            Ask::Choice(question) => question.default.as_deref(),
            Ask::Value(wanted) => wanted.default.as_deref(),
        }
    }

    /// Whether somebody has to say something.
    pub fn is_open(&self) -> bool {
        self.answer.is_none() && self.is_needed
    }
}

impl Wanted {
    pub fn is_secret(&self) -> bool {
        self.kind == OptionKind::Secret
    }

    /// The value as it is recorded; otherwise what is wrong with it. A secret is not repeated.
    pub fn check(&self, given: &str) -> Result<String, String> {
        if given.contains('\0') {
            return Err("it holds a NUL character, which can be given to no command".into());
        }
        let value = match self.kind {
            OptionKind::Boolean => match given.trim().to_lowercase().as_str() {
                "true" | "yes" | "y" | "on" | "1" => "true".to_owned(),
                "false" | "no" | "n" | "off" | "0" => "false".to_owned(),
                _ => return Err(format!("`{given}` is neither yes nor no")),
            },
            OptionKind::Number => {
                let text = given.trim();
                if text.parse::<f64>().is_ok_and(f64::is_finite) {
                    text.to_owned()
                } else {
                    return Err(format!("`{given}` is not a number"));
                }
            }
            OptionKind::Choice => {
                let same = |choice: &&String| choice.to_lowercase() == given.trim().to_lowercase();
                match self.choices.iter().find(same) {
                    Some(choice) => choice.clone(),
                    None => {
                        return Err(format!("`{given}` is none of {}", self.choices.join(", ")));
                    }
                }
            }
            OptionKind::String | OptionKind::Secret => given.to_owned(),
        };
        if value.trim().is_empty() && self.default.is_none() {
            return Err("it is empty".into());
        }
        if let Some(pattern) = &self.pattern
            && !Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|whole| whole.is_match(&value))
        {
            let what = if self.is_secret() { "it".into() } else { format!("`{given}`") };
            return Err(match &self.example {
                // An example says more to a person than an expression does.
                Some(example) => format!("{what} is not of the right form, like {example}"),
                None => format!("{what} does not match `{pattern}`"),
            });
        }
        Ok(value)
    }
}

/// The questions of the profile, each answer's data behind it.
pub fn questions<'a>(
    wanted: &Requirements<'a>,
    offer: &Offer<'_>,
    held: Held<'_>,
) -> Vec<Asked<'a>> {
    let mut asked = Vec::new();
    let mut keys = HashSet::new();
    for question in wanted.questions() {
        let answer = wanted.answer(question);
        asked.push(Asked {
            ask: Ask::Choice(Cow::Borrowed(question)),
            answer: answer.map(Answer::value),
            is_needed: true,
        });
        for key in answer.iter().flat_map(|answer| &answer.user_data_required) {
            if keys.insert(key) {
                asked.push(datum(wanted, key, offer, held));
            }
        }
    }
    asked
}

fn datum<'a>(wanted: &Requirements<'a>, key: &str, offer: &Offer<'_>, held: Held<'_>) -> Asked<'a> {
    let request = wanted.profile.and_then(|profile| profile.user_data.get(key));
    let DatumRequest { prompt, pattern, default_command, example, .. } =
        request.cloned().unwrap_or_default();
    let secret = wanted.is_secret(key, offer);
    let value = Wanted {
        key: key.to_owned(),
        name: key.to_owned(),
        task: None,
        prompt: prompt.unwrap_or_else(|| key.replace('_', " ")),
        kind: if secret { OptionKind::Secret } else { OptionKind::String },
        choices: Vec::new(),
        pattern,
        default: None,
        default_command: default_command.filter(|_| !secret),
        example,
    };
    // What was recorded by hand, or under another pattern, is asked for again.
    let recorded = wanted.datum(key).filter(|given| value.check(given).is_ok());
    let answer = if secret { in_memory(held, key) } else { recorded.map(Into::into) };
    Asked { ask: Ask::Value(value), answer, is_needed: !secret || held.is_some() }
}

/// That a secret is held, and no more of it.
fn in_memory(held: Held<'_>, key: &str) -> Option<String> {
    held?.get(key).map(|_| String::new())
}

/// What the tasks themselves ask: what to bring along, which of two, and their options.
pub fn of_tasks<'a>(
    wanted: &Requirements<'a>,
    ground: Ground<'a>,
    selection: &Selection<'a>,
    held: Held<'_>,
) -> Vec<Asked<'a>> {
    let mut asked = Vec::new();
    for extra in &selection.extras {
        let answer = wanted.decision(&extra.id).map(str::to_owned);
        // Whoever has it already, for whatever reason, is not asked; nor who had the choice before.
        let is_settled =
            selection.tasks.contains_key(&extra.task) || had_the_choice(wanted, &extra.task);
        if answer.is_some() || !is_settled {
            let ask = Ask::Choice(Cow::Owned(extra_question(extra)));
            asked.push(Asked { ask, answer, is_needed: true });
        }
    }
    for conflict in &selection.conflicts {
        let answer = wanted.decision(&conflict.id).filter(|_| conflict.is_decided(wanted));
        let ask = Ask::Choice(Cow::Owned(conflict_question(conflict)));
        asked.push(Asked { ask, answer: answer.map(Into::into), is_needed: true });
    }
    let covered = required_data(wanted);
    let mut secrets = HashSet::new();
    for (id, chosen) in &selection.tasks {
        let task = chosen.offered.task;
        for option in task.options.iter().filter(|option| !covered.contains(&option.id.as_str())) {
            let is_secret = wanted.is_secret(&option.id, ground.offer);
            // All commands find a secret under one name: it is asked for once.
            if is_secret && !secrets.insert(&option.id) {
                continue;
            }
            let key = if is_secret { option.id.clone() } else { option_key(task, option) };
            let value = Wanted {
                key,
                name: option.id.clone(),
                task: Some(id.clone()),
                prompt: option.prompt.clone(),
                kind: if is_secret { OptionKind::Secret } else { option.kind },
                choices: option.choices.clone(),
                pattern: None,
                default: option.default.clone(),
                default_command: None,
                example: None,
            };
            let recorded = wanted.datum(&value.key).or_else(|| wanted.datum(&value.name));
            let recorded = recorded.filter(|given| value.check(given).is_ok());
            let answer =
                if is_secret { in_memory(held, &option.id) } else { recorded.map(str::to_owned) };
            let is_needed = !ground.facts.is_there(id) && (!is_secret || held.is_some());
            asked.push(Asked { ask: Ask::Value(value), answer, is_needed });
        }
    }
    asked
}

/// Whether a question of the profile has offered a task.
fn had_the_choice(wanted: &Requirements<'_>, task: &TaskId) -> bool {
    let questions = wanted.questions();
    let mut answers = questions.iter().flat_map(|question| &question.options);
    answers.any(|answer| answer.tasks.contains(task))
}

/// A question that no profile has written down.
fn question(id: &str, text: String, options: &[(&str, String)], default: Option<&str>) -> Question {
    let letters = ["A", "B", "C"];
    let options = options.iter().zip(letters).map(|((value, text), letter)| Answer {
        letter: letter.into(),
        text: text.clone(),
        value: Some((*value).to_owned()),
        tasks: Vec::new(),
        action: None,
        explanation: None,
        user_data_required: Vec::new(),
        follow_up: None,
    });
    Question {
        id: id.to_owned(),
        question: text,
        options: options.collect(),
        default: default.map(str::to_owned),
    }
}

fn extra_question(extra: &Extra) -> Question {
    let options =
        [("yes", format!("Yes - set up {} too", extra.task)), ("no", "No - not now".to_owned())];
    question(&extra.id, extra.prompt.clone(), &options, Some("no"))
}

fn conflict_question(conflict: &Conflict) -> Question {
    let Conflict { id, one, other, is_there } = conflict;
    if *is_there {
        let text = format!("{other} is installed already, and {one} gets in its way. What now?");
        let options = [
            (LEAVE_OUT, format!("Leave {one} out - {other} stays as it is")),
            (BOTH, format!("Both - install {one} beside {other} all the same")),
        ];
        return question(id, text, &options, None);
    }
    let text = format!("{one} and {other} get in each other's way. Which one?");
    let options = [
        (one.as_str(), format!("Only {one}")),
        (other.as_str(), format!("Only {other}")),
        (BOTH, "Both - all the same".to_owned()),
    ];
    question(id, text, &options, None)
}
