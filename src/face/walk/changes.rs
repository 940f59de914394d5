//! Second thoughts about a plan: other tools, another answer, and what to do about one that cannot
//! be.

use super::walker::{Given, Walker};
use crate::{
    engine::{Ask, Conversation, Input, TOOLS_ADDED, TOOLS_LEFT_OUT, Taken, tools_named},
    face::terminal::{Choice, Item, Lettered, Pick},
    model::{Plan, TaskId},
};

/// What stands for a secret.
const NOT_SHOWN: &str = "given (not shown)";

impl Walker<'_> {
    /// Asks what is to be changed. Says whether anything was.
    pub(super) fn change(
        &mut self,
        conversation: &mut Conversation<'_>,
        plan: &Plan,
    ) -> Given<bool> {
        let choice = Choice {
            heading: "What should be changed?".into(),
            options: vec![
                Lettered::new('A', "Add tools").meaning("single ones, beside the stack"),
                Lettered::new('B', "Remove tools").meaning("leave some of the plan out"),
                Lettered::new('C', "Answer again").meaning("change one of your answers"),
                Lettered::new('D', "Nothing").meaning("back to the plan"),
            ],
            can_go_back: true,
            summary: Some("Change".into()),
            ..Choice::default()
        };
        match self.choose(&choice)? {
            Some('A') => self.add_tools(conversation),
            Some('B') => self.remove_tools(conversation, plan),
            Some('C') => self.answer_again(conversation),
            _ => Ok(false),
        }
    }

    pub(super) fn add_tools(&mut self, conversation: &mut Conversation<'_>) -> Given<bool> {
        let (before, without) = (
            tools_named(conversation.session(), TOOLS_ADDED),
            tools_named(conversation.session(), TOOLS_LEFT_OUT),
        );
        let Some(add) = self.pick_tools("Which tools should be added?", &before)? else {
            return Ok(false);
        };
        self.tools_before = Some((before, without.clone()));
        let without = without.into_iter().filter(|task| !add.contains(task)).collect();
        take_tools(conversation, add, without)
    }

    fn remove_tools(&mut self, conversation: &mut Conversation<'_>, plan: &Plan) -> Given<bool> {
        let without = tools_named(conversation.session(), TOOLS_LEFT_OUT);
        let planned = plan.tasks.iter().filter(|task| !task.upkeep);
        let planned = planned.map(|task| (task.id.clone(), task.name.clone().unwrap_or_default()));
        let left_out = without.iter().map(|id| (id.clone(), "left out now".to_owned()));
        let all: Vec<(TaskId, String)> = planned.chain(left_out).collect();
        let items = all.iter().map(|(id, name)| Item {
            name: id.to_string(),
            text: name.clone(),
            note: None,
            chosen: without.contains(id),
        });
        let pick = Pick {
            heading: "Which should be left out?".into(),
            items: items.collect(),
            can_go_back: true,
        };
        let Some(chosen) = self.pick(&pick)? else { return Ok(false) };
        let without: Vec<TaskId> =
            chosen.into_iter().filter_map(|at| Some(all.get(at)?.0.clone())).collect();
        let add = tools_named(conversation.session(), TOOLS_ADDED);
        self.tools_before =
            Some((add.clone(), tools_named(conversation.session(), TOOLS_LEFT_OUT)));
        let add = add.into_iter().filter(|task| !without.contains(task)).collect();
        take_tools(conversation, add, without)
    }

    fn answer_again(&mut self, conversation: &mut Conversation<'_>) -> Given<bool> {
        let session = conversation.session();
        let answered: Vec<(String, String, String)> = conversation
            .agenda()
            .iter()
            .filter(|asked| asked.answer.is_some())
            .filter_map(|asked| match &asked.ask {
                Ask::Choice(question) => {
                    let choice = session.choices.get(&question.id)?;
                    Some((question.id.clone(), question.question.clone(), choice.value.clone()))
                }
                Ask::Value(wanted) if wanted.is_secret() => {
                    Some((wanted.key.clone(), wanted.prompt.clone(), NOT_SHOWN.to_owned()))
                }
                Ask::Value(wanted) => {
                    let value = session.user_data.get(&wanted.key)?.as_str()?;
                    Some((wanted.key.clone(), wanted.prompt.clone(), value.to_owned()))
                }
            })
            .collect();
        if answered.is_empty() {
            self.say("Nothing was asked so far.\n");
            return Ok(false);
        }
        let options = ('A'..='Z').zip(&answered).map(|(letter, (_, question, answer))| {
            Lettered::new(letter, question.clone()).meaning(format!("now: {answer}"))
        });
        let choice = Choice {
            heading: "Which question?".into(),
            options: options.collect(),
            can_go_back: true,
            ..Choice::default()
        };
        let Some(letter) = self.choose(&choice)? else { return Ok(false) };
        let at = ('A'..='Z').position(|known| known == letter);
        let Some((id, _, before)) = at.and_then(|at| answered.get(at)) else { return Ok(false) };
        if before != NOT_SHOWN {
            self.remembered.insert(id.clone(), before.clone());
            self.again = Some((id.clone(), before.clone()));
        }
        Ok(conversation.tell(Input::Withdraw(id.clone()))? == Taken::Recorded)
    }

    /// What was asked for cannot be planned: another answer, other tools, or all of it again.
    pub(super) fn resolve(
        &mut self,
        conversation: &mut Conversation<'_>,
        problems: &[String],
    ) -> Given<()> {
        self.say(&self.paint().red("This cannot be set up so:\n"));
        for problem in problems {
            let text = self.terminal().wrapped(problem, 2);
            self.say(&format!("{text}\n"));
        }
        let choice = Choice {
            heading: "What now?".into(),
            options: vec![
                Lettered::new('A', "Answer again").meaning("change one of your answers"),
                Lettered::new('B', "Other tools").meaning("choose the single tools again"),
                Lettered::new('C', "Leave nothing out").meaning("take back what was left out"),
                Lettered::new('D', "Start over").meaning("back to the choice of a stack"),
            ],
            can_go_back: true,
            ..Choice::default()
        };
        match self.choose(&choice)? {
            Some('A') => self.answer_again(conversation).map(drop),
            Some('B') => self.add_tools(conversation).map(drop),
            Some('C') => {
                let add = tools_named(conversation.session(), TOOLS_ADDED);
                take_tools(conversation, add, Vec::new()).map(drop)
            }
            Some('D') => {
                conversation.tell(Input::StartOver)?;
                self.request = None;
                Ok(())
            }
            _ => {
                // Whoever goes back wants what was there before the change that cannot be.
                match self.tools_before.take() {
                    Some((add, without)) => {
                        take_tools(conversation, add, without)?;
                    }
                    None => {
                        conversation.tell(Input::Back)?;
                    }
                }
                Ok(())
            }
        }
    }
}

fn take_tools(
    conversation: &mut Conversation<'_>,
    add: Vec<TaskId>,
    without: Vec<TaskId>,
) -> Given<bool> {
    Ok(conversation.tell(Input::Tools { add, without })? == Taken::Recorded)
}
