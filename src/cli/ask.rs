//! Asking a person: on the terminal, a line at a time. Whoever has no terminal is not asked.

use std::io::{self, BufRead, IsTerminal};

use super::{output, settings::Settings};

/// Whether there is someone to ask, and nobody has forbidden it.
pub(super) fn can_ask(settings: &Settings) -> bool {
    !settings.no_input && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// A question to be answered with yes; anything else is no.
pub(super) fn confirm(question: &str) -> bool {
    let answer = line(&format!("{question} [y/N] ")).unwrap_or_default();
    matches!(answer.to_lowercase().as_str(), "y" | "yes")
}

/// What was typed; `None` if nothing was, or nobody is there any more.
pub(super) fn line(question: &str) -> Option<String> {
    output::talk(question);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).ok()?;
    Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty())
}
