//! Mistakes in a catalog: what is wrong, where, and what would be right.

use std::sync::Arc;

use super::place::{KeyPath, Place};
use crate::model::named;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Severity {
        Error = "error",
        Warning = "warning",
    }
}

named! {
    /// Which rule was broken. The names are public: scripts may look for them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Code {
        Unreadable = "unreadable",
        TooLarge = "too_large",
        NotUtf8 = "not_utf8",
        YamlSyntax = "yaml_syntax",
        YamlLimit = "yaml_limit",
        NotAManifest = "not_a_manifest",
        DuplicateKey = "duplicate_key",
        WrongType = "wrong_type",
        InvalidValue = "invalid_value",
        UnknownField = "unknown_field",
        MissingField = "missing_field",
        IdMismatch = "id_mismatch",
        InvalidId = "invalid_id",
        DuplicateId = "duplicate_id",
        UnknownTask = "unknown_task",
        UnknownQuestion = "unknown_question",
        DependencyCycle = "dependency_cycle",
        Conflict = "conflict",
        InvalidRegex = "invalid_regex",
        NoDetection = "no_detection",
        DuplicateLetter = "duplicate_letter",
        DuplicateQuestion = "duplicate_question",
        UnaskedUserData = "unasked_user_data",
        ReservedName = "reserved_name",
        PastedValue = "pasted_value",
        LiteralSudo = "literal_sudo",
        NewBash = "new_bash",
        UnknownVariant = "unknown_variant",
        UnknownPlatform = "unknown_platform",
        NothingToDo = "nothing_to_do",
    }
}

/// A file of a catalog: its name as it is shown, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub text: String,
    /// The number of its layer, from 0.
    pub layer: usize,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: Code,
    pub source: Arc<Source>,
    pub place: Place,
    /// The way to the value, from the top of the file.
    pub key: KeyPath,
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl Diagnostic {
    pub fn error(
        code: Code,
        source: &Arc<Source>,
        place: Place,
        key: KeyPath,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Error,
            code,
            source: Arc::clone(source),
            place,
            key,
            message: message.into(),
            hint: None,
        }
    }

    /// In one line: `file:line:column: message`.
    pub fn placed(&self) -> String {
        let (file, place) = (&self.source.name, self.place);
        format!("{file}:{}:{}: {}", place.line, place.column, self.message)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
