//! Pages that are read in a browser, printed or sent to somebody: one file each, which fetches
//! nothing and can be read without scripts.

mod audit;
mod commands;
mod page;
mod report;
mod timeline;

pub use audit::audit_html;
pub use report::report_html;
