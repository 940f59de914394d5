//! Asking a person outside of the walk: yes or no, or a line. Whoever has no terminal is not asked.

use std::{
    io::{self, BufRead, IsTerminal},
    sync::{Arc, atomic::AtomicBool},
};

use console::Term;
use dialoguer::{Confirm, Input};
use signal_hook::{consts::SIGINT, flag, low_level};

use super::{output, settings::Settings};
use crate::os;

/// Whether there is someone to ask, and nobody has forbidden it.
pub(super) fn can_ask(settings: &Settings) -> bool {
    !settings.no_input
        && io::stdin().is_terminal()
        && io::stderr().is_terminal()
        && os::has_terminal()
}

/// A question to be answered with yes; anything else is no, and so is Ctrl-C.
pub(super) fn confirm(settings: &Settings, question: &str) -> bool {
    if !settings.screen.look().can_move {
        let answer = typed_line(&format!("{question} [y/N] ")).unwrap_or_default();
        return matches!(answer.to_lowercase().as_str(), "y" | "yes");
    }
    let ask = || Confirm::new().with_prompt(question).default(false).interact_opt();
    prompted(ask).flatten().unwrap_or(false)
}

/// What was typed; `None` if nothing was, or they would rather not.
pub(super) fn line(settings: &Settings, question: &str) -> Option<String> {
    let answer = if settings.screen.look().can_move {
        let ask = || Input::<String>::new().with_prompt(question).allow_empty(true).interact_text();
        prompted(ask)?
    } else {
        typed_line(&format!("{question}: "))?
    };
    Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty())
}

/// Ctrl-C ends the question and not the program: what hid the cursor must show it again.
fn prompted<T>(ask: impl FnOnce() -> dialoguer::Result<T>) -> Option<T> {
    let listening = flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    let answer = ask().ok();
    let _ = Term::stderr().show_cursor();
    if let Ok(id) = listening {
        low_level::unregister(id);
    }
    answer
}

fn typed_line(question: &str) -> Option<String> {
    output::talk(question);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).ok()?;
    Some(answer.trim().to_owned())
}
