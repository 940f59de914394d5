//! Records which tools of the catalog are on the machine when a session is complete, so that an
//! audit finds tools that were added or removed without a session afterwards.
//!
//! No process is started for this but the probes of the plan: a tool that takes a probe to detect,
//! and is not in the plan, is recorded neither as present nor as absent.

use std::time::Duration;

use super::{
    attending::until,
    look::{Depth, Look, Seen, look_at},
    run::Run,
    shelf,
};
use crate::model::{BaselineOrigin, EventKind, Found, Sighting, TaskId};

/// How long the probes of the plan may take at the end of a session.
const PROBE_TIME: Duration = Duration::from_secs(3);

impl Run<'_> {
    /// Detects the tools of the catalog that the session was planned from, and records them. A plan
    /// that was written by hand has no catalog.
    pub(super) async fn record_baseline(&self) {
        if !self.plan.tasks.iter().any(|task| task.layer.is_some()) || self.stop.is_asked() {
            return;
        }
        let layers = self.around.layers.or_recorded(&self.session().profile.catalogs);
        // What cannot be read now was readable when the session was planned; `audit` says more.
        let Ok(catalog) = layers.load(self.around.store.fs()) else { return };
        let environment = &self.around.environment;
        let offer = shelf::offer(&catalog);
        let tasks = catalog.tasks().map(|listed| &listed.item).filter(|task| !task.is_upkeep());
        let mut sighting = Sighting::default();
        let mut open = Vec::new();
        for task in tasks {
            let planned = self.plan.task(&task.id);
            let planned = planned.and_then(|task| Look::of_plan(task, &self.plan, environment));
            // Only the probes of the plan were approved with it.
            let may_probe = planned.is_some();
            let look = planned.unwrap_or_else(|| Look::of_catalog(task, &offer, environment));
            match look.in_process(environment) {
                _ if !look.can_see() => {}
                Some(Seen::There { found, .. }) => note(&mut sighting, look.id, Some(&found)),
                Some(_) => note(&mut sighting, look.id, None),
                None if may_probe => open.push(look),
                None => {
                    if let Some(found) = look.indicator(environment) {
                        note(&mut sighting, look.id, Some(&found));
                    }
                }
            }
        }
        let ids: Vec<_> = open.iter().map(|look| look.id.clone()).collect();
        let depth = Depth { versions: false, patience: Some(PROBE_TIME) };
        let seen = tokio::select! {
            seen = look_at(open, depth, environment) => seen,
            () = until(|| self.stop.is_asked()) => return,
        };
        for id in &ids {
            if !seen.unanswered.iter().any(|(unanswered, _)| unanswered == id) {
                note(&mut sighting, id.clone(), seen.found(id));
            }
        }
        sighting.present.sort_keys();
        sighting.absent.sort();
        self.queue(EventKind::BaselineRecorded {
            origin: BaselineOrigin::Completion,
            agent: self.options.agent.clone(),
            sighting,
        });
    }
}

/// Notes whether a tool is there; its version is not part of a baseline.
fn note(sighting: &mut Sighting, id: TaskId, found: Option<&Found>) {
    match found {
        Some(found) => {
            let found = Found { version: None, path: found.path.clone() };
            sighting.present.insert(id, found);
        }
        None => sighting.absent.push(id),
    }
}
