//! JSON Schemas (2020-12) of what is on disk, made from the types that write it.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{Document, EventKind, Plan};

/// The schema of a session document.
pub fn session_schema() -> Value {
    let mut schema = schema_of::<Document>();
    // Put there by whoever prints the document, and taken off by whoever reads it.
    schema["properties"]["checksum"] = json!({
        "type": "string",
        "description": "The SHA-256 of every byte of the document before this key, as it was written.",
    });
    schema
}

/// The schema of a plan file.
pub fn plan_schema() -> Value {
    schema_of::<Plan>()
}

/// The schema of one journal line.
pub fn event_schema() -> Value {
    let mut schema = schema_of::<EventKind>();
    let number = json!({"type": "integer", "minimum": 1});
    let envelope = json!({
        "seq": {"type": "integer", "minimum": 1},
        "timestamp": {"type": "string", "format": "date-time"},
        "chain": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    });
    let batch = json!({
        "type": "array", "prefixItems": [number, number], "minItems": 2, "maxItems": 2,
    });
    let Value::Object(envelope) = envelope else { return schema };
    if let Some(kinds) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
        for kind in kinds {
            add_envelope(kind, &envelope, &batch);
        }
    }
    schema["title"] = json!("Journal line");
    schema
}

fn schema_of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    // A structure that stands in one place only is read where it stands.
    settings.inline_subschemas = false;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain_numbers(&mut schema);
    schema
}

/// Says of one kind of event that its line also has `seq`, `timestamp` and `chain`.
fn add_envelope(kind: &mut Value, envelope: &Map<String, Value>, batch: &Value) {
    let Some(kind) = kind.as_object_mut() else { return };
    // `additionalProperties` would not see the fields that stand in a `$ref` beside it.
    if kind.remove("additionalProperties").is_some() || kind.contains_key("$ref") {
        kind.insert("unevaluatedProperties".into(), json!(false));
    }
    let properties = kind.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.extend(envelope.clone());
        // Only events that were written together have it.
        properties.insert("batch".into(), batch.clone());
    }
    let required = kind.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        required.extend(envelope.keys().map(|key| json!(key)));
    }
}

/// Drops `format: uint32` and its kin: they are Rust's names, and validators warn of them.
fn plain_numbers(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let rusty = fields.get("format").and_then(Value::as_str).is_some_and(|format| {
                format.starts_with("uint") || format.starts_with("int") || format == "double"
            });
            if rusty {
                fields.remove("format");
            }
            fields.values_mut().for_each(plain_numbers);
        }
        Value::Array(items) => items.iter_mut().for_each(plain_numbers),
        _ => {}
    }
}
