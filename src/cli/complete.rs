//! How a line could go on, for a shell that asks. Never a word of error, never a wait, and nothing
//! is changed: whoever presses Tab has not asked for anything yet.

use std::{
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
    sync::mpsc,
    time::Duration,
};

use clap::{Command, ValueEnum};
use clap_complete::engine::{CompletionCandidate, complete};

use super::{
    candidates::{self, TypedLine, Wanted},
    command::command,
    completions::ShellName,
    settings,
};
use crate::face::visible;

/// How long whoever pressed Tab is kept waiting by a slow disk.
const PATIENCE: Duration = Duration::from_secs(2);

/// How much of a description is shown.
const LONGEST: usize = 72;

/// Answers a shell that asks, if one does.
pub(super) fn answer() -> Option<ExitCode> {
    let shell = ShellName::from_str(&settings::completing_shell()?, false).ok()?;
    let mut words = std::env::args_os().skip(1);
    // Without this it is a line that someone typed, wherever the variable came from.
    words.next().filter(|word| word == "--")?;
    let words = words.map(|word| word.to_string_lossy().into_owned()).collect();
    // Whatever goes wrong stays in the thread, and so does what takes too long.
    std::panic::set_hook(Box::new(|_| {}));
    let (sender, answers) = mpsc::channel();
    std::thread::spawn(move || sender.send(lines(shell, words)));
    if let Ok(text) = answers.recv_timeout(PATIENCE) {
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }
    Some(ExitCode::SUCCESS)
}

/// The answer as the script of the shell reads it: a line each, or what kind of file to look for.
fn lines(shell: ShellName, words: Vec<String>) -> String {
    let (words, replaced) = match shell {
        ShellName::Bash => {
            let mut words = words.into_iter();
            let replaced = words.next();
            (joined(words), replaced)
        }
        ShellName::Zsh | ShellName::Fish => (words, None),
    };
    let Some((current, before)) = words.split_last() else { return String::new() };
    // What stands before the part of the word that the shell replaces.
    let kept = replaced.and_then(|part| current.strip_suffix(&part)).unwrap_or_default();
    let mut text = String::new();
    for candidate in found(before, current) {
        if let Some(kind) = candidates::file_kind(&candidate) {
            return format!(":{kind}\n");
        }
        let value = candidate.get_value().to_string_lossy();
        let value = value.strip_prefix(kept).unwrap_or(&value);
        let help = candidate.get_help().map(|help| one_line(&help.to_string()));
        let help = help.filter(|help| !help.is_empty());
        let (value, separator) = match shell {
            ShellName::Zsh => (value.replace(':', "\\:"), ":"),
            ShellName::Fish | ShellName::Bash => (value.to_owned(), "\t"),
        };
        text.push_str(&value);
        if let Some(help) = help.filter(|_| shell != ShellName::Bash) {
            text.extend([separator, &help]);
        }
        text.push('\n');
    }
    text
}

fn found(before: &[String], current: &str) -> Vec<CompletionCandidate> {
    // Words behind the first mistake are not parsed.
    let typed = command().ignore_errors(true).try_get_matches_from(before).unwrap_or_default();
    let mut command = with_values(command(), &TypedLine::new(typed));
    let words: Vec<OsString> = before.iter().map(Into::into).chain([current.into()]).collect();
    let index = before.len();
    let mut found = complete(&mut command, words, index, None).unwrap_or_default();
    // Even where nothing else fits, what is hidden is nobody's to find.
    found.retain(|candidate| !candidate.is_hide_set());
    let is_flag = |one: &CompletionCandidate| one.get_value().to_string_lossy().starts_with('-');
    // Whoever has not typed a dash is looking for something else, if there is anything else.
    if !current.starts_with('-') && found.iter().any(|one| !is_flag(one)) {
        found.retain(|one| !is_flag(one));
    }
    found
}

/// The command with what can be given to it on this machine.
fn with_values(command: Command, line: &TypedLine) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|arg| match Wanted::by(&name, &arg) {
            Some(wanted) => arg.add(wanted.completer(line)),
            None => arg,
        })
        .mut_subcommands(|below| with_values(below, line))
}

/// The words of a line as they were typed: bash takes `=` and `:` for words of their own.
fn joined(words: impl IntoIterator<Item = String>) -> Vec<String> {
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

/// The beginning of a description, safe to show.
fn one_line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let shown = visible(first);
    match shown.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &shown[..end]),
        None => shown.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(shell: ShellName, line: &str) -> Vec<String> {
        let words = line.split(' ').map(Into::into).collect();
        lines(shell, words).lines().map(Into::into).collect()
    }

    #[test]
    fn bash_gets_only_what_it_replaces() {
        // `provision --color=a`, of which bash replaces `a`.
        assert_eq!(answers(ShellName::Bash, "a provision --color = a"), ["auto", "always"]);
        assert_eq!(answers(ShellName::Bash, "res provision res"), ["resume"]);
    }

    #[test]
    fn what_is_hidden_is_not_offered() {
        assert!(answers(ShellName::Fish, "provision __s").is_empty());
        assert!(!answers(ShellName::Fish, "provision ").concat().contains("__script"));
        assert!(!answers(ShellName::Fish, "provision help ").concat().contains("__script"));
    }

    #[test]
    fn files_are_left_to_the_shell() {
        assert_eq!(answers(ShellName::Zsh, "provision apply x"), [":files"]);
        assert_eq!(answers(ShellName::Zsh, "provision --home="), [":folders"]);
        assert_eq!(answers(ShellName::Zsh, "provision man --to "), [":folders"]);
    }

    #[test]
    fn words_that_bash_split_are_joined() {
        let words = |line: &str| line.split(' ').map(Into::into).collect::<Vec<String>>();
        let typed = words("provision --home = /a start --answer js_runtime = b");
        assert_eq!(joined(typed), words("provision --home=/a start --answer js_runtime=b"));
        assert_eq!(joined(words("recover --resume-at git :")), words("recover --resume-at git:"));
        assert_eq!(joined(["x".to_owned(), String::new()]), ["x", ""]);
    }

    #[test]
    fn nothing_that_is_asked_makes_it_stumble() {
        for line in ["", "provision", "x y z", "provision start --add ,,", "provision -", "p --"] {
            for shell in [ShellName::Bash, ShellName::Zsh, ShellName::Fish] {
                answers(shell, line);
            }
        }
        assert_eq!(lines(ShellName::Fish, Vec::new()), "");
    }

    #[test]
    fn descriptions_are_one_line_that_does_nothing() {
        assert_eq!(one_line("red \u{1b}[31m\tx\nnext"), "red \\u{1b}[31m\\tx");
        assert_eq!(one_line(&"ä".repeat(100)).chars().count(), LONGEST + 3);
    }
}
