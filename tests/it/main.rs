//! Behaviour, through the real binary and the library's own doors.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests make files, start processes, tell what they did, and panic when it is wrong"
)]

mod harness;

mod adoption;
mod answers;
mod approval;
mod arrows;
mod audit;
mod audit_patience;
mod audit_truth;
mod bad_input;
mod batches;
mod catalog_files;
mod catalog_mistakes;
mod catalog_queries;
mod catalog_truth;
mod chain;
mod classes;
mod clock_changes;
mod coming_back;
mod commands;
mod completions;
mod crash_sweep;
mod detection;
mod doctor;
mod documents;
mod drift;
mod execution;
mod expand;
mod expiry;
mod fault_sweep;
mod first_command;
mod full_disk;
mod growth;
mod help;
mod history;
mod hostile_yaml;
mod interrupted_recovery;
mod kills;
mod layers;
mod legacy;
mod locks;
mod lost_journals;
mod mending;
mod never_hangs;
mod overrides;
mod own_catalog;
mod package_locks;
mod plan_files;
mod planner;
mod plans;
mod power_cuts;
mod prune;
mod readers;
mod real_apt;
mod recorded;
mod recovery;
mod replay;
mod report;
mod report_pages;
mod revise;
mod schedule;
mod schemas;
mod screens;
mod secrets;
mod sessions;
mod shared_calls;
mod shell_blocks;
mod shell_edits;
mod side_by_side;
mod signals;
mod start;
mod status;
mod sudo;
mod supervisors;
mod tea;
mod terminal_choices;
mod terminal_interrupts;
mod terminal_looks;
mod terminal_mode;
mod terminal_safety;
mod terminal_walk;
mod toolbox;
mod transitions;
mod validation;
mod walk;
mod workshop;
