//! `stack_selection`: a stack by its letter, another one, or single tools found by typing.

use super::walker::{Given, Walker};
use crate::{
    engine::{self, Conversation, Input, Stack, Taken},
    face::{
        terminal::{Choice, Item, Lettered, Pick},
        visible,
    },
    model::{Profile, TaskId},
};

/// The letter behind which everything is that has no letter of its own.
const MORE: char = 'E';
/// The letters that a stack may have to itself.
const LETTERS: [char; 4] = ['A', 'B', 'C', 'D'];

impl Walker<'_> {
    /// The stack that a person chooses; `None` if they go back.
    pub(super) fn choose_stack(&self) -> Given<Option<Stack>> {
        let mut offered: Vec<(char, &Profile)> = Vec::new();
        let mut others: Vec<&Profile> = Vec::new();
        // A later layer is the stronger one, also about letters.
        for listed in self.catalog.profiles().collect::<Vec<_>>().into_iter().rev() {
            let letter = listed.item.letter().and_then(|letter| letter.chars().next());
            let letter = letter.map(|letter| letter.to_ascii_uppercase());
            match letter.filter(|letter| LETTERS.contains(letter)) {
                Some(letter) if offered.iter().all(|(taken, _)| *taken != letter) => {
                    offered.push((letter, &listed.item));
                }
                _ => others.push(&listed.item),
            }
        }
        offered.sort_by_key(|(letter, _)| *letter);
        others.reverse();
        let text = |profile: &Profile| {
            let prompt = profile.selection_prompt.as_ref().map(|prompt| prompt.text.clone());
            prompt.filter(|text| !text.is_empty()).unwrap_or_else(|| profile.metadata.name.clone())
        };
        let mut options: Vec<Lettered> =
            offered.iter().map(|(letter, profile)| Lettered::new(*letter, text(profile))).collect();
        options.push(
            Lettered::new(MORE, "More stacks or single tools").meaning("find them by typing"),
        );
        let choice = Choice {
            heading: "What should be set up?".into(),
            options,
            summary: Some("Stack".into()),
            ..Choice::default()
        };
        loop {
            let Some(letter) = self.choose(&choice)? else { return Ok(None) };
            let chosen = offered.iter().find(|(offered, _)| *offered == letter);
            if let Some((_, profile)) = chosen {
                return Ok(Some(self.stack(Some(profile), Vec::new())));
            }
            if let Some(stack) = self.find_stack(&others)? {
                return Ok(Some(stack));
            }
        }
    }

    fn stack(&self, profile: Option<&Profile>, add: Vec<TaskId>) -> Stack {
        let listed = profile.and_then(|profile| self.catalog.profile(profile.id()));
        Stack {
            profile: profile.map(|profile| profile.id().to_owned()),
            manifest_path: listed.map(|listed| listed.source.name.clone()),
            catalogs: self.around.layers.recorded(),
            add,
            without: self.request.as_ref().map(|given| given.without.clone()).unwrap_or_default(),
        }
    }

    /// Stacks without a letter, and single tools.
    fn find_stack(&self, others: &[&Profile]) -> Given<Option<Stack>> {
        let mut items: Vec<Item> = others
            .iter()
            .map(|profile| Item {
                name: profile.id().to_owned(),
                text: format!("stack - {}", profile.metadata.description),
                note: None,
                chosen: false,
            })
            .collect();
        let tools = self.tools();
        items.extend(tools.iter().map(|(_, item)| item.clone()));
        let heading =
            if others.is_empty() { "Which tools?" } else { "Which stack, or which tools?" };
        let mut pick = Pick { heading: heading.into(), items, can_go_back: true };
        loop {
            let Some(chosen) = self.pick(&pick)? else { return Ok(None) };
            let stacks: Vec<&Profile> =
                chosen.iter().filter_map(|at| others.get(*at)).copied().collect();
            let add = chosen.iter().filter_map(|at| tools.get(at.checked_sub(others.len())?));
            let add: Vec<TaskId> = add.map(|(id, _)| id.clone()).collect();
            match stacks.as_slice() {
                [] if add.is_empty() => {
                    self.say("Nothing is chosen: Space chooses, Enter goes on.\n");
                }
                [] => return Ok(Some(self.stack(None, add))),
                [only] => return Ok(Some(self.stack(Some(only), add))),
                _ => self.say("One stack at a time: add the other one when this is done.\n"),
            }
            for (at, item) in pick.items.iter_mut().enumerate() {
                item.chosen = chosen.contains(&at);
            }
        }
    }

    /// Tasks that a person picks; `None` if they go back.
    pub(super) fn pick_tools(
        &self,
        heading: &str,
        chosen: &[TaskId],
    ) -> Given<Option<Vec<TaskId>>> {
        let mut tools = self.tools();
        for (id, item) in &mut tools {
            item.chosen = chosen.contains(id);
        }
        let items = tools.iter().map(|(_, item)| item.clone()).collect();
        let picked = self.pick(&Pick { heading: heading.into(), items, can_go_back: true })?;
        let named = |at: usize| tools.get(at).map(|(id, _)| id.clone());
        Ok(picked.map(|picked| picked.into_iter().filter_map(named).collect()))
    }

    /// Every tool that this machine can have, by category.
    fn tools(&self) -> Vec<(TaskId, Item)> {
        let platform = engine::platform(&self.around.environment);
        let mut found: Vec<_> = self
            .catalog
            .tasks()
            .filter(|listed| !listed.item.tags.iter().any(|tag| tag == "package-index"))
            .filter(|listed| engine::can_be_had(&listed.item, &platform))
            .collect();
        found.sort_by(|a, b| (&a.item.category, &a.item.id).cmp(&(&b.item.category, &b.item.id)));
        let item = |task: &crate::model::Task| {
            let is_there = engine::seems_installed(task, &self.around.environment) == Some(true);
            let text = if task.description.is_empty() { &task.name } else { &task.description };
            Item {
                name: task.id.to_string(),
                text: text.clone(),
                note: is_there.then(|| "there already".to_owned()),
                chosen: false,
            }
        };
        found.into_iter().map(|listed| (listed.item.id.clone(), item(&listed.item))).collect()
    }

    /// Another stack for a session that has gone back to that choice.
    pub(super) fn choose_stack_again(&self, conversation: &mut Conversation<'_>) -> Given<()> {
        let Some(stack) = self.choose_stack()? else { return Ok(()) };
        if let Taken::Refused(refusal) = conversation.tell(Input::Stack(Box::new(stack)))? {
            self.say(&format!("{}\n", visible(&refusal.to_string())));
        }
        Ok(())
    }
}
