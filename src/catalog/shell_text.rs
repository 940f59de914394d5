//! What the text of a command gives away without being run.

use std::ops::Range;

/// A place in the text of a command, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub at: Range<usize>,
    pub message: String,
    pub hint: Option<String>,
}

/// `{{name}}`: a value that someone expects to be pasted in. Templates that programs fill in
/// themselves (`{{.Names}}`, `{{json .}}`, `{{end}}`) are none.
pub fn pasted(text: &str) -> Vec<Remark> {
    const OF_TEMPLATES: [&str; 4] = ["end", "else", "break", "continue"];
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find("{{").map(|at| from + at) {
        let Some(end) = text[start..].find("}}").map(|at| start + at + 2) else { break };
        from = end;
        let inside = &text[start + 2..end - 2];
        // `{{ name | filter }}`
        let name = inside.split('|').next().unwrap_or_default().trim();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        if is_name && !OF_TEMPLATES.contains(&name) {
            let variable = name.replace(['-', '.'], "_").to_ascii_uppercase();
            found.push(Remark {
                at: start..end,
                message: format!(
                    "`{}` is not filled in: values are never pasted into a command",
                    &text[start..end]
                ),
                hint: Some(format!("write \"${variable}\"")),
            });
        }
    }
    found
}

/// The first `sudo` that would be run.
pub fn literal_sudo(text: &str) -> Option<Range<usize>> {
    let is_sudo = |word: &&Word<'_>| word.text.rsplit('/').next() == Some("sudo");
    let words = words(text);
    // Also behind a word that runs another: `xargs sudo`, `env X=1 sudo`.
    words.iter().find(is_sudo).map(|word| word.at.clone())
}

/// What the bash 3.2 of macOS does not know.
pub fn newer_than_3_2(text: &str) -> Vec<Remark> {
    let mut found = Vec::new();
    let mut add = |at: Range<usize>, what: &str, since: &str| {
        let message = format!("{what} needs bash {since}; macOS has 3.2");
        found.push(Remark { at, message, hint: None });
    };
    let words = words(text);
    let mut command = "";
    for (number, word) in words.iter().enumerate() {
        if word.is_first {
            command = word.text;
        }
        let next = words.get(number + 1).filter(|next| !next.is_first).map_or("", |next| next.text);
        let flag = |letters: &str| {
            next.starts_with('-')
                && !next.starts_with("--")
                && next.contains(|c| letters.contains(c))
        };
        let at = word.at.clone();
        match (word.is_first, word.text) {
            (true, "mapfile" | "readarray" | "coproc") => {
                add(at, &format!("`{}`", word.text), "4.0");
            }
            (true, "declare" | "local" | "typeset") if flag("A") => {
                add(at, "an associative array", "4.0");
            }
            (true, "declare" | "local" | "typeset") if flag("n") => {
                add(at, "a name reference", "4.3");
            }
            (true, "declare" | "typeset") if flag("glu") => {
                add(at, &format!("`{} {next}`", word.text), "4.0");
            }
            (true, "wait") if next == "-n" => add(at, "`wait -n`", "4.3"),
            (false, "globstar" | "lastpipe") if command == "shopt" => {
                add(at, &format!("`shopt -s {}`", word.text), "4.0");
            }
            (false, "-v") if matches!(command, "[[" | "test" | "[") => add(at, "`-v`", "4.2"),
            _ => {}
        }
    }
    for (at, what, since) in signs_and_expansions(text) {
        add(at, what, since);
    }
    found.sort_by_key(|remark| remark.at.start);
    found
}

/// `&>>`, `${x^^}` and their kin, wherever the shell would read them.
fn signs_and_expansions(text: &str) -> Vec<(Range<usize>, &'static str, &'static str)> {
    let signs = [("&>>", "`&>>`"), ("|&", "`|&`"), (";;&", "`;;&`"), (";&", "`;&`")];
    let names = ["EPOCHSECONDS", "EPOCHREALTIME", "SRANDOM"];
    let mut found = Vec::new();
    let mut skip = 0;
    for (at, context) in read(text) {
        let rest = &text[at..];
        if at < skip || context == Context::Quiet {
            continue;
        }
        if context == Context::Plain
            && let Some((sign, what)) = signs.iter().find(|(sign, _)| rest.starts_with(sign))
        {
            found.push((at..at + sign.len(), *what, "4.0"));
            skip = at + sign.len();
        }
        let Some(inside) = rest.strip_prefix('$') else { continue };
        let braced = inside.strip_prefix('{').map(|inside| inside.trim_start_matches('!'));
        let name_of = |text: &str| {
            let rest = text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            text.len() - rest.len()
        };
        let body = braced.unwrap_or(inside);
        let name = name_of(body);
        if names.contains(&&body[..name]) {
            found.push((at..at + rest.len() - body.len() + name, "this variable", "5.0"));
        }
        let Some(length) = braced.and_then(|_| body.find('}')) else { continue };
        let whole = at..at + rest.len() - body.len() + length + 1;
        let operator = &body[name..length];
        let operator =
            operator.strip_prefix('[').and_then(|o| o.split_once(']')).map_or(operator, |(_, o)| o);
        match operator.as_bytes() {
            [b'^' | b',', ..] if name > 0 => {
                found.push((whole, "changing the case in an expansion", "4.0"));
            }
            [b'@', letter] if name > 0 && letter.is_ascii_alphabetic() => {
                found.push((whole, "an expansion with `@`", "4.4"));
            }
            _ => {}
        }
    }
    found
}

/// What the shell makes of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Plain,
    /// In double quotes: variables are filled in, nothing else happens.
    Quoted,
    /// In single quotes, behind a backslash, or in a comment.
    Quiet,
}

