//! A plan: the exact commands a session may run, complete in itself. Its digest names everything
//! in it that can execute, and an approval names the digest.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Digest, PackageManager, TaskId};

/// Unknown fields are refused: what is not understood cannot be approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub format: PlanFormat,
    /// Checked against the content where it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What commands are told through the environment: `git_name` is `$GIT_NAME` to them.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub user_data: IndexMap<String, UserDatum>,
    /// In the order of execution: a task stands behind those it depends on or comes after.
    pub tasks: Vec<PlanTask>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PlanFormat {
    #[serde(rename = "plan-v1")]
    V1,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserDatum {
    /// Without one it is asked for when the plan is run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// A secret has no value here, is asked for in every run, and is never written down.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanTask {
    pub id: TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Which layer of the catalog the task came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// Tasks of this plan it comes behind, whatever becomes of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<TaskId>,
    /// Directories that come first in PATH, for this task and for those that depend on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Shell text that runs first, for this task's probes and for those that depend on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_setup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detection: Option<Detection>,
    /// The packages its commands install, where they do only that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packages: Option<PlanPackages>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<PlanCommand>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// Lines for the configuration of a shell, by shell.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shell_integration: BTreeMap<String, String>,
    /// What a person does by hand, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manual: Vec<String>,
    /// Secrets that only this task asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Whether it changes settings rather than bringing a tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub configures: bool,
    /// Whether it only makes a package manager ready: it is shown apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub upkeep: bool,
    /// What was there when the plan was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// Packages of one manager.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanPackages {
    pub manager: PackageManager,
    pub names: Vec<String>,
}

/// What is known of a task that is there already.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Found {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// How to tell whether a task is done already: either of the first two says so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detection {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_command: Option<String>,
    /// A path that exists once the task is done; `~` is the home directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_indicator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_command: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanCommand {
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether running it twice does no more than running it once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_sudo: bool,
    /// How long it may run, awake, before it and all it started is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// How often it is tried again, however it fails. Without it, a few times, and only after
    /// failures that pass by themselves, such as those of a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Where it runs instead of the home directory; `~` is the home directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// Named locks: no two commands that share one run at a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// Whether it wants to talk with a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interactive: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    pub command: String,
    /// A regular expression that its output must match somewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_pattern: Option<String>,
    /// What its output must be, apart from blanks around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_output: Option<String>,
}

/// Everything of a plan that can execute, and nothing else. Fields that a plan does not use are
/// left out, so that fields to come change no digest of today.
#[derive(Serialize)]
struct Executable<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    user_data: BTreeMap<&'a str, UserDatum>,
    tasks: Vec<PlanTask>,
}

impl Plan {
    /// What an approval of this plan names.
    pub fn compute_digest(&self) -> Digest {
        let executable = self.executable();
        let mut sum = Sha256::new();
        sum.update(b"plan-v1\n");
        // String keys and no failing serializers: this cannot fail.
        sum.update(serde_json::to_vec(&executable).unwrap_or_default());
        Digest::of(sum.finalize().into())
    }

    pub fn task(&self, id: &TaskId) -> Option<&PlanTask> {
        self.tasks.iter().find(|task| task.id == *id)
    }

    fn executable(&self) -> Executable<'_> {
        let user_data = self
            .user_data
            .iter()
            .map(|(key, datum)| (key.as_str(), UserDatum { prompt: None, ..datum.clone() }));
        let tasks = self.tasks.iter().map(PlanTask::executable);
        Executable { user_data: user_data.collect(), tasks: tasks.collect() }
    }

    /// What of it can execute, as JSON: two plans with one digest say the same here.
    pub fn executable_json(&self) -> Value {
        serde_json::to_value(self.executable()).unwrap_or_default()
    }
}

impl PlanTask {
    /// A task that does nothing yet.
    pub fn new(id: TaskId) -> Self {
        Self {
            id,
            name: None,
            description: None,
            category: None,
            layer: None,
            variant: None,
            depends_on: Vec::new(),
            after: Vec::new(),
            path: Vec::new(),
            env_setup: None,
            detection: None,
            packages: None,
            commands: Vec::new(),
            verification: None,
            shell_integration: BTreeMap::new(),
            manual: Vec::new(),
            secrets: Vec::new(),
            configures: false,
            upkeep: false,
            found: None,
            notes: None,
        }
    }

    /// Returns the task with those of its fields that can execute. A field of a later version
    /// belongs to them, and so to the digest, unless it is cleared here.
    fn executable(&self) -> Self {
        Self {
            name: None,
            description: None,
            category: None,
            layer: None,
            commands: self.commands.iter().map(PlanCommand::without_words).collect(),
            manual: Vec::new(),
            secrets: Vec::new(),
            configures: false,
            upkeep: false,
            found: None,
            notes: None,
            ..self.clone()
        }
    }

    /// What of it can execute, as JSON.
    pub fn executable_json(&self) -> Value {
        serde_json::to_value(self.executable()).unwrap_or_default()
    }

    /// What is said of it, and of each of its commands.
    pub fn words(&self) -> Vec<Option<&str>> {
        let own = [&self.name, &self.description, &self.category, &self.notes];
        let of_commands =
            self.commands.iter().flat_map(|command| [&command.name, &command.description]);
        let texts = own.into_iter().chain(of_commands).map(Option::as_deref);
        texts.chain(self.manual.iter().map(|step| Some(step.as_str()))).collect()
    }

