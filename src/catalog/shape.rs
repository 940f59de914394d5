//! What a document must look like, as data. One description serves the check, the words of its
//! messages and the schema that editors use.

use regex::RegexBuilder;

use crate::model::{PackageManager, TaskId, environment_name, is_platform_name, is_reserved};

use super::diagnostic::Code;

#[derive(Debug)]
pub enum Shape {
    /// One scalar, which keeps its text.
    Text(Form),
    /// Text, or a list of texts that are its lines.
    Lines,
    /// `true` or `false`.
    Flag,
    /// `true`, `false` or text.
    FlagOrText,
    /// A whole number.
    Count,
    /// Seconds, or a time such as `10m`.
    Time,
    Choice(&'static [&'static str]),
    List(&'static Shape),
    /// A mapping whose keys are up to the author.
    Map(Form, &'static Shape),
    Record(&'static Record),
}

/// What a text must be, beyond a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Any,
    /// Any text with at least one character.
    Some,
    TaskId,
    /// A name for a question or a profile.
    Name,
    /// What becomes an environment variable when written in capitals.
    DataKey,
    /// The name of an environment variable.
    Variable,
    Letter,
    /// An absolute path, or one below `~`.
    Path,
    Url,
    Pattern,
    Package,
    Platform,
    /// Shell text.
    Command,
}

/// A mapping with fields of its own.
#[derive(Debug)]
pub struct Record {
    /// As in "a step has no field `x`".
    pub name: &'static str,
    pub fields: &'static [Field],
}

#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub shape: Shape,
    pub need: Need,
    /// What it is for, in the words that an editor shows.
    pub says: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Optional,
    /// Reported where it is missing; what else the record says is checked all the same.
    Expected,
    /// Without it the record means nothing.
    Essential,
}

impl Field {
    pub const fn optional(name: &'static str, shape: Shape, says: &'static str) -> Self {
        Self { name, shape, need: Need::Optional, says }
    }

    pub const fn expected(name: &'static str, shape: Shape, says: &'static str) -> Self {
        Self { name, shape, need: Need::Expected, says }
    }

    pub const fn essential(name: &'static str, shape: Shape, says: &'static str) -> Self {
        Self { name, shape, need: Need::Essential, says }
    }
}

/// Why a text has not the form it should have.
#[derive(Debug, PartialEq, Eq)]
pub struct Misshapen {
    pub code: Code,
    pub message: String,
}

impl Shape {
    /// As in "expected a list of task ids".
    pub fn describe(&self) -> String {
        match self {
            Self::Text(form) => form.describe().into(),
            Self::Lines => "text or a list of texts".into(),
            Self::Flag => "`true` or `false`".into(),
            Self::FlagOrText => "`true`, `false` or text".into(),
            Self::Count => "a whole number".into(),
            Self::Time => "a time such as `90` (seconds) or `10m`".into(),
            Self::Choice(names) => one_of(names),
            Self::List(Self::Text(form)) => format!("a list of {}", form.several()),
            Self::List(items) => format!("a list, each of it {}", items.describe()),
            Self::Map(..) => "a mapping".into(),
            Self::Record(record) => record.name.into(),
        }
    }
}

/// "one of `a`, `b`".
pub fn one_of(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("one of {}", quoted.join(", "))
}

impl Form {
    pub fn describe(self) -> &'static str {
        match self {
            Self::Any | Self::Some => "text",
            Self::TaskId => "the id of a task",
            Self::Name => "a name",
            Self::DataKey | Self::Variable => "a name of letters, digits and `_`",
            Self::Letter => "one letter from `A` to `Z`",
            Self::Path => "an absolute path, or one that begins with `~/`",
            Self::Url => "an address that begins with `https://`",
            Self::Pattern => "a regular expression",
            Self::Package => "the name of a package",
            Self::Platform => "a platform such as `macos`, `linux` or `debian`",
            Self::Command => "a command",
        }
    }

    fn several(self) -> &'static str {
        match self {
            Self::TaskId => "task ids",
            Self::Package => "package names",
            Self::Platform => "platforms",
            Self::Path => "paths",
            Self::DataKey | Self::Variable | Self::Name => "names",
            _ => "texts",
        }
    }

    /// A regular expression that says the same, for schemas.
    pub fn pattern(self) -> Option<&'static str> {
        Some(match self {
            Self::Any | Self::Pattern => return None,
            Self::Some | Self::Command => r"\S",
            Self::TaskId => r"^[^./\\\s][^/\\]*$",
            Self::Name => r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
            Self::DataKey | Self::Variable => "^[A-Za-z_][A-Za-z0-9_]*$",
            Self::Letter => "^[A-Z]$",
            Self::Path => "^(/|~$|~/)",
            Self::Url => "^https?://",
            Self::Package => r"^[A-Za-z0-9@][A-Za-z0-9@/+._:=~-]*$",
            Self::Platform => "^[a-z0-9_.-]+$",
        })
    }

    pub fn check(self, text: &str) -> Result<(), Misshapen> {
        let fits = match self {
            Self::Any => true,
            Self::Some | Self::Command => !text.trim().is_empty(),
            Self::TaskId => text.parse::<TaskId>().is_ok() && !text.contains(char::is_whitespace),
            Self::Name => is_name(text),
            Self::DataKey => return data_key(text),
            Self::Variable => return variable(text),
            Self::Letter => text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_uppercase()),
            Self::Path => text.starts_with('/') || text == "~" || text.starts_with("~/"),
            Self::Url => text.starts_with("https://") || text.starts_with("http://"),
            Self::Pattern => return pattern(text),
            Self::Package => is_package(text),
            Self::Platform => is_platform_name(text),
        };
        if fits {
            return if text.contains('\0') {
                Err(invalid("it has a NUL character".into()))
            } else {
                Ok(())
            };
        }
        let message = if text.trim().is_empty() {
            format!("expected {}, found an empty text", self.describe())
        } else {
            format!("`{text}` is not {}", self.describe())
        };
        let code = if self == Self::TaskId { Code::InvalidId } else { Code::InvalidValue };
        Err(Misshapen { code, message })
    }
}

