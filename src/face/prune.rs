//! What would be removed, for a person.

use std::fmt::Write;

use super::visible;
use crate::engine::Pruning;

pub fn pruning_text(pruning: &Pruning) -> String {
    let mut text = String::new();
    for old in &pruning.logs {
        let _ = writeln!(text, "logs    {}  {} bytes; the record stays", old.id, old.bytes);
    }
    for old in &pruning.records {
        let _ = writeln!(text, "record  {}  nothing was installed, nothing refers to it", old.id);
    }
    for (id, why) in &pruning.kept {
        let _ = writeln!(text, "kept    {id}  {}", visible(why));
    }
    if pruning.is_empty() {
        text.push_str("nothing is old enough to be removed\n");
    }
    text
}
