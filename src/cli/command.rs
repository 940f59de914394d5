//! The command line as clap knows it, with what helps to type it: commands in groups, examples, and
//! exit codes. What can be typed stands in `args`.

use std::fmt::Write as _;

use clap::{ColorChoice, Command, CommandFactory};

use super::{
    appearance::{ColourChoice, typed_choice},
    args::Args,
    examples::examples,
};

/// The exit codes, as help and manual name them.
pub(super) const EXIT_CODES: [(u8, &str); 10] = [
    (0, "done"),
    (1, "internal error"),
    (2, "usage"),
    (3, "session failed"),
    (4, "paused or a decision is needed"),
    (5, "locked"),
    (6, "record damaged"),
    (7, "the machine has changed since its sessions"),
    (8, "invalid catalog or plan"),
    (9, "store not usable"),
];

/// The program without a command.
const ALONE: (&str, &str) = ("provision", "Walk through it: questions, then a plan, then the run");

/// Commands by what people want; whoever is new needs the first group.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Start here", &["start", "resume", "expand"]),
    (
        "Plans and their runs",
        &["plan", "apply", "approve", "pause", "revise", "override", "advance"],
    ),
    (
        "What there is, and what happened",
        &["catalog", "audit", "sessions", "status", "history", "logs", "report"],
    ),
    ("When something is wrong", &["doctor", "recover", "migrate", "prune", "shell"]),
    ("For shells and other programs", &["completions", "man", "schema"]),
];

const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}\
                        Global options:\n{options}{after-help}";

/// All that can be typed.
pub(super) fn command() -> Command {
    let command = with_examples(Args::command(), "");
    let groups = groups_text(&command);
    let after = format!("{}\n\n{}", examples_text(""), exit_codes_text());
    command
        .help_template(TEMPLATE)
        .before_help(groups)
        .after_help(after)
        .mut_args(|arg| if arg.is_global_set() { arg.help_heading("Global options") } else { arg })
}

/// All that can be typed, for the line that was: help and mistakes have the colour it asks for.
pub(super) fn coloured() -> Command {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    command().color(match typed_choice(words) {
        ColourChoice::Auto => ColorChoice::Auto,
        ColourChoice::Always => ColorChoice::Always,
        ColourChoice::Never => ColorChoice::Never,
    })
}

/// Every command below `command`, whose words are `words`, with its examples.
fn with_examples(command: Command, words: &str) -> Command {
    command.mut_subcommands(|below| {
        let words = format!("{words} {}", below.get_name());
        let words = words.trim_start();
        let below = with_examples(below, words);
        match examples(words) {
            [] => below,
            _ => below.after_help(examples_text(words)),
        }
    })
}

fn examples_text(words: &str) -> String {
    let mut text = "Examples:".to_owned();
    for example in examples(words) {
        let _ = write!(text, "\n  {}\n      {}", example.line, example.meaning);
    }
    text
}

fn exit_codes_text() -> String {
    let codes: Vec<_> = EXIT_CODES.iter().map(|(code, what)| format!("{code} {what}")).collect();
    format!("Exit codes: {}", codes.join(", "))
}

fn groups_text(command: &Command) -> String {
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let visible = || command.get_subcommands().filter(|below| !below.is_hide_set());
    let rest: Vec<_> = visible().map(Command::get_name).filter(|name| !is_grouped(name)).collect();
    let groups = GROUPS.iter().map(|(heading, names)| (*heading, names.to_vec()));
    let mut text = String::new();
    for (heading, names) in groups.chain([("More", rest)]).filter(|(_, names)| !names.is_empty()) {
        let about = |name: &str| {
            let about = visible().find(|below| below.get_name() == name)?.get_about()?;
            Some((name.to_owned(), about.to_string()))
        };
        let alone = (heading == GROUPS[0].0).then(|| (ALONE.0.to_owned(), ALONE.1.to_owned()));
        let lines = alone.into_iter().chain(names.into_iter().filter_map(about));
        let _ = writeln!(text, "{heading}:");
        for (name, about) in lines {
            let _ = writeln!(text, "  {name:<11}  {about}");
        }
        text.push('\n');
    }
    text.push_str("`provision help COMMAND` says more about each of them.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every visible command, with the words that name it.
    fn commands() -> Vec<(String, Command)> {
        fn below(command: &Command, words: &str, found: &mut Vec<(String, Command)>) {
            for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
                let words = format!("{words} {}", one.get_name()).trim().to_owned();
                below(one, &words, found);
                found.push((words, one.clone()));
            }
        }
        let mut found = vec![(String::new(), command())];
        below(&command(), "", &mut found);
        found
    }

    /// What the program is given by a line that a shell reads.
    fn arguments(line: &str) -> Vec<String> {
        let line = &line[line.find("provision").unwrap()..];
        let line = line.split([')', '|', '>']).next().unwrap();
        let quoted = line.split('\'').enumerate();
        quoted
            .flat_map(|(index, piece)| match index % 2 {
                0 => piece.split_whitespace().map(Into::into).collect(),
                _ => vec![piece.to_owned()],
            })
            .collect()
    }

    #[test]
    fn the_definition_holds_together() {
        command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_that_parse_and_are_of_that_command() {
        for (words, _) in commands() {
            let examples = examples(&words);
            assert!((1..=4).contains(&examples.len()), "`{words}` has no examples");
            for example in examples {
                let arguments = arguments(example.line);
                if let Err(error) = command().try_get_matches_from(&arguments) {
                    panic!("`{}`: {error}", example.line);
                }
                let last = words.split(' ').next_back().unwrap();
                assert!(words.is_empty() || arguments.iter().any(|word| word == last));
                assert!(example.line.len() <= 78 && example.meaning.len() <= 74, "{example:?}");
            }
        }
    }

    #[test]
    fn every_command_and_argument_says_what_it_is_for() {
        for (words, command) in commands() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && !about.contains('\n'), "`{words}`: {about}");
            // It stands beside its name in a list.
            let is_listed = !words.is_empty() && !words.contains(' ');
            assert!(about.len() <= 65 || !is_listed, "`{words}` is long: {about}");
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "`{words}`: {argument}");
            }
        }
    }

    #[test]
    fn every_command_is_in_the_help_once() {
        let help = command().render_help().to_string();
        for below in command().get_subcommands().filter(|below| !below.is_hide_set()) {
            let name = below.get_name();
            assert_eq!(help.matches(&format!("\n  {name:<11}  ")).count(), 1, "{name}");
        }
        assert!(!help.contains("__script"));
        assert!(!help.contains("More:"), "a command has no group:\n{help}");
    }
}
