//! The texts by which a person's shells find what tasks installed: the env file of a home, with a
//! section of lines for each task, and the one line in a person's own file that sources it.
//!
//! Earlier versions wrote the lines themselves into the person's file, in a block for each task.
//! Such blocks are found and removed here; no new ones are written.

use std::{ops::Range, path::Path};

use super::Shell;
use crate::model::TaskId;

/// Begins every env file. A file with another beginning is foreign and stays as it is.
const MARK: &str = "# Lines of provision's tasks.";
const HEADER_REST: &str = " `provision shell` lists and removes them; edits are lost.\n";
/// Begins the line that begins the section of a task.
const SECTION: &str = "# provision task: ";
/// Ends the line that sources an env file.
const SOURCE: &str = " # provision";
const BLOCK_BEGIN: &str = "# >>> provision";
const BLOCK_END: &str = "# <<< provision: ";

/// Whether a file may be written as an env file: it is empty, or an env file already.
pub fn is_env_file(content: &[u8]) -> bool {
    content.is_empty() || content.starts_with(MARK.as_bytes())
}

/// Returns the sections of an env file, in their order.
pub fn sections(env_file: &str) -> Vec<(TaskId, &str)> {
    let mut found: Vec<(TaskId, Range<usize>)> = Vec::new();
    let mut end = 0;
    for line in env_file.split_inclusive('\n') {
        end += line.len();
        let task = line
            .strip_prefix(SECTION)
            .and_then(|name| name.trim_end_matches(['\r', '\n']).parse().ok());
        match (task, found.last_mut()) {
            (Some(task), _) => found.push((task, end..end)),
            (None, Some((_, section))) => section.end = end,
            (None, None) => {}
        }
    }
    found.into_iter().map(|(task, section)| (task, &env_file[section])).collect()
}

/// Returns an env file in which the section of `task` has these lines.
pub fn with_section(env_file: &str, task: &TaskId, lines: &str) -> String {
    let lines = lines.trim_end().lines().collect::<Vec<_>>().join("\n");
    let mut sections = sections(env_file);
    match sections.iter_mut().find(|(known, _)| known == task) {
        Some((_, known)) => *known = &lines,
        None => sections.push((task.clone(), &lines)),
    }
    render(&sections)
}

/// Returns an env file without the sections of some tasks; empty if no section is left.
pub fn without_sections(env_file: &str, tasks: &[TaskId]) -> String {
    let mut sections = sections(env_file);
    sections.retain(|(task, _)| !tasks.contains(task));
    if sections.is_empty() { String::new() } else { render(&sections) }
}

fn render(sections: &[(TaskId, &str)]) -> String {
    let section =
        |(task, lines): &(TaskId, &str)| format!("{SECTION}{task}\n{}\n", lines.trim_end());
    let sections = sections.iter().map(section);
    format!("{MARK}{HEADER_REST}{}", sections.collect::<String>())
}

/// Whether the lines of a task hold a line that would begin a section or look like a block.
pub fn has_marker(lines: &str) -> bool {
    let is_marker = |line: &str| {
        line.starts_with(SECTION)
            || line.starts_with(BLOCK_BEGIN)
            || line.starts_with(BLOCK_END.trim_end())
    };
    lines.lines().any(|line| is_marker(line.trim()))
}

/// Returns the line that sources an env file if it is there.
pub fn source_line(shell: Shell, env_file: &Path, home: Option<&Path>) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@ ".contains(c);
    let below_home =
        home.and_then(|home| env_file.strip_prefix(home).ok()).map(Path::to_string_lossy);
    let file = match below_home {
        Some(below) if below.chars().all(is_plain) => format!("\"$HOME/{below}\""),
        // In fish, a backslash escapes a quote or a backslash between single quotes too.
        _ => {
            let path = env_file.to_string_lossy();
            let path = if shell == Shell::Fish { path.replace('\\', r"\\") } else { path.into() };
            format!("'{}'", path.replace('\'', r"'\''"))
        }
    };
    match shell {
        Shell::Fish => format!("if test -f {file}; source {file}; end{SOURCE}"),
        Shell::Bash | Shell::Zsh => format!("if [ -f {file} ]; then . {file}; fi{SOURCE}"),
    }
}

/// Whether a person's file has this line.
pub fn has_line(content: &[u8], line: &str) -> bool {
    content.split(|byte| *byte == b'\n').any(|found| found.trim_ascii() == line.as_bytes())
}

/// Returns a person's file with this line, at its end unless it has it already.
pub fn with_line(content: &[u8], line: &str) -> Vec<u8> {
    let mut content = content.to_vec();
    if !has_line(&content, line) {
        if !content.is_empty() && !content.ends_with(b"\n") {
            content.push(b'\n');
        }
        // A backslash at its end would join the last line with this one.
        if content.ends_with(b"\\\n") {
            content.push(b'\n');
        }
        content.extend([line.as_bytes(), b"\n"].concat());
    }
    content
}

