//! What a task that is done means for those that need it: where its programs are, and what its
//! `env_setup` sets. Found out anew for every command; once, when it is done, for the record.

use std::{collections::HashMap, path::PathBuf};

use serde_json::{Map, Value, json};

use super::{RunError, run::Run};
use crate::model::{PlanTask, ProbeKind};

/// Every shell has these of its own.
const OF_EVERY_SHELL: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];
/// The longest value that is worth a place in the record.
const LONGEST: usize = 4096;

impl Run<'_> {
    /// What the record says of it; `None` for a task that changes nothing for others.
    pub(super) async fn what_it_sets(
        &mut self,
        task: &PlanTask,
    ) -> Result<Option<Value>, RunError> {
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
    async fn resolved(&mut self, task: &PlanTask) -> Result<String, RunError> {
        let seen = self.probe(task, ProbeKind::Environment, "env", |_| Ok(())).await?;
        if let Some(error) = &seen.error {
            self.note(&format!("what {} sets up cannot be found out: {error}", task.id));
            return Ok(String::new());
        }
        Ok(seen.output)
    }
}

/// `NAME=value` line by line; a line that begins no such thing goes on with the one before.
fn assignments(output: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in output.lines() {
        let is_name = |name: &str| {
            !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match (line.split_once('=').filter(|(name, _)| is_name(name)), found.last_mut()) {
            (Some((name, value)), _) => found.push((name, value.to_owned())),
            (None, Some((_, value))) => {
                value.push('\n');
                value.push_str(line);
            }
            (None, None) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::assignments;

    #[test]
    fn a_value_may_have_lines() {
        let found = assignments("A=1\nB=two\n lines\nBASH_FUNC_x%%=() {\n}\nC==\n");
        let b = "two\n lines\nBASH_FUNC_x%%=() {\n}".to_owned();
        assert_eq!(found, [("A", "1".to_owned()), ("B", b), ("C", "=".to_owned())]);
    }
}
