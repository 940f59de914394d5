//! What comes of an answer: an event, a secret to hold, or a word about what is wrong with it.

use serde_json::Value;

use super::{
    agenda::{Ask, Asked, Wanted},
    walk::{Effect, Refusal, Step},
};
use crate::model::{Answer, AnswerAction, EventKind, Question};

impl Asked<'_> {
    /// What comes of answering it so.
    pub fn answered(&self, given: &str) -> Result<Step, Refusal> {
        match &self.ask {
            Ask::Choice(question) => answered(question, given),
            Ask::Value(wanted) => given_value(wanted, given),
        }
    }
}

fn answered(question: &Question, given: &str) -> Result<Step, Refusal> {
    let option = check_answer(question, given)?;
    if option.action == Some(AnswerAction::Explain) {
        let text = option.explanation.clone().unwrap_or_else(|| option.text.clone());
        return Ok(Step { events: Vec::new(), effects: vec![Effect::Explain(text)] });
    }
    let event = EventKind::AnswerGiven {
        question_id: question.id.clone(),
        question: question.question.clone(),
        answer: option.letter.clone(),
        value: option.value(),
    };
    Ok(Step::of(vec![event]))
}

fn given_value(wanted: &Wanted, given: &str) -> Result<Step, Refusal> {
    let key = wanted.key.clone();
    let value = wanted.check(given).map_err(|why| Refusal::BadValue { key: key.clone(), why })?;
    if wanted.is_secret() {
        return Ok(Step { events: Vec::new(), effects: vec![Effect::Hold { key, value }] });
    }
    Ok(Step::of(vec![EventKind::UserDataGiven { key, value: Value::String(value) }]))
}

/// The option that was meant.
fn check_answer<'q>(question: &'q Question, given: &str) -> Result<&'q Answer, Refusal> {
    question.option(given).ok_or_else(|| Refusal::NotAnAnswer {
        question: question.id.clone(),
        given: given.to_owned(),
        valid: valid_answers(question),
    })
}

/// `A (nvm), B (fnm)`.
pub fn valid_answers(question: &Question) -> String {
    let answers =
        question.answers().map(|answer| format!("{} ({})", answer.letter, answer.value()));
    answers.collect::<Vec<_>>().join(", ")
}
