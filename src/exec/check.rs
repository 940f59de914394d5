//! Checks that take no process: where a program is (`command -v NAME`), and tests of files
//! (`test -d ~/x`, `[ -f "$HOME/x" ] && ! [ -L /y ]`). Every other text is left to a shell.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, AtFlags, CWD};

use super::{Environment, probe::is_builtin};

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub succeeds: bool,
    /// Paths that the check prints: those of the programs that it looked for and found.
    pub paths: Vec<PathBuf>,
}

/// Answers a check; `None` if that takes a shell. `first` are directories that come first in PATH,
/// and `setup` is the shell text that runs before the check.
pub(super) fn answer(
    text: &str,
    environment: &Environment,
    first: &[PathBuf],
    setup: &str,
) -> Option<Answer> {
    let (checks, operators) = split(text.trim_matches([' ', '\t', '\n']))?;
    // Parse every check before running one: a list is answered as a whole or not at all.
    let checks = checks.into_iter().map(|check| Check::parse(check, environment));
    let checks = checks.collect::<Option<Vec<_>>>()?;
    let mut answer = Answer { succeeds: true, paths: Vec::new() };
    for (check, operator) in checks.iter().zip(operators) {
        if operator.applies_after(answer.succeeds) {
            // The place of a single program is reported even if the output goes to /dev/null.
            let (succeeds, path) = check.run(environment, first, checks.len() == 1);
            answer.succeeds = succeeds;
            answer.paths.extend(path);
        }
    }
    // The setup text may bring a program or a file that is missing without it.
    let is_certain = setup.is_empty() || answer.succeeds && !checks.iter().any(Check::is_negated);
    is_certain.then_some(answer)
}

#[derive(Clone, Copy)]
enum Operator {
    And,
    Or,
}

impl Operator {
    fn applies_after(self, success: bool) -> bool {
        match self {
            Self::And => success,
            Self::Or => !success,
        }
    }
}

/// Splits a list of checks; each has the operator before it. Quotes are not regarded: a piece of a
/// quoted text fails to parse.
fn split(text: &str) -> Option<(Vec<&str>, Vec<Operator>)> {
    let (mut checks, mut operators) = (Vec::new(), vec![Operator::And]);
    let mut rest = text;
    while let Some(at) = [rest.find("&&"), rest.find("||")].into_iter().flatten().min() {
        checks.push(&rest[..at]);
        operators.push(if rest[at..].starts_with('&') { Operator::And } else { Operator::Or });
        rest = &rest[at + 2..];
    }
    checks.push(rest);
    (!text.contains(['\n', '\r'])).then_some((checks, operators))
}

struct Check<'a> {
    is_inverted: bool,
    question: Question<'a>,
}

enum Question<'a> {
    Program { name: &'a str, is_silent: bool },
    File { operator: char, is_inverted: bool, path: PathBuf },
}

impl<'a> Check<'a> {
    fn parse(text: &'a str, environment: &Environment) -> Option<Self> {
        let (is_inverted, text) = strip_not(text.trim_matches(BLANKS));
        let question = match plain_lookup(text) {
            Some((name, is_silent)) => Question::Program { name, is_silent },
            None => file_test(text, environment)?,
        };
        Some(Self { is_inverted, question })
    }

    fn is_negated(&self) -> bool {
        self.is_inverted || matches!(self.question, Question::File { is_inverted: true, .. })
    }

    /// Returns whether the check succeeds, and the path that it prints or, with `always`, would
    /// print without a redirection.
    fn run(
        &self,
        environment: &Environment,
        first: &[PathBuf],
        always: bool,
    ) -> (bool, Option<PathBuf>) {
        let (holds, path) = match &self.question {
            Question::Program { name, is_silent } => {
                let path = environment.program(name, first);
                (path.is_some(), path.filter(|_| always || !is_silent))
            }
            Question::File { operator, is_inverted, path } => {
                (holds(*operator, path) != *is_inverted, None)
            }
        };
        (holds != self.is_inverted, path)
    }
}

