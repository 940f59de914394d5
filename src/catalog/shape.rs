//! How texts are held against the [forms](Form) of a format, and how messages name them.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use super::diagnostic::Code;
use crate::model::{
    TaskId, environment_name,
    format::{Form, Shape},
    is_reserved,
};

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
            Self::Count => "a whole number from 0".into(),
            Self::Time => "a time such as `90` (seconds) or `10m`".into(),
            Self::Choice(names) => one_of(names),
            Self::List(Self::Text(form)) => format!("a list of {}", form.several()),
            Self::List(items) => format!("a list, each of it {}", items.describe()),
            Self::OneOrMany(item) => format!("{}, or a list of them", item.describe()),
            Self::TextByShell(_) => "text, texts by shell, or `true` or `false`".into(),
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
            Self::SystemPackage
            | Self::BrewPackage
            | Self::NpmPackage
            | Self::PythonPackage
            | Self::Crate => "the name of a package",
            Self::Platform => "a platform such as `macos`, `linux` or `debian`",
            Self::Command => "a command",
        }
    }

    fn several(self) -> &'static str {
        match self {
            Self::TaskId => "task ids",
            Self::SystemPackage
            | Self::BrewPackage
            | Self::NpmPackage
            | Self::PythonPackage
            | Self::Crate => "package names",
            Self::Platform => "platforms",
            Self::Path => "paths",
            Self::DataKey | Self::Variable | Self::Name => "names",
            _ => "texts",
        }
    }

    /// A regular expression that texts of this form match; schemas have it too.
    pub fn pattern(self) -> Option<&'static str> {
        Some(match self {
            Self::Any | Self::Pattern => return None,
            Self::Some | Self::Command => r"\S",
            Self::TaskId => "^[A-Za-z0-9][A-Za-z0-9_.+@-]*$",
            Self::Name => r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
            Self::DataKey | Self::Variable => "^[A-Za-z_][A-Za-z0-9_]*$",
            Self::Letter => "^[A-Z]$",
            Self::Path => "^(/|~$|~/)",
            Self::Url => "^https?://",
            Self::SystemPackage => r"^[A-Za-z0-9]([A-Za-z0-9+._:=~-]*[A-Za-z0-9+.~])?$",
            Self::BrewPackage => {
                r"^[A-Za-z0-9][A-Za-z0-9+._@-]*(/[A-Za-z0-9][A-Za-z0-9+._@-]*){0,2}$"
            }
            Self::NpmPackage => {
                r"^(@[A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*(@[A-Za-z0-9][A-Za-z0-9._-]*)?$"
            }
            Self::PythonPackage => r"^[A-Za-z0-9][A-Za-z0-9._-]*(==[A-Za-z0-9][A-Za-z0-9._-]*)?$",
            Self::Crate => "^[A-Za-z0-9][A-Za-z0-9_-]*(@[A-Za-z0-9][A-Za-z0-9._-]*)?$",
            Self::Platform => "^[a-z][a-z0-9_.-]*$",
        })
    }

    /// Whether a text matches the pattern, which is compiled once.
    fn matches_pattern(self, text: &str) -> bool {
        const FORMS: usize = Form::Command as usize + 1;
        static COMPILED: [OnceLock<Option<Regex>>; FORMS] = [const { OnceLock::new() }; FORMS];
        let compiled = COMPILED[self as usize].get_or_init(|| Regex::new(self.pattern()?).ok());
        compiled.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }

    pub fn check(self, text: &str) -> Result<(), Misshapen> {
        let fits = match self {
            Self::Any => true,
            Self::Some | Self::Command => !text.trim().is_empty(),
            Self::TaskId => text.parse::<TaskId>().is_ok() && self.matches_pattern(text),
            Self::DataKey => return data_key(text),
            Self::Variable => return variable(text),
            Self::Pattern => return pattern(text),
            _ => self.matches_pattern(text),
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
    if Form::DataKey.matches_pattern(text) {
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
    let checked = parsed.and_then(|_| {
        if !may_be_large {
            return Ok(());
        }
        RegexBuilder::new(text).size_limit(1 << 20).build().map(drop).map_err(|error| {
            // The last line says what is wrong; those before draw the place with spaces.
            let shown = error.to_string();
            shown.lines().last().unwrap_or_default().to_ascii_lowercase()
        })
    });
    checked.map_err(|why| {
        let message = format!("`{text}` is not a regular expression: {why}");
        Misshapen { code: Code::InvalidRegex, message }
    })
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
    fn packages_are_names_and_nothing_more() {
        let forms = [
            (
                Form::SystemPackage,
                &["git", "g++", "libssl1.1", "a:amd64", "x=1.2~rc1", "7zip"][..],
                &["git-", "foo/unstable", "@group", "https://x/y.rpm", "./x.deb"][..],
            ),
            (
                Form::BrewPackage,
                &["git", "postgresql@17", "owner/tap/formula"],
                &["https://x/y.rb", "/tmp/x.rb", "a/b/c/d", "a/../b"],
            ),
            (
                Form::NpmPackage,
                &["typescript", "@scope/name", "pnpm@9", "@a/b@1.2.3"],
                &["http://x/y.tgz", "git+ssh://x", "file:../x", "@scope", "../x", "@/x"],
            ),
            (
                Form::PythonPackage,
                &["ruff", "rust-just", "uv==0.5.1"],
                &["git+https://x/y", "./x", "x[y]", "x>=1", "=="],
            ),
            (Form::Crate, &["eza", "cargo-edit", "just@1.2.3"], &["./x", "a/b", "@1"]),
        ];
        for (form, good, bad) in forms {
            let pattern = regex::Regex::new(form.pattern().unwrap()).unwrap();
            for text in good {
                assert_eq!(form.check(text), Ok(()), "{text}");
                assert!(pattern.is_match(text), "the schema refuses {text}");
            }
            let shell = [
                "-x",
                "--allow-root",
                "a b",
                "a;b",
                "$(x)",
                "`x`",
                "a|b",
                "",
                "~x",
                "a>b",
                "a&b",
                "a*",
                "é",
            ];
            for text in bad.iter().chain(&shell) {
                assert!(form.check(text).is_err(), "{form:?} takes {text}");
                assert!(!pattern.is_match(text), "the schema of {form:?} takes {text}");
            }
        }
    }
}
