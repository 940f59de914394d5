//! Tasks and profiles: the format of the catalog's files, and the structs that they are read into.
//!
//! Fields have the names that files use. A file is checked before it is read into a struct, so a
//! field that is absent here was absent in the file.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{
    Detection, PackageManager, TaskId, Verification,
    format::{
        Form, Record,
        Shape::{
            self, Choice, Count, Flag, FlagOrText, Lines, List, Map, OneOrMany, Record as Of, Text,
            TextByShell, Time,
        },
        fields, record,
    },
    named,
};

/// A list of task ids.
pub const TASK_IDS: Shape = List(&Text(Form::TaskId));

const TEXTS: Shape = List(&Text(Form::Some));
const PLATFORMS: Shape = List(&Text(Form::Platform));
const STEPS: Shape = List(&Of(Step::FORMAT));

/// A file with tasks.
pub static TASK_FILE: Record = Record {
    name: "a task file",
    fields: fields! {
        /// Values that the tasks of this file share
        optional metadata: Of(&TASK_METADATA),
        /// The tasks, by id
        essential tasks: Map(Form::TaskId, &Of(Task::FORMAT)),
    },
};

static TASK_METADATA: Record = Record {
    name: "a file's metadata",
    fields: fields! {
        /// The category of tasks that name none
        optional category: Text(Form::Some),
        /// The subject of the file
        optional description: Text(Form::Any),
        /// The author of the file
        optional author: Text(Form::Any),
        /// The version of the file
        optional version: Text(Form::Any),
        /// The date of its first version
        optional created: Text(Form::Any),
        /// The date of its last change
        optional updated: Text(Form::Any),
    },
};

record! {
    /// One tool or setting: how to detect, install and verify it.
    pub struct Task: "a task" {
        /// The same as the key it stands under
        given id: TaskId = Text(Form::TaskId),
        /// The name that people know
        expected name: String = Text(Form::Some),
        /// The task in one sentence
        optional description: String = Text(Form::Any),
        /// The group it is listed in
        kept category: String = Text(Form::Some),
        /// Words that find it
        optional tags: Vec<String> = TEXTS,
        /// The platforms it runs on; all of them if missing
        optional platforms: Vec<String> = PLATFORMS,
        /// How to tell that it is installed
        kept detection: Detection = Of(&DETECTION),
        /// Tasks that come before it
        optional dependencies: Dependencies = Of(Dependencies::FORMAT),
        /// Packages by manager, for a task that installs nothing else
        optional packages: IndexMap<PackageManager, Vec<String>> = Of(&PACKAGES),
        /// Commands that install it
        optional install: Install = Of(Install::FORMAT),
        /// Lines for the shells' configuration
        optional shell_integration: ShellIntegration = Of(ShellIntegration::FORMAT),
        /// Tasks and notes that follow it
        optional post_install: Vec<PostInstall> = OneOrMany(&Of(PostInstall::FORMAT)),
        /// How to tell that it works
        optional verification: Option<Verification> = Of(&VERIFICATION),
        /// Tasks that cannot be on the same machine
        optional conflicts_with: Vec<TaskId> = TASK_IDS,
        /// Questions about it; commands find the answers in the environment
        optional options: Vec<TaskOption> = List(&Of(TaskOption::FORMAT)),
        /// Directories for the PATH of its probes and of its dependants
        optional path: Vec<String> = List(&Text(Form::Path)),
        /// Shell text that its probes and its dependants run first
        optional env_setup: Option<String> = Text(Form::Command),
        /// Things a person should know
        optional notes: Option<String> = Lines,
        /// Where to read more
        optional docs_url: Option<String> = Text(Form::Url),
    }
}

static DETECTION: Record = Record {
    name: "a detection",
    fields: fields! {
        /// The task is installed if this command succeeds
        optional check_command: Text(Form::Command),
        /// Prints the version
        optional version_command: Text(Form::Command),
        /// The task is installed if this path exists
        optional installed_indicator: Text(Form::Path),
    },
};

record! {
    #[derive(Default)]
    pub struct Dependencies: "dependencies" {
        /// The task comes after all of these
        optional required: Vec<TaskId> = TASK_IDS,
        /// The task comes after one of these
        optional one_of: Vec<TaskId> = TASK_IDS,
        /// The task comes after these if they are chosen too
        optional optional: Vec<TaskId> = TASK_IDS,
    }
}

static PACKAGES: Record = Record {
    name: "packages",
    fields: fields! {
        /// Debian, Ubuntu and their derivatives
        optional apt: List(&Text(Form::SystemPackage)),
        /// Fedora and its derivatives
        optional dnf: List(&Text(Form::SystemPackage)),
        /// Arch and its derivatives
        optional pacman: List(&Text(Form::SystemPackage)),
        /// Homebrew formulas
        optional brew: List(&Text(Form::BrewPackage)),
        /// Homebrew casks
        optional cask: List(&Text(Form::BrewPackage)),
        /// Global npm packages
        optional npm: List(&Text(Form::NpmPackage)),
        /// Python applications, by pipx
        optional pipx: List(&Text(Form::PythonPackage)),
        /// Rust programs, by cargo install
        optional cargo: List(&Text(Form::Crate)),
    },
};