/// Characters that separate words of a command.
const BLANKS: [char; 2] = [' ', '\t'];

fn strip_not(text: &str) -> (bool, &str) {
    match text.strip_prefix("! ") {
        Some(rest) => (true, rest.trim_matches(BLANKS)),
        None => (false, text),
    }
}

/// Returns the name in `command -v NAME`, and whether the output goes to /dev/null.
fn plain_lookup(command: &str) -> Option<(&str, bool)> {
    const LOUD: [&str; 2] = ["", "2>/dev/null"];
    const SILENT: [&str; 5] =
        [">/dev/null", "> /dev/null", ">/dev/null 2>&1", "> /dev/null 2>&1", "&>/dev/null"];
    let rest = command.strip_prefix("command -v ")?.trim_matches(BLANKS);
    let (name, redirections) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let is_name = !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain);
    let redirections = redirections.trim_matches(BLANKS);
    let is_silent = SILENT.contains(&redirections);
    let is_plain = is_name && !is_builtin(name) && (is_silent || LOUD.contains(&redirections));
    is_plain.then_some((name, is_silent))
}

/// Parses `test [!] -OP PATH` and `[ [!] -OP PATH ]`.
fn file_test<'a>(text: &str, environment: &Environment) -> Option<Question<'a>> {
    let inner = match text.strip_prefix("[ ") {
        Some(inner) => inner.strip_suffix(" ]")?,
        None => text.strip_prefix("test ")?,
    };
    let (is_inverted, inner) = strip_not(inner.trim_matches(BLANKS));
    let (operator, word) = inner.strip_prefix('-')?.split_once(' ')?;
    let mut operators = operator.chars().filter(|operator| "efdxrsL".contains(*operator));
    let operator = operators.next().filter(|_| operator.len() == 1)?;
    let path = expand(word.trim_matches(BLANKS), environment)?;
    Some(Question::File { operator, is_inverted, path })
}

