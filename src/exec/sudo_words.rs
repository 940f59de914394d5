//! The words after `sudo`, as far as they must be understood: what is to run, as whom, and whether
//! whoever wrote them has settled already where a password comes from.

use std::ffi::{OsStr, OsString};

/// Letters of options that are followed by a value.
const WITH_VALUE: &str = "CDgpRrTtUu";
/// Long options that are followed by a value, and the letters that mean the same.
const LONG_WITH_VALUE: [(&str, char); 11] = [
    ("close-from", 'C'),
    ("chdir", 'D'),
    ("group", 'g'),
    ("prompt", 'p'),
    ("chroot", 'R'),
    ("role", 'r'),
    ("command-timeout", 'T'),
    ("type", 't'),
    ("other-user", 'U'),
    ("user", 'u'),
    ("host", 'h'),
];
const LONG: [(&str, char); 18] = [
    ("askpass", 'A'),
    ("bell", 'B'),
    ("background", 'b'),
    ("preserve-env", 'E'),
    ("edit", 'e'),
    ("set-home", 'H'),
    ("help", '?'),
    ("login", 'i'),
    ("remove-timestamp", 'K'),
    ("reset-timestamp", 'k'),
    ("list", 'l'),
    ("no-update", 'N'),
    ("non-interactive", 'n'),
    ("preserve-groups", 'P'),
    ("shell", 's'),
    ("stdin", 'S'),
    ("version", 'V'),
    ("validate", 'v'),
];

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SudoWords {
    /// The options, by letter; one that is unknown is `?`.
    options: Vec<char>,
    pub user: Option<OsString>,
    /// What stands before the command as `NAME=value`.
    pub variables: Vec<(String, OsString)>,
    pub command: Vec<OsString>,
}

impl SudoWords {
    pub(super) fn new(words: impl IntoIterator<Item = OsString>) -> Self {
        let mut parsed = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            if text == "--" {
                parsed.command.extend(words.by_ref());
            } else if let Some(long) = text.strip_prefix("--") {
                parsed.take_long(long, &mut words);
            } else if text.len() > 1 && text.starts_with('-') {
                parsed.take_letters(&text[1..], &mut words);
            } else {
                parsed.command.push(word);
                parsed.command.extend(words.by_ref());
            }
        }
        let is_variable = |word: &OsString| assignment(word).is_some();
        let count = parsed.command.iter().take_while(|word| is_variable(word)).count();
        parsed.variables = parsed.command.drain(..count).filter_map(|w| assignment(&w)).collect();
        parsed
    }

    fn take_long(&mut self, long: &str, words: &mut impl Iterator<Item = OsString>) {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (long, None),
        };
        let known = |list: &[(&str, char)]| {
            list.iter().find(|(known, _)| *known == name).map(|(_, letter)| *letter)
        };
        if let Some(letter) = known(&LONG_WITH_VALUE) {
            let value = value.or_else(|| words.next());
            self.take(letter, value);
        } else {
            self.take(known(&LONG).unwrap_or('?'), None);
        }
    }

    /// Letters may stand together; the value of one follows it at once, or as the next word.
    fn take_letters(&mut self, letters: &str, words: &mut impl Iterator<Item = OsString>) {
        for (at, letter) in letters.char_indices() {
            if WITH_VALUE.contains(letter) {
                let rest = &letters[at + letter.len_utf8()..];
                let value = if rest.is_empty() { words.next() } else { Some(rest.into()) };
                self.take(letter, value);
                return;
            }
            self.take(letter, None);
        }
    }

    fn take(&mut self, letter: char, value: Option<OsString>) {
        if letter == 'u' {
            self.user = value;
        }
        self.options.push(letter);
    }

    pub(super) fn has(&self, letter: char) -> bool {
        self.options.contains(&letter)
    }

    /// Whether something is run at all, rather than asked or forgotten.
    pub(super) fn runs_something(&self) -> bool {
        let asks = ['?', 'e', 'h', 'K', 'l', 'V', 'v'].into_iter().any(|letter| self.has(letter));
        !asks && (!self.command.is_empty() || self.has('s') || self.has('i'))
    }

    /// Whether sudo may want a password for it.
    pub(super) fn may_take_a_password(&self) -> bool {
        self.runs_something() || ['e', 'l', 'v'].into_iter().any(|letter| self.has(letter))
    }

    /// Whether it says by itself where a password comes from, or that there is to be none.
    pub(super) fn settles_the_password(&self) -> bool {
        ['A', 'n', 'S'].into_iter().any(|letter| self.has(letter))
    }

    /// Whether it only confirms or forgets a password: root has none to be asked for.
    pub(super) fn is_about_the_password(&self) -> bool {
        self.command.is_empty()
            && !self.options.is_empty()
            && self.options.iter().all(|letter| "AknKvSp".contains(*letter))
    }

    /// Whether root can do it by just running the command.
    pub(super) fn is_plain(&self) -> bool {
        let as_root = self.user.as_deref().is_none_or(|user| user == "root" || user == "#0");
        as_root
            && !self.command.is_empty()
            && self.options.iter().all(|letter| "AEHknPSpuB".contains(*letter))
    }
}

