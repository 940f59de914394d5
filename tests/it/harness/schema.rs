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
    assert_eq!(document_problems(bytes), Vec::<String>::new());
}

pub fn assert_line(bytes: &[u8]) {
    assert_eq!(line_problems(bytes), Vec::<String>::new());
}

pub fn document_problems(bytes: &[u8]) -> Vec<String> {
    problems(&DOCUMENT, bytes)
}

pub fn line_problems(bytes: &[u8]) -> Vec<String> {
    problems(&LINE, bytes)
}

fn problems(validator: &Validator, bytes: &[u8]) -> Vec<String> {
    let value: Value = serde_json::from_slice(bytes).unwrap();
    let problem = |problem: jsonschema::ValidationError<'_>| {
        format!("{problem} at {} in {value:#}", problem.instance_path())
    };
    validator.iter_errors(&value).map(problem).collect()
}
