//! One page that needs nothing but itself: style and script within, and nothing it may fetch. What a
//! record holds is shown as text, whatever it looks like.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::face::text::visible_lines;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Only this script may run: `sha256-` and its hash in base64. A test holds the two together.
const SCRIPT_HASH: &str = "sha256-8/5l3+Ye3gWCWa9I8UkzHftz6HDawf/M/WwzrG4rtps=";

/// A part of a page, with its name in the list of parts.
pub(super) struct Part {
    id: &'static str,
    name: &'static str,
    content: Markup,
}

pub(super) fn part(id: &'static str, name: &'static str, content: Markup) -> Part {
    Part { id, name, content }
}

/// A whole page.
pub(super) fn page(title: &str, head: &Markup, parts: &[Part], foot: &Markup) -> String {
    let policy = format!(
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; \
         base-uri 'none'; form-action 'none'"
    );
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (visible_lines(title)) }
                // No picture is fetched for it.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header { (head) }
                nav aria-label="Parts of this page" {
                    ul {
                        @for part in parts {
                            li { a href={ "#" (part.id) } { (part.name) } }
                        }
                    }
                }
                main #main {
                    @for part in parts {
                        section #(part.id) aria-labelledby={ (part.id) "-name" } {
                            h2 #{ (part.id) "-name" } { (part.name) }
                            (part.content)
                        }
                    }
                }
                footer { (foot) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// Text of a record, in a line of ours, which it cannot turn around.
pub(super) fn recorded(text: &str) -> Markup {
    html! { bdi { (visible_lines(text)) } }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::{SCRIPT, SCRIPT_HASH, page};

    fn base64(bytes: &[u8]) -> String {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let three = [chunk[0], *chunk.get(1).unwrap_or(&0), *chunk.get(2).unwrap_or(&0)];
            let number = three.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
            for place in 0..4 {
                let letter = letters[number >> (18 - 6 * place) & 63];
                text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
            }
        }
        text
    }

    #[test]
    fn the_only_script_that_may_run_is_ours() {
        let hash = base64(&Sha256::digest(SCRIPT.as_bytes()));
        assert_eq!(SCRIPT_HASH, format!("sha256-{hash}"));
        assert!(!SCRIPT.contains("</") && !SCRIPT.contains("<!--"), "it would end too early");
    }

    #[test]
    fn what_a_record_holds_is_text() {
        let title = "<script>alert(1)</script>\u{202e}\u{1b}[31m";
        let page = page(title, &maud::html! {}, &[], &maud::html! {});
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}\\u{1b}[31m</title>"));
        assert_eq!(page.matches("<script>").count(), 1);
    }
}
