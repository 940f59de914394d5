//! Answers, data, secrets and decisions: what a walk is given, by whom, and what becomes of it.

use std::{fs, io::Write, process::Stdio};

use serde_json::json;

use crate::{
    catalog_mistakes::written,
    harness::{Home, Output},
    start::{begun, made, painted, sessions, start},
};

#[test]
fn every_missing_answer_is_named_at_once_and_nothing_is_left_behind() {
    let home = painted();
    let output = start(&home, &["--yes"]);
    insta::assert_snapshot!(output.snapshot(&home), @r#"
    exit 2
    --- stdout
    --- stderr
    error: 2 answers are missing
      cause: `colour` is not answered: Which colour?
      cause: `signature` is not answered: Will you sign it?
    hint: `colour`: --answer colour=LETTER: A (red), B (blue)
    hint: `signature`: --answer signature=LETTER: A (sign), B (unsigned)
    "#);
    assert_eq!(sessions(&home), 0);
    assert!(!home.path().join("records").exists());
    // What is known of the missing ones grows with the answers.
    let more = start(&home, &["--yes", "--answer", "colour=b", "--answer", "signature=a"]);
    insta::assert_snapshot!(more.snapshot(&home), @r#"
    exit 2
    --- stdout
    --- stderr
    error: 3 answers are missing
      cause: `shading` is not answered: Shaded?
      cause: `owner` is not answered: Your name
      cause: `pass_phrase` is not answered: A pass phrase
    hint: `shading`: --answer shading=LETTER: A (shaded), B (plain)
    hint: `owner`: --data owner=VALUE
    hint: `pass_phrase`: --data-file FILE or PROVISION_DATA_PASS_PHRASE
    "#);
    assert_eq!(sessions(&home), 0);
}

#[test]
fn what_was_given_wrongly_is_told_all_at_once() {
    let home = painted();
    let answers = written(
        &home,
        "mine.yaml",
        "answers: {colour: Z, signatur: A}\nuser_data: {onwer: ada}\noptions: {shade: {deth: 1}, shad: {}}\nwithout: [blu]\n",
    );
    let file = answers.to_str().unwrap();
    let output = start(&home, &["--answers", file, "--answer", "shading=Q", "--data", "x=1"]);
    insta::assert_snapshot!(output.snapshot(&home), @r#"
    exit 2
    --- stdout
    --- stderr
    error: there are 8 mistakes in what was given
      cause: `Z` is no answer to `colour`: A (red), B (blue)
      cause: `Q` is no answer to `shading`: A (shaded), B (plain)
      cause: `onwer` is not a value that is asked for; did you mean `owner`?
      cause: `x` is not a value that is asked for
      cause: task `shade` has no option `deth`; did you mean `depth`?
      cause: there is no question `signatur`; did you mean `signature`?
      cause: there is no task `blu`; did you mean `blue`?
      cause: there is no task `shad`; did you mean `shade`?
      cause: `signature` is not answered: Will you sign it?
    hint: `signature`: --answer signature=LETTER: A (sign), B (unsigned)
    "#);
    assert_eq!(sessions(&home), 0);
}

#[test]
fn a_file_with_answers_is_checked_like_a_catalog() {
    let home = painted();
    let answers = written(&home, "mine.yaml", "answrs: {}\nmode: often\nadd: jq\nanswers: [a]\n");
    let output = start(&home, &["--answers", answers.to_str().unwrap()]);
    insta::assert_snapshot!(output.snapshot(&home), @r#"
    exit 2
    --- stdout
    --- stderr
    error: the file with answers `[HOME]/mine.yaml` has 4 mistakes
      cause: [HOME]/mine.yaml:1:1: an answers file has no field `answrs`
      cause: [HOME]/mine.yaml:2:7: `often` is not one of `all_at_once`, `review_each_step`
      cause: [HOME]/mine.yaml:3:6: expected a list of task ids, found the text `jq`
      cause: [HOME]/mine.yaml:4:10: expected a mapping, found a list
    hint: did you mean `answers`?
    hint: write [jq]
    hint: `provision schema answers` prints its format
    "#);
    let missing = start(&home, &["--answers", "nowhere.yaml"]);
    insta::assert_snapshot!(missing.snapshot(&home), @r#"
    exit 2
    --- stdout
    --- stderr
    error: the file with answers `nowhere.yaml` has 1 mistake
      cause: nowhere.yaml:1:1: it leads nowhere: there is no such file
    hint: `provision schema answers` prints its format
    "#);
}

#[test]
fn explaining_is_no_answer() {
    let home = painted();
    let output = start(&home, &["--answer", "colour=C", "--answer", "signature=b"]);
    assert_eq!(output.code, Some(2));
    let message = "`C` is no answer to `colour`: A (red), B (blue)";
    assert!(output.stderr.contains(message), "{}", output.stderr);
}

#[test]
fn data_is_held_against_its_pattern_and_its_kind() {
    let home = painted();
    let base = ["--answer", "colour=b", "--answer", "shading=a", "--answer", "signature=a"];
    let bad = [
        &base[..],
        &["--data", "owner=ada", "--data", "depth=deep", "--data", "shade.finish=rough"],
    ];
    let output = start(&home, &bad.concat());
    insta::assert_snapshot!(output.snapshot(&home), @r#"
    exit 2
    --- stdout
    --- stderr
    error: there are 3 mistakes in what was given
      cause: `owner`: `ada` does not match `[A-Z].*`
      cause: `shade.depth`: `deep` is not a number
      cause: `shade.finish`: `rough` is none of matt, gloss
    "#);
    let good = [&base[..], &["--data", "owner=Ada", "--data", "finish=GLOSS"]];
    let output = start(&home, &good.concat());
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    let document = home.latest_document();
    assert_eq!(document["user_data"]["owner"], "Ada");
    assert_eq!(document["user_data"]["shade.finish"], "gloss");
}

#[test]
fn a_secret_comes_by_file_environment_or_standard_input_and_is_never_written() {
    let secret = "correct horse battery";
    let base = ["--yes", "--answer", "colour=a", "--answer", "signature=a", "--data", "owner=Ada"];
    let given = json!({"pass_phrase": secret}).to_string();
    for way in ["file", "environment", "stdin"] {
        let home = painted();
        let arguments = [&["start", "paint", "--no-input"][..], &base[..]].concat();
        let output = match way {
            "file" => {
                let file = written(&home, "secret.json", &given);
                let output =
                    home.run(&[&arguments[..], &["--data-file", file.to_str().unwrap()]].concat());
                fs::remove_file(file).unwrap();
                output
            }
            "environment" => {
                Output::of(home.command(&arguments).env("PROVISION_DATA_PASS_PHRASE", secret))
            }
            _ => {
                let mut command = home.command(&[&arguments[..], &["--data-file", "-"]].concat());
                let mut child = command
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap();
                child.stdin.take().unwrap().write_all(given.as_bytes()).unwrap();
                Output::after(child)
            }
        };
        assert_eq!(output.code, Some(0), "{way}: {}", output.stderr);
        assert_eq!(made(&home, "signed").unwrap(), format!("Ada: {}\n", secret.len()), "{way}");
        assert!(!output.stderr.contains(secret), "{way}: {}", output.stderr);
        for (path, _, content) in crate::harness::tree(home.path()) {
            let content = String::from_utf8_lossy(&content);
            assert!(!content.contains(secret), "{way}: {}", path.display());
        }
    }
}

#[test]
fn a_secret_in_sight_is_refused_and_not_repeated() {
    let home = painted();
    let base = ["--yes", "--answer", "colour=a", "--answer", "signature=a", "--data", "owner=Ada"];
    let secret = "correct horse battery";
    let typed = start(&home, &[&base[..], &["--data", &format!("pass_phrase={secret}")]].concat());
    insta::assert_snapshot!(typed.snapshot(&home), @r#"
    exit 2
    --- stdout
    --- stderr
    error: `pass_phrase` is a secret, and neither a command line nor a file with answers is a place for one
    hint: give it with --data-file FILE (`-` is standard input) or PROVISION_DATA_PASS_PHRASE
    "#);
    for file in [
        format!("user_data: {{pass_phrase: {secret}}}"),
        format!("options: {{signed: {{pass_phrase: {secret}}}}}"),
    ] {
        let answers = written(&home, "mine.yaml", file);
        let output = start(&home, &[&base[..], &["--answers", answers.to_str().unwrap()]].concat());
        assert_eq!(output.code, Some(2), "{}", output.stderr);
        assert!(output.stderr.contains("`pass_phrase` is a secret"), "{}", output.stderr);
        assert!(!output.stderr.contains(secret), "{}", output.stderr);
    }
    let missing = start(&home, &base);
    assert_eq!(missing.code, Some(2));
    let how = "--data-file FILE or PROVISION_DATA_PASS_PHRASE";
    assert!(missing.stderr.contains(how), "{}", missing.stderr);
    assert_eq!(sessions(&home), 0);
}

#[test]
fn a_resumed_session_asks_for_its_secret_again_and_only_while_it_needs_it() {
    let home = painted();
    let base = ["--answer", "colour=a", "--answer", "signature=a", "--data", "owner=Ada"];
    // The plan is shown without it: a secret is for commands.
    assert_eq!(start(&home, &base).code, Some(4));
    let id = home.latest();
    let digest = home.latest_document()["plan"]["digest"].as_str().unwrap().to_owned();
    let without = home.run(&["resume", &id, "--approve", &digest]);
    assert_eq!(without.code, Some(2), "{}", without.stderr);
    assert!(without.stderr.contains("pass_phrase"), "{}", without.stderr);
    let mut command = home.command(&["resume", &id, "--approve", &digest]);
    let output = Output::of(command.env("PROVISION_DATA_PASS_PHRASE", "correct horse"));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    // Everything is there: nobody needs it any more.
    let again = start(&home, &[&base[..], &["--yes"]].concat());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}

#[test]
fn two_that_conflict_are_decided_by_a_recorded_answer() {
    let home = painted();
    let base = ["--answer", "colour=b", "--answer", "shading=b", "--answer", "signature=b"];
    let both = [&base[..], &["--add", "red"]].concat();
    let output = start(&home, &both);
    insta::assert_snapshot!(output.snapshot(&home), @r#"
    exit 2
    --- stdout
    --- stderr
    error: no plan can be made, for 1 reason
      cause: tasks `blue` (paint → colour: B → blue) and `red` (--add → red) get in each other's way
    hint: decide with --answer conflict:blue:red=A (blue only), B (red only) or C (both)
    "#);
    for (answer, value, tasks) in
        [("A", "blue", json!(["base", "blue"])), ("both", "both", json!(["base", "blue", "red"]))]
    {
        let decided = format!("conflict:blue:red={answer}");
        let output = start(&home, &[&both[..], &["--answer", &decided]].concat());
        assert_eq!(output.code, Some(4), "{}", output.stderr);
        let document = begun(&home, &output);
        assert_eq!(document["choices"]["conflict:blue:red"]["value"], value);
        let planned: Vec<_> = document["tasks"].as_object().unwrap().keys().collect();
        assert_eq!(json!(planned), tasks);
    }
}

#[test]
fn what_is_installed_already_may_be_in_the_way_too() {
    let home = painted();
    fs::create_dir_all(home.path().join("made")).unwrap();
    fs::write(home.path().join("made/blue"), "").unwrap();
    let base = ["--yes", "--answer", "colour=a", "--answer", "signature=b"];
    let output = start(&home, &base);
    insta::assert_snapshot!(output.snapshot(&home), @r#"
    exit 2
    --- stdout
    --- stderr
    error: no plan can be made, for 1 reason
      cause: task `red` (paint → colour: A → red) gets in the way of `blue`, which is installed already
    hint: decide with --answer conflict:red:blue=A (leave red out) or B (both)
    "#);
    let left_out =
        start(&home, &[&base[..], &["--answer", "conflict:red:blue=leave_out"]].concat());
    assert_eq!(left_out.code, Some(0), "{}", left_out.stderr);
    assert!(made(&home, "red").is_none());
    let beside = start(&home, &[&base[..], &["--answer", "conflict:red:blue=B"]].concat());
    assert_eq!(beside.code, Some(0), "{}", beside.stderr);
    assert!(made(&home, "red").is_some());
    let document = begun(&home, &beside);
    assert_eq!(document["choices"]["conflict:red:blue"]["value"], "both");
}

#[test]
fn what_a_task_offers_to_bring_along_comes_only_if_wanted() {
    for (answer, comes) in
        [(None, false), (Some("also:frame:glass=no"), false), (Some("also:frame:glass=A"), true)]
    {
        let home = painted();
        let mut arguments = vec!["start", "--add", "frame", "--yes"];
        arguments.extend(answer.iter().flat_map(|answer| ["--answer", answer]));
        let output = home.run(&arguments);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert_eq!(made(&home, "glass").is_some(), comes, "{answer:?}");
        let choice = &home.latest_document()["choices"]["also:frame:glass"]["value"];
        assert_eq!(choice, if comes { "yes" } else { "no" });
    }
}

#[test]
fn what_is_needed_cannot_be_left_out() {
    let home = painted();
    let base = ["--answer", "colour=a", "--answer", "signature=b"];
    let output = start(&home, &[&base[..], &["--without", "base"]].concat());
    insta::assert_snapshot!(output.snapshot(&home), @r#"
    exit 2
    --- stdout
    --- stderr
    error: no plan can be made, for 2 reasons
      cause: task `base` cannot be left out: profile `paint` requires it (paint → base)
      cause: task `base` cannot be left out: task `red` needs it (paint → colour: A → red → base)
    "#);
    let anyway = start(&home, &[&base[..], &["--without", "red"]].concat());
    assert_eq!(anyway.code, Some(4), "{}", anyway.stderr);
    let planned = begun(&home, &anyway);
    assert!(planned["tasks"].get("red").is_none(), "{planned}");
    assert_eq!(planned["choices"]["tools_left_out"]["value"], "red");
}

/// What is a secret to anyone is a secret to all: they share its name.
#[test]
fn a_secret_by_any_name_is_never_written() {
    let secret = "correct horse battery";
    let task = |id: &str, kind: &str| {
        format!(
            "  {id}:\n    name: {id}\n    detection: {{installed_indicator: ~/{id}}}\n    \
             options: [{{id: token, prompt: T, type: {kind}}}]\n    \
             install: {{steps: [{{command: 'test -n \"$TOKEN\" && touch ~/{id}'}}]}}\n"
        )
    };
    let home = Home::new();
    let tasks = task("open", "string") + &task("closed", "secret");
    written(&home, "tasks/t.yaml", format!("metadata: {{category: c}}\ntasks:\n{tasks}"));
    let profile = "metadata: {id: p, name: P}\nquestion_flow:\n  - id: q\n    question: Q?\n    \
                   options:\n      - {letter: A, text: Yes it is, tasks: [closed], user_data_required: [token]}\n";
    written(&home, "profiles/p.yaml", profile);
    for arguments in [&["start", "--add", "open,closed"][..], &["start", "p", "--answer", "q=a"]] {
        for task in ["open", "closed"] {
            let _ = fs::remove_file(home.path().join(task));
        }
        let mut command = home.command(&[arguments, &["--yes"]].concat());
        let output = Output::of(command.env("PROVISION_DATA_TOKEN", secret));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        for (path, _, content) in crate::harness::tree(home.path()) {
            let content = String::from_utf8_lossy(&content);
            assert!(!content.contains(secret), "{}", path.display());
        }
        for typed in ["token=x", "closed.token=x"] {
            let refused = home.run(&[arguments, &["--data", typed]].concat());
            assert_eq!(refused.code, Some(2), "{typed}: {}", refused.stderr);
            assert!(refused.stderr.contains("is a secret"), "{}", refused.stderr);
            assert!(refused.stderr.contains("or PROVISION_DATA_TOKEN\n"), "{}", refused.stderr);
        }
    }
}

#[test]
fn ids_that_mean_something_else_are_told_apart() {
    let home = painted();
    let profile = "metadata: {id: twice, name: Twice}\nquestion_flow:\n  - id: owner\n    \
                   question: Owned?\n    options:\n      \
                   - {letter: A, text: Yes it is, tasks: [base], user_data_required: [owner]}\n";
    written(&home, "profiles/twice.yaml", profile);
    let plan = home.run(&["plan", "twice", "--answer", "owner=A", "--data", "owner=Ada"]);
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    let far = home.run(&["plan", "paint", "--answer", "weather=A"]);
    let all = "there are: colour, shading, signature\n";
    assert!(far.stderr.contains(all), "{}", far.stderr);
    let mistaken = home.run(&["plan", "paint", "--answer", "colour=signature"]);
    assert!(mistaken.stderr.contains("`signature` is not answered"), "{}", mistaken.stderr);
    for (wrong, says) in [
        (&["plan", "--add", "base red"][..], "expected the id of a task"),
        (&["plan", "--add", ""], "expected the id of a task"),
        (&["plan", "paint", "--answer", "=x"], "expected a name before the `=`"),
        (&["plan", "paint", "--answer", "stack_type=x"], "there is no question `stack_type`"),
    ] {
        let output = home.run(wrong);
        assert_eq!(output.code, Some(2), "{wrong:?}: {}", output.stderr);
        assert!(output.stderr.contains(says), "{wrong:?}: {}", output.stderr);
    }
}

#[test]
fn a_secret_whose_task_is_done_is_not_asked_for_again() {
    let home = painted();
    let late = "metadata: {category: c}\ntasks:\n  late:\n    name: Late\n    \
                detection: {installed_indicator: ~/late}\n    \
                dependencies: {required: [signed]}\n    \
                install: {steps: [{command: 'test -e ~/ready && touch ~/late'}]}\n";
    written(&home, "tasks/late.yaml", late);
    let mut command = home.command(&["start", "--add", "late", "--yes"]);
    let output = Output::of(command.env("PROVISION_DATA_PASS_PHRASE", "correct horse"));
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(made(&home, "signed").is_some());
    written(&home, "ready", "");
    let resumed = home.run(&["resume"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
}
