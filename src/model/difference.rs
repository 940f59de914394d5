//! Where two documents differ, field by field.

use std::fmt;

use serde_json::Value;

use super::Document;

/// One field that two documents do not agree on; `None` where one of them does not have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// `tasks.git.status`
    pub place: String,
    pub expected: Option<Value>,
    pub found: Option<Value>,
}

/// The most characters of a value that are repeated.
const LONGEST: usize = 60;

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        match (&self.expected, &self.found) {
            (Some(expected), Some(found)) => {
                write!(f, "{place} is {}, and was recorded as {}", short(found), short(expected))
            }
            (Some(expected), None) => {
                write!(f, "{place} is gone, and was recorded as {}", short(expected))
            }
            (None, Some(found)) => write!(f, "{place} is {}, and was not recorded", short(found)),
            (None, None) => write!(f, "{place} differs"),
        }
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

impl Document {
    /// Returns every field in which `found` is not as this document, in the order of the fields.
    pub fn differences(&self, found: &Self) -> Vec<Difference> {
        let value = |document: &Self| serde_json::to_value(document).unwrap_or_default();
        differences(&value(self), &value(found))
    }
}

/// Every field in which `found` is not as `expected`, in the order of the fields.
pub fn differences(expected: &Value, found: &Value) -> Vec<Difference> {
    let mut all = Vec::new();
    compare("", Some(expected), Some(found), &mut all);
    all
}

fn compare(
    place: &str,
    expected: Option<&Value>,
    found: Option<&Value>,
    all: &mut Vec<Difference>,
) {
    match (expected, found) {
        (Some(Value::Object(expected)), Some(Value::Object(found))) => {
            let below = |key: &str| match place {
                "" => key.to_owned(),
                place => format!("{place}.{key}"),
            };
            for (key, value) in expected {
                compare(&below(key), Some(value), found.get(key), all);
            }
            for (key, value) in found.iter().filter(|(key, _)| !expected.contains_key(*key)) {
                compare(&below(key), None, Some(value), all);
            }
        }
        (Some(Value::Array(expected)), Some(Value::Array(found))) => {
            for at in 0..expected.len().max(found.len()) {
                compare(&format!("{place}[{at}]"), expected.get(at), found.get(at), all);
            }
        }
        (expected, found) if expected != found => all.push(Difference {
            place: place.into(),
            expected: expected.cloned(),
            found: found.cloned(),
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::differences;

    #[test]
    fn every_field_that_differs_is_named_once() {
        let before = json!({"a": {"b": [1, 2], "c": "x"}, "d": true});
        let after = json!({"a": {"b": [1, 3, 4], "c": "x"}, "e": null});
        let told: Vec<_> = differences(&before, &after).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "a.b[1] is 3, and was recorded as 2",
                "a.b[2] is 4, and was not recorded",
                "d is gone, and was recorded as true",
                "e is null, and was not recorded",
            ]
        );
        assert_eq!(differences(&before, &before), []);
    }
}
