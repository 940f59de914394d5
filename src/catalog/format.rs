//! The files of a catalog, field by field.

use super::shape::{
    Field, Form, Record,
    Shape::{
        Choice, Count, Flag, FlagOrText, Lines, List, Map, OneOrMany, Record as Of, Text,
        TextByShell, Time,
    },
};

const TASK_IDS: super::shape::Shape = List(&Text(Form::TaskId));

/// A file with tasks.
pub static TASK_FILE: Record = Record {
    name: "a task file",
    fields: &[
        Field::optional(
            "metadata",
            Of(&TASK_METADATA),
            "What the tasks of this file have in common",
        ),
        Field::essential("tasks", Map(Form::TaskId, &Of(&TASK)), "The tasks, by id"),
    ],
};

static TASK_METADATA: Record = Record {
    name: "a file's metadata",
    fields: &[
        Field::optional("category", Text(Form::Some), "The category of tasks that name none"),
        Field::optional("description", Text(Form::Any), "What the file is about"),
        Field::optional("author", Text(Form::Any), "Who wrote it"),
        Field::optional("version", Text(Form::Any), "The version of the file"),
        Field::optional("created", Text(Form::Any), "When it was first written"),
        Field::optional("updated", Text(Form::Any), "When it was last changed"),
    ],
};

pub static TASK: Record = Record {
    name: "a task",
    fields: &[
        Field::optional("id", Text(Form::TaskId), "The same as the key it stands under"),
        Field::expected("name", Text(Form::Some), "What people call it"),
        Field::optional("description", Text(Form::Any), "What it is, in a sentence"),
        Field::optional("category", Text(Form::Some), "The group it is listed in"),
        Field::optional("tags", List(&Text(Form::Some)), "Words it is found by"),
        Field::optional(
            "platforms",
            List(&Text(Form::Platform)),
            "Where it can be used; without: everywhere",
        ),
        Field::optional("detection", Of(&DETECTION), "How to tell that it is there already"),
        Field::optional("dependencies", Of(&DEPENDENCIES), "Tasks that come before it"),
        Field::optional(
            "packages",
            Of(&PACKAGES),
            "Packages that are all there is to install, by manager",
        ),
        Field::optional("install", Of(&INSTALL), "Commands that install it"),
        Field::optional(
            "shell_integration",
            Of(&SHELL_INTEGRATION),
            "Lines for the shell's configuration",
        ),
        Field::optional("post_install", OneOrMany(&Of(&POST_INSTALL)), "What comes after it"),
        Field::optional("verification", Of(&VERIFICATION), "How to tell that it works"),
        Field::optional("conflicts_with", TASK_IDS, "Tasks that cannot be on the same machine"),
        Field::optional(
            "options",
            List(&Of(&OPTION)),
            "What to ask about it; commands find the answers in the environment",
        ),
        Field::optional(
            "path",
            List(&Text(Form::Path)),
            "Directories for the PATH of its probes and of what depends on it",
        ),
        Field::optional(
            "env_setup",
            Text(Form::Command),
            "Shell text that its probes and what depends on it run first",
        ),
        Field::optional("notes", Lines, "What a person should know"),
        Field::optional("docs_url", Text(Form::Url), "Where to read more"),
    ],
};

static DETECTION: Record = Record {
    name: "a detection",
    fields: &[
        Field::optional("check_command", Text(Form::Command), "It is there if this succeeds"),
        Field::optional("version_command", Text(Form::Command), "Prints its version"),
        Field::optional("installed_indicator", Text(Form::Path), "It is there if this path exists"),
    ],
};

static DEPENDENCIES: Record = Record {
    name: "dependencies",
    fields: &[
        Field::optional("required", TASK_IDS, "All of these come first"),
        Field::optional("one_of", TASK_IDS, "One of these comes first"),
        Field::optional("optional", TASK_IDS, "These come first if they are chosen too"),
    ],
};

static PACKAGES: Record = Record {
    name: "packages",
    fields: &[
        Field::optional("apt", List(&Text(Form::SystemPackage)), "Debian, Ubuntu and their kin"),
        Field::optional("dnf", List(&Text(Form::SystemPackage)), "Fedora and its kin"),
        Field::optional("pacman", List(&Text(Form::SystemPackage)), "Arch and its kin"),
        Field::optional("brew", List(&Text(Form::BrewPackage)), "Homebrew formulas"),
        Field::optional("cask", List(&Text(Form::BrewPackage)), "Homebrew casks"),
        Field::optional("npm", List(&Text(Form::NpmPackage)), "Global npm packages"),
        Field::optional("pipx", List(&Text(Form::PythonPackage)), "Python applications, by pipx"),
        Field::optional("cargo", List(&Text(Form::Crate)), "Rust programs, by cargo install"),
    ],
};

