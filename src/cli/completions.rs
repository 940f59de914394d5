//! `provision completions`: a script for a shell, which asks this program how a line could go on.
//!
//! The scripts are ours rather than clap's: people keep them in files, and a newer program must
//! still answer an older script; and names of files are best completed by the shell, which knows
//! how to quote them.

use clap::ValueEnum;

use super::{failure::Failure, output};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ShellName {
    Bash,
    Zsh,
    Fish,
}

pub(super) fn run(shell: ShellName) -> Result<(), Failure> {
    output::data(match shell {
        ShellName::Bash => include_str!("scripts/provision.bash"),
        ShellName::Zsh => include_str!("scripts/provision.zsh"),
        ShellName::Fish => include_str!("scripts/provision.fish"),
    })
}
