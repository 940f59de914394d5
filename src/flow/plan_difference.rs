//! How two plans differ, in words: only in what can execute, for nothing else needs approval.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::model::{Plan, differences};

/// The most characters of a value that changed.
const LONGEST: usize = 300;
/// How much of them is repeated before the change.
const BEFORE: usize = 60;

/// What `now` would run otherwise than `before`, a line each.
pub fn plan_difference(before: &Plan, now: &Plan) -> Vec<String> {
    let (before, now) = (before.executable_json(), now.executable_json());
    let mut lines = Vec::new();
    changes("", &part(&before, "user_data"), &part(&now, "user_data"), &mut lines);
    let (old, new) = (by_id(&before), by_id(&now));
    let (old_order, new_order) = (order(&before), order(&now));
    for id in old_order.iter().filter(|id| !new.contains_key(*id)) {
        lines.push(format!("- task {id} is no longer there"));
    }
    for id in new_order.iter().filter(|id| !old.contains_key(*id)) {
        lines.push(format!("+ task {id} is new"));
        changes(&format!("{id}: "), &json!({"id": id}), new[id], &mut lines);
    }
    for id in old_order.iter().filter(|id| new.contains_key(*id)) {
        changes(&format!("{id}: "), old[id], new[id], &mut lines);
    }
    if lines.is_empty() && old_order != new_order {
        lines.push(format!("- in this order: {}", old_order.join(", ")));
        lines.push(format!("+ in this order: {}", new_order.join(", ")));
    }
    lines
}

/// What is not there is empty.
fn part(plan: &Value, name: &str) -> Value {
    plan.get(name).cloned().unwrap_or_else(|| json!({}))
}

fn changes(of: &str, before: &Value, now: &Value, lines: &mut Vec<String>) {
    for difference in differences(before, now) {
        let (before, now) = (difference.expected.as_ref(), difference.found.as_ref());
        match (before, now) {
            (Some(before), Some(now)) => {
                let place = readable(&difference.place);
                let (before, now) = around_the_difference(&text_of(before), &text_of(now));
                lines.push(format!("- {of}{place}: {before}"));
                lines.push(format!("+ {of}{place}: {now}"));
            }
            // All of what comes or goes: nothing of it may be overlooked.
            (value, None) | (None, value) => {
                let sign = if now.is_some() { '+' } else { '-' };
                let Some(value) = value else { continue };
                for (place, leaf) in leaves(&difference.place, value) {
                    lines.push(format!("{sign} {of}{}: {}", readable(&place), text_of(leaf)));
                }
            }
        }
    }
}

/// Every value below one, with its place.
fn leaves<'v>(place: &str, value: &'v Value) -> Vec<(String, &'v Value)> {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let below =
                |(key, value): (&String, &'v Value)| leaves(&format!("{place}.{key}"), value);
            fields.iter().flat_map(below).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            let below = |(at, value): (usize, &'v Value)| leaves(&format!("{place}[{at}]"), value);
            items.iter().enumerate().flat_map(below).collect()
        }
        value => vec![(place.to_owned(), value)],
    }
}

fn by_id(plan: &Value) -> HashMap<String, &Value> {
    let tasks = plan["tasks"].as_array().into_iter().flatten();
    tasks.filter_map(|task| Some((task["id"].as_str()?.to_owned(), task))).collect()
}

fn order(plan: &Value) -> Vec<String> {
    let tasks = plan["tasks"].as_array().into_iter().flatten();
    tasks.filter_map(|task| task["id"].as_str().map(str::to_owned)).collect()
}

