//! A block in the configuration of a shell: the lines of one task between two markers, in a file
//! that is somebody else's. Works on bytes, for nobody promised that they are text; touches nothing
//! outside its blocks.
//!
//! Removing what was put in gives back what was there, byte for byte. What that takes beyond the
//! markers stands in them: whether a line break was added before the block, because the file ended
//! without one, and whether there was no file at all.

use std::ops::Range;

use crate::model::TaskId;

const BEGIN: &str = "# >>> provision";
const END: &str = "# <<< provision: ";
const BEGIN_TAIL: &str = " >>>";
const END_TAIL: &str = " <<<";
const BROKE: &str = " (line break added): ";
const NEW: &str = " (new file): ";
const PLAIN: &str = ": ";

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockChange {
    /// It is as it should be.
    Nothing,
    Content(Vec<u8>),
    /// It was made for a block, and nothing else is in it.
    NoFile,
}

/// Why a file cannot be changed: someone has edited the markers, and what is ours is not certain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockFlaw {
    #[error("the block of {task} begins on line {line} and has no end")]
    Unclosed { task: TaskId, line: usize },
    #[error("line {line}: a block of {task} begins inside the block of {around} (line {since})")]
    Nested { task: TaskId, line: usize, around: TaskId, since: usize },
    #[error("line {line}: a block of {task} ends that has no beginning")]
    Stray { task: TaskId, line: usize },
    #[error("line {line}: there is a second block of {task}; the first is on line {first}")]
    Twice { task: TaskId, line: usize, first: usize },
    #[error("line {line}: it begins like one of our markers, and is none")]
    Garbled { line: usize },
    #[error("the lines of {task} hold a marker themselves")]
    MarkerInside { task: TaskId },
}

/// The lines of one task in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellBlock {
    pub task_id: TaskId,
    /// The line of its first marker, from 1.
    pub line: usize,
    /// Whether the line break before it came with it.
    broke: bool,
    /// Whether there was no file before there were blocks.
    new: bool,
    /// How its lines end.
    ending: &'static str,
    first: Range<usize>,
    whole: Range<usize>,
}

/// The blocks of a file, in their order.
pub fn shell_blocks(content: &[u8]) -> Result<Vec<ShellBlock>, BlockFlaw> {
    let mut found: Vec<ShellBlock> = Vec::new();
    let mut open: Option<ShellBlock> = None;
    let mut at = 0;
    for (number, line) in content.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let (place, number) = (at..at + line.len(), number + 1);
        at = place.end;
        match marker(line, number)? {
            None => {}
            Some(Marker::Begin { task_id: task, broke, new }) => {
                if let Some(around) = open {
                    let (around, since) = (around.task_id, around.line);
                    return Err(BlockFlaw::Nested { task, line: number, around, since });
                }
                if let Some(first) = found.iter().find(|block| block.task_id == task) {
                    return Err(BlockFlaw::Twice { task, line: number, first: first.line });
                }
                let ending = if line.ends_with(b"\r\n") { "\r\n" } else { "\n" };
                let (first, whole) = (place.clone(), place);
                open = Some(ShellBlock {
                    task_id: task,
                    line: number,
                    broke,
                    new,
                    ending,
                    first,
                    whole,
                });
            }
            Some(Marker::End(task)) => match open.take() {
                Some(mut block) if block.task_id == task => {
                    block.whole.end = place.end;
                    found.push(block);
                }
                _ => return Err(BlockFlaw::Stray { task, line: number }),
            },
        }
    }
    match open {
        Some(block) => Err(BlockFlaw::Unclosed { task: block.task_id, line: block.line }),
        None => Ok(found),
    }
}

