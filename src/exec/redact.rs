//! Keeps secrets out of output, also when they come in pieces or in disguise.
//!
//! Bytes are held back only for as long as they could be the beginning of a secret.

use std::fmt::Write;

use aho_corasick::{AhoCorasick, MatchKind};

/// Shorter secrets would blacken half of any output: they cannot be kept out of it.
pub const SHORTEST_SECRET: usize = 6;

const MARK: &[u8] = b"[redacted]";

/// A whole text without the secrets in it.
pub fn redact(secrets: &[String], text: &[u8]) -> Vec<u8> {
    let mut redactor = Redactor::new(secrets);
    let mut shown = Vec::with_capacity(text.len());
    redactor.push(text, &mut shown);
    redactor.finish(&mut shown);
    shown
}

#[derive(Debug)]
pub(super) struct Redactor {
    /// Finds every form of every secret; `None` where there is none.
    finder: Option<AhoCorasick>,
    /// Whether there are secrets and no way to find them: then nothing is shown.
    blind: bool,
    forms: Vec<Vec<u8>>,
    longest: usize,
    /// What could still become a secret.
    held: Vec<u8>,
    /// How many of the held bytes are known to belong to one.
    covered: usize,
    /// Whether the last byte before them did.
    inside: bool,
}

impl Redactor {
    pub(super) fn new(secrets: &[String]) -> Self {
        let long = secrets.iter().filter(|secret| secret.len() >= SHORTEST_SECRET);
        let mut forms: Vec<_> = long.flat_map(|secret| disguises(secret)).collect();
        forms.sort();
        forms.dedup();
        // A form so short that it is hardly part of the secret would redact by accident.
        forms.retain(|form| form.len() >= SHORTEST_SECRET);
        let build = || AhoCorasick::builder().match_kind(MatchKind::Standard).build(&forms).ok();
        let finder = if forms.is_empty() { None } else { build() };
        Self {
            blind: finder.is_none() && !forms.is_empty(),
            finder,
            longest: forms.iter().map(Vec::len).max().unwrap_or(0),
            forms,
            held: Vec::new(),
            covered: 0,
            inside: false,
        }
    }

    /// Takes the next bytes in; gives what is safe to show so far to `out`.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Some(finder) = &self.finder else {
            if !self.blind {
                out.extend_from_slice(bytes);
            }
            return;
        };
        self.held.extend_from_slice(bytes);
        let covered = self.coverage(finder);
        let safe = self.held.len() - self.possible_beginning();
        self.show(safe, &covered, out);
        self.covered = covered[safe..].iter().take_while(|covered| **covered).count();
        self.held.drain(..safe);
    }

    /// Gives what is left: nothing comes after it.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let Some(finder) = &self.finder else { return };
        let covered = self.coverage(finder);
        self.show(self.held.len(), &covered, out);
        self.held.clear();
        self.covered = 0;
    }

    /// Which of the held bytes belong to a secret.
    fn coverage(&self, finder: &AhoCorasick) -> Vec<bool> {
        let mut covered = vec![false; self.held.len()];
        covered[..self.covered].fill(true);
        for found in finder.find_overlapping_iter(&self.held) {
            covered[found.range()].fill(true);
        }
        covered
    }

    fn show(&mut self, up_to: usize, covered: &[bool], out: &mut Vec<u8>) {
        for (byte, covered) in self.held[..up_to].iter().zip(covered) {
            if !covered {
                out.push(*byte);
            } else if !self.inside {
                out.extend_from_slice(MARK);
            }
            self.inside = *covered;
        }
    }

    /// How long the longest end of what is held is that some form begins with.
    fn possible_beginning(&self) -> usize {
        let most = self.held.len().min(self.longest.saturating_sub(1));
        let begins = |length: &usize| {
            let end = &self.held[self.held.len() - length..];
            // They are sorted: whatever begins with it stands where it would stand itself.
            let place = self.forms.partition_point(|form| form.as_slice() < end);
            let mut next = self.forms[place..].iter().take(2);
            next.any(|form| form.len() > *length && form.starts_with(end))
        };
        (1..=most).rev().find(begins).unwrap_or(0)
    }
}

