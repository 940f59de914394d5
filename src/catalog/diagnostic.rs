//! Mistakes in a catalog: what is wrong, where, and what would be right.

use std::sync::Arc;

use super::place::{KeyPath, Place};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// Which rule was broken. The names are public: scripts may look for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    Unreadable,
    TooLarge,
    NotUtf8,
    YamlSyntax,
    YamlLimit,
    NotAManifest,
    DuplicateKey,
    WrongType,
    InvalidValue,
    UnknownField,
    MissingField,
    IdMismatch,
    InvalidId,
    DuplicateId,
    UnknownTask,
    UnknownQuestion,
    DependencyCycle,
    Conflict,
    InvalidRegex,
    NoDetection,
    DuplicateLetter,
    DuplicateQuestion,
    UnaskedUserData,
    ReservedName,
    PastedValue,
    LiteralSudo,
    NewBash,
    UnknownVariant,
    UnknownPlatform,
    NothingToDo,
}

impl Code {
    pub const ALL: [Self; 30] = [
        Self::Unreadable,
        Self::TooLarge,
        Self::NotUtf8,
        Self::YamlSyntax,
        Self::YamlLimit,
        Self::NotAManifest,
        Self::DuplicateKey,
        Self::WrongType,
        Self::InvalidValue,
        Self::UnknownField,
        Self::MissingField,
        Self::IdMismatch,
        Self::InvalidId,
        Self::DuplicateId,
        Self::UnknownTask,
        Self::UnknownQuestion,
        Self::DependencyCycle,
        Self::Conflict,
        Self::InvalidRegex,
        Self::NoDetection,
        Self::DuplicateLetter,
        Self::DuplicateQuestion,
        Self::UnaskedUserData,
        Self::ReservedName,
        Self::PastedValue,
        Self::LiteralSudo,
        Self::NewBash,
        Self::UnknownVariant,
        Self::UnknownPlatform,
        Self::NothingToDo,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::TooLarge => "too_large",
            Self::NotUtf8 => "not_utf8",
            Self::YamlSyntax => "yaml_syntax",
            Self::YamlLimit => "yaml_limit",
            Self::NotAManifest => "not_a_manifest",
            Self::DuplicateKey => "duplicate_key",
            Self::WrongType => "wrong_type",
            Self::InvalidValue => "invalid_value",
            Self::UnknownField => "unknown_field",
            Self::MissingField => "missing_field",
            Self::IdMismatch => "id_mismatch",
            Self::InvalidId => "invalid_id",
            Self::DuplicateId => "duplicate_id",
            Self::UnknownTask => "unknown_task",
            Self::UnknownQuestion => "unknown_question",
            Self::DependencyCycle => "dependency_cycle",
            Self::Conflict => "conflict",
            Self::InvalidRegex => "invalid_regex",
            Self::NoDetection => "no_detection",
            Self::DuplicateLetter => "duplicate_letter",
            Self::DuplicateQuestion => "duplicate_question",
            Self::UnaskedUserData => "unasked_user_data",
            Self::ReservedName => "reserved_name",
            Self::PastedValue => "pasted_value",
            Self::LiteralSudo => "literal_sudo",
            Self::NewBash => "new_bash",
            Self::UnknownVariant => "unknown_variant",
            Self::UnknownPlatform => "unknown_platform",
            Self::NothingToDo => "nothing_to_do",
        }
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
    pub fn as_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
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
