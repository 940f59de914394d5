//! `provision revise`: another answer after all, and what it comes to before it is confirmed.

use std::process::ExitCode;

use serde_json::json;

use super::{
    failure::{Failure, Kind},
    output,
    run::{self, say_goodbye, watcher, wishes},
    settings::Settings,
    start, walk,
    walk_args::{ReviseArgs, WalkArgs},
};
use crate::{
    engine::{self, Revised, Revision, STACK_TYPE, Surroundings},
    face,
    model::{SessionId, TaskId},
};

pub(super) fn run(settings: &Settings, args: ReviseArgs) -> Result<ExitCode, Failure> {
    let ReviseArgs { session, profile, choice, reason, reviewed, mut run } = args;
    let mut around = settings.surroundings()?;
    let data = std::mem::take(&mut run.data);
    let mut wishes = wishes(settings, run)?;
    let named = session.as_deref();
    let Some(id) = run::which_session(settings, &around, named, wishes.attended)? else {
        return Ok(walk::nothing_begun());
    };
    if reviewed {
        return say_reviewed(settings, &around, &id);
    }
    let walk = WalkArgs { profile, choice, mode: None };
    let mut request = start::request(walk, &data)?;
    // The choice that holds the stack is answered with a profile.
    if let Some(stack) = request.answers.shift_remove(STACK_TYPE) {
        request.profile.get_or_insert(stack);
    }
    let recorded = around.store.load(&id)?.session.profile.catalogs.clone();
    around.layers = around.layers.or_recorded(&recorded);
    let catalog = engine::load_catalog(&around, &around.layers)?;
    if wishes.attended {
        let asks = request.is_empty();
        return walk::attend(settings, &around, &catalog, Some(request), wishes, |walker| {
            walker.revise(&id, asks, reason)
        });
    }
    let Some(revision) = engine::revision(&around, &catalog, &id, &request, reason)? else {
        return say_nothing_changes(settings, &id);
    };
    for note in &revision.notes {
        output::note(settings, note);
    }
    if wishes.approval.is_none() {
        return Err(preview(settings, &revision)?);
    }
    if !settings.json && !settings.quiet {
        output::talk(&face::revision_text(&revision));
    }
    // What was given is in the plan by now; secrets are only here.
    wishes.data = request.data;
    wishes.data.command_line.clear();
    wishes.data.file.retain(|key, _| {
        let known = revision.plan.user_data.get(key);
        known.is_some_and(|datum| datum.secret)
    });
    let revised = revision.carry_out(&around, None, &wishes, &mut watcher(settings));
    settings.screen.end();
    match revised? {
        Revised::Ended(ended) => Ok(say_goodbye(settings, &around, &ended)),
        Revised::ForReview(tasks) => say_for_review(settings, &id, &tasks),
    }
}

/// What it would come to; somebody has to confirm it.
fn preview(settings: &Settings, revision: &Revision) -> Result<Failure, Failure> {
    if settings.json {
        output::json_document(&face::revision_json(revision))?;
    } else {
        output::data(&face::revision_text(revision))?;
        if revision.needs_approval() {
            output::data(&format!("\n{}", face::plan_text(&revision.plan, false)))?;
        }
    }
    let id = &revision.session_id;
    let digest = revision.digest.beginning();
    let hint = if revision.is_only_words() {
        format!("the same with --approve {digest} marks the tasks for review")
    } else {
        format!("the same with --approve {digest} confirms it and goes on")
    };
    let message = format!("session {id} is not revised yet: nothing is changed");
    Ok(Failure::new(Kind::Undecided, message).hint(hint).session(id.clone()))
}

fn say_nothing_changes(settings: &Settings, id: &SessionId) -> Result<ExitCode, Failure> {
    if settings.json {
        output::json_document(&json!({"session_id": id, "impact": null}))?;
    } else {
        output::data(&format!("nothing of {id} would be otherwise: it is left as it is\n"))?;
        output::talk("hint: --answer QUESTION=ANSWER, --profile, --add and --without change it\n");
    }
    Ok(ExitCode::SUCCESS)
}

fn say_for_review(
    settings: &Settings,
    id: &SessionId,
    tasks: &[TaskId],
) -> Result<ExitCode, Failure> {
    if settings.json {
        output::json_document(
            &json!({"session_id": id, "impact": "minor", "needs_review": tasks}),
        )?;
    } else {
        output::data(&format!("marked for review: {}\n", face::comma_list(tasks)))?;
        output::talk(&format!(
            "hint: `provision revise {id} --reviewed` once you have looked at them\n"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn say_reviewed(
    settings: &Settings,
    around: &Surroundings,
    id: &SessionId,
) -> Result<ExitCode, Failure> {
    let tasks = engine::reviewed(around, id)?;
    if settings.json {
        output::json_document(&json!({"session_id": id, "reviewed": tasks}))?;
    } else if tasks.is_empty() {
        output::data(&format!("nothing of {id} was marked for review\n"))?;
    } else {
        output::data(&format!("reviewed: {}\n", face::comma_list(&tasks)))?;
    }
    Ok(ExitCode::SUCCESS)
}
