//! What can be typed about a walk and the run of its plan, whichever command begins them.

use std::path::PathBuf;

use clap::ValueEnum;

use super::args::{key_value, task_id};
use crate::model::TaskId;

#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// Approve the plan, whatever it is
    #[arg(long, conflicts_with = "approve")]
    pub yes: bool,
    /// Approve the plan if this is its digest
    #[arg(long, value_name = "DIGEST")]
    pub approve: Option<String>,
    /// Approve repairs of the machine, too, where it is in the way; --yes alone does not
    #[arg(long)]
    pub repair: bool,
    /// Go on with what does not depend on a task that failed
    #[arg(long)]
    pub keep_going: bool,
    /// How many tasks may go on at once, 1 to 64; with 1, one after the other as planned [default: 4,
    /// and 1 where each step is reviewed]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub jobs: Option<u8>,
    /// What to do about a command that nobody knows the end of
    #[arg(long, value_name = "WHAT")]
    pub interrupted: Option<InterruptedArg>,
    /// Whether tasks may add lines to the configuration of your shells [default: asked on a
    /// terminal, else not]
    #[arg(long, value_name = "yes|no")]
    pub shell_integration: Option<YesNo>,
    #[command(flatten)]
    pub data: DataArgs,
}

#[derive(Debug, Default, clap::Args)]
pub(super) struct DataArgs {
    /// A value for the plan's commands; never a secret
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub data: Vec<(String, String)>,
    /// Values and secrets for the plan's commands, as a JSON object; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub data_file: Option<PathBuf>,
}

/// What is answered beforehand, and which single tools are wanted, or not.
#[derive(Debug, Default, clap::Args)]
pub(super) struct ChoiceArgs {
    /// Answers, as `provision schema answers` describes them
    #[arg(long, value_name = "FILE")]
    pub answers: Option<PathBuf>,
    /// The letter or the value of an answer
    #[arg(long, value_name = "QUESTION=ANSWER", value_parser = key_value)]
    pub answer: Vec<(String, String)>,
    /// A task beside those of the profile
    #[arg(long, value_name = "TASK", value_delimiter = ',', value_parser = task_id)]
    pub add: Vec<TaskId>,
    /// A task that is left out
    #[arg(long, value_name = "TASK", value_delimiter = ',', value_parser = task_id)]
    pub without: Vec<TaskId>,
}

/// What to set up. On a terminal the rest is asked for.
#[derive(Debug, clap::Args)]
pub(super) struct WalkArgs {
    /// The profile to set up; `provision catalog list` names them
    pub profile: Option<String>,
    #[command(flatten)]
    pub choice: ChoiceArgs,
    /// Run everything at once, or ask before each step; for that somebody must be there
    #[arg(long, value_name = "MODE")]
    pub mode: Option<ModeArg>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ModeArg {
    #[value(name = "all_at_once")]
    AllAtOnce,
    #[value(name = "review_each_step")]
    ReviewEachStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum YesNo {
    Yes,
    No,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum InterruptedArg {
    /// Run it again
    Retry,
    /// Pass its task by
    Skip,
}

/// What is to be otherwise. On a terminal it is asked for.
#[derive(Debug, clap::Args)]
pub(super) struct ReviseArgs {
    /// A session id, the beginning of one, or `latest` [default: the newest that is unfinished]
    pub session: Option<String>,
    /// Another stack
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    #[command(flatten)]
    pub choice: ChoiceArgs,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Say that you have looked at the tasks that are marked for review
    #[arg(long, conflicts_with_all = ["profile", "answers", "answer", "add", "without"])]
    pub reviewed: bool,
    #[command(flatten)]
    pub run: RunArgs,
}
