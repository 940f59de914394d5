//! What the tests of coming back share: a catalog of things that are made by touching files, and
//! ways to have one fail, wait or not work.

use std::{fmt::Write as _, fs, path::PathBuf};

use serde_json::Value;

use crate::{
    catalog_mistakes::written,
    harness::{
        Home, Output,
        screen::{Screen, Setting, USUAL},
    },
};

const THINGS: [(&str, &str); 8] = [
    ("base", ""),
    ("vim", "base"),
    ("emacs", "base"),
    ("helix", "base"),
    ("database", "base"),
    ("card", ""),
    ("lamp", ""),
    ("shade", "lamp"),
];

const PROFILES: [(&str, &str); 2] = [
    (
        "web",
        r"
metadata: {id: web, name: Web}
required_tasks: [base]
question_flow:
  - id: editor
    question: Which editor?
    default: vim
    options:
      - {letter: A, text: Vim, value: vim, tasks: [vim]}
      - {letter: B, text: Emacs, value: emacs, tasks: [emacs]}
      - {letter: C, text: Helix, value: helix, tasks: [helix]}
  - id: storage
    question: A database?
    default: 'yes'
    options:
      - {letter: A, text: 'Yes', value: 'yes', tasks: [database]}
      - {letter: B, text: 'No', value: 'no'}
  - id: greeting
    question: A card?
    default: 'no'
    options:
      - {letter: A, text: 'Yes', value: 'yes', tasks: [card], user_data_required: [card_name]}
      - {letter: B, text: 'No', value: 'no'}
  - id: mood
    question: How are you?
    default: well
    options:
      - {letter: A, text: Well, value: well}
      - {letter: B, text: Very well, value: very-well}
user_data:
  card_name: {prompt: Whose card}
",
    ),
    (
        "systems",
        "metadata: {id: systems, name: Systems}\nrequired_tasks: [base, helix]\nquestion_flow: []\n",
    ),
];

pub struct Workshop {
    pub home: Home,
}

impl Workshop {
    pub fn new() -> Self {
        let shop = Self { home: Home::new() };
        for (id, text) in PROFILES {
            written(&shop.home, &format!("catalog/profiles/{id}.yaml"), text);
        }
        shop.describe("The");
        shop
    }

    /// Every thing is described with this word first.
    pub fn describe(&self, word: &str) {
        let mut text = "metadata: {category: things}\ntasks:\n".to_owned();
        for (id, needs) in THINGS {
            // Each is made once, and says how often it was tried.
            let what = if id == "card" { "echo \"$CARD_NAME\"" } else { "echo made" };
            let _ = write!(
                text,
                "  {id}:\n    name: {id}\n    description: {word} {id}\n    \
                 detection: {{installed_indicator: ~/made/{id}, version_command: 'echo {id} 1.2.3'}}\n    \
                 dependencies: {{required: [{needs}]}}\n    \
                 install:\n      steps:\n        - description: Makes the {id}\n          command: |\n            \
                 mkdir -p ~/made ~/tried; echo try >> ~/tried/{id}\n            \
                 while [ -e ~/hold/{id} ]; do sleep 0.02; done\n            \
                 if [ -e ~/broken/{id} ]; then echo 'it is broken'; exit 3; fi\n            \
                 {what} > ~/made/{id}\n    \
                 verification: {{command: 'if [ -e ~/slow/{id} ]; then sleep 60; fi; \
                 if [ -e ~/down/{id} ]; then echo \"connect: Connection refused\"; exit 1; fi; \
                 if [ -e ~/mute/{id} ]; then exit 0; fi; \
                 if [ -e ~/odd/{id} ]; then echo it looks odd >&2; exit 1; fi; echo works', \
                 expected_pattern: works}}\n"
            );
        }
        written(&self.home, "catalog/tasks/things.yaml", text);
    }

    /// The text of the tasks with something else in it.
    pub fn edit(&self, from: &str, to: &str) {
        let path = self.home.path().join("catalog/tasks/things.yaml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    pub fn catalog(&self) -> PathBuf {
        self.home.path().join("catalog")
    }

    /// The program, with the workshop's catalog. It works one by one: what these tests are about has
    /// an order.
    pub fn run(&self, words: &[&str]) -> Output {
        let catalog = self.catalog();
        let jobs = one_by_one(words);
        self.home.run(&[&["--catalog", catalog.to_str().unwrap()], words, jobs].concat())
    }

    /// The program on a terminal, with the workshop's catalog.
    pub fn on_screen(&self, words: &str) -> Screen {
        let program = env!("CARGO_BIN_EXE_provision");
        let jobs = one_by_one(&words.split(' ').collect::<Vec<_>>()).join(" ");
        let line = format!("{program} --catalog {} {words} {jobs}", self.catalog().display());
        Screen::beside(&self.home, Setting { columns: 100, ..USUAL }, &line)
    }

    /// Runs, expects this exit code, and says which session it was about.
    pub fn session(&self, code: i32, words: &[&str]) -> String {
        let output = self.run(&[&["--json"], words].concat());
        assert_eq!(output.code, Some(code), "{}{}", output.stdout, output.stderr);
        let line = output.stdout.lines().last().unwrap();
        let last: Value = serde_json::from_str(line).unwrap();
        last["session_id"].as_str().unwrap().to_owned()
    }

    /// Runs, expects this exit code, and gives all that was said.
    pub fn said(&self, code: i32, words: &[&str]) -> String {
        let output = self.run(words);
        let text = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code, Some(code), "{words:?}: {text}");
        text
    }

    /// Puts a thing on a list: `broken`, `hold`, `odd`, `down`, `slow`, `mute`.
    pub fn put(&self, list: &str, thing: &str) {
        written(&self.home, &format!("{list}/{thing}"), "");
    }

    pub fn take(&self, list: &str, thing: &str) {
        fs::remove_file(self.home.path().join(list).join(thing)).unwrap();
    }

    pub fn is_made(&self, thing: &str) -> bool {
        self.home.path().join("made").join(thing).exists()
    }

    /// How often it was tried to make a thing.
    pub fn tries(&self, thing: &str) -> usize {
        let path = self.home.path().join("tried").join(thing);
        fs::read_to_string(path).map_or(0, |text| text.lines().count())
    }

    /// The document of a session, wherever it stands.
    pub fn document(&self, id: &str) -> Value {
        let shelves = ["active", "completed", "failed"].into_iter();
        let mut found = shelves.filter(|shelf| self.home.document_path(shelf, id).exists());
        self.home.document(found.next().unwrap(), id)
    }

    /// The status of each task of a session, in its order.
    pub fn tasks(&self, id: &str) -> Vec<(String, String)> {
        let document = self.document(id);
        let tasks = document["tasks"].as_object().unwrap().iter();
        tasks
            .map(|(task, record)| (task.clone(), record["status"].as_str().unwrap().to_owned()))
            .collect()
    }

    pub fn artifacts(&self, id: &str) -> Vec<String> {
        let entries = fs::read_dir(self.home.record(id).join("artifacts")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Pairs as [`Workshop::tasks`] gives them.
pub fn pairs(tasks: &[(&str, &str)]) -> Vec<(String, String)> {
    tasks.iter().map(|(task, status)| ((*task).to_owned(), (*status).to_owned())).collect()
}

/// What has a command work one by one, if it works at all and nothing else was said.
fn one_by_one(words: &[&str]) -> &'static [&'static str] {
    let works = ["start", "resume", "expand", "revise", "apply"];
    let is_told = words.contains(&"--jobs");
    if !is_told && words.iter().any(|word| works.contains(word)) { &["--jobs", "1"] } else { &[] }
}
