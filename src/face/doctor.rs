//! What is wrong with a machine, for a person and for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use super::visible;
use crate::{
    engine::{Trouble, repair_plan},
    model::{Plan, SessionId},
};

pub fn findings_json(troubles: &[Trouble]) -> Value {
    let finding = |trouble: &Trouble| {
        let repair = repair_plan([trouble])
            .map(|plan| json!({"digest": plan.compute_digest(), "commands": commands(&plan)}));
        json!({
            "id": trouble.id, "level": trouble.level.name(), "message": trouble.what,
            "advice": trouble.advice, "repair": repair,
        })
    };
    troubles.iter().map(finding).collect()
}

pub fn findings_text(troubles: &[Trouble]) -> String {
    let mut text = String::new();
    for trouble in troubles {
        let _ =
            writeln!(text, "{:6} {}: {}", trouble.level.name(), trouble.id, visible(&trouble.what));
        let _ = writeln!(text, "       {}", visible(&trouble.advice));
        if let Some(plan) = repair_plan([trouble]) {
            let _ = writeln!(text, "       repair {}:", plan.compute_digest().beginning());
            for command in commands(&plan) {
                let _ = writeln!(text, "         $ {}", visible(&command));
            }
        }
    }
    if troubles.is_empty() {
        text.push_str("nothing is wrong with this machine that we know how to look for\n");
    }
    text
}

/// How to have it mended before a session goes on, and what that would run.
pub(super) fn repair_hint(trouble: &Trouble, id: &SessionId) -> String {
    let Some(plan) = repair_plan([trouble]) else { return String::new() };
    let (digest, commands) = (plan.compute_digest(), commands(&plan).join("; "));
    format!(
        "hint: or have it mended: provision resume {id} --repair (repair {}: {})\n",
        digest.beginning(),
        visible(&commands)
    )
}

fn commands(plan: &Plan) -> Vec<String> {
    let commands = plan.tasks.iter().flat_map(|task| &task.commands);
    commands.map(|command| command.command.clone()).collect()
}
