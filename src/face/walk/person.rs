//! A person before the terminal, for whatever comes up while a run goes on.

use std::{io, sync::atomic::AtomicBool};

use super::Screen;
use crate::{
    engine::{Decision, FailedTask, Matter, NextStep, Person},
    face::{
        paint::Paint,
        plan_text, plural,
        progress::shown,
        terminal::{Choice, Lettered, Line, Reply, Terminal},
        text::first_names,
        visible,
    },
};

/// How many tasks are named where many depend on one.
const NAMED: usize = 5;
/// How many lines of output are shown at once.
const MOST_LINES: usize = 200;

#[derive(Clone, Debug)]
pub struct AtTerminal {
    screen: Screen,
}

impl AtTerminal {
    pub fn new(screen: Screen) -> Self {
        Self { screen }
    }
}

impl Person for AtTerminal {
    fn secret(&self, question: &str, cancelled: &AtomicBool) -> io::Result<Option<String>> {
        let terminal = self.screen.terminal();
        let line = Line {
            heading: question.to_owned(),
            place: None,
            default: None,
            hidden: true,
            can_go_back: false,
            summary: None,
            check: &|_| Ok(()),
        };
        Ok(match terminal.line(&line, cancelled)? {
            Reply::Answer(secret) => Some(secret),
            Reply::Back | Reply::Left(_) => None,
        })
    }

    fn decide(&self, matter: &Matter, cancelled: &AtomicBool) -> io::Result<Decision> {
        let terminal = self.screen.terminal();
        // What was typed while a command ran was not meant for this.
        terminal.forget_typed();
        match matter {
            Matter::Step(step) => review(terminal, step, cancelled),
            Matter::Failure(failed) => failure(terminal, failed, cancelled),
            Matter::Unknown { task_id, what } => {
                let heading = format!(
                    "Nobody knows how a command of {task_id} ended, and it may not be safe to run \
                     it twice.\n{what}"
                );
                let options = vec![
                    Lettered::new('A', "Run it again").meaning("look first at what it has done"),
                    Lettered::new('C', "Skip this task").meaning("and all that needs it"),
                    Lettered::new('D', "Pause").meaning("decide later; nothing is lost"),
                ];
                let choice = Choice { default: Some('D'), ..Choice::new(heading, options) };
                ask(terminal, &choice, cancelled)
            }
            Matter::ByHand { name, steps, .. } => {
                let steps: Vec<_> = steps.iter().map(|step| format!("  {step}")).collect();
                let heading =
                    format!("{name} needs something that only you can do:\n{}", steps.join("\n"));
                let options = vec![
                    Lettered::new('A', "Done").meaning("it is checked, where that can be done"),
                    Lettered::new('C', "Skip this task").meaning("and all that needs it"),
                    Lettered::new('D', "Pause").meaning("do it later, then come back"),
                ];
                ask(terminal, &Choice::new(heading, options), cancelled)
            }
            Matter::Alternative { title, plan } => {
                terminal.say(&plan_text(plan, true));
                let options = vec![
                    Lettered::new('A', "Run it").meaning("exactly what is shown above"),
                    Lettered::new('D', "Not now").meaning("nothing of it runs"),
                ];
                let choice = Choice { is_weighty: true, ..Choice::new(first_up(title), options) };
                ask(terminal, &choice, cancelled)
            }
        }
    }
}

/// What a letter means in all of these.
fn meaning(letter: char) -> Decision {
    match letter {
        'A' => Decision::Go,
        'B' => Decision::GoOnAlone,
        'C' => Decision::PassBy,
        _ => Decision::Pause,
    }
}

fn ask(terminal: Terminal, choice: &Choice, cancelled: &AtomicBool) -> io::Result<Decision> {
    Ok(match terminal.choose(choice, cancelled)? {
        Reply::Answer(letter) => meaning(letter),
        Reply::Back => Decision::Pause,
        Reply::Left(left) => Decision::Left(left.why()),
    })
}

fn review(terminal: Terminal, step: &NextStep, cancelled: &AtomicBool) -> io::Result<Decision> {
    let paint = Paint(terminal.look());
    let NextStep { name, number, of, command, description, as_root, .. } = step;
    let place = if *of > 1 { format!(", command {number} of {of}") } else { String::new() };
    let root = if *as_root { ", as root" } else { "" };
    terminal.say(&format!("{}\n", paint.bold(&visible(&format!("{name}{place}{root}")))));
    if let Some(description) = description {
        terminal.say(&format!("{}\n", terminal.wrapped(description, 2)));
    }
    // All of it: what is run must have been seen.
    for (number, line) in command.lines().enumerate() {
        let mark = if number == 0 { "$" } else { " " };
        terminal.say(&format!("  {mark} {}\n", visible(line)));
    }
    let options = vec![
        Lettered::new('A', "Run it").meaning("then ask before the next"),
        Lettered::new('B', "Run the rest").meaning("without asking again"),
        Lettered::new('C', "Skip this task").meaning("and all that needs it"),
        Lettered::new('D', "Pause").meaning("nothing is lost; come back any time"),
    ];
    let choice =
        Choice { is_weighty: true, ..Choice::new(format!("Run this for {name}?"), options) };
    ask(terminal, &choice, cancelled)
}

