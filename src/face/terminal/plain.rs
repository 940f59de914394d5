//! The same prompts where the cursor cannot be moved (`TERM=dumb`): lettered and numbered lists are
//! printed, and whole lines are read, edited by the terminal itself. No escape sequence is written.

use std::{io, sync::atomic::AtomicBool};

use super::{
    choosing::{lettered, option_rows},
    found::{item_line, matching, names},
    input::{self, Read, Signals},
    layout::{Row, heading, one_line, shown, wrapped},
    mode::{self, Mode, Wish},
    prompt::{Choice, Item, Left, Line, Look, Pick, Reply},
};
use crate::model::nearest;

/// Typed to go back.
const BACK: &str = "<";

pub(super) struct Plain {
    look: Look,
    signals: Signals,
    /// Held while typed text is not shown.
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
        let shown_default = default
            .map(|default| shown(&format!(" [{}]", default.letter), self.look))
            .unwrap_or_default();
        let question = format!("Letter{shown_default}{}: ", back_hint(prompt.can_go_back));
        self.ask(&question, prompt.can_go_back, cancelled, |line| {
            let mut typed = line.trim().chars();
            let found = match (typed.next(), typed.next()) {
                (None, _) => default,
                (Some(letter), None) => lettered(&prompt.options, letter),
                _ => None,
            };
            let letters = || {
                let letters = prompt.options.iter().map(|option| option.letter.to_string());
                letters.collect::<Vec<_>>().join(", ")
            };
            found.map(|option| option.letter).ok_or_else(|| match line.trim() {
                "" => format!("type one of these letters: {}", letters()),
                typed => format!("`{typed}` is none of the letters: {}", letters()),
            })
        })
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
        self.ask(question, prompt.can_go_back, cancelled, |line| {
            let answer = default.filter(|_| line.is_empty()).unwrap_or(line);
            (prompt.check)(answer).map(|()| answer.to_owned())
        })
    }

    pub(super) fn pick(
        &self,
        prompt: &Pick,
        cancelled: &AtomicBool,
    ) -> io::Result<Reply<Vec<usize>>> {
        let items = &prompt.items;
        let chosen: Vec<_> = (0..items.len()).filter(|index| items[*index].chosen).collect();
        let row = |index: usize| {
            format!("{:>4} {}", index + 1, one_line(&item_line(&items[index]), self.look))
        };
        self.say(&prompt.heading);
        (0..items.len()).for_each(|index| self.say(&row(index)));
        let question = format!(
            "Numbers or names, ?word to search, 0 for none [{}]{}: ",
            shown(&names(items, &chosen), self.look),
            back_hint(prompt.can_go_back)
        );
        self.ask(&question, prompt.can_go_back, cancelled, |line| match line.trim() {
            "" => Ok(chosen.clone()),
            "0" => Ok(Vec::new()),
            line => match line.strip_prefix('?').map(str::trim) {
                None => picked(items, line),
                Some(word) => Err(match matching(items, word) {
                    found if found.is_empty() => format!("nothing matches `{word}`"),
                    found => found.into_iter().map(row).collect::<Vec<_>>().join("\n"),
                }),
            },
        })
    }

    /// Asks until a line can be parsed; says why each other line cannot.
    fn ask<T>(
        &self,
        question: &str,
        can_go_back: bool,
        cancelled: &AtomicBool,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> io::Result<Reply<T>> {
        loop {
            let line = match self.read(question, cancelled)? {
                Ok(line) => line,
                Err(left) => return Ok(Reply::Left(left)),
            };
            if line.trim() == BACK && can_go_back {
                return Ok(Reply::Back);
            }
            match parse(&line) {
                Ok(answer) => return Ok(Reply::Answer(answer)),
                Err(mistake) => self.say(&mistake),
            }
        }
    }

    /// Prints text, made safe.
    fn say(&self, text: &str) {
        let rows = wrapped(text, mode::size().width(), self.look);
        mode::write(&(rows.join("\n") + "\n"));
    }

    /// Asks, and reads one line, without its end.
    fn read(&self, question: &str, cancelled: &AtomicBool) -> io::Result<Result<String, Left>> {
        mode::write(question);
        let line = self.line_or_left(question, cancelled);
        // The cursor is still behind the question if nothing was echoed or no line was read.
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

fn back_hint(can_go_back: bool) -> &'static str {
    if can_go_back { ", < goes back" } else { "" }
}

/// Returns the items that a line names, by name or by number, in their order.
fn picked(items: &[Item], line: &str) -> Result<Vec<usize>, String> {
    let index_of = |word: &str| {
        let by_name = items.iter().position(|item| item.name.eq_ignore_ascii_case(word));
        by_name
            .or_else(|| word.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < items.len()))
    };
    let known = || items.iter().map(|item| item.name.as_str());
    let unknown = |word: &str| match nearest(word, known()) {
        Some(name) if word.parse::<usize>().is_err() => {
            format!("there is no `{word}`; did you mean `{name}`?")
        }
        _ => format!("there is no `{word}`"),
    };
    let words = line.split([' ', ',', '\t']).filter(|word| !word.is_empty());
    let found = words.map(|word| index_of(word).ok_or_else(|| unknown(word)));
    let mut found = found.collect::<Result<Vec<_>, _>>()?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::picked;
    use crate::face::terminal::prompt::Item;

    #[test]
    fn names_and_numbers_are_picked_with_spaces_or_commas_between() {
        let item =
            |name: &str| Item { name: name.into(), text: String::new(), note: None, chosen: false };
        let items = ["jq", "fd", "ripgrep", "7"].map(item);
        assert_eq!(picked(&items, " fd,jq  FD "), Ok(vec![0, 1]));
        assert_eq!(picked(&items, "3, 1"), Ok(vec![0, 2]));
        assert_eq!(picked(&items, "7"), Ok(vec![3]), "a name before a number");
        assert_eq!(picked(&items, "jq 9 0"), Err("there is no `9`".into()));
        let mistake = "there is no `ripgerp`; did you mean `ripgrep`?";
        assert_eq!(picked(&items, "ripgerp"), Err(mistake.into()));
    }
}
