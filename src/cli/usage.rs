//! What clap says of a line that cannot be parsed, for programs: the same words, in their places.

use super::failure::{Failure, Kind};

impl Failure {
    /// What is wrong is the first paragraph; what would be right follows it.
    pub(super) fn usage(error: &clap::Error) -> Self {
        let text = error.to_string();
        let mut paragraphs = text.split("\n\n");
        let first: Vec<_> = paragraphs.next().unwrap_or_default().lines().map(str::trim).collect();
        let message = first.join(" ");
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        let mut failure = Self::new(Kind::Usage, message);
        for paragraph in paragraphs.map(str::trim) {
            let hint = paragraph.strip_prefix("tip: ");
            let hint = hint.or(paragraph.starts_with("Usage: ").then_some(paragraph));
            failure.hints.extend(hint.map(|hint| hint.lines().next().unwrap_or_default().into()));
        }
        failure.hints.push("`provision --help` lists what can be asked".into());
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::super::command::command;
    use super::*;

    fn failure(line: &str) -> Failure {
        Failure::usage(&command().try_get_matches_from(line.split(' ')).unwrap_err())
    }

    #[test]
    fn what_is_missing_is_named() {
        let failure = failure("provision advance");
        let message = "the following required arguments were not provided: <SESSION>";
        assert_eq!(failure.message, message);
    }

    #[test]
    fn what_was_meant_is_a_hint() {
        let failure = failure("provision resum");
        assert_eq!(failure.message, "unrecognized subcommand 'resum'");
        assert!(failure.hints[0].contains("'resume'"), "{:?}", failure.hints);
    }
}
