//! What went wrong, told from what real tools said: each output in `fixtures/outputs` names the
//! class that is right for it.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use agentic_provision::{
    flow::{Diagnosis, diagnose},
    model::{AttemptOutcome, ErrorClass},
};
use serde_json::json;

use crate::harness::Home;

/// What an output cannot tell: the engine knows it without reading any.
const NOT_FROM_OUTPUT: [ErrorClass; 2] =
    [ErrorClass::VerificationFailed, ErrorClass::DependencyFailed];

struct Fixture {
    name: String,
    class: ErrorClass,
    exit_code: Option<i32>,
    output: Vec<u8>,
}

impl Fixture {
    fn read(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let bytes = fs::read(path).unwrap();
        let end = bytes.windows(2).position(|pair| pair == b"\n\n");
        let end = end.unwrap_or_else(|| panic!("{name} has no header"));
        let header = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let field = |key: &str| {
            let line = header.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            line.map(str::to_owned)
        };
        let class = field("class").unwrap_or_else(|| panic!("{name} has no class"));
        let class = serde_json::from_value(json!(class)).unwrap();
        let exit_code = field("exit").map(|code| code.parse().unwrap());
        assert!(exit_code.is_some() != field("signal").is_some(), "{name}: an exit or a signal");
        assert_ne!(exit_code, Some(0), "{name}: what succeeded is not diagnosed");
        assert!(!field("command").unwrap().is_empty(), "{name}");
        let source = field("source").unwrap();
        assert!(["run", "transcribed"].contains(&source.as_str()), "{name}: {source}");
        Self { name, class, exit_code, output: bytes[end + 2..].to_vec() }
    }

    fn diagnosis(&self) -> Diagnosis {
        let outcome = match self.exit_code {
            Some(_) => AttemptOutcome::Exited,
            None => AttemptOutcome::Signaled,
        };
        diagnose(outcome, self.exit_code, &self.output)
    }
}

fn fixtures() -> Vec<Fixture> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/outputs");
    let mut paths: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| Fixture::read(path)).collect()
}

#[test]
fn real_outputs_are_given_the_right_class() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 110, "{}", fixtures.len());
    let (mut wrong, mut missed, mut table) = (0, 0, String::new());
    for fixture in &fixtures {
        let class = fixture.diagnosis().class;
        if class != fixture.class {
            let kind = if class == ErrorClass::Unknown { "missed" } else { "WRONG" };
            let (is, want) = (class.name(), fixture.class.name());
            writeln!(table, "{kind:7} {:40} is {want:22} told {is}", fixture.name).unwrap();
            *(if class == ErrorClass::Unknown { &mut missed } else { &mut wrong }) += 1;
        }
    }
    let told = fixtures.iter().filter(|fixture| fixture.class != ErrorClass::Unknown).count();
    println!("{} outputs, {told} with a class, {missed} missed, {wrong} wrong", fixtures.len());
    assert_eq!(wrong, 0, "\n{table}");
    assert!((told - missed) * 10 >= told * 9, "\n{table}");
}

#[test]
fn every_class_that_an_output_can_tell_has_an_example() {
    let fixtures = fixtures();
    let names: BTreeSet<_> = fixtures.iter().map(|fixture| fixture.class.name()).collect();
    for class in ErrorClass::ALL {
        assert!(
            NOT_FROM_OUTPUT.contains(&class) || names.contains(class.name()),
            "{}",
            class.name()
        );
    }
    let tempting = fixtures.iter().filter(|fixture| fixture.class == ErrorClass::Unknown);
    assert!(tempting.count() >= 10);
}

#[test]
fn advice_is_whole_sentences_with_every_name_filled_in() {
    for fixture in fixtures() {
        let advice = fixture.diagnosis().advice;
        assert!(!advice.contains('$') && !advice.contains("``"), "{}: {advice}", fixture.name);
        assert!(advice.ends_with(['.', ')']), "{}: {advice}", fixture.name);
        assert!(!advice.contains(['\n', '\u{1b}']), "{}: {advice}", fixture.name);
    }
}

#[test]
fn a_failure_is_told_with_its_class_and_what_to_do() {
    let home = Home::new();
    let said = "E: Unable to locate package frobnicate";
    let output = home.apply(
        &json!([{"id": "it", "commands": [{"command": format!("echo '{said}' >&2; exit 100")}]}]),
        &[],
    );
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(output.stderr.contains("No package is called frobnicate"), "{}", output.stderr);
    let failed = &home.json(&["status"])["failed"][0];
    assert_eq!(failed["error_type"], "package_not_found");
    let advice = failed["suggested_resolution"].as_str().unwrap();
    assert!(advice.contains("frobnicate"), "{advice}");
}

#[test]
fn after_much_output_the_end_decides() {
    let home = Home::new();
    let command = "echo 'cp: cannot create /x: Permission denied'; seq 1 400000; \
                   echo 'curl: (6) Could not resolve host: get.tool.example' >&2; exit 6";
    let output = home.apply(&json!([{"id": "it", "commands": [{"command": command}]}]), &[]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let context = &home.latest_document()["tasks"]["it"]["failure_context"];
    assert_eq!(context["error_type"], "dns");
    let advice = context["suggested_resolution"].as_str().unwrap();
    assert!(advice.contains("get.tool.example"), "{advice}");
}
