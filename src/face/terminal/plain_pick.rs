//! Any number of many, where the cursor cannot be moved: the names are listed, and names are typed.

use std::{io, sync::atomic::AtomicBool};

use super::{
    found::{item_line, matching, names},
    layout::{gathered, one_line},
    mode,
    plain::{BACK, Plain, back_hint},
    prompt::{Item, Pick, Reply},
};
use crate::model::nearest;

/// What is typed to choose nothing where something is chosen already.
const NONE: &str = "none";

/// What a line of names asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// What is chosen already.
    Same,
    Search(String),
    Items(Vec<usize>),
    /// Words that are no names.
    Unknown(Vec<String>),
}

fn asked(items: &[Item], line: &str) -> Asked {
    let line = line.trim();
    if line.is_empty() {
        return Asked::Same;
    }
    if let Some(word) = line.strip_prefix('?') {
        return Asked::Search(word.trim().to_owned());
    }
    if line == NONE && !items.iter().any(|item| item.name == NONE) {
        return Asked::Items(Vec::new());
    }
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for word in line.split([' ', ',', '\t']).filter(|word| !word.is_empty()) {
        match index_of(items, word) {
            Some(index) => found.push(index),
            None => unknown.push(word.to_owned()),
        }
    }
    if !unknown.is_empty() {
        return Asked::Unknown(unknown);
    }
    found.sort_unstable();
    found.dedup();
    Asked::Items(found)
}

/// By name, whatever its case, else by number.
fn index_of(items: &[Item], word: &str) -> Option<usize> {
    let by_name = |exact: bool| {
        items.iter().position(|item| {
            item.name == word || (!exact && item.name.to_lowercase() == word.to_lowercase())
        })
    };
    let by_number = || {
        let number: usize = word.parse().ok()?;
        number.checked_sub(1).filter(|index| *index < items.len())
    };
    by_name(true).or_else(|| by_name(false)).or_else(by_number)
}

fn unknown_text(items: &[Item], words: &[String]) -> String {
    let each = words.iter().map(|word| match nearest(word, items.iter().map(|item| &*item.name)) {
        Some(near) => format!("there is no `{word}`: did you mean `{near}`?"),
        None => format!("there is no `{word}`; `?{word}` searches for it"),
    });
    each.collect::<Vec<_>>().join("\n")
}

impl Plain {
    pub(super) fn pick(
        &self,
        prompt: &Pick,
        cancelled: &AtomicBool,
    ) -> io::Result<Reply<Vec<usize>>> {
        let items = &prompt.items;
        let chosen: Vec<_> = (0..items.len()).filter(|index| items[*index].chosen).collect();
        self.say(&prompt.heading);
        let listed = items
            .iter()
            .zip(1..)
            .map(|(item, number): (_, usize)| format!("{number} {}", item.name));
        let listed: Vec<_> = listed.collect();
        self.say(&gathered(&listed, ", ", mode::size().width(), self.look).join("\n"));
        let kept = if chosen.is_empty() {
            "Enter for none".to_owned()
        } else {
            format!("Enter for {}, `{NONE}` for none", names(items, &chosen))
        };
        self.say(&format!(
            "Names with spaces between them, ?word to search, {kept}{}.",
            back_hint(prompt.can_go_back)
        ));
        loop {
            let line = match self.read("Names: ", cancelled)? {
                Ok(line) => line,
                Err(left) => return Ok(Reply::Left(left)),
            };
            if line.trim() == BACK && prompt.can_go_back {
                return Ok(Reply::Back);
            }
            match asked(items, &line) {
                Asked::Same => return Ok(Reply::Answer(chosen)),
                Asked::Items(found) => return Ok(Reply::Answer(found)),
                Asked::Unknown(words) => self.say(&unknown_text(items, &words)),
                Asked::Search(word) => self.matches(items, &word),
            }
        }
    }

    fn matches(&self, items: &[Item], word: &str) {
        let found = matching(items, word);
        if found.is_empty() {
            self.say(&format!("nothing matches \"{word}\""));
        }
        for index in found {
            let Some(item) = items.get(index) else { continue };
            self.say(&format!("{} {}", index + 1, one_line(&item_line(item), self.look)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, asked, unknown_text};
    use crate::face::terminal::prompt::Item;

    fn items() -> Vec<Item> {
        let item =
            |name: &str| Item { name: name.into(), text: String::new(), note: None, chosen: false };
        ["jq", "fd", "ripgrep", "7"].map(item).into()
    }

    #[test]
    fn names_and_numbers_are_taken_with_spaces_or_commas_between() {
        let items = items();
        assert_eq!(asked(&items, " fd,jq  FD "), Asked::Items(vec![0, 1]));
        assert_eq!(asked(&items, "3, 1"), Asked::Items(vec![0, 2]));
        assert_eq!(asked(&items, "7"), Asked::Items(vec![3]), "a name before a number");
        assert_eq!(asked(&items, "\n"), Asked::Same);
        assert_eq!(asked(&items, "none"), Asked::Items(Vec::new()));
        assert_eq!(asked(&items, "? rip"), Asked::Search("rip".into()));
    }

    #[test]
    fn what_is_unknown_is_named_with_what_was_probably_meant() {
        let items = items();
        let Asked::Unknown(words) = asked(&items, "jq ripgerp 9 0") else { panic!() };
        assert_eq!(words, ["ripgerp", "9", "0"]);
        assert_eq!(
            unknown_text(&items, &words[..1]),
            "there is no `ripgerp`: did you mean `ripgrep`?"
        );
    }
}