/// A secret as it is, and as it looks quoted for a shell, in JSON, in a URL, and in base64 at each
/// of its three alignments.
fn disguises(secret: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.as_bytes().to_vec()];
    forms.push(secret.replace('\'', r"'\''").into_bytes());
    forms.push(backslashed(secret).into_bytes());
    let json = serde_json::to_string(secret).unwrap_or_default();
    forms.push(json.trim_matches('"').as_bytes().to_vec());
    forms.push(ascii_json(secret).into_bytes());
    forms.push(json_for_web(secret).into_bytes());
    forms.push(json.trim_matches('"').replace('/', r"\/").into_bytes());
    for unreserved in [&b"-_.~"[..], b"-_.~/", b"-_.~!*'()"] {
        for space in ["%20", "+"] {
            for lower in [false, true] {
                forms.push(percent(secret, unreserved, space, lower).into_bytes());
            }
        }
    }
    // Each line of it may be printed by itself.
    let lines = secret.lines().filter(|line| line.len() >= SHORTEST_SECRET);
    forms.extend(lines.map(|line| line.as_bytes().to_vec()));
    for alignment in 0..3 {
        for alphabet in [b"+/", b"-_"] {
            let whole = base64(secret.as_bytes(), alignment, *alphabet);
            if (UNBROKEN..=BROKEN).contains(&whole.len()) {
                // It may be broken into lines anywhere: every part of it is looked for.
                forms.extend(whole.windows(PART).map(<[u8]>::to_vec));
            }
            forms.push(whole);
        }
    }
    forms
}

/// Shorter than the shortest line that tools break base64 into.
const UNBROKEN: usize = 60;
/// Longer secrets are not looked for in parts: that would take more than it gives.
const BROKEN: usize = 6_000;
/// Long enough that no other text has it by chance.
const PART: usize = 8;

/// As JSON made safe for web pages writes it.
fn json_for_web(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    let json = json.replace('&', r"\u0026").replace('<', r"\u003c").replace('>', r"\u003e");
    json.trim_matches('"').to_owned()
}

