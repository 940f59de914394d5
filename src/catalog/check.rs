//! Holds a document against its shape. Every mistake is reported; what is right is kept, so that
//! the rest can be looked at too.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value, json};

use super::{
    diagnostic::{Code, Diagnostic, Severity, Source},
    node::{Content, Entry, Node},
    place::KeyPath,
    shape::{Misshapen, one_of},
};
use crate::model::{
    format::{Field, Form, Need, Record, Shape},
    nearest,
};

/// What is looked at, and what was found.
pub struct Check<'a> {
    pub source: &'a Arc<Source>,
    /// How bad a field is that nobody knows.
    pub unknown_fields: Severity,
    pub found: Vec<Diagnostic>,
}

impl Check<'_> {
    /// What a record says, without what is wrong with it.
    pub fn record(&mut self, record: &Record, node: &Node, key: &KeyPath) -> Option<Value> {
        let Content::Map(entries) = &node.content else {
            self.wrong_type(&format!("the fields of {}", record.name), node, key, None);
            return None;
        };
        let mut values = Map::new();
        self.duplicates(entries, key);
        for entry in entries {
            let Some(name) = self.key_text(entry, key) else { continue };
            let at = key.key(name);
            match record.fields.iter().find(|field| field.name == name) {
                None => self.unknown(record, entry, name, at),
                // `notes:` with nothing behind it says nothing.
                Some(_) if entry.value.content == Content::Null => {}
                Some(field) => {
                    if let Some(value) = self.value(&field.shape, &entry.value, &at) {
                        values.insert(name.to_owned(), value);
                    }
                }
            }
        }
        let mut is_meaningless = false;
        for field in record.fields.iter().filter(|field| field.need != Need::Optional) {
            let is_there = node.get(field.name).is_some_and(|value| value.content != Content::Null);
            if !is_there {
                self.missing(record, field, node, key);
            }
            is_meaningless |= field.need == Need::Essential && !values.contains_key(field.name);
        }
        (!is_meaningless).then_some(Value::Object(values))
    }

    fn value(&mut self, shape: &Shape, node: &Node, key: &KeyPath) -> Option<Value> {
        match shape {
            Shape::Record(record) => self.record(record, node, key),
            Shape::List(items) => {
                let Content::List(nodes) = &node.content else {
                    let one = node.text().filter(|text| !text.contains('\n'));
                    let hint = one.map(|text| format!("write [{text}]"));
                    self.wrong_type(&shape.describe(), node, key, hint);
                    return None;
                };
                // What is wrong leaves a gap where nothing is essential: the others keep their numbers.
                let gap = match items {
                    Shape::Record(record) if !record.has_essentials() => Some(json!({})),
                    _ => None,
                };
                let item =
                    |(number, node)| self.value(items, node, &key.item(number)).or(gap.clone());
                Some(Value::Array(nodes.iter().enumerate().filter_map(item).collect()))
            }
            Shape::OneOrMany(items) => match &node.content {
                Content::List(_) => self.value(&Shape::List(items), node, key),
                _ => Some(Value::Array(self.value(items, node, key).into_iter().collect())),
            },
            Shape::TextByShell(record) => match &node.content {
                Content::Map(_) => self.record(record, node, key),
                Content::Flag(flag, _) => Some(json!({"edits": flag})),
                _ => self.scalar(shape, node, key).map(|text| json!({"text": text})),
            },
            Shape::Map(form, values) => self.map(*form, values, node, key),
            Shape::Text(form) => {
                let text = self.scalar(shape, node, key)?;
                match form.check(text) {
                    Ok(()) => Some(text.into()),
                    Err(misshapen) => {
                        self.misshapen(misshapen, node, key.clone());
                        None
                    }
                }
            }
            Shape::Lines => match &node.content {
                Content::List(lines) => {
                    let text = Shape::Text(Form::Any);
                    let line = |(number, node)| self.value(&text, node, &key.item(number));
                    let lines: Vec<_> = lines.iter().enumerate().filter_map(line).collect();
                    let lines: Vec<_> = lines.iter().filter_map(Value::as_str).collect();
                    Some(lines.join("\n").into())
                }
                _ => self.scalar(shape, node, key).map(Into::into),
            },
            Shape::Flag => {
                if let Content::Flag(flag, _) = &node.content {
                    return Some((*flag).into());
                }
                self.wrong_type(&shape.describe(), node, key, flag_hint(node));
                None
            }
            Shape::FlagOrText => match &node.content {
                Content::Flag(false, _) => None,
                Content::Flag(true, _) => Some("".into()),
                _ => self.scalar(shape, node, key).map(Into::into),
            },
            Shape::Count => {
                let text = self.scalar(shape, node, key)?;
                let count = text.parse::<u32>().ok();
                self.or_invalid(count.map(Into::into), shape, node, key)
            }
            Shape::Time => {
                let text = self.scalar(shape, node, key)?;
                self.or_invalid(seconds(text).map(Into::into), shape, node, key)
            }
            Shape::Choice(names) => {
                let text = self.scalar(shape, node, key)?;
                if names.contains(&text) {
                    return Some(text.into());
                }
                let message = format!("`{text}` is not {}", one_of(names));
                let mistake = self.error(Code::InvalidValue, node, key.clone(), message);
                self.found.push(meant(mistake, nearest(text, names.iter().copied())));
                None
            }
        }
    }

    fn map(&mut self, form: Form, shape: &Shape, node: &Node, key: &KeyPath) -> Option<Value> {
        let Content::Map(entries) = &node.content else {
            self.wrong_type("a mapping", node, key, None);
            return None;
        };
        self.duplicates(entries, key);
        let mut values = Map::new();
        for entry in entries {
            let Some(name) = self.key_text(entry, key) else { continue };
            let at = key.key(name);
            let value = self.value(shape, &entry.value, &at);
            match form.check(name) {
                Err(misshapen) => self.misshapen(misshapen, &entry.key, at),
                Ok(()) => {
                    values.extend(value.map(|value| (name.to_owned(), value)));
                }
            }
        }
        Some(Value::Object(values))
    }

    fn key_text<'n>(&mut self, entry: &'n Entry, key: &KeyPath) -> Option<&'n str> {
        let text = entry.key.text();
        if text.is_none() {
            let message =
                format!("expected a name before the colon, found {}", entry.key.describe());
            self.found.push(self.error(Code::WrongType, &entry.key, key.clone(), message));
        }
        text
    }

    fn scalar<'n>(&mut self, shape: &Shape, node: &'n Node, key: &KeyPath) -> Option<&'n str> {
        let text = node.text();
        if text.is_none() {
            self.wrong_type(&shape.describe(), node, key, None);
        }
        text
    }

    fn or_invalid(
        &mut self,
        value: Option<Value>,
        shape: &Shape,
        node: &Node,
        key: &KeyPath,
    ) -> Option<Value> {
        if value.is_none() {
            let message = format!("expected {}, found {}", shape.describe(), node.describe());
            self.found.push(self.error(Code::InvalidValue, node, key.clone(), message));
        }
        value
    }

    fn duplicates(&mut self, entries: &[Entry], key: &KeyPath) {
        let mut lines: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
        for entry in entries {
            let Some(name) = entry.key.text() else { continue };
            match lines.get(name) {
                Some(line) => {
                    let message = format!("`{name}` stands here and in line {line}");
                    let at = key.key(name);
                    self.found.push(self.error(Code::DuplicateKey, &entry.key, at, message));
                }
                None => drop(lines.insert(name, entry.key.place.line)),
            }
        }
    }

    fn unknown(&mut self, record: &Record, entry: &Entry, name: &str, at: KeyPath) {
        let message = format!("{} has no field `{name}`", record.name);
        let mut mistake = self.error(Code::UnknownField, &entry.key, at, message);
        mistake.severity = self.unknown_fields;
        let names = record.fields.iter().map(|field| field.name);
        self.found.push(meant(mistake, nearest(name, names)));
    }

    fn missing(&mut self, record: &Record, field: &Field, node: &Node, key: &KeyPath) {
        let message = format!("{} needs `{}`: {}", record.name, field.name, field.shape.describe());
        self.found.push(self.error(Code::MissingField, node, key.clone(), message));
    }

    fn misshapen(&mut self, misshapen: Misshapen, node: &Node, key: KeyPath) {
        self.found.push(self.error(misshapen.code, node, key, misshapen.message));
    }

    fn wrong_type(&mut self, expected: &str, node: &Node, key: &KeyPath, hint: Option<String>) {
        let message = format!("expected {expected}, found {}", node.describe());
        let mut mistake = self.error(Code::WrongType, node, key.clone(), message);
        mistake.hint = hint;
        self.found.push(mistake);
    }

    fn error(&self, code: Code, node: &Node, key: KeyPath, message: String) -> Diagnostic {
        Diagnostic::error(code, self.source, node.place, key, message)
    }
}

/// Words that mean a truth value to people, and text to us.
fn flag_hint(node: &Node) -> Option<String> {
    match node.text()?.to_ascii_lowercase().as_str() {
        "yes" | "on" | "true" | "y" | "1" => Some("write true".into()),
        "no" | "off" | "false" | "n" | "0" => Some("write false".into()),
        _ => None,
    }
}

fn meant(mistake: Diagnostic, name: Option<&str>) -> Diagnostic {
    match name {
        Some(name) => mistake.hint(format!("did you mean `{name}`?")),
        None => mistake,
    }
}

/// `90` and `90s` are ninety seconds, `10m` ten minutes. Nothing takes no time.
fn seconds(text: &str) -> Option<u64> {
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => humantime::parse_duration(text).ok()?.as_secs(),
    };
    (seconds > 0).then_some(seconds)
}
