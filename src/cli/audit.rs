//! `provision audit`

use std::{
    io::{self, IsTerminal},
    path::Path,
    process::ExitCode,
};

use super::{
    args::AuditArgs,
    ask, catalog,
    failure::{Failure, Kind},
    output,
    settings::Settings,
};
use crate::{
    catalog::Catalog,
    engine::{self, Audit, Scope, Surroundings},
    face::{self, Sheet},
    model::{Agent, TaskId},
};

/// The machine is not as its sessions left it.
const DRIFT: u8 = 7;
/// The name of standard output, where a file is to be named.
pub(super) const STDOUT: &str = "-";

pub(super) fn run(settings: &Settings, args: &AuditArgs) -> Result<ExitCode, Failure> {
    let around = settings.surroundings()?;
    let catalog = catalog::load(settings)?;
    if let Some(task) = &args.explain {
        return explain(settings, &around, &catalog, task);
    }
    if settings.json && args.html.as_deref() == Some(Path::new(STDOUT)) {
        let message = "a page and a JSON document cannot both go to standard output";
        return Err(Failure::new(Kind::Usage, message)
            .hint("name a file: provision --json audit --html audit.html"));
    }
    let session = args.session.as_deref().map(|name| around.store.resolve(name)).transpose()?;
    let scope = Scope { category: args.category.clone(), session, quick: args.quick };
    let audit = engine::audit(&around, &catalog, &scope)?;
    if let Some(category) = args.category.as_deref().filter(|_| audit.tools.is_empty()) {
        return Err(no_category(&audit, category, args.session.is_some()));
    }
    for note in &audit.notes {
        output::warning(note);
    }
    if let Some(path) = &args.html {
        write_page(settings, "the audit", path, &face::audit_html(&audit))?;
    }
    let is_shown = !settings.json && args.html.is_none();
    if is_shown {
        output::data(&face::audit_text(&audit, sheet(settings)))?;
    }
    if args.adopt {
        return adopt(settings, &around, &audit, args.yes, is_shown);
    }
    if settings.json {
        output::json_document(&face::audit_json(&audit, None))?;
    } else if !settings.quiet {
        output::talk(&face::audit_hints(&audit));
    }
    Ok(ExitCode::from(if audit.drift.count() > 0 { DRIFT } else { 0 }))
}

fn adopt(
    settings: &Settings,
    around: &Surroundings,
    audit: &Audit,
    yes: bool,
    is_shown: bool,
) -> Result<ExitCode, Failure> {
    let is_new = audit.drift.count() > 0 || audit.baseline.is_none();
    let question = "Take the machine as it is now?";
    if is_new && audit.sessions > 0 {
        let can_ask = !yes && ask::can_ask(settings);
        if can_ask && !is_shown {
            // Nobody agrees to what they have not seen.
            output::talk(&face::audit_text(audit, sheet(settings)));
        }
        let agreed = yes || can_ask && ask::confirm(settings, question);
        if !agreed {
            if settings.json {
                output::json_document(&face::audit_json(audit, None))?;
            }
            let message = "nothing was adopted: that is for you to say";
            return Err(Failure::new(Kind::Undecided, message)
                .hint("read the changes; then: provision audit --adopt --yes"));
        }
    }
    let agent = if yes { Agent::unattended() } else { Agent::user() };
    let adopted = engine::adopt(around, audit, agent)?;
    if settings.json {
        output::json_document(&face::audit_json(audit, adopted.as_ref()))?;
    } else {
        let said = adopted.map_or_else(
            || "it is as it was: there is nothing to adopt".to_owned(),
            |id| format!("taken as it is now; session {id} keeps it"),
        );
        output::note(settings, &said);
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(
    settings: &Settings,
    around: &Surroundings,
    catalog: &Catalog,
    task: &TaskId,
) -> Result<ExitCode, Failure> {
    let Some(told) = engine::explain(around, catalog, task)? else {
        let message = format!("neither the catalog nor a session knows `{task}`");
        let known = catalog.tasks().map(|listed| listed.item.id.as_str());
        return Err(Failure::new(Kind::Usage, message)
            .did_you_mean(task.as_str(), known)
            .hint("`provision audit` names all there are"));
    };
    for note in &told.notes {
        output::warning(note);
    }
    if settings.json {
        output::json_document(&face::explanation_json(&told))?;
    } else {
        output::data(&face::explanation_text(&told, &settings.clock.now().wall, sheet(settings)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn no_category(audit: &Audit, category: &str, is_of_session: bool) -> Failure {
    let message = if is_of_session {
        format!("the session has nothing of a category `{category}`")
    } else {
        format!("there is no category `{category}`")
    };
    let names = face::comma_list(&audit.categories);
    let known = (!names.is_empty()).then(|| format!("there are: {names}"));
    Failure::new(Kind::Usage, message).hints(known)
}

/// As wide as the terminal that it goes to.
fn sheet(settings: &Settings) -> Sheet {
    let terminal = settings.screen.terminal();
    Sheet { terminal, width: io::stdout().is_terminal().then(|| terminal.width()) }
}

/// A page where somebody wants it; `-` is standard output.
pub(super) fn write_page(
    settings: &Settings,
    what: &str,
    path: &Path,
    page: &str,
) -> Result<(), Failure> {
    if path == Path::new(STDOUT) {
        return output::data(page);
    }
    output::file(what, path, page.as_bytes())?;
    output::note(settings, &format!("written to {}", path.display()));
    Ok(())
}
