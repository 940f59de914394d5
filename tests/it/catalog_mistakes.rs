//! Mistakes in a catalog's files: all of them in one run, each at its place.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use agentic_provision::catalog::Code;
use serde_json::Value;

use crate::harness::{Home, Output};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/catalog")
}

/// What `catalog validate` says of a path, as JSON, with its exit code.
pub fn validate(home: &Home, more: &[&str], path: &Path) -> (Option<i32>, Value) {
    let arguments = [&["--json", "catalog", "validate"], more, &[path.to_str().unwrap()]].concat();
    let output = home.run(&arguments);
    let said = serde_json::from_str(&output.stdout)
        .unwrap_or_else(|_| panic!("{}: {}{}", path.display(), output.stdout, output.stderr));
    (output.code, said)
}

/// Writes a file of a catalog.
pub fn written(home: &Home, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = home.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

pub const SOUND: &str = "metadata: {category: c}
tasks:
  sound:
    name: Sound
    detection: {check_command: command -v sound}
    packages: {apt: [sound]}
";

#[test]
fn twelve_different_mistakes_are_twelve_diagnostics() {
    let home = Home::new();
    let mut command = home.command(&["catalog", "validate", "twelve.yaml"]);
    let output = Output::of(command.current_dir(fixtures()));
    insta::assert_snapshot!(output.snapshot(&home), @r#"
    exit 8
    --- stdout
    error[id_mismatch]: the id is `alfa`, but the task stands under `alpha`
     --> twelve.yaml:4:9
      |
    4 |     id: alfa
      |         ^^^^ tasks.alpha.id

    warning[unknown_field]: a task has no field `docs_ulr`
     --> twelve.yaml:6:5
      |
    6 |     docs_ulr: https://example.org
      |     ^^^^^^^^ tasks.alpha.docs_ulr
      |
      = help: did you mean `docs_url`?

    error[wrong_type]: expected a list of texts, found the text `search`
     --> twelve.yaml:8:11
      |
    8 |     tags: search
      |           ^^^^^^ tasks.alpha.tags
      |
      = help: write [search]

    error[duplicate_key]: `name` stands here and in line 11
      --> twelve.yaml:12:5
       |
    12 |     name: Beta again
       |     ^^^^ tasks.beta.name

    error[unknown_task]: there is no task `gama`
      --> twelve.yaml:14:31
       |
    14 |     dependencies: {required: [gama, delta]}
       |                               ^^^^ tasks.beta.dependencies.required[0]
       |
       = help: did you mean `gamma`?

    error[pasted_value]: `{{user_name}}` is not filled in: values are never pasted into a command
      --> twelve.yaml:20:18
       |
    20 |             echo {{user_name}} > ~/beta/owner
       |                  ^^^^^^^^^^^^^ tasks.beta.install.steps[0].command
       |
       = help: write "$USER_NAME"

    error[reserved_name]: `$LD_PRELOAD` has a meaning of its own and cannot be set
      --> twelve.yaml:22:17
       |
    22 |           env: {LD_PRELOAD: /tmp/x.so}
       |                 ^^^^^^^^^^ tasks.beta.install.steps[1].env.LD_PRELOAD

    error[invalid_regex]: `beta (` is not a regular expression: unclosed group
      --> twelve.yaml:23:53
       |
    23 |     verification: {command: beta, expected_pattern: "beta ("}
       |                                                     ^^^^^^^^ tasks.beta.verification.expected_pattern

    error[no_detection]: task `gamma` has no `detection`: nobody can tell whether it is there
      --> twelve.yaml:24:3
       |
    24 |   gamma:
       |   ^^^^^ tasks.gamma
       |
       = help: detection: {check_command: command -v gamma}

    error[dependency_cycle]: `delta` waits for itself: delta → beta → delta
      --> twelve.yaml:30:31
       |
    30 |     dependencies: {required: [beta]}
       |                               ^^^^ tasks.delta.dependencies.required[0]

    error[conflict]: `delta` cannot conflict with itself
      --> twelve.yaml:31:29
       |
    31 |     conflicts_with: [gamma, delta]
       |                             ^^^^^ tasks.delta.conflicts_with[1]

    warning[new_bash]: `mapfile` needs bash 4.0; macOS has 3.2
      --> twelve.yaml:34:36
       |
    34 |         macos: {steps: [{command: "mapfile -t lines < list"}]}
       |                                    ^^^^^^^ tasks.delta.install.variants.macos.steps[0].command

    1 file, 4 tasks, 0 profiles: 10 errors, 2 warnings
    --- stderr
    error: the catalog has 10 errors
    "#);
    let (_, said) = validate(&home, &[], &fixtures().join("twelve.yaml"));
    let found = said["diagnostics"].as_array().unwrap();
    let codes: BTreeSet<_> = found.iter().map(|found| found["code"].as_str().unwrap()).collect();
    assert_eq!((found.len(), codes.len()), (12, 12));
}

/// A file of the fixtures says on its first lines what is found in it: a code, a line, and how
/// the text there goes on.
struct Expected {
    code: String,
    line: usize,
    text: String,
}

fn expectations(file: &Path) -> (bool, Vec<Expected>) {
    let text = fs::read_to_string(file).unwrap();
    let marks: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("#! ")).collect();
    let is_strict = marks.contains(&"strict");
    let expected = marks.iter().filter(|mark| **mark != "strict").map(|mark| {
        let mut words = mark.splitn(3, ' ');
        Expected {
            code: words.next().unwrap().into(),
            line: words.next().unwrap().parse().unwrap(),
            text: words.next().unwrap_or_default().into(),
        }
    });
    (is_strict, expected.collect())
}

fn files_below(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.into()];
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| files_below(&path)).collect()
}

