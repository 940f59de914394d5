//! Which programs the text of a command calls, as far as that can be seen without running it.
//! A guess, and good enough to know what to wait for: never for what may run.

/// One call in the text of a command: the program, and what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Without the folder it is in.
    pub program: String,
    pub arguments: Vec<String>,
}

impl Call {
    /// The first argument that is no option.
    pub(super) fn verb(&self) -> Option<&str> {
        self.arguments.iter().map(String::as_str).find(|word| !word.starts_with('-'))
    }

    pub(super) fn has(&self, words: &[&str]) -> bool {
        self.arguments.iter().any(|word| words.contains(&word.as_str()))
    }
}

/// Shell words behind which another command stands.
const KEYWORDS: [&str; 11] =
    ["then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "coproc"];
/// Programs that run another one, which they are told behind their options.
const RUNNERS: [&str; 14] = [
    "sudo",
    "doas",
    "env",
    "nice",
    "ionice",
    "nohup",
    "timeout",
    "xargs",
    "exec",
    "command",
    "eatmydata",
    "stdbuf",
    "setsid",
    "chronic",
];
/// Options of those that are followed by a value.
const WITH_VALUE: [&str; 11] =
    ["-u", "-g", "-n", "-k", "-s", "-c", "-C", "-h", "-p", "--user", "--group"];
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];
/// How deep commands within commands are looked into.
const DEEPEST: usize = 4;

/// Every call in `text`.
pub(super) fn calls(text: &str) -> Vec<Call> {
    let mut found = Vec::new();
    look_into(text, DEEPEST, &mut found);
    found
}

fn look_into(text: &str, deep: usize, found: &mut Vec<Call>) {
    for words in simple_commands(text) {
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let program = word.rsplit('/').next().unwrap_or_default().to_owned();
            if KEYWORDS.contains(&program.as_str()) || is_assignment(&word) {
                continue;
            }
            if RUNNERS.contains(&program.as_str()) {
                let is_timeout = program == "timeout";
                while let Some(option) = words.next_if(|word| word.starts_with('-')) {
                    if WITH_VALUE.contains(&option.as_str()) {
                        words.next();
                    }
                }
                if is_timeout {
                    words.next();
                }
                continue;
            }
            let arguments: Vec<String> = words.collect();
            if deep > 0 && SHELLS.contains(&program.as_str()) {
                let mut rest = arguments.iter().skip_while(|word| !is_command_option(word));
                if let Some(inner) = rest.nth(1) {
                    look_into(inner, deep - 1, found);
                }
            }
            found.push(Call { program, arguments });
            break;
        }
    }
}

/// `NAME=value`, before the command that it is for.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `-c`, `-ec`, `-lc`.
fn is_command_option(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// The words of each command, where `;`, `|`, `&`, brackets and ends of lines divide them. Quotes
/// are taken away; a command put into the middle of a quoted word is not seen.
fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars().peekable();
    let end_word = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(last)) = (word.take(), commands.last_mut()) {
            last.push(word);
        }
    };
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => match characters.next() {
                // A line that goes on on the next one.
                Some('\n') | None => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '#') if word.is_none() => {
                while characters.next_if(|next| *next != '\n').is_some() {}
            }
            (None, '&') if word.as_deref().is_some_and(|word| word.ends_with('>')) => {
                // `2>&1` is no end.
                word.get_or_insert_default().push(character);
            }
            (None, ';' | '|' | '&' | '(' | ')' | '\n' | '`') => {
                end_word(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            (None, '$') if characters.peek() == Some(&'(') => {}
            (None, character) if character.is_whitespace() => end_word(&mut word, &mut commands),
            (None, character) => word.get_or_insert_default().push(character),
        }
    }
    end_word(&mut word, &mut commands);
    commands.retain(|words| !words.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::calls;

    fn programs(text: &str) -> Vec<String> {
        calls(text).into_iter().map(|call| call.program).collect()
    }

    #[test]
    fn what_stands_in_the_place_of_a_command_is_called() {
        for (text, called) in [
            ("apt-get install -y jq", &["apt-get"][..]),
            ("/usr/bin/apt-get update && apt-get install x", &["apt-get", "apt-get"]),
            ("sudo -E DEBIAN_FRONTEND=x apt-get install x", &["apt-get"]),
            ("sudo -u root dpkg -i x.deb", &["dpkg"]),
            ("env -i A=1 nice -n 5 timeout 60 apt install x", &["apt"]),
            ("curl x | sudo sh -c 'cat; dpkg -i x'", &["curl", "cat", "dpkg", "sh"]),
            ("if ! command -v x; then apt-get install x; fi", &["x", "apt-get", "fi"]),
            ("x=$(dpkg --print-architecture); echo apt-get", &["dpkg", "echo"]),
            ("echo 'apt-get install x' # apt-get", &["echo"]),
            ("apt-get install \\\n  x 2>&1 | tee log", &["apt-get", "tee"]),
            ("yes | (pacman -S x)", &["yes", "pacman"]),
            ("", &[]),
        ] {
            assert_eq!(programs(text), called, "{text}");
        }
    }
}
