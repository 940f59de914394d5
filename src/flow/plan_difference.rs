//! How two plans differ, in words: only in what can execute, for nothing else needs approval.

use std::collections::HashMap;

use serde_json::Value;

use crate::model::{Plan, differences};

/// The most characters of a value that are repeated.
const LONGEST: usize = 300;

/// What `now` would run otherwise than `before`, a line each.
pub fn plan_difference(before: &Plan, now: &Plan) -> Vec<String> {
    let (before, now) = (before.executable_json(), now.executable_json());
    let mut lines = Vec::new();
    for difference in differences(&before["user_data"], &now["user_data"]) {
        let place = difference.place.trim_end_matches(".value");
        changed(place, difference.expected.as_ref(), difference.found.as_ref(), &mut lines);
    }
    let (old, new) = (by_id(&before), by_id(&now));
    let (old_order, new_order) = (order(&before), order(&now));
    for id in old_order.iter().filter(|id| !new.contains_key(*id)) {
        lines.push(format!("- task {id} is no longer there"));
    }
    for id in new_order.iter().filter(|id| !old.contains_key(*id)) {
        lines.push(format!("+ task {id} is new"));
        let commands = new[id]["commands"].as_array().into_iter().flatten();
        lines.extend(commands.map(|command| format!("+ {id}: {}", shown(&command["command"]))));
    }
    for id in old_order.iter().filter(|id| new.contains_key(*id)) {
        for difference in differences(old[id], new[id]) {
            let place = format!("{id}: {}", readable(&difference.place));
            changed(&place, difference.expected.as_ref(), difference.found.as_ref(), &mut lines);
        }
    }
    if lines.is_empty() && old_order != new_order {
        lines.push(format!("- in this order: {}", old_order.join(", ")));
        lines.push(format!("+ in this order: {}", new_order.join(", ")));
    }
    lines
}

fn by_id(plan: &Value) -> HashMap<String, &Value> {
    let tasks = plan["tasks"].as_array().into_iter().flatten();
    tasks.filter_map(|task| Some((task["id"].as_str()?.to_owned(), task))).collect()
}

fn order(plan: &Value) -> Vec<String> {
    let tasks = plan["tasks"].as_array().into_iter().flatten();
    tasks.filter_map(|task| task["id"].as_str().map(str::to_owned)).collect()
}

fn changed(place: &str, before: Option<&Value>, now: Option<&Value>, lines: &mut Vec<String>) {
    lines.extend(before.map(|value| format!("- {place}: {}", shown(value))));
    lines.extend(now.map(|value| format!("+ {place}: {}", shown(value))));
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

fn shown(value: &Value) -> String {
    let whole = value.get("command").unwrap_or(value);
    let text = whole.as_str().map_or_else(|| whole.to_string(), str::to_owned);
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
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
                "+ c: y",
                "- a: command 1: one",
                "+ a: command 1: uno",
                "- a: retries of command 2: 1",
                "+ a: retries of command 2: 2",
                "+ a: command 3: three",
            ]
        );
    }

    #[test]
    fn another_order_is_a_change_too_and_words_are_none() {
        let (a, b) = (json!({"id": "a"}), json!({"id": "b"}));
        let told = difference(&json!([a, b]), &json!([b, a]));
        assert_eq!(told, ["- in this order: a, b", "+ in this order: b, a"]);
        assert_eq!(difference(&json!([a]), &json!([{"id": "a", "notes": "n"}])), [""; 0]);
    }
}