    /// What becomes of it, as far as was known when the plan was made.
    pub fn action(&self) -> PlanAction {
        if self.found.is_some() {
            PlanAction::AlreadyInstalled
        } else if self.commands.is_empty() && !self.manual.is_empty() {
            PlanAction::Manual
        } else if self.configures || self.commands.is_empty() {
            PlanAction::Configure
        } else {
            PlanAction::Install
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanAction {
    Install,
    Configure,
    AlreadyInstalled,
    Manual,
}

impl PlanCommand {
    /// The command without what is only said about it.
    fn without_words(&self) -> Self {
        Self { name: None, description: None, ..self.clone() }
    }
}

/// The name under which a command finds the value of a user datum.
pub fn environment_name(key: &str) -> String {
    key.to_ascii_uppercase()
}

/// Whether a name means something to the shell, the loader or us: data must not have it.
pub fn is_reserved(name: &str) -> bool {
    const NAMES: [&str; 17] = [
        "PATH",
        "HOME",
        "IFS",
        "ENV",
        "PS4",
        "SHELLOPTS",
        "BASHOPTS",
        "PROMPT_COMMAND",
        "CDPATH",
        "GLOBIGNORE",
        "SHELL",
        "USER",
        "LOGNAME",
        "PWD",
        "TMPDIR",
        "POSIXLY_CORRECT",
        "GIT_ASKPASS",
    ];
    const BEGINNINGS: [&str; 7] =
        ["LD_", "DYLD_", "BASH", "GIT_SSH", "PROVISION_", "AGENTIC_PROVISION_", "SUDO_"];
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Plan, is_reserved};

    fn plan() -> Value {
        json!({
            "format": "plan-v1",
            "profile": "essentials",
            "user_data": {"git_name": {"value": "Ada", "prompt": "Your name"}, "token": {"secret": true}},
            "tasks": [{
                "id": "git", "name": "Git", "description": "d", "category": "c", "layer": "l",
                "variant": "apt", "depends_on": ["base"], "after": ["curl"], "path": ["/opt/bin"],
                "notes": "n",
                "env_setup": "export A=1", "packages": {"manager": "apt", "names": ["git"]},
                "shell_integration": {"bash": "alias g=git"}, "manual": ["sign in"], "secrets": ["token"],
                "configures": true, "upkeep": true, "found": {"version": "1", "path": "/usr/bin/git"},
                "detection": {
                    "check_command": "command -v git", "installed_indicator": "/usr/bin/git",
                    "version_command": "git --version"
                },
                "commands": [{
                    "command": "apt-get install -y git", "name": "Install", "description": "d",
                    "idempotent": true, "requires_sudo": true, "timeout_seconds": 60, "retries": 2,
                    "env": {"A": "1"}, "working_dir": "/tmp", "locks": ["apt"], "interactive": true
                }],
                "verification": {
                    "command": "git --version", "expected_pattern": "git", "expected_output": "x"
                }
            }]
        })
    }

    fn digest(value: Value) -> String {
        serde_json::from_value::<Plan>(value).unwrap().compute_digest().to_string()
    }

    /// Every place in the plan that holds a value, and another value for it.
    fn changed(value: &Value, at: &str, out: &mut Vec<(String, Value)>) {
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    changed(field, &format!("{at}/{key}"), out);
                }
            }
            Value::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    changed(item, &format!("{at}/{number}"), out);
                }
            }
            Value::String(text) => out.push((at.into(), json!(format!("{text}x")))),
            Value::Number(number) => out.push((at.into(), json!(number.as_u64().unwrap() + 1))),
            Value::Bool(flag) => out.push((at.into(), json!(!flag))),
            Value::Null => {}
        }
    }

    #[test]
    fn whatever_can_execute_changes_the_digest_and_words_do_not() {
        let words = [
            "prompt",
            "profile",
            "name",
            "description",
            "category",
            "layer",
            "notes",
            "manual/0",
            "secrets/0",
            "configures",
            "upkeep",
            "found/version",
            "found/path",
        ];
        let before = digest(plan());
        let mut changes = Vec::new();
        changed(&plan(), "", &mut changes);
        assert!(changes.len() >= 25, "{}", changes.len());
        for (place, value) in changes {
            // There is one format, and managers are known by name.
            if place == "/format" || place.ends_with("/manager") {
                continue;
            }
            let mut plan = plan();
            *plan.pointer_mut(&place).unwrap() = value;
            let is_word = words.iter().any(|word| place.ends_with(&format!("/{word}")));
            assert_eq!(digest(plan) == before, is_word, "{place}");
        }
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        fn reversed(value: &Value) -> Value {
            match value {
                Value::Object(fields) => {
                    fields.iter().rev().map(|(k, v)| (k.clone(), reversed(v))).collect()
                }
                Value::Array(items) => items.iter().map(reversed).collect(),
                other => other.clone(),
            }
        }
        assert_eq!(digest(reversed(&plan())), digest(plan()));
    }

    #[test]
    fn the_digest_of_a_plan_is_the_same_for_ever() {
        assert_eq!(digest(json!({"format": "plan-v1", "tasks": []})), {
            // sha256 of `plan-v1`, a new line, and `{"tasks":[]}`.
            "179b5ddfdc133e4a338b26ee99e253880cfa8be4b0462acb7041dc5cc8bd4b7f"
        });
    }

    #[test]
    fn names_with_a_meaning_of_their_own_are_reserved() {
        for name in ["PATH", "HOME", "IFS", "LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND"] {
            assert!(is_reserved(name), "{name}");
        }
        assert!(!is_reserved("GIT_NAME"));
    }
}
