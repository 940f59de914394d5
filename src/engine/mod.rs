//! Drives sessions: the clock, the machine we are on, and the run that records what happens.

mod after_restart;
mod alternative;
mod apply;
mod approve;
mod attempts;
mod attending;
mod audit;
mod baseline;
mod batches;
mod calls;
mod catalog;
mod chain;
mod changed_plan;
pub mod clock;
mod commands;
mod conversation;
mod crew;
mod data;
mod deciding;
mod decision;
mod doctor;
mod driving;
mod ending;
mod error;
mod estimates;
mod examine;
mod executions;
mod expansion;
mod explain;
mod footing;
mod ledger;
mod look;
mod lost_attempts;
mod machine;
mod opening;
mod package_locks;
mod paper;
mod password;
mod past;
mod pause;
mod planned_anew;
mod platform;
mod prepare;
mod probes;
mod prune;
mod recover;
mod rehearsing;
mod repair;
mod report;
mod request;
mod reverify;
mod revising;
mod revision;
mod rights;
mod run;
mod screen;
#[cfg(feature = "testing")]
mod script;
mod sessions;
mod setup;
mod shelf;
mod shell_blocks;
mod shell_files;
mod side_by_side;
mod signals;
mod silence;
mod standing;
mod start;
mod stop;
mod talk;
mod tasks;
mod tell;
mod turns;
mod unready;
mod verification;
mod wishes;

pub use crate::{
    catalog::{Catalog, Code, Diagnostic, Listed, Severity},
    flow::doctor::{Level, Trouble, repair_plan},
    flow::gates::NotForced,
    flow::{
        Added, Ask, Asked, Changed, ChosenBy, Context, Drift, Expected, Expiry, Finding, Input,
        Kept, NoRecipe, PlanProblem, Presence, Recipe, RecipeSource, Refusal, Removed, STACK_TYPE,
        Sessions, Shell, Since, Situation, Stack, State, TOOLS_ADDED, TOOLS_LEFT_OUT, TaskLine,
        Waiting, Wanted, count, how_long, tools_named,
    },
    store::{Listing, SessionSummary},
};
pub use approve::{Approved, approve, force, in_the_way};
pub use audit::{Audit, BaselineKnown, Scope, Share, Tool, adopt, audit, drift_at_a_glance};
pub use catalog::{TaskView, can_be_had, load_catalog, view};
pub use chain::{Chain, Link, chain};
pub use clock::Clock;
pub use conversation::{Conversation, Mailbox, Taken, waits_for_answers};
pub use data::GivenData;
pub use decision::{Decision, FailedTask, Matter, NextStep};
pub use doctor::look_at_machine;
pub use ending::Ended;
pub use error::{Missing, RunError};
pub use estimates::{Durations, known_durations};
pub use examine::{Examination, Expiries, examine, expiries, liveliness};
pub use executions::{Execution, executions, output_of};
pub use expansion::{Inheritance, expandable, inheritance, newest_complete};
pub use explain::{Appearance, Dependant, Explanation, Verdict, explain};
pub use machine::machine;
pub use opening::{Found, Summary, newest_of_interest, summary};
pub use pause::{PauseAnswer, ask_to_pause};
pub use platform::{platform, seems_installed};
pub use prepare::Prepared;
pub use prune::{OldLogs, OldRecord, Pruning, prune, what_to_prune};
pub use recover::{
    BY_HAND, Place, Prospect, RecoverError, Recovered, ResumeAt, check_place, prospect, recover,
    recover_by_hand,
};
pub use repair::mend;
pub use report::{Attempted, Output, Reporter, SessionReport, report};
pub use request::Request;
pub use reverify::{NowKnown, Reverified};
pub use revision::{Revised, Revision, reviewed, revision};
pub use run::{Interrupted, Surroundings};
#[cfg(feature = "testing")]
pub use script::{Script, ScriptError, run_script};
pub use sessions::{apply, newest_unfinished, read_plan, resume, unfinished};
pub use shelf::Layers;
pub use shell_blocks::ShellChoice;
pub use shell_files::{
    AddedBlock, BlockError, ShellFile, WantedBlock, add_shell_blocks, asked_of_plan,
    asked_of_session, blocks_to_replace, lines_of_plan, shell_files,
};
pub use standing::{Candidate, candidates, context_of, standing};
pub use start::{Ready, plan, ready};
pub use tell::{Asker, Person, Told, Watcher};
pub use unready::{Mistake, Unanswered, Unready};
pub use verification::override_verification;
pub use wishes::{Approval, Failed, Wishes};
