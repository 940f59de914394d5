//! What the tests of audits share: a catalog of tools that are programs in `~/bin`, each of which says
//! its version.

use std::{fmt::Write as _, fs, os::unix::fs::symlink, path::Path};

use serde_json::Value;

use crate::{
    catalog_mistakes::written,
    harness::{
        Home, Output,
        screen::{Screen, USUAL},
        stub,
    },
};

/// Tools, and what each needs.
const TOOLS: [(&str, &str); 5] =
    [("anvil", ""), ("bellows", "anvil"), ("chisel", ""), ("drill", ""), ("easel", "chisel")];

/// What commands and probes need of the machine. What else it has is not looked through each time.
const SYSTEM: [&str; 8] = ["bash", "cat", "chmod", "env", "git", "mkdir", "sh", "sleep"];

pub struct Toolbox {
    pub home: Home,
}

impl Toolbox {
    pub fn new() -> Self {
        let toolbox = Self { home: Home::new() };
        for program in SYSTEM {
            let place = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(program));
            let place = place.iter().find(|place| place.exists()).unwrap();
            fs::create_dir_all(toolbox.file("system")).unwrap();
            symlink(place, toolbox.file("system").join(program)).unwrap();
        }
        let mut text = "metadata: {category: toolbox}\ntasks:\n".to_owned();
        for (id, needs) in TOOLS {
            let _ = write!(
                text,
                "  {id}:\n    name: The {id}\n    description: An {id} for every day\n    \
                 path: [~/bin]\n    \
                 detection: {{check_command: command -v tb-{id}, version_command: tb-{id} --version}}\n    \
                 dependencies: {{required: [{needs}]}}\n    \
                 install:\n      steps:\n        - description: Forges the {id}\n          command: |\n            \
                 mkdir -p ~/bin\n            \
                 printf '#!/bin/sh\\necho tb-{id} 1.0.0\\n' > ~/bin/tb-{id}\n            \
                 chmod +x ~/bin/tb-{id}\n"
            );
        }
        written(&toolbox.home, "catalog/tasks/toolbox.yaml", text);
        toolbox
    }

    /// The program, with the catalog of the tools, on a machine that has little else.
    pub fn run(&self, words: &[&str]) -> Output {
        let catalog = self.home.path().join("catalog");
        let words = [&["--catalog", catalog.to_str().unwrap()], words].concat();
        Output::of(self.home.command(&words).env("PATH", self.file("system")))
    }

    /// The program on a terminal, with the catalog of the tools.
    pub fn on_screen(&self, words: &str) -> Screen {
        let program = env!("CARGO_BIN_EXE_provision");
        let (path, catalog) = (self.file("system"), self.file("catalog"));
        let line =
            format!("PATH={} {program} --catalog {} {words}", path.display(), catalog.display());
        Screen::beside(&self.home, USUAL, &line)
    }

    /// Runs, expects this exit code, and gives all that was said.
    pub fn said(&self, code: i32, words: &[&str]) -> String {
        let output = self.run(words);
        let text = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code, Some(code), "{words:?}: {text}");
        text
    }

    /// Sets tools up in a session, and says which it was.
    pub fn session(&self, tools: &str) -> String {
        self.said(0, &["start", "--add", tools, "--yes", "--no-input"]);
        self.home.latest()
    }

    /// The audit for programs, with this exit code.
    pub fn audit(&self, code: i32, more: &[&str]) -> Value {
        let output = self.run(&[&["--json", "audit"], more].concat());
        assert_eq!(output.code, Some(code), "{}{}", output.stdout, output.stderr);
        serde_json::from_str(&output.stdout).unwrap()
    }

    /// Somebody installs a tool by hand, in a version.
    pub fn forge(&self, tool: &str, version: &str) {
        let name = format!("tb-{tool}");
        stub(&self.home.path().join("bin"), &name, &format!("echo {name} {version}"));
    }

    /// Somebody removes a tool by hand.
    pub fn lose(&self, tool: &str) {
        fs::remove_file(self.home.path().join(format!("bin/tb-{tool}"))).unwrap();
    }

    pub fn file(&self, name: &str) -> std::path::PathBuf {
        self.home.path().join(name)
    }
}

/// The ids in a list of an audit's drift.
pub fn ids<'a>(audit: &'a Value, list: &str) -> Vec<&'a str> {
    let list = audit["drift"][list].as_array().unwrap();
    list.iter().map(|one| one["task_id"].as_str().unwrap()).collect()
}

/// What an audit says of one tool.
pub fn tool<'a>(audit: &'a Value, id: &str) -> &'a Value {
    let tools = audit["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["task_id"] == id).unwrap_or_else(|| panic!("{id}: {tools:#?}"))
}

/// The content of a file that was written.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