record! {
    /// The steps of the variant that fits; if none does, the steps beside the variants.
    #[derive(Default)]
    pub struct Install: "an install" {
        /// Run in order if no variant fits
        optional steps: Vec<Step> = STEPS,
        /// Other steps, by a chosen option, a `one_of` dependency, a platform or a package manager
        optional variants: IndexMap<String, Variant> = Map(Form::Some, &Of(Variant::FORMAT)),
    }
}

record! {
    pub struct Variant: "a variant" {
        /// Run in order
        essential steps: Vec<Step> = STEPS,
    }
}

record! {
    #[derive(Default)]
    pub struct Step: "a step" {
        /// The step in a few words
        optional name: Option<String> = Text(Form::Any),
        /// Run by bash, without a terminal
        optional command: Option<String> = Text(Form::Command),
        /// The step as the person who approves it reads it
        optional description: Option<String> = Text(Form::Any),
        /// Running it twice has the effect of running it once
        optional idempotent: bool = Flag,
        /// It runs as root
        optional requires_sudo: bool = Flag,
        /// Lines for the shells' configuration
        optional shell_config: Option<ShellConfig> = TextByShell(&SHELL_CONFIG),
        /// A person does it; the text says how, and may be empty if the description does
        optional manual: Option<String> = FlagOrText,
        /// How long it may take
        optional timeout: Option<u64> = Time,
        /// How often any failure is retried; if missing, only transient failures are retried
        optional retries: Option<u32> = Count,
        /// It needs a terminal to ask on
        optional interactive: bool = Flag,
        /// Environment variables for it
        optional env: BTreeMap<String, String> = Map(Form::Variable, &Text(Form::Any)),
        /// Where it runs instead of the home directory
        optional working_dir: Option<String> = Text(Form::Path),
        /// Steps that share a lock never run at the same time
        optional locks: Vec<String> = List(&Text(Form::Name)),
    }
}

record! {
    #[derive(Default)]
    pub struct ShellIntegration: "shell integration" {
        /// For zsh
        optional zsh: Option<String> = Text(Form::Some),
        /// For bash
        optional bash: Option<String> = Text(Form::Some),
        /// For fish
        optional fish: Option<String> = Text(Form::Some),
    }
}

static SHELL_CONFIG: Record = Record {
    name: "shell configuration",
    fields: fields! {
        /// For zsh
        optional zsh: Text(Form::Some),
        /// For bash
        optional bash: Text(Form::Some),
        /// For fish
        optional fish: Text(Form::Some),
        /// A note about it
        optional note: Lines,
    },
};

/// Lines for the person's shell configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShellConfig {
    /// Only this much is known: the step edits such files itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edits: bool,
    /// For bash and zsh alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(flatten)]
    pub by_shell: ShellIntegration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

record! {
    /// A task or a note that follows.
    #[derive(Default)]
    pub struct PostInstall: "a post_install entry" {
        /// A task that may follow
        optional task: Option<TaskId> = Text(Form::TaskId),
        /// When it follows
        optional condition: Option<Condition> = Choice(&Condition::NAMES),
        /// The question to the person
        optional prompt: Option<String> = Text(Form::Some),
        /// A message to the person
        optional message: Option<String> = Lines,
        /// Notes for the person
        optional notes: Option<String> = Lines,
        /// A note for the person
        optional note: Option<String> = Lines,
        /// Lines for the shells' configuration
        optional shell_config: Option<ShellConfig> = TextByShell(&SHELL_CONFIG),
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Condition {
        Always = "always",
        UserChoice = "user_choice",
        IfMissing = "if_missing",
    }
}

static VERIFICATION: Record = Record {
    name: "a verification",
    fields: fields! {
        /// The task works if this command succeeds
        essential command: Text(Form::Command),
        /// … and its output matches this regular expression
        optional expected_pattern: Text(Form::Pattern),
        /// … or its output is this text, apart from blanks around it
        optional expected_output: Text(Form::Any),
    },
};

record! {
    pub struct TaskOption: "an option" {
        /// `node_version` reaches commands as `$NODE_VERSION`
        essential id: String = Text(Form::DataKey),
        /// The question to the person
        expected prompt: String = Text(Form::Some),
        /// The type of the answer; a string if missing
        kept kind("type"): OptionKind = Choice(&OptionKind::NAMES),
        /// The answer if the person gives none
        optional default: Option<String> = Text(Form::Any),
        /// The answers to choose from
        optional choices: Vec<String> = TEXTS,
    }
}

named! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OptionKind {
        #[default]
        String = "string",
        Number = "number",
        Boolean = "boolean",
        Choice = "choice",
        Secret = "secret",
    }
}

