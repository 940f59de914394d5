//! What people and programs see: text for a terminal, JSON for scripts, pages for a browser. Most of
//! it makes text and prints nothing; where that goes is for the command line to say. Only `terminal`,
//! which asks, and `live`, which shows a run as it goes, draw on the screen themselves.

mod audit;
mod catalog;
mod completion;
mod diagnostics;
mod doctor;
mod durations;
mod explain;
mod history;
mod html;
mod live;
mod paint;
mod plan;
mod progress;
mod prune;
mod recover;
mod revision;
mod sessions;
mod sheet;
mod shell;
mod status;
mod terminal;
mod text;
mod walk;

pub use audit::{audit_hints, audit_json, audit_text, drift_line};
pub use catalog::{
    catalog_json, catalog_text, profile_json, profile_text, search_json, search_text, task_json,
    task_text,
};
pub use completion::completion_text;
pub use diagnostics::{ValidationCounts, ValidationReport, diagnostic_text, validation_summary};
pub use doctor::{findings_json, findings_text};
pub use explain::{explanation_json, explanation_text};
pub use history::History;
pub use html::{audit_html, report_html};
pub use live::Live;
pub use plan::{gate_text, plan_json, plan_screen, plan_text};
pub use progress::{Progress, goodbye, log_header, log_text};
pub use prune::pruning_text;
pub use recover::{prospect_json, prospect_text, recovered_text};
pub use revision::{already_text, revision_json, revision_text};
pub use sessions::{session_table, sessions_json};
pub use sheet::Sheet;
pub use shell::{
    added_json, added_text, removed_json, removed_text, shell_files_json, shell_files_text,
    shell_lines, shell_question,
};
pub use status::{candidate_text, chain_text, resuming_text, status_text};
pub use terminal::{Choice, Item, Left, Lettered, Line, Look, Pick, Reply, Terminal};
pub use text::{comma_list, note_text, plural, visible};
pub use walk::{AtTerminal, Given, Screen, Stopped, Walker, ask_about_shells};
