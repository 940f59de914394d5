//! Where a session stands, for a person.

use std::fmt::Write;

use super::{plural, visible};
use crate::{
    engine::{Context, State},
    model::Phase,
};

pub fn status_text(context: &Context) -> String {
    let mut text = String::new();
    let progress = &context.progress;
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<9} {value}");
    };
    line("session", context.session_id.as_str());
    line("status", context.status.name());
    let phase = context.phase;
    line("phase", &format!("{phase} ({} of {})", phase.number(), Phase::ALL.len()));
    line("progress", &format!("{}%", progress.percent));
    if progress.tasks_total > 0 {
        let total = plural(progress.tasks_total, "task");
        line("tasks", &format!("{} of {total} settled", progress.tasks_settled));
    }
    line("started", &context.timing.created_at.readable());
    line("updated", &context.timing.updated_at.readable());
    for current in &context.current {
        let command = visible(&current.command);
        let name = if context.status == State::Active { "running" } else { "last ran" };
        line(name, &format!("{}: {command}", current.task_id));
    }
    for failed in &context.failed {
        let what = failed.command.as_deref().map_or("".into(), visible);
        line("failed", &format!("{}: {what}", failed.task_id));
        if let Some(error) = &failed.error {
            line("", &visible(error));
        }
        if let Some(advice) = &failed.suggested_resolution {
            line("", &visible(advice));
        }
    }
    if let Some(why) = &context.paused_because {
        line("because", &visible(why));
    }
    for gate in &context.blocked_by {
        line("gate", &super::gate_text(gate));
    }
    if let Some(pending) = &context.pending {
        line("decision", &visible(pending));
    }
    line("next", &visible(&context.next));
    text
}