fn assignment(word: &OsStr) -> Option<(String, OsString)> {
    let (name, value) = word.to_str()?.split_once('=')?;
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name.to_owned(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::SudoWords;

    fn words(text: &str) -> SudoWords {
        SudoWords::new(text.split_whitespace().map(Into::into))
    }

    #[test]
    fn the_command_begins_behind_options_and_variables() {
        for (text, command) in [
            ("apt-get update -y", "apt-get update -y"),
            ("-E apt-get -n", "apt-get -n"),
            ("-HEn -p prompt -- -odd", "-odd"),
            ("-u postgres psql -u x", "psql -u x"),
            ("-upostgres psql", "psql"),
            ("--user=postgres psql", "psql"),
            ("--user postgres psql", "psql"),
            ("--preserve-env=A,B tool", "tool"),
            ("--preserve-env tool", "tool"),
            ("A=1 _b=2 tool C=3", "tool C=3"),
            ("-v", ""),
        ] {
            let found: Vec<_> =
                words(text).command.iter().map(|w| w.to_string_lossy().into_owned()).collect();
            assert_eq!(found.join(" "), command, "{text}");
        }
        let variables = words("A=1 _b= tool").variables;
        assert_eq!(variables, [("A".into(), "1".into()), ("_b".into(), "".into())]);
    }

    #[test]
    fn what_root_can_just_run_is_told_from_what_takes_sudo_itself() {
        for text in ["id", "-E id", "-n -H A=1 id", "-u root id", "-S id", "-k id"] {
            assert!(words(text).is_plain(), "{text}");
        }
        for text in ["-u ada id", "-i", "-s", "-l", "-g staff id", "-D /x id", "--odd id", "-v", ""]
        {
            assert!(!words(text).is_plain(), "{text}");
        }
    }

    #[test]
    fn whoever_settles_the_password_is_left_to_it() {
        for text in ["-n id", "-S id", "-A id", "-vn", "--stdin id"] {
            assert!(words(text).settles_the_password(), "{text}");
        }
        for text in ["id", "-E id", "id -n", "-u n id", "-p S id"] {
            assert!(!words(text).settles_the_password(), "{text}");
        }
    }

    #[test]
    fn what_never_takes_a_password_is_known() {
        for text in ["-k", "-K", "-V", "--reset-timestamp", ""] {
            assert!(!words(text).may_take_a_password(), "{text}");
        }
        for text in ["-v", "-l", "-e /etc/hosts", "id", "-k id"] {
            assert!(words(text).may_take_a_password(), "{text}");
        }
    }

    #[test]
    fn what_runs_nothing_is_known() {
        for text in ["-v", "-k", "-K", "-l", "-V", "-e /etc/hosts", ""] {
            assert!(!words(text).runs_something(), "{text}");
        }
        for text in ["id", "-k id", "-s", "-i", "-i id"] {
            assert!(words(text).runs_something(), "{text}");
        }
        for (text, about) in
            [("-v", true), ("-k", true), ("-n -v", true), ("id", false), ("-l", false)]
        {
            assert_eq!(words(text).is_about_the_password(), about, "{text}");
        }
    }
}