/// Returns the path that a shell makes of a word; `None` for a word that means anything else, and
/// for a path that depends on the process that looks.
fn expand(word: &str, environment: &Environment) -> Option<PathBuf> {
    let (quote, text) = match word.chars().next()? {
        quote @ ('\'' | '"') => (Some(quote), word[1..].strip_suffix(quote)?),
        _ => (None, word),
    };
    // Characters that are literal inside these quotes.
    let signs = match quote {
        None => "",
        Some('"') => " '*?[](){}<>|&;#",
        Some(_) => " \"$`\\*?[](){}<>|&;#!",
    };
    let is_literal =
        |c: char| c.is_alphanumeric() || "/._-+@%,:=~".contains(c) || signs.contains(c);
    let variable = text.strip_prefix("$HOME").or_else(|| text.strip_prefix("${HOME}"));
    let variable = variable.filter(|_| quote != Some('\''));
    let tilde = text.strip_prefix('~').filter(|_| quote.is_none());
    // `$HOMES` is another variable, and `~ada` the home of another user.
    let below = variable.or(tilde).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    if !below.unwrap_or(text).chars().all(is_literal) {
        return None;
    }
    let path = match below {
        None => text.to_owned(),
        Some(rest) => {
            let home = environment.variable("HOME")?;
            // Without quotes a shell splits the value of a variable.
            let is_split = variable.is_some() && quote.is_none() && !home.chars().all(is_literal);
            (!is_split).then(|| format!("{home}{rest}"))?
        }
    };
    let path = PathBuf::from(path);
    // These lead to other files in another process.
    let own = ["/proc", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"];
    let is_own = own.iter().any(|place| path.starts_with(place));
    (path.is_absolute() && !is_own).then_some(path)
}

/// Evaluates one operator of the shell's `test`.
fn holds(operator: char, path: &Path) -> bool {
    let may = |access| rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS).is_ok();
    match operator {
        'L' => path.is_symlink(),
        'r' => may(Access::READ_OK),
        'x' => may(Access::EXEC_OK),
        _ => fs::metadata(path).is_ok_and(|there| match operator {
            'f' => there.is_file(),
            'd' => there.is_dir(),
            's' => there.len() > 0,
            _ => true,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{answer, plain_lookup};
    use crate::exec::Environment;

    #[test]
    fn lookup_with_anything_else_is_left_to_a_shell() {
        for (command, name) in [
            ("command -v git", Some("git")),
            ("command -v python3.12 >/dev/null 2>&1", Some("python3.12")),
            ("command -v g++ &>/dev/null", Some("g++")),
            ("command -v cd", None),
            ("command -v $(evil)", None),
            ("command -v git; rm x", None),
            ("command -v git > file", None),
            ("command -V git", None),
            ("command -v -p git", None),
        ] {
            assert_eq!(plain_lookup(command).map(|(name, _)| name), name, "{command}");
        }
    }

    #[test]
    fn file_tests_are_answered_and_other_texts_are_not() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().to_str().unwrap().to_owned();
        let fs = crate::disk::Fs::real();
        fs.create_dir(&place.path().join("a b")).unwrap();
        let environment = Environment::new([("HOME".to_owned(), home)]);
        let succeeds =
            |text: &str| answer(text, &environment, &[], "").map(|answer| answer.succeeds);
        for text in [
            "test -d ~",
            " test  -d  ~/ ",
            "[ -d $HOME ]",
            "[ -e \"$HOME/a b\" ]",
            "test -d \"${HOME}\" && test ! -f ~/x",
            "! test -e ~/x",
            "[ -f ~/x ] || [ -d ~ ]",
            "test -f ~/x && test -f ~/y || test -d /",
            "! [ ! -x / ]",
        ] {
            assert_eq!(succeeds(text), Some(true), "{text}");
        }
        for text in ["test -e ~/x", "[ -L ~ ]", "test -d / && test -s ~/x", "test -d '~'x"] {
            assert_ne!(succeeds(text), Some(true), "{text}");
        }
        for text in [
            "",
            "test",
            "test -d",
            "test -d x",
            "test -d ~/a b",
            "test -d ~ada",
            "test -d ~/*",
            "test -d $HOMES",
            "test -d $HOME$x",
            "test -d \"~/$(ls)\"",
            "test -d '~/x'",
            "test -d ~ -a -d /",
            "test -d ~; ls",
            "test -d ~ &&",
            "test -d ~ && ls",
            "test -w ~",
            "test -ef ~",
            "[ -d ~",
            "[ -d ~]",
            "test -d ~ | cat",
            "test -d ~ > x",
            "test -d \"$HOME/\\x\"",
            "test -d ~ && || test -d ~",
            "test -d ~\n&& test -d ~",
            "test -d \n~",
            "test -d ~\u{a0}",
            "test -r /dev/stdin",
            "test -e /proc/self/fd/3",
            "command -v cd && test -d ~",
        ] {
            assert_eq!(succeeds(text), None, "{text}");
        }
        let paths = |text: &str| answer(text, &environment, &["/bin".into()], "").unwrap().paths;
        for (text, expected) in [
            ("command -v sh && command -v cat", &["/bin/sh", "/bin/cat"][..]),
            ("command -v sh || command -v cat", &["/bin/sh"]),
            ("command -v sh >/dev/null && command -v cat", &["/bin/cat"]),
            ("command -v sh >/dev/null", &["/bin/sh"]),
        ] {
            let expected: Vec<_> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(paths(text), expected, "{text}");
        }
        let after_setup = |text: &str| answer(text, &environment, &[], ". ~/x").is_some();
        assert!(after_setup("test -e ~/x || test -d ~"));
        assert!(!after_setup("test -e ~/x") && !after_setup("test ! -e ~/x"));
        assert!(!after_setup("test -d ~ && ! test -e ~/x") && !after_setup("! command -v tea"));
    }
}
