//! `present_plan`: what would be done, in full if asked for, and what the person says to it.

use super::{
    shells::ask_about_shells,
    walker::{Given, Walker, given},
};
use crate::{
    engine::{self, Approval, Conversation, Input, Revision, RunError, ShellChoice, WantedBlock},
    face::{
        plan_screen, plan_text, revision_text,
        terminal::{Choice, Lettered},
    },
    model::{Digest, ExecutionMode, Plan},
};

impl Walker<'_> {
    /// Shows the plan and asks what to do with it. `None` if something is to be changed.
    pub(super) fn approve(
        &mut self,
        conversation: &mut Conversation<'_>,
    ) -> Given<Option<ExecutionMode>> {
        let Some(plan) = conversation.plan().cloned() else {
            return Err(RunError::NoPlan { id: conversation.id() }.into());
        };
        (self.again, self.tools_before) = (None, None);
        let durations = engine::known_durations(&self.around.store)?;
        let terminal = self.terminal();
        terminal.say(&plan_screen(&plan, &durations, terminal));
        let revision = conversation.revision();
        let is_same = revision.is_none() && conversation.plan_before().is_some();
        if let Some(revision) = &revision {
            terminal.say(&revision_text(revision));
        } else if is_same {
            terminal.say("Nothing is different from what the session has: Ctrl-C leaves it.\n");
        }
        self.screen.knows(durations);
        let wanted = self.request.as_ref().map(|request| request.mode);
        let default = if wanted == Some(ExecutionMode::ReviewEachStep) { 'B' } else { 'A' };
        let mut options = vec![
            Lettered::new('A', "Run everything").meaning("you are asked only if something fails"),
            Lettered::new('B', "Review each step").meaning("every command is shown before it runs"),
            Lettered::new('C', "Change").meaning("add or remove tools, answer again"),
            Lettered::new('D', "Start over").meaning("back to the choice of a stack"),
        ];
        if is_same {
            // There is nothing to approve.
            options.drain(..2);
        }
        let only_words = revision.as_ref().is_some_and(Revision::is_only_words);
        if only_words {
            let mark = Lettered::new('A', "Mark them for review").meaning("nothing is run");
            options.splice(..2, [mark]);
        }
        let is_expansion = !conversation.session().expansion_history.is_empty();
        if is_expansion && let Some(over) = options.iter_mut().find(|option| option.letter == 'D') {
            *over = Lettered::new('D', "Other tools").meaning("choose again what is added");
        }
        options.push(Lettered::quiet('s', "show every command"));
        let choice = Choice {
            heading: "Is this what you want?".into(),
            options,
            default: Some(default).filter(|_| !is_same),
            can_go_back: true,
            summary: Some("Plan".into()),
            is_weighty: true,
            ..Choice::default()
        };
        let mode = loop {
            let is_changed = match self.choose(&choice)? {
                Some('A') => break ExecutionMode::AllAtOnce,
                Some('B') => break ExecutionMode::ReviewEachStep,
                Some('C') => self.change(conversation, &plan)?,
                Some('D') if is_expansion => self.add_tools(conversation)?,
                Some('D') => {
                    conversation.tell(Input::StartOver)?;
                    // Whoever starts over wants to be asked.
                    self.request = None;
                    true
                }
                Some(_) => {
                    self.say(&plan_text(&plan, true));
                    false
                }
                // What is added is all that was asked.
                None if is_expansion && conversation.agenda().is_empty() => {
                    self.add_tools(conversation)?
                }
                None => {
                    // To the last question: the plan stands behind it.
                    conversation.tell(Input::Back)?;
                    conversation.tell(Input::Back)?;
                    true
                }
            };
            if is_changed {
                return Ok(None);
            }
        };
        if !only_words {
            let approved = engine::lines_of_plan(self.around, &plan);
            self.wishes.shell_integration = self.shell_choice(&approved)?;
        }
        Ok(Some(mode))
    }

    /// Shows a plan that cannot be changed, asks for approval, and keeps it in the wishes. Returns
    /// whether the person approved.
    pub(super) fn approve_file(&mut self, plan: &Plan, digest: &Digest) -> Given<bool> {
        self.say(&plan_text(plan, true));
        let choice = Choice {
            heading: "Should this run?".into(),
            options: vec![
                Lettered::new('A', "Run everything")
                    .meaning("you are asked only if something fails"),
                Lettered::new('B', "Review each step")
                    .meaning("every command is shown before it runs"),
                Lettered::new('D', "Not now").meaning("nothing is changed"),
            ],
            summary: Some("Plan".into()),
            is_weighty: true,
            ..Choice::default()
        };
        self.wishes.mode = Some(match self.choose(&choice)? {
            Some('A') => ExecutionMode::AllAtOnce,
            Some('B') => ExecutionMode::ReviewEachStep,
            _ => return Ok(false),
        });
        self.wishes.approval = Some(Approval::Digest(digest.to_string()));
        Ok(true)
    }

    /// Whether lines may be added to the configuration of shells, if that is a question here.
    pub(super) fn shell_choice(&self, blocks: &[WantedBlock]) -> Given<Option<ShellChoice>> {
        if blocks.is_empty() || self.wishes.shell_integration.is_some() {
            return Ok(self.wishes.shell_integration);
        }
        let asked = ask_about_shells(self.terminal(), blocks, &self.cancelled)?;
        // Whoever goes back has not decided: they are told of the lines when all is done.
        Ok(given(asked)?.map(|allowed| ShellChoice { allowed, asked: true }))
    }
}
