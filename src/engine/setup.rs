//! What a task that is done means for those that need it: where its programs are, and what its
//! `env_setup` sets. Found out anew for every command; once, when it is done, for the record.

use std::{collections::HashMap, path::PathBuf};

use serde_json::{Map, Value, json};

use super::{RunError, run::Run};
use crate::{
    exec::COOKIE,
    model::{PlanTask, ProbeKind},
};

/// Every shell has these of its own, and every probe the last.
const OF_EVERY_SHELL: [&str; 5] = ["PWD", "OLDPWD", "SHLVL", "_", COOKIE];
/// The longest value that is worth a place in the record.
const LONGEST: usize = 4096;

impl Run<'_> {
    /// What the record says of it; `None` for a task that changes nothing for others.
    pub(super) async fn what_it_sets(&self, task: &PlanTask) -> Result<Option<Value>, RunError> {
        let own = task.path.iter().map(|place| self.around.environment.expand(place));
        let mut path: Vec<PathBuf> = own.collect();
        let mut variables = Map::new();
        if task.env_setup.is_some() {
            let first = self.path_of(task);
            let before: HashMap<_, _> =
                self.around.environment.variables(&first, []).into_iter().collect();
            let output = self.resolved(task).await?;
            for (name, value) in assignments(&output) {
                if before.get(name) == Some(&value) || OF_EVERY_SHELL.contains(&name) {
                    continue;
                }
                if name == "PATH" {
                    let known = self.around.environment.search_path(&first);
                    path.extend(std::env::split_paths(&value).filter(|p| !known.contains(p)));
                } else if is_private(name) {
                    variables.insert(name.into(), "(set)".into());
                } else if value.len() <= LONGEST {
                    variables.insert(name.into(), value.into());
                }
            }
        }
        let path: Vec<_> = path.iter().map(|place| place.to_string_lossy()).collect();
        let says_something = !path.is_empty() || !variables.is_empty();
        Ok(says_something.then(|| json!({"path": path, "variables": variables})))
    }

    /// All variables as a command of someone who needs the task would have them.
    async fn resolved(&self, task: &PlanTask) -> Result<String, RunError> {
        let seen = self.probe(task, ProbeKind::Environment, "env -0", |_| Ok(())).await?;
        if let Some(error) = &seen.error {
            self.note(&format!("what {} sets up cannot be found out: {error}", task.id));
            return Ok(String::new());
        }
        Ok(seen.output)
    }
}

/// `NAME=value`, one after the other.
fn assignments(output: &str) -> impl Iterator<Item = (&str, String)> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let pairs = output.split('\0').filter_map(|entry| entry.split_once('='));
    pairs.filter(move |(name, _)| is_name(name)).map(|(name, value)| (name, value.to_owned()))
}

/// Whether a variable is likely to hold what nobody else should read.
fn is_private(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "_KEY"].iter().any(|w| name.contains(w))
}

#[cfg(test)]
mod tests {
    use super::{assignments, is_private};

    #[test]
    fn a_value_may_have_lines() {
        let found: Vec<_> =
            assignments("A=1\0B=two\nC=lines\0BASH_FUNC_x%%=() {\n}\0D==\0").collect();
        let b = "two\nC=lines".to_owned();
        assert_eq!(found, [("A", "1".to_owned()), ("B", b), ("D", "=".to_owned())]);
    }

    #[test]
    fn what_looks_private_is_told_apart() {
        assert!(is_private("GITHUB_TOKEN") && is_private("aws_secret_access_key"));
        assert!(!is_private("NVM_DIR") && !is_private("KEYBOARD"));
    }
}
