//! Pages as people see them: in a real Chromium, on a desk and on a phone, light and dark, with and
//! without scripts, and by a checker of accessibility.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    harness::{Home, skip},
    toolbox::{Toolbox, read},
};

/// Where the modules of the browser are; `None`, and a word why, where nobody has set that up.
fn modules() -> Option<PathBuf> {
    let place = std::env::var_os("PROVISION_TEST_BROWSER").map(PathBuf::from);
    if place.is_none() {
        skip("it needs Chromium and two npm packages (tests/run sets them up)");
    }
    place
}

/// What Chromium saw of pages, by setting. The pictures stay below the target directory.
fn look(modules: &Path, home: &Home, pages: &[(&str, PathBuf)]) -> Vec<Value> {
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    fs::create_dir_all(&shots).unwrap();
    let is_large = |file: &Path| fs::metadata(file).unwrap().len() > 200_000;
    let pages: Vec<_> = pages
        .iter()
        .map(|(name, file)| json!({"name": name, "file": file, "large": is_large(file)}))
        .collect();
    let job = home.path().join("job.json");
    let told = json!({
        "modules": modules, "chromium": "/usr/bin/chromium", "shots": shots, "pages": pages,
    });
    fs::write(&job, told.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/look.mjs");
    let mut node = Command::new("node");
    // The watchdog finds the processes of a test by its home.
    node.arg(script).arg(&job).env("AGENTIC_PROVISION_HOME", home.path());
    let seen = node.output().expect("node opens the browser");
    assert!(seen.status.success(), "{}", String::from_utf8_lossy(&seen.stderr));
    println!("pictures in {}", shots.display());
    serde_json::from_slice(&seen.stdout).unwrap()
}

/// Whatever a page holds: nothing complains, nothing leaves it, it fits, anyone can read it, and
/// scripts only help to find things.
fn assert_sound(seen: &[Value]) {
    for page in seen {
        let name = format!("{} {}", page["name"], page["setting"]);
        assert_eq!(page["complaints"], json!([]), "{name}");
        assert_eq!(page["requests"], json!([]), "{name}");
        assert_eq!(page["landmarks"], json!([1, 1, 1, 1]), "{name}");
        if page["setting"] == "phone" {
            for width in ["width", "unfoldedWidth"] {
                assert!(page[width].as_u64().unwrap() <= 390, "{name}: {}", page[width]);
            }
        }
        if page["setting"] == "no-scripts" {
            let with = seen
                .iter()
                .find(|other| other["name"] == page["name"] && other["setting"] == "desk");
            assert_eq!(page["text"], with.unwrap()["text"], "{name}");
        } else if let Some(violations) = page.get("violations") {
            assert_eq!(violations, &json!([]), "{name}");
        }
        if page["setting"] == "desk" {
            assert!(page["violations"].is_array(), "{name} was not checked");
            assert_eq!(page["printed"], true, "{name}");
            assert_eq!(page["use"]["first"], "Skip to the content", "{name}");
        }
    }
}

/// What a page says on a desk.
fn text(seen: &[Value]) -> &str {
    seen.iter().find(|page| page["setting"] == "desk").unwrap()["text"].as_str().unwrap()
}

fn report(home: &Home) -> PathBuf {
    let file = home.path().join("report.html");
    let output = home.run(&["report", "latest", "-o", file.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    file
}

#[test]
fn a_session_with_failures_and_retries_can_be_read_anywhere() {
    let Some(modules) = modules() else { return };
    let home = Home::new();
    let flaky = "n=$(cat ~/n 2>/dev/null || echo 0); echo $((n + 1)) > ~/n; \
                 if [ $n -lt 2 ]; then echo 'curl: (6) Could not resolve host: example.invalid' >&2; exit 6; fi; \
                 echo fetched";
    let plan = json!([
        {"id": "prepare", "name": "Preparations", "category": "things", "commands": [
            {"command": "sleep 0.3; echo ready", "description": "Gets ready"},
            {"command": "sleep 0.2"}]},
        {"id": "beside", "commands": [{"command": "sleep 0.4; echo beside"}]},
        {"id": "fetch", "commands": [{"command": flaky, "retries": 3}]},
        {"id": "break", "depends_on": ["prepare"], "commands": [
            {"command": "apt-get install --yes --simulate there-is-no-such-package"}]},
        {"id": "needs-it", "depends_on": ["break"], "commands": [{"command": "echo never"}]},
    ]);
    assert_eq!(home.apply(&plan, &["--jobs", "3", "--keep-going"]).code, Some(3));
    let seen = look(&modules, &home, &[("failed", report(&home))]);
    assert_sound(&seen);
    let text = text(&seen);
    for piece in [
        "Unable to locate package there-is-no-such-package",
        "attempt 3 of 3: exit code 0",
        "curl: (6) Could not resolve host",
        "Gets ready",
        "fetched",
    ] {
        assert!(text.contains(piece), "{piece}\n{text}");
    }
    let used = &seen[0]["use"];
    assert_eq!(used["focused"], "find-words");
    assert_eq!(used["all"].as_array().unwrap().len(), 5);
    assert_eq!(used["byWords"], json!(["needs-it"]));
    assert_eq!(used["told"], "1 of 5 shown");
    assert_eq!(used["states"], json!(["all", "set up", "failed", "skipped"]));
    assert_eq!(used["byState"], json!(["prepare", "beside", "fetch"]));
    assert_eq!(used["unfolded"], true);
}

#[test]
fn five_hundred_tasks_are_one_page_too() {
    let Some(modules) = modules() else { return };
    let home = Home::new();
    let task = |number: usize| {
        let command = format!("echo this is {number}");
        json!({"id": format!("task-{number:03}"), "commands": [{"command": command}]})
    };
    let tasks: Vec<_> = (0..500).map(task).collect();
    assert_eq!(home.apply(&json!(tasks), &["--jobs", "8"]).code, Some(0));
    let seen = look(&modules, &home, &[("many", report(&home))]);
    assert_sound(&seen);
    let text = text(&seen);
    for number in 0..500 {
        assert!(text.contains(&format!("this is {number}\n")), "{number}");
    }
    assert_eq!(seen[0]["use"]["byWords"], json!(["task-499"]));
}

#[test]
fn hostile_names_and_output_are_shown_as_they_were_recorded() {
    let Some(modules) = modules() else { return };
    let home = Home::new();
    let script = "<script>document.title='taken over'</script>";
    let break_out = "\"'></pre></details><img src=x onerror=\"document.title='taken over'\"><!--";
    let plan = json!([
        {"id": "evil", "name": format!("{script} & \"friends\" <b>"), "category": break_out,
         "commands": [
            {"command": format!("cat <<'END'\n{script}\n{break_out}\n&lt;not an entity&gt; &amp;\nEND"),
             "description": format!("{script} \u{202e}sdrawkcab\u{202c}")},
            {"command": "printf '\\033[31mred\\033[0m \\a\\b|\\000|\\377|\\r\\n'; printf 'a\\tb\\n'"},
            {"command": "echo 'שלום עולם 👩‍🔧 العربية'; printf 'evil\\342\\200\\256txt.exe\\n'"},
            {"command": format!("echo {}", "w".repeat(5000))},
            {"command": format!("echo \"{}\" >&2; exit 3", script.replace('\'', "\\'"))},
         ]},
    ]);
    assert_eq!(home.apply(&plan, &[]).code, Some(3));
    let seen = look(&modules, &home, &[("hostile", report(&home))]);
    assert_sound(&seen);
    let text = text(&seen);
    for piece in [
        &format!("{script}\n{break_out}\n&lt;not an entity&gt; &amp;\n"),
        &format!("{script} & \"friends\" <b>"),
        break_out,
        // What would not be seen, or would turn the line around, is written out.
        "\\u{202e}sdrawkcab\\u{202c}",
        "\\u{1b}[31mred\\u{1b}[0m \\u{7}\\u{8}|\\u{0}|\u{fffd}|\na\tb\n",
        "שלום עולם 👩\\u{200d}🔧 العربية\nevil\\u{202e}txt.exe\n",
        &"w".repeat(5000),
    ] {
        assert!(text.contains(piece), "{piece:?}\n{text:?}");
    }
    for page in &seen {
        assert!(page["title"].as_str().unwrap().starts_with("Report: "), "{}", page["title"]);
    }
}

#[test]
fn the_page_of_an_audit_can_be_read_anywhere() {
    let Some(modules) = modules() else { return };
    let toolbox = Toolbox::new();
    toolbox.session("anvil,chisel");
    toolbox.forge("anvil", "'<script>1</script>'");
    toolbox.lose("chisel");
    toolbox.forge("drill", "7.0");
    let file = toolbox.file("audit.html");
    toolbox.said(7, &["audit", "--html", file.to_str().unwrap()]);
    let seen = look(&modules, &toolbox.home, &[("audit", file.clone())]);
    assert_sound(&seen);
    let text = text(&seen);
    assert!(text.contains("1.0.0 → tb-anvil <script>1</script>"), "{text}");
    assert!(text.contains("added outside"), "{text}");
    assert!(read(&file).contains("<html lang=\"en\">"));
}
