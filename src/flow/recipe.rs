//! How a task is installed on one kind of machine: which variant, which manager, which commands.

use std::collections::HashSet;

use crate::model::{
    PackageManager, PlanCommand, PlanPackages, Platform, ShellConfig, Step, Task, TaskId,
};

/// What variants are chosen by, apart from the machine.
#[derive(Clone, Debug, Default)]
pub struct Situation<'a> {
    /// What was chosen for the task's options, in their order.
    pub chosen: Vec<&'a str>,
    /// Tasks that are selected or installed, for `one_of` dependencies.
    pub present: HashSet<&'a TaskId>,
}

/// How a task is installed here.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    pub source: RecipeSource,
    pub commands: Vec<PlanCommand>,
    /// What a person does by hand.
    pub manual: Vec<String>,
    /// What its steps have for the configuration of shells.
    pub shell_configs: Vec<ShellConfig>,
}

impl Recipe {
    pub fn nothing() -> Self {
        Self {
            source: RecipeSource::Nothing,
            commands: Vec::new(),
            manual: Vec::new(),
            shell_configs: Vec::new(),
        }
    }

    /// Returns the variant that a planned task records for this way to install it.
    pub fn variant(&self) -> Option<String> {
        match &self.source {
            RecipeSource::Variant { key, .. } => Some(key.clone()),
            RecipeSource::Packages(manager) => Some(manager.name().to_owned()),
            RecipeSource::Steps | RecipeSource::Nothing => None,
        }
    }

