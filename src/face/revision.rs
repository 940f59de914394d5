//! What a change of mind would come to, before it is confirmed; and what need not be added again.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{comma_list, plan_json, plural, visible};
use crate::{
    engine::{Inheritance, Revision},
    model::{Impact, TaskId},
};

pub fn revision_text(revision: &Revision) -> String {
    let found = &revision.assessment;
    let mut text = String::new();
    let reach = match found.impact {
        Impact::Minor if revision.is_only_words() => {
            "minor: only words are different, and nothing would run otherwise"
        }
        Impact::Minor => "minor: the answers are different, and nothing would run otherwise",
        Impact::Moderate => "moderate: some tasks are planned anew, and the rest stays as it is",
        Impact::Major => "major: another stack, and everything is gone through again",
    };
    let _ = writeln!(text, "Revising session {} is {reach}.", revision.session_id);
    let mut list = |what: &str, tasks: &[TaskId]| {
        if !tasks.is_empty() {
            let _ = writeln!(text, "  {what}: {}", comma_list(tasks));
        }
    };
    list("new", &found.added);
    let is_planned = |id: &&TaskId| revision.plan.task(id).is_some();
    let anew = found.begin_anew.iter().filter(is_planned).filter(|id| !found.to_redo.contains(id));
    list("made again, otherwise than it is", &found.to_redo);
    list("begins anew; what is there is found", &anew.cloned().collect::<Vec<_>>());
    list("skipped, and stays so", &found.stay_skipped);
    list("not set up any more", &found.dropped);
    list("installed, and stays so, though it is not asked for any more", &found.left_installed);
    if found.impact == Impact::Minor {
        list("for review", &found.reworded);
        for line in &found.words {
            let _ = writeln!(text, "    {}", visible(line));
        }
    }
    if !found.difference.is_empty() {
        let _ = writeln!(text, "What would run otherwise:");
        for line in &found.difference {
            let _ = writeln!(text, "  {}", visible(line));
        }
    }
    if !revision.is_only_words() {
        let kept = match found.begin_anew.len() {
            0 => String::new(),
            some => format!(" and of {}", plural(some, "task")),
        };
        let _ =
            writeln!(text, "What is there now of the plan{kept} is kept as an earlier version.");
    }
    text
}

pub fn revision_json(revision: &Revision) -> Value {
    let found = &revision.assessment;
    json!({
        "session_id": revision.session_id,
        "impact": found.impact,
        "needs_approval": revision.needs_approval(),
        "added": found.added,
        "begin_anew": found.begin_anew,
        "made_again": found.to_redo,
        "stay_skipped": found.stay_skipped,
        "words": found.words,
        "dropped": found.dropped,
        "left_installed": found.left_installed,
        "needs_review": found.to_review(),
        "difference": found.difference,
        "plan": plan_json(&revision.plan),
    })
}

/// What was asked for and is there, with the session it came from.
pub fn already_text(inherited: &Inheritance) -> String {
    let mut text = String::new();
    for (task, session) in &inherited.already {
        let _ = writeln!(text, "{task} is there already: session {session} has set it up");
    }
    text
}