fn invalid(message: String) -> Misshapen {
    Misshapen { code: Code::InvalidValue, message }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// Nothing that a shell or a manager would take for more than a name.
fn is_package(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"@/+._:=~-".contains(&byte))
}

fn data_key(text: &str) -> Result<(), Misshapen> {
    variable_form(text)?;
    let name = environment_name(text);
    if is_reserved(&name) {
        let message =
            format!("`{text}` would reach commands as `${name}`, which has a meaning of its own");
        return Err(Misshapen { code: Code::ReservedName, message });
    }
    Ok(())
}

fn variable(text: &str) -> Result<(), Misshapen> {
    variable_form(text)?;
    if is_reserved(text) {
        let message = format!("`${text}` has a meaning of its own and cannot be set");
        return Err(Misshapen { code: Code::ReservedName, message });
    }
    Ok(())
}

fn variable_form(text: &str) -> Result<(), Misshapen> {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        Ok(())
    } else {
        Err(invalid(format!("`{text}` is not {}", Form::DataKey.describe())))
    }
}

/// Whether it is a regular expression, within bounds.
fn pattern(text: &str) -> Result<(), Misshapen> {
    let parsed = regex_syntax::parse(text).map_err(|error| match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        other => other.to_string(),
    });
    // Compiling takes far longer than parsing, and fails only for what repeats or goes on and on.
    let may_be_large = text.contains('{') || text.len() > 200;
    let checked = parsed.and_then(|_| match may_be_large {
        true => RegexBuilder::new(text).size_limit(1 << 20).build().map(drop).map_err(|error| {
            // The last line says what is wrong; those before draw the place with spaces.
            let shown = error.to_string();
            shown.lines().last().unwrap_or_default().to_ascii_lowercase()
        }),
        false => Ok(()),
    });
    checked.map_err(|why| {
        let message = format!("`{text}` is not a regular expression: {why}");
        Misshapen { code: Code::InvalidRegex, message }
    })
}

/// The names of package managers, as fields.
pub fn manager_names() -> Vec<&'static str> {
    PackageManager::ALL.iter().map(|manager| manager.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::Form;

    #[test]
    fn a_regular_expression_must_be_one_and_not_be_endless() {
        for text in ["x", r"\d+\.\d+", "(?i)^v?[0-9]{1,3}$", r"\p{Greek}"] {
            assert_eq!(Form::Pattern.check(text), Ok(()), "{text}");
        }
        let endless = "(((a{100}){100}){100}){100}";
        for text in ["(", "[a-z", "a{2,1}", "(?=x)", r"\1", "*", r"\p{Nonsense}", endless] {
            assert!(Form::Pattern.check(text).is_err(), "{text}");
        }
    }

    #[test]
    fn packages_cannot_be_options_or_shell() {
        for text in
            ["git", "g++", "@scope/name", "postgresql@17", "libssl1.1", "a:amd64", "x=1.2~rc1"]
        {
            assert_eq!(Form::Package.check(text), Ok(()), "{text}");
        }
        for text in [
            "-x",
            "--allow-root",
            "a b",
            "a;b",
            "$(x)",
            "`x`",
            "a|b",
            "",
            "../x",
            "~x",
            "a>b",
            "a&b",
        ] {
            assert!(Form::Package.check(text).is_err(), "{text}");
        }
    }
}
