//! A line that is being typed: what its words are so far. Mistakes in it are nobody's concern yet.

use clap::{Arg, Command};

/// The words before the one that is being typed, as far as they can be told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TypedLine {
    /// The commands that were named, outermost first.
    pub commands: Vec<String>,
    /// What was given to the last of them by place.
    pub given: Vec<String>,
    /// What was given by name: the argument's id and its value.
    options: Vec<(String, String)>,
}

impl TypedLine {
    /// Reads the words after the program's own name. `command` must be built.
    pub(super) fn read(command: &Command, words: &[String]) -> Self {
        let mut line = Self::default();
        let mut command = command;
        let mut awaited: Option<&Arg> = None;
        for word in words {
            if let Some(option) = awaited.take() {
                line.options.push((option.get_id().to_string(), word.clone()));
            } else if let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) {
                let (name, value) = match name.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (name, None),
                };
                let option = command.get_arguments().find(|option| is_named(option, name));
                let option = option.filter(|option| option.get_action().takes_values());
                match (option, value) {
                    (Some(option), Some(value)) => {
                        line.options.push((option.get_id().to_string(), value.to_owned()));
                    }
                    (option, _) => awaited = option,
                }
            } else if let (true, Some(below)) =
                (line.given.is_empty(), command.find_subcommand(word))
            {
                line.commands.push(below.get_name().to_owned());
                command = below;
            } else {
                line.given.push(word.clone());
            }
        }
        line
    }

    /// Every value that an argument was given by name.
    pub(super) fn values<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a str> {
        self.options.iter().filter(move |(of, _)| of == id).map(|(_, value)| value.as_str())
    }
}

/// Whether an option is called so: `-name` for a long one, whose first dash is gone.
fn is_named(option: &Arg, name: &str) -> bool {
    match name.strip_prefix('-') {
        Some(long) => option.get_long() == Some(long),
        // Of several short ones in a word only the last can want a value.
        None => option.get_short().is_some() && option.get_short() == name.chars().next_back(),
    }
}

/// The words of a line as they were typed: bash takes `=` and `:` for words of their own.
pub(super) fn joined(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let is_break =
        |word: &str| !word.is_empty() && word.chars().all(|letter| "=:".contains(letter));
    let mut joined: Vec<String> = Vec::new();
    let mut goes_on = false;
    for word in words {
        let breaks = is_break(&word);
        match joined.last_mut() {
            Some(last) if breaks || goes_on => last.push_str(&word),
            _ => joined.push(word),
        }
        goes_on = breaks;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(Into::into).collect()
    }

    fn read(line: &str) -> TypedLine {
        let mut command = super::super::command::command();
        command.build();
        TypedLine::read(&command, &words(line))
    }

    #[test]
    fn values_are_told_from_what_is_given_by_place() {
        let line = read("--home /a logs --catalog=b latest -q git");
        assert_eq!(line.commands, ["logs"]);
        assert_eq!(line.given, ["latest", "git"]);
        assert_eq!(line.values("home").collect::<Vec<_>>(), ["/a"]);
        assert_eq!(line.values("catalog").collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn commands_are_named_within_commands() {
        let line = read("catalog show list");
        assert_eq!(line.commands, ["catalog", "show"]);
        assert_eq!(line.given, ["list"]);
    }

    #[test]
    fn a_line_that_makes_no_sense_is_read_all_the_same() {
        assert_eq!(read("nosuch --nosuch=1 -x -- - start --home").given, ["nosuch", "-", "start"]);
    }

    #[test]
    fn words_that_bash_took_apart_are_whole_again() {
        let typed = words("provision --home = /a start --answer js_runtime = b");
        assert_eq!(joined(typed), words("provision --home=/a start --answer js_runtime=b"));
        assert_eq!(joined(words("recover --resume-at git :")), words("recover --resume-at git:"));
        assert_eq!(joined(["x".to_owned(), String::new()]), ["x", ""]);
    }
}
