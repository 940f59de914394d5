//! What can be typed. `command` adds what helps to type it: groups, examples, exit codes.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, Subcommand, ValueEnum};

use super::{
    appearance::ColourChoice,
    completions::ShellName,
    walk_args::{DataArgs, ReviseArgs, RunArgs, WalkArgs},
};
use crate::{
    engine::ResumeAt,
    model::{IdError, TaskId},
};

#[derive(Debug, Parser)]
#[command(
    name = "provision",
    version,
    about = "Sets up a machine with you, and keeps a record that survives anything"
)]
pub(super) struct Args {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are what people type")]
pub(super) struct Global {
    /// Where sessions are kept [default: ~/.agentic-provision]
    #[arg(long, global = true, value_name = "DIR", env = "AGENTIC_PROVISION_HOME")]
    #[arg(hide_env_values = true)]
    pub home: Option<PathBuf>,
    /// A folder with tasks and profiles of your own; may be given again, the last is the strongest
    #[arg(long, global = true, value_name = "DIR")]
    pub catalog: Vec<PathBuf>,
    /// Write JSON for programs instead of text for people
    #[arg(long, global = true)]
    pub json: bool,
    /// Never ask: what is missing is an error
    #[arg(long, global = true)]
    pub no_input: bool,
    /// How long to wait for a session that another process is working on
    #[arg(long, global = true, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub lock_timeout: Duration,
    /// When to use colour: auto, always or never
    #[arg(long = "color", global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_possible_values = true)]
    pub colour: ColourChoice,
    /// Say only what went wrong
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say on stderr, step by step, what is done to the record
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Set up a profile as a new session
    #[command(after_help = "Examples:
  provision start essentials
      Shows the plan and waits for your approval.
  provision start fullstack-web --answers mine.yaml --yes
      Reads the answers from a file and approves the plan unread.
  provision start --add jq --add ripgrep
      Installs two tools without a profile.
  provision start essentials --answer editor=neovim --without fzf
      Answers one question and leaves a task out.")]
    Start {
        #[command(flatten)]
        walk: WalkArgs,
        #[command(flatten)]
        run: RunArgs,
    },
    /// Show what a profile would run here, and change nothing
    #[command(after_help = "Examples:
  provision plan essentials
      Lists what would be installed here.
  provision plan essentials --commands
      Lists every command as well.
  provision plan essentials --output mine.json
      Writes a plan file for `provision apply`.")]
    Plan {
        #[command(flatten)]
        walk: WalkArgs,
        #[command(flatten)]
        data: DataArgs,
        /// Show every command, too
        #[arg(long)]
        commands: bool,
        /// Write the plan to a file that `provision apply` runs; `-` is standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Approve the plan that a session waits with
    #[command(after_help = "Examples:
  provision approve latest 3f9a1c
      Approves the plan whose digest begins with these digits.")]
    Approve {
        /// A session id, the beginning of one, or `latest`
        session: String,
        /// The plan's digest, or at least its first 6 digits
        digest: String,
    },
    /// Say what keeps a session in its phase; with --force, go past it
    #[command(after_help = "Examples:
  provision advance latest
      Shows which gates keep the session in its phase.
  provision advance latest --force --reason 'checked by hand'
      Forces the gate and records the reason.")]
    Advance {
        /// A session id, the beginning of one, or `latest`
        session: String,
        /// Go past what stands in the way; it is recorded as a violation
        #[arg(long)]
        force: bool,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Run a plan file as a new session
    #[command(after_help = "Examples:
  provision apply mine.json
      Shows the plan and waits for your approval.
  provision apply mine.json --yes
      Approves the plan unread.
  provision apply mine.json --approve 3f9a1c
      Runs the plan only if it has this digest.")]
    Apply {
        /// The plan, as `provision schema plan` describes it
        plan: PathBuf,
        #[command(flatten)]
        run: RunArgs,
    },
    /// Go on with a session at the exact command where it stopped
    #[command(after_help = "Examples:
  provision resume
      Resumes the newest unfinished session.
  provision resume latest --skip
      Skips failed tasks and their dependents.
  provision resume latest --interrupted retry
      Retries a command whose outcome is unknown.")]
    Resume {
        /// A session id, the beginning of one, or `latest` [default: the newest that is unfinished]
        session: Option<String>,
        /// Try tasks that failed again [default: asked on a terminal, else tried again]
        #[arg(long, conflicts_with = "skip")]
        retry: bool,
        /// Pass by tasks that failed, and those that need them
        #[arg(long)]
        skip: bool,
        /// Go on at this task: those before it that are not done are passed by
        #[arg(long, value_name = "TASK", value_parser = task_id)]
        from: Option<TaskId>,
        /// The plan to go on with, for a session that has none that can be read
        #[arg(long, value_name = "FILE")]
        plan: Option<PathBuf>,
        #[command(flatten)]
        run: RunArgs,
    },
    /// Add tools to what a complete session has set up
    #[command(after_help = "Examples:
  provision expand
      Asks which tools to add to the newest complete session.
  provision expand latest docker
      Adds a tool to the newest complete session.")]
    Expand {
        /// A session [default: the newest that is complete], then tasks to add
        #[arg(value_name = "SESSION|TASK")]
        names: Vec<String>,
        /// The letter or the value of an answer, such as what to do about a conflict
        #[arg(long, value_name = "QUESTION=ANSWER", value_parser = key_value)]
        answer: Vec<(String, String)>,
        #[command(flatten)]
        run: RunArgs,
    },
    /// Answer otherwise after all: only what that changes is done anew
    #[command(after_help = "Examples:
  provision revise
      Asks which answers to change and shows the effects.
  provision revise --answer editor=neovim
      Shows the effects of another answer and asks before it changes anything.
  provision revise latest --reviewed
      Confirms the tasks that are marked for review.")]
    Revise(ReviseArgs),
    /// Take a task as done though its verification is not content
    #[command(after_help = "Examples:
  provision override latest redis --reason 'it listens elsewhere'
      Accepts a task although its verification failed and records the reason.")]
    Override {
        /// A session id, the beginning of one, or `latest`
        session: String,
        /// The task
        #[arg(value_parser = task_id)]
        task: TaskId,
        /// Why that is right, for the record
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Ask a session to pause when its command is done
    #[command(after_help = "Examples:
  provision pause
      Pauses the newest session after its current command.
  provision pause latest --reason lunch
      Records a reason for the pause.")]
    Pause {
        /// A session id, the beginning of one, or `latest`
        #[arg(default_value = "latest")]
        session: String,
        /// Why, for whoever resumes it
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Show what the commands of a session wrote
    #[command(after_help = "Examples:
  provision logs
      Shows the output of the newest session's commands.
  provision logs latest git
      Shows the output of one task.")]
    Logs {
        /// A session id, the beginning of one, or `latest`
        #[arg(default_value = "latest")]
        session: String,
        /// Only the commands of this task
        task: Option<TaskId>,
        /// The bytes as they were, and nothing else: they may order a terminal about
        #[arg(long)]
        raw: bool,
    },
    /// List sessions, newest first
    #[command(after_help = "Examples:
  provision sessions
      Lists the newest 50 sessions.
  provision sessions --all --json
      Lists all sessions as JSON.")]
    Sessions {
        /// Every session, not only the newest 50
        #[arg(long)]
        all: bool,
    },
    /// Say where a session stands and what comes next
    #[command(after_help = "Examples:
  provision status
      Shows the progress of the newest session.
  provision status prov-2026
      Finds a session by the beginning of its id.
  provision status --chain
      Lists the sessions it expands and the tools of each.")]
    Status {
        /// A session id, the beginning of one, or `latest`
        #[arg(default_value = "latest")]
        session: String,
        /// Show the sessions that it adds to or that add to it, and which of them brought what
        #[arg(long)]
        chain: bool,
    },
    /// Show what happened in a session, event by event
    #[command(after_help = "Examples:
  provision history
      Lists the events of the newest session.
  provision history latest --follow
      Prints new events as they are recorded.
  provision history latest --verify
      Verifies that the record was not altered.")]
    History(HistoryArgs),
    /// Say what is on this machine, and what has changed
    #[command(after_help = "Examples:
  provision audit
      Lists installed tools, their versions and all changes.
  provision audit --explain jq
      Shows which session and command installed a tool.
  provision audit --html audit.html
      Writes the audit as an HTML page.
  provision audit --adopt
      Accepts the machine as it is, after asking.")]
    Audit(AuditArgs),
    /// Write a page that tells all of a session
    #[command(after_help = "Examples:
  provision report
      Writes a page about the newest session to this folder.
  provision report latest -o setup.html
      Writes the page to a file of your choice.")]
    Report {
        /// A session id, the beginning of one, or `latest`
        #[arg(default_value = "latest")]
        session: String,
        /// Where to; `-` is standard output [default: report-ID.html in this folder]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Write a session document of an earlier format in the present one
    #[command(after_help = "Examples:
  provision migrate prov-20260202-143052-a7b3
      Writes the new document and keeps the original.")]
    Migrate {
        /// A session id, the beginning of one, or `latest`
        session: String,
    },
    /// Look for what keeps this machine from being set up
    #[command(after_help = "Examples:
  provision doctor
      Checks the machine and changes nothing.
  provision doctor --repair
      Approves and runs the repairs.")]
    Doctor {
        /// Approve and run the repairs of what is in the way
        #[arg(long)]
        repair: bool,
    },
    /// Make a damaged record usable again, and say what may be lost
    #[command(after_help = "Examples:
  provision recover latest
      Describes the recovery and asks.
  provision recover latest --level 1 --yes
      Recovers from the backup without asking.
  provision recover latest --level 3 --resume-at git:1
      Resumes at the second command of a task.")]
    Recover(RecoverArgs),
    /// Remove the logs of old sessions, and records nothing refers to
    #[command(after_help = "Examples:
  provision prune
      Lists logs older than 30 days and asks.
  provision prune --older-than 90d --yes
      Removes older logs without asking.")]
    Prune {
        /// How long ago a session must have changed last
        #[arg(long, value_name = "TIME", default_value = "30d", value_parser = humantime::parse_duration)]
        older_than: Duration,
        /// Do it without asking
        #[arg(long)]
        yes: bool,
    },
    /// Look at what can be installed, and check files that say so
    #[command(after_help = "Examples:
  provision catalog list
      Lists every task and profile.
  provision catalog search json viewer
      Finds tasks by words.
  provision catalog show ripgrep
      Shows the commands of a task on this machine.")]
    Catalog {
        #[command(subcommand)]
        command: CatalogCommand,
    },
    /// Show, add or remove the lines of tasks in your shells' files
    #[command(after_help = "Examples:
  provision shell
      Lists the files and tasks with lines for shells.
  provision shell remove fzf
      Removes the lines of one task.")]
    Shell {
        #[command(subcommand)]
        command: Option<ShellCommand>,
    },
    /// Print the JSON Schema of a file that provision writes or reads
    #[command(after_help = "Examples:
  provision schema answers
      Prints the schema of files for `start --answers`.
  provision schema task > task.schema.json
      Writes a schema for an editor that checks YAML.")]
    Schema {
        /// Which file
        #[arg(value_name = "FILE")]
        of: SchemaOf,
    },
    /// Print a script that lets your shell complete what you type
    #[command(after_help = "Examples:
  source <(provision completions bash)
      bash: try it; to keep it, write that line into ~/.bashrc.
  provision completions fish > ~/.config/fish/completions/provision.fish
      fish: kept for every shell that you open from now on.
  provision completions zsh > ~/.zfunc/_provision
      zsh: with `fpath+=(~/.zfunc)` before `compinit` in ~/.zshrc.")]
    Completions {
        /// Your shell
        shell: ShellName,
    },
    /// Print a manual page, or write all of them
    #[command(after_help = "Examples:
  provision man | man -l -
      Opens the manual of provision.
  provision man catalog validate | man -l -
      Prints the page of one command.
  provision man --to ~/.local/share/man/man1
      Writes all pages where `man` finds them: `man provision-start`.")]
    Man {
        /// The command that the page is about [default: provision itself]
        #[arg(conflicts_with = "to")]
        command: Vec<String>,
        /// Write a page for every command into this folder
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
    /// Record a session from a written list of events
    #[cfg(feature = "testing")]
    #[command(name = "__script", hide = true)]
    Script {
        /// The session to begin or to go on with
        #[arg(long)]
        session: Option<crate::model::SessionId>,
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum CatalogCommand {
    /// List tasks by category, and profiles
    #[command(after_help = "Examples:
  provision catalog list
      Lists every task and profile.
  provision catalog list --category editors
      Lists the tasks of one category.")]
    List {
        /// Only the tasks of this category
        #[arg(long, value_name = "NAME")]
        category: Option<String>,
    },
    /// Show a task, and what it would run on this machine; or a profile, and what it asks
    #[command(after_help = "Examples:
  provision catalog show ripgrep
      Shows a task and its commands on this machine.
  provision catalog show essentials
      Shows a profile and its questions.")]
    Show {
        /// Its id; `provision catalog list` names them
        id: String,
    },
    /// Find tasks by words: the best first
    #[command(after_help = "Examples:
  provision catalog search find files
      Lists the best matches first.")]
    Search {
        /// What it is called, or what it is for
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Find every mistake in files of a catalog
    #[command(after_help = "Examples:
  provision catalog validate
      Checks the whole catalog.
  provision catalog validate tasks/mine.yaml
      Checks a file of your own.
  provision --catalog team catalog validate
      Checks a folder together with the rest of the catalog.")]
    Validate {
        /// Files, and folders that are searched for them [default: the whole catalog]
        paths: Vec<PathBuf>,
        /// As strict as with the catalog that comes along: unknown fields and sudo are errors
        #[arg(long)]
        strict: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ShellCommand {
    /// List the tasks that have lines: the default
    #[command(after_help = "Examples:
  provision shell list
      Lists the files and tasks with lines for shells.")]
    List,
    /// Add the lines of what a session has installed
    #[command(after_help = "Examples:
  provision shell add
      Adds the lines of tools that the newest session installed.
  provision shell add latest --all
      Adds the lines of tools that it found installed as well.")]
    Add {
        /// A session id, the beginning of one, or `latest`
        #[arg(default_value = "latest")]
        session: String,
        /// Also of what was there before
        #[arg(long)]
        all: bool,
        /// Replace blocks of an earlier version without asking
        #[arg(long)]
        yes: bool,
    },
    /// Take the lines of tasks out again
    #[command(after_help = "Examples:
  provision shell remove fzf starship
      Removes the lines of two tasks.
  provision shell remove
      Removes the lines of all tasks.")]
    Remove {
        /// Whose [default: all there are]
        #[arg(value_name = "TASK", value_parser = task_id)]
        tasks: Vec<TaskId>,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct HistoryArgs {
    /// A session id, the beginning of one, or `latest`
    #[arg(default_value = "latest")]
    pub session: String,
    /// Go on showing events as they are recorded, until the session is no longer in progress
    #[arg(long, conflicts_with = "verify")]
    pub follow: bool,
    /// Check every line, and that the session document follows from them
    #[arg(long)]
    pub verify: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct AuditArgs {
    /// Only tools of this category
    #[arg(long, value_name = "NAME")]
    pub category: Option<String>,
    /// Only what this session set up or found
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Only whether tools are here: no versions, and no checks
    #[arg(long)]
    pub quick: bool,
    /// Write it as a page to this file; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Tell how one tool came here
    #[arg(long, value_name = "TASK", value_parser = task_id)]
    #[arg(conflicts_with_all = ["category", "session", "quick", "html", "adopt"])]
    pub explain: Option<TaskId>,
    /// Take the machine as it is now: from then on that is what is expected
    #[arg(long, conflicts_with_all = ["category", "session", "quick"])]
    pub adopt: bool,
    /// With --adopt: without asking
    #[arg(long, requires = "adopt")]
    pub yes: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct RecoverArgs {
    /// A session id, the beginning of one, or `latest`
    pub session: String,
    /// 1 from the backup, 2 from the journal and the attempts, 3 by hand [default: the best]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    pub level: Option<u8>,
    /// Do it without asking
    #[arg(long)]
    pub yes: bool,
    /// Where to go on at level 3: a task, and which of its commands, 0 for the first
    #[arg(long, value_name = "TASK[:N]")]
    pub resume_at: Option<Place>,
    /// Its plan at level 3, where the one that was kept cannot be read
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
}

/// A planned command, as it is typed.
#[derive(Clone, Debug)]
pub(super) struct Place(pub ResumeAt);

impl std::str::FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (task, command_index) = match text.rsplit_once(':') {
            None => (text, 0),
            Some((task, index)) => match index.parse() {
                Ok(index) => (task, index),
                Err(_) => return Err(format!("`{index}` is not a number: 0 is the first command")),
            },
        };
        let task_id = task.parse().map_err(|error: IdError| error.to_string())?;
        Ok(Self(ResumeAt { task_id, command_index }))
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum SchemaOf {
    /// The session document
    Session,
    /// One line of a session's journal
    Event,
    /// A plan file
    Plan,
    /// A file with tasks
    Task,
    /// A file with a profile
    Profile,
    /// A file with answers, for a walk that nobody attends
    Answers,
}

/// A task as it is named on a command line.
pub(super) fn task_id(text: &str) -> Result<TaskId, String> {
    if text.trim().is_empty() || text.contains(char::is_whitespace) {
        return Err("expected the id of a task; `provision catalog list` names them".into());
    }
    text.parse().map_err(|error: IdError| error.to_string())
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    if key.is_empty() {
        return Err("expected a name before the `=`".into());
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// `5s`, `2min`; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string());
    }
    humantime::parse_duration(text).map_err(|error| error.to_string())
}
