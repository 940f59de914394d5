//! The catalog: YAML files of tasks and profiles, read strictly, every mistake in them placed.
//!
//! A file becomes a tree that remembers where everything stood (`node`), is held against its
//! shape (`shape`, `check`), and then looked at for what no shape can say: each task
//! and profile by itself, and all of them together.

mod answers;
mod check;
mod conflicts;
mod cross_lint;
mod cycles;
mod diagnostic;
mod embedded;
mod layers;
mod lint;
mod manifest;
mod node;
mod place;
mod profile_lint;
mod schema;
mod search;
mod shape;
mod shell_text;
mod soundness;
mod source;
mod task_lint;

pub use answers::{Answers, read_answers};
pub use diagnostic::{Code, Diagnostic, Severity, Source};
pub use embedded::FILES as EMBEDDED_FILES;
pub use layers::{Catalog, LayerCounts, LayerSource, Listed};
pub use manifest::{Manifest, Rules};
pub use node::{Content, Entry, MOST_NODES, Node, Unreadable};
pub use place::{KeyPath, Place};
pub use schema::{answers_schema, profile_schema, task_schema};
pub use source::{LARGEST_FILE, SourceError};
