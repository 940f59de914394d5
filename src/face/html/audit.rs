//! What is on a machine and how it has changed, as a page.

use maud::{Markup, html};

use super::page::{page, part, recorded};
use crate::{
    engine::{Audit, NowKnown, Sessions, Share, Since, Tool},
    face::plural,
};

/// One page that tells what is on this machine.
pub fn audit_html(audit: &Audit) -> String {
    let machine = &audit.machine;
    let title = format!("What is on {}", machine.hostname);
    let mut parts = vec![part("drift", "Since the sessions", drift(audit))];
    if !audit.verifications.is_empty() {
        parts.push(part("checks", "Checks that were put off", verifications(audit)));
    }
    parts.push(part("shares", "By category", shares(audit)));
    parts.push(part("tools", "Tools and settings", tools(audit)));
    let head = html! {
        h1 { (recorded(&title)) }
        p { (recorded(&machine.os_version)) ", " (recorded(machine.arch.name())) }
    };
    let foot =
        html! { p { "Looked at on " (audit.taken_at.readable()) " UTC. All times are UTC." } };
    page(&format!("Audit: {}", machine.hostname), &head, &parts, &foot)
}

fn drift(audit: &Audit) -> Markup {
    let drift = &audit.drift;
    if audit.sessions == 0 {
        return html! { p { "No session has set up this machine: there is nothing to compare with." } };
    }
    html! {
        ul.tiles {
            li { b { (drift.still_installed.len()) } "as they were" }
            li { b { (drift.version_changed.len()) } "changed" }
            li { b { (drift.removed.len()) } "removed" }
            li { b { (drift.added_outside.len()) } "added outside" }
        }
        p.quiet { "Compared with " (plural(audit.sessions, "session")) "." }
        @if drift.count() > 0 {
            table {
                thead { tr { th scope="col" { "Tool" } th scope="col" { "What" } th scope="col" { "Since" } } }
                tbody {
                    @for one in &drift.version_changed {
                        tr {
                            th scope="row" { code { (one.task_id) } }
                            td { span.state.warn { "changed" } " " (recorded(&one.from)) " → " (recorded(&one.to)) }
                            td { (since(&one.since)) }
                        }
                    }
                    @for one in &drift.removed {
                        tr {
                            th scope="row" { code { (one.task_id) } }
                            td { span.state.bad { "removed" } " " (recorded(one.version.as_deref().unwrap_or_default())) }
                            td { (since(&one.since)) }
                        }
                    }
                    @for one in &drift.added_outside {
                        tr {
                            th scope="row" { code { (one.task_id) } }
                            td { span.state.warn { "added outside" } " " (recorded(one.version.as_deref().unwrap_or_default())) }
                            td { "not there on " (one.since.readable()) " (" code { (one.session_id) } ")" }
                        }
                    }
                }
            }
        }
        @if audit.baseline.is_none() {
            p.quiet { "What came besides is not known: no session wrote down what was there." }
        }
        @for note in &audit.notes { p.warn { (recorded(note)) } }
    }
}

fn since(since: &Sessions) -> Markup {
    let how = match since.how {
        Since::Brought => "installed",
        Since::Found => "found",
        Since::Adopted => "adopted",
    };
    html! { (how) " on " (since.since.readable()) " (" code { (since.session_id) } ")" }
}

fn verifications(audit: &Audit) -> Markup {
    html! {
        ul.plain {
            @for one in &audit.verifications {
                li {
                    code { (one.task_id) } ": "
                    @match &one.now {
                        NowKnown::Works => span.state.good { "works" }
                        NowKnown::Fails(error) => { span.state.bad { "fails" } " " (recorded(error)) }
                        NowKnown::StillOpen(why) => { span.state.warn { "still open" } " " (why) }
                    }
                    @if let Some(why) = &one.unrecorded { " (not recorded: " (recorded(why)) ")" }
                }
            }
        }
    }
}

fn shares(audit: &Audit) -> Markup {
    let percent = |share: &Share| share.installed * 100 / share.total.max(1);
    html! {
        table {
            thead { tr { th scope="col" { "Category" } th scope="col" { "Here" } } }
            tbody {
                @for share in audit.shares().iter().filter(|share| share.total > 0) {
                    tr {
                        th scope="row" { (recorded(&share.category)) }
                        td {
                            span.meter aria-hidden="true" { i style={ "width:" (percent(share)) "%" } {} }
                            " " (share.installed) " of " (share.total)
                        }
                    }
                }
            }
        }
    }
}

fn tools(audit: &Audit) -> Markup {
    let is_shown = |tool: &&Tool| tool.found.is_some() || tool.can_be_had || tool.doubt.is_some();
    let mut tools: Vec<_> = audit.tools.iter().filter(is_shown).collect();
    // What is here is what people look for; the order within is kept.
    tools.sort_by_key(|tool| (tool.found.is_none(), tool.doubt.is_none()));
    html! {
        div data-find="Find tools" {}
        table {
            thead { tr { th scope="col" { "Tool" } th scope="col" { "State" } th scope="col" { "Version" } th scope="col" { "Where" } } }
            tbody {
                @for tool in tools {
                    @let (word, paint) = state(tool);
                    @let found = tool.found.as_ref();
                    tr data-state=(word) {
                        th scope="row" {
                            code { (tool.task_id) }
                            br;
                            span.quiet.small { (recorded(&tool.name)) ", " (recorded(&tool.category)) }
                        }
                        td {
                            span class={ "state " (paint) } { (word) }
                            @if let Some(doubt) = &tool.doubt { br; span.small { (recorded(doubt)) } }
                        }
                        td { (recorded(found.and_then(|found| found.version.as_deref()).unwrap_or_default())) }
                        td { code { (recorded(found.and_then(|found| found.path.as_deref()).unwrap_or_default())) } }
                    }
                }
            }
        }
    }
}

fn state(tool: &Tool) -> (&'static str, &'static str) {
    match (&tool.found, &tool.doubt) {
        (Some(_), _) => ("here", "good"),
        (None, Some(_)) => ("nobody can tell", "warn"),
        (None, None) => ("not here", "quiet"),
    }
}