/// The text at a place of a file, as an editor would find it: lines and columns from 1.
fn text_at(source: &str, line: usize, column: usize) -> String {
    source.split('\n').nth(line - 1).unwrap_or_default().chars().skip(column - 1).collect()
}

#[test]
fn every_code_has_a_fixture_and_every_fixture_its_places() {
    let home = Home::new();
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(fixtures().join("codes")).unwrap() {
        let path = entry.unwrap().path();
        let files = files_below(&path);
        let is_strict = files.iter().any(|file| expectations(file).0);
        let strict: &[&str] = if is_strict { &["--strict"] } else { &[] };
        let (code, said) = validate(&home, strict, &path);
        assert_eq!(said["files"], files.len());
        let all = said["diagnostics"].as_array().unwrap();
        let has_error = all.iter().any(|found| found["severity"] == "error");
        assert_eq!(code, Some(if has_error { 8 } else { 0 }), "{}", path.display());
        for file in files {
            let name = file.to_str().unwrap();
            let of_file = |found: &&Value| found["file"].as_str() == Some(name);
            let found: Vec<&Value> = all.iter().filter(of_file).collect();
            let expected = expectations(&file).1;
            let source = fs::read_to_string(&file).unwrap();
            assert_eq!(found.len(), expected.len(), "{name}: {found:#?}");
            for (found, expected) in found.iter().zip(&expected) {
                let number = |key: &str| usize::try_from(found[key].as_u64().unwrap()).unwrap();
                assert_eq!(found["code"].as_str(), Some(&*expected.code), "{name}: {found}");
                assert_eq!(number("line"), expected.line, "{name}: {found}");
                let text = text_at(&source, number("line"), number("column"));
                assert!(text.starts_with(&expected.text), "{name}: {found}: `{text}`");
                seen.insert(expected.code.clone());
            }
        }
    }
    // These are about whole files, and made in another test.
    seen.extend(["unreadable", "too_large", "not_utf8"].map(str::to_owned));
    let all: BTreeSet<_> = Code::ALL.iter().map(|code| code.name().to_owned()).collect();
    assert_eq!(seen, all);
}

#[test]
fn unknown_fields_are_warnings_unless_we_are_strict() {
    let home = Home::new();
    let path =
        written(&home, "f.yaml", SOUND.replace("name: Sound", "name: Sound\n    homepage: x"));
    let (code, said) = validate(&home, &[], &path);
    assert_eq!((code, &said["diagnostics"][0]["severity"]), (Some(0), &"warning".into()));
    let (code, said) = validate(&home, &["--strict"], &path);
    assert_eq!((code, &said["diagnostics"][0]["severity"]), (Some(8), &"error".into()));
    // A task with a warning is offered all the same.
    let found = home.run(&["--catalog", path.to_str().unwrap(), "catalog", "show", "sound"]);
    assert_eq!(found.code, Some(0), "{}", found.stderr);
}