/// Returns a person's file without this line. A person who indented the line may have put it into a
/// block, which must not become empty: `:`, which does nothing, takes its place there.
pub fn without_line(content: &[u8], line: &str) -> Vec<u8> {
    let mut without = Vec::new();
    for found in content.split_inclusive(|byte| *byte == b'\n') {
        if found.trim_ascii() != line.as_bytes() {
            without.extend(found);
        } else if found.first().is_some_and(u8::is_ascii_whitespace) {
            let text = String::from_utf8_lossy(found);
            without.extend(text.replace(line, ":").bytes());
        }
    }
    without
}

/// A file of which it is not certain which lines belong to a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} begins or ends a block of provision, and its counterpart is missing")]
pub struct BlockFlaw {
    pub line: usize,
}

/// Returns the tasks that have a block in a person's file, and where the blocks are.
pub fn shell_blocks(content: &[u8]) -> Result<Vec<(TaskId, Range<usize>)>, BlockFlaw> {
    let mut found = Vec::new();
    let mut open: Option<(TaskId, usize, usize)> = None;
    let mut end = 0;
    for (bytes, line) in content.split_inclusive(|byte| *byte == b'\n').zip(1..) {
        let start = end;
        end += bytes.len();
        let text = String::from_utf8_lossy(bytes.trim_ascii());
        if text.starts_with(BLOCK_BEGIN) {
            // A note may stand between the mark and the colon.
            let task =
                text.strip_suffix(" >>>").and_then(|text| text.split_once(": ")?.1.parse().ok());
            match task.filter(|_| open.is_none()) {
                Some(task) => open = Some((task, start, line)),
                None => return Err(BlockFlaw { line }),
            }
        } else if text.starts_with(BLOCK_END.trim_end()) {
            let task = text.strip_prefix(BLOCK_END).and_then(|rest| rest.strip_suffix(" <<<"));
            match open.take() {
                Some((begun, start, _)) if task == Some(begun.as_str()) => {
                    found.push((begun, start..end));
                }
                _ => return Err(BlockFlaw { line }),
            }
        }
    }
    open.map_or(Ok(found), |(_, _, line)| Err(BlockFlaw { line }))
}

