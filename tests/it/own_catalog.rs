//! The catalog that comes along: every file of it loads, says what it must, and names packages
//! that exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
    thread,
};

use agentic_provision::{
    catalog::{Catalog, EMBEDDED_FILES, LayerSource},
    disk::Fs,
    flow::{Situation, recipe},
    model::{AnswerAction, PackageManager, Platform, Task},
};

use crate::harness::{Home, skip, stub};

static CATALOG: LazyLock<Catalog> =
    LazyLock::new(|| Catalog::load(&Fs::real(), &[LayerSource::Embedded]).unwrap());

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn tasks() -> impl Iterator<Item = &'static Task> {
    CATALOG.tasks().map(|listed| &listed.item)
}

fn debian() -> Platform {
    Platform {
        family: "linux".into(),
        id: "debian".into(),
        like: Vec::new(),
        release: Some("12".into()),
        arch: "x86_64".into(),
        managers: vec![PackageManager::Apt],
    }
}

fn macos() -> Platform {
    Platform {
        family: "macos".into(),
        id: "macos".into(),
        like: Vec::new(),
        release: Some("15.2".into()),
        arch: "aarch64".into(),
        managers: Vec::new(),
    }
}

#[test]
fn every_file_on_disk_is_in_the_program_as_it_is() {
    let mut on_disk = BTreeMap::new();
    for folder in ["tasks", "profiles"] {
        for entry in fs::read_dir(project().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            on_disk.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    let embedded: BTreeMap<_, _> =
        EMBEDDED_FILES.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    assert_eq!(on_disk.keys().collect::<Vec<_>>(), embedded.keys().collect::<Vec<&String>>());
    assert_eq!(on_disk, embedded);
}

#[test]
fn there_is_no_mistake_in_it() {
    let mistakes: Vec<_> = CATALOG
        .diagnostics
        .iter()
        .map(|found| format!("{}:{} {}", found.source.name, found.place.line, found.message))
        .collect();
    assert_eq!(mistakes, Vec::<String>::new());
    assert!(tasks().count() >= 120, "{}", tasks().count());
    let profiles: Vec<_> = CATALOG.profiles().map(|profile| profile.item.id()).collect();
    let expected =
        ["essentials", "fullstack-web", "rust-systems", "data-science", "devops", "mobile-dev"];
    assert_eq!(profiles.len(), expected.len());
    assert!(expected.iter().all(|id| profiles.contains(id)), "{profiles:?}");
    let categories: BTreeSet<_> = tasks().map(|task| task.category.as_str()).collect();
    for category in [
        "containers",
        "shells",
        "cloud",
        "ai-tools",
        "api-tools",
        "security",
        "fonts",
        "system-settings",
    ] {
        let count = tasks().filter(|task| task.category == category).count();
        assert!(count >= 3, "{category}: {count} of {categories:?}");
    }
    let output = Home::new().run(&["catalog", "validate"]);
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    assert!(output.stdout.ends_with(": no mistakes\n"), "{}", output.stdout);
}

#[test]
fn every_task_can_be_found_verified_and_told_apart() {
    for task in tasks() {
        let id = &task.id;
        let detection = &task.detection;
        assert!(detection.check_command.is_some(), "{id} has no check");
        assert!(detection.version_command.is_some(), "{id} has no version");
        let verification = task.verification.as_ref().unwrap_or_else(|| panic!("{id}"));
        assert!(verification.expected_pattern.is_some(), "{id} verifies nothing in particular");
        assert!(!task.description.is_empty() && !task.tags.is_empty(), "{id} says too little");
        assert!(task.docs_url.is_some(), "{id} says nowhere to read more");
    }
}

#[test]
fn every_task_is_for_debian_and_macos_or_says_where() {
    let platforms = [debian(), macos()];
    for task in tasks() {
        let fits = platforms.iter().filter(|platform| platform.is_among(&task.platforms));
        let mut ways = 0;
        for platform in fits {
            let found = recipe(task, platform, &Situation::default());
            let found = found.unwrap_or_else(|why| panic!("{} on {}: {why}", task.id, platform.id));
            let does = !found.commands.is_empty() || !found.manual.is_empty();
            assert!(does, "{} on {} does nothing", task.id, platform.id);
            ways += 1;
        }
        assert!(ways > 0, "{} is for neither", task.id);
        assert!(ways == 2 || !task.platforms.is_empty(), "{}", task.id);
    }
}

#[test]
fn a_question_can_be_declined_or_explained() {
    for profile in CATALOG.profiles() {
        for question in &profile.item.question_flow {
            let declines = question.options.iter().any(|answer| {
                let explains = answer.action == Some(AnswerAction::Explain);
                explains || answer.tasks.is_empty() && answer.text.starts_with("None")
            });
            assert!(declines, "{}: {}", profile.item.id(), question.id);
        }
    }
}

/// Every text of a task that bash will read.
fn commands(task: &Task) -> Vec<&str> {
    let detection = &task.detection;
    let steps = task.install.steps.iter();
    let steps = steps.chain(task.install.variants.values().flat_map(|variant| &variant.steps));
    let mut all: Vec<&str> = steps.filter_map(|step| step.command.as_deref()).collect();
    all.extend(detection.check_command.as_deref());
    all.extend(detection.version_command.as_deref());
    all.extend(task.verification.as_ref().map(|verification| verification.command.as_str()));
    all.extend(task.env_setup.as_deref());
    all.extend(task.shell_integration.bash.as_deref());
    all
}

#[test]
fn bash_understands_every_command() {
    let mut checked = 0;
    for task in tasks() {
        for command in commands(task) {
            let output = Command::new("bash").args(["-n", "-c", command]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{}: {said}", task.id);
            checked += 1;
        }
    }
    assert!(checked > 200, "{checked}");
}

/// Returns the programs that lines for shells look for.
fn programs_in(lines: &str) -> impl Iterator<Item = &str> {
    let words: Vec<_> = lines.split([' ', '\n', ';']).collect();
    let looked_for = |pair: &[&str]| matches!(pair[0], "-v" | "-q");
    let found: Vec<_> =
        words.windows(2).filter(|pair| looked_for(pair)).map(|pair| pair[1]).collect();
    found.into_iter()
}

/// Runs the lines of a task twice in an interactive shell and returns the PATH after each time. The
/// shell finds only `uname`; with `stand_ins` also programs that print nothing, in place of the tools
/// that the lines look for.
fn paths_after(shell: &str, lines: &str, stand_ins: bool) -> std::io::Result<Vec<String>> {
    let home = tempfile::tempdir().unwrap();
    for place in [".local/bin", "go/bin", ".cargo/bin", ".local/share/fnm", "bin"] {
        fs::create_dir_all(home.path().join(place)).unwrap();
    }
    std::os::unix::fs::symlink("/bin/uname", home.path().join("bin/uname")).unwrap();
    for program in programs_in(lines).filter(|_| stand_ins) {
        stub(&home.path().join("bin"), program, "true");
    }
    // The machine may have files of the same packages.
    let lines = lines.replace("/usr/share/", "/nonexistent/");
    let arguments: &[&str] = match shell {
        "bash" => &["--norc", "-ic"],
        "zsh" => &["-f", "-ic"],
        _ => &["-N", "-ic"],
    };
    let program = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(shell));
    let program = program.into_iter().find(|program| program.exists());
    let output = Command::new(program.unwrap_or_else(|| shell.into()))
        .args(arguments)
        .arg(format!("{lines}\necho $PATH\n{lines}\necho $PATH\n"))
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", home.path().join("bin"))
        .env("TERM", "dumb")
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    // Without a terminal, bash cannot control jobs.
    let told = said
        .lines()
        .filter(|line| !line.contains("job control") && !line.contains("terminal process group"));
    assert_eq!(told.collect::<Vec<_>>(), Vec::<&str>::new(), "{shell}: {lines}");
    assert!(output.status.success(), "{shell}: {lines}");
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(Into::into).collect())
}

#[test]
fn lines_for_shells_are_understood_say_nothing_and_add_to_path_only_once() {
    for shell in ["bash", "zsh", "fish"] {
        let mut checked = 0;
        for task in tasks() {
            let text = task.shell_integration.texts().find(|(name, _)| *name == shell);
            let Some((_, lines)) = text else { continue };
            let paths = [false, true].map(|stand_ins| paths_after(shell, lines, stand_ins));
            if let Err(error) = &paths[0] {
                assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
                skip(format!("there is no {shell} here"));
                break;
            }
            for paths in paths.map(Result::unwrap) {
                assert_eq!(paths.len(), 2, "{}: {shell}: {paths:?}", task.id);
                assert_eq!(paths[0], paths[1], "{}: {shell}", task.id);
            }
            checked += 1;
        }
        assert!(checked == 0 || checked > 10, "{shell}: {checked}");
    }
}

/// What became of looking for a package.
#[derive(Debug, PartialEq, Eq)]
enum LookUp {
    Exists,
    Missing,
    /// Nobody knows: that is no answer, and above all not a yes.
    Failed(String),
}

/// Asks the index of a manager for a package. That there is none is believed of an index that
/// knows what everybody knows: some say the same when they cannot be reached.
fn look_up(manager: PackageManager, name: &str, environment: &[(&str, &str)]) -> LookUp {
    let known = match manager {
        PackageManager::Apt => "bash",
        PackageManager::Npm => "npm",
        PackageManager::Pipx => "pip",
        PackageManager::Cargo => "serde",
        other => return LookUp::Failed(format!("nobody to ask about {}", other.name())),
    };
    let mut answer = LookUp::Missing;
    // Networks hiccup: what is no answer is asked again.
    for _ in 0..3 {
        answer = ask(manager, name, environment);
        if answer == LookUp::Missing && ask(manager, known, environment) != LookUp::Exists {
            answer = LookUp::Failed(format!("its index does not even know `{known}`"));
        }
        if !matches!(answer, LookUp::Failed(_)) {
            break;
        }
    }
    answer
}

fn ask(manager: PackageManager, name: &str, environment: &[(&str, &str)]) -> LookUp {
    let (program, arguments, absent) = match manager {
        PackageManager::Apt => {
            ("apt-cache", vec!["show", "--no-all-versions", name], "No packages found")
        }
        PackageManager::Npm => ("npm", vec!["view", name, "name"], "E404"),
        PackageManager::Cargo => {
            ("cargo", vec!["info", "--registry", "crates-io", name], "could not find")
        }
        _ => {
            let arguments =
                vec!["-m", "pip", "--disable-pip-version-check", "index", "versions", name];
            ("python3", arguments, "No matching distribution found")
        }
    };
    let mut command = Command::new(program);
    command.args(&arguments).envs(environment.iter().copied()).current_dir("/");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return LookUp::Failed(format!("{program}: {error}")),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && !output.stdout.is_empty() {
        LookUp::Exists
    } else if said.contains(absent) {
        LookUp::Missing
    } else {
        LookUp::Failed(format!("{program}: {}", said.trim()))
    }
}

/// Names that a command installs without telling the catalog: `npm install --global x`.
fn named_in_commands(task: &Task) -> Vec<(PackageManager, String)> {
    let mut named = Vec::new();
    for line in commands(task).iter().flat_map(|command| command.lines()) {
        for (manager, words) in [
            (PackageManager::Npm, "npm install --global "),
            (PackageManager::Apt, "apt-get install -y "),
            (PackageManager::Pipx, "pipx install "),
            (PackageManager::Cargo, "cargo install --locked "),
        ] {
            let Some((_, rest)) = line.trim().split_once(words) else { continue };
            let is_name = |word: &&str| !word.starts_with(['-', '"', '$']);
            named
                .extend(rest.split_whitespace().filter(is_name).map(|word| (manager, word.into())));
        }
    }
    named
}

/// Whether packages are to be looked for: `tests/run` sees to what that takes.
fn is_asked_for() -> bool {
    let is_asked_for = std::env::var_os("PROVISION_TEST_PACKAGES").is_some();
    if !is_asked_for {
        skip("tests/run looks packages up");
    }
    is_asked_for
}

#[test]
fn every_package_it_names_exists() {
    if !is_asked_for() {
        return;
    }
    let mut names = BTreeSet::new();
    for task in tasks() {
        for (manager, packages) in &task.packages {
            names.extend(packages.iter().map(|name| (*manager, name.clone())));
        }
        names.extend(named_in_commands(task));
    }
    let asked =
        [PackageManager::Apt, PackageManager::Npm, PackageManager::Pipx, PackageManager::Cargo];
    names.retain(|(manager, _)| asked.contains(manager));
    let names: Vec<_> = names.into_iter().collect();
    let lanes: Vec<_> = names.chunks(names.len().div_ceil(4)).map(<[_]>::to_vec).collect();
    let workers = lanes.into_iter().map(|lane| {
        thread::spawn(move || {
            let answer = |(manager, name): (PackageManager, String)| {
                let answer = look_up(manager, &name, &[]);
                (manager, name, answer)
            };
            lane.into_iter().map(answer).collect::<Vec<_>>()
        })
    });
    let workers: Vec<_> = workers.collect();
    let answers: Vec<_> = workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
    for manager in asked {
        let of_it = answers.iter().filter(|(of, ..)| *of == manager);
        let found = of_it.clone().filter(|(.., answer)| *answer == LookUp::Exists).count();
        println!("{}: {found} of {} packages exist", manager.name(), of_it.count());
        assert!(found > 0, "{} has packages in the catalog", manager.name());
    }
    let missing: Vec<_> =
        answers.iter().filter(|(.., answer)| *answer == LookUp::Missing).collect();
    let unknown: Vec<_> = answers.iter().filter(|(.., a)| matches!(a, LookUp::Failed(_))).collect();
    assert!(missing.is_empty(), "these do not exist: {missing:?}");
    assert!(unknown.is_empty(), "these could not be looked up, so nobody knows: {unknown:#?}");
}

#[test]
fn a_package_that_does_not_exist_is_told_from_one_that_cannot_be_looked_up() {
    if !is_asked_for() {
        return;
    }
    let nonsense = "agentic-provision-no-such-package-7f3a";
    for manager in
        [PackageManager::Apt, PackageManager::Npm, PackageManager::Pipx, PackageManager::Cargo]
    {
        assert_eq!(look_up(manager, nonsense, &[]), LookUp::Missing, "{}", manager.name());
    }
    // Nobody listens there, and apt has no lists.
    let nowhere = "http://127.0.0.1:9/";
    let home = Home::new();
    let apt = home.path().join("apt.conf");
    fs::write(
        &apt,
        format!(
            "Dir::State::lists \"{0}\"; Dir::State::status \"{0}/none\"; Dir::Cache \"{0}\";",
            home.path().display()
        ),
    )
    .unwrap();
    let offline = [
        ("npm_config_registry", nowhere),
        ("npm_config_fetch_retries", "0"),
        ("PIP_INDEX_URL", nowhere),
        ("PIP_RETRIES", "0"),
        ("APT_CONFIG", apt.to_str().unwrap()),
    ];
    let known = [
        (PackageManager::Apt, "git"),
        (PackageManager::Npm, "typescript"),
        (PackageManager::Pipx, "ruff"),
    ];
    for (manager, name) in known {
        let answer = look_up(manager, name, &offline);
        assert!(matches!(answer, LookUp::Failed(_)), "{}: {answer:?}", manager.name());
    }
}

#[test]
fn nothing_in_it_is_about_one_machine() {
    for (name, text) in EMBEDDED_FILES {
        for line in text.lines() {
            for odd in ["/home/", "/Users/", "/root/"] {
                assert!(!line.contains(odd), "{name}: {line}");
            }
        }
        assert!(Path::new(name).is_relative());
    }
}
