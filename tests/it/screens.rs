//! The screens of the walk that the documentation shows are those that the program draws. They are
//! captured here, and put into the pages by `tests/screens`.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use regex::Regex;

use crate::harness::{
    Home,
    screen::{ENTER, Screen, Setting, USUAL},
};

/// Pages that show screens: each stands behind a comment with its name.
const PAGES: [&str; 2] = ["README.md", "docs/walk.md"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A home with a catalog of its own, and programs that build and fetch nothing.
fn home() -> Home {
    let home = Home::new();
    let fixtures = root().join("tests/it/fixtures/screens");
    for folder in ["tasks", "profiles", "bin"] {
        let place = if folder == "bin" {
            home.path().join(folder)
        } else {
            home.path().join(".agentic-provision").join(folder)
        };
        fs::create_dir_all(&place).unwrap();
        for entry in fs::read_dir(fixtures.join(folder)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), place.join(entry.file_name())).unwrap();
        }
    }
    // What this machine has besides is not what is shown.
    for program in ["bash", "sh", "sleep", "touch"] {
        let place = ["/usr/bin", "/bin"].map(|bin| Path::new(bin).join(program));
        let place = place.iter().find(|place| place.exists()).unwrap();
        std::os::unix::fs::symlink(place, home.path().join("bin").join(program)).unwrap();
    }
    let own = home.path().join(".agentic-provision");
    fs::set_permissions(own, fs::Permissions::from_mode(0o700)).unwrap();
    home
}

fn provision(home: &Home) -> Screen {
    const SIZE: Setting = Setting { rows: 200, ..USUAL };
    let line = format!("PATH=\"$HOME/bin\" {}", env!("CARGO_BIN_EXE_provision"));
    Screen::start(home, SIZE, &line)
}

/// What is on the screen, without what differs from run to run.
fn captured(screen: &mut Screen, home: &Home) -> String {
    let text = screen.text();
    let (_, text) = text.split_once('\n').unwrap();
    let text = text.split("\nexit code ").next().unwrap();
    // What is too wide for the window has been broken: it is one line again.
    let broken = Regex::new(r"(?m)^(  /\S+)\n(\S*\.json)$").unwrap();
    let text = broken.replace_all(text, "$1$2").into_owned();
    let text = text.replace(&home.path().display().to_string(), "~");
    let mut shown = text;
    for (pattern, instead) in [
        (r"prov-\d{8}-\d{6}-[0-9a-f]{4}", "prov-20261117-093012-4f2a"),
        (r"\b\d+\.\d s\b", "21.4 s"),
        (r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] (\S+(?: \+\d+)?) \d+s ", "⠹ $1 9s "),
        (r"digest [0-9a-f]{64}", "digest 3f1c…"),
    ] {
        shown = Regex::new(pattern).unwrap().replace_all(&shown, instead).into_owned();
    }
    shown.trim().to_owned()
}

/// From the line that begins with `first`.
fn since(text: &str, first: &str) -> String {
    let at = text.rfind(&format!("\n{first}")).map_or(0, |at| at + 1);
    text[at..].trim_end().to_owned()
}

fn screens() -> Vec<(&'static str, String)> {
    let home = home();
    fs::write(home.path().join("wait"), "").unwrap();
    let mut all = Vec::new();
    let mut screen = provision(&home);
    screen.sees("find them by typing").sees("or a letter");
    all.push(("stacks", captured(&mut screen, &home)));
    screen.types("d").sees("Which editor").types("c").sees("If you").sees("Enter takes B");
    all.push(("question", since(&captured(&mut screen, &home), "  Helix works")));
    screen.types("a").sees("May the team's tools").types("a").sees("Your email address");
    screen.types("ada").types(ENTER).sees("is not of the right form").sees("Enter takes it");
    all.push(("value", since(&captured(&mut screen, &home), "Your email address")));
    screen.types("\u{15}ada@example.com").types(ENTER).sees("Is this what you want?");
    screen.sees("s show every command");
    all.push(("plan", since(&captured(&mut screen, &home), "plan of team")));
    screen.types("a").sees("Compiling regex-automata").sees("1/4");
    screen.sees("unpacking fd");
    all.push(("running", since(&captured(&mut screen, &home), "✓ Plan")));
    fs::remove_file(home.path().join("wait")).unwrap();
    screen.sees("Helix failed. What now?").sees("o show the output");
    all.push(("failure", since(&captured(&mut screen, &home), "✗ helix failed")));
    fs::write(home.path().join("mended"), "").unwrap();
    screen.types("a").sees("The record of it");
    screen.sees("exit code 0");
    all.push(("completion", since(&captured(&mut screen, &home), "Done: team")));
    screen.ends(0);
    let mut screen = provision(&home);
    screen.sees("This machine was set up before").sees("or a letter");
    all.push(("coming back", captured(&mut screen, &home)));
    screen
        .types("a")
        .sees("type to search")
        .types("sql")
        .sees("Search: sql")
        .sees("clears the search");
    all.push(("single tools", since(&captured(&mut screen, &home), "Which tools")));
    screen.types("\u{3}");
    screen.ends(4);
    all
}

/// A page with its screens as they are now.
fn with_screens(page: &str, screens: &[(&'static str, String)]) -> String {
    let mut page = page.to_owned();
    for (name, text) in screens {
        let block =
            Regex::new(&format!(r"(?s)<!-- screen: {name} -->\n```text\n.*?\n```")).unwrap();
        let new = format!("<!-- screen: {name} -->\n```text\n{text}\n```");
        page = block.replace_all(&page, regex::NoExpand(&new)).into_owned();
    }
    page
}

#[test]
fn the_documentation_shows_what_the_program_draws() {
    let screens = screens();
    for page in PAGES {
        let path = root().join(page);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("<!-- screen: "), "{page} shows none");
        let new = with_screens(&text, &screens);
        if std::env::var_os("PROVISION_WRITE_SCREENS").is_some() {
            fs::write(&path, new).unwrap();
        } else {
            assert!(new == text, "{page} shows other screens: run tests/screens\n{new}");
        }
    }
    let shown = fs::read_to_string(root().join("docs/walk.md")).unwrap();
    for (name, _) in &screens {
        assert!(shown.contains(&format!("<!-- screen: {name} -->")), "{name} is not shown");
    }
}