/// As `printf %q` writes it.
fn backslashed(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for character in text.chars() {
        let plain = character.is_ascii_alphanumeric()
            || !character.is_ascii()
            || "_@%+=:,./-".contains(character);
        if !plain {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted
}

/// As JSON that keeps to ASCII writes it.
fn ascii_json(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    let mut escaped = String::with_capacity(json.len());
    for character in json.trim_matches('"').chars() {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    escaped
}

fn percent(text: &str, unreserved: &[u8], space: &str, lower: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte == b' ' {
            encoded.push_str(space);
        } else if byte.is_ascii_alphanumeric() || unreserved.contains(&byte) {
            encoded.push(char::from(byte));
        } else if lower {
            let _ = write!(encoded, "%{byte:02x}");
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// What is certain to stand in the base64 of any text that holds `secret` behind a number of
/// bytes that leaves `alignment` when divided by three.
fn base64(secret: &[u8], alignment: usize, extra: [u8; 2]) -> Vec<u8> {
    const DIGITS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let digit = |value: u8| {
        DIGITS.get(usize::from(value)).copied().unwrap_or_else(|| extra[usize::from(value == 63)])
    };
    let bits = secret.len() * 8;
    let bit = |at: usize| secret[at / 8] >> (7 - at % 8) & 1;
    // The first digit that depends on the secret alone begins where a multiple of six bits does.
    let first = [0, 4, 2][alignment];
    (first..bits.saturating_sub(5))
        .step_by(6)
        .map(|start| digit((start..start + 6).fold(0, |value, at| value << 1 | bit(at))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{MARK, Redactor};

    fn redact(secrets: &[&str], pieces: &[&[u8]]) -> String {
        let secrets: Vec<_> = secrets.iter().map(ToString::to_string).collect();
        let mut redactor = Redactor::new(&secrets);
        let mut out = Vec::new();
        for piece in pieces {
            redactor.push(piece, &mut out);
        }
        redactor.finish(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn a_secret_is_found_wherever_it_is_cut() {
        let text = b"before s3cret-word after";
        for cut in 0..text.len() {
            for next in cut..text.len() {
                let pieces = [&text[..cut], &text[cut..next], &text[next..]];
                assert_eq!(redact(&["s3cret-word"], &pieces), "before [redacted] after");
            }
        }
    }

    #[test]
    fn nothing_is_held_that_cannot_become_a_secret() {
        let mut redactor = Redactor::new(&["s3cret-word".to_owned()]);
        let mut out = Vec::new();
        redactor.push(b"Password: s3cr", &mut out);
        assert_eq!(out, b"Password: ");
        redactor.push(b"eam", &mut out);
        assert_eq!(out, b"Password: s3cream");
    }

    #[test]
    fn secrets_that_overlap_or_contain_each_other_leave_nothing() {
        assert_eq!(redact(&["abcdef", "abcdefghij"], &[b"abcdef", b"ghij."]), "[redacted].");
        assert_eq!(redact(&["xxabcdef", "cdefyyzz"], &[b"xxabcd", b"efyyzz!"]), "[redacted]!");
        assert_eq!(redact(&["abcdef", "abcdefghij"], &[b"abcdefgh", b"!"]), "[redacted]gh!");
    }

    #[test]
    fn endless_repetition_needs_no_memory() {
        let mut redactor = Redactor::new(&["aaaaaa".to_owned()]);
        let mut out = Vec::new();
        for _ in 0..1000 {
            redactor.push(&[b'a'; 1000], &mut out);
            assert!(redactor.held.len() < 6);
        }
        redactor.finish(&mut out);
        assert_eq!(out, MARK);
    }

    #[test]
    fn disguises_are_seen_through() {
        let secret = "pa\"ss wörd/+&'x";
        let shown = [
            r#"pa\"ss wörd/+&'x"#,
            r#"pa\"ss w\u00f6rd/+&'x"#,
            "pa%22ss%20w%C3%B6rd%2F%2B%26%27x",
            "pa%22ss+w%C3%B6rd%2F%2B%26%27x",
            r#"pa"ss wörd/+&'\''x"#,
            r#"pa\"ss\ wörd/+\&\'x"#,
        ];
        for shown in shown {
            assert_eq!(redact(&[secret], &[shown.as_bytes()]), "[redacted]", "{shown}");
        }
        // base64 of the secret behind none, one and two bytes; only the digits at its edges, which
        // it shares with its neighbours, can be left.
        for whole in
            ["cGEic3Mgd8O2cmQvKyYneA==", "LnBhInNzIHfDtnJkLysmJ3gu", "Li5wYSJzcyB3w7ZyZC8rJid4Lg=="]
        {
            let left = redact(&[secret], &[whole.as_bytes()]);
            assert!(left.contains("[redacted]") && left.len() <= 10 + 9, "{left}");
        }
    }

    #[test]
    fn the_beginning_of_a_secret_hides_no_other_in_it() {
        let key = "-----BEGIN-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END-----";
        let shown = redact(&[key], &[b"key: -----BEGIN-----\nMIIEvQIBADANBg\n"]);
        assert_eq!(shown, "key: [redacted]\n[redacted]\n");
        assert_eq!(
            redact(&["secret-token", "a-secret-token-b"], &[b"a-secret-token"]),
            "a-[redacted]"
        );
    }

    #[test]
    fn base64_is_found_wherever_it_is_broken_into_lines() {
        let secret: String =
            (0..90_u8).map(|n| char::from(b'a' + n.wrapping_mul(7) % 26)).collect();
        for before in 0..3 {
            let whole = super::base64(secret.as_bytes(), (3 - before) % 3, *b"+/");
            for width in 20..76 {
                let lines: Vec<_> =
                    whole.chunks(width).map(|line| [line, b"\n"].concat()).collect();
                let left = redact(&[&secret], &[&lines.concat()]);
                let left = left.replace("[redacted]", "");
                assert!(left.lines().all(|line| line.len() < super::PART), "{left}");
            }
        }
    }

    #[test]
    fn without_secrets_everything_passes() {
        assert_eq!(redact(&[], &[b"all", b"of it"]), "allof it");
        assert_eq!(redact(&["12345"], &[b"12345"]), "12345");
    }
}
