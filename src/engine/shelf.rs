//! The catalog as a walk needs it: what can be planned, what is wrong with the rest, and where all
//! of it came from.

use std::path::PathBuf;

use indexmap::IndexMap;
use sha2::{Digest as _, Sha256};

use crate::{
    catalog::{Catalog, Code, Diagnostic, LayerSource, Listed, Rules, SourceError},
    disk::Fs,
    flow::{Offer, Offered, PlanProblem},
    model::{Digest, Plan, Profile},
};

/// Where the catalog is read from.
#[derive(Clone, Debug)]
pub struct Layers {
    /// Those that are always there.
    pub own: Vec<LayerSource>,
    /// Folders that were named, the strongest last.
    pub named: Vec<PathBuf>,
}

/// A folder as a layer.
fn folder_layer(folder: &std::path::Path) -> LayerSource {
    LayerSource::Files {
        name: full_name(folder),
        paths: vec![folder.to_owned()],
        may_be_missing: false,
        rules: Rules::Others,
    }
}

/// In full, so that it cannot be taken for another.
fn full_name(folder: &std::path::Path) -> String {
    std::path::absolute(folder).as_deref().unwrap_or(folder).to_string_lossy().into_owned()
}

impl Layers {
    pub fn all(&self) -> Vec<LayerSource> {
        let named = self.named.iter().map(|folder| folder_layer(folder));
        self.own.iter().cloned().chain(named).collect()
    }

    pub fn load(&self, fs: &Fs) -> Result<Catalog, SourceError> {
        Catalog::load(fs, &self.all())
    }

    /// With the folders that a session was begun with, where none are named now.
    #[must_use]
    pub fn or_recorded(&self, recorded: &[String]) -> Self {
        let named = if self.named.is_empty() {
            recorded.iter().map(PathBuf::from).collect()
        } else {
            self.named.clone()
        };
        Self { own: self.own.clone(), named }
    }

    /// What a session records of them.
    pub fn recorded(&self) -> Vec<String> {
        self.named.iter().map(|folder| full_name(folder)).collect()
    }
}

/// Mistakes that planning finds by itself, and tells with the way that leads there.
const FOUND_BY_PLANNING: [Code; 3] = [Code::UnknownTask, Code::DependencyCycle, Code::Conflict];

pub fn offer(catalog: &Catalog) -> Offer<'_> {
    let offered = |listed| {
        let Listed { item, layer, .. }: &Listed<_> = listed;
        Offered { task: item, layer: layer.as_ref() }
    };
    let mut offer = Offer::new(catalog.all_tasks().map(offered));
    for (id, mistake) in catalog.mistakes_of_tasks() {
        if !FOUND_BY_PLANNING.contains(&mistake.code) {
            offer.withhold(id, &mistake.placed());
        }
    }
    offer
}

/// Every profile there is. One that has a mistake can be planned too, so that all that is wrong is
/// told at once; it is not run.
pub fn profiles(catalog: &Catalog) -> Vec<&Profile> {
    catalog.all_profiles().map(|listed| &listed.item).collect()
}

/// What is wrong with a profile, apart from what planning has told already.
pub fn mistakes_in_profile(catalog: &Catalog, id: &str, told: &[PlanProblem]) -> Vec<String> {
    if catalog.profile(id).is_some() {
        return Vec::new();
    }
    let told: Vec<String> = told.iter().map(ToString::to_string).collect();
    // Both name what they are about in backticks.
    let is_told = |mistake: &Diagnostic| {
        let named: Vec<_> = mistake.message.split('`').skip(1).step_by(2).collect();
        let names = |text: &String| named.iter().any(|name| text.contains(&format!("`{name}`")));
        told.iter().any(names)
    };
    let mistakes = catalog.mistakes_behind_profile(id).into_iter();
    let mut untold: Vec<_> =
        mistakes.filter(|mistake| !is_told(mistake)).map(Diagnostic::placed).collect();
    if untold.is_empty() && told.is_empty() {
        // Whatever it is: what is not sound is not run.
        untold
            .push(format!("profile `{id}` has a mistake: `provision catalog show {id}` says more"));
    }
    untold
}

/// The files that a plan was made from, each with what it held.
pub fn manifests(catalog: &Catalog, plan: &Plan) -> IndexMap<String, String> {
    let profile = plan.profile.as_deref().and_then(|id| catalog.profile(id));
    let tasks = plan.tasks.iter().filter_map(|task| catalog.task(task.id.as_str()));
    let sources = profile.map(|listed| &listed.source).into_iter();
    let mut digests = IndexMap::new();
    for source in sources.chain(tasks.map(|listed| &listed.source)) {
        digests.entry(source.name.clone()).or_insert_with(|| {
            Digest::of(Sha256::digest(source.text.as_bytes()).into()).to_string()
        });
    }
    digests
}