static INSTALL: Record = Record {
    name: "an install",
    fields: &[
        Field::optional("steps", List(&Of(&STEP)), "Run in order, where no variant fits"),
        Field::optional(
            "variants",
            Map(Form::Some, &Of(&VARIANT)),
            "Other steps, by a chosen option, a `one_of` dependency, a platform or a package manager",
        ),
    ],
};

static VARIANT: Record = Record {
    name: "a variant",
    fields: &[Field::essential("steps", List(&Of(&STEP)), "Run in order")],
};

static STEP: Record = Record {
    name: "a step",
    fields: &[
        Field::optional("name", Text(Form::Any), "What it does, in a few words"),
        Field::optional("command", Text(Form::Command), "Run by bash, without a terminal"),
        Field::optional("description", Text(Form::Any), "What it does, for whoever approves it"),
        Field::optional("idempotent", Flag, "Running it twice does no more than once"),
        Field::optional("requires_sudo", Flag, "It runs as root"),
        Field::optional(
            "shell_config",
            TextByShell(&SHELL_CONFIG),
            "Lines for the shell's configuration",
        ),
        Field::optional("manual", FlagOrText, "A person does it; how"),
        Field::optional("timeout", Time, "How long it may take"),
        Field::optional(
            "retries",
            Count,
            "How often it is tried again, however it fails; without it, only after failures that pass by themselves",
        ),
        Field::optional("interactive", Flag, "It needs a terminal to ask on"),
        Field::optional(
            "env",
            Map(Form::Variable, &Text(Form::Any)),
            "Environment variables for it",
        ),
        Field::optional(
            "working_dir",
            Text(Form::Path),
            "Where it runs instead of the home directory",
        ),
        Field::optional(
            "locks",
            List(&Text(Form::Name)),
            "No two steps that share one run at a time",
        ),
    ],
};

static SHELL_INTEGRATION: Record = Record {
    name: "shell integration",
    fields: &[
        Field::optional("zsh", Text(Form::Some), "For zsh"),
        Field::optional("bash", Text(Form::Some), "For bash"),
        Field::optional("fish", Text(Form::Some), "For fish"),
    ],
};

static SHELL_CONFIG: Record = Record {
    name: "shell configuration",
    fields: &[
        Field::optional("zsh", Text(Form::Some), "For zsh"),
        Field::optional("bash", Text(Form::Some), "For bash"),
        Field::optional("fish", Text(Form::Some), "For fish"),
        Field::optional("note", Lines, "Something to know about it"),
    ],
};

static POST_INSTALL: Record = Record {
    name: "a post_install entry",
    fields: &[
        Field::optional("task", Text(Form::TaskId), "A task that may follow"),
        Field::optional(
            "condition",
            Choice(&["always", "user_choice", "if_missing"]),
            "When it does",
        ),
        Field::optional("prompt", Text(Form::Some), "How the person is asked"),
        Field::optional("message", Lines, "Something to tell"),
        Field::optional("notes", Lines, "Something to know"),
        Field::optional("note", Lines, "Something to know"),
        Field::optional(
            "shell_config",
            TextByShell(&SHELL_CONFIG),
            "Lines for the shell's configuration",
        ),
    ],
};

static VERIFICATION: Record = Record {
    name: "a verification",
    fields: &[
        Field::essential("command", Text(Form::Command), "It works if this succeeds"),
        Field::optional(
            "expected_pattern",
            Text(Form::Pattern),
            "… and what it prints matches this",
        ),
        Field::optional(
            "expected_output",
            Text(Form::Any),
            "… or what it prints is this, blanks around it aside",
        ),
    ],
};

static OPTION: Record = Record {
    name: "an option",
    fields: &[
        Field::essential(
            "id",
            Text(Form::DataKey),
            "`node_version` reaches commands as `$NODE_VERSION`",
        ),
        Field::expected("prompt", Text(Form::Some), "How the person is asked"),
        Field::optional(
            "type",
            Choice(&["string", "number", "boolean", "choice", "secret"]),
            "What the answer is; without: a string",
        ),
        Field::optional("default", Text(Form::Any), "The answer of someone who gives none"),
        Field::optional("choices", List(&Text(Form::Some)), "What can be chosen from"),
    ],
};

