//! What is wrong with one profile, beyond its shape and apart from the tasks it names.

use std::collections::HashMap;

use super::{
    diagnostic::{Code, Severity},
    lint::Lint,
    node::{Content, Node},
    place::KeyPath,
};
use crate::model::{AnswerAction, Profile, nearest};

/// Choices that every session may hold, whatever its profile asks.
const RESERVED: [&str; 3] = ["stack_type", "tools_added", "tools_left_out"];

/// Looks at one profile; `is_ours` is stricter.
pub fn lint_profile(lint: &mut Lint<'_>, profile: &Profile, is_ours: bool) {
    let top = KeyPath::root();
    let questions = top.key("question_flow");
    if profile.id() == "custom" {
        let message = "`custom` is what single tools are recorded as";
        lint.at(Code::ReservedName, &top.key("metadata").key("id"), message);
    }
    let mut lines: HashMap<String, usize> = HashMap::new();
    for (at, id) in ids(lint, &questions) {
        if RESERVED.contains(&id.as_str()) {
            let message = format!("`{id}` is what something else is recorded as");
            lint.at(Code::ReservedName, &at, message);
        }
        let line = lint.root.find(&at).place.line;
        if let Some(first) = lines.get(&id) {
            let message = format!("question `{id}` stands here and in line {first}");
            lint.at(Code::DuplicateQuestion, &at, message);
        } else {
            lines.insert(id, line);
        }
    }
    answers(lint, &questions, is_ours);
    values(lint, profile, &questions, is_ours);
    follow_ups(lint, profile, &questions);
    defaults(lint, profile, &questions);
    for key in profile.user_data.keys() {
        if !profile.options().any(|option| option.user_data_required.contains(key)) {
            let message = format!("nobody asks for `{key}`: no option requires it");
            lint.at_key(Code::UnaskedUserData, &top.key("user_data").key(key), message).hint =
                Some(format!("user_data_required: [{key}] on the option that needs it"));
        }
    }
}

/// The ids of all questions, the wrong ones too, with their places.
fn ids(lint: &Lint<'_>, questions: &KeyPath) -> Vec<(KeyPath, String)> {
    let id =
        |(at, node): (KeyPath, &Node)| Some((at.key("id"), node.get("id")?.text()?.to_owned()));
    lint.root.items(questions).into_iter().filter_map(id).collect()
}

fn answers(lint: &mut Lint<'_>, questions: &KeyPath, is_ours: bool) {
    // Whether a question can be answered is not a matter of shape.
    for (at, node) in lint.root.items(questions) {
        let at = at.key("options");
        let Some(Content::List(options)) = node.get("options").map(|node| &node.content) else {
            continue;
        };
        let explains = |node: &Node| node.get("action").and_then(Node::text) == Some("explain");
        if options.is_empty() || options.iter().all(explains) {
            lint.at(Code::InvalidValue, &at, "the question has no option that answers it");
        }
        let mut letters = HashMap::new();
        for (at, option) in lint.root.items(&at) {
            if let Some(letter) = option.get("letter").and_then(Node::text) {
                match letters.get(letter) {
                    Some(line) => {
                        let message = format!("letter `{letter}` stands here and in line {line}");
                        lint.at(Code::DuplicateLetter, &at.key("letter"), message);
                    }
                    None => drop(letters.insert(letter, option.place.line)),
                }
            }
            if explains(option) && option.get("explanation").is_none() {
                let message = "an option that explains needs `explanation`";
                // Others leave it to the question's own text.
                lint.at(Code::MissingField, &at, message).severity = severity(is_ours);
            }
        }
    }
}

fn severity(is_ours: bool) -> Severity {
    if is_ours { Severity::Error } else { Severity::Warning }
}

