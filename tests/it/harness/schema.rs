//! The published schemas, as the binary prints them, held against what it writes.

use std::{process::Command, sync::LazyLock};

use jsonschema::Validator;
use serde_json::Value;

static DOCUMENT: LazyLock<Validator> = LazyLock::new(|| validator("session"));
static LINE: LazyLock<Validator> = LazyLock::new(|| validator("event"));

fn validator(of: &str) -> Validator {
    let mut command = Command::new(env!("CARGO_BIN_EXE_provision"));
    let output = command.args(["--home", "/nonexistent", "schema", of]).output().unwrap();
    assert!(output.status.success());
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap()
}

pub fn assert_document(bytes: &[u8]) {
    check(&DOCUMENT, bytes);
}

pub fn assert_line(bytes: &[u8]) {
    check(&LINE, bytes);
}

fn check(validator: &Validator, bytes: &[u8]) {
    let value: Value = serde_json::from_slice(bytes).unwrap();
    let problems: Vec<_> = validator
        .iter_errors(&value)
        .map(|problem| format!("{problem} at {}", problem.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{problems:#?} in {value:#}");
}
