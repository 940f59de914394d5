//! `provision plan`: what would be run, complete, and nothing of it run.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use crate::{
    catalog_mistakes::written,
    harness::{Home, Output, skip, tree},
    start::painted,
};

/// Everything in a plan that can differ from machine to machine, or from release to release.
fn settled(text: &str) -> String {
    let digest = regex::Regex::new("[0-9a-f]{64}").unwrap();
    let version = regex::Regex::new(r"(?m)^(  here +\S+ +)\S.*$").unwrap();
    let text = digest.replace_all(text, "[DIGEST]");
    version.replace_all(&text, "${1}[VERSION]").into_owned()
}

#[test]
fn a_plan_of_ours_can_be_read_in_eighty_columns() {
    let home = Home::new();
    // Only what the test puts there is there: nothing on PATH but two tools.
    let bin = home.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    for (tool, says) in [("git", "git version 2.39.5"), ("jq", "jq-1.6")] {
        let script = format!("#!/bin/sh\necho '{says}'\n");
        let path = written(&home, &format!("bin/{tool}"), script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(path, mode).unwrap();
    }
    let answers = "answers: {node: nvm, js_packages: pnpm, typescript: a, backend: A, \
                   python_tools: uv-ruff, database: B, containers: docker, editor: D, \
                   git_identity: set}\nuser_data: {git_name: Ada, git_email: ada@example.com}\n";
    let answers = written(&home, "mine.yaml", answers);
    let mut command =
        home.command(&["plan", "fullstack-web", "--answers", answers.to_str().unwrap()]);
    let output = Output::of(command.env("PATH", &bin));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.lines().all(|line| line.chars().count() <= 80), "{}", output.stdout);
    assert!(!output.stdout.contains('\u{1b}'));
    if !std::path::Path::new("/etc/debian_version").exists() {
        println!("not compared: the plan, which is Debian's");
        return;
    }
    insta::assert_snapshot!(settled(&output.stdout), @r#"
    plan of fullstack-web: 16 to install, 3 already there
    digest [DIGEST]

    version-control
      here      git              [VERSION]
      here      git-config       [VERSION]

    cli-tools
      install   curl             with apt
      install   build-essential  C compiler and make, with apt
      here      jq               [VERSION]
      install   ripgrep          with apt
      install   fzf              with apt

    languages
      install   nvm              2 commands
      install   pnpm             1 command
      install   typescript       TypeScript, 1 command
      install   python           Python, with apt
      install   uv               with pipx
      install   ruff             Ruff, with pipx

    databases
      install   postgresql       PostgreSQL, with apt
      install   redis            Redis, with apt

    containers
      install   docker           Docker, with apt
      install   docker-compose   Docker Compose, 1 command, variant linux

    editors
      install   neovim           Neovim, with apt

    package-managers
      install   pipx             with apt

    may also run
      $ apt-get update
        (as root)
    "#);
}

#[test]
fn a_plan_leaves_nothing_behind_and_runs_nothing() {
    let home = painted();
    let canary = "metadata: {category: c}\ntasks:\n  canary:\n    name: Canary\n    \
                  detection: {check_command: test -e ~/canary}\n    \
                  install: {steps: [{command: touch ~/canary}]}\n    \
                  verification: {command: touch ~/canary}\n";
    written(&home, "tasks/canary.yaml", canary);
    let before = tree(home.path());
    let arguments = ["--answer", "colour=a", "--answer", "signature=b", "--add", "canary"];
    let output = home.run(&[&["plan", "paint"][..], &arguments[..]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(tree(home.path()), before);
    let json = home.json(&[&["plan", "paint"][..], &arguments[..]].concat());
    assert_eq!(tree(home.path()), before);
    let failed = home.run(&["plan", "paint"]);
    assert_eq!(failed.code, Some(2));
    assert_eq!(tree(home.path()), before);
    insta::assert_snapshot!(serde_json::to_string_pretty(&json["tasks"][1]).unwrap(), @r#"
    {
      "id": "red",
      "name": "Red",
      "category": "demo",
      "layer": "home",
      "action": "install",
      "version": null,
      "path": null,
      "variant": null,
      "packages": null,
      "commands": [
        {
          "command": "touch ~/made/red",
          "description": null,
          "requires_sudo": false,
          "env": {},
          "working_dir": null
        }
      ],
      "manual": [],
      "shell_integration": {},
      "depends_on": [
        "base"
      ]
    }
    "#);
    let keys: BTreeSet<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert!(keys.is_superset(&["digest", "profile", "tasks", "may_also_run"].into()), "{keys:?}");
}

#[test]
fn a_plan_that_was_written_is_run_as_it_is() {
    let home = painted();
    let file = home.path().join("written.json");
    let path = file.to_str().unwrap();
    let arguments = ["--answer", "colour=b", "--answer", "shading=a", "--answer", "signature=b"];
    let output = home.run(&[&["plan", "paint", "-o", path][..], &arguments[..]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let digest = home.json(&[&["plan", "paint"][..], &arguments[..]].concat())["digest"].clone();
    let digest = digest.as_str().unwrap();
    assert!(output.stderr.contains(&format!("--approve {digest}")), "{}", output.stderr);
    let applied = home.run(&["apply", path, "--approve", digest]);
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    assert_eq!(fs::read_to_string(home.path().join("made/shade")).unwrap(), "3 matt\n");
    // The same plan goes through a pipe.
    let piped = home.run(&[&["plan", "paint", "-o", "-"][..], &arguments[..]].concat());
    assert_eq!(serde_json::from_str::<Value>(&piped.stdout).unwrap()["digest"], digest);
}

#[test]
fn a_plan_file_that_was_edited_is_refused() {
    let home = painted();
    let file = home.path().join("written.json");
    let path = file.to_str().unwrap();
    let arguments = ["--answer", "colour=a", "--answer", "signature=b"];
    home.run(&[&["plan", "paint", "-o", path][..], &arguments[..]].concat());
    let plan = fs::read_to_string(&file).unwrap();
    let digest = serde_json::from_str::<Value>(&plan).unwrap()["digest"].clone();
    let mut edited: Value = serde_json::from_str(&plan).unwrap();
    edited["tasks"][0]["commands"][0]["command"] = json!("touch ~/evil");
    fs::write(&file, edited.to_string()).unwrap();
    let stale = home.run(&["apply", path, "--yes"]);
    assert_eq!(stale.code, Some(8), "{}", stale.stderr);
    edited.as_object_mut().unwrap().remove("digest");
    fs::write(&file, edited.to_string()).unwrap();
    let other = home.run(&["apply", path, "--approve", digest.as_str().unwrap()]);
    assert_eq!(other.code, Some(4), "{}", other.stderr);
    assert!(!home.path().join("evil").exists());
}

/// A profile with everything wrong that a planner can find.
#[test]
fn every_problem_is_told_in_one_run_with_the_way_that_leads_there() {
    let home = Home::new();
    written(
        &home,
        "tasks/wrong.yaml",
        r"
metadata: {category: c}
tasks:
  egg: {name: Egg, detection: {installed_indicator: ~/egg}, dependencies: {required: [hen]}, install: {steps: [{command: touch ~/egg}]}}
  hen: {name: Hen, detection: {installed_indicator: ~/hen}, dependencies: {required: [egg]}, install: {steps: [{command: touch ~/hen}]}}
  far: {name: Far, detection: {installed_indicator: ~/far}, dependencies: {required: [near]}, install: {steps: [{command: touch ~/far}]}}
  near: {name: Near, detection: {installed_indicator: ~/near}, install: {variants: {macos: {steps: [{command: touch ~/near}]}, fedora: {steps: [{command: touch ~/near}]}}}}
  cat: {name: Cat, detection: {installed_indicator: ~/cat}, conflicts_with: [dog], install: {steps: [{command: touch ~/cat}]}}
  dog: {name: Dog, detection: {installed_indicator: ~/dog}, install: {steps: [{command: touch ~/dog}]}}
  fire: {name: Fire, detection: {installed_indicator: ~/fire}, install: {steps: [{command: touch ~/fire}]}}
  water: {name: Water, detection: {installed_indicator: ~/water}, conflicts_with: [fire], install: {steps: [{command: touch ~/water}]}}
",
    );
    written(
        &home,
        "profiles/wrong.yaml",
        r"
metadata: {id: wrong, name: Wrong}
required_tasks: [egg, far, ripgrpe]
question_flow:
  - id: pet
    question: Which pet?
    options:
      - {letter: A, text: Both, value: both, tasks: [cat, dog]}
      - {letter: B, text: None, value: none}
default_cli_tools: [fire, water]
",
    );
    if !std::path::Path::new("/etc/debian_version").exists() {
        skip("what is missing here is Debian's variant");
        return;
    }
    let before = tree(home.path());
    let output = home.run(&["start", "wrong", "--answer", "pet=A", "--yes", "--no-input"]);
    insta::assert_snapshot!(output.snapshot(&home), @r#"
    exit 8
    --- stdout
    --- stderr
    warning: 4 mistakes in the catalog: what has one is left out; [HOME]/tasks/wrong.yaml:4:87: `egg` waits for itself: egg → hen → egg
    hint: `provision catalog validate` shows every one
    error: no plan can be made, for 5 reasons
      cause: there is no task `ripgrpe` (wrong → ripgrpe)
      cause: task `near` cannot be installed here: it has variants for macos, fedora, and none fits this machine (wrong → far → near)
      cause: `egg`, `hen` wait for each other: egg → hen → egg (wrong → egg)
      cause: tasks `cat` (wrong → pet: A → cat) and `dog` (wrong → pet: A → dog) get in each other's way
      cause: tasks `fire` (wrong → fire) and `water` (wrong → water) get in each other's way
    hint: `ripgrpe`: did you mean `ripgrep`?
    hint: decide with --answer conflict:cat:dog=A (cat only), B (dog only) or C (both)
    hint: decide with --answer conflict:fire:water=A (fire only), B (water only) or C (both)
    "#);
    assert_eq!(tree(home.path()), before);
}

#[test]
fn the_digest_does_not_depend_on_the_order_of_keys_nor_on_what_is_there() {
    let home = painted();
    let one = written(
        &home,
        "one.yaml",
        "answers: {colour: B, shading: A, signature: A}\nuser_data: {owner: Ada}\noptions: {shade: {depth: 4, finish: gloss}}\nadd: [glass, frame]\n",
    );
    let other = written(
        &home,
        "other.yaml",
        "add: [frame, glass]\noptions: {shade: {finish: GLOSS, depth: 4}}\nuser_data: {owner: Ada}\nanswers: {signature: sign, shading: shaded, colour: blue}\n",
    );
    let digest = |file: &std::path::Path| {
        let plan = home.json(&["plan", "paint", "--answers", file.to_str().unwrap()]);
        plan["digest"].as_str().unwrap().to_owned()
    };
    let first = digest(&one);
    assert_eq!(digest(&other), first);
    fs::create_dir_all(home.path().join("made")).unwrap();
    for there in ["base", "blue", "shade", "frame", "signed", "glass"] {
        fs::write(home.path().join("made").join(there), "").unwrap();
        assert_eq!(digest(&one), first, "{there}");
    }
    let third =
        written(&home, "third.yaml", fs::read_to_string(&one).unwrap().replace("Ada", "Bob"));
    assert_ne!(digest(&third), first);
}

/// Every field of a task, changed where it stands in its file: what can execute changes the
/// digest, words do not.
#[test]
fn whatever_can_execute_changes_the_digest_and_words_do_not() {
    let task = json!({
        "name": "Thing", "description": "d", "category": "c", "tags": ["t"],
        "platforms": ["linux", "macos"],
        "detection": {
            "check_command": "test -e ~/x", "version_command": "cat ~/x",
            "installed_indicator": "~/made/x"
        },
        "dependencies": {"required": ["base"], "one_of": ["left", "right"]},
        "install": {"variants": {"left": {"steps": [{
            "name": "n", "command": "touch ~/x", "description": "d", "idempotent": true,
            "requires_sudo": false, "timeout": 60, "retries": 2, "env": {"A": "1"},
            "working_dir": "/tmp", "locks": ["l"], "interactive": false
        }, {"command": "touch ~/y"}]}}},
        "shell_integration": {"bash": "alias x=y", "zsh": "alias x=z"},
        "post_install": [{"task": "behind", "condition": "always"}, {"message": "m"}],
        "verification": {"command": "cat ~/x", "expected_pattern": "x", "expected_output": "x"},
        "options": [{"id": "size", "prompt": "How big", "default": "1"}],
        "path": ["~/bin"], "env_setup": "export B=2", "notes": "n",
        "docs_url": "https://example.org"
    });
    let home = Home::new();
    let others = ["base", "left", "right", "behind", "basex", "leftx", "behindx"].map(|id| {
        let steps = json!([{"command": format!("touch ~/{id}")}]);
        let other = json!({"name": id, "detection": {"installed_indicator": format!("~/{id}")},
                           "install": {"steps": steps}});
        (id.to_owned(), other)
    });
    let digest = |task: &Value| {
        let mut tasks: serde_json::Map<String, Value> = others.iter().cloned().collect();
        tasks.insert("thing".into(), task.clone());
        // JSON is YAML.
        let file = json!({"metadata": {"category": "c"}, "tasks": tasks});
        written(&home, "tasks/things.yaml", file.to_string());
        let plan = home.json(&["plan", "--add", "thing"]);
        plan["digest"].as_str().unwrap().to_owned()
    };
    let words = [
        "/name",
        "/description",
        "/category",
        "/tags/0",
        "/platforms/0",
        "/platforms/1",
        "/docs_url",
        "/notes",
        "/post_install/1/message",
        "/options/0/prompt",
        "/install/variants/left/steps/0/name",
        "/install/variants/left/steps/0/description",
        // The one that is not chosen is not planned.
        "/dependencies/one_of/1",
    ];
    let before = digest(&task);
    let mut changes = Vec::new();
    changed(&task, "", &mut changes);
    assert!(changes.len() >= 35, "{}", changes.len());
    for (place, value) in changes {
        let mut task = task.clone();
        *task.pointer_mut(&place).unwrap() = value;
        // A variant is called by the dependency that it is for.
        if place == "/dependencies/one_of/0" {
            let steps = task["install"]["variants"]["left"].take();
            task["install"]["variants"] = json!({"leftx": steps});
        }
        let is_word = words.contains(&place.as_str());
        assert_eq!(digest(&task) == before, is_word, "{place}");
    }
}

/// Every place that holds a value, and another value for it that is as sound.
fn changed(value: &Value, at: &str, out: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                changed(field, &format!("{at}/{key}"), out);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                changed(item, &format!("{at}/{number}"), out);
            }
        }
        Value::String(text) => {
            let other = match text.as_str() {
                "linux" => "debian".into(),
                "macos" => "fedora".into(),
                "always" => "user_choice".into(),
                text => format!("{text}x"),
            };
            out.push((at.into(), json!(other)));
        }
        Value::Number(number) => out.push((at.into(), json!(number.as_u64().unwrap() + 1))),
        Value::Bool(flag) => out.push((at.into(), json!(!flag))),
        Value::Null => {}
    }
}

#[test]
fn a_plan_is_written_into_pipes_and_behind_links_and_replaces_neither() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let home = painted();
    let base = ["plan", "--add", "base", "-q", "-o"];
    let pipe = home.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    let output = home.run(&[&base[..], &[pipe.to_str().unwrap()]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(reader.join().unwrap().contains("plan-v1"));
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    fs::remove_file(&pipe).unwrap();
    let (link, target) = (home.path().join("link"), written(&home, "target", "before"));
    symlink(&target, &link).unwrap();
    let output = home.run(&[&base[..], &[link.to_str().unwrap()]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("plan-v1"));
    let folder = home.run(&[&base[..], &[home.path().to_str().unwrap()]].concat());
    assert_eq!(folder.code, Some(2), "{}", folder.stderr);
}

/// What would be slow or endless if it were looked at piece by piece.
#[test]
fn large_and_tangled_catalogs_are_planned_in_no_time() {
    let home = Home::new();
    let plan = |tasks: String, add: &str| {
        written(&home, "tasks/t.yaml", format!("metadata: {{category: c}}\ntasks:\n{tasks}"));
        home.run(&["plan", "--add", add])
    };
    let task = |id: usize, fields: &str| {
        format!(
            "  t{id}: {{name: T, detection: {{installed_indicator: /no}}, \
             install: {{steps: [{{command: 'true'}}]}}, {fields}}}\n"
        )
    };
    // Everyone would like to come after twenty others.
    let wishing = (0..1000).map(|id| {
        let others: Vec<_> = (1..=20).map(|n| format!("t{}", (id + n * 37) % 1000)).collect();
        let next = if id < 999 { format!("t{}", id + 1) } else { String::new() };
        task(
            id,
            &format!("dependencies: {{optional: [{}], required: [{next}]}}", others.join(", ")),
        )
    });
    let wished = plan(wishing.collect(), "t0");
    assert_eq!(wished.code, Some(0), "{}", wished.stderr);
    let chain: Vec<_> = wished.stdout.lines().filter(|line| line.contains("install   t")).collect();
    assert!(chain[0].contains("t999 ") && chain[999].contains("t0 "), "{chain:?}");
    // Everyone needs everyone.
    let all: Vec<_> = (0..150).map(|id| format!("t{id}")).collect();
    let tangled =
        (0..150).map(|id| task(id, &format!("dependencies: {{required: [{}]}}", all.join(", "))));
    let tangled = plan(tangled.collect(), "t0");
    assert_eq!(tangled.code, Some(8), "{}", tangled.stderr);
    assert!(tangled.stderr.len() < 100_000, "{}", tangled.stderr.len());
    // A long chain in which each one needs what nobody knows.
    let broken = (0..1000)
        .map(|id| task(id, &format!("dependencies: {{required: [t{}, nowhere{id}]}}", id + 1)));
    let broken = plan(broken.collect(), "t0");
    assert_eq!(broken.code, Some(8));
    assert!(broken.stderr.contains("more of that kind"), "{}", broken.stderr);
    assert!(broken.stderr.len() < 200_000, "{}", broken.stderr.len());
}