/// Returns a person's file without the blocks of some tasks.
pub fn without_blocks(content: &[u8], tasks: &[TaskId]) -> Result<Vec<u8>, BlockFlaw> {
    let mut after = content.to_vec();
    for (_, place) in
        shell_blocks(content)?.into_iter().rev().filter(|(task, _)| tasks.contains(task))
    {
        after.drain(place);
    }
    Ok(after)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::{collection::vec, prelude::*};

    use super::{
        BlockFlaw, has_line, has_marker, is_env_file, sections, shell_blocks, source_line,
        with_line, with_section, without_blocks, without_line, without_sections,
    };
    use crate::{flow::Shell, model::TaskId};

    fn task(name: &str) -> TaskId {
        name.parse().unwrap()
    }

    #[test]
    fn section_is_added_replaced_and_removed() {
        let one = with_section("", &task("one"), "export A=1\nexport B=2\n\n");
        let both = with_section(&one, &task("two"), "y");
        assert_eq!(
            sections(&both),
            [(task("one"), "export A=1\nexport B=2\n"), (task("two"), "y\n")]
        );
        assert_eq!(with_section(&both, &task("two"), "y\r\n"), both);
        let changed = with_section(&both, &task("one"), "z");
        assert_eq!(sections(&changed), [(task("one"), "z\n"), (task("two"), "y\n")]);
        assert_eq!(sections(&without_sections(&changed, &[task("two")])), [(task("one"), "z\n")]);
        assert_eq!(without_sections(&changed, &[task("one"), task("two")]), "");
    }

    #[test]
    fn section_begins_only_at_the_beginning_of_a_line() {
        let (one, odd) = (task("one"), task("x# provision task: y"));
        let text = "echo '# provision task: two'\nexport A='\r'";
        let env_file = with_section(&with_section("", &one, text), &odd, "z");
        assert_eq!(
            sections(&env_file),
            [(one.clone(), &*format!("{text}\n")), (odd.clone(), "z\n")]
        );
        assert_eq!(with_section(&env_file, &odd, "z"), env_file);
        // An editor may have dropped the newline at the end.
        let env_file = with_section(env_file.trim_end(), &task("two"), "y");
        assert_eq!(sections(&env_file).len(), 3);
        // The name of a task may end with a space.
        let spaced = with_section("", &task("one "), "z");
        assert_eq!(with_section(&spaced, &task("one "), "z"), spaced);
    }

    #[test]
    fn source_line_names_the_home_and_quotes_everything_else() {
        let home = Some(Path::new("/home/ada"));
        let line = |shell, file: &str| source_line(shell, Path::new(file), home);
        assert_eq!(
            line(Shell::Bash, "/home/ada/.agentic-provision/env.bash"),
            "if [ -f \"$HOME/.agentic-provision/env.bash\" ]; then \
             . \"$HOME/.agentic-provision/env.bash\"; fi # provision"
        );
        assert_eq!(
            line(Shell::Fish, "/srv/it's/env.fish"),
            r"if test -f '/srv/it'\''s/env.fish'; source '/srv/it'\''s/env.fish'; end # provision"
        );
        assert!(line(Shell::Fish, r"/srv/a\b/env.fish").contains(r"'/srv/a\\b/env.fish'"));
        assert!(line(Shell::Zsh, r"/srv/a\b/env.zsh").contains(r"'/srv/a\b/env.zsh'"));
        assert!(line(Shell::Zsh, "/home/ada/$(x)/env.zsh").contains("'/home/ada/$(x)/env.zsh'"));
    }

    #[test]
    fn source_line_is_added_once_on_a_line_of_its_own() {
        let line = source_line(Shell::Bash, Path::new("/e"), None);
        let with = with_line(b"alias a=b", &line);
        assert_eq!(with, format!("alias a=b\n{line}\n").into_bytes());
        assert_eq!(with_line(&with, &line), with);
        assert!(has_line(&with, &line) && !has_line(b"", &line));
        assert_eq!(without_line(&with, &line), b"alias a=b\n");
        // A continued line ends before it.
        let with = with_line(b"alias a=b \\", &line);
        assert_eq!(with, format!("alias a=b \\\n\n{line}\n").into_bytes());
        // A block that holds nothing else is a syntax error.
        let indented = format!("if true; then\n  {line}\r\nfi\n").into_bytes();
        assert_eq!(with_line(&indented, &line), indented);
        assert_eq!(without_line(&indented, &line), b"if true; then\n  :\r\nfi\n");
    }

    #[test]
    fn only_empty_files_and_env_files_are_written() {
        assert!(is_env_file(b"") && is_env_file(with_section("", &task("x"), "y").as_bytes()));
        assert!(!is_env_file(b"export A=1\n# provision task: x\n"));
    }

    #[test]
    fn lines_with_a_marker_are_recognized() {
        for lines in ["# provision task: x", "a\n  # >>> provision: t >>>", "# <<< provision:"] {
            assert!(has_marker(lines), "{lines}");
        }
        assert!(!has_marker("echo '# provision task: x'"));
        assert!(!has_marker("echo '# >>> provision'\n# provision\n# >>> conda initialize >>>"));
    }

    #[test]
    fn blocks_are_removed_and_other_lines_stay() {
        let block = |mark: &str, name: &str| {
            format!("# >>> provision{mark}: {name} >>>\r\nx\n# <<< provision: {name} <<<\n")
        };
        let without = |content: &str, names: &[&str]| {
            let tasks: Vec<_> = names.iter().map(|name| task(name)).collect();
            String::from_utf8(without_blocks(content.as_bytes(), &tasks).unwrap()).unwrap()
        };
        let two = block(" (line break added)", "two");
        let content = format!("a\n{}{two}mine\n", block("", "one"));
        assert_eq!(without(&content, &["one", "two"]), "a\nmine\n");
        assert_eq!(without(&content, &["one"]), format!("a\n{two}mine\n"));
        assert_eq!(without(&block(" (new file)", "one"), &["one"]), "");
    }

    #[test]
    fn edited_markers_are_errors_with_their_line() {
        let (begin, end) = ("# >>> provision: t >>>\n", "# <<< provision: t <<<\n");
        let other = "# <<< provision: u <<<\n";
        for (content, line) in [
            (format!("a\n{begin}a\n"), 2),
            (format!("{begin}{begin}{end}"), 2),
            (format!("a\n{end}"), 2),
            (format!("{begin}{other}"), 2),
            ("# >>> provision: t\n".to_owned(), 1),
            ("# <<< provision:\n".to_owned(), 1),
        ] {
            assert_eq!(shell_blocks(content.as_bytes()), Err(BlockFlaw { line }), "{content}");
        }
        assert_eq!(shell_blocks(b"echo '# >>> provision: t >>>'\n# provision\n"), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn other_lines_of_a_file_survive_any_edit(
            parts in vec(prop_oneof![
                Just(b"\n".to_vec()),
                Just(b"\r\n".to_vec()),
                Just(b"export A=1".to_vec()),
                vec(any::<u8>(), 0..4),
            ], 0..8),
        ) {
            let content = parts.concat();
            let line = source_line(Shell::Zsh, Path::new("/e"), None);
            let with = with_line(&content, &line);
            prop_assert!(has_line(&with, &line) && with.starts_with(&content));
            let without = without_line(&with, &line);
            prop_assert!(without.starts_with(&content));
            prop_assert!([b"".as_slice(), b"\n", b"\n\n"].contains(&&without[content.len()..]));
        }
    }
}