    /// Returns the packages that it installs, where it does only that.
    pub fn packages(&self, task: &Task) -> Option<PlanPackages> {
        let RecipeSource::Packages(manager) = self.source else { return None };
        let names = task.packages.get(&manager).cloned().unwrap_or_default();
        Some(PlanPackages { manager, names })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipeSource {
    /// Packages of one manager.
    Packages(PackageManager),
    /// The steps of a variant, and what it was chosen by.
    Variant { key: String, by: ChosenBy },
    /// The steps that are the same everywhere.
    Steps,
    /// Nothing is installed: it only configures, or tells.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    Option,
    Dependency,
    Platform,
    Manager,
}

/// Why there is no way to install a task here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRecipe {
    #[error("it is for {} only", .0.join(", "))]
    Elsewhere(Vec<String>),
    #[error("it has variants for {}, and none fits this machine", .0.join(", "))]
    NoVariant(Vec<String>),
    #[error("it has packages for {}, and none of these is for this machine", .0.join(", "))]
    NoManager(Vec<String>),
}

/// How `task` is installed on `platform`.
///
/// What a person chose comes first: the variant of an option, or of a tool the task builds on. Then
/// packages of the system's own manager, which keeps them up to date; the task's own steps, the
/// variant that fits before those that stand beside the variants; and at last packages of a
/// language's manager, or of another that is there.
pub fn recipe(
    task: &Task,
    platform: &Platform,
    situation: &Situation<'_>,
) -> Result<Recipe, NoRecipe> {
    if !platform.is_among(&task.platforms) {
        return Err(NoRecipe::Elsewhere(task.platforms.clone()));
    }
    let variant = variant(task, platform, situation);
    let of_variant = |(key, by): (&str, ChosenBy)| {
        let source = RecipeSource::Variant { key: key.to_owned(), by };
        of_steps(source, &task.install.variants[key].steps)
    };
    if let Some(chosen @ (_, ChosenBy::Option | ChosenBy::Dependency)) = variant {
        return Ok(of_variant(chosen));
    }
    let native = |manager: &PackageManager| manager.is_native() && platform.has_native(*manager);
    if let Some((manager, packages)) = task.packages.iter().find(|(manager, _)| native(manager)) {
        return Ok(of_packages(*manager, packages));
    }
    if let Some(fitting) = variant {
        return Ok(of_variant(fitting));
    }
    if !task.install.steps.is_empty() {
        return Ok(of_steps(RecipeSource::Steps, &task.install.steps));
    }
    let is_usable =
        |manager: &PackageManager| !manager.is_native() || platform.managers.contains(manager);
    if let Some((manager, packages)) = task.packages.iter().find(|(m, _)| is_usable(m)) {
        return Ok(of_packages(*manager, packages));
    }
    if !task.install.variants.is_empty() {
        return Err(NoRecipe::NoVariant(task.install.variants.keys().cloned().collect()));
    }
    if !task.packages.is_empty() {
        let managers = task.packages.keys().map(|manager| manager.name().to_owned());
        return Err(NoRecipe::NoManager(managers.collect()));
    }
    Ok(Recipe::nothing())
}

/// Every other way to install `task` on `platform` than the one that is recorded as `used`: for
/// whoever has seen that one fail. What builds on a tool that may not be there is none.
pub fn other_recipes(task: &Task, platform: &Platform, used: Option<&str>) -> Vec<Recipe> {
    let is_here = |manager: PackageManager| {
        if manager.is_native() {
            platform.has_native(manager)
        } else {
            platform.managers.contains(&manager)
        }
    };
    let is_another = |name: &str| used != Some(name);
    let packages = task.packages.iter().filter(|(manager, _)| is_here(**manager));
    let packages = packages.filter(|(manager, _)| is_another(manager.name()));
    let mut found: Vec<Recipe> =
        packages.map(|(manager, packages)| of_packages(*manager, packages)).collect();
    let chosen = task.options.iter().flat_map(|option| &option.choices);
    let chosen: HashSet<&str> = chosen.map(String::as_str).collect();
    let by_manager = |key: &str| {
        PackageManager::ALL.into_iter().any(|manager| {
            (manager.name() == key || manager.provider() == Some(key)) && is_here(manager)
        })
    };
    for (key, variant) in &task.install.variants {
        let by = match key.as_str() {
            key if platform.names().iter().any(|name| name == key) => ChosenBy::Platform,
            key if by_manager(key) => ChosenBy::Manager,
            key if chosen.contains(key) => ChosenBy::Option,
            _ => continue,
        };
        if is_another(key) {
            let source = RecipeSource::Variant { key: key.clone(), by };
            found.push(of_steps(source, &variant.steps));
        }
    }
    if used.is_some() && !task.install.steps.is_empty() {
        found.push(of_steps(RecipeSource::Steps, &task.install.steps));
    }
    found.retain(|recipe| !recipe.commands.is_empty() && recipe.manual.is_empty());
    found
}

/// The variant that fits: by a chosen option, a `one_of` dependency that is there, the platform's
/// most particular name, or a package manager, in this order.
fn variant<'t>(
    task: &'t Task,
    platform: &Platform,
    situation: &Situation<'_>,
) -> Option<(&'t str, ChosenBy)> {
    let variants = &task.install.variants;
    let key = |name: &str| variants.get_key_value(name).map(|(key, _)| key.as_str());
    let by_option = situation.chosen.iter().find_map(|chosen| key(chosen));
    let by_dependency = || {
        let present = |id: &&TaskId| situation.present.contains(id);
        task.dependencies.one_of.iter().filter(present).find_map(|id| key(id.as_str()))
    };
    let by_platform = || platform.names().iter().find_map(|name| key(name));
    let by_manager = || {
        let own = PackageManager::ALL.into_iter().filter(|manager| platform.has_native(*manager));
        let mut all = own.chain(platform.managers.iter().copied());
        // Some call a manager by the task that brings it: `homebrew`.
        all.find_map(|manager| key(manager.name()).or_else(|| key(manager.provider()?)))
    };
    by_option
        .map(|key| (key, ChosenBy::Option))
        .or_else(|| by_dependency().map(|key| (key, ChosenBy::Dependency)))
        .or_else(|| by_platform().map(|key| (key, ChosenBy::Platform)))
        .or_else(|| by_manager().map(|key| (key, ChosenBy::Manager)))
}

fn of_packages(manager: PackageManager, packages: &[String]) -> Recipe {
    Recipe {
        source: RecipeSource::Packages(manager),
        commands: manager.installation(packages),
        ..Recipe::nothing()
    }
}

