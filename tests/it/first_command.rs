//! The first command of the README, as it stands there, in an empty home on a machine that has Rust and
//! little else: it ends with the tools of the first stack on PATH.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    harness::screen::{ENTER, Screen, USUAL},
    real_apt::{WANTED, bare_machine_with, is_found},
};

/// A build for speed takes longer than all other tests, and its speed is not what is tested.
const LIGHT: [(&str, &str); 5] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "256"),
    ("CARGO_PROFILE_RELEASE_STRIP", "none"),
    ("CARGO_PROFILE_RELEASE_INCREMENTAL", "false"),
];

/// The lints of `tests/run` see the program with the hooks of the tests; this build is without them.
const NO_WARNINGS: &str = "-Dwarnings";

fn first_command() -> String {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, commands) = readme.split_once("## Two commands").unwrap();
    let (_, commands) = commands.split_once("```sh\n").unwrap();
    let first = commands.lines().next().unwrap();
    first.split('#').next().unwrap().trim().to_owned()
}

/// Checks that a program was built without the feature `testing`.
fn assert_no_test_hooks(shipped: &Path) {
    let holds = |program: &Path, hook: &str| {
        let bytes = fs::read(program).unwrap();
        bytes.windows(hook.len()).any(|window| window == hook.as_bytes())
    };
    for hook in ["AGENTIC_PROVISION_CLOCK", "__script"] {
        assert!(holds(Path::new(env!("CARGO_BIN_EXE_provision")), hook), "{hook}");
        assert!(!holds(shipped, hook), "{hook}");
    }
}

fn cargo_home() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

#[test]
fn it_sets_up_the_essentials() {
    let command = first_command();
    assert_eq!(command, "cargo run --release");
    let checkout = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let binaries = Path::new(env!("CARGO")).parent().unwrap();
    let toolchain = binaries.parent().unwrap().to_owned();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-command");
    // Where the machine's own cargo finds it, so that there is nothing left to build.
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked"])
        .current_dir(&checkout)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", NO_WARNINGS)
        .envs(LIGHT)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert_no_test_hooks(&target.join("release/provision"));
    let shared = [checkout.clone(), toolchain.clone(), cargo_home()];
    let Some(machine) = bare_machine_with(&shared) else { return };

    let path = format!("{}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", binaries.display());
    let mut words: Vec<String> = vec!["env".into(), format!("PATH={path}")];
    words.push(format!("CARGO_HOME={}", cargo_home().display()));
    words.push(format!("CARGO_TARGET_DIR={}", target.display()));
    words.push(format!("RUSTFLAGS={NO_WARNINGS}"));
    words.extend(LIGHT.map(|(name, value)| format!("{name}={value}")));
    words.extend(["TERM=xterm-256color", "LANG=C.UTF-8", "CARGO_NET_OFFLINE=true"].map(Into::into));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let line = format!("cd '{}' && {command}", checkout.display());
    let mut screen = Screen::of(machine.command(&words), USUAL, &line);
    screen.sees("What should be set up?").types("a");
    for question in [
        "Should Git know your name",
        "How will you reach GitHub",
        "Which shell would you like",
        "Would you like a prompt",
        "Which editor should be there?",
        "some extra comfort in the terminal?",
    ] {
        screen.sees(question).types(ENTER);
    }
    screen.sees("plan of essentials").sees("Is this what you want?").ready().types("a");
    screen.waits("the end, or a question about shells", |text| {
        text.contains("Done: essentials") || text.contains("May these lines be added?")
    });
    if !screen.text().contains("Done: essentials") {
        screen.types("b").sees("Done: essentials");
    }
    let text = screen.ends(0);
    for (task, _, programs) in WANTED {
        assert!(is_found(&machine, programs), "{task} is not on PATH:\n{text}");
        assert!(text.contains(&format!("✓ {task}")), "{task} is not told of:\n{text}");
    }
}
