//! The name that was probably meant.

/// The one of `names` that is nearest to `word`, if any is near enough to be what was meant.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A name of hundreds of characters is no slip of the finger.
    let word: Vec<char> = word.chars().take(64).collect();
    let allowed = (word.len() / 3).max(1);
    names
        .into_iter()
        // Bytes are more than characters, never fewer: names far too short or long are no match.
        .filter(|name| {
            name.len() + allowed >= word.len() && name.len() <= 4 * (word.len() + allowed)
        })
        .filter_map(|name| {
            Some((distance(&word, &name.chars().collect::<Vec<_>>(), allowed)?, name))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters must be added, dropped, changed or swapped with their neighbour, whatever
/// their case; `None` where that is more than `most`.
fn distance(one: &[char], other: &[char], most: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > most {
        return None;
    }
    let same = |a: char, b: char| a.eq_ignore_ascii_case(&b);
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let changed = row[j] + usize::from(!same(*a, *b));
            let mut least = changed.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && same(*a, other[j - 1]) && same(one[i - 1], *b) {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
        // It only grows from here; a swap reaches back two rows.
        if row.iter().chain(&before).all(|distance| *distance > most) {
            return None;
        }
    }
    Some(row[other.len()]).filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        let names = ["description", "detection", "dependencies", "docs_url"];
        assert_eq!(nearest("dependancies", names), Some("dependencies"));
        assert_eq!(nearest("detecton", names), Some("detection"));
        assert_eq!(nearest("docs_ulr", names), Some("docs_url"));
        assert_eq!(nearest("Description", names), Some("description"));
    }

    #[test]
    fn something_else_is_not() {
        assert_eq!(nearest("homepage", ["description", "docs_url"]), None);
        assert_eq!(nearest("", ["a"]), Some("a"));
        assert_eq!(nearest("x", []), None);
    }
}
