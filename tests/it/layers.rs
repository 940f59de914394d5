//! The rooms of the source stand in layers: each may name only those below it.

use std::{collections::BTreeSet, fs, path::Path};

/// Each room, and the rooms it may know. The command line may know all; nothing knows it.
const LAYERS: [(&str, &[&str]); 10] = [
    ("model", &[]),
    ("os", &[]),
    ("disk", &["os"]),
    ("flow", &["model"]),
    ("catalog", &["model", "disk"]),
    ("store", &["model", "disk"]),
    ("exec", &["model", "disk", "os"]),
    ("engine", &["model", "disk", "os", "flow", "catalog", "store", "exec"]),
    ("face", &["engine", "model"]),
    ("cli", &["model", "disk", "os", "flow", "catalog", "store", "exec", "engine", "face"]),
];

#[test]
fn every_room_knows_only_the_rooms_below_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let rooms: BTreeSet<_> = fs::read_dir(&source)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let known: BTreeSet<_> = LAYERS.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(rooms, known, "every room has its place in the layers");

    let mut edges = 0;
    for (room, allowed) in LAYERS {
        for file in sources(&source.join(room)) {
            let text = fs::read_to_string(&file).unwrap();
            // A room handed on whole by another would be an edge that is not seen below.
            for (through, behind) in rooms.iter().flat_map(|a| rooms.iter().map(move |b| (a, b))) {
                let path = format!("{through}::{behind}::");
                assert!(!text.contains(&path), "{} goes through {path}", file.display());
            }
            for named in rooms_named(&text, &rooms) {
                edges += 1;
                let fine = named == room || allowed.contains(&named.as_str());
                assert!(
                    fine,
                    "{} names `crate::{named}`, which {room} may not know",
                    file.display()
                );
            }
        }
    }
    assert!(edges > 20, "only {edges} uses of other rooms were found: the search is broken");
}

#[test]
fn the_search_sees_plain_grouped_and_nested_imports() {
    let rooms: BTreeSet<_> = ["model", "disk", "os"].map(str::to_owned).into();
    let text =
        "use crate::{\n    disk::{self, File},\n    os,\n};\nfn f(x: crate::model::Event) {}";
    assert_eq!(rooms_named(text, &rooms), ["disk", "model", "os"].map(str::to_owned).into());
}

fn sources(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// The rooms that follow `crate::` directly, or stand at the first level of its braces.
fn rooms_named(text: &str, rooms: &BTreeSet<String>) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            named.insert(word(rest));
            continue;
        };
        let mut depth = 0;
        let mut start = true;
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => start = true,
                character if start && depth == 0 && character.is_alphabetic() => {
                    named.insert(word(&group[at..]));
                    start = false;
                }
                _ => {}
            }
        }
    }
    named.retain(|name| rooms.contains(name));
    named
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}