record! {
    /// A stack: required tasks, questions, defaults.
    pub struct Profile: "a profile" {
        /// The names of the profile
        expected metadata: ProfileMetadata = Of(ProfileMetadata::FORMAT),
        /// How it is offered
        optional selection_prompt: Option<SelectionPrompt> = Of(SelectionPrompt::FORMAT),
        /// The platforms it can be used on; all of them if missing
        optional platforms: Vec<String> = PLATFORMS,
        /// Tasks that every answer includes
        kept required_tasks: Vec<TaskId> = TASK_IDS,
        /// The questions, in order
        kept question_flow: Vec<Question> = List(&Of(Question::FORMAT)),
        /// Tools that are included unless the person declines them
        optional default_cli_tools: Vec<TaskId> = TASK_IDS,
        /// Tasks to suggest when the session is complete
        optional post_install_suggestions: Vec<TaskId> = TASK_IDS,
        /// How to ask for the data that options require
        optional user_data: IndexMap<String, DatumRequest> =
            Map(Form::DataKey, &Of(DatumRequest::FORMAT)),
    }
}

record! {
    #[derive(Default)]
    pub struct ProfileMetadata: "a profile's metadata" {
        /// The id that scripts choose it by
        expected id: String = Text(Form::Name),
        /// The name that people know
        expected name: String = Text(Form::Some),
        /// The people it is for
        optional description: String = Text(Form::Any),
        /// The version of the profile
        optional version: Option<String> = Text(Form::Any),
    }
}

record! {
    pub struct SelectionPrompt: "a selection prompt" {
        /// The letter that chooses it
        optional letter: Option<String> = Text(Form::Letter),
        /// How it is offered
        optional text: String = Text(Form::Some),
    }
}

record! {
    pub struct Question: "a question" {
        /// The id that scripts answer it by
        essential id: String = Text(Form::Name),
        /// The text of the question
        expected question: String = Text(Form::Some),
        /// The possible answers
        expected options: Vec<Answer> = List(&Of(Answer::FORMAT)),
        /// The letter or the value of the option that applies without an answer
        optional default: Option<String> = Text(Form::Some),
    }
}

record! {
    /// An answer that a question offers.
    pub struct Answer: "an option of a question" {
        /// The letter that chooses it
        essential letter: String = Text(Form::Letter),
        /// The text of the answer; text behind ` - ` explains it
        essential text: String = Text(Form::Some),
        /// The recorded value; its first task or its words if missing
        optional value: Option<String> = Text(Form::Some),
        /// The tasks it includes
        optional tasks: Vec<TaskId> = TASK_IDS,
        /// `explain` shows the explanation and asks again
        optional action: Option<AnswerAction> = Choice(&AnswerAction::NAMES),
        /// The explanation
        optional explanation: Option<String> = Text(Form::Some),
        /// The data to ask for if it is chosen
        optional user_data_required: Vec<String> = List(&Text(Form::DataKey)),
        /// A question of this file that is asked next
        optional follow_up: Option<String> = Text(Form::Name),
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AnswerAction {
        /// Shows its text, and the question is asked again.
        Explain = "explain",
    }
}

record! {
    /// How a user datum is asked for.
    #[derive(Default)]
    pub struct DatumRequest: "user data" {
        /// The question to the person
        optional prompt: Option<String> = Text(Form::Some),
        /// A regular expression that the whole value must match
        optional pattern: Option<String> = Text(Form::Pattern),
        /// It is typed hidden and never written down
        optional secret: bool = Flag,
        /// A probe whose first line of output is offered as the answer
        optional default_command: Option<String> = Text(Form::Command),
        /// A valid value, shown after an invalid one
        optional example: Option<String> = Text(Form::Some),
    }
}

impl Task {
    /// Whether it only makes a package manager ready: that is done again and again, and is no tool.
    pub fn is_upkeep(&self) -> bool {
        self.tags.iter().any(|tag| tag == "package-index")
    }
}

impl Dependencies {
    /// Every task named, with the field that names it and its number there.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, usize, &TaskId)> {
        let lists =
            [("required", &self.required), ("one_of", &self.one_of), ("optional", &self.optional)];
        lists.into_iter().flat_map(|(field, list)| {
            list.iter().enumerate().map(move |(number, id)| (field, number, id))
        })
    }
}

impl ShellConfig {
    /// Whether there is a text to put into a file.
    pub fn has_text(&self) -> bool {
        self.text.is_some() || self.by_shell.texts().next().is_some()
    }
}

impl ShellIntegration {
    /// The texts there are, by shell.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [("zsh", &self.zsh), ("bash", &self.bash), ("fish", &self.fish)];
        all.into_iter().filter_map(|(shell, text)| Some((shell, text.as_deref()?)))
    }
}

impl Profile {
    pub fn id(&self) -> &str {
        &self.metadata.id
    }

    pub fn letter(&self) -> Option<&str> {
        self.selection_prompt.as_ref()?.letter.as_deref()
    }

    /// Returns every option of every question.
    pub fn options(&self) -> impl Iterator<Item = &Answer> {
        self.question_flow.iter().flat_map(|question| &question.options)
    }

    /// Returns every task that the profile names, whichever options are chosen.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        let of_options = self.options().flat_map(|option| &option.tasks);
        self.required_tasks.iter().chain(&self.default_cli_tools).chain(of_options)
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
