//! The whole catalog: layers of files, of which a later one replaces by id.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use indexmap::IndexMap;

use super::{
    cross_lint::cross_lint,
    diagnostic::{Code, Diagnostic, Source},
    embedded,
    lint::Lint,
    manifest::{Manifest, Rules},
    node::Node,
    place::{KeyPath, Place},
    source::{SourceError, files_at, read_source, unread},
};
use crate::{
    disk::{self, Fs},
    model::{Profile, Task, TaskId},
};

/// Where the files of a layer are.
#[derive(Clone, Debug)]
pub enum LayerSource {
    /// In the program.
    Embedded,
    /// In memory: names and texts.
    Texts { name: String, texts: Vec<(String, String)>, rules: Rules },
    /// In files and folders.
    Files {
        /// What the plan calls the layer.
        name: String,
        paths: Vec<PathBuf>,
        /// Whether a path that is not there is simply no part of it.
        may_be_missing: bool,
        rules: Rules,
    },
}

/// A task or a profile, and where it came from.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    pub item: T,
    pub layer: Arc<str>,
    pub source: Arc<Source>,
    /// The layer whose task or profile of the same id this one replaces.
    pub replaces: Option<Arc<str>>,
    /// Whether nothing is wrong with it, nor with what it needs.
    pub is_sound: bool,
    pub(super) root: Arc<Node>,
}

#[derive(Debug, Default)]
pub struct Catalog {
    pub(super) tasks: IndexMap<TaskId, Listed<Task>>,
    pub(super) profiles: IndexMap<String, Listed<Profile>>,
    /// Every mistake, by layer, file and line.
    pub diagnostics: Vec<Diagnostic>,
    /// How many files, tasks and profiles each layer has.
    pub layers: Vec<LayerCounts>,
    /// What stands a second time in its layer: never offered, but looked at for mistakes.
    pub(super) second_tasks: Vec<Listed<Task>>,
    pub(super) second_profiles: Vec<Listed<Profile>>,
    /// Ids whose tasks could not be read at all.
    pub(super) unread: HashSet<String>,
    /// Tasks that wait for each other.
    pub(super) cycles: Vec<Vec<TaskId>>,
    /// Every file, in order, and how many values they hold.
    pub(super) files: Vec<Arc<Source>>,
    nodes: usize,
}

/// The most values that all files of a catalog may hold together.
const MOST_NODES_IN_ALL: usize = 400_000;

/// Tasks, each with the one that brings it along, if it did not come by itself.
pub(super) type Brought<'a> = HashMap<&'a TaskId, Option<&'a TaskId>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerCounts {
    pub name: Arc<str>,
    pub files: usize,
    pub tasks: usize,
    pub profiles: usize,
}

impl Catalog {
    /// Reads all layers, the last the strongest. Mistakes in files do not stop this: they are in
    /// [`Catalog::diagnostics`], and what has one is not offered.
    pub fn load(fs: &Fs, layers: &[LayerSource]) -> Result<Self, SourceError> {
        let mut catalog = Self::default();
        for (number, layer) in layers.iter().enumerate() {
            match layer {
                LayerSource::Embedded => {
                    catalog.add("embedded", in_memory(embedded::FILES, number), Rules::Ours);
                }
                LayerSource::Texts { name, texts, rules } => {
                    catalog.add(name, in_memory(texts, number), *rules);
                }
                LayerSource::Files { name, paths, may_be_missing, rules } => {
                    let files = catalog.list(fs, number, paths, *may_be_missing)?;
                    let sources = files.iter().map(|file| read_source(fs, file, number));
                    catalog.add(name, sources, *rules);
                }
            }
        }
        let (found, cycles) = cross_lint(&catalog);
        catalog.diagnostics.extend(found);
        catalog.cycles = cycles;
        catalog.withhold_the_unsound();
        catalog.sort_mistakes();
        Ok(catalog)
    }

    /// The task of this id, unless something is wrong with it.
    pub fn task(&self, id: &str) -> Option<&Listed<Task>> {
        self.tasks.get(id).filter(|task| task.is_sound)
    }

    /// Tasks with nothing wrong with them, in the order of their files.
    pub fn tasks(&self) -> impl Iterator<Item = &Listed<Task>> {
        self.tasks.values().filter(|task| task.is_sound)
    }

    pub fn profile(&self, id: &str) -> Option<&Listed<Profile>> {
        self.profiles.get(id).filter(|profile| profile.is_sound)
    }

