//! What real shells offer when Tab is pressed: commands, flags, and what is in the store and the
//! catalog. Asking changes nothing, and no name that stands there harms the shell.

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::json;

use crate::harness::{Home, Output, skip};

/// A shell as somebody would start it who has `provision`, and nothing else of their own.
fn shell(home: &Home, name: &str) -> Option<Command> {
    let Some(program) = ["/usr/bin", "/bin"]
        .map(|place| Path::new(place).join(name))
        .into_iter()
        .find(|program| program.exists())
    else {
        skip(format!("there is no {name} here"));
        return None;
    };
    Some(with_surroundings(Command::new(program), home))
}

fn with_surroundings(mut command: Command, home: &Home) -> Command {
    let bin = Path::new(env!("CARGO_BIN_EXE_provision")).parent().unwrap();
    command
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("HOME", home.path())
        .env("AGENTIC_PROVISION_HOME", home.path())
        .env("LANG", "C.UTF-8")
        .env("TERM", "xterm")
        .stdin(Stdio::null());
    command
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// What bash offers for the last word of a line.
fn in_bash(home: &Home, line: &str) -> Option<Vec<String>> {
    let script = r#"
        source <(provision completions bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _provision provision "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut command = shell(home, "bash")?;
    command.args(["--norc", "-c", script, "bash"]).args(line.split(' '));
    let output = Output::of(&mut command);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{line}");
    Some(lines(&output.stdout))
}

/// What fish offers, with what it says about each.
fn in_fish(home: &Home, line: &str) -> Option<Vec<String>> {
    let mut command = shell(home, "fish")?;
    let script = "provision completions fish | source; complete -C \"$argv[1]\"";
    command.args(["--no-config", "-c", script, line]);
    let output = Output::of(&mut command);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{line}");
    Some(lines(&output.stdout))
}

/// What zsh offers on a terminal, and at last the line as it stands after Tab.
fn in_zsh(home: &Home, line: &str) -> Option<Vec<String>> {
    shell(home, "zsh")?;
    let place = home.path().join("zsh");
    fs::create_dir_all(&place).unwrap();
    let rc = r#"
        autoload -U compinit; compinit -u -D
        # However many there are, nobody is asked whether they want to see them.
        LISTMAX=100000
        source <(provision completions zsh)
        compadd() {
            local -a hits
            builtin compadd -O hits "$@"
            print -rl -- $hits >> $OFFERED
            builtin compadd "$@"
        }
        zle-line-init() {
            BUFFER=$TYPED CURSOR=$#TYPED
            zle complete-word
            print -r -- "line: $BUFFER" >> $OFFERED
            exit
        }
        zle -N zle-line-init
    "#;
    fs::write(place.join(".zshrc"), rc).unwrap();
    let offered = place.join("offered");
    let _ = fs::remove_file(&offered);
    let mut command = with_surroundings(Command::new("script"), home);
    command.args(["--quiet", "--return", "--command", "zsh -i", "/dev/null"]);
    command.env("ZDOTDIR", &place).env("OFFERED", &offered).env("TYPED", line);
    // The terminal is there as long as somebody could type.
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut child = child;
    let keyboard = child.stdin.take();
    let screen = child.wait_with_output().unwrap();
    drop(keyboard);
    let said = fs::read_to_string(&offered);
    let said = said.unwrap_or_else(|error| panic!("{error}: {screen:?}"));
    Some(lines(&said))
}

/// What each shell that is here offers, without what it says about it.
fn everywhere(home: &Home, line: &str) -> Vec<(&'static str, Vec<String>)> {
    let value = |line: String| line.split('\t').next().unwrap().to_owned();
    let fish = in_fish(home, line).map(|found| found.into_iter().map(value).collect());
    let zsh = in_zsh(home, line).map(|mut found| {
        found.retain(|line| !line.starts_with("line: "));
        // It looks at them more than once.
        let mut seen = HashSet::new();
        found.retain(|line| seen.insert(line.clone()));
        found
    });
    let shells = [("bash", in_bash(home, line)), ("fish", fish), ("zsh", zsh)];
    shells.into_iter().filter_map(|(name, found)| Some((name, found?))).collect()
}

/// A file with a task, in JSON: YAML is more than that.
fn task(id: &str, name: &str, category: &str) -> String {
    let task = json!({
        "id": id, "name": name, "description": "x", "category": category,
        "detection": {"check_command": "command -v nosuch"},
        "packages": {"apt": ["nosuch"]},
        "verification": {"command": "nosuch"},
    });
    json!({"tasks": {id: task}}).to_string()
}

/// One that is done and two that failed, the oldest first.
fn with_sessions(home: &Home) -> [String; 3] {
    let plans = [("one", "true", "01"), ("two", "false", "02"), ("three", "false", "03")];
    plans.map(|(task, command, day)| {
        let plan = home.plan(&json!([{"id": task, "commands": [{"command": command}]}]));
        let mut command = home.command(&["apply", plan.to_str().unwrap(), "--yes"]);
        let output =
            Output::of(command.env("AGENTIC_PROVISION_CLOCK", format!("2026-02-{day}T10:00:00Z")));
        let line = output.stderr.lines().find_map(|line| line.strip_prefix("session "));
        line.unwrap_or_else(|| panic!("{}", output.stderr)).to_owned()
    })
}

#[test]
fn every_shell_completes_commands_flags_and_what_the_catalog_has() {
    let home = Home::new();
    let cases = [
        ("provision res", "resume"),
        ("provision --col", "--color"),
        ("provision --color n", "never"),
        ("provision catalog val", "validate"),
        ("provision start ess", "essentials"),
        ("provision plan rust-s", "rust-systems"),
        ("provision start --add ripg", "ripgrep"),
        ("provision start --add jq,ripg", "jq,ripgrep"),
        ("provision plan essentials --without lazyg", "lazygit"),
        ("provision plan essentials --answer edi", "editor="),
        ("provision catalog list --category edi", "editors"),
        ("provision catalog show ripg", "ripgrep"),
        ("provision catalog show ess", "essentials"),
        ("provision man catalog val", "validate"),
        ("provision completions f", "fish"),
    ];
    for (line, expected) in cases {
        for (shell, found) in everywhere(&home, line) {
            assert_eq!(found, [expected], "{shell}: {line}");
        }
    }
    assert!(!home.path().join("sessions").exists(), "asking made a store");
}

#[test]
fn every_shell_completes_sessions_and_their_tasks() {
    let home = Home::new();
    let [one, two, three] = with_sessions(&home);
    for (shell, mut found) in everywhere(&home, "provision status ") {
        let mut expected = [&three, &two, &one].map(String::as_str).to_vec();
        expected.push("latest");
        if shell == "zsh" {
            // What is said alike is offered together.
            found.sort();
            expected.sort_unstable();
        }
        assert_eq!(found, expected, "{shell}");
    }
    for (shell, mut found) in everywhere(&home, "provision resume ") {
        found.sort();
        assert_eq!(found, ["latest", &two, &three], "{shell}");
    }
    let cases = [
        (format!("provision resume {}", &two[..13]), two.clone()),
        (format!("provision logs {two} "), "two".to_owned()),
        (format!("provision recover {three} --resume-at t"), "three".to_owned()),
    ];
    for (line, expected) in cases {
        for (shell, found) in everywhere(&home, &line) {
            assert_eq!(found, [expected.as_str()], "{shell}: {line}");
        }
    }
}

#[test]
fn fish_says_what_each_session_is() {
    let home = Home::new();
    let [_, _, three] = with_sessions(&home);
    let Some(found) = in_fish(&home, "provision status ") else { return };
    assert_eq!(found[0], format!("{three}\tfailed, custom"));
}

#[test]
fn the_home_and_the_catalog_on_the_line_count() {
    let (here, there) = (Home::new(), Home::new());
    let [one, ..] = with_sessions(&there);
    let folder = there.path().join("team");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("tool.yaml"), task("team-tool", "Ours", "cli-tools")).unwrap();
    let place = there.path().display();
    for line in [
        format!("provision --home {place} status {one}"),
        format!("provision --home={place} status {one}"),
        format!("provision status --home {place} {one}"),
    ] {
        // Bash takes what is around `=` for words of their own.
        let for_bash = line.replace("--home=", "--home = ");
        assert_eq!(in_bash(&here, &for_bash).unwrap(), [one.as_str()], "{line}");
        let Some(found) = in_fish(&here, &line) else { continue };
        assert_eq!(found, [format!("{one}\tcompleted, custom")], "{line}");
    }
    let line = format!("provision --catalog {place}/team start --add team");
    let offered = in_bash(&here, &line).unwrap();
    assert_eq!(offered, ["team-tool"]);
}

#[test]
fn a_line_stands_completed_on_a_terminal() {
    let home = Home::in_temporary_directory();
    let cases = [
        ("provision res", "provision resume"),
        ("provision --color=al", "provision --color=always"),
        ("provision plan --answer edi", "provision plan --answer edi"),
        ("provision plan essentials --answer edi", "provision plan essentials --answer editor="),
        ("provision apply odd", r"provision apply odd\ \$name.json"),
        ("provision plan --answers=odd", r"provision plan --answers=odd\ \$name.json"),
        ("provision --home=fold", "provision --home=folder/"),
    ];
    fs::write(home.path().join("odd $name.json"), "{}").unwrap();
    fs::create_dir(home.path().join("folder")).unwrap();
    let mut typed = "source <(provision completions bash)\n".to_owned();
    for (line, _) in cases {
        // To the beginning of the line, which becomes a comment: nothing runs.
        typed.extend([line, "\t\x01# \n"]);
    }
    typed += "history > \"$HOME/typed\"\nexit\n";
    let mut command = with_surroundings(Command::new("script"), &home);
    command.args(["--quiet", "--return", "--command", "bash --norc -i", "/dev/null"]);
    let child = command.current_dir(home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.as_ref().unwrap(), typed.as_bytes()).unwrap();
    let keyboard = child.stdin.take();
    let screen = child.wait_with_output().unwrap();
    drop(keyboard);
    let history = fs::read_to_string(home.path().join("typed")).unwrap();
    let shown = String::from_utf8_lossy(&screen.stdout);
    for (line, expected) in cases {
        // After its number.
        let expected = format!("  # {expected}");
        let found = history.lines().any(|line| line.trim_end().ends_with(&expected));
        assert!(found, "{line}: no `{expected}` in:\n{history}\n{shown}");
    }

    for (line, expected) in cases {
        let here = format!("{}/", home.path().display());
        let line =
            line.replace("odd", &format!("{here}odd")).replace("fold", &format!("{here}fold"));
        let expected = expected.replace("odd", &format!("{here}odd"));
        let expected = expected.replace("folder/", &format!("{here}folder/"));
        let Some(found) = in_zsh(&home, &line) else { return };
        assert_eq!(found.last().unwrap(), &format!("line: {expected}"), "zsh: {line}");
    }
}

#[test]
fn names_that_could_harm_a_shell_are_not_offered() {
    let home = Home::new().damaged();
    let [_, _, three] = with_sessions(&home);
    for name in
        ["$(touch bad)", "`touch bad`", "prov-x; touch bad", "prov-\u{1b}[31m", "a\nb", "-rf"]
    {
        fs::write(home.path().join("sessions/active").join(format!("{name}.json")), "{}").unwrap();
        fs::create_dir(home.path().join("records").join(name)).unwrap();
    }
    // A pipe where a document should be: nobody ever writes to it.
    let pipe = home.path().join("sessions/active/prov-20260301-100000-aaaa.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let tasks = home.path().join("tasks");
    fs::create_dir(&tasks).unwrap();
    fs::set_permissions(&tasks, fs::Permissions::from_mode(0o700)).unwrap();
    let hostile = task("$(touch bad)", "x", "cli-tools");
    fs::write(tasks.join("hostile.yaml"), hostile).unwrap();
    let loud = task("zz-loud", "red \u{1b}[31m\nmore\t$(touch bad)", "$(touch bad)");
    fs::write(tasks.join("loud.yaml"), loud).unwrap();

    for line in
        ["provision status ", "provision start --add ", "provision catalog list --category "]
    {
        for (shell, found) in everywhere(&home, line) {
            let all = found.join("\n");
            assert!(!all.contains("bad") && !all.contains('\u{1b}'), "{shell}: {all}");
            assert!(!found.iter().any(|one| one == "-rf" || one == "b"), "{shell}: {all}");
            if line.ends_with("status ") {
                assert!(found.contains(&three), "{shell}: {all}");
            }
        }
    }
    if let Some(found) = in_fish(&home, "provision start --add zz") {
        assert_eq!(found, ["zz-loud\tred"]);
    }
    assert!(!home.path().join("bad").exists());
    assert!(!Path::new("bad").exists());
}

#[test]
fn whoever_only_asks_changes_nothing_and_hears_no_errors() {
    let home = Home::new();
    let none = home.path().join("none");
    let ask = |words: &[&str], variable: &str| {
        let mut command = home.command(&[&["--"], words].concat());
        let answer = Output::of(
            command.env("AGENTIC_PROVISION_HOME", &none).env("PROVISION_COMPLETE", variable),
        );
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{words:?}");
        answer.stdout
    };
    for words in [
        &["provision", "status", ""][..],
        &["provision", "logs", "nosuch", ""],
        &["provision", "--home", "/proc/self/mem", "status", ""],
        &["provision", "--catalog", "/nosuch", "start", ""],
        &["provision", "nosuch", "--nosuch", ""],
        &[],
    ] {
        for shell in ["bash", "zsh", "fish"] {
            assert!(!ask(words, shell).contains("prov-"), "{words:?}");
        }
    }
    assert!(!none.exists());
}

#[test]
fn the_variable_alone_does_not_turn_the_program_into_a_completer() {
    let home = Home::new();
    for shell in ["bash", "nosuch", "0"] {
        let output = Output::of(home.command(&["--version"]).env("PROVISION_COMPLETE", shell));
        assert!(output.stdout.starts_with("provision "), "{}", output.stdout);
    }
}

#[test]
fn zsh_finds_the_script_through_its_path_of_functions() {
    let home = Home::new();
    let Some(mut zsh) = shell(&home, "zsh") else { return };
    let folder = home.path().join("functions");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("_provision"), home.run(&["completions", "zsh"]).stdout).unwrap();
    let script = "fpath+=($HOME/functions); autoload -U compinit; compinit -u -D; \
                  print -r -- $_comps[provision]; zsh -n $HOME/functions/_provision";
    let output = Output::of(zsh.args(["-f", "-c", script]));
    assert_eq!((output.stdout.trim(), output.stderr.trim()), ("_provision", ""));
}
