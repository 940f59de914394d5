//! Finding tasks by words.

use super::layers::{Catalog, Listed};
use crate::model::Task;

/// What a word is worth, by where it is found.
const IS_ID: u32 = 100;
const BEGINS_ID: u32 = 60;
const IS_IN_NAME: u32 = 50;
const WITHIN_ID: u32 = 40;
const IS_TAG: u32 = 35;
const WITHIN_NAME: u32 = 25;
const WITHIN_TAG: u32 = 15;
const WITHIN_CATEGORY: u32 = 10;
const IS_IN_DESCRIPTION: u32 = 8;
const WITHIN_DESCRIPTION: u32 = 4;

impl Catalog {
    /// Tasks in which every word is found, those first where it is found best.
    pub fn search(&self, words: &[String]) -> Vec<&Listed<Task>> {
        let words: Vec<String> =
            words.iter().flat_map(|word| word.split_whitespace()).map(str::to_lowercase).collect();
        let mut found: Vec<_> =
            self.tasks().filter_map(|task| Some((score(&task.item, &words)?, task))).collect();
        found.sort_by(|(one, a), (other, b)| other.cmp(one).then(a.item.id.cmp(&b.item.id)));
        found.into_iter().map(|(_, task)| task).collect()
    }

    /// Words that something is found by: ids first, then categories and tags.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let ids = self.tasks().map(|task| task.item.id.as_str());
        let categories = self.tasks().map(|task| task.item.category.as_str());
        let tags = self.tasks().flat_map(|task| task.item.tags.iter().map(String::as_str));
        ids.chain(categories).chain(tags)
    }
}

/// The sum over all words; `None` if one of them is nowhere.
fn score(task: &Task, words: &[String]) -> Option<u32> {
    words.iter().map(|word| Some(worth(task, word)).filter(|worth| *worth > 0)).sum()
}

fn worth(task: &Task, word: &str) -> u32 {
    let id = task.id.as_str().to_lowercase();
    let name = task.name.to_lowercase();
    let description = task.description.to_lowercase();
    let has_word = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|part| part == word);
    let tags = || task.tags.iter().map(|tag| tag.to_lowercase());
    let rules = [
        (IS_ID, id == word),
        (BEGINS_ID, id.starts_with(word)),
        (IS_IN_NAME, has_word(&name)),
        (WITHIN_ID, id.contains(word)),
        (IS_TAG, tags().any(|tag| tag == word)),
        (WITHIN_NAME, name.contains(word)),
        (WITHIN_TAG, tags().any(|tag| tag.contains(word))),
        (WITHIN_CATEGORY, task.category.to_lowercase().contains(word)),
        (IS_IN_DESCRIPTION, has_word(&description)),
        (WITHIN_DESCRIPTION, description.contains(word)),
    ];
    rules.iter().filter(|(_, holds)| *holds).map(|(worth, _)| worth).sum()
}
