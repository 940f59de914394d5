//! How what is said may look: in colour, with more than ASCII, and where it was before. Pure: what
//! the environment says is handed in.

use clap::ValueEnum;

/// When to use colour, as it is typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ColourChoice {
    /// On a terminal, unless the environment says otherwise
    #[default]
    Auto,
    /// Even where it goes to a file
    Always,
    /// Nowhere
    Never,
}

/// What the environment says about it; what is not set is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Surface {
    pub no_color: String,
    pub clicolor_force: String,
    pub term: String,
    pub is_terminal: bool,
}

/// Whether there is colour: what was typed counts first, then who wants none, then who insists.
pub(super) fn has_colour(choice: ColourChoice, surface: &Surface) -> bool {
    let insists = !matches!(surface.clicolor_force.as_str(), "" | "0");
    match choice {
        ColourChoice::Never => false,
        ColourChoice::Always => true,
        ColourChoice::Auto if !surface.no_color.is_empty() || surface.term == "dumb" => false,
        ColourChoice::Auto => insists || surface.is_terminal,
    }
}

/// Whether lines that were written can be written again.
pub(super) fn can_move_cursor(term: &str) -> bool {
    !matches!(term, "" | "dumb")
}

/// Whether more than ASCII can be shown: the first of these that says anything decides.
pub(super) fn is_unicode(lc_all: &str, lc_ctype: &str, lang: &str) -> bool {
    let first = [lc_all, lc_ctype, lang].into_iter().find(|value| !value.is_empty());
    let locale = first.unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// The choice among words that could not be parsed, or not yet: mistakes have a colour, too.
pub(super) fn typed_choice(words: impl Iterator<Item = String>) -> ColourChoice {
    let mut choice = ColourChoice::Auto;
    let mut is_value = false;
    for word in words {
        if word == "--" {
            break;
        }
        let value = if is_value { Some(word.as_str()) } else { word.strip_prefix("--color=") };
        choice = value.and_then(|name| ColourChoice::from_str(name, false).ok()).unwrap_or(choice);
        is_value = word == "--color";
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface(no_color: &str, clicolor_force: &str, term: &str, is_terminal: bool) -> Surface {
        let [no_color, clicolor_force, term] = [no_color, clicolor_force, term].map(Into::into);
        Surface { no_color, clicolor_force, term, is_terminal }
    }

    #[test]
    fn colour_is_for_terminals() {
        assert!(has_colour(ColourChoice::Auto, &surface("", "", "xterm", true)));
        assert!(!has_colour(ColourChoice::Auto, &surface("", "", "xterm", false)));
    }

    #[test]
    fn who_wants_no_colour_gets_none() {
        assert!(!has_colour(ColourChoice::Auto, &surface("1", "", "xterm", true)));
        assert!(!has_colour(ColourChoice::Auto, &surface("1", "1", "xterm", true)));
        assert!(!has_colour(ColourChoice::Auto, &surface("", "", "dumb", true)));
        assert!(!has_colour(ColourChoice::Never, &surface("", "1", "xterm", true)));
    }

    #[test]
    fn who_insists_on_colour_gets_it_in_a_file() {
        assert!(has_colour(ColourChoice::Auto, &surface("", "1", "xterm", false)));
        assert!(!has_colour(ColourChoice::Auto, &surface("", "0", "xterm", false)));
        assert!(has_colour(ColourChoice::Always, &surface("", "", "", false)));
    }

    #[test]
    fn what_is_typed_is_stronger_than_the_environment() {
        assert!(has_colour(ColourChoice::Always, &surface("1", "", "dumb", false)));
        assert!(!has_colour(ColourChoice::Never, &surface("", "1", "xterm", true)));
    }

    #[test]
    fn the_first_locale_that_says_anything_decides() {
        assert!(is_unicode("", "", "de_DE.UTF-8"));
        assert!(is_unicode("", "C.utf8", "C"));
        assert!(!is_unicode("C", "", "en_GB.UTF-8"));
        assert!(!is_unicode("", "", ""));
    }

    #[test]
    fn a_cursor_moves_on_terminals_that_have_a_name() {
        assert!(can_move_cursor("xterm-256color"));
        assert!(!can_move_cursor("dumb"));
        assert!(!can_move_cursor(""));
    }

    #[test]
    fn the_last_choice_that_was_typed_counts() {
        let typed = |line: &str| typed_choice(line.split(' ').map(Into::into));
        assert_eq!(typed("provision --color never --nosuch"), ColourChoice::Never);
        assert_eq!(typed("provision --color=always --color=never x"), ColourChoice::Never);
        assert_eq!(typed("provision --color nosuch"), ColourChoice::Auto);
        assert_eq!(typed("provision -- --color=never"), ColourChoice::Auto);
    }
}
