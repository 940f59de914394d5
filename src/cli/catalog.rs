//! `provision catalog`

use std::{collections::HashSet, path::PathBuf};

use super::{
    args::CatalogCommand,
    failure::{Failure, Kind},
    output,
    settings::Settings,
};
use crate::{
    catalog::{Catalog, Diagnostic, LayerSource, Rules, SourceError},
    disk::Fs,
    engine,
    face::{self, ValidationCounts},
    model::nearest,
};

/// How many mistakes are named where they are not what was asked for.
const SOME: usize = 5;

pub(super) fn run(settings: &Settings, command: CatalogCommand) -> Result<(), Failure> {
    match command {
        CatalogCommand::List { category } => list(settings, category.as_deref()),
        CatalogCommand::Show { id } => show(settings, &id),
        CatalogCommand::Search { words } => search(settings, &words),
        CatalogCommand::Validate { paths, strict } => validate(settings, paths, strict),
    }
}

fn list(settings: &Settings, category: Option<&str>) -> Result<(), Failure> {
    let catalog = load(settings)?;
    let platform = engine::platform(&settings.environment());
    let is_wanted = |of: &str| category.is_none_or(|category| category.eq_ignore_ascii_case(of));
    let tasks: Vec<_> = catalog.tasks().filter(|task| is_wanted(&task.item.category)).collect();
    if let Some(category) = category.filter(|_| tasks.is_empty()) {
        let mut names: Vec<_> = catalog.tasks().map(|task| task.item.category.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        return Err(Failure::new(Kind::Usage, format!("there is no category `{category}`"))
            .hint(format!("there are: {}", names.join(", "))));
    }
    let profiles: Vec<_> = catalog.profiles().filter(|_| category.is_none()).collect();
    if settings.json {
        return output::json_document(&face::catalog_json(&catalog, &tasks, &profiles, &platform));
    }
    output::data(&face::catalog_text(&tasks, &profiles, &platform))
}

fn search(settings: &Settings, words: &[String]) -> Result<(), Failure> {
    let catalog = load(settings)?;
    let platform = engine::platform(&settings.environment());
    let found = catalog.search(words);
    if settings.json {
        return output::json_document(&face::search_json(&found, &platform));
    }
    if found.is_empty() {
        let words = words.join(" ");
        output::talk(&format!("nothing in the catalog is about `{}`\n", face::visible(&words)));
        if let Some(name) = nearest(&words, catalog.words()) {
            output::talk(&format!("hint: did you mean `{name}`?\n"));
        }
    }
    output::data(&face::search_text(&found, &platform))
}

fn show(settings: &Settings, id: &str) -> Result<(), Failure> {
    let catalog = load(settings)?;
    let environment = settings.environment();
    let platform = engine::platform(&environment);
    if let Some(task) = catalog.task(id) {
        let view = engine::view(&catalog, task, &platform, &environment);
        return if settings.json {
            output::json_document(&face::task_json(&view, &platform))
        } else {
            output::data(&face::task_text(&view, &platform))
        };
    }
    if let Some(profile) = catalog.profile(id) {
        return if settings.json {
            output::json_document(&face::profile_json(profile))
        } else {
            output::data(&face::profile_text(profile))
        };
    }
    Err(not_shown(settings, &catalog, id))
}

/// Why there is nothing to show: it is not there, or something is wrong with it.
fn not_shown(settings: &Settings, catalog: &Catalog, id: &str) -> Failure {
    let mut mistakes: Vec<_> = catalog.mistakes_of(id).collect();
    mistakes.extend(catalog.mistakes_of_profile(id));
    let need = catalog.unsound_need_of(id);
    if !mistakes.is_empty() || need.is_some() {
        let message = format!("`{id}` cannot be used as it is written");
        let mut failure = Failure::new(Kind::InvalidCatalog, message)
            .causes(mistakes.iter().take(SOME).map(|found| found.placed()));
        if let Some(need) = need.filter(|_| mistakes.is_empty()) {
            failure = failure
                .cause(format!("it needs `{need}`, which cannot be used"))
                .causes(catalog.mistakes_of(need.as_str()).take(SOME).map(Diagnostic::placed));
        }
        return failure.hint(format!("`{}` shows all", settings.validation()));
    }
    let tasks = catalog.tasks().map(|task| task.item.id.as_str());
    let names = tasks.chain(catalog.profiles().map(|profile| profile.item.id()));
    Failure::new(Kind::Usage, format!("there is no task or profile `{id}` in the catalog"))
        .did_you_mean(id, names)
        .hint("`provision catalog list` shows what there is")
}

fn validate(settings: &Settings, paths: Vec<PathBuf>, strict: bool) -> Result<(), Failure> {
    let mut layers = settings.layers()?.all();
    let before = if paths.is_empty() { 0 } else { layers.len() };
    // What is wrong without these files is not theirs; what they break elsewhere is.
    let without = match before {
        0 => Catalog::default(),
        _ => Catalog::load(&Fs::real(), &layers)?,
    };
    let rules = if strict { Rules::Ours } else { Rules::Others };
    if paths.is_empty() {
        for layer in &mut layers {
            if let LayerSource::Files { rules: of_layer, .. } = layer {
                *of_layer = rules;
            }
        }
    } else {
        let name = "validated".to_owned();
        layers.push(LayerSource::Files { name, paths, may_be_missing: false, rules });
    }
    let catalog = Catalog::load(&Fs::real(), &layers)?;
    let mut counts = ValidationCounts::default();
    for layer in &catalog.layers[before..] {
        counts.files += layer.files;
        counts.tasks += layer.tasks;
        counts.profiles += layer.profiles;
    }
    let earlier: HashSet<String> = without.diagnostics.iter().map(Diagnostic::placed).collect();
    let is_asked =
        |found: &&Diagnostic| found.source.layer >= before || !earlier.contains(&found.placed());
    let found: Vec<_> = catalog.diagnostics.iter().filter(is_asked).collect();
    if counts.files == 0 && found.is_empty() {
        return Err(Failure::new(Kind::Usage, "there is no YAML file to validate")
            .hint("files of a catalog end in .yaml or .yml"));
    }
    if settings.json {
        output::json_document(&face::ValidationReport::new(counts, &found))?;
    } else {
        for mistake in &found {
            output::data(&format!("{}\n", face::diagnostic_text(mistake)))?;
        }
        output::data(&face::validation_summary(&counts, &found))?;
    }
    let errors = found.iter().filter(|found| found.is_error()).count();
    if errors == 0 {
        return Ok(());
    }
    let message = format!("the catalog has {}", face::plural(errors, "error"));
    Err(Failure::new(Kind::InvalidCatalog, message))
}

/// The catalog, with a word about what is left out of it.
pub(super) fn load(settings: &Settings) -> Result<Catalog, Failure> {
    let catalog = settings.layers()?.load(&Fs::real())?;
    let errors: Vec<_> = catalog.diagnostics.iter().filter(|found| found.is_error()).collect();
    if let Some(first) = errors.first() {
        let count = face::plural(errors.len(), "mistake");
        output::warning(&format!(
            "{count} in the catalog: what has one is left out; {}",
            first.placed()
        ));
        let command = settings.validation();
        output::talk(&format!("hint: `{}` shows every one\n", face::visible(&command)));
    }
    Ok(catalog)
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::of(Kind::Usage, &error).hint("a catalog is a folder of YAML files, or one of them")
    }
}
