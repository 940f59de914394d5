//! Identifiers, checked once at the edge so that no path is ever built from unchecked text.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Timestamp;

/// Why a text is not an identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("`{}` is not a session id: expected prov-YYYYMMDD-HHMMSS-XXXX", .0.escape_debug())]
    Session(String),
    #[error("`{}` is not a task id: expected a name without slashes or control characters", .0.escape_debug())]
    Task(String),
    #[error("`{}` is not a digest: expected 64 lower-case hexadecimal digits", .0.escape_debug())]
    Digest(String),
    #[error("`{}` is not an agent: expected user, unattended or mcp:<client>", .0.escape_debug())]
    Agent(String),
}

/// `prov-YYYYMMDD-HHMMSS-XXXX`: safe as a file name by construction, and sorted by time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    pub const PATTERN: &str = "^prov-[0-9]{8}-[0-9]{6}-[0-9a-z]{4}$";
    const SHAPE: &str = "prov-dddddddd-dddddd-xxxx";

    /// The id of a session that begins at `at`; `suffix` tells apart those of one second.
    pub fn new(at: &Timestamp, suffix: u16) -> Self {
        Self(format!("prov-{}-{suffix:04x}", at.compact()).into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// All of it but what tells apart those of one second.
    pub fn second(&self) -> &str {
        self.0.rsplit_once('-').map_or(self.as_str(), |(second, _)| second)
    }

    /// Whether `text` could be the beginning of some id: the only texts looked for in the store.
    pub fn is_prefix(text: &str) -> bool {
        !text.is_empty()
            && text.len() <= Self::SHAPE.len()
            && text.bytes().zip(Self::SHAPE.bytes()).all(|(byte, shape)| match shape {
                b'd' => byte.is_ascii_digit(),
                b'x' => byte.is_ascii_digit() || byte.is_ascii_lowercase(),
                literal => byte == literal,
            })
    }
}

impl FromStr for SessionId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `prov` itself holds no `d` or `x`, so the shape's letters cannot be mistaken for it.
        if text.len() == Self::SHAPE.len() && Self::is_prefix(text) {
            Ok(Self(text.into()))
        } else {
            Err(IdError::Session(text.into()))
        }
    }
}

/// The name of a task in the catalog, such as `node-lts`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(Arc<str>);

impl TaskId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for TaskId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for TaskId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let odd = |c: char| c.is_control() || c == '/' || c == '\\';
        if text.is_empty() || text.len() > 200 || text.starts_with('.') || text.contains(odd) {
            Err(IdError::Task(text.into()))
        } else {
            Ok(Self(text.into()))
        }
    }
}

/// A SHA-256 sum: what names a plan for approval, and what ties a journal line to those before it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(Arc<str>);

impl Digest {
    /// How many digits a digest has.
    pub const LENGTH: usize = 64;

    pub fn of(sum: [u8; 32]) -> Self {
        let mut text = String::with_capacity(Self::LENGTH);
        for byte in sum {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Enough of it to be typed or pasted where the whole is known.
    pub fn beginning(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl FromStr for Digest {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == Self::LENGTH && text.bytes().all(hex) {
            Ok(Self(text.into()))
        } else {
            Err(IdError::Digest(text.into()))
        }
    }
}

/// On whose behalf something was done: `user`, `unattended` or `mcp:<client>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Agent(Arc<str>);

impl Agent {
    pub fn user() -> Self {
        Self("user".into())
    }

    pub fn unattended() -> Self {
        Self("unattended".into())
    }
}

impl FromStr for Agent {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let client = text.strip_prefix("mcp:");
        if matches!(text, "user" | "unattended") || client.is_some_and(|name| !name.is_empty()) {
            Ok(Self(text.into()))
        } else {
            Err(IdError::Agent(text.into()))
        }
    }
}

macro_rules! text_of {
    ($id:ident, $schema:expr) => {
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }

        impl JsonSchema for $id {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($id).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

text_of!(SessionId, json_schema!({"type": "string", "pattern": SessionId::PATTERN}));
text_of!(TaskId, json_schema!({"type": "string", "minLength": 1}));
text_of!(Digest, json_schema!({"type": "string", "pattern": "^[0-9a-f]{64}$"}));
text_of!(Agent, json_schema!({"type": "string", "pattern": "^(user|unattended|mcp:.+)$"}));

#[cfg(test)]
mod tests {
    use super::{SessionId, TaskId, Timestamp};

    #[test]
    fn an_id_says_when_and_is_told_apart_by_its_suffix() {
        let at = Timestamp::clamped(1_770_042_652_007);
        assert_eq!(SessionId::new(&at, 0xa7b3).as_str(), "prov-20260202-143052-a7b3");
        assert_eq!(SessionId::new(&at, 7).as_str(), "prov-20260202-143052-0007");
    }

    #[test]
    fn only_the_exact_shape_is_an_id() {
        assert!("prov-20260202-143052-zz09".parse::<SessionId>().is_ok());
        for odd in [
            "",
            "..",
            "../x",
            "/etc/passwd",
            "prov-20260202-143052-a7b",
            "prov-20260202-143052-A7B3",
            "prov-20260202-143052-a7b3/",
            "prov-20260202-143052-a7b3\n",
            "prov-2026020x-143052-a7b3",
            "prov-20260202-143052-a/b3",
            "prov-20260202-143052-a.b3",
            "prov-20260202-143052-é3",
        ] {
            assert!(odd.parse::<SessionId>().is_err(), "{odd:?}");
        }
    }

    #[test]
    fn a_prefix_is_a_beginning_of_some_id_and_nothing_else() {
        for good in ["p", "prov", "prov-2026", "prov-20260202-143052-a7b3"] {
            assert!(SessionId::is_prefix(good), "{good:?}");
        }
        for odd in ["", ".", "x", "prov/", "prov-20260202-143052-a7b3x", "latest"] {
            assert!(!SessionId::is_prefix(odd), "{odd:?}");
        }
    }

    #[test]
    fn a_task_id_cannot_climb_out_of_a_directory() {
        assert!("node-lts".parse::<TaskId>().is_ok());
        for odd in ["", "..", "../x", "a/b", "a\\b", "a\nb", ".hidden"] {
            assert!(odd.parse::<TaskId>().is_err(), "{odd:?}");
        }
    }
}
