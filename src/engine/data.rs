//! User data: from wherever it was given to the environment of commands. Secrets are kept in
//! memory only.

use indexmap::IndexMap;

use super::{Missing, RunError};
use crate::{
    exec::SHORTEST_SECRET,
    model::{Document, Plan, PlanTask, environment_name},
};

/// What was given for this run, by key, and where.
#[derive(Clone, Default)]
pub struct GivenData {
    /// Everyone on the machine can read it there: no place for secrets.
    pub command_line: IndexMap<String, String>,
    pub file: IndexMap<String, String>,
    /// By the name that commands know it by.
    pub environment: IndexMap<String, String>,
}

impl std::fmt::Debug for GivenData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GivenData").finish_non_exhaustive()
    }
}

impl GivenData {
    fn get(&self, key: &str) -> Option<&String> {
        let elsewhere = || self.environment.get(&environment_name(key));
        self.named(key).or_else(elsewhere)
    }

    /// What was given under this very name, and for this run.
    fn named(&self, key: &str) -> Option<&String> {
        self.command_line.get(key).or_else(|| self.file.get(key))
    }
}

/// Whether a task that is not there yet may ask for a secret.
fn is_needed(key: &str, plan: &Plan, session: Option<&Document>) -> bool {
    let asks = |task: &&PlanTask| task.secrets.iter().any(|secret| secret == key);
    let is_done = |task: &PlanTask| {
        let record = session.and_then(|session| session.tasks.get(&task.id));
        record.map_or(task.found.is_some(), |record| record.status.is_settled())
    };
    let mut asking = plan.tasks.iter().filter(asks).peekable();
    asking.peek().is_none() || !asking.all(is_done)
}

/// Every value that a plan's commands are told.
#[derive(Clone, Default)]
pub(super) struct UserData {
    values: Vec<(String, String)>,
    secrets: Vec<(String, String)>,
}

impl std::fmt::Debug for UserData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserData").finish_non_exhaustive()
    }
}

impl UserData {
    /// A value of the plan is part of what was approved: it stays. For the others, what was given now
    /// counts before what the session recorded. Everything that is missing is named at once.
    pub(super) fn gather(
        plan: &Plan,
        session: Option<&Document>,
        given: &GivenData,
    ) -> Result<Self, RunError> {
        let mut named = given.command_line.keys().chain(given.file.keys());
        if let Some(key) = named.find(|key| !plan.user_data.contains_key(*key)) {
            return Err(RunError::UnknownDatum(key.clone()));
        }
        let is_secret = |key: &&String| plan.user_data.get(*key).is_some_and(|datum| datum.secret);
        if let Some(key) = given.command_line.keys().find(is_secret) {
            return Err(RunError::SecretInSight(key.clone()));
        }
        let mut data = Self::default();
        let mut missing = Vec::new();
        for (key, datum) in &plan.user_data {
            let recorded = || session?.user_data.get(key)?.as_str().map(str::to_owned);
            if let (Some(fixed), Some(other)) = (&datum.value, given.named(key))
                && fixed != other
            {
                return Err(RunError::DatumFixed(key.clone()));
            }
            let value = match (&datum.value, given.get(key)) {
                (Some(fixed), _) => Some(fixed.clone()),
                (None, Some(value)) => Some(value.clone()),
                (None, None) if datum.secret => None,
                (None, None) => recorded(),
            };
            match value {
                Some(value) if value.contains('\0') => {
                    return Err(RunError::NulInDatum(key.clone()));
                }
                Some(value) if datum.secret => data.secrets.push((key.clone(), value)),
                Some(value) => data.values.push((key.clone(), value)),
                None if datum.secret && !is_needed(key, plan, session) => {}
                None => missing.push(Missing {
                    key: key.clone(),
                    secret: datum.secret,
                    prompt: datum.prompt.clone(),
                }),
            }
        }
        if missing.is_empty() { Ok(data) } else { Err(RunError::MissingData { missing }) }
    }

    /// What a plan says itself, and secrets from elsewhere.
    pub(super) fn of(plan: &Plan, secrets: IndexMap<String, String>) -> Self {
        let values = plan.user_data.iter();
        let values = values.filter_map(|(key, datum)| Some((key.clone(), datum.value.clone()?)));
        Self { values: values.collect(), secrets: secrets.into_iter().collect() }
    }

    /// What may be written down.
    pub(super) fn recorded(&self) -> &[(String, String)] {
        &self.values
    }

    /// What must not appear in any output.
    pub(super) fn secrets(&self) -> Vec<String> {
        self.secrets.iter().map(|(_, value)| value.clone()).collect()
    }

    /// Keys of secrets that are too short to be kept out of the output.
    pub(super) fn too_short(&self) -> impl Iterator<Item = &str> {
        let short = self.secrets.iter().filter(|(_, value)| value.len() < SHORTEST_SECRET);
        short.map(|(key, _)| key.as_str())
    }

    /// As commands find it.
    pub(super) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let all = self.values.iter().chain(&self.secrets);
        all.map(|(key, value)| (environment_name(key), value.clone()))
    }
}
