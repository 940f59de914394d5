//! Checks that take no process: where a program is (`command -v NAME`), and tests of files
//! (`test -d ~/x`, `[ -f "$HOME/x" ] && ! [ -L /y ]`). Every other text is left to a shell.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, AtFlags, CWD};

use super::{Environment, probe::is_builtin};

/// The result of a check: what its exit code and its output would have been.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub succeeds: bool,
    /// Where the first program is that the check looked for and found.
    pub path: Option<PathBuf>,
}

/// Answers a check; `None` if that takes a shell. `first` are directories that come first in PATH.
pub(super) fn answer(text: &str, environment: &Environment, first: &[PathBuf]) -> Option<Answer> {
    let (checks, operators) = split(text)?;
    // All of it has to be understood before any of it counts.
    let checks = checks.into_iter().map(|check| Check::parse(check, environment));
    let checks = checks.collect::<Option<Vec<_>>>()?;
    let mut answer = Answer { succeeds: true, path: None };
    for (check, operator) in checks.iter().zip(operators) {
        if operator.applies_after(answer.succeeds) {
            answer.succeeds = check.run(environment, first, &mut answer.path);
        }
    }
    Some(answer)
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

/// Splits a list of commands; each has the operator before it. A quoted operator is not seen as
/// quoted, and the pieces around it are no checks.
fn split(text: &str) -> Option<(Vec<&str>, Vec<Operator>)> {
    let (mut checks, mut operators) = (Vec::new(), vec![Operator::And]);
    let mut rest = text.trim();
    while let Some(at) = [rest.find("&&"), rest.find("||")].into_iter().flatten().min() {
        checks.push(rest[..at].trim());
        operators.push(if rest[at..].starts_with('&') { Operator::And } else { Operator::Or });
        rest = rest[at + 2..].trim();
    }
    checks.push(rest);
    (!rest.is_empty()).then_some((checks, operators))
}

struct Check<'a> {
    is_negated: bool,
    question: Question<'a>,
}

enum Question<'a> {
    Program(&'a str),
    File { test: char, is_negated: bool, path: PathBuf },
}

impl<'a> Check<'a> {
    fn parse(text: &'a str, environment: &Environment) -> Option<Self> {
        let negated = text.strip_prefix("! ");
        let (is_negated, text) = (negated.is_some(), negated.unwrap_or(text).trim());
        let question = match plain_lookup(text) {
            Some(name) => Question::Program(name),
            None => file_test(text, environment)?,
        };
        Some(Self { is_negated, question })
    }

    fn run(
        &self,
        environment: &Environment,
        first: &[PathBuf],
        found: &mut Option<PathBuf>,
    ) -> bool {
        let succeeds = match &self.question {
            Question::Program(name) => {
                let program = environment.program(name, first);
                let is_there = program.is_some();
                *found = found.take().or(program);
                is_there
            }
            Question::File { test, is_negated, path } => passes(*test, path) != *is_negated,
        };
        succeeds != self.is_negated
    }
}

/// Returns the name in `command -v NAME`, with or without its output sent to /dev/null.
fn plain_lookup(command: &str) -> Option<&str> {
    const HARMLESS: [&str; 7] = [
        "",
        ">/dev/null",
        "> /dev/null",
        ">/dev/null 2>&1",
        "> /dev/null 2>&1",
        "&>/dev/null",
        "2>/dev/null",
    ];
    let rest = command.strip_prefix("command -v ")?.trim();
    let (name, redirections) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let is_name = !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain);
    (is_name && HARMLESS.contains(&redirections.trim()) && !is_builtin(name)).then_some(name)
}

/// Parses `test [!] -OP PATH` and `[ [!] -OP PATH ]`.
fn file_test<'a>(text: &str, environment: &Environment) -> Option<Question<'a>> {
    let inner = match text.strip_prefix("[ ") {
        Some(inner) => inner.strip_suffix(" ]")?,
        None => text.strip_prefix("test ")?,
    };
    let inner = inner.trim();
    let negated = inner.strip_prefix("! ");
    let (is_negated, inner) = (negated.is_some(), negated.unwrap_or(inner).trim());
    let (test, word) = inner.strip_prefix('-')?.split_once(' ')?;
    let mut tests = test.chars().filter(|test| "efdxrsL".contains(*test));
    let test = tests.next().filter(|_| test.len() == 1)?;
    let path = expand(word.trim(), environment)?;
    Some(Question::File { test, is_negated, path })
}

/// Returns the path that a shell makes of a word; `None` for a word that means anything else, and
/// for a path that depends on the working directory.
fn expand(word: &str, environment: &Environment) -> Option<PathBuf> {
    let (quote, text) = match word.chars().next()? {
        quote @ ('\'' | '"') => (Some(quote), word[1..].strip_suffix(quote)?),
        _ => (None, word),
    };
    // Signs that stand for themselves between such quotes.
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
    path.starts_with('/').then(|| path.into())
}

/// Runs one test of a file, as the shell's `test` does.
fn passes(test: char, path: &Path) -> bool {
    let may = |access| rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS).is_ok();
    match test {
        'L' => path.is_symlink(),
        'r' => may(Access::READ_OK),
        'x' => may(Access::EXEC_OK),
        _ => fs::metadata(path).is_ok_and(|there| match test {
            'f' => there.is_file(),
            'd' => there.is_dir(),
            's' => there.len() > 0,
            _ => true,
        }),
    }
}

#[cfg(test)]
mod tests {
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
            assert_eq!(plain_lookup(command), name, "{command}");
        }
    }

    #[test]
    fn file_tests_are_answered_and_other_texts_are_not() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().to_str().unwrap().to_owned();
        let fs = crate::disk::Fs::real();
        fs.create_dir(&place.path().join("a b")).unwrap();
        let environment = Environment::new([("HOME".to_owned(), home)]);
        let succeeds = |text: &str| answer(text, &environment, &[]).map(|answer| answer.succeeds);
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
        ] {
            assert_eq!(succeeds(text), None, "{text}");
        }
    }
}
