//! Which tasks will want root's rights, as far as their commands tell.

use crate::model::{Plan, PlanCommand, PlanTask, Session, TaskId};

/// Whether a command says that it becomes root. One that hides it in a script does not.
pub fn wants_root(command: &PlanCommand) -> bool {
    command.requires_sudo || calls_sudo(&command.command)
}

/// Whether `sudo` stands in a text where a shell would look for a command, or near enough.
fn calls_sudo(text: &str) -> bool {
    let is_edge = |c: char| c.is_whitespace() || ";|&(){}`'\"".contains(c);
    text.split(is_edge).any(|word| word == "sudo")
}

/// What is still to be done and wants root's rights, in plan order.
pub fn tasks_that_want_root(session: &Session, plan: &Plan) -> Vec<TaskId> {
    let is_open = |task: &&PlanTask| {
        let record = session.tasks.get(&task.id);
        task.found.is_none() && record.is_none_or(|record| !record.status.is_settled())
    };
    let open = plan.tasks.iter().filter(is_open);
    open.filter(|task| task.commands.iter().any(wants_root)).map(|task| task.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::calls_sudo;

    #[test]
    fn sudo_is_seen_where_it_is_called() {
        for text in
            ["sudo id", "echo x | sudo tee /x", "a && (sudo b)", "x=$(sudo cat /y)", "a\nsudo b"]
        {
            assert!(calls_sudo(text), "{text}");
        }
        for text in ["visudo -c", "cat /etc/sudoers", "pseudo x", "x-sudo"] {
            assert!(!calls_sudo(text), "{text}");
        }
    }
}
