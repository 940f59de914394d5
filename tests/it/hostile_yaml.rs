//! YAML that asks for too much, or is not YAML: what it costs is bounded.

use agentic_provision::catalog::{MOST_NODES, Node};

const SOUND: &str = "metadata: {category: c}
tasks:
  t:
    name: T
    detection: {check_command: command -v t}
    packages: {apt: [t]}
";

/// Name, content, and the code of the error it is; `None` where it is legal.
pub fn cases() -> Vec<(&'static str, Vec<u8>, Option<&'static str>)> {
    let bomb = {
        let mut text = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for (name, before) in ('b'..='z').zip('a'..) {
            let aliases = vec![format!("*{before}"); 9].join(", ");
            text.extend([&*format!("{name}: &{name} "), "[", &aliases, "]\n"]);
        }
        text
    };
    let quadratic = format!("a: &a [{}]\nb: [{}]\n", "x,".repeat(1000), "*a,".repeat(1000));
    let long_aliases = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), "*a,".repeat(3000));
    let merges = format!("a: &a {{k: v}}\nb: {{<<: [{}]}}\n", "*a,".repeat(50_000));
    let wide = format!("a: [{}]\n", "x,".repeat(150_000));
    let many_keys = (0..60_000).fold(String::new(), |text, n| text + &format!("k{n}: v\n"));
    let anchors = format!(
        "{SOUND}    tags: &tags [one, two]\n  u:\n    name: U\n    \
        detection: {{check_command: command -v u}}\n    packages: {{apt: [u]}}\n    tags: *tags\n"
    );
    let merged = "metadata: {category: c}
tasks:
  t: &t
    name: T
    detection: {check_command: command -v t}
    packages: {apt: [t]}
  u: {<<: *t, name: U}
";
    let nested_merge = format!("{merged}  v:\n    <<: *t\n    name: V\n");
    let lines = SOUND.lines().collect::<Vec<_>>();
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("an alias bomb", text(&bomb), Some("yaml_limit")),
        ("quadratic aliases", text(&quadratic), Some("yaml_limit")),
        ("long texts repeated", text(&long_aliases), Some("yaml_limit")),
        ("merges without end", text(&merges), Some("yaml_limit")),
        ("a very wide list", text(&wide), Some("yaml_limit")),
        ("very many keys", text(&many_keys), Some("yaml_limit")),
        ("20,000 brackets", vec![b'['; 20_000], Some("yaml_limit")),
        ("20,000 braces", text(&"{a: ".repeat(20_000)), Some("yaml_limit")),
        ("20,000 dashes", text(&format!("{}x\n", "- ".repeat(20_000))), Some("yaml_limit")),
        ("20,000 question marks", text(&format!("{}x\n", "? ".repeat(20_000))), Some("yaml_limit")),
        (
            "2,000 levels of indentation",
            { text(&(0..2_000).fold(String::new(), |t, n| t + &" ".repeat(n) + "a:\n")) },
            Some("yaml_limit"),
        ),
        ("an alias within itself", text("a: &a [*a]\n"), Some("yaml_syntax")),
        ("an alias of nothing", text("a: *nothing\n"), Some("yaml_syntax")),
        ("every byte there is", (0..=255).collect(), Some("not_utf8")),
        ("control characters", (0..128).collect(), Some("yaml_syntax")),
        ("a NUL", text("tasks:\n  a\0b: {}\n"), Some("yaml_syntax")),
        (
            "a NUL by escape",
            text(&SOUND.replace("name: T", "name: \"a\\0b\"")),
            Some("invalid_value"),
        ),
        (
            "UTF-16",
            "tasks:\n".encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Some("yaml_syntax"),
        ),
        ("a byte outside of UTF-8", b"tasks: \xff\n".to_vec(), Some("not_utf8")),
        ("half a character at the end", b"tasks: {}\n# \xc3".to_vec(), Some("not_utf8")),
        ("a tab as indentation", text("tasks:\n\tt: {}\n"), Some("yaml_syntax")),
        ("two documents", text(&format!("{SOUND}---\n{SOUND}")), Some("yaml_syntax")),
        ("nothing", Vec::new(), Some("not_a_manifest")),
        ("only a comment", text("# nothing\n"), Some("not_a_manifest")),
        ("a list", text("- tasks\n"), Some("not_a_manifest")),
        ("a tag of another language", text("tasks: !!python/object:os.system {}\n"), None),
        ("bytes in base64", text("tasks: !!binary aGVsbG8=\n"), Some("wrong_type")),
        ("CRLF", text(&format!("{}\r\n", lines.join("\r\n"))), None),
        ("a byte order mark", text(&format!("\u{feff}{SOUND}")), None),
        ("tabs between words", text(&SOUND.replace("name: ", "name:\t")), None),
        ("anchors", text(&anchors), None),
        ("a merge", text(merged), None),
        ("merges in blocks", text(&nested_merge), None),
        ("a document mark", text(&format!("%YAML 1.2\n---\n{SOUND}...\n")), None),
    ]
}

#[test]
fn what_is_built_stays_within_the_budget() {
    let mut most = 0;
    for (name, content, _) in cases() {
        let Ok(text) = String::from_utf8(content) else { continue };
        match Node::parse(&text) {
            Ok(node) => {
                assert!(node.count() <= MOST_NODES, "{name}: {}", node.count());
                most = most.max(node.count());
            }
            Err(unreadable) => {
                assert!(text.is_char_boundary(unreadable.place.start), "{name}");
                assert!(!unreadable.message.is_empty(), "{name}");
            }
        }
    }
    assert!(most >= 10, "some of them are built");
}

#[test]
fn the_budget_is_reached_and_not_passed() {
    let of = |items: usize| format!("a: [{}]\n", "x,".repeat(items));
    // The mapping, the key and the list are values too.
    let node = Node::parse(&of(MOST_NODES - 3)).unwrap();
    assert_eq!(node.count(), MOST_NODES);
    assert!(Node::parse(&of(MOST_NODES - 2)).unwrap_err().is_too_much);
    // What an alias repeats counts every time.
    let repeated =
        |aliases: usize| format!("a: &a [{}]\nb: [{}]\n", "x,".repeat(998), "*a,".repeat(aliases));
    assert!(Node::parse(&repeated(90)).unwrap().count() <= MOST_NODES);
    assert!(Node::parse(&repeated(110)).unwrap_err().is_too_much);
}

#[test]
fn what_a_merge_brings_is_overridden_by_what_stands_beside_it() {
    let node = Node::parse("a: &a {name: T, tags: x}\nb: {<<: *a, name: U}\n").unwrap();
    let merged = node.get("b").unwrap();
    assert_eq!(merged.get("name").unwrap().text(), Some("U"));
    assert_eq!(merged.get("tags").unwrap().text(), Some("x"));
    assert_eq!(merged.entries().len(), 2, "no name stands there twice");
}