/// Puts the lines of a task into a file, in place of those it has there, or at its end. `None` is a
/// file that is not there.
pub fn with_block(
    content: Option<&[u8]>,
    task: &TaskId,
    lines: &str,
) -> Result<BlockChange, BlockFlaw> {
    let lines: Vec<&str> =
        lines.trim_end().lines().map(|line| line.trim_end_matches('\r')).collect();
    if lines.iter().any(|line| !matches!(marker(line.as_bytes(), 0), Ok(None))) {
        return Err(BlockFlaw::MarkerInside { task: task.clone() });
    }
    let before = content.unwrap_or_default();
    let blocks = shell_blocks(before)?;
    if let Some(own) = blocks.iter().find(|block| block.task_id == *task) {
        let place = own.whole.clone();
        let mut block = text(task, &lines, own.broke, own.new, own.ending);
        if !before[place.clone()].ends_with(b"\n") {
            block.truncate(block.len() - own.ending.len());
        }
        if before[place.clone()] == *block {
            return Ok(BlockChange::Nothing);
        }
        return Ok(BlockChange::Content(splice(before, place, &block)));
    }
    // All blocks end their lines alike, so that each can take over from the one before it.
    let ending = blocks.first().map_or_else(|| ending_of(before), |block| block.ending);
    let broke = !before.is_empty() && !before.ends_with(b"\n");
    let new = content.is_none() || blocks.iter().any(|block| block.new);
    let mut after = before.to_vec();
    if broke {
        after.extend_from_slice(ending.as_bytes());
    }
    after.extend(text(task, &lines, broke, new && !broke, ending));
    Ok(BlockChange::Content(after))
}

/// Takes the block of a task out of a file.
pub fn without_block(content: &[u8], task: &TaskId) -> Result<BlockChange, BlockFlaw> {
    let blocks = shell_blocks(content)?;
    let Some(at) = blocks.iter().position(|block| block.task_id == *task) else {
        return Ok(BlockChange::Nothing);
    };
    let block = &blocks[at];
    let mut after = splice(content, block.whole.clone(), b"");
    let next = blocks.get(at + 1).filter(|next| next.whole.start == block.whole.end);
    if let Some(next) = next {
        // The line break before it, if any is ours, is now the one that came with this block.
        let start = block.whole.start;
        let first = begin(&next.task_id, block.broke, next.new && !block.broke, next.ending);
        after = splice(&after, start..start + next.first.len(), first.as_bytes());
    } else if block.broke && after.len() == block.whole.start {
        after.truncate(after.len().saturating_sub(block.ending.len()));
    }
    Ok(if after.is_empty() && block.new {
        BlockChange::NoFile
    } else {
        BlockChange::Content(after)
    })
}

/// Takes the blocks of several tasks out of a file.
pub fn without_blocks(content: &[u8], tasks: &[TaskId]) -> Result<BlockChange, BlockFlaw> {
    let mut change = BlockChange::Nothing;
    for task in tasks {
        let now = match &change {
            BlockChange::Nothing => content,
            BlockChange::Content(now) => now,
            BlockChange::NoFile => break,
        };
        match without_block(now, task)? {
            BlockChange::Nothing => {}
            other => change = other,
        }
    }
    Ok(change)
}

fn splice(content: &[u8], place: Range<usize>, with: &[u8]) -> Vec<u8> {
    [&content[..place.start], with, &content[place.end..]].concat()
}

fn begin(task: &TaskId, broke: bool, new: bool, ending: &str) -> String {
    let mark = match (broke, new) {
        (true, _) => BROKE,
        (false, true) => NEW,
        (false, false) => PLAIN,
    };
    format!("{BEGIN}{mark}{task}{BEGIN_TAIL}{ending}")
}

fn text(task: &TaskId, lines: &[&str], broke: bool, new: bool, ending: &str) -> Vec<u8> {
    let mut text = begin(task, broke, new, ending);
    for line in lines {
        text.push_str(line);
        text.push_str(ending);
    }
    text.extend([END, task.as_str(), END_TAIL, ending]);
    text.into_bytes()
}

/// How the lines of a file end: like the first.
fn ending_of(content: &[u8]) -> &'static str {
    let first = content.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    if first.ends_with(b"\r\n") { "\r\n" } else { "\n" }
}

enum Marker {
    Begin { task_id: TaskId, broke: bool, new: bool },
    End(TaskId),
}