/// A file with a profile.
pub static PROFILE: Record = Record {
    name: "a profile",
    fields: &[
        Field::expected("metadata", Of(&PROFILE_METADATA), "What it is called"),
        Field::optional("selection_prompt", Of(&SELECTION_PROMPT), "How it is offered"),
        Field::optional(
            "platforms",
            List(&Text(Form::Platform)),
            "Where it can be used; without: everywhere",
        ),
        Field::optional("required_tasks", TASK_IDS, "What everyone gets"),
        Field::optional("question_flow", List(&Of(&QUESTION)), "What is asked, in order"),
        Field::optional("default_cli_tools", TASK_IDS, "Tools that come along unless declined"),
        Field::optional("post_install_suggestions", TASK_IDS, "What to think of next"),
        Field::optional(
            "user_data",
            Map(Form::DataKey, &Of(&DATUM)),
            "How data is asked for that options require",
        ),
    ],
};

static PROFILE_METADATA: Record = Record {
    name: "a profile's metadata",
    fields: &[
        Field::expected("id", Text(Form::Name), "What it is chosen by"),
        Field::expected("name", Text(Form::Some), "What people call it"),
        Field::optional("description", Text(Form::Any), "Whom it is for"),
        Field::optional("version", Text(Form::Any), "The version of the profile"),
    ],
};

static SELECTION_PROMPT: Record = Record {
    name: "a selection prompt",
    fields: &[
        Field::optional("letter", Text(Form::Letter), "What is typed to choose it"),
        Field::optional("text", Text(Form::Some), "How it is offered"),
    ],
};

static QUESTION: Record = Record {
    name: "a question",
    fields: &[
        Field::essential("id", Text(Form::Name), "What scripts answer it by"),
        Field::expected("question", Text(Form::Some), "What is asked"),
        Field::expected("options", List(&Of(&ANSWER)), "What can be answered"),
        Field::optional(
            "default",
            Text(Form::Some),
            "The letter or the value of the option that counts where nobody answers",
        ),
    ],
};

static ANSWER: Record = Record {
    name: "an option of a question",
    fields: &[
        Field::essential("letter", Text(Form::Letter), "What is typed to choose it"),
        Field::essential("text", Text(Form::Some), "What it means; what follows ` - ` explains"),
        Field::optional(
            "value",
            Text(Form::Some),
            "What it is recorded as; without: its first task, or its words",
        ),
        Field::optional("tasks", TASK_IDS, "What it brings"),
        Field::optional(
            "action",
            Choice(&["explain"]),
            "`explain` shows the explanation and asks again",
        ),
        Field::optional("explanation", Text(Form::Some), "What is shown"),
        Field::optional(
            "user_data_required",
            List(&Text(Form::DataKey)),
            "What has to be asked for it",
        ),
        Field::optional(
            "follow_up",
            Text(Form::Name),
            "A question of this file that is asked next",
        ),
    ],
};

static DATUM: Record = Record {
    name: "user data",
    fields: &[
        Field::optional("prompt", Text(Form::Some), "How the person is asked"),
        Field::optional("pattern", Text(Form::Pattern), "What the whole value must match"),
        Field::optional("secret", Flag, "It is asked for in secret and never written down"),
        Field::optional(
            "default_command",
            Text(Form::Command),
            "A probe whose first line of output is offered as the answer",
        ),
        Field::optional(
            "example",
            Text(Form::Some),
            "A value that would do, for whoever gives one that does not",
        ),
    ],
};

/// A file with answers, for a walk that nobody attends.
pub static ANSWERS: Record = Record {
    name: "an answers file",
    fields: &[
        Field::optional("profile", Text(Form::Name), "The profile that is chosen"),
        Field::optional(
            "answers",
            Map(Form::Some, &Text(Form::Some)),
            "The letter or the value of an option, by question",
        ),
        Field::optional(
            "user_data",
            Map(Form::DataKey, &Text(Form::Any)),
            "Data for commands; never a secret",
        ),
        Field::optional(
            "options",
            Map(Form::TaskId, &Map(Form::DataKey, &Text(Form::Any))),
            "Options of tasks, by task",
        ),
        Field::optional("add", TASK_IDS, "Tasks beside those of the profile"),
        Field::optional("without", TASK_IDS, "Tasks that are left out"),
        Field::optional(
            "mode",
            Choice(&["all_at_once", "review_each_step"]),
            "Run everything, or ask before each step",
        ),
    ],
};
