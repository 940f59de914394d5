//! The schemas that `provision schema` prints.

use crate::harness::{
    Generator, Home, assert_document, assert_line, created, document_problems, faulty::FaultyFs,
    id, line_problems, moment, pen,
};
use agentic_provision::store::{self, Store};
use serde_json::Value;

#[test]
fn they_are_of_the_2020_12_draft_and_name_every_kind_of_event() {
    let home = Home::new();
    let session = home.json(&["schema", "session"]);
    let event = home.json(&["schema", "event"]);
    for schema in [&session, &event] {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(!schema.to_string().contains("uint"), "no Rust types in a public schema");
    }
    let kinds = event["oneOf"].as_array().unwrap();
    assert!(kinds.len() >= 30, "{}", kinds.len());
    let named = |kind: &Value| kind["properties"]["event"]["const"].is_string();
    assert!(kinds.iter().all(named), "every kind says its name");
}

#[test]
fn what_is_wrong_does_not_pass() {
    let line = r#"{"seq":1,"timestamp":"2026-02-02T14:30:52.000Z","event":"task_started",
        "task_id":"jq","chain":"0000000000000000000000000000000000000000000000000000000000000000"}"#;
    assert_eq!(line_problems(line.as_bytes()), Vec::<String>::new());
    for (from, to) in [
        ("\"jq\"", "\"jq\",\"somebody\":\"else\""),
        ("task_started", "task_warped"),
        ("2026-02-02T14:30:52.000Z", "yesterday"),
        ("\"seq\":1,", ""),
        ("\"chain\":\"0", "\"chain\":\"x"),
    ] {
        assert!(!line_problems(line.replace(from, to).as_bytes()).is_empty(), "{to}");
    }
    let document = include_str!("fixtures/legacy/mid_session.json");
    for (from, to) in [
        ("\"execute\"", "\"phase 7\""),
        ("\"in_progress\"", "\"asleep\""),
        ("\"permission_required\"", "7"),
        ("prov-20260202", "../20260202"),
    ] {
        assert!(!document_problems(document.replace(from, to).as_bytes()).is_empty(), "{to}");
    }
}

#[test]
fn random_histories_pass_line_by_line_and_document_by_document() {
    for seed in 0..20 {
        let store = Store::open(FaultyFs::new().fs(), store::Home::new("/home")).unwrap();
        let mut recorder = store.create(&id(), &pen(), created(), &moment(0)).unwrap().0;
        let mut generator = Generator::new(seed);
        for step in 1..60 {
            let Some(kind) = generator.legal(recorder.session(), drop) else { break };
            recorder.record(vec![kind], &moment(step * 250)).unwrap();
            assert_document(&serde_json::to_vec(recorder.session().document()).unwrap());
        }
        drop(recorder);
        let scan = store.journal(&id()).unwrap().unwrap();
        scan.raw.split_inclusive(|byte| *byte == b'\n').for_each(assert_line);
    }
}
