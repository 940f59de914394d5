//! What else is on the machine when a session is complete, for the record: what comes or goes
//! afterwards without a session can then be told.

use std::time::Duration;

use super::{
    attending::until,
    look::{Depth, Look, look_at},
    run::Run,
    shelf,
};
use crate::model::{BaselineOrigin, EventKind, Found, Sighting};

/// A look is worth a moment at the end of a session, and no more.
const PATIENCE: Duration = Duration::from_secs(3);

impl Run<'_> {
    /// Looks for everything in the catalog that the session was planned from, and records what is
    /// there. A plan that somebody wrote by hand knows no catalog.
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
        let looks = tasks.map(|task| Look::of_catalog(task, &offer, environment));
        let looks: Vec<Look> = looks.filter(Look::can_see).collect();
        let ids: Vec<_> = looks.iter().map(|look| look.id.clone()).collect();
        let depth = Depth { versions: false, patience: Some(PATIENCE) };
        let seen = tokio::select! {
            seen = look_at(looks, depth, environment) => seen,
            // Whoever is in a hurry does without.
            () = until(|| self.stop.is_asked()) => return,
        };
        let mut sighting = Sighting::default();
        for id in ids {
            match seen.found(&id) {
                Some(Found { path, .. }) => {
                    let found = Found { version: None, path: path.clone() };
                    sighting.present.insert(id, found);
                }
                None if seen.unanswered.iter().any(|(silent, _)| *silent == id) => {}
                None => sighting.absent.push(id),
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
