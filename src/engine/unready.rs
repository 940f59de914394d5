//! Why a walk without a person leads nowhere, in words: what was given wrongly, what is missing, and
//! what to do about it.

use crate::{
    flow::{Ask, Asked, PlanProblem, Refusal, valid_answers},
    model::environment_name,
};

/// Why a walk does not lead to a plan: all of it.
#[derive(Debug, Default)]
pub struct Unready {
    /// What was given and is wrong.
    pub mistakes: Vec<Mistake>,
    /// What cannot be planned.
    pub problems: Vec<PlanProblem>,
    /// What is wrong with the catalog besides.
    pub catalog: Vec<String>,
    /// What nobody answered.
    pub missing: Vec<Unanswered>,
}

impl Unready {
    pub(super) fn is_empty(&self) -> bool {
        self.mistakes.is_empty()
            && self.problems.is_empty()
            && self.catalog.is_empty()
            && self.missing.is_empty()
    }

    /// Whether something is wrong that no answer can mend.
    pub fn is_hopeless(&self) -> bool {
        !self.catalog.is_empty() || self.problems.iter().any(PlanProblem::is_of_catalog)
    }
}

#[derive(Debug)]
pub struct Mistake {
    pub message: String,
    pub hint: Option<String>,
    /// What it answers wrongly.
    pub(super) about: Option<String>,
}

/// Something that is asked and was not answered.
#[derive(Debug)]
pub struct Unanswered {
    pub id: String,
    pub question: String,
    /// What to give, and how.
    pub how: String,
}

pub(super) fn secret_in_sight(key: &str) -> Mistake {
    // Of `task.option` the environment knows the option.
    let name = environment_name(key.rsplit('.').next().unwrap_or(key));
    Mistake {
        message: format!(
            "`{key}` is a secret, and neither a command line nor a file with answers is a place for one"
        ),
        hint: Some(format!(
            "give it with --data-file FILE (`-` is standard input) or PROVISION_DATA_{name}"
        )),
        about: None,
    }
}

pub(super) fn unknown(what: &str, given: &str, near: Option<&str>) -> Mistake {
    Mistake {
        message: format!("there is no {what} `{given}`"),
        hint: match near {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None if what == "task" => {
                Some(format!("`provision catalog search {given}` finds tasks by words"))
            }
            None => None,
        },
        about: None,
    }
}

pub(super) fn mistake_of(refusal: &Refusal) -> Mistake {
    let hint = match refusal {
        Refusal::NoProfile { near, .. }
        | Refusal::NoQuestion { near, .. }
        | Refusal::NoValue { near, .. } => {
            near.as_ref().map(|near| format!("did you mean `{near}`?"))
        }
        _ => None,
    };
    Mistake { message: refusal.to_string(), hint, about: None }
}

pub(super) fn unanswered(asked: &Asked<'_>) -> Unanswered {
    let id = asked.id().to_owned();
    match &asked.ask {
        Ask::Choice(question) => Unanswered {
            question: question.question.clone(),
            how: format!("--answer {id}=LETTER: {}", valid_answers(question)),
            id,
        },
        Ask::Value(wanted) if wanted.is_secret() => Unanswered {
            question: wanted.prompt.clone(),
            how: format!("--data-file FILE or PROVISION_DATA_{}", environment_name(&wanted.name)),
            id,
        },
        Ask::Value(wanted) => {
            let choices = match wanted.choices.as_slice() {
                [] => String::new(),
                choices => format!(": {}", choices.join(", ")),
            };
            let how = format!("--data {}=VALUE{choices}", wanted.name);
            Unanswered { question: wanted.prompt.clone(), how, id }
        }
    }
}
