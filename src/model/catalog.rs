//! What can be installed: tasks and profiles, as the catalog's files tell them.
//!
//! Fields have the names that files use. A file is checked before it becomes one of these, so
//! whatever is absent here was absent there.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{Detection, PackageManager, TaskId, Verification};

/// One tool or setting: how to detect, install and verify it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    #[serde(default)]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default)]
    pub category: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Where it can be used; none means everywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<String>,
    #[serde(default)]
    pub detection: Detection,
    #[serde(default, skip_serializing_if = "Dependencies::is_empty")]
    pub dependencies: Dependencies,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub packages: IndexMap<PackageManager, Vec<String>>,
    #[serde(default, skip_serializing_if = "Install::is_empty")]
    pub install: Install,
    #[serde(default, skip_serializing_if = "ShellIntegration::is_empty")]
    pub shell_integration: ShellIntegration,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_install: Vec<PostInstall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<TaskOption>,
    /// Directories for the PATH of its probes and of everything that depends on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Shell text that its probes and everything that depends on it run first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_setup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs_url: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dependencies {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<TaskId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<TaskId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub optional: Vec<TaskId>,
}

/// The steps of the variant that fits; where none does, the steps beside them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Install {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub variants: IndexMap<String, Variant>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Variant {
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_sudo: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell_config: Option<ShellConfig>,
    /// A person does it: how, in words. Empty where the description says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manual: Option<String>,
    /// Seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interactive: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShellIntegration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zsh: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fish: Option<String>,
}

/// What belongs into the person's shell configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShellConfig {
    /// Only this much is known: the step edits such files itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edits: bool,
    /// For whichever shell there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(flatten)]
    pub by_shell: ShellIntegration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What comes after: another task, or something to know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PostInstall {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell_config: Option<ShellConfig>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    Always,
    UserChoice,
    IfMissing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskOption {
    pub id: String,
    #[serde(default)]
    pub prompt: String,
    #[serde(rename = "type", default)]
    pub kind: OptionKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    #[default]
    String,
    Number,
    Boolean,
    Choice,
    Secret,
}

/// A stack: required tasks, questions, defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub metadata: ProfileMetadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection_prompt: Option<SelectionPrompt>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<String>,
    #[serde(default)]
    pub required_tasks: Vec<TaskId>,
    #[serde(default)]
    pub question_flow: Vec<Question>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_cli_tools: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_install_suggestions: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub user_data: IndexMap<String, DatumRequest>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileMetadata {
    pub id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelectionPrompt {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub letter: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub id: String,
    #[serde(default)]
    pub question: String,
    #[serde(default)]
    pub options: Vec<Answer>,
    /// The letter or the value that counts where nobody answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// One of the answers a question offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub letter: String,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<AnswerAction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_data_required: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerAction {
    /// Shows its text, and the question is asked again.
    Explain,
}

/// How a user datum is asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DatumRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// A regular expression that the whole value must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// A probe whose first line of output is offered as the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_command: Option<String>,
    /// A value that would do, for whoever gives one that does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
}

impl Task {
    /// Whether it only makes a package manager ready: that is done again and again, and is no tool.
    pub fn is_upkeep(&self) -> bool {
        self.tags.iter().any(|tag| tag == "package-index")
    }
}

impl Dependencies {
    pub fn is_empty(&self) -> bool {
        self.required.is_empty() && self.one_of.is_empty() && self.optional.is_empty()
    }

    /// Every task named, with the field that names it and its number there.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, usize, &TaskId)> {
        let lists =
            [("required", &self.required), ("one_of", &self.one_of), ("optional", &self.optional)];
        lists.into_iter().flat_map(|(field, list)| {
            list.iter().enumerate().map(move |(number, id)| (field, number, id))
        })
    }
}

impl Install {
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.variants.is_empty()
    }
}

impl ShellConfig {
    /// Whether there is a text to put into a file.
    pub fn has_text(&self) -> bool {
        self.text.is_some() || !self.by_shell.is_empty()
    }
}

impl ShellIntegration {
    /// The texts there are, by shell.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [("zsh", &self.zsh), ("bash", &self.bash), ("fish", &self.fish)];
        all.into_iter().filter_map(|(shell, text)| Some((shell, text.as_deref()?)))
    }

    pub fn is_empty(&self) -> bool {
        self.zsh.is_none() && self.bash.is_none() && self.fish.is_none()
    }
}

impl Profile {
    pub fn id(&self) -> &str {
        &self.metadata.id
    }

    pub fn letter(&self) -> Option<&str> {
        self.selection_prompt.as_ref()?.letter.as_deref()
    }
}

impl Question {
    /// The option that is meant: by its letter, or by its value, in any case.
    pub fn option(&self, given: &str) -> Option<&Answer> {
        let given = given.trim();
        let same = |one: &str| one.to_lowercase() == given.to_lowercase();
        let by_letter = self.options.iter().find(|option| same(&option.letter));
        by_letter.or_else(|| self.options.iter().find(|option| same(&option.value())))
    }

    /// The options that answer it, and do not only explain.
    pub fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.options.iter().filter(|option| option.action != Some(AnswerAction::Explain))
    }
}

impl Answer {
    /// What the answer is recorded as, and what a script may give instead of its letter.
    pub fn value(&self) -> String {
        if let Some(value) = &self.value {
            return value.clone();
        }
        if let Some(task) = self.tasks.first() {
            return task.as_str().to_owned();
        }
        let words = self.text.split(" - ").next().unwrap_or_default();
        slug(words)
    }
}

/// `Help me decide!` as `help-me-decide`.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars() {
        if character.is_alphanumeric() {
            slug.extend(character.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Answer;

    fn value(mut answer: serde_json::Value) -> String {
        answer["letter"] = json!("A");
        serde_json::from_value::<Answer>(answer).unwrap().value()
    }

    #[test]
    fn an_answers_value_is_given_or_its_first_task_or_its_words() {
        assert_eq!(value(json!({"text": "x", "value": "v", "tasks": ["t"]})), "v");
        assert_eq!(value(json!({"text": "x", "tasks": ["t", "u"]})), "t");
        assert_eq!(value(json!({"text": "Help me decide! - really"})), "help-me-decide");
        assert_eq!(value(json!({"text": "None"})), "none");
    }
}