/// Every character's place, and what the shell makes of it. Here-documents are read as commands.
fn read(text: &str) -> impl Iterator<Item = (usize, Context)> + '_ {
    let mut quote = None;
    let mut is_escaped = false;
    let mut is_comment = false;
    let mut before = '\n';
    text.char_indices().map(move |(at, character)| {
        let context = if is_comment {
            is_comment = character != '\n';
            Context::Quiet
        } else if is_escaped {
            is_escaped = false;
            Context::Quiet
        } else {
            match (quote, character) {
                (None, '#') if before.is_whitespace() || ";(|&".contains(before) => {
                    is_comment = true;
                    Context::Quiet
                }
                (None | Some('"'), '\\') => {
                    is_escaped = true;
                    Context::Quiet
                }
                (None, '\'' | '"') => {
                    quote = Some(character);
                    Context::Quiet
                }
                (Some(open), _) if open == character => {
                    quote = None;
                    Context::Quiet
                }
                (None, _) => Context::Plain,
                (Some('"'), _) => Context::Quoted,
                (Some(_), _) => Context::Quiet,
            }
        };
        before = character;
        (at, context)
    })
}

/// A word of a command that is not quoted.
#[derive(Debug)]
struct Word<'a> {
    at: Range<usize>,
    text: &'a str,
    /// Whether it is what is run, rather than what it is told.
    is_first: bool,
}

fn words(text: &str) -> Vec<Word<'_>> {
    /// Words behind which another command stands.
    const LEADERS: [&str; 12] = [
        "then", "do", "else", "elif", "if", "while", "until", "!", "time", "exec", "command", "env",
    ];
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut start = None;
    let mut is_first = true;
    let end = [(text.len(), Context::Quiet)];
    for (at, context) in read(text).chain(end) {
        let character = text[at..].chars().next().unwrap_or('\n');
        // `$(…)` and `` `…` `` are commands in double quotes too; what else is quoted is no word.
        let ends = character.is_whitespace() || ";|&()<>`{}".contains(character);
        if context == Context::Plain && !ends {
            start = start.or(Some(at));
            continue;
        }
        if let Some(begin) = start.take() {
            let word = &text[begin..at];
            let is_assignment = is_first
                && word.split_once('=').is_some_and(|(name, _)| {
                    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                });
            words.push(Word { at: begin..at, text: word, is_first });
            is_first &= is_assignment || LEADERS.contains(&word);
        }
        let opens = ";|&(`{\n".contains(character);
        if context == Context::Plain && opens
            || context == Context::Quoted && "(`".contains(character)
        {
            is_first = true;
        }
        // A quoted first word is one all the same.
        if context == Context::Quiet && (character == '"' || character == '\'') {
            is_first = false;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{literal_sudo, newer_than_3_2, pasted};

    #[test]
    fn values_are_not_pasted_and_templates_are_left_alone() {
        let found = pasted("git config user.name {{git_name}} {{ x }}");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].at, 21..33);
        assert_eq!(found[0].hint.as_deref(), Some("write \"$GIT_NAME\""));
        for text in [
            "docker ps --format '{{.Names}}'",
            "{{json .}}",
            "{{end}}",
            "{{",
            "a}}b{{",
            "{{.A | len}}",
        ] {
            assert_eq!(pasted(text), [], "{text}");
        }
    }

    #[test]
    fn sudo_is_a_word_wherever_it_is_run() {
        for text in ["sudo apt-get", "true && sudo x", "x=$(/usr/bin/sudo id)", "a|sudo tee f"] {
            assert!(literal_sudo(text).is_some(), "{text}");
        }
        for text in [
            "pseudo x",
            "cat /etc/sudoers",
            "# sudo\ntrue",
            "sudoedit x",
            "echo a#b",
            "echo 'use sudo'",
        ] {
            assert_eq!(literal_sudo(text), None, "{text}");
        }
    }

    #[test]
    fn what_macos_does_not_know_is_found() {
        for text in [
            "mapfile -t x < f",
            "readarray x",
            "declare -A m",
            "local -gA m",
            "declare -n r=x",
            "echo ${x^^}",
            "echo \"${x,,}\"",
            "echo ${x@Q}",
            "make &>> log",
            "make |& tee log",
            "coproc cat",
            "case x in a) b;;& esac",
            "shopt -s globstar",
            "[[ -v x ]]",
            "wait -n",
            "echo $EPOCHSECONDS",
            "echo \"${EPOCHREALTIME}\"",
            "shopt -s nullglob globstar",
            "echo ${list[@]^^}",
            "echo ${!x,,}",
            "if true; then mapfile x; fi",
            "x=$(readarray y)",
            "declare -g x=1",
            "true # &>>\nmake &>> log",
        ] {
            assert_eq!(newer_than_3_2(text).len(), 1, "{text}: {:?}", newer_than_3_2(text));
        }
    }

    #[test]
    fn what_macos_knows_is_left_alone() {
        for text in [
            "declare -a list; local x=1",
            "echo ${x:-y,z} ${x%%,*} ${x/^/y} $x",
            "make > log 2>&1; true & wait",
            "case x in a) b;; esac",
            "command -v git; [ -n \"$x\" ]; grep -v x f",
            "# mapfile and ${x",
            "echo ${array[@]}",
            "make --A; typeset --help",
            "go test -v ./...",
            "kubectl wait -n kube-system pod",
            "sed 's|&amp;|and|' f",
            "curl \"https://x/?a=1;&b=2\"",
            "npm install coproc readarray",
            "zsh -c 'declare -A m'",
            "echo '${x^^}' \\${y",
            "make # |& tee",
            "echo \"a &>> b\"",
        ] {
            assert_eq!(newer_than_3_2(text), [], "{text}");
        }
    }
}
