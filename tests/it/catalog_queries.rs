//! Looking at the catalog: lists, searches, single tasks, layers, schemas.

use std::{fs, path::PathBuf};

use agentic_provision::catalog::EMBEDDED_FILES;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::harness::Home;

/// A task file of one task, in a folder of the home.
fn with_task(home: &Home, folder: &str, id: &str, name: &str) -> PathBuf {
    let text = format!(
        "metadata: {{category: tools}}
tasks:
  {id}:
    name: {name}
    description: From {folder}
    tags: [quokka]
    detection: {{check_command: command -v {id}}}
    install:
      variants:
        debian: {{steps: [{{command: echo on debian, requires_sudo: true}}]}}
        linux: {{steps: [{{command: echo on linux}}]}}
        macos: {{steps: [{{command: echo on a mac}}]}}
    notes: Be nice to it
"
    );
    let path = home.path().join(folder);
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join(format!("{id}.yaml")), text).unwrap();
    path
}

fn ids(found: &Value) -> Vec<&str> {
    found["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect()
}

#[test]
fn a_list_by_category() {
    let home = Home::new();
    let output = home.run(&["catalog", "list"]);
    assert_eq!(output.code, Some(0));
    let headings: Vec<_> =
        output.stdout.lines().filter(|l| !l.starts_with(' ') && !l.is_empty()).collect();
    let (categories, rest) = headings.split_at(headings.len() - 2);
    assert!(categories.is_sorted() && categories.contains(&"cli-tools"), "{categories:?}");
    assert_eq!(rest[0], "profiles");
    let all = home.json(&["catalog", "list"]);
    assert!(ids(&all).len() >= 80);
    assert_eq!(all["profiles"].as_array().unwrap().len(), 6);
    assert!(all["tasks"].as_array().unwrap().iter().all(|task| task["layer"] == "embedded"));
    let editors = home.json(&["catalog", "list", "--category", "editors"]);
    assert!(ids(&editors).contains(&"neovim") && !ids(&editors).contains(&"jq"));
    let output = home.run(&["catalog", "list", "--category", "edtors"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("editors"), "{}", output.stderr);
}

#[test]
fn a_search_puts_the_best_first_and_needs_every_word() {
    let home = Home::new();
    let first = |words: &[&str]| {
        let found = home.json(&[&["catalog", "search"], words].concat());
        ids(&found).first().map(|id| (*id).to_owned())
    };
    assert_eq!(first(&["git"]).as_deref(), Some("git"));
    assert_eq!(first(&["RIPGREP"]).as_deref(), Some("ripgrep"));
    assert_eq!(first(&["node"]).as_deref(), Some("nodejs"));
    assert_eq!(first(&["rust", "compiler"]).as_deref(), Some("rust"));
    assert_eq!(first(&["postgres"]).as_deref(), Some("postgresql"));
    assert_eq!(first(&["git", "xylophone"]), None);
    let output = home.run(&["catalog", "search", "databse"]);
    assert!(output.stderr.contains("did you mean `database"), "{}", output.stderr);
    let output = home.run(&["catalog", "search", "ripgrpe"]);
    assert_eq!((output.code, &*output.stdout), (Some(0), ""));
    assert!(output.stderr.contains("did you mean `ripgrep`?"), "{}", output.stderr);
}

#[test]
fn a_task_says_what_it_would_run_here() {
    let home = Home::new();
    let folder = with_task(&home, "mine", "quokka", "Quokka");
    let folder = folder.to_str().unwrap();
    let shown = home.json(&["--catalog", folder, "catalog", "show", "quokka"]);
    let id = shown["platform"]["id"].as_str().unwrap();
    let (variant, command) = match id {
        "debian" | "ubuntu" => ("debian", "echo on debian"),
        "macos" => ("macos", "echo on a mac"),
        _ => ("linux", "echo on linux"),
    };
    assert_eq!(shown["recipe"]["variant"], variant);
    assert_eq!(shown["recipe"]["commands"][0]["command"], command);
    assert_eq!(shown["layer"], folder);
    let text = home.run(&["--catalog", folder, "catalog", "show", "quokka"]).stdout;
    for part in ["Quokka (quokka)", "From mine", command, "Be nice to it", "chosen by the platform"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_task_of_ours_shows_dependencies_conflicts_and_notes() {
    let home = Home::new();
    let text = home.run(&["catalog", "show", "nvm"]).stdout;
    for part in
        ["git, curl", "conflicts with  fnm", "needed by", "pnpm", "Notes:", "asks", "embedded"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let shown = home.json(&["catalog", "show", "nvm"]);
    assert_eq!(shown["task"]["conflicts_with"], json!(["fnm"]));
    assert!(shown["needed_by"].as_array().unwrap().contains(&json!("pnpm")));
}

#[test]
fn a_tool_that_is_there_seems_installed() {
    let home = Home::new();
    let bin = home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::copy("/bin/sh", bin.join("rg")).unwrap();
    let shown = |path: &str| {
        let mut command = home.command(&["--json", "catalog", "show", "ripgrep"]);
        let output = crate::harness::Output::of(command.env("PATH", path));
        serde_json::from_str::<Value>(&output.stdout).unwrap()["seems_installed"].clone()
    };
    assert_eq!(shown(bin.to_str().unwrap()), true);
    assert_eq!(shown("/nonexistent"), false);
}

#[test]
fn a_task_for_another_system_says_so() {
    let home = Home::new();
    let (task, other) =
        if cfg!(target_os = "macos") { ("mold", "linux") } else { ("homebrew", "macos") };
    let output = home.run(&["catalog", "show", task]);
    assert_eq!(output.code, Some(0));
    assert!(
        output.stdout.contains(&format!("cannot be installed: it is for {other} only")),
        "{}",
        output.stdout
    );
    let list = home.json(&["catalog", "list"]);
    let listed = list["tasks"].as_array().unwrap().iter().find(|t| t["id"] == task).unwrap();
    assert_eq!(listed["for_this_machine"], false);
}

#[test]
fn a_later_layer_replaces_by_id_and_says_where_it_came_from() {
    let home = Home::new();
    let shown = |more: &[&str]| {
        let shown = home.json(&[more, &["catalog", "show", "jq"]].concat());
        let name = shown["task"]["name"].clone();
        (name, shown["layer"].clone(), shown["replaces"].clone())
    };
    assert_eq!(shown(&[]), (json!("jq"), json!("embedded"), Value::Null));
    with_task(&home, "tasks", "jq", "Mine");
    assert_eq!(shown(&[]), (json!("Mine"), json!("home"), json!("embedded")));
    let one = with_task(&home, "one", "jq", "One");
    let two = with_task(&home, "two", "jq", "Two");
    let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap());
    let layers = ["--catalog", one, "--catalog", two];
    assert_eq!(shown(&layers), (json!("Two"), json!(two), json!(one)));
    let layers = ["--catalog", two, "--catalog", one];
    assert_eq!(shown(&layers), (json!("One"), json!(one), json!(two)));
    let list = home.run(&["catalog", "list"]).stdout;
    assert!(list.contains("[home]"), "{list}");
}

#[test]
fn a_profile_shows_what_it_asks() {
    let home = Home::new();
    let text = home.run(&["catalog", "show", "fullstack-web"]).stdout;
    for part in ["always installs", "Which database", "[postgresql, redis]", "Help me decide"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn an_unknown_id_is_a_usage_error_with_the_nearest_name() {
    let home = Home::new();
    let output = home.run(&["catalog", "show", "riprgep"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("did you mean `ripgrep`?"), "{}", output.stderr);
}

fn validator(home: &Home, of: &str) -> Validator {
    jsonschema::draft202012::new(&home.json(&["schema", of])).unwrap()
}

/// A file of ours as an editor's schema check sees it: numbers are numbers there.
fn as_json(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

#[test]
fn our_own_files_pass_the_schemas_that_editors_use() {
    let home = Home::new();
    let (task, profile) = (validator(&home, "task"), validator(&home, "profile"));
    for (name, text) in EMBEDDED_FILES {
        let schema = if name.starts_with("tasks/") { &task } else { &profile };
        let problems: Vec<_> = schema
            .iter_errors(&as_json(text))
            .map(|problem| format!("{name}: {problem} at {}", problem.instance_path()))
            .collect();
        assert_eq!(problems, Vec::<String>::new());
    }
}

#[test]
fn the_schemas_refuse_what_the_check_refuses() {
    let home = Home::new();
    let task = validator(&home, "task");
    let sound = json!({"metadata": {"category": "c"}, "tasks": {"t": {
        "name": "T", "detection": {"check_command": "x"}, "packages": {"apt": ["t"]}, "notes": null
    }}});
    assert!(task.is_valid(&sound));
    for (place, value) in [
        ("/tasks/t/detecton", json!({})),
        ("/tasks/t/tags", json!("x")),
        ("/tasks/t/packages/apt", json!(["-x"])),
        ("/tasks/t/path", json!(["bin"])),
        ("/tasks/t/post_install", json!([{"condition": "sometimes"}])),
        ("/tasks/t/install", json!({"steps": [{"idempotent": "yes"}]})),
    ] {
        let mut wrong = sound.clone();
        let (above, key) = place.rsplit_once('/').unwrap();
        wrong.pointer_mut(above).unwrap()[key] = value;
        assert!(!task.is_valid(&wrong), "{place}");
    }
    let answers = validator(&home, "answers");
    let given = json!({
        "profile": "fullstack-web", "answers": {"js_runtime": "B", "editor": "neovim"},
        "user_data": {"git_name": "Ada"}, "options": {"postgresql": {"version": "16"}},
        "add": ["lazygit"], "without": ["fzf"], "mode": "all_at_once"
    });
    assert!(answers.is_valid(&given));
    assert!(!answers.is_valid(&json!({"mode": "quickly"})));
    assert!(!answers.is_valid(&json!({"user_data": {"git-name": "Ada"}})));
    let profile = validator(&home, "profile");
    assert!(!profile.is_valid(&json!({"metadata": {"id": "p"}})));
    let letters = json!({"metadata": {"id": "p", "name": "P"}, "question_flow": [
        {"id": "q", "question": "?", "options": [{"letter": "a", "text": "x"}]}
    ]});
    assert!(!profile.is_valid(&letters));
}