/// What a line marks; an error if it only looks as if it did.
fn marker(line: &[u8], number: usize) -> Result<Option<Marker>, BlockFlaw> {
    let line = line.trim_ascii();
    let is_begin = line.starts_with(BEGIN.as_bytes());
    if !is_begin && !line.starts_with(END.trim_end().as_bytes()) {
        return Ok(None);
    }
    let read = || {
        let line = std::str::from_utf8(line).ok()?;
        if let Some(rest) = line.strip_prefix(END) {
            return rest.strip_suffix(END_TAIL)?.parse().ok().map(Marker::End);
        }
        let rest = line.strip_prefix(BEGIN)?.strip_suffix(BEGIN_TAIL)?;
        [(BROKE, true, false), (NEW, false, true), (PLAIN, false, false)].into_iter().find_map(
            |(mark, broke, new)| {
                let task_id = rest.strip_prefix(mark)?.parse().ok()?;
                Some(Marker::Begin { task_id, broke, new })
            },
        )
    };
    read().map(Some).ok_or(BlockFlaw::Garbled { line: number })
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::{BlockChange, BlockFlaw, shell_blocks, with_block, without_block};
    use crate::model::TaskId;

    fn task(name: &str) -> TaskId {
        name.parse().unwrap()
    }

    fn put(content: Option<&[u8]>, name: &str, lines: &str) -> Vec<u8> {
        match with_block(content, &task(name), lines).unwrap() {
            BlockChange::Content(content) => content,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_block_stands_at_the_end_between_its_markers() {
        let after = put(Some(b"alias ll='ls -l'\n"), "rust", "export A=1\nexport B=2\n\n");
        let expected = "alias ll='ls -l'\n# >>> provision: rust >>>\nexport A=1\nexport B=2\n\
                        # <<< provision: rust <<<\n";
        assert_eq!(String::from_utf8(after.clone()).unwrap(), expected);
        let again = with_block(Some(&after), &task("rust"), "export A=1\nexport B=2");
        assert_eq!(again, Ok(BlockChange::Nothing));
    }

    #[test]
    fn other_lines_take_the_place_of_those_that_were_there() {
        let after = put(Some(b"a\n"), "one", "x");
        let after = put(Some(&after), "two", "y");
        let after = put(Some(&after), "one", "z\nzz");
        let expected = "a\n# >>> provision: one >>>\nz\nzz\n# <<< provision: one <<<\n\
                        # >>> provision: two >>>\ny\n# <<< provision: two <<<\n";
        assert_eq!(String::from_utf8(after).unwrap(), expected);
    }

    #[test]
    fn lines_end_as_the_file_has_it() {
        let after = put(Some(b"a\r\nb"), "one", "x\ny");
        let expected = b"a\r\nb\r\n# >>> provision (line break added): one >>>\r\nx\r\ny\r\n\
                         # <<< provision: one <<<\r\n";
        assert_eq!(after, expected);
    }

    #[test]
    fn a_file_that_was_made_for_blocks_goes_with_the_last_of_them() {
        let after = put(None, "one", "x");
        let after = put(Some(&after), "two", "y");
        let Ok(BlockChange::Content(after)) = without_block(&after, &task("one")) else { panic!() };
        assert_eq!(without_block(&after, &task("two")), Ok(BlockChange::NoFile));
        // One that was there and empty stays, and so does what somebody wrote since.
        let after = put(Some(b""), "one", "x");
        let gone = BlockChange::Content(Vec::new());
        assert_eq!(without_block(&after, &task("one")), Ok(gone));
        let mut after = put(None, "one", "x");
        after.extend(b"mine\n");
        let mine = BlockChange::Content(b"mine\n".to_vec());
        assert_eq!(without_block(&after, &task("one")), Ok(mine));
    }

    #[test]
    fn what_was_written_behind_a_block_stays_on_a_line_of_its_own() {
        let mut after = put(Some(b"a"), "one", "x");
        after.extend(b"mine");
        let mine = BlockChange::Content(b"a\nmine".to_vec());
        assert_eq!(without_block(&after, &task("one")), Ok(mine));
    }

    #[test]
    fn a_line_break_that_someone_took_away_is_not_taken_twice() {
        let mut after = put(Some(b"a\n"), "one", "x");
        after.pop();
        let after = put(Some(&after), "two", "y");
        let Ok(BlockChange::Content(after)) = without_block(&after, &task("one")) else { panic!() };
        assert_eq!(without_block(&after, &task("two")), Ok(BlockChange::Content(b"a\n".to_vec())));
    }

    #[test]
    fn markers_that_someone_edited_are_errors_with_their_line() {
        let begin = |name: &str| format!("# >>> provision: {name} >>>\n");
        let end = |name: &str| format!("# <<< provision: {name} <<<\n");
        let flawed = |parts: &[String]| shell_blocks(parts.concat().as_bytes()).unwrap_err();
        let a = "a\n".to_owned();
        assert_eq!(
            flawed(&[a.clone(), begin("t"), a.clone()]),
            BlockFlaw::Unclosed { task: task("t"), line: 2 }
        );
        assert_eq!(
            flawed(&[begin("t"), begin("u"), end("u"), end("t")]),
            BlockFlaw::Nested { task: task("u"), line: 2, around: task("t"), since: 1 }
        );
        assert_eq!(
            flawed(&[begin("t"), end("t"), begin("t"), end("t")]),
            BlockFlaw::Twice { task: task("t"), line: 3, first: 1 }
        );
        assert_eq!(flawed(&[a, end("t")]), BlockFlaw::Stray { task: task("t"), line: 2 });
        assert_eq!(flawed(&[begin("t"), end("u")]), BlockFlaw::Stray { task: task("u"), line: 2 });
        for line in ["# >>> provision: t", "# >>> provision (odd): t >>>", "# <<< provision:"] {
            assert_eq!(flawed(&[line.to_owned()]), BlockFlaw::Garbled { line: 1 }, "{line}");
        }
        let lines = "x\n# <<< provision: t <<<\ny";
        let inside = BlockFlaw::MarkerInside { task: task("t") };
        assert_eq!(with_block(Some(b""), &task("t"), lines), Err(inside));
    }

    #[test]
    fn what_only_mentions_a_marker_is_none() {
        let content = b"echo '# >>> provision: t >>>'\n# provision\n# >>> conda initialize >>>\n";
        assert_eq!(shell_blocks(content), Ok(Vec::new()));
    }

    /// Files as people have them, and worse: any bytes, any ends of lines.
    fn contents() -> impl Strategy<Value = Option<Vec<u8>>> {
        let part = prop_oneof![
            Just(b"\n".to_vec()),
            Just(b"\r\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"export A=1".to_vec()),
            Just(b"# >>> ".to_vec()),
            vec(any::<u8>(), 0..4),
        ];
        let content = vec(part, 0..8).prop_map(|parts| parts.concat());
        prop_oneof![1 => Just(None), 8 => content.prop_map(Some)]
    }

    proptest! {
        #[test]
        fn whatever_is_put_in_and_taken_out_in_whatever_order_leaves_what_was_there(
            content in contents(),
            steps in vec((0..4_usize, any::<bool>(), "[ -~\r\n]{0,20}"), 0..12),
            last in Just([0, 1, 2, 3]).prop_shuffle(),
        ) {
            let names = ["one", "two", "a (new file): b", "dr\u{e4}i >>>"].map(task);
            let mut now = content.clone();
            let take = |now: &mut Option<Vec<u8>>, name: &TaskId| {
                let Some(there) = now else { return };
                match without_block(there, name).unwrap() {
                    BlockChange::Nothing => {}
                    BlockChange::Content(after) => *now = Some(after),
                    BlockChange::NoFile => *now = None,
                }
            };
            for (which, puts, lines) in steps {
                let name = &names[which];
                if !puts {
                    take(&mut now, name);
                    continue;
                }
                match with_block(now.as_deref(), name, &lines) {
                    Ok(BlockChange::Content(after)) => now = Some(after),
                    Ok(BlockChange::Nothing) | Err(_) => {}
                    Ok(BlockChange::NoFile) => panic!("putting something in takes nothing away"),
                }
                let again = with_block(now.as_deref(), name, &lines);
                prop_assert_eq!(again, Ok(BlockChange::Nothing));
                let there = shell_blocks(now.as_deref().unwrap_or_default()).unwrap();
                prop_assert!(there.iter().any(|block| block.task_id == *name));
            }
            for which in last {
                take(&mut now, &names[which]);
            }
            prop_assert_eq!(now, content);
        }
    }
}
