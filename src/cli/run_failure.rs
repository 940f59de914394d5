//! What is said of a run that could not be made, or not be made to its end.

use super::failure::{Failure, Kind};
use crate::{
    engine::{Missing, NotForced, RunError, Unanswered, Unready},
    face::plural,
    model::{SessionStatus, environment_name},
};

const PLAN_SCHEMA: &str = "`provision schema plan` prints the format of a plan";

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
        let failure = Self::of(kind_of(&error), &error);
        match error {
            RunError::Store(error) => error.into(),
            RunError::Unrecorded { id, source } => {
                let Self { kind, hints, file, .. } = Self::from(*source);
                let failure = Self { kind, hints, file, ..failure };
                failure.hint(format!("then: provision resume {id}")).session(id)
            }
            RunError::Unclaimed { id, full, .. } => failure
                .hints(full.then(|| "make space".into()))
                .hint(format!("nothing of it ran; then: provision resume {id}"))
                .session(id),
            RunError::Attempt { id, .. } => failure
                .hint(format!("nothing recorded is lost; then: provision resume {id}"))
                .session(id),
            RunError::Unready(unready) => failure.unready(*unready),
            RunError::Catalog(_) => {
                failure.hint("`provision catalog validate` finds every mistake")
            }
            RunError::NeedsRoot { .. } => {
                failure.hint("nothing was changed; install sudo as root, or run this as root")
            }
            RunError::MissingData { missing } => missing.iter().fold(failure, Self::missing),
            RunError::SecretInSight(key) => {
                let name = environment_name(&key);
                failure.hint(format!("give it with --data-file FILE or PROVISION_DATA_{name}"))
            }
            RunError::DatumFixed(_) => failure.hint("omit it, or create a plan with that value"),
            RunError::SetUpMeanwhile => {
                failure.hint("`provision audit --adopt` looks again, and asks again")
            }
            RunError::NothingToExpand | RunError::NothingToAdopt => failure
                .hint("`provision start` begins one")
                .hint("`provision sessions` lists the sessions there are"),
            RunError::NothingToResume => {
                failure.hint("`provision sessions` lists the sessions there are")
            }
            error => failure.about_plan(error),
        }
    }
}

impl Failure {
    /// Adds the next command for a plan that is unreadable or not the approved plan.
    fn about_plan(self, error: RunError) -> Self {
        match error {
            RunError::PlanFile { path, .. } | RunError::PlanTooLarge { path, .. } => self
                .file(path)
                .hint("name a plan file; `provision schema plan` prints its format"),
            RunError::NotAPlan { path, .. } => self.file(path).hint(PLAN_SCHEMA),
            RunError::BadPlan { path, problems } => {
                self.causes(problems.iter().map(ToString::to_string)).file(path).hint(PLAN_SCHEMA)
            }
            RunError::NotApproved { digest, session, .. } => {
                let again = session
                    .map_or("provision apply PLAN".into(), |id| format!("provision resume {id}"));
                self.hint("read the plan above; nothing has run")
                    .hint(format!("then: {again} --approve {}", digest.beginning()))
            }
            RunError::OtherDigest { approved, found } => {
                let is_short = found.as_str().starts_with(&approved.to_ascii_lowercase());
                self.hint(if is_short {
                    "give at least its first 6 digits"
                } else {
                    "the plan is not the one that was approved: read it again"
                })
            }
            RunError::PlanChanged { id, difference, now } => self
                .causes(difference)
                .hint(match now {
                    Some(now) => format!(
                        "read the changes; then: provision resume {id} --approve {}",
                        now.beginning()
                    ),
                    None => "repair the catalog, or start a new session".into(),
                })
                .session(id),
            RunError::PlanEdited { id, path, difference } => self
                .causes(difference)
                .hint("nothing of it was run; `-` marks the plan that was shown, `+` the file as it is now")
                .hint(format!(
                    "put the file back, or give a copy: provision resume {id} --plan FILE"
                ))
                .file(path)
                .session(id),
            RunError::NoPlan { id } => self
                .hint(format!("resume it with a plan file: provision resume {id} --plan FILE"))
                .session(id),
            RunError::OtherPlan { id, .. } => {
                self.hint("run that plan as a session of its own: provision apply").session(id)
            }
            RunError::PlanLacks { id, path, .. } => self
                .hint("give a plan that has every task the session has begun")
                .file(path)
                .session(id),
            error => self.about_session(error),
        }
    }

