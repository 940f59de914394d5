//! What is said of a run that could not be made, or not be made to its end.

use std::path::PathBuf;

use super::failure::{Failure, Kind, causes};
use crate::{
    engine::{Finding, Missing, NotForced, RunError, Unanswered, Unready},
    face::plural,
    model::{SessionId, SessionStatus, environment_name},
};

fn kind_of(error: &RunError) -> Kind {
    match error {
        RunError::Store(_) | RunError::Unrecorded { .. } | RunError::Unclaimed { .. } => {
            Kind::StoreUnusable
        }
        RunError::Attempt { .. } | RunError::Runtime(_) | RunError::Walk(_) => Kind::Internal,
        RunError::PlanTooLarge { .. } | RunError::NotAPlan { .. } | RunError::BadPlan { .. } => {
            Kind::InvalidPlan
        }
        RunError::NotTrue { .. } => Kind::Damaged,
        RunError::Catalog(_) => Kind::InvalidCatalog,
        RunError::NotApproved { .. }
        | RunError::OtherDigest { .. }
        | RunError::PlanChanged { .. }
        | RunError::PlanEdited { .. }
        | RunError::Interrupted
        | RunError::ChangedMeanwhile { .. }
        | RunError::SetUpMeanwhile
        | RunError::Unanswered { .. }
        | RunError::Unreviewed { .. }
        | RunError::NotForced { source: NotForced::Unforceable { .. }, .. } => Kind::Undecided,
        RunError::NeedsRoot { .. } => Kind::InvalidPlan,
        RunError::Unready(unready) if unready.is_hopeless() => Kind::InvalidCatalog,
        RunError::PlanFile { .. }
        | RunError::Unready(_)
        | RunError::NothingToApprove { .. }
        | RunError::NotForced { source: NotForced::NothingInTheWay(_), .. }
        | RunError::MissingData { .. }
        | RunError::UnknownDatum(_)
        | RunError::SecretInSight(_)
        | RunError::DatumFixed(_)
        | RunError::NulInDatum(_)
        | RunError::NotResumable { .. }
        | RunError::NotExpandable { .. }
        | RunError::NotOverridable { .. }
        | RunError::NotInCatalog { .. }
        | RunError::NotFromThere { .. }
        | RunError::NotRevisable { .. }
        | RunError::NothingToAdopt
        | RunError::NothingToExpand
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
            error @ (RunError::PlanFile { .. }
            | RunError::PlanTooLarge { .. }
            | RunError::NotAPlan { .. }
            | RunError::BadPlan { .. }) => failure.say_bad_plan(error),
            RunError::Unready(unready) => failure.say_unready(*unready),
            error @ (RunError::NotApproved { .. }
            | RunError::OtherDigest { .. }
            | RunError::PlanChanged { .. }
            | RunError::PlanEdited { .. }
            | RunError::NothingToApprove { .. }
            | RunError::NotForced { .. }) => failure.say_not_approved(error),
            RunError::Unanswered { id, .. } => failure.say_unanswered(id),
            RunError::Catalog(_) => {
                failure.hints.push("`provision catalog validate` finds every mistake".into());
            }
            RunError::NeedsRoot { .. } => {
                failure
                    .hints
                    .push("nothing was changed; install sudo as root, or run this as root".into());
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
            error @ (RunError::NotResumable { .. }
            | RunError::NotExpandable { .. }
            | RunError::NotInCatalog { .. }
            | RunError::NotRevisable { .. }
            | RunError::NotOverridable { .. }
            | RunError::NotFromThere { .. }
            | RunError::ChangedMeanwhile { .. }
            | RunError::OtherMachine { .. }
            | RunError::Unreviewed { .. }
            | RunError::NothingToResume
            | RunError::NothingToAdopt
            | RunError::SetUpMeanwhile
            | RunError::NothingToExpand) => failure.say_not_so(error),
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
            RunError::DatumFixed(_) => {
                failure.hints.push("leave it away, or make another plan with that value".into());
            }
            RunError::UnknownDatum(_)
            | RunError::Interrupted
            | RunError::NulInDatum(_)
            | RunError::Walk(_)
            | RunError::Runtime(_) => {}
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

    /// A plan that is not what was approved, or a gate that stays shut.
    fn say_not_approved(&mut self, error: RunError) {
        match error {
            RunError::NotApproved { digest, session, .. } => {
                let again = session
                    .map_or("provision apply PLAN".into(), |id| format!("provision resume {id}"));
                self.hints.push("read what it would run, above; nothing has been run".into());
                self.hints.push(format!("then: {again} --approve {}", digest.beginning()));
            }
            RunError::OtherDigest { approved, found } => {
                let is_short = found.as_str().starts_with(&approved.to_ascii_lowercase());
                self.hints.push(if is_short {
                    "give at least its first 6 digits".into()
                } else {
                    "the plan is not the one that was approved: read it again".into()
                });
            }
            RunError::PlanChanged { id, difference, now } => {
                self.causes = difference;
                self.hints.push(match now {
                    Some(now) => format!(
                        "read what has changed; then: provision resume {id} --approve {}",
                        now.beginning()
                    ),
                    None => "mend the catalog, or start anew".into(),
                });
                self.session = Some(id);
            }
            RunError::PlanEdited { id, path, difference } => {
                self.causes = difference;
                self.hints.push(
                    "nothing of it was run; `-` is what was shown, `+` what the file says now"
                        .into(),
                );
                self.hints.push(format!(
                    "put the file back, or give a copy: provision resume {id} --plan FILE"
                ));
                self.file = Some(path);
                self.session = Some(id);
            }
            RunError::NothingToApprove { id, .. } => {
                self.hints.push(format!("`provision status {id}` says what comes next"));
                self.session = Some(id);
            }
            RunError::NotForced { id, source } => {
                if let NotForced::Unforceable { gate, .. } = source {
                    self.hints.push(match gate.as_str() {
                        "tasks_settled" => format!("provision resume {id} goes on with them"),
                        _ => format!("approve its plan: provision approve {id} DIGEST"),
                    });
                }
                self.session = Some(id);
            }
            _ => {}
        }
    }

    fn say_bad_plan(&mut self, error: RunError) {
        let mut hint = "`provision schema plan` says what a plan looks like";
        let path = match error {
            RunError::PlanFile { path, .. } | RunError::PlanTooLarge { path, .. } => {
                hint = "name a plan file; `provision schema plan` says what one looks like";
                path
            }
            RunError::BadPlan { path, problems } => {
                self.causes = problems.iter().map(ToString::to_string).collect();
                path
            }
            RunError::NotAPlan { path, .. } => path,
            _ => return,
        };
        self.file = Some(path);
        self.hints.push(hint.into());
    }

    /// What cannot be done with a session as it stands.
    fn say_not_so(&mut self, error: RunError) {
        match error {
            RunError::NotExpandable { id, .. } => {
                self.hints.push(format!("`provision resume {id}` goes on with it"));
                self.session = Some(id);
            }
            RunError::NotInCatalog { id, .. } => {
                self.hints.push("add them to a catalog of your own: --catalog DIR".into());
                self.hints.push(format!("or give a plan: provision resume {id} --plan FILE"));
                self.session = Some(id);
            }
            RunError::NotRevisable { id, .. }
            | RunError::NotOverridable { id, .. }
            | RunError::NotFromThere { id, .. }
            | RunError::ChangedMeanwhile { id } => {
                self.hints.push(format!("`provision status {id}` says where it stands"));
                self.session = Some(id);
            }
            RunError::NotResumable { id, status } => {
                if status == SessionStatus::Completed {
                    self.hints.push(format!("`provision expand {id}` adds to it"));
                }
                self.hints.push(format!("`provision status {id}` shows how it ended"));
                self.session = Some(id);
            }
            RunError::SetUpMeanwhile => {
                self.hints.push("`provision audit --adopt` looks again, and asks again".into());
            }
            RunError::NothingToExpand | RunError::NothingToAdopt => {
                self.hints.push("`provision start` begins one".into());
                self.hints.push("`provision sessions` lists the sessions there are".into());
            }
            RunError::NothingToResume => {
                self.hints.push("`provision sessions` lists the sessions there are".into());
            }
            RunError::Unreviewed { id } => {
                self.hints.push(format!("provision resume {id}, on a terminal"));
                self.hints.push(format!("provision resume {id} --yes runs the rest unseen"));
                self.session = Some(id);
            }
            RunError::OtherMachine { id, .. } => {
                self.hints.push(format!("`provision expand {id}` sets up the same here"));
                self.session = Some(id);
            }
            _ => {}
        }
    }

    fn say_unanswered(&mut self, id: SessionId) {
        self.hints.push(format!("on a terminal: provision resume {id}"));
        self.hints.push("or begin anew, with answers: provision start --help".into());
        self.session = Some(id);
    }

    fn say_unready(&mut self, unready: Unready) {
        let Unready { mistakes, problems, catalog, missing } = unready;
        self.message = match (mistakes.as_slice(), problems.len() + catalog.len(), missing.len()) {
            (_, count @ 1.., _) => format!("no plan can be made, for {}", plural(count, "reason")),
            ([], 0, count) => format!("{} missing", are(count, "answer")),
            ([mistake], ..) => mistake.message.clone(),
            (mistakes, ..) => {
                format!("there are {} in what was given", plural(mistakes.len(), "mistake"))
            }
        };
        for mistake in mistakes {
            match (mistake.message == self.message, mistake.hint) {
                (true, hint) => self.hints.extend(hint),
                // Of several it must be seen which one a hint is for.
                (false, Some(hint)) => self.causes.push(format!("{}; {hint}", mistake.message)),
                (false, None) => self.causes.push(mistake.message),
            }
        }
        for problem in &problems {
            self.causes.push(problem.to_string());
            self.hints.extend(problem.hint());
        }
        self.causes.extend(catalog);
        for Unanswered { id, question, how } in missing {
            self.causes.push(format!("`{id}` is not answered: {question}"));
            self.hints.push(format!("`{id}`: {how}"));
        }
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

/// `1 answer is`, `2 answers are`.
fn are(count: usize, noun: &str) -> String {
    format!("{} {}", plural(count, noun), if count == 1 { "is" } else { "are" })
}