    pub fn profiles(&self) -> impl Iterator<Item = &Listed<Profile>> {
        self.profiles.values().filter(|profile| profile.is_sound)
    }

    /// Every task that could be read, sound or not.
    pub fn all_tasks(&self) -> impl Iterator<Item = &Listed<Task>> {
        self.tasks.values()
    }

    /// Every profile that could be read, sound or not.
    pub fn all_profiles(&self) -> impl Iterator<Item = &Listed<Profile>> {
        self.profiles.values()
    }

    /// Whether there is a task of this id, sound or not.
    pub fn knows_task(&self, id: &str) -> bool {
        self.tasks.contains_key(id) || self.unread.contains(id)
    }

    /// The tasks that come along with some, themselves included.
    pub(super) fn brought_by<'a>(
        &'a self,
        tasks: impl IntoIterator<Item = &'a TaskId>,
    ) -> Brought<'a> {
        let mut brought = Brought::new();
        let mut open: Vec<(&TaskId, Option<&TaskId>)> =
            tasks.into_iter().map(|id| (id, None)).collect();
        while let Some((id, by)) = open.pop() {
            if brought.contains_key(id) {
                continue;
            }
            brought.insert(id, by);
            if let Some(task) = self.tasks.get(id) {
                open.extend(task.item.dependencies.required.iter().map(|next| (next, Some(id))));
            }
        }
        brought
    }

    /// Returns the tasks that require each task.
    pub(super) fn needed_by(&self) -> HashMap<&TaskId, Vec<&TaskId>> {
        let mut needed_by: HashMap<&TaskId, Vec<&TaskId>> = HashMap::new();
        for (id, task) in &self.tasks {
            for needed in &task.item.dependencies.required {
                needed_by.entry(needed).or_default().push(id);
            }
        }
        needed_by
    }

    /// The files at some paths, each once.
    fn list(
        &mut self,
        fs: &Fs,
        layer: usize,
        paths: &[PathBuf],
        may_be_missing: bool,
    ) -> Result<Vec<PathBuf>, SourceError> {
        let mut files = Vec::new();
        for path in paths {
            let listing = match files_at(fs, path) {
                Err(SourceError::Missing(_)) if may_be_missing => continue,
                listing => listing?,
            };
            files.extend(listing.files);
            let closed = listing.closed.into_iter();
            let closed = closed.map(|(at, why)| unread(&at, layer, Code::Unreadable, why));
            self.diagnostics.extend(closed);
        }
        // One file may be named twice, or be there under two names.
        let mut seen = HashSet::new();
        files.retain(|file| {
            let place = disk::resolve(file).ok().flatten();
            seen.insert(place.unwrap_or_else(|| file.clone()))
        });
        Ok(files)
    }

    fn add(
        &mut self,
        name: &str,
        sources: impl Iterator<Item = Result<Arc<Source>, Diagnostic>>,
        rules: Rules,
    ) {
        let name: Arc<str> = name.into();
        let mut counts = LayerCounts { name: Arc::clone(&name), files: 0, tasks: 0, profiles: 0 };
        for source in sources {
            counts.files += 1;
            let manifest = match source {
                Ok(source) => Manifest::read(source, rules),
                Err(mistake) => {
                    self.files.push(Arc::clone(&mistake.source));
                    self.diagnostics.push(mistake);
                    continue;
                }
            };
            let Manifest { source, root, tasks, profile, mut found } = manifest;
            self.files.push(Arc::clone(&source));
            self.nodes += root.count();
            if self.nodes > MOST_NODES_IN_ALL {
                let message =
                    format!("the files before it hold {MOST_NODES_IN_ALL} values: it is not read");
                let top = KeyPath::root();
                let mistake =
                    Diagnostic::error(Code::YamlLimit, &source, Place::BEGINNING, top, message);
                self.diagnostics.push(mistake);
                continue;
            }
            // The longer list takes in the shorter: one file may have very many. They are sorted later.
            if found.len() > self.diagnostics.len() {
                std::mem::swap(&mut found, &mut self.diagnostics);
            }
            self.diagnostics.append(&mut found);
            for entry in root.get("tasks").map(Node::entries).unwrap_or_default() {
                let Some(id) = entry.key.text() else { continue };
                // What cannot even be read takes the place of what it was to replace, too.
                if !tasks.iter().any(|task| task.id.as_str() == id) {
                    self.tasks.shift_remove(id);
                    self.unread.insert(id.to_owned());
                }
            }
            let origin = Origin { layer: &name, source: &source, root: &root };
            counts.tasks += tasks.len();
            counts.profiles += usize::from(profile.is_some());
            for task in tasks {
                self.add_task(task, origin);
            }
            if let Some(profile) = profile {
                self.add_profile(profile, origin);
            }
        }
        self.layers.push(counts);
    }

    fn add_task(&mut self, task: Task, origin: Origin<'_>) {
        let before = self.tasks.get(&task.id);
        if let Some(first) = before.filter(|before| before.source.layer == origin.source.layer) {
            let key = KeyPath::root().key("tasks").key(task.id.as_str());
            let message = format!("task `{}` stands here and in `{}`", task.id, first.place(&key));
            let mut lint =
                Lint::of_task(origin.source, origin.root, &task.id, &mut self.diagnostics);
            lint.at_key(Code::DuplicateId, &KeyPath::root(), message);
            self.second_tasks.push(origin.listed(task, None));
            return;
        }
        let listed = origin.listed(task, before.map(|before| Arc::clone(&before.layer)));
        self.tasks.insert(listed.item.id.clone(), listed);
    }

    fn add_profile(&mut self, profile: Profile, origin: Origin<'_>) {
        let is_of_layer = |other: &&Listed<Profile>| other.source.layer == origin.source.layer;
        let before = self.profiles.get(profile.id());
        if let Some(first) = before.filter(is_of_layer) {
            let key = KeyPath::root().key("metadata").key("id");
            let place = first.place(&key);
            let message = format!("profile `{}` stands here and in `{place}`", profile.id());
            origin.lint(&mut self.diagnostics).at(Code::DuplicateId, &key, message);
            self.second_profiles.push(origin.listed(profile, None));
            return;
        }
        if let Some(letter) = profile.letter()
            && let mut of_layer = self.profiles.values().filter(is_of_layer)
            && let Some(other) = of_layer.find(|other| other.item.letter() == Some(letter))
        {
            let key = KeyPath::root().key("selection_prompt").key("letter");
            let message = format!("profile `{}` has the letter `{letter}` too", other.item.id());
            origin.lint(&mut self.diagnostics).at(Code::DuplicateLetter, &key, message);
        }
        let listed = origin.listed(profile, before.map(|before| Arc::clone(&before.layer)));
        self.profiles.insert(listed.item.id().to_owned(), listed);
    }
}

