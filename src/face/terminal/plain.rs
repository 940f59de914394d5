//! The same prompts where the cursor cannot be moved: what there is is printed, and whole lines are
//! read, edited by the terminal itself. No escape sequence is ever written here.

use std::{io, sync::atomic::AtomicBool};

use super::{
    choosing::{lettered, option_rows},
    input::{self, Read, Signals},
    layout::{Row, heading, shown, wrapped},
    mode::{self, Mode, Wish},
    prompt::{Choice, Left, Line, Look, Reply},
};

/// What is typed to go back.
pub(super) const BACK: &str = "<";

pub(super) struct Plain {
    pub(super) look: Look,
    signals: Signals,
    /// While nothing that is typed is to be seen.
    hidden: Option<Mode>,
}

impl Plain {
    pub(super) fn new(look: Look, hidden: bool) -> io::Result<Self> {
        let mut signals = Signals::listen()?;
        let hidden = if hidden {
            signals.listen_to_quit()?;
            Some(Mode::enter(Wish::HiddenLines, true)?)
        } else {
            None
        };
        Ok(Self { look: Look { colour: false, ..look }, signals, hidden })
    }

    pub(super) fn choose(
        &self,
        prompt: &Choice,
        cancelled: &AtomicBool,
    ) -> io::Result<Reply<char>> {
        if prompt.is_weighty {
            mode::forget_typed();
        }
        let width = mode::size().width();
        print(&heading(&prompt.heading, None, prompt.place, width, self.look));
        let (quiet, listed): (Vec<_>, Vec<_>) =
            prompt.options.iter().partition(|option| option.is_quiet);
        for option in listed.iter().chain(&quiet) {
            print(&option_rows(option, false, width, self.look));
        }
        let default = prompt.default.filter(|_| !prompt.is_weighty);
        let default = default.and_then(|letter| lettered(&prompt.options, letter));
        let mut question = String::from("Letter");
        if let Some(default) = default {
            question.push_str(&shown(&format!(" [{}]", default.letter), self.look));
        }
        question.push_str(back_hint(prompt.can_go_back));
        question.push_str(": ");
        loop {
            let line = match self.read(&question, cancelled)? {
                Ok(line) => line,
                Err(left) => return Ok(Reply::Left(left)),
            };
            let mut typed = line.trim().chars();
            let found = match (typed.next(), typed.next()) {
                (None, _) => default,
                (Some(letter), None) => lettered(&prompt.options, letter),
                _ => None,
            };
            if let Some(option) = found {
                return Ok(Reply::Answer(option.letter));
            }
            if line.trim() == BACK && prompt.can_go_back {
                return Ok(Reply::Back);
            }
            let letters: Vec<_> =
                prompt.options.iter().map(|option| option.letter.to_string()).collect();
            let letters = letters.join(", ");
            self.say(&match line.trim() {
                "" => format!("one of these letters is needed: {letters}"),
                typed => format!("`{typed}` is none of the letters: {letters}"),
            });
        }
    }

    pub(super) fn line(
        &self,
        prompt: &Line<'_>,
        cancelled: &AtomicBool,
    ) -> io::Result<Reply<String>> {
        let default = prompt.default.as_deref().filter(|_| !prompt.hidden);
        let width = mode::size().width();
        print(&heading(&prompt.heading, default, prompt.place, width, self.look));
        let question = match (prompt.hidden, prompt.can_go_back) {
            (false, false) => "> ",
            (false, true) => "(< goes back) > ",
            (true, false) => "(not shown) > ",
            (true, true) => "(not shown, < goes back) > ",
        };
        loop {
            let typed = match self.read(question, cancelled)? {
                Ok(line) => line,
                Err(left) => return Ok(Reply::Left(left)),
            };
            if typed.trim() == BACK && prompt.can_go_back {
                return Ok(Reply::Back);
            }
            let answer = match default {
                Some(default) if typed.is_empty() => default.to_owned(),
                _ => typed,
            };
            match (prompt.check)(&answer) {
                Ok(()) => return Ok(Reply::Answer(answer)),
                Err(mistake) => self.say(&mistake),
            }
        }
    }

    /// Something to know, made safe.
    pub(super) fn say(&self, text: &str) {
        let rows = wrapped(text, mode::size().width(), self.look);
        mode::write(&(rows.join("\n") + "\n"));
    }

    /// Asks, and reads one line, without its end.
    pub(super) fn read(
        &self,
        question: &str,
        cancelled: &AtomicBool,
    ) -> io::Result<Result<String, Left>> {
        mode::write(question);
        let line = self.line_or_left(question, cancelled);
        // Where nothing was echoed the line has not ended, nor where none was given.
        if self.hidden.is_some() || !matches!(line, Ok(Ok(_))) {
            mode::write("\n");
        }
        line
    }

    fn line_or_left(
        &self,
        question: &str,
        cancelled: &AtomicBool,
    ) -> io::Result<Result<String, Left>> {
        let mut bytes = Vec::new();
        loop {
            if let Some(left) = self.signals.left(cancelled) {
                return Ok(Err(left));
            }
            if self.signals.has_continued() {
                if let Some(mode) = &self.hidden {
                    mode.again()?;
                }
                mode::write(question);
            }
            // One byte at a time: a line that was typed ahead belongs to the next question.
            let mut byte = [0];
            match input::read(&mut byte)? {
                Read::Nothing => {}
                Read::Bytes(_) if matches!(byte[0], b'\n' | b'\r') => break,
                Read::Bytes(_) => bytes.push(byte[0]),
                Read::Ended { is_gone: true } => return Ok(Err(Left::HungUp)),
                Read::Ended { .. } if bytes.is_empty() => return Ok(Err(Left::EndOfInput)),
                Read::Ended { .. } => break,
            }
        }
        Ok(Ok(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

fn print(rows: &[Row]) {
    for row in rows {
        mode::write(&row.text);
        mode::write("\n");
    }
}

pub(super) fn back_hint(can_go_back: bool) -> &'static str {
    if can_go_back { ", < goes back" } else { "" }
}
