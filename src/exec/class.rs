//! What kind of failure it was, by how the command ended.

use crate::model::AttemptOutcome;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    PermissionRequired,
    CommandNotFound,
    Timeout,
    Killed,
    VerificationFailed,
    DependencyFailed,
    Unknown,
}

impl ErrorClass {
    pub fn name(self) -> &'static str {
        match self {
            Self::PermissionRequired => "permission_required",
            Self::CommandNotFound => "command_not_found",
            Self::Timeout => "timeout",
            Self::Killed => "killed",
            Self::VerificationFailed => "verification_failed",
            Self::DependencyFailed => "dependency_failed",
            Self::Unknown => "unknown",
        }
    }

    pub fn advice(self) -> &'static str {
        match self {
            Self::PermissionRequired => {
                "The command, or a file it uses, may not be run by this user."
            }
            Self::CommandNotFound => "A program it calls is not installed or not on PATH.",
            Self::Timeout => {
                "It took longer than the plan allows: see where it hung in its output."
            }
            Self::Killed => "Something ended it: a person, or the system when memory ran out.",
            Self::VerificationFailed => {
                "Every command succeeded, and yet the check afterwards did not."
            }
            Self::DependencyFailed => "What it depends on is not there.",
            Self::Unknown => "Its output says more: `provision logs` shows it.",
        }
    }
}

/// The exit codes are the shell's: 126 could not run it, 127 did not find it, 128 + n died of n.
pub fn classify(outcome: AttemptOutcome, exit_code: Option<i32>) -> ErrorClass {
    match (outcome, exit_code) {
        (AttemptOutcome::TimedOut, _) => ErrorClass::Timeout,
        (AttemptOutcome::Signaled, _) | (_, Some(137 | 143)) => ErrorClass::Killed,
        (_, Some(127)) => ErrorClass::CommandNotFound,
        (_, Some(126)) => ErrorClass::PermissionRequired,
        _ => ErrorClass::Unknown,
    }
}
