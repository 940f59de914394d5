//! Which of many items are meant by what was typed, and how they are named. Pure.

use fuzzy_matcher::{FuzzyMatcher, skim::SkimMatcherV2};

use super::prompt::Item;

/// As much of a text is searched; what comes after it is not what anyone searches for.
const SEARCHED: usize = 300;

/// The items that match what was typed, best first; all in their order where nothing was.
pub(super) fn matching(items: &[Item], search: &str) -> Vec<usize> {
    if search.is_empty() {
        return (0..items.len()).collect();
    }
    let search = search.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&search);
    let begin = |text: &str| text.chars().take(SEARCHED).collect::<String>();
    let whole: Vec<usize> = (0..items.len())
        .filter(|index| has(&items[*index].name) || has(&begin(&items[*index].text)))
        .collect();
    if !whole.is_empty() {
        // What holds the very word is what is meant: names first, and the shortest of them.
        let mut whole = whole;
        whole.sort_by_key(|index| {
            let name = &items[*index].name;
            (!has(name), if has(name) { name.chars().count() } else { 0 }, *index)
        });
        return whole;
    }
    let search = search.as_str();
    let matcher = SkimMatcherV2::default().ignore_case();
    let mut found: Vec<_> = items
        .iter()
        .enumerate()
        .filter_map(|(index, item)| {
            let name = matcher.fuzzy_match(&item.name, search);
            let text = begin(&item.text);
            // Whoever types a name wants what is called so, not what is told of it.
            let score = name.map(|score| (true, score));
            let score = score.or_else(|| Some((false, matcher.fuzzy_match(&text, search)?)))?;
            Some((score, index))
        })
        .collect();
    found.sort_by_key(|(score, index)| (std::cmp::Reverse(*score), *index));
    found.into_iter().map(|(_, index)| index).collect()
}

/// The names of what is chosen.
pub(super) fn names(items: &[Item], chosen: &[usize]) -> String {
    let names: Vec<_> =
        chosen.iter().filter_map(|index| items.get(*index)).map(|item| &*item.name).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// All of an item, what is short first.
pub(super) fn item_line(item: &Item) -> String {
    let note = item.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
    let dash = if item.text.is_empty() { "" } else { " - " };
    format!("{}{note}{dash}{}", item.name, item.text)
}

#[cfg(test)]
mod tests {
    use super::{Item, matching};

    #[test]
    fn names_come_before_texts_and_each_in_the_order_of_its_score() {
        let names = |search: &str| -> Vec<String> {
            let items = [
                ("jq", "works with JSON"),
                ("ripgrep", "searches directories for a pattern"),
                ("find-more", "finds files, as fd does"),
                ("fd", "finds files"),
                ("日本語", ""),
            ];
            let items = items.map(|(name, text)| Item {
                name: name.into(),
                text: text.into(),
                note: None,
                chosen: false,
            });
            matching(&items, search).into_iter().map(|index| items[index].name.clone()).collect()
        };
        assert_eq!(names("").len(), 5);
        assert_eq!(names("RG"), ["ripgrep"]);
        assert_eq!(names("fd"), ["fd", "find-more"]);
        assert_eq!(names("json"), ["jq"]);
        assert_eq!(names("語"), ["日本語"]);
    }
}