    /// Adds the next command for a session whose state does not allow this one.
    fn about_session(self, error: RunError) -> Self {
        match error {
            RunError::NothingToApprove { id, .. } => {
                self.hint(format!("`provision status {id}` shows the next step")).session(id)
            }
            RunError::NotForced { id, source } => {
                let hint = match source {
                    NotForced::Unforceable { gate, .. } if gate == "tasks_settled" => {
                        Some(format!("provision resume {id} resumes them"))
                    }
                    NotForced::Unforceable { .. } => {
                        Some(format!("approve its plan: provision approve {id} DIGEST"))
                    }
                    NotForced::NothingInTheWay(_) => None,
                };
                self.hints(hint).session(id)
            }
            RunError::NotTrue { id, path, findings } => self
                .cause(format!("the file is `{}`", path.display()))
                .causes(findings.iter().map(ToString::to_string))
                .hints(findings.into_iter().filter_map(|finding| finding.hint))
                .hint("nothing was changed; correct the file, then try again")
                .file(path)
                .session(id),
            RunError::Unanswered { id, .. } => self
                .hint(format!("on a terminal: provision resume {id}"))
                .hint("or start a new session with answers: provision start --help")
                .session(id),
            RunError::NotExpandable { id, .. } => {
                self.hint(format!("`provision resume {id}` resumes it")).session(id)
            }
            RunError::NotInCatalog { id, .. } => self
                .hint("add them to a catalog of your own: --catalog DIR")
                .hint(format!("or give a plan: provision resume {id} --plan FILE"))
                .session(id),
            RunError::NotRevisable { id, .. }
            | RunError::NotOverridable { id, .. }
            | RunError::NotFromThere { id, .. }
            | RunError::ChangedMeanwhile { id } => {
                self.hint(format!("`provision status {id}` says where it stands")).session(id)
            }
            RunError::NotResumable { id, status } => {
                let expand = (status == SessionStatus::Completed)
                    .then(|| format!("`provision expand {id}` adds to it"));
                self.hints(expand)
                    .hint(format!("`provision status {id}` shows how it ended"))
                    .session(id)
            }
            RunError::Unreviewed { id } => self
                .hint(format!("provision resume {id}, on a terminal"))
                .hint(format!("provision resume {id} --yes runs the rest unseen"))
                .session(id),
            RunError::OtherMachine { id, .. } => {
                self.hint(format!("`provision expand {id}` sets up the same here")).session(id)
            }
            _ => self,
        }
    }

    fn unready(mut self, unready: Unready) -> Self {
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
        self
    }

    fn missing(self, datum: &Missing) -> Self {
        let (key, name) = (&datum.key, environment_name(&datum.key));
        let prompt =
            datum.prompt.as_ref().map_or_else(String::new, |prompt| format!(" ({prompt})"));
        self.cause(format!("`{key}`{prompt} is missing")).hint(if datum.secret {
            format!("give the secret `{key}` with --data-file FILE or PROVISION_DATA_{name}")
        } else {
            format!(
                "give `{key}` with --data {key}=VALUE, --data-file FILE or PROVISION_DATA_{name}"
            )
        })
    }
}

/// `1 answer is`, `2 answers are`.
fn are(count: usize, noun: &str) -> String {
    format!("{} {}", plural(count, noun), if count == 1 { "is" } else { "are" })
}
