//! What kind of failure it was, and what to do about it, by how a command ended and what it said.
//!
//! What tools say when they fail is data, in `error_classes.yaml`; here is only how to read it.
//! A wrong class leads people astray and retries what cannot work: where it is not certain, it is
//! [`ErrorClass::Unknown`].

use std::{cmp::Reverse, collections::HashMap, sync::LazyLock};

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;

use super::screen::last_lines;
use crate::model::{AttemptOutcome, ErrorClass, PlanCommand};

const BOOK: &str = include_str!("error_classes.yaml");
/// Complaints about something in general count only this near to the end: before it, they are
/// likely to be what the command got over.
const NEAR_END: usize = 12;
/// A cause stands before the failure by which it is told apart from one, but not further than this.
const CAUSE_REACH: usize = 40;
/// How often it is tried again, unless the plan says otherwise, what may succeed a little later.
const TRANSIENT_RETRIES: u32 = 3;
/// The most characters of a name found in the output that are worth repeating.
const LONGEST_NAME: usize = 120;

/// What went wrong, and what a person should do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    pub class: ErrorClass,
    pub advice: String,
    /// Whether the same command may well succeed a little later.
    pub is_transient: bool,
}

impl Diagnosis {
    /// All that can be said where nothing is known but the class.
    pub fn of(class: ErrorClass) -> Self {
        let entry = RULES.book.classes.get(&class);
        let advice = entry.map_or(String::new(), |entry| entry.advice.clone());
        Self { class, advice, is_transient: entry.is_some_and(|entry| entry.transient) }
    }
}

/// How often a command may be tried again after such a failure.
pub fn retries(command: &PlanCommand, diagnosis: &Diagnosis) -> u32 {
    // A package lock is waited for; trying again beside that would do the rest of the command twice.
    let passes = diagnosis.is_transient && diagnosis.class != ErrorClass::PackageLockHeld;
    command.retries.unwrap_or(if passes { TRANSIENT_RETRIES } else { 0 })
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Book {
    classes: HashMap<ErrorClass, Entry>,
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    advice: String,
    #[serde(default)]
    transient: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    class: ErrorClass,
    /// Any of them, each within one line.
    patterns: Vec<String>,
    /// What must be said in some line besides.
    also: Option<String>,
    /// Without it, the class's own. `${name}` stands for what that group of the pattern found.
    advice: Option<String>,
    /// Where it differs from the class.
    transient: Option<bool>,
    /// The exit codes it is for; any, if there are none.
    #[serde(default)]
    exit: Vec<i32>,
    #[serde(default)]
    where_to_look: Place,
    /// Where it is more, or less, of a cause than its class is: see [`rank`].
    rank: Option<u8>,
    /// What was said before is beside the point.
    #[serde(default)]
    overrides: bool,
}

impl Rule {
    fn rank(&self) -> u8 {
        self.rank.unwrap_or_else(|| rank(self.class))
    }

    fn is_transient(&self) -> bool {
        self.transient.unwrap_or_else(|| Diagnosis::of(self.class).is_transient)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    /// Any line that is not a mere warning.
    #[default]
    Errors,
    /// Such lines too: some tools warn of what they then fail by.
    WarningsToo,
    /// Only errors, and only the last few lines.
    NearEnd,
    /// Only the very last line, whatever it looks like.
    LastLine,
}

#[derive(Debug)]
struct Rules {
    book: Book,
    set: LazyLock<PatternSet>,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules {
    book: serde_yaml::from_str(BOOK).unwrap_or_default(),
    set: LazyLock::new(|| PatternSet::of(&RULES.book.rules)),
});

/// All patterns in one, and which rule each belongs to.
#[derive(Debug)]
struct PatternSet {
    set: RegexSet,
    owners: Vec<(usize, String)>,
}

impl PatternSet {
    fn of(rules: &[Rule]) -> Self {
        let patterns = |(number, rule): (usize, &Rule)| {
            rule.patterns.iter().map(|pattern| (number, pattern.clone())).collect::<Vec<_>>()
        };
        let owners: Vec<_> = rules.iter().enumerate().flat_map(patterns).collect();
        let texts = owners.iter().map(|(_, text)| text);
        let set = RegexSetBuilder::new(texts).unicode(false).size_limit(64 << 20).build();
        // The book is part of the program, and a test compiles each of its patterns.
        Self { set: set.unwrap_or_default(), owners }
    }
}

/// Bytes rather than characters: it is half the work, and tools complain in ASCII.
fn pattern(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).unicode(false).build()
}

/// A rule that applies to a line.
#[derive(Clone, Copy, Debug)]
struct Match {
    rule: usize,
    pattern: usize,
    line: usize,
}

/// The class and advice for a command that failed; of its output only the end is looked at.
pub fn diagnose(outcome: AttemptOutcome, exit_code: Option<i32>, output: &[u8]) -> Diagnosis {
    if (outcome, exit_code) == (AttemptOutcome::Exited, Some(0)) {
        return Diagnosis::of(ErrorClass::Unknown);
    }
    let said = || diagnose_text(exit_code, output);
    match (outcome, exit_code) {
        (AttemptOutcome::TimedOut, _) => with_cause(ErrorClass::Timeout, said()),
        (AttemptOutcome::Signaled, _) | (_, Some(137 | 143)) => Diagnosis::of(ErrorClass::Killed),
        // What `timeout` ended had often told what it was waiting for.
        (_, Some(124)) => match said() {
            Some(found) if is_waited_for(found.class) => found,
            _ => Diagnosis::of(ErrorClass::Timeout),
        },
        // The shell's own codes say less than the words beside them.
        (_, code) => said().unwrap_or_else(|| {
            Diagnosis::of(match code {
                Some(127) => ErrorClass::CommandNotFound,
                Some(126) => ErrorClass::PermissionRequired,
                _ => ErrorClass::Unknown,
            })
        }),
    }
}

fn with_cause(class: ErrorClass, cause: Option<Diagnosis>) -> Diagnosis {
    let mut diagnosis = Diagnosis::of(class);
    if let Some(cause) = cause.filter(|cause| is_waited_for(cause.class)) {
        diagnosis.advice = format!("{} {}", diagnosis.advice, cause.advice);
        diagnosis.is_transient = cause.is_transient;
    }
    diagnosis
}

/// What keeps a command waiting, rather than making it fail.
fn is_waited_for(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::DiskFull
            | ErrorClass::PackageLockHeld
            | ErrorClass::Dns
            | ErrorClass::Network
            | ErrorClass::NeedsInput
    )
}

