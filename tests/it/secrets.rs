//! User data arrives as it was given and is never executed; secrets are found nowhere; nothing of a
//! hostile environment reaches a command.

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::json;

use crate::harness::{Home, Output, processes, tree, wait_until};

#[test]
fn user_data_arrives_intact_and_is_never_executed() {
    let place = Home::new();
    let evil = place.path().join("evil");
    let long = "x".repeat(10_000);
    let touch =
        format!("$(touch {0}) `touch {0}`; touch {0} | touch {0} & touch {0}", evil.display());
    let values = [
        "plain",
        "it's \"quoted\" \\ twice",
        "two\nlines\n",
        "-n --dash",
        "tab\there",
        "émoji 🦀 日本",
        " blanks around ",
        "%s %d {{braces}} ${HOME} $HOME !history *",
        "",
        &touch,
        &long,
    ];
    for value in values {
        let home = Home::new();
        let plan = home.plan_file(&json!({
            "format": "plan-v1",
            "user_data": {"given": {}, "planned": {"value": value}},
            "tasks": [{"id": "it", "commands": [
                {"command": "printf %s \"$GIVEN\" > given; printf %s \"$PLANNED\" > planned"}
            ]}]
        }));
        let given = home.path().join("data.json");
        fs::write(&given, json!({"given": value}).to_string()).unwrap();
        let output = home.run(&[
            "apply",
            plan.to_str().unwrap(),
            "--yes",
            "--data-file",
            given.to_str().unwrap(),
        ]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        for name in ["given", "planned"] {
            assert_eq!(fs::read_to_string(home.path().join(name)).unwrap(), value);
        }
        assert!(!evil.exists(), "{value} was executed");
        let document = home.latest_document();
        assert_eq!(document["user_data"]["given"], value);
    }
}

/// Whether any file below the home holds `text`.
fn found_in_files(home: &Home, text: &str) -> Vec<String> {
    let holds = |content: &[u8]| content.windows(text.len()).any(|part| part == text.as_bytes());
    let files = tree(home.path()).into_iter();
    files
        .filter(|(_, _, content)| holds(content))
        .map(|(path, ..)| path.display().to_string())
        .collect()
}

#[test]
fn a_secret_is_found_nowhere() {
    let home = Home::new();
    let secret = format!("s3cr\"et/{:x}+ü é", u128::from(std::process::id()) * 7_919_000_003);
    let base64 = Command::new("bash")
        .args(["-c", "printf %s \"$1\" | base64 -w0", "-", &secret])
        .output()
        .unwrap();
    let base64 = String::from_utf8(base64.stdout).unwrap();
    let script = concat!(
        "echo \"plain: $TOKEN\"; ",
        // In pieces, with time for each to be read by itself.
        "for ((i = 0; i < ${#TOKEN}; i++)); do printf %s \"${TOKEN:i:1}\"; sleep 0.003; done; echo; ",
        "printf %s \"$TOKEN\" | base64 -w0; echo; ",
        "printf 'x%s' \"$TOKEN\" | base64 -w0; echo; ",
        "printf 'xy%s' \"$TOKEN\" | base64 -w0; echo; ",
        "printf '%s\\n' \"${TOKEN//\\\"/\\\\\\\"}\"; ",
        "printf '%q\\n' \"$TOKEN\"; ",
        // Across the border of what is kept of the beginning.
        "head -c 1048570 /dev/zero | tr '\\0' .; echo \"$TOKEN\"; ",
        "touch begun; while test -e begun && ! test -e go; do sleep 0.02; done; exit 5"
    );
    let plan = home.plan_file(&json!({
        "format": "plan-v1",
        "user_data": {"token": {"secret": true}},
        "tasks": [{
            "id": "it",
            "detection": {"check_command": "env; false"},
            "commands": [{"command": script}]
        }]
    }));
    let started = home
        .command(&["--json", "apply", plan.to_str().unwrap(), "--yes"])
        .env("PROVISION_DATA_TOKEN", &secret)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the command's begin", || home.path().join("begun").exists());
    assert_eq!(processes::with_in_command_line(&[&secret]), [0_u32; 0]);
    fs::write(home.path().join("go"), "").unwrap();
    let output = Output::after(started);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let id = home.latest();
    let shown = [
        output.stdout,
        output.stderr,
        home.run(&["logs", &id]).stdout,
        home.run(&["--json", "logs", &id]).stdout,
        home.run(&["--json", "history", &id]).stdout,
        home.run(&["status", &id]).stdout,
    ]
    .concat();
    // Every form of it, and what of base64 does not depend on what stands beside it.
    let escaped = serde_json::to_string(&secret).unwrap();
    for form in [&secret, escaped.trim_matches('"'), &base64[4..base64.len() - 4]] {
        assert_eq!(found_in_files(&home, form), Vec::<String>::new(), "{form}");
        assert!(!shown.contains(form), "{form} is shown");
    }
    let log = home.run(&["logs", &id, "--raw"]).stdout;
    assert!(log.starts_with("plain: [redacted]\n[redacted]\n[redacted]"), "{}", &log[..200]);
    assert!(log.contains(".[redacted]\n"), "the border of the first part");
    // A resumed session asks for it again.
    let again = home.run(&["resume", &id]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("PROVISION_DATA_TOKEN"), "{}", again.stderr);
    // And it has no place on a command line.
    let output = home.run(&["resume", &id, "--data", "token=abcdefgh"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("a command line is no place for one"), "{}", output.stderr);
    assert!(!output.stderr.contains("abcdefgh"));
}

#[test]
fn a_secret_that_a_probe_meets_is_not_kept_either() {
    let home = Home::new();
    let secret = "verysecrettoken1";
    let plan = home.plan_file(&json!({
        "format": "plan-v1",
        "user_data": {"token": {"secret": true}, "name": {}},
        "tasks": [{
            "id": "it",
            "detection": {"check_command": "false", "version_command": "cat kept"},
            "commands": [{"command": "echo \"token=$TOKEN\" > kept"}],
            "verification": {"command": "cat kept", "expected_pattern": "token=very"}
        }]
    }));
    let arguments = ["apply", plan.to_str().unwrap(), "--yes", "--data", "name=nobodys-business"];
    let output = Output::of(home.command(&arguments).env("PROVISION_DATA_TOKEN", secret));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!output.stderr.contains(secret), "{}", output.stderr);
    let kept = home.path().join("kept").display().to_string();
    assert_eq!(found_in_files(&home, secret), [kept]);
    // Nor does the lock tell others what was typed.
    let lock = fs::read_to_string(home.path().join("runner.lock")).unwrap();
    assert!(lock.contains("--data name=…") && !lock.contains("business"), "{lock}");
}

#[test]
fn a_secret_too_short_to_be_kept_out_is_named() {
    let home = Home::new();
    let plan = home.plan_file(&json!({
        "format": "plan-v1",
        "user_data": {"pin": {"secret": true}},
        "tasks": [{"id": "it", "commands": [{"command": "true"}]}]
    }));
    let mut command = home.command(&["apply", plan.to_str().unwrap(), "--yes"]);
    let output = Output::of(command.env("PROVISION_DATA_PIN", "12345"));
    assert_eq!(output.code, Some(0));
    assert!(output.stderr.contains("`pin` is too short"), "{}", output.stderr);
    assert!(!output.stderr.contains("12345"));
}

#[test]
fn nothing_of_a_hostile_environment_reaches_a_command() {
    let home = Home::new();
    let evil = home.path().join("evil");
    let script = home.path().join("evil.sh");
    fs::write(&script, format!("touch '{}'\n", evil.display())).unwrap();
    let stray = home.path().join("true-tool");
    fs::write(&stray, format!("#!/bin/sh\ntouch '{}'\n", evil.display())).unwrap();
    Command::new("chmod").args(["755", stray.to_str().unwrap()]).status().unwrap();
    let plan = home.plan(&json!([{
        "id": "it",
        "detection": {"check_command": "true-tool; false"},
        "commands": [{"command": "ls > /dev/null; true-tool; env > env; set -o > options; true"}],
        "verification": {"command": "env > env2; ls"}
    }]));
    let mut command = home.command(&["apply", plan.to_str().unwrap(), "--yes"]);
    let output = Output::of(
        command
            .current_dir(home.path())
            .env("PATH", ".:/usr/bin::/bin:relative")
            .env("BASH_ENV", &script)
            .env("ENV", &script)
            .env("LD_PRELOAD", "/no/such/library.so")
            .env("LD_LIBRARY_PATH", home.path())
            .env("BASH_FUNC_ls%%", format!("() {{ touch '{}'; }}", evil.display()))
            .env("SHELLOPTS", "xtrace:noglob")
            .env("PS4", "$(touch evil)")
            .env("IFS", "x")
            .env("PROMPT_COMMAND", "touch evil")
            .env("SSH_CLIENT", "192.0.2.1 1 2")
            .env("GIT_SSH_COMMAND", "touch evil"),
    );
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!evil.exists());
    for name in ["env", "env2"] {
        let environment = fs::read_to_string(home.path().join(name)).unwrap();
        for word in
            ["LD_", "BASH_ENV", "BASH_FUNC", "SHELLOPTS", "PS4", "IFS", "SSH_CLIENT", "relative"]
        {
            assert!(!environment.contains(word), "{word} in:\n{environment}");
        }
        let path = environment.lines().find_map(|line| line.strip_prefix("PATH=")).unwrap();
        // Before it comes only what we put there ourselves, for commands and not for probes.
        let own = format!("{}/records/", home.path().display());
        let path = if path.starts_with(&own) { path.split_once(':').unwrap().1 } else { path };
        assert_eq!(path, "/usr/bin:/bin");
        assert!(environment.contains("DEBIAN_FRONTEND=noninteractive"), "{environment}");
    }
    let options = fs::read_to_string(home.path().join("options")).unwrap();
    assert!(!options.contains("xtrace         \ton"), "{options}");
}
