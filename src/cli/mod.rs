//! The command line: what was typed, what it means, and which part of the program does it.

mod args;
mod failure;
mod history;
mod output;
mod overview;
mod schema;
mod script;
mod sessions;
mod settings;
mod status;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::Failure;
use settings::Settings;

/// Runs the program; returns its exit code. All it has to say has been said by then.
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return output::usage(&error),
    };
    let json = args.global.json;
    let operation = args.command.as_ref().map_or("overview", Command::operation);
    let done = Settings::from_args(args.global).and_then(|settings| {
        settings.start_tracing();
        run(args.command, &settings)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output::failure(&failure, operation, json),
    }
}

fn run(command: Option<Command>, settings: &Settings) -> Result<(), Failure> {
    match command {
        None => overview::run(settings),
        Some(Command::Sessions { all }) => sessions::run(settings, all),
        Some(Command::Status { session }) => status::run(settings, &session),
        Some(Command::History(args)) => history::run(settings, &args),
        Some(Command::Schema { of }) => schema::run(of),
        Some(Command::Script { session, file }) => script::run(settings, session, &file),
    }
}