fn of_steps(source: RecipeSource, steps: &[Step]) -> Recipe {
    let mut recipe = Recipe { source, ..Recipe::nothing() };
    for step in steps {
        recipe.shell_configs.extend(step.shell_config.clone());
        if let Some(instruction) = &step.manual {
            let words = [Some(instruction), step.description.as_ref(), step.command.as_ref()];
            let words = words.into_iter().flatten().find(|text| !text.is_empty());
            recipe.manual.extend(words.or(step.name.as_ref()).cloned());
        } else if let Some(command) = &step.command {
            recipe.commands.push(planned(step, command));
        }
    }
    recipe
}

fn planned(step: &Step, command: &str) -> PlanCommand {
    PlanCommand {
        command: command.trim_end().to_owned(),
        name: step.name.clone(),
        description: step.description.clone(),
        idempotent: step.idempotent,
        requires_sudo: step.requires_sudo,
        timeout_seconds: step.timeout,
        retries: step.retries,
        env: step.env.clone(),
        working_dir: step.working_dir.clone(),
        locks: step.locks.clone(),
        interactive: step.interactive,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ChosenBy, NoRecipe, Recipe, RecipeSource, Situation, recipe};
    use crate::model::{PackageManager, Platform, Task};

    fn debian() -> Platform {
        Platform {
            family: "linux".into(),
            id: "debian".into(),
            like: Vec::new(),
            release: Some("12".into()),
            arch: "x86_64".into(),
            managers: vec![PackageManager::Apt, PackageManager::Npm],
        }
    }

    fn task(mut fields: Value) -> Task {
        fields["id"] = json!("t");
        serde_json::from_value(fields).unwrap()
    }

    fn on_debian(fields: Value, chosen: &[&str]) -> Result<Recipe, NoRecipe> {
        let situation = Situation { chosen: chosen.to_vec(), ..Situation::default() };
        recipe(&task(fields), &debian(), &situation)
    }

    #[test]
    fn whoever_saw_one_way_fail_is_offered_the_others_that_this_machine_has() {
        let fields = json!({
            "packages": {"apt": ["t"], "brew": ["t"], "npm": ["t"]},
            "install": {
                "steps": [{"command": "curl t"}],
                "variants": {
                    "debian": {"steps": [{"command": "from debian"}]},
                    "macos": {"steps": [{"command": "from macos"}]},
                    "nvm": {"steps": [{"command": "from nvm"}]},
                },
            },
        });
        let titles = |used: Option<&str>| {
            let found = super::other_recipes(&task(fields.clone()), &debian(), used);
            let first = |recipe: &Recipe| recipe.commands[0].command.clone();
            found.iter().map(first).collect::<Vec<_>>()
        };
        let npm = &titles(Some("apt"))[0];
        assert!(npm.starts_with("npm "), "{npm}");
        assert_eq!(titles(Some("apt"))[1..], ["from debian", "curl t"]);
        assert!(!titles(Some("debian")).contains(&"from debian".to_owned()));
        assert!(!titles(None).contains(&"curl t".to_owned()));
    }

    fn variants(keys: &[&str]) -> Value {
        let steps =
            |key: &&str| ((*key).to_owned(), json!({"steps": [{"command": format!("run {key}")}]}));
        json!({"variants": keys.iter().map(steps).collect::<serde_json::Map<_, _>>()})
    }

    fn chosen(keys: &[&str], options: &[&str]) -> (String, ChosenBy) {
        match on_debian(json!({"install": variants(keys)}), options).unwrap().source {
            RecipeSource::Variant { key, by } => (key, by),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_chosen_option_comes_before_the_platform_and_that_before_the_manager() {
        assert_eq!(chosen(&["apt", "debian", "16"], &["16"]), ("16".into(), ChosenBy::Option));
        assert_eq!(chosen(&["apt", "debian"], &["16"]), ("debian".into(), ChosenBy::Platform));
        assert_eq!(chosen(&["apt", "macos"], &[]), ("apt".into(), ChosenBy::Manager));
        assert_eq!(chosen(&["npm", "macos"], &[]), ("npm".into(), ChosenBy::Manager));
    }

    #[test]
    fn the_most_particular_platform_wins_whatever_the_order_of_the_file() {
        let keys = ["linux", "debian", "debian-12"];
        assert_eq!(chosen(&keys, &[]).0, "debian-12");
        assert_eq!(chosen(&["linux", "linux-amd64"], &[]).0, "linux-amd64");
    }

    #[test]
    fn a_dependency_that_is_there_comes_before_the_platform() {
        let task = task(json!({
            "dependencies": {"one_of": ["nvm", "fnm"]},
            "install": variants(&["debian", "nvm", "fnm"])
        }));
        let fnm = "fnm".parse().unwrap();
        let situation = Situation { present: [&fnm].into(), ..Situation::default() };
        let found = recipe(&task, &debian(), &situation).unwrap();
        let expected = RecipeSource::Variant { key: "fnm".into(), by: ChosenBy::Dependency };
        assert_eq!(found.source, expected);
    }

    #[test]
    fn the_systems_own_packages_come_first_and_a_languages_last() {
        let both = json!({
            "packages": {"cargo": ["x"], "apt": ["x-bin"]}, "install": {"steps": [{"command": "make"}]}
        });
        let found = on_debian(both, &[]).unwrap();
        assert_eq!(found.source, RecipeSource::Packages(PackageManager::Apt));
        assert_eq!(found.commands[0].command, "apt-get install -y --no-install-recommends x-bin");
        assert!(found.commands[0].requires_sudo && found.commands[0].idempotent);
        let language = json!({
            "packages": {"cargo": ["x"], "brew": ["x"]}, "install": {"steps": [{"command": "make"}]}
        });
        assert_eq!(on_debian(language, &[]).unwrap().source, RecipeSource::Steps);
        let only = json!({"packages": {"brew": ["x"], "cargo": ["x"]}});
        let expected = RecipeSource::Packages(PackageManager::Cargo);
        assert_eq!(on_debian(only, &[]).unwrap().source, expected);
    }

    #[test]
    fn a_chosen_option_comes_before_packages_too() {
        let mut fields =
            json!({"packages": {"apt": ["postgresql"]}, "install": variants(&["15", "debian"])});
        let found = on_debian(fields.clone(), &["15"]).unwrap();
        assert_eq!(found.source, RecipeSource::Variant { key: "15".into(), by: ChosenBy::Option });
        let found = on_debian(fields.clone(), &["14"]).unwrap();
        assert_eq!(found.source, RecipeSource::Packages(PackageManager::Apt));
        fields["packages"] = json!({"brew": ["postgresql"]});
        fields["install"] = json!({});
        let mut platform = debian();
        assert!(recipe(&task(fields.clone()), &platform, &Situation::default()).is_err());
        platform.managers.push(PackageManager::Brew);
        let found = recipe(&task(fields), &platform, &Situation::default()).unwrap();
        assert_eq!(found.source, RecipeSource::Packages(PackageManager::Brew));
    }

    #[test]
    fn what_does_not_fit_says_why() {
        let elsewhere = on_debian(json!({"platforms": ["macos"]}), &[]);
        assert_eq!(elsewhere.unwrap_err().to_string(), "it is for macos only");
        let variant = on_debian(json!({"install": variants(&["macos", "fedora"])}), &[]);
        let message = "it has variants for macos, fedora, and none fits this machine";
        assert_eq!(variant.unwrap_err().to_string(), message);
        let manager = on_debian(json!({"packages": {"brew": ["x"]}}), &[]);
        assert!(matches!(manager, Err(NoRecipe::NoManager(_))));
    }

    #[test]
    fn steps_for_a_person_are_not_commands() {
        let steps = json!({"install": {"steps": [
            {"command": "true"}, {"manual": "", "description": "Open the app"}, {"manual": "Sign in"}
        ]}});
        let found = on_debian(steps, &[]).unwrap();
        assert_eq!(found.commands.len(), 1);
        assert_eq!(found.manual, ["Open the app", "Sign in"]);
    }
}
