//! JSON Schemas (2020-12) of the files people write, for editors. Made from the shapes that the
//! files are checked against.

use serde_json::{Map, Value, json};

use super::Answers;
use crate::model::{
    Profile, TASK_FILE,
    format::{Form, Need, Record, Shape},
};

pub fn task_schema() -> Value {
    document("provision: a task file", &TASK_FILE)
}

pub fn profile_schema() -> Value {
    document("provision: a profile", Profile::FORMAT)
}

pub fn answers_schema() -> Value {
    document("provision: an answers file", Answers::FORMAT)
}

fn document(title: &str, record: &'static Record) -> Value {
    let mut definitions = Map::new();
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
    });
    let body = record_schema(record, &mut definitions);
    if let (Value::Object(schema), Value::Object(body)) = (&mut schema, body) {
        schema.extend(body);
        if !definitions.is_empty() {
            schema.insert("$defs".into(), definitions.into());
        }
    }
    schema
}

fn record_schema(record: &'static Record, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for field in record.fields {
        let mut schema = shape_schema(&field.shape, definitions);
        schema["description"] = field.says.trim().into();
        if field.need == Need::Optional {
            schema = or_nothing(schema);
        }
        properties.insert(field.name.into(), schema);
    }
    let needed = record.fields.iter().filter(|field| field.need != Need::Optional);
    let needed: Vec<_> = needed.map(|field| field.name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": needed,
        "additionalProperties": false,
    })
}

/// A field with nothing behind its colon says nothing, and that is no mistake.
fn or_nothing(mut schema: Value) -> Value {
    match schema.get_mut("type") {
        Some(Value::String(one)) => schema["type"] = json!([one.clone(), "null"]),
        Some(Value::Array(several)) => several.push("null".into()),
        _ => {
            let description = schema["description"].take();
            if let Some(fields) = schema.as_object_mut() {
                fields.remove("description");
            }
            return json!({"description": description, "anyOf": [schema, {"type": "null"}]});
        }
    }
    // `enum` and `pattern` speak of texts only; `enum` would rule out nothing.
    if let Some(names) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        names.push(Value::Null);
    }
    schema
}

fn shape_schema(shape: &'static Shape, definitions: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::Text(form) => text_schema(*form),
        Shape::Lines => {
            json!({"type": ["string", "number", "boolean", "array"], "items": scalar()})
        }
        Shape::Flag => json!({"type": "boolean"}),
        Shape::FlagOrText => scalar(),
        Shape::Count => json!({"type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+$"}),
        Shape::OneOrMany(item) => {
            let item = shape_schema(item, definitions);
            json!({"anyOf": [item, {"type": "array", "items": item}]})
        }
        Shape::TextByShell(record) => {
            let texts = shape_schema_of(record, definitions);
            json!({"anyOf": [scalar(), texts]})
        }
        Shape::Time => json!({"type": ["integer", "string"], "minimum": 1}),
        Shape::Choice(names) => json!({"type": "string", "enum": names}),
        Shape::List(items) => json!({"type": "array", "items": shape_schema(items, definitions)}),
        Shape::Map(form, values) => json!({
            "type": "object",
            "propertyNames": form.pattern().map_or_else(|| json!({}), |p| json!({"pattern": p})),
            "additionalProperties": shape_schema(values, definitions),
        }),
        Shape::Record(record) => shape_schema_of(record, definitions),
    }
}

/// A record that is described once, wherever it is used.
fn shape_schema_of(record: &'static Record, definitions: &mut Map<String, Value>) -> Value {
    let name = record.name.trim_start_matches("a ").trim_start_matches("an ");
    let name = name.replace([' ', '\''], "_");
    if !definitions.contains_key(&name) {
        definitions.insert(name.clone(), Value::Null);
        let schema = record_schema(record, definitions);
        definitions.insert(name.clone(), schema);
    }
    json!({"$ref": format!("#/$defs/{name}")})
}

/// Texts may look like numbers or truth values: they keep how they are written.
fn scalar() -> Value {
    json!({"type": ["string", "number", "boolean"]})
}

fn text_schema(form: Form) -> Value {
    let mut schema = scalar();
    if form == Form::Pattern {
        schema["format"] = "regex".into();
    }
    if let Some(pattern) = form.pattern() {
        schema["pattern"] = pattern.into();
    }
    schema
}
