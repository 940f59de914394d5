//! What the text of a command gives away without being run.

use std::ops::Range;

/// A place in the text of a command, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub at: Range<usize>,
    pub message: String,
    pub hint: Option<String>,
}

/// `{{name}}`: a value that someone expects to be pasted in. Templates that programs fill in
/// themselves (`{{.Names}}`, `{{json .}}`, `{{end}}`) are none.
pub fn pasted(text: &str) -> Vec<Remark> {
    const OF_TEMPLATES: [&str; 4] = ["end", "else", "break", "continue"];
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find("{{").map(|at| from + at) {
        let Some(end) = text[start..].find("}}").map(|at| start + at + 2) else { break };
        from = end;
        let name = text[start + 2..end - 2].trim();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        if is_name && !OF_TEMPLATES.contains(&name) {
            let variable = name.replace(['-', '.'], "_").to_ascii_uppercase();
            found.push(Remark {
                at: start..end,
                message: format!(
                    "`{}` is not filled in: values are never pasted into a command",
                    &text[start..end]
                ),
                hint: Some(format!("write \"${variable}\"")),
            });
        }
    }
    found
}

/// The first `sudo` that would be run.
pub fn literal_sudo(text: &str) -> Option<Range<usize>> {
    words(text).find(|word| {
        let name = text[word.clone()].rsplit('/').next();
        name == Some("sudo")
    })
}

/// What the bash 3.2 of macOS does not know.
pub fn newer_than_3_2(text: &str) -> Vec<Remark> {
    let mut found = Vec::new();
    let mut add = |at: Range<usize>, what: &str, since: &str| {
        found.push(Remark {
            at,
            message: format!("{what} needs bash {since}; macOS has 3.2"),
            hint: None,
        });
    };
    let mut words = words(text).peekable();
    let mut first = None;
    while let Some(at) = words.next() {
        let word = &text[at.clone()];
        let next = words.peek().map_or("", |next| &text[next.clone()]);
        let flag = |letter: char| {
            next.starts_with('-') && !next.starts_with("--") && next.contains(letter)
        };
        match word {
            "mapfile" | "readarray" => add(at, &format!("`{word}`"), "4.0"),
            "coproc" => add(at, "`coproc`", "4.0"),
            "declare" | "local" | "typeset" if flag('A') => {
                add(at, "an associative array", "4.0");
            }
            "declare" | "local" | "typeset" if flag('n') => add(at, "a name reference", "4.3"),
            "wait" if next == "-n" => add(at, "`wait -n`", "4.3"),
            "globstar" | "lastpipe" if first == Some("shopt") => {
                add(at, &format!("`shopt -s {word}`"), "4.0");
            }
            "-v" if first == Some("[[") || first == Some("test") || first == Some("[") => {
                add(at, "`-v`", "4.2");
            }
            _ => {}
        }
        if !word.starts_with('-') {
            first = Some(word);
        }
    }
    for (sign, what) in [("&>>", "`&>>`"), ("|&", "`|&`"), (";;&", "`;;&`"), (";&", "`;&`")] {
        if let Some(at) = text.find(sign)
            && !(sign == ";&" && text[..at].ends_with(';'))
        {
            add(at..at + sign.len(), what, "4.0");
        }
    }
    for name in ["$EPOCHSECONDS", "$EPOCHREALTIME", "$SRANDOM"] {
        if let Some(at) = text.find(name) {
            add(at..at + name.len(), &format!("`{name}`"), "5.0");
        }
    }
    for (at, what, since) in expansions(text) {
        add(at, what, since);
    }
    found.sort_by_key(|remark| remark.at.start);
    found
}

/// `${x^^}`, `${x,,}` and `${x@Q}`.
fn expansions(text: &str) -> Vec<(Range<usize>, &'static str, &'static str)> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices("${") {
        let inside = &text[start + 2..];
        let name = inside.len()
            - inside.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        let Some(length) = inside.find('}') else { continue };
        let operator = inside[name..].chars().next();
        let at = start..start + 2 + length + 1;
        match operator {
            Some('^' | ',') if name > 0 => {
                found.push((at, "changing the case in an expansion", "4.0"));
            }
            Some('@') if name > 0 && length == name + 2 => {
                found.push((at, "an expansion with `@`", "4.4"));
            }
            _ => {}
        }
    }
    found
}

/// The words of a command, quotes and operators left aside. Comments are not words.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let is_between = |c: char| c.is_whitespace() || ";|&()<>`\"'={}$!".contains(c);
    let mut rest = 0;
    std::iter::from_fn(move || {
        loop {
            let start = rest + text[rest..].find(|c: char| !is_between(c))?;
            let is_first = start == 0 || text[..start].ends_with(char::is_whitespace);
            if text[start..].starts_with('#') && is_first {
                rest = text[start..].find('\n').map_or(text.len(), |at| start + at);
                continue;
            }
            let end = text[start..].find(is_between).map_or(text.len(), |at| start + at);
            rest = end;
            return Some(start..end);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{literal_sudo, newer_than_3_2, pasted};

    #[test]
    fn values_are_not_pasted_and_templates_are_left_alone() {
        let found = pasted("git config user.name {{git_name}} {{ x }}");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].at, 21..33);
        assert_eq!(found[0].hint.as_deref(), Some("write \"$GIT_NAME\""));
        for text in ["docker ps --format '{{.Names}}'", "{{json .}}", "{{end}}", "{{", "a}}b{{"] {
            assert_eq!(pasted(text), [], "{text}");
        }
    }

    #[test]
    fn sudo_is_a_word_wherever_it_is_run() {
        for text in ["sudo apt-get", "true && sudo x", "x=$(/usr/bin/sudo id)", "a|sudo tee f"] {
            assert!(literal_sudo(text).is_some(), "{text}");
        }
        for text in ["pseudo x", "cat /etc/sudoers", "# sudo\ntrue", "sudoedit x", "echo a#b"] {
            assert_eq!(literal_sudo(text), None, "{text}");
        }
    }

    #[test]
    fn what_macos_does_not_know_is_found() {
        for text in [
            "mapfile -t x < f",
            "readarray x",
            "declare -A m",
            "local -gA m",
            "declare -n r=x",
            "echo ${x^^}",
            "echo \"${x,,}\"",
            "echo ${x@Q}",
            "make &>> log",
            "make |& tee log",
            "coproc cat",
            "case x in a) b;;& esac",
            "shopt -s globstar",
            "[[ -v x ]]",
            "wait -n",
            "echo $EPOCHSECONDS",
        ] {
            assert_eq!(newer_than_3_2(text).len(), 1, "{text}: {:?}", newer_than_3_2(text));
        }
    }

    #[test]
    fn what_macos_knows_is_left_alone() {
        for text in [
            "declare -a list; local x=1",
            "echo ${x:-y,z} ${x%%,*} ${x/^/y} $x",
            "make > log 2>&1; true & wait",
            "case x in a) b;; esac",
            "command -v git; [ -n \"$x\" ]; grep -v x f",
            "# mapfile and ${x",
            "echo ${array[@]}",
            "make --A; typeset --help",
        ] {
            assert_eq!(newer_than_3_2(text), [], "{text}");
        }
    }
}
