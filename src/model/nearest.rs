//! The name that was probably meant.

/// Returns the name nearest to `word`, if one differs from it by at most a third of its letters. A
/// letter that is added, dropped, changed or swapped with its neighbour is one difference.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A name of hundreds of characters is no slip of the finger.
    let word = word.chars().take(64).collect::<String>().to_ascii_lowercase();
    let len = word.chars().count();
    let allowed = (len / 3).max(1);
    // Bytes are more than characters, never fewer: names far too short or long are no match.
    let names = names.into_iter();
    let near =
        names.filter(|name| name.len() + allowed >= len && name.len() <= 4 * (len + allowed));
    near.map(|name| (strsim::osa_distance(&word, &name.to_ascii_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
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
