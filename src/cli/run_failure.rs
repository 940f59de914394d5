//! What is said of a run that could not be made, or not be made to its end.

use std::path::PathBuf;

use super::failure::{Failure, Kind, causes};
use crate::{
    engine::{Finding, Missing, RunError},
    model::{SessionId, environment_name},
};

fn kind_of(error: &RunError) -> Kind {
    match error {
        RunError::Store(_) | RunError::Unrecorded { .. } | RunError::Unclaimed { .. } => {
            Kind::StoreUnusable
        }
        RunError::Attempt { .. } | RunError::Runtime(_) => Kind::Internal,
        RunError::PlanTooLarge { .. } | RunError::NotAPlan { .. } | RunError::BadPlan { .. } => {
            Kind::InvalidPlan
        }
        RunError::NotTrue { .. } => Kind::Damaged,
        RunError::NotApproved { .. } | RunError::OtherDigest { .. } => Kind::Undecided,
        RunError::PlanFile { .. }
        | RunError::MissingData { .. }
        | RunError::UnknownDatum(_)
        | RunError::SecretInSight(_)
        | RunError::NulInDatum(_)
        | RunError::NotResumable { .. }
        | RunError::NothingToResume
        | RunError::OtherMachine { .. }
        | RunError::OtherPlan { .. }
        | RunError::PlanLacks { .. }
        | RunError::NoPlan { .. } => Kind::Usage,
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let mut failure = Self::new(kind_of(&error), error.to_string());
        failure.causes = causes(&error);
        match error {
            RunError::Store(error) => return error.into(),
            RunError::Unrecorded { id, source } => {
                let inner = Self::from(*source);
                failure.kind = inner.kind;
                failure.file = inner.file;
                failure.hints = inner.hints;
                failure.hints.push(format!("then: provision resume {id}"));
                failure.session = Some(id);
            }
            RunError::Unclaimed { id, full, .. } => {
                if full {
                    failure.hints.push("make space".into());
                }
                failure.hints.push(format!("nothing of it ran; then: provision resume {id}"));
                failure.session = Some(id);
            }
            RunError::Attempt { id, .. } => {
                failure
                    .hints
                    .push(format!("nothing recorded is lost; then: provision resume {id}"));
                failure.session = Some(id);
            }
            RunError::PlanFile { path, .. } | RunError::PlanTooLarge { path, .. } => {
                failure.file = Some(path);
                failure.hints.push(
                    "name a plan file; `provision schema plan` says what one looks like".into(),
                );
            }
            RunError::NotAPlan { path, .. } => {
                failure.file = Some(path);
                failure.hints.push("`provision schema plan` says what a plan looks like".into());
            }
            RunError::BadPlan { path, problems } => {
                failure.file = Some(path);
                failure.causes = problems.iter().map(ToString::to_string).collect();
                failure.hints.push("`provision schema plan` says what a plan looks like".into());
            }
            RunError::NotApproved { digest, session, .. } => {
                let again = session
                    .map_or("provision apply PLAN".into(), |id| format!("provision resume {id}"));
                failure.hints.push("read what it would run, above; nothing has been run".into());
                failure.hints.push(format!("then: {again} --approve {digest}"));
            }
            RunError::OtherDigest { .. } => {
                failure
                    .hints
                    .push("the plan is not the one that was approved: read it again".into());
            }
            RunError::MissingData { missing } => {
                for datum in &missing {
                    failure.name_missing(datum);
                }
            }
            RunError::SecretInSight(key) => {
                let name = environment_name(&key);
                failure
                    .hints
                    .push(format!("give it with --data-file FILE or PROVISION_DATA_{name}"));
            }
            RunError::NotResumable { id, .. } => {
                failure.hints.push(format!("`provision status {id}` shows how it ended"));
                failure.session = Some(id);
            }
            RunError::NothingToResume => {
                failure.hints.push("`provision sessions` lists the sessions there are".into());
            }
            RunError::OtherMachine { id, .. } => {
                failure.hints.push("run its plan here as a new session".into());
                failure.session = Some(id);
            }
            RunError::NoPlan { id } => {
                failure
                    .hints
                    .push(format!("give it one to go on with: provision resume {id} --plan FILE"));
                failure.session = Some(id);
            }
            RunError::NotTrue { id, path, findings } => failure.say_not_true(id, path, findings),
            RunError::OtherPlan { id, .. } => {
                failure.hints.push("run that plan as a session of its own: provision apply".into());
                failure.session = Some(id);
            }
            RunError::PlanLacks { id, path, .. } => {
                failure.hints.push("give a plan that has every task the session has begun".into());
                failure.file = Some(path);
                failure.session = Some(id);
            }
            RunError::UnknownDatum(_) | RunError::NulInDatum(_) | RunError::Runtime(_) => {}
        }
        failure
    }
}

impl Failure {
    fn say_not_true(&mut self, id: SessionId, path: PathBuf, findings: Vec<Finding>) {
        self.causes.push(format!("the file is `{}`", path.display()));
        self.causes.extend(findings.iter().map(ToString::to_string));
        self.hints.extend(findings.into_iter().filter_map(|finding| finding.hint));
        self.hints.push("nothing was changed; correct what it says, then try again".into());
        self.file = Some(path);
        self.session = Some(id);
    }

    fn name_missing(&mut self, datum: &Missing) {
        let (key, name) = (&datum.key, environment_name(&datum.key));
        let prompt =
            datum.prompt.as_ref().map_or_else(String::new, |prompt| format!(" ({prompt})"));
        self.causes.push(format!("`{key}`{prompt} is missing"));
        self.hints.push(if datum.secret {
            format!("give the secret `{key}` with --data-file FILE or PROVISION_DATA_{name}")
        } else {
            format!(
                "give `{key}` with --data {key}=VALUE, --data-file FILE or PROVISION_DATA_{name}"
            )
        });
    }
}