/// `commands[0].command` as `command 1`.
fn readable(place: &str) -> String {
    let Some(rest) = place.strip_prefix("commands[") else { return place.to_owned() };
    let Some((number, rest)) = rest.split_once(']') else { return place.to_owned() };
    let Ok(number) = number.parse::<usize>() else { return place.to_owned() };
    let field = rest.trim_start_matches('.');
    let number = number.saturating_add(1);
    match field {
        "" | "command" => format!("command {number}"),
        field => format!("{field} of command {number}"),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Two long texts from a little before where they part.
fn around_the_difference(one: &str, other: &str) -> (String, String) {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let cut = |text: &str| {
        let skipped = if text.chars().count() > LONGEST { same.saturating_sub(BEFORE) } else { 0 };
        let begins = if skipped > 0 { "…" } else { "" };
        let mut rest = text.chars().skip(skipped);
        let shown: String = rest.by_ref().take(LONGEST).collect();
        let ends = if rest.next().is_some() { "…" } else { "" };
        format!("{begins}{shown}{ends}")
    };
    (cut(one), cut(other))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::plan_difference;

    fn difference(before: &Value, now: &Value) -> Vec<String> {
        let plan = |tasks: &Value| {
            let plan = json!({"format": "plan-v1", "tasks": tasks});
            serde_json::from_value(plan).unwrap()
        };
        plan_difference(&plan(before), &plan(now))
    }

    #[test]
    fn every_change_is_told_as_it_was_and_as_it_is() {
        let before = json!([
            {"id": "a", "commands": [{"command": "one"}, {"command": "two", "retries": 1}]},
            {"id": "b", "commands": [{"command": "x"}]}
        ]);
        let now = json!([
            {"id": "a", "description": "reworded",
             "commands": [{"command": "uno"}, {"command": "two", "retries": 2}, {"command": "three"}]},
            {"id": "c", "commands": [{"command": "y"}]}
        ]);
        assert_eq!(
            difference(&before, &now),
            [
                "- task b is no longer there",
                "+ task c is new",
                "+ c: command 1: y",
                "- a: command 1: one",
                "+ a: command 1: uno",
                "- a: retries of command 2: 1",
                "+ a: retries of command 2: 2",
                "+ a: command 3: three",
            ]
        );
    }

    #[test]
    fn nothing_of_what_is_new_is_hidden_nor_the_end_of_what_is_long() {
        let long = "x".repeat(1000);
        let before = json!([{"id": "a", "commands": [{"command": format!("{long} good")}]}]);
        let now = json!([
            {"id": "a", "commands": [{"command": format!("{long} evil")}]},
            {"id": "b", "env_setup": "evil", "commands": [
                {"command": "true", "requires_sudo": true, "env": {"X": "evil"}}
            ], "verification": {"command": "check"}}
        ]);
        let told = difference(&before, &now);
        for line in [
            "+ b: env_setup: evil",
            "+ b: requires_sudo of command 1: true",
            "+ b: env.X of command 1: evil",
            "+ b: verification.command: check",
        ] {
            assert!(told.iter().any(|told| told == line), "{line}: {told:#?}");
        }
        assert!(told.iter().any(|line| line.starts_with("- ") && line.ends_with("x good")));
        assert!(told.iter().any(|line| line.starts_with("+ ") && line.ends_with("x evil")));
    }

    #[test]
    fn what_a_task_comes_after_is_told() {
        let plan = |after: Value| json!([{"id": "a"}, {"id": "b"}, {"id": "c", "after": after}]);
        let (before, now) = (plan(json!(["a"])), plan(json!(["b"])));
        assert_eq!(difference(&before, &now), ["- c: after[0]: a", "+ c: after[0]: b"]);
        assert_eq!(difference(&plan(json!([])), &now), ["+ c: after[0]: b"]);
        assert_eq!(difference(&before, &plan(json!([]))), ["- c: after[0]: a"]);
    }

    #[test]
    fn another_order_is_a_change_too_and_words_are_none() {
        let (a, b) = (json!({"id": "a"}), json!({"id": "b"}));
        let told = difference(&json!([a, b]), &json!([b, a]));
        assert_eq!(told, ["- in this order: a, b", "+ in this order: b, a"]);
        assert_eq!(difference(&json!([a]), &json!([{"id": "a", "notes": "n"}])), [""; 0]);
    }
}