fn failure(
    terminal: Terminal,
    failed: &FailedTask,
    cancelled: &AtomicBool,
) -> io::Result<Decision> {
    let FailedTask { name, alternatives, dependants, .. } = failed;
    let ways = match alternatives.as_slice() {
        [] => None,
        [only] => Some(first_up(only)),
        many => Some(format!("{} to choose from", plural(many.len(), "other way"))),
    };
    let needs_it = match dependants.as_slice() {
        [] => "nothing else needs it".to_owned(),
        some => {
            format!("and what needs it: {}", first_names(some, NAMED))
        }
    };
    let again = match (failed.class.as_str(), &failed.command) {
        (_, None) => "see whether it is there now",
        ("verification_failed", _) => "check once more",
        _ => "run the same command again",
    };
    let mut options = vec![Lettered::new('A', "Retry").meaning(again)];
    options.extend(ways.map(|ways| Lettered::new('B', "Alternative").meaning(&ways)));
    options.push(Lettered::new('C', "Skip").meaning(&needs_it));
    options.push(
        Lettered::new('D', "Pause").meaning("mend it in peace, then resume at this very command"),
    );
    let can_be_taken = failed.class == "verification_failed";
    options.extend(can_be_taken.then(|| Lettered::quiet('t', "take it as it is")));
    let output = Lettered::quiet('o', "show the output");
    options.push(output);
    let heading = format!("{name} failed. What now?");
    let choice = Choice { passing: vec!['B'], ..Choice::new(heading, options) };
    loop {
        match terminal.choose(&choice, cancelled)? {
            Reply::Answer('A') => return Ok(Decision::Again),
            Reply::Answer('B') => match another_way(terminal, alternatives, cancelled)? {
                Reply::Answer(number) => return Ok(Decision::Instead(number)),
                Reply::Back => {}
                Reply::Left(left) => return Ok(Decision::Left(left.why())),
            },
            Reply::Answer(letter @ ('C' | 'D')) => return Ok(meaning(letter)),
            Reply::Answer('t') => match why_as_it_is(terminal, cancelled)? {
                Reply::Answer(reason) => return Ok(Decision::TakeAsItIs(reason)),
                Reply::Back => {}
                Reply::Left(left) => return Ok(Decision::Left(left.why())),
            },
            Reply::Answer(_) => show_output(terminal, failed),
            Reply::Back => {}
            Reply::Left(left) => return Ok(Decision::Left(left.why())),
        }
    }
}

/// Why a task counts as done though its check is not content.
fn why_as_it_is(terminal: Terminal, cancelled: &AtomicBool) -> io::Result<Reply<String>> {
    let line = Line {
        heading: "Why is it right as it is? The reason goes on record.".into(),
        place: None,
        default: None,
        hidden: false,
        can_go_back: true,
        summary: Some("Taken as it is".into()),
        check: &|text| {
            if text.trim().is_empty() { Err("a reason that says something".into()) } else { Ok(()) }
        },
    };
    terminal.line(&line, cancelled)
}

fn another_way(
    terminal: Terminal,
    alternatives: &[String],
    cancelled: &AtomicBool,
) -> io::Result<Reply<usize>> {
    if alternatives.len() == 1 {
        return Ok(Reply::Answer(0));
    }
    let letters = 'A'..='Z';
    let options =
        letters.zip(alternatives).map(|(letter, title)| Lettered::new(letter, first_up(title)));
    let choice = Choice { can_go_back: true, ..Choice::new("Which other way?", options.collect()) };
    Ok(match terminal.choose(&choice, cancelled)? {
        Reply::Answer(letter) => Reply::Answer(usize::from(letter as u8 - b'A')),
        Reply::Back => Reply::Back,
        Reply::Left(left) => Reply::Left(left),
    })
}

fn show_output(terminal: Terminal, failed: &FailedTask) {
    let FailedTask { session_id, task_id, command, output, left_out, .. } = failed;
    if let Some(command) = command {
        for line in command.lines() {
            terminal.say(&format!("$ {}\n", visible(line)));
        }
    }
    if output.is_empty() {
        terminal.say("(it wrote nothing)\n");
        return;
    }
    if *left_out > 0 {
        terminal.say(&format!(
            "({left_out} bytes before this are not shown: provision logs {session_id} {task_id})\n"
        ));
    }
    // As a terminal would have shown it in the end, and no more than can be read.
    let text = String::from_utf8_lossy(output);
    let lines: Vec<_> = text.lines().map(|line| shown(line.as_bytes())).collect();
    let before = lines.len().saturating_sub(MOST_LINES);
    if before > 0 {
        let all = format!("provision logs {session_id} {task_id}");
        terminal.say(&format!("({before} lines before this are not shown: {all})\n"));
    }
    for line in &lines[before..] {
        terminal.say(&format!("{line}\n"));
    }
}

/// With a capital letter at its beginning.
fn first_up(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