/// Causes before consequences: whatever else is said after the disk is full is said because of it.
/// Classes of the same rank are told apart by what was said last.
fn rank(class: ErrorClass) -> u8 {
    match class {
        ErrorClass::DiskFull => 0,
        ErrorClass::PackageLockHeld => 1,
        ErrorClass::PackageManagerBroken => 2,
        ErrorClass::Dns => 3,
        ErrorClass::Network => 4,
        ErrorClass::ChecksumMismatch => 5,
        _ => 6,
    }
}

fn diagnose_text(exit_code: Option<i32>, output: &[u8]) -> Option<Diagnosis> {
    let lines = last_lines(output);
    let rules = &RULES.book.rules;
    let mut matches = all_matches(&lines, exit_code);
    let overridden = matches.iter().filter(|found| rules[found.rule].overrides);
    let from = overridden.map(|found| found.line).max().unwrap_or(0);
    let last = matches.iter().map(|found| found.line).max()?;
    let from = from.max(last.saturating_sub(CAUSE_REACH));
    matches.retain(|found| found.line >= from);
    matches.sort_by_key(|found| {
        let rule = &rules[found.rule];
        (rule.rank(), Reverse(found.line), found.rule)
    });
    let best = matches.first()?;
    let rule = &rules[best.rule];
    // Of the same thing said twice, the one that names names helps more.
    let says_more = |found: &&Match| {
        let other = &rules[found.rule];
        other.class == rule.class
            && other.is_transient() == rule.is_transient()
            && other.advice.is_some()
    };
    let named = matches.iter().find(says_more).filter(|_| rule.advice.is_none());
    let told = named.unwrap_or(best);
    Some(conclusion(&rules[told.rule], *told, &lines))
}