#[test]
fn escape_sequences_in_a_file_do_not_reach_the_terminal() {
    let home = Home::new();
    let path =
        written(&home, "f.yaml", "tasks:\n  \"a\\e[2J\": {na\u{202e}me: x}\n  b: \"\u{9b}31m\n");
    let output = home.run(&["catalog", "validate", path.to_str().unwrap()]);
    assert_eq!(output.code, Some(8));
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(!said.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{said:?}");
}

#[test]
fn scalars_keep_their_text() {
    let home = Home::new();
    let texts = [
        "3.10",
        "012",
        "no",
        "0755",
        "1e3",
        "0x1F",
        "1_000",
        "~x",
        "yes",
        "off",
        "2026-01-01",
        "1.50",
    ];
    let choices = texts.join(", ");
    let tasks = format!(
        "metadata: {{category: 007, version: 3.10}}
tasks:
  1e3:
    name: 012
    detection: {{check_command: command -v x}}
    options:
      - {{id: version, prompt: Which?, type: choice, choices: [{choices}], default: 3.10}}
    install:
      variants:
        3.10: {{steps: [{{command: make, env: {{MODE: 0755, ON: true, EMPTY: \"\"}}}}]}}
"
    );
    let path = written(&home, "c/t.yaml", tasks);
    let questions = texts.iter().enumerate().map(|(number, text)| {
        let letter = char::from(b'A' + u8::try_from(number).unwrap());
        format!("      - {{letter: {letter}, text: {text}, value: {text}}}\n")
    });
    let profile = format!(
        "metadata: {{id: p, name: 1.10, version: 1.10}}
required_tasks: [1e3]
question_flow:
  - id: q
    question: 0755
    options:
{}",
        questions.collect::<String>()
    );
    written(&home, "c/p.yaml", profile);
    let folder = path.parent().unwrap().to_str().unwrap();
    let shown = home.json(&["--catalog", folder, "catalog", "show", "1e3"]);
    let task = &shown["task"];
    assert_eq!(
        (&task["id"], &task["name"], &task["category"]),
        (&"1e3".into(), &"012".into(), &"007".into())
    );
    assert_eq!(task["options"][0]["choices"], serde_json::json!(texts));
    assert_eq!(shown["recipe"]["variant"], "3.10");
    let env = serde_json::json!({"MODE": "0755", "ON": "true", "EMPTY": ""});
    assert_eq!(shown["recipe"]["commands"][0]["env"], env);
    let shown = home.json(&["--catalog", folder, "catalog", "show", "p"]);
    assert_eq!(shown["profile"]["metadata"]["version"], "1.10");
    let options = shown["profile"]["question_flow"][0]["options"].as_array().unwrap().clone();
    let values: Vec<_> = options.iter().map(|option| option["value"].as_str().unwrap()).collect();
    assert_eq!(values, texts);
}

#[test]
fn a_letter_that_yaml_takes_for_something_else_is_a_letter() {
    let home = Home::new();
    let profile = "metadata: {id: p, name: P}
required_tasks: []
question_flow:
  - id: q
    question: Which?
    options:
      - {letter: N, text: No}
      - {letter: Y, text: Yes}
";
    let path = written(&home, "p.yaml", profile);
    let (code, said) = validate(&home, &[], &path);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn mistakes_elsewhere_do_not_hide_what_is_asked() {
    let home = Home::new();
    written(&home, "tasks/broken.yaml", "tasks:\n  jq: {name: Mine}\n");
    written(&home, "tasks/sound.yaml", SOUND);
    let output = home.run(&["catalog", "show", "sound"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.starts_with("warning: "), "{}", output.stderr);
    assert!(output.stderr.contains("provision catalog validate"), "{}", output.stderr);
    // A broken task is not passed by for the one it replaces: that is not what was asked for.
    let output = home.run(&["catalog", "show", "jq"]);
    assert_eq!(output.code, Some(8), "{}", output.stdout);
    assert!(output.stderr.contains("cannot be used as it is written"), "{}", output.stderr);
    let (code, said) = validate(&home, &[], &home.path().join("tasks/sound.yaml"));
    assert_eq!((code, said["diagnostics"].as_array().unwrap().len()), (Some(0), 0));
    let output = home.run(&["--json", "catalog", "validate"]);
    assert_eq!(output.code, Some(8), "without a path, every layer is looked at");
}

#[test]
fn a_catalog_in_the_shapes_that_others_write_is_taken_as_it_is() {
    let home = Home::new();
    let (code, said) = validate(&home, &[], &fixtures().join("others"));
    let told: Vec<_> = said["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            format!("{} {}", found["severity"].as_str().unwrap(), found["key"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        told,
        ["warning question_flow[0].options[1]", "warning question_flow[0].options[2]",]
    );
    assert_eq!(code, Some(0));
    let folder = fixtures().join("others");
    let shown =
        home.json(&["--catalog", folder.to_str().unwrap(), "catalog", "show", "prompt-theme"]);
    let task = &shown["task"];
    assert_eq!(task["install"]["steps"][1]["shell_config"], serde_json::json!({"edits": true}));
    assert_eq!(
        task["post_install"][0]["notes"],
        "Run the configuration wizard\nUse a font with symbols"
    );
    assert_eq!(task["post_install"][0]["shell_config"]["zsh"], "source ~/.prompt-theme/theme.zsh");
}

#[test]
fn what_files_break_elsewhere_is_told_with_them() {
    let home = Home::new();
    let task = |id: &str, more: &str| {
        format!(
            "metadata: {{category: c}}\ntasks:\n  {id}:\n    name: Mine\n    \
            detection: {{check_command: command -v {id}}}\n    packages: {{apt: [{id}]}}\n    {more}\n"
        )
    };
    // nvm needs git.
    let path = written(&home, "cycle/git.yaml", task("git", "dependencies: {required: [nvm]}"));
    let (code, said) = validate(&home, &[], path.parent().unwrap());
    assert_eq!(code, Some(8));
    let all = said["diagnostics"].as_array().unwrap();
    let found = all.iter().find(|found| found["code"] == "dependency_cycle").unwrap();
    assert!(
        found["file"].as_str().unwrap().ends_with("git.yaml"),
        "told where it was closed: {found}"
    );
    assert!(found["message"].as_str().unwrap().contains("git → nvm → git"), "{found}");
    // fnm needs both.
    let path = written(&home, "conflict/curl.yaml", task("curl", "conflicts_with: [unzip]"));
    let (code, said) = validate(&home, &[], path.parent().unwrap());
    assert_eq!(code, Some(8), "{said}");
    let files: BTreeSet<_> = said["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["file"].as_str().unwrap())
        .collect();
    assert!(files.contains("tasks/languages.yaml"), "{files:?}");
    // Nothing of that is said of a file that breaks nothing.
    let path = written(&home, "fine/mine.yaml", task("mine", "dependencies: {required: [nvm]}"));
    let (code, said) = validate(&home, &[], path.parent().unwrap());
    assert_eq!((code, said["diagnostics"].as_array().unwrap().len()), (Some(0), 0), "{said}");
}

/// Which of these tasks and profiles can be shown.
fn offered(home: &Home, folder: &Path, ids: &[&str]) -> Vec<bool> {
    let folder = folder.to_str().unwrap();
    let shows = |id: &&str| {
        let output = home.run(&["--catalog", folder, "catalog", "show", id]);
        assert!(matches!(output.code, Some(0 | 8)), "{id}: {}", output.stderr);
        assert!(output.code == Some(0) || output.stderr.contains("cause: "), "{}", output.stderr);
        output.code == Some(0)
    };
    ids.iter().map(shows).collect()
}

#[test]
fn what_has_a_mistake_is_not_offered_and_neither_is_what_needs_it() {
    let home = Home::new();
    let task = |id: &str, more: &str| {
        format!(
            "  {id}: {{name: T, detection: {{check_command: command -v {id}}}, \
            packages: {{apt: [{id}]}}{more}}}\n"
        )
    };
    let text = [
        "metadata: {category: c}\ntasks:\n".to_owned(),
        task("fine", ""),
        task("lib", ", tags: x"),
        task("app", ", dependencies: {required: [lib]}"),
        task("far", ", dependencies: {required: [app]}"),
        task("may", ", dependencies: {optional: [lib]}"),
        task("a", ", dependencies: {required: [b]}"),
        task("b", ", dependencies: {required: [c]}"),
        task("c", ", dependencies: {required: [a]}"),
        task("after", ", dependencies: {required: [c]}"),
        task("x", ", dependencies: {optional: [y]}"),
        task("y", ", dependencies: {one_of: [x]}"),
        "  jq: nonsense\n".to_owned(),
    ];
    let path = written(&home, "c/tasks.yaml", text.concat());
    let profile = |id: &str, task: &str| {
        format!(
            "metadata: {{id: {id}, name: P}}\nrequired_tasks: [fine]\nquestion_flow:\n  - id: q\n    \
            question: Q\n    options: [{{letter: A, text: Yes, tasks: [{task}]}}, {{letter: B, text: No}}]\n"
        )
    };
    written(&home, "c/good.yaml", profile("good", "may"));
    written(&home, "c/bad.yaml", profile("bad", "far"));
    written(&home, "c/wrong.yaml", profile("wrong", "no-such-task"));
    let folder = path.parent().unwrap();
    assert_eq!(offered(&home, folder, &["fine", "may", "good"]), [true; 3]);
    let not = ["lib", "app", "far", "a", "b", "c", "after", "x", "y", "jq", "bad", "wrong"];
    assert_eq!(offered(&home, folder, &not), [false; 12]);
    // Of two with one id, nobody knows which is meant.
    written(&home, "d/one.yaml", SOUND);
    let path = written(&home, "d/two.yaml", SOUND);
    assert_eq!(offered(&home, path.parent().unwrap(), &["sound"]), [false]);
}

#[test]
fn every_mistake_says_which_key_it_is_about() {
    let home = Home::new();
    let (_, said) = validate(&home, &[], &fixtures().join("twelve.yaml"));
    let keys: Vec<_> = said["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["key"].as_str().unwrap())
        .collect();
    assert_eq!(
        keys,
        [
            "tasks.alpha.id",
            "tasks.alpha.docs_ulr",
            "tasks.alpha.tags",
            "tasks.beta.name",
            "tasks.beta.dependencies.required[0]",
            "tasks.beta.install.steps[0].command",
            "tasks.beta.install.steps[1].env.LD_PRELOAD",
            "tasks.beta.verification.expected_pattern",
            "tasks.gamma",
            "tasks.delta.dependencies.required[0]",
            "tasks.delta.conflicts_with[1]",
            "tasks.delta.install.variants.macos.steps[0].command",
        ]
    );
}

#[test]
fn data_of_one_layer_makes_nothing_of_another_wrong() {
    let home = Home::new();
    let profile = "metadata: {id: p, name: P}
question_flow:
  - id: q
    question: Q
    options:
      - {letter: A, text: Yes, user_data_required: [nvm_dir, version]}
      - {letter: B, text: No}
";
    let path = written(&home, "c/p.yaml", profile);
    let task = "metadata: {category: c}
tasks:
  t:
    name: T
    detection: {check_command: command -v t}
    install:
      steps:
        - command: VERSION=$(cat v); echo \"$VERSION\"
        - command: echo \"${VERSION:-1}\"
";
    written(&home, "c/t.yaml", task);
    written(&home, "c/q.yaml", "metadata: {id: q, name: Q}\nrequired_tasks: [t]\n");
    let folder = path.parent().unwrap().to_str().unwrap();
    let output = home.run(&["--catalog", folder, "catalog", "validate"]);
    assert_eq!(output.code, Some(0), "{}", output.stdout);
}

#[test]
fn what_counts_where_nobody_answers_must_be_an_answer() {
    let home = Home::new();
    let profile = |default: &str| {
        format!(
            "metadata: {{id: p, name: P}}\nquestion_flow:\n  - id: q\n    question: Q?\n    \
             default: {default}\n    options:\n      - {{letter: A, text: One}}\n      \
             - {{letter: B, text: Why, action: explain, explanation: So.}}\n"
        )
    };
    for (default, message) in [
        ("a", None),
        ("ONE", None),
        ("B", Some("`B` explains, and is no answer")),
        ("C", Some("no option has the letter or the value `C`")),
    ] {
        let path = written(&home, "profile.yaml", profile(default));
        let (code, said) = validate(&home, &[], &path);
        assert_eq!(code, Some(if message.is_some() { 8 } else { 0 }), "{default}: {said}");
        assert_eq!(said["diagnostics"][0]["message"].as_str(), message, "{default}");
        if message.is_some() {
            assert_eq!(said["diagnostics"][0]["line"], 5, "{said}");
        }
    }
}
