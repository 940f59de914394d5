//! `provision recover`

use std::process::ExitCode;

use serde_json::json;

use super::{
    args::{Place, RecoverArgs},
    ask,
    failure::{Failure, Kind},
    output,
    settings::Settings,
};
use crate::{
    engine::{self, BY_HAND, Prospect, RecoverError, Recovered, ResumeAt},
    face,
    model::{ApprovedBy, Plan, SessionId},
};

pub(super) fn run(settings: &Settings, args: &RecoverArgs) -> Result<ExitCode, Failure> {
    let around = settings.surroundings()?;
    let id = around.store.resolve(&args.session)?;
    let by_hand = args.resume_at.is_some() || args.plan.is_some();
    let level = match args.level {
        Some(level) if by_hand && level != BY_HAND => return Err(only_by_hand(level)),
        level => level.or(by_hand.then_some(BY_HAND)),
    };
    let plan = args.plan.as_deref().map(engine::read_plan).transpose()?.map(|(plan, _)| plan);
    let Some(prospect) = engine::prospect(&around.store, &id, level, plan)? else {
        return whole(settings, &id);
    };
    let unread = settings.json || (settings.quiet && args.yes);
    if !unread {
        output::talk(&face::prospect_text(&id, &prospect));
    }
    let recovered = if prospect.level == BY_HAND {
        let no_plan = || RecoverError::NoPlan { id: id.clone() };
        let plan = prospect.plan.as_ref().ok_or_else(no_plan)?;
        let Some((at, approved_by)) = place_by_hand(settings, &id, args, plan)? else {
            return Err(undecided(settings, &id, &prospect));
        };
        engine::recover_by_hand(&around, &id, plan, &at, approved_by)?
    } else {
        if !(args.yes || ask::can_ask(settings) && ask::confirm(settings, "Do it?")) {
            return Err(undecided(settings, &id, &prospect));
        }
        engine::recover(&around, &id, prospect.level)?
    };
    match recovered {
        Some(recovered) => show(settings, &id, &recovered),
        // Someone else did it meanwhile.
        None => whole(settings, &id),
    }
}

fn only_by_hand(level: u8) -> Failure {
    let message = format!("--resume-at and --plan are for level 3, not for level {level}");
    Failure::new(Kind::Usage, message).hint("omit --level, or the options of level 3")
}

fn whole(settings: &Settings, id: &SessionId) -> Result<ExitCode, Failure> {
    if settings.json {
        output::json_document(&json!({"session_id": id, "level": 0, "damage": []}))?;
    } else {
        output::data(&format!("{id}: nothing is wrong with its record\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the session is to go on, as a person says.
fn place_by_hand(
    settings: &Settings,
    id: &SessionId,
    args: &RecoverArgs,
    plan: &Plan,
) -> Result<Option<(ResumeAt, ApprovedBy)>, Failure> {
    let at = match &args.resume_at {
        Some(Place(at)) => {
            engine::check_place(id, plan, at)?;
            at.clone()
        }
        None => match ask_for_place(settings, id, plan) {
            Some(at) => at,
            None => return Ok(None),
        },
    };
    // What follows runs without another question: it is an approval of the plan that was listed.
    if args.yes {
        return Ok(Some((at, ApprovedBy::Unattended)));
    }
    let question = format!("Go on at {}:{} of this plan?", at.task_id, at.command_index);
    let agreed = ask::can_ask(settings) && ask::confirm(settings, &question);
    Ok(agreed.then_some((at, ApprovedBy::User)))
}

/// Asks until there is such a place, or nobody answers.
fn ask_for_place(settings: &Settings, id: &SessionId, plan: &Plan) -> Option<ResumeAt> {
    while ask::can_ask(settings) {
        let text =
            ask::line(settings, "Resume at which of them (TASK or TASK:N; nothing leaves it)")?;
        let place = text.parse().and_then(|Place(at)| {
            engine::check_place(id, plan, &at).map_err(|error| error.to_string())?;
            Ok(at)
        });
        match place {
            Ok(at) => return Some(at),
            Err(why) => output::talk(&format!("{}\n", face::visible(&why))),
        }
    }
    None
}

fn show(settings: &Settings, id: &SessionId, recovered: &Recovered) -> Result<ExitCode, Failure> {
    let session = &recovered.session;
    if settings.json {
        let aside: Vec<_> = recovered.set_aside.iter().map(|path| path.to_string_lossy()).collect();
        output::json_document(&json!({
            "session_id": id,
            "level": recovered.level,
            "done": recovered.done,
            "lost": recovered.lost,
            "set_aside": aside,
            "status": session.meta.status,
            "resume_point": session.resume_point,
        }))?;
    } else {
        output::data(&face::recovered_text(recovered))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn undecided(settings: &Settings, id: &SessionId, prospect: &Prospect) -> Failure {
    let message = format!("the record of session {id} was not recovered: that is for you to say");
    // A person has just read it.
    if settings.json {
        // Whoever does not read it needs it no less to decide.
        let _ = output::json_document(&face::prospect_json(id, prospect));
    }
    let again = match prospect.level {
        BY_HAND => format!("provision recover {id} --level 3 --resume-at TASK[:N] --yes"),
        level => format!("provision recover {id} --level {level} --yes"),
    };
    Failure::new(Kind::Undecided, message)
        .hint("nothing was changed")
        .hint(again)
        .session(id.clone())
}

impl From<RecoverError> for Failure {
    fn from(error: RecoverError) -> Self {
        let kind = match &error {
            RecoverError::NoLevel { .. }
            | RecoverError::NoPlace { .. }
            | RecoverError::OtherPlan { .. } => Kind::Usage,
            RecoverError::StillRunning { .. } => Kind::Locked,
            RecoverError::NoPlan { .. } => Kind::Damaged,
            RecoverError::Store(_) => Kind::StoreUnusable,
        };
        let failure = Self::of(kind, &error);
        match error {
            RecoverError::Store(error) => error.into(),
            RecoverError::NoLevel { id, why, .. } => failure
                .cause(why)
                .hint(format!("`provision recover {id}` says what can be done"))
                .session(id),
            RecoverError::StillRunning { id, .. } => {
                failure.hint("wait until it has ended, or end it; then try again").session(id)
            }
            RecoverError::NoPlan { id } => failure
                .hint(format!(
                    "give it one: provision recover {id} --plan FILE; or correct the document by hand"
                ))
                .session(id),
            RecoverError::OtherPlan { id, .. } => {
                failure.hint("give the one it has approved with --plan FILE").session(id)
            }
            RecoverError::NoPlace { id, .. } => failure
                .hint(format!("`provision recover {id} --level 3` lists its commands"))
                .session(id),
        }
    }
}