fn all_matches(lines: &[String], exit_code: Option<i32>) -> Vec<Match> {
    let patterns = &*RULES.set;
    let mut matches = Vec::new();
    for (line, text) in lines.iter().enumerate().filter(|(_, text)| !is_echo(text)) {
        let (is_warning, from_end) = (is_warning(text), lines.len() - line);
        for pattern in patterns.set.matches(text.as_bytes()) {
            let rule = patterns.owners[pattern].0;
            let stated = &RULES.book.rules[rule];
            let in_place = match stated.where_to_look {
                Place::Errors => !is_warning,
                Place::WarningsToo => true,
                Place::NearEnd => !is_warning && from_end <= NEAR_END,
                Place::LastLine => from_end == 1,
            };
            let by_code =
                stated.exit.is_empty() || exit_code.is_some_and(|code| stated.exit.contains(&code));
            if in_place && by_code && is_said_besides(stated, lines) {
                matches.push(Match { rule, pattern, line });
            }
        }
    }
    matches
}

fn is_said_besides(rule: &Rule, lines: &[String]) -> bool {
    rule.also.as_ref().is_none_or(|also| {
        pattern(also).is_ok_and(|also| lines.iter().any(|line| also.is_match(line.as_bytes())))
    })
}

/// A line that a shell prints before it runs it, or a compiler to show where it means, says
/// nothing of what went wrong.
fn is_echo(line: &str) -> bool {
    let listing = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    line.starts_with("+ ") || line.starts_with("++ ") || listing.starts_with("| ")
}

/// Whether a line says of itself that it is no error.
fn is_warning(line: &str) -> bool {
    static WARNING: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let word = r"\[?(warning|warn|note|notice|info|debug|hint|deprecated)\]?";
        let start = format!(
            r"(?i)^\s*([0-9TZ:.,+\- ]*\s)?([\w./-]+:\s*)*({word}[:\s\]]|[wn]:\s|npm (warn|notice)\b)"
        );
        pattern(&start).ok()
    });
    WARNING.as_ref().is_some_and(|warning| warning.is_match(line.as_bytes()))
}

fn conclusion(rule: &Rule, found: Match, lines: &[String]) -> Diagnosis {
    let general = Diagnosis::of(rule.class);
    let (_, text) = &RULES.set.owners[found.pattern];
    let special = rule.advice.as_ref().and_then(|advice| fill_in(advice, text, &lines[found.line]));
    Diagnosis {
        class: rule.class,
        advice: special.unwrap_or(general.advice),
        is_transient: rule.is_transient(),
    }
}

/// The advice with the names that the pattern found; `None` if it did not find them all.
fn fill_in(advice: &str, text: &str, line: &str) -> Option<String> {
    let pattern = pattern(text).ok()?;
    let captures = pattern.captures(line.as_bytes())?;
    let mut filled = String::new();
    let mut rest = advice;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) = after.split_once('}')?;
        let value = captures.name(name)?;
        let value = String::from_utf8_lossy(value.as_bytes());
        filled.push_str(before);
        filled.extend(value.trim().chars().take(LONGEST_NAME));
        rest = behind;
    }
    filled.push_str(rest);
    Some(filled)
}

#[cfg(test)]
mod tests {
    use super::{BOOK, Book, Diagnosis, RULES, diagnose, pattern};
    use crate::model::{AttemptOutcome, ErrorClass};

    fn exited(code: i32, output: &str) -> Diagnosis {
        diagnose(AttemptOutcome::Exited, Some(code), output.as_bytes())
    }

    #[test]
    fn the_book_can_be_read_and_every_rule_works() {
        let book: Book = serde_yaml::from_str(BOOK).unwrap();
        for class in ErrorClass::ALL {
            assert!(!book.classes[&class].advice.is_empty(), "{class:?}");
        }
        for rule in &book.rules {
            assert!(!rule.patterns.is_empty(), "{rule:?}");
            for text in rule.patterns.iter().chain(&rule.also) {
                let compiled = pattern(text).unwrap_or_else(|error| panic!("{text}: {error}"));
                assert!(!compiled.is_match(b""), "`{text}` fits everything");
            }
            let placeholder = pattern(r"\$\{(\w+)\}").unwrap();
            let advice = rule.advice.as_deref().unwrap_or_default();
            for found in placeholder.captures_iter(advice.as_bytes()) {
                let name = std::str::from_utf8(&found[1]).unwrap();
                let has = |text: &String| {
                    pattern(text).unwrap().capture_names().flatten().any(|group| group == name)
                };
                let without: Vec<_> = rule.patterns.iter().filter(|text| !has(text)).collect();
                assert!(without.is_empty(), "no group {name} in {without:?}");
            }
            let rest = placeholder.replace_all(advice.as_bytes(), &b""[..]);
            assert!(!rest.contains(&b'$'), "{advice}");
        }
        assert_eq!(RULES.set.owners.len(), RULES.set.set.len());
    }

