//! The command line as clap knows it, with what helps to type it: commands in groups, examples, and
//! exit codes. What can be typed stands in `args`.

use std::fmt::Write as _;

use clap::{ColorChoice, Command, CommandFactory};

use super::{
    appearance::{ColourChoice, typed_choice},
    args::Args,
};

/// The exit codes, as help and manual name them.
pub(super) const EXIT_CODES: &str = "0 done, 1 internal error, 2 usage, 3 session failed, 4 paused \
    or a decision is needed, 5 locked, 6 record damaged, 7 the machine has changed since its \
    sessions, 8 invalid catalog or plan, 9 store not usable";

const EXAMPLES: &str = "Examples:
  provision
      Asks what you need, shows the plan, and runs it when you agree.
  provision plan essentials
      Shows what would run here; changes nothing.
  provision resume
      Goes on where the newest unfinished session stopped.";

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

/// The command line that the program understands.
pub(super) fn command() -> Command {
    let command = Args::command();
    let groups = groups_text(&command);
    command
        .help_template(TEMPLATE)
        .before_help(groups)
        .after_help(format!("{EXAMPLES}\n\nExit codes: {EXIT_CODES}"))
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
        for (words, of) in commands() {
            let text = of.get_after_help().map(ToString::to_string).unwrap_or_default();
            let text = text.split("\n\n").next().unwrap();
            let lines: Vec<_> = text.strip_prefix("Examples:\n").unwrap().lines().collect();
            assert!((2..=8).contains(&lines.len()), "`{words}` has no examples");
            for example in lines.chunks(2) {
                let [line, meaning] = example else { panic!("`{words}`: {example:?}") };
                assert!(line.starts_with("  ") && meaning.starts_with("      "), "{example:?}");
                let arguments = arguments(line.trim());
                if let Err(error) = command().try_get_matches_from(&arguments) {
                    panic!("`{line}`: {error}");
                }
                let last = words.split(' ').next_back().unwrap();
                assert!(words.is_empty() || arguments.iter().any(|word| word == last));
                assert!(line.len() <= 80 && meaning.len() <= 80, "{example:?}");
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
