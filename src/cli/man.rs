//! `provision man`: the manual, a page for each command, from what the program itself knows of it.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::{
    command::{EXIT_CODES, command},
    failure::{Failure, Kind},
    output,
};
use crate::disk::{DiskError, Fs, remove_if_there};

const ENVIRONMENT: [(&str, &str); 4] = [
    ("AGENTIC_PROVISION_HOME", "Where sessions are kept, unless --home says otherwise."),
    (
        "PROVISION_DATA_<KEY>",
        "A value or a secret for the commands of a plan: KEY is its name in capital letters.",
    ),
    ("NO_COLOR", "If it is not empty, nothing has colour."),
    ("CLICOLOR_FORCE", "If it is neither empty nor 0, there is colour even without a terminal."),
];

const FILES: [(&str, &str); 3] = [
    ("~/.agentic-provision/sessions", "A document for each session, by how it stands."),
    ("~/.agentic-provision/records", "What happened in each, and what its commands wrote."),
    (
        "~/.agentic-provision/tasks, ~/.agentic-provision/profiles",
        "Tasks and profiles of your own.",
    ),
];

pub(super) fn run(words: &[String], to: Option<&Path>) -> Result<(), Failure> {
    let program = built();
    match to {
        None => output::data(&page(find(&program, words)?)),
        Some(directory) => write_all(&program, directory),
    }
}

/// With all that clap itself adds, but for `help`: that is what the manual is.
fn built() -> Command {
    let mut program = command().disable_help_subcommand(true);
    program.build();
    program
}

fn find<'a>(program: &'a Command, words: &[String]) -> Result<&'a Command, Failure> {
    let mut found = program;
    for word in words {
        let below = || found.get_subcommands().filter(|below| !below.is_hide_set());
        let Some(next) = below().find(|below| below.get_name() == word) else {
            let of = found.get_bin_name().unwrap_or("provision");
            let message = format!("`{of}` has no command `{word}`");
            return Err(Failure::new(Kind::Usage, message)
                .did_you_mean(word, below().map(Command::get_name))
                .hint(format!("`{of} --help` lists its commands")));
        };
        found = next;
    }
    Ok(found)
}

/// A page, as `man` reads it.
fn page(command: &Command) -> String {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let man = Man::new(command.clone());
    // By hand, for a page without a date: roff would not keep its place.
    let version = env!("CARGO_PKG_VERSION");
    let name = name.to_uppercase().replace('-', "\\-");
    let title = format!(".TH {name} 1 \"\" \"provision {version}\" \"Provision Manual\"\n");
    let mut text = title.into_bytes();
    // To memory, where nothing fails.
    let _ = man.render_name_section(&mut text);
    let _ = man.render_synopsis_section(&mut text);
    let _ = man.render_description_section(&mut text);
    let _ = man.render_options_section(&mut text);
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        let _ = man.render_subcommands_section(&mut text);
    }
    let _ = own_sections(command).to_writer(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The sections that clap does not render: examples, exit codes, variables and files.
fn own_sections(command: &Command) -> Roff {
    let mut roff = Roff::new();
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut examples = help.split("\n\n").next().unwrap_or_default().lines().skip(1);
    roff.control("SH", ["EXAMPLES"]);
    while let (Some(line), Some(meaning)) = (examples.next(), examples.next()) {
        roff.control("TP", []).text([bold(line.trim())]).text([roman(meaning.trim())]);
    }
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_CODES.split(", ").filter_map(|entry| entry.split_once(' ')) {
        roff.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    for (heading, entries) in [("ENVIRONMENT", &ENVIRONMENT[..]), ("FILES", &FILES[..])] {
        roff.control("SH", [heading]);
        for (name, meaning) in entries {
            roff.control("TP", []).text([bold(*name)]).text([roman(*meaning)]);
        }
    }
    if command.get_bin_name().is_some_and(|name| name.contains(' ')) {
        roff.control("SH", ["SEE ALSO"]).text([bold("provision"), roman("(1)")]);
    }
    roff
}

/// Every page there is, each whole or as it was before.
fn write_all(program: &Command, directory: &Path) -> Result<(), Failure> {
    let failed = |error: &dyn std::error::Error| {
        Failure::unwritable("the manual", directory, error)
            .hint("name a folder that you may write with --to DIR")
    };
    let place = std::path::absolute(directory).map_err(|error| failed(&error))?;
    let mut pages = Vec::new();
    collect(program, &mut pages);
    let fs = Fs::real();
    make_folder(&fs, &place).map_err(|error| failed(&error))?;
    for (name, text) in pages {
        write(&fs, &place, &name, &text).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// The names and texts of all pages, the program's own first.
fn collect(command: &Command, pages: &mut Vec<(String, String)>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    pages.push((format!("{name}.1"), page(command)));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below, pages);
    }
}

fn make_folder(fs: &Fs, place: &Path) -> Result<(), DiskError> {
    let missing: Vec<_> = place.ancestors().take_while(|above| !above.exists()).collect();
    missing.into_iter().rev().try_for_each(|folder| fs.create_shared_dir(folder))
}

/// Others may read it: a manual is nobody's secret.
fn write(fs: &Fs, folder: &Path, name: &str, text: &str) -> Result<(), DiskError> {
    let draft: PathBuf = folder.join(format!(".{name}.tmp"));
    remove_if_there(fs, &draft)?;
    fs.create_shared(&draft)?.write_all_at(text.as_bytes(), 0)?;
    fs.rename(&draft, &folder.join(name))
}
