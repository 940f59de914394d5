//! The `provision` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentic_provision::cli::main()
}
