//! `provision override`: a task is taken as it is, with a reason.

use serde_json::json;

use super::{
    failure::{Failure, Kind},
    output,
    settings::Settings,
};
use crate::{engine, model::TaskId};

pub(super) fn run(
    settings: &Settings,
    session: &str,
    task: &TaskId,
    reason: &str,
) -> Result<(), Failure> {
    let around = settings.surroundings()?;
    let id = around.store.resolve(session)?;
    let reason = reason.trim();
    if reason.is_empty() {
        let message = "taking a task as it is needs a reason that says something";
        return Err(Failure::new(Kind::Usage, message)
            .hint(format!("provision override {id} {task} --reason TEXT")));
    }
    engine::override_verification(&around, &id, task, reason)?;
    if settings.json {
        return output::json_document(
            &json!({"session_id": id, "task_id": task, "reason": reason, "overridden": true}),
        );
    }
    output::data(&format!("{task} of {id} is taken as it is; the reason is on record\n"))?;
    output::talk(&format!("hint: `provision resume {id}` goes on, if it is not complete\n"));
    Ok(())
}
