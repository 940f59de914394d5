//! The command line: what was typed, what it means, and which part of the program does it.

mod appearance;
mod approve;
mod args;
mod ask;
mod audit;
mod candidates;
mod catalog;
mod command;
mod complete;
mod completions;
mod doctor;
mod expand;
mod failure;
mod history;
mod logs;
mod man;
mod migrate;
mod output;
mod overrule;
mod overview;
mod pause;
mod prune;
mod recover;
mod report;
mod revise;
mod run;
mod run_failure;
mod schema;
#[cfg(feature = "testing")]
mod script;
mod sessions;
mod settings;
mod shell;
mod start;
mod status;
mod usage;
mod walk;
mod walk_args;

use std::process::ExitCode;

use clap::FromArgMatches as _;

use args::{Args, Command};
use failure::Failure;
use settings::Settings;

use crate::{engine::Failed, exec};

/// Runs the program; returns its exit code. All it has to say has been said by then.
pub fn main() -> ExitCode {
    // Before anything else: a supervisor has nothing to do with the rest of the program.
    if let Some(code) = exec::act_as_helper(std::env::args_os()) {
        return code;
    }
    if let Some(code) = complete::answer() {
        return code;
    }
    let parsed = command::coloured().try_get_matches();
    let parsed = parsed.and_then(|matches| Ok((Args::from_arg_matches(&matches)?, matches)));
    let (args, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return output::usage(&error),
    };
    let json = args.global.json;
    let operation = matches.subcommand_name().unwrap_or("walk");
    let done = Settings::from_args(args.global).and_then(|settings| {
        settings.start_tracing();
        run(args.command, &settings)
    });
    match done {
        Ok(code) => code,
        Err(failure) => output::failure(&failure, operation, json),
    }
}

fn run(command: Option<Command>, settings: &Settings) -> Result<ExitCode, Failure> {
    let done = match command {
        Some(Command::Start { walk, run }) => return start::start(settings, walk, run),
        Some(Command::Plan { walk, data, commands, output }) => {
            start::plan(settings, walk, &data, commands, output.as_deref())
        }
        Some(Command::Approve { session, digest }) => approve::approve(settings, &session, &digest),
        Some(Command::Advance { session, force, reason }) => {
            approve::advance(settings, &session, force, reason.as_deref())
        }
        Some(Command::Apply { plan, run }) => return run::apply(settings, &plan, run),
        Some(Command::Resume { session, retry, skip, from, plan, run }) => {
            let skip = skip.then_some(Failed::Skip);
            let failed = skip.or_else(|| retry.then_some(Failed::Retry));
            return run::resume(settings, session.as_deref(), failed, from, plan, run);
        }
        Some(Command::Expand { names, answer, run }) => {
            return expand::run(settings, names, answer, run);
        }
        Some(Command::Revise(args)) => return revise::run(settings, args),
        Some(Command::Override { session, task, reason }) => {
            overrule::run(settings, &session, &task, &reason)
        }
        Some(Command::Pause { session, reason }) => pause::run(settings, &session, reason),
        Some(Command::Logs { session, task, raw }) => {
            logs::run(settings, &session, task.as_ref(), raw)
        }
        Some(Command::Migrate { session }) => migrate::run(settings, &session),
        Some(Command::Prune { older_than, yes }) => return prune::run(settings, older_than, yes),
        Some(Command::Doctor { repair }) => return doctor::run(settings, repair),
        Some(Command::Recover(args)) => return recover::run(settings, &args),
        Some(Command::Audit(args)) => return audit::run(settings, &args),
        Some(Command::Report { session, output }) => {
            report::run(settings, &session, output.as_deref())
        }
        None => return walk::run(settings),
        Some(Command::Sessions { all }) => sessions::run(settings, all),
        Some(Command::Status { session, chain }) => status::run(settings, &session, chain),
        Some(Command::History(args)) => history::run(settings, &args),
        Some(Command::Catalog { command }) => catalog::run(settings, command),
        Some(Command::Schema { of }) => schema::run(of),
        Some(Command::Completions { shell }) => completions::run(shell),
        Some(Command::Man { command, to }) => man::run(&command, to.as_deref()),
        Some(Command::Shell { command }) => shell::run(settings, command),
        #[cfg(feature = "testing")]
        Some(Command::Script { session, file }) => script::run(settings, session, &file),
    };
    done.map(|()| ExitCode::SUCCESS)
}
