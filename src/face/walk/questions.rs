//! `gather_requirements`: one question at a time, each answer on record before the next.

use super::walker::{Given, Walker};
use crate::{
    engine::{Ask, Conversation, Input, Taken, Waiting, Wanted},
    face::terminal::{Choice, Lettered, Line},
    model::{Answer, OptionKind, Question},
};

impl Walker<'_> {
    /// Asks what the walk waits for, or takes what was given for it beforehand.
    pub(super) fn ask_next(&mut self, conversation: &mut Conversation<'_>) -> Given<()> {
        let Waiting::Answer { asked, number, total } = conversation.waiting() else {
            return Ok(());
        };
        let before = match &self.request {
            Some(request) => conversation.given(request, &asked)?,
            None => None,
        };
        let id = asked.id().to_owned();
        let is_choice = matches!(asked.ask, Ask::Choice(_));
        let input = |answer| {
            if is_choice {
                Input::Answer { question: id.clone(), answer }
            } else {
                Input::Value { key: id.clone(), value: answer }
            }
        };
        let is_new = self.asked.insert(id.clone());
        // A person who goes back to a question wants to answer it again.
        if let Some(answer) = before.filter(|_| is_new) {
            let given = conversation.tell(input(answer))?;
            self.say_what_is_wrong(&given);
            return Ok(());
        }
        let place = Some((number, total));
        let (answer, is_secret) = match &asked.ask {
            Ask::Choice(question) => (self.ask_choice(question, place)?, false),
            Ask::Value(wanted) => {
                (self.ask_value(conversation, wanted, place)?, wanted.is_secret())
            }
        };
        let again = self.again.take_if(|(asked, _)| *asked == id);
        let answer = match (answer, again) {
            (Some(answer), _) => answer,
            // Whoever was to answer it again, and would rather not, has answered it before.
            (None, Some((_, before))) => before,
            (None, None) => {
                self.say(&self.paint().dim("back to the question before\n"));
                conversation.tell(Input::Back)?;
                return Ok(());
            }
        };
        match conversation.tell(input(answer.clone()))? {
            Taken::Explained(text) => {
                self.say(&format!("\n{}\n\n", self.terminal().wrapped(&text, 2)));
            }
            Taken::Recorded if !is_secret => drop(self.remembered.insert(id, answer)),
            taken => self.say_what_is_wrong(&taken),
        }
        Ok(())
    }

    fn say_what_is_wrong(&self, taken: &Taken) {
        if let Taken::Refused(refusal) = taken {
            let text = self.terminal().wrapped(&refusal.to_string(), 2);
            self.say(&format!("{}\n", self.paint().red(&text)));
        }
    }

    fn ask_choice(
        &self,
        question: &Question,
        place: Option<(usize, usize)>,
    ) -> Given<Option<String>> {
        let letter = |option: &Answer| Some(option.letter.chars().next()?.to_ascii_uppercase());
        let lettered = |option| Some(Lettered::new(letter(option)?, option.text.clone()));
        let before = self.remembered.get(&question.id).or(question.default.as_ref());
        let default = before.and_then(|answer| question.option(answer));
        let explaining = question.options.iter().filter(|option| option.action.is_some());
        let choice = Choice {
            heading: question.question.clone(),
            place,
            options: question.options.iter().filter_map(lettered).collect(),
            default: default.and_then(letter),
            can_go_back: true,
            passing: explaining.filter_map(letter).collect(),
            ..Choice::default()
        };
        Ok(self.choose(&choice)?.map(|letter| letter.to_string()))
    }

    fn ask_value(
        &self,
        conversation: &Conversation<'_>,
        wanted: &Wanted,
        place: Option<(usize, usize)>,
    ) -> Given<Option<String>> {
        let prompt = match &wanted.task {
            Some(task) => format!("{} ({task})", wanted.prompt),
            None => wanted.prompt.clone(),
        };
        let fixed: Vec<String> = match wanted.kind {
            OptionKind::Boolean => vec!["yes".into(), "no".into()],
            OptionKind::Choice => wanted.choices.clone(),
            OptionKind::String | OptionKind::Number | OptionKind::Secret => Vec::new(),
        };
        // More than there are letters for is typed.
        if (1..=LETTERS.len()).contains(&fixed.len()) {
            return self.ask_fixed(prompt, wanted, &fixed, place);
        }
        let before = self.remembered.get(&wanted.key).cloned();
        let default =
            before.or_else(|| wanted.default.clone()).or_else(|| conversation.suggestion(wanted));
        let line = Line {
            heading: prompt,
            place,
            default,
            hidden: wanted.is_secret(),
            can_go_back: true,
            summary: None,
            check: &|text| wanted.check(text).map(drop),
        };
        self.line(&line)
    }

    fn ask_fixed(
        &self,
        heading: String,
        wanted: &Wanted,
        values: &[String],
        place: Option<(usize, usize)>,
    ) -> Given<Option<String>> {
        let lettered = |(letter, value): (char, &String)| Lettered::new(letter, value.clone());
        let is_default = |value: &String| {
            let same = |given: &str| wanted.check(given).ok();
            let before = self.remembered.get(&wanted.key).or(wanted.default.as_ref());
            before.is_some_and(|default| same(default) == same(value))
        };
        let default = values.iter().position(is_default).and_then(|at| LETTERS.get(at));
        let choice = Choice {
            heading,
            place,
            options: LETTERS.into_iter().zip(values).map(lettered).collect(),
            default: default.copied(),
            can_go_back: true,
            ..Choice::default()
        };
        let letter = self.choose(&choice)?;
        let at = letter.and_then(|letter| LETTERS.iter().position(|known| *known == letter));
        Ok(at.and_then(|at| values.get(at)).cloned())
    }
}

/// The letters that values without letters of their own are chosen by.
const LETTERS: [char; 12] = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'L', 'M', 'N'];
