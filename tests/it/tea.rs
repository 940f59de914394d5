//! What the tests of the walk in a terminal share: a little stack, and a table to set.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{
    Home,
    screen::{Screen, Setting, USUAL},
};

/// A home in which tea is to be made.
pub struct Table {
    pub home: Home,
}

fn catalog() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/tea")
}

impl Table {
    pub fn new() -> Self {
        Self { home: Home::new() }
    }

    /// With a file in its home directory.
    pub fn with(self, file: &str, content: &str) -> Self {
        std::fs::write(self.home.path().join(file), content).unwrap();
        self
    }

    pub fn has(&self, file: &str) -> bool {
        self.home.path().join(file).exists()
    }

    pub fn remove(&self, file: &str) {
        std::fs::remove_file(self.home.path().join(file)).unwrap();
    }

    pub fn put(&self, file: &str) {
        std::fs::write(self.home.path().join(file), "").unwrap();
    }

    /// The program on a terminal, with these words.
    pub fn on(&self, setting: Setting, words: &str) -> Screen {
        let program = env!("CARGO_BIN_EXE_provision");
        let line = format!("{program} --catalog {} {words}", catalog().display());
        Screen::start(&self.home, setting, &line)
    }

    pub fn sit_down(&self, words: &str) -> Screen {
        self.on(USUAL, words)
    }

    /// The walk up to its plan: a teapot, no guests.
    pub fn up_to_the_plan(&self) -> Screen {
        let mut screen = self.sit_down("");
        screen.sees("What should be set up?").types("d");
        screen.sees("What should it be served in?").types("a");
        screen.sees("Are there guests?").types("b");
        screen.sees("Is this what you want?");
        screen
    }

    /// All session documents, by id.
    pub fn documents(&self) -> Vec<Value> {
        let mut found = Vec::new();
        for shelf in ["active", "completed", "failed"] {
            let place = self.home.path().join(".agentic-provision/sessions").join(shelf);
            let Ok(entries) = std::fs::read_dir(place) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                // What is about to become a document is none yet.
                let is_document = path.file_name().unwrap().to_string_lossy().starts_with("prov-")
                    && path.extension().is_some_and(|extension| extension == "json");
                if let Some(text) = std::fs::read(&path).ok().filter(|_| is_document) {
                    found.push(serde_json::from_slice::<Value>(&text).unwrap());
                }
            }
        }
        found.sort_by_key(|document| document["meta"]["id"].as_str().unwrap().to_owned());
        // One that is moved while we look is seen in both places.
        found.dedup_by_key(|document| document["meta"]["id"].clone());
        found
    }

    /// The document of the only session that is not the small one of another way.
    pub fn document(&self) -> Value {
        let is_small = |document: &Value| {
            let objective = document["meta"]["objective"].as_str().unwrap_or_default();
            objective.starts_with("repair ")
        };
        let mut all = self.documents();
        all.retain(|document| !is_small(document));
        assert_eq!(all.len(), 1, "{all:#?}");
        all.remove(0)
    }

    pub fn journal(&self) -> Vec<Value> {
        let id = self.document()["meta"]["id"].as_str().unwrap().to_owned();
        let place = self.home.path().join(".agentic-provision/records").join(id);
        let text = std::fs::read_to_string(place.join("history.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