/// Returns some tasks and every task that needs one of them, however far away.
pub(super) fn with_dependants<'a>(
    needed_by: &HashMap<&TaskId, Vec<&'a TaskId>>,
    tasks: impl IntoIterator<Item = &'a TaskId>,
) -> HashSet<&'a TaskId> {
    let mut all = HashSet::new();
    let mut open: Vec<&TaskId> = tasks.into_iter().collect();
    while let Some(id) = open.pop() {
        if all.insert(id) {
            open.extend(needed_by.get(id).into_iter().flatten());
        }
    }
    all
}

/// Files that need not be read.
fn in_memory<T: AsRef<str>>(
    files: &[(T, T)],
    layer: usize,
) -> impl Iterator<Item = Result<Arc<Source>, Diagnostic>> {
    files.iter().map(move |(name, text)| {
        let (name, text) = (name.as_ref().to_owned(), text.as_ref().to_owned());
        Ok(Arc::new(Source { name, text, layer }))
    })
}

/// Where a task or a profile was read.
#[derive(Clone, Copy)]
struct Origin<'a> {
    layer: &'a Arc<str>,
    source: &'a Arc<Source>,
    root: &'a Arc<Node>,
}

impl<'a> Origin<'a> {
    fn lint(self, found: &'a mut Vec<Diagnostic>) -> Lint<'a> {
        Lint::of_file(self.source, self.root, found)
    }

    fn listed<T>(self, item: T, replaces: Option<Arc<str>>) -> Listed<T> {
        Listed {
            item,
            layer: Arc::clone(self.layer),
            source: Arc::clone(self.source),
            replaces,
            is_sound: true,
            root: Arc::clone(self.root),
        }
    }
}

impl<T> Listed<T> {
    /// `file:line`.
    fn place(&self, key: &KeyPath) -> String {
        format!("{}:{}", self.source.name, self.root.find_key(key).place.line)
    }
}