    #[test]
    fn how_it_ended_says_what_it_was_where_it_said_nothing() {
        use AttemptOutcome::{Exited, Signaled, TimedOut};
        for (outcome, code, class) in [
            (TimedOut, None, ErrorClass::Timeout),
            (TimedOut, Some(1), ErrorClass::Timeout),
            (Signaled, None, ErrorClass::Killed),
            (Exited, Some(137), ErrorClass::Killed),
            (Exited, Some(143), ErrorClass::Killed),
            (Exited, Some(127), ErrorClass::CommandNotFound),
            (Exited, Some(126), ErrorClass::PermissionRequired),
            (Exited, Some(124), ErrorClass::Timeout),
            (Exited, Some(1), ErrorClass::Unknown),
            (AttemptOutcome::NotStarted, None, ErrorClass::Unknown),
        ] {
            assert_eq!(diagnose(outcome, code, b"").class, class, "{outcome:?} {code:?}");
        }
    }

    #[test]
    fn success_is_not_diagnosed() {
        assert_eq!(exited(0, "No space left on device").class, ErrorClass::Unknown);
    }

    #[test]
    fn what_it_waited_for_is_told_with_the_timeout() {
        let output = "Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. \
                      It is held by process 4711 (unattended-upgr)...";
        let waited = diagnose(AttemptOutcome::TimedOut, None, output.as_bytes());
        assert_eq!(waited.class, ErrorClass::Timeout);
        assert!(waited.advice.contains("unattended-upgr (process 4711)"), "{}", waited.advice);
        assert!(waited.is_transient);
        assert_eq!(exited(124, output).class, ErrorClass::PackageLockHeld);
    }

    #[test]
    fn a_cause_wins_over_what_follows_from_it() {
        let dns = "curl: (6) Could not resolve host: get.tool.example\n\
                   bash: line 2: tool: command not found\n";
        assert_eq!(exited(127, dns).class, ErrorClass::Dns);
        let full = "cp: error writing '/opt/x': No space left on device\n\
                    E: Sub-process /usr/bin/dpkg returned an error code (1)\n";
        assert_eq!(exited(100, full).class, ErrorClass::DiskFull);
    }

    #[test]
    fn what_the_command_got_over_is_not_what_it_failed_by() {
        let warned = "warning: cannot write /etc/motd: Permission denied\nno license given\n";
        assert_eq!(exited(1, warned).class, ErrorClass::Unknown);
        let early = format!("rm: cannot remove '/x': Permission denied\n{}", "step\n".repeat(30));
        assert_eq!(exited(1, &early).class, ErrorClass::Unknown);
        let traced = "+ echo 'No space left on device'\nfailed\n";
        assert_eq!(exited(1, traced).class, ErrorClass::Unknown);
        let compiled = "curl: (6) Could not resolve host: stats.example\n\
                        src/a.c:3:1: error: expected ';'\nmake: *** [all] Error 1\n";
        assert_eq!(exited(2, compiled).class, ErrorClass::Unknown);
    }

    #[test]
    fn any_bytes_can_be_read() {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(200_000).collect();
        for output in [&bytes[..], &[0xff; 100], b"\x1b[", b"\r\r\n"] {
            let diagnosis = diagnose(AttemptOutcome::Exited, Some(1), output);
            assert_eq!(diagnosis.class, ErrorClass::Unknown);
        }
    }

    #[test]
    fn names_that_were_found_are_in_the_advice() {
        let missing = exited(100, "\x1b[31mE: Unable to locate package frobnicate\x1b[0m\n");
        assert_eq!(missing.class, ErrorClass::PackageNotFound);
        assert!(missing.advice.contains("frobnicate"), "{}", missing.advice);
        assert!(!missing.is_transient);
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let url = "curl: (22) The requested URL returned error: ";
        for (status, is_transient) in [(503, true), (429, true), (404, false), (403, false)] {
            let diagnosis = exited(22, &format!("{url}{status}\n"));
            assert_eq!(
                (diagnosis.class, diagnosis.is_transient),
                (ErrorClass::Network, is_transient)
            );
        }
        let expired = exited(60, "curl: (60) SSL certificate problem: certificate has expired\n");
        assert_eq!((expired.class, expired.is_transient), (ErrorClass::Network, false));
    }
}
