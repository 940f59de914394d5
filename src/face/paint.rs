//! Colour, where there is some. What it says is also said in words or signs.

use super::Look;

#[derive(Clone, Copy, Debug)]
pub(super) struct Paint(pub Look);

impl Paint {
    /// Returns the text in the colour of a code, or as it is where the code is empty.
    pub(super) fn with(self, code: &str, text: &str) -> String {
        if self.0.colour && !code.is_empty() && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(super) fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(super) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(super) fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    /// A sign, or what stands for it where signs cannot be shown.
    pub(super) fn sign(self, sign: &'static str, plain: &'static str) -> &'static str {
        if self.0.unicode { sign } else { plain }
    }

    pub(super) fn done(self) -> String {
        self.green(self.sign("✓", "+"))
    }

    pub(super) fn failed(self) -> String {
        self.red(self.sign("✗", "x"))
    }

    pub(super) fn passed(self) -> String {
        self.yellow("-")
    }

    pub(super) fn there(self) -> String {
        self.dim(self.sign("·", "="))
    }
}