/// Answers that are recorded as the same value: their letters still tell them apart.
fn values(lint: &mut Lint<'_>, profile: &Profile, questions: &KeyPath, is_ours: bool) {
    for question in &profile.question_flow {
        let mut letters = HashMap::new();
        for answer in question.options.iter().filter(|a| a.action != Some(AnswerAction::Explain)) {
            let Some(other) = letters.insert(answer.value(), &answer.letter) else { continue };
            let place = ids(lint, questions).into_iter().find(|(_, id)| *id == question.id);
            let Some(at) = place.and_then(|(at, _)| option_of(lint, &at, &answer.letter)) else {
                continue;
            };
            let (value, letter) = (answer.value(), &answer.letter);
            let message = format!(
                "options `{other}` and `{letter}` are both recorded as `{value}`: only their letters tell them apart"
            );
            let mistake = lint.at(Code::InvalidValue, &at, message);
            mistake.severity = severity(is_ours);
            mistake.hint = Some("give them a `value`".into());
        }
    }
}

/// Whoever does not answer must have answered something.
fn defaults(lint: &mut Lint<'_>, profile: &Profile, questions: &KeyPath) {
    for question in &profile.question_flow {
        let Some(default) = &question.default else { continue };
        let option = question.option(default);
        let message = match option.map(|option| option.action) {
            None => format!("no option has the letter or the value `{default}`"),
            Some(Some(AnswerAction::Explain)) => format!("`{default}` explains, and is no answer"),
            Some(None) => continue,
        };
        let place = ids(lint, questions).into_iter().find(|(_, id)| *id == question.id);
        if let Some((at, _)) = place {
            let letters: Vec<_> = question.answers().map(|a| a.letter.as_str()).collect();
            lint.at(Code::InvalidValue, &at.above().key("default"), message).hint =
                Some(format!("one of {}", letters.join(", ")));
        }
    }
}

/// The option with a letter, in the question whose id stands at `id`.
fn option_of(lint: &Lint<'_>, id: &KeyPath, letter: &str) -> Option<KeyPath> {
    let options = id.above().key("options");
    let Content::List(nodes) = &lint.root.lookup(&options)?.content else { return None };
    let is_it = |node: &Node| node.get("letter").and_then(Node::text) == Some(letter);
    nodes.iter().position(is_it).map(|number| options.item(number))
}

fn follow_ups(lint: &mut Lint<'_>, profile: &Profile, questions: &KeyPath) {
    let known: Vec<String> = ids(lint, questions).into_iter().map(|(_, id)| id).collect();
    let mut next: HashMap<&str, Vec<&str>> = HashMap::new();
    for question in &profile.question_flow {
        let follow_ups = question.options.iter().filter_map(|answer| answer.follow_up.as_deref());
        next.entry(&question.id).or_default().extend(follow_ups);
    }
    for (number, (at, node)) in lint.root.items(questions).into_iter().enumerate() {
        let own = node.get("id").and_then(Node::text).unwrap_or_default();
        for (at, option) in lint.root.items(&at.key("options")) {
            let at = at.key("follow_up");
            let Some(follow_up) = option.get("follow_up").and_then(Node::text) else { continue };
            if !known.iter().any(|id| id == follow_up) {
                let message = format!("there is no question `{follow_up}` in this file");
                let near = nearest(follow_up, known.iter().map(String::as_str));
                lint.at(Code::UnknownQuestion, &at, message).hint =
                    near.map(|name| format!("did you mean `{name}`?"));
            } else if known[..=number.min(known.len() - 1)].iter().any(|id| id == follow_up)
                && leads_to(&next, follow_up, own)
            {
                // Told once, where the cycle turns back.
                let message = format!("question `{own}` would follow up on itself");
                lint.at(Code::DependencyCycle, &at, message);
            }
        }
    }
}

/// Whether `goal` is asked when `from` is, sooner or later.
fn leads_to(next: &HashMap<&str, Vec<&str>>, from: &str, goal: &str) -> bool {
    let mut open = vec![from];
    let mut seen = std::collections::HashSet::new();
    while let Some(question) = open.pop() {
        if question == goal {
            return true;
        }
        if seen.insert(question) {
            open.extend(next.get(question).into_iter().flatten());
        }
    }
    false
}
