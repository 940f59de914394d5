//! A terminal as a person sees it: what is on the screen now, where the cursor is, and keys to press.
//! What the program writes is drawn as a real terminal would draw it.

use std::{
    num::NonZeroU16,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use super::{Home, terminal::Terminal};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_mins(2);
/// Lines that have gone off the top are still read.
const SCROLLBACK: usize = 2000;

pub const ENTER: &str = "\r";
pub const ESCAPE: &str = "\u{1b}";
pub const DOWN: &str = "\u{1b}[B";
pub const CTRL_C: &str = "\u{3}";
pub const CTRL_D: &str = "\u{4}";
pub const CTRL_Z: &str = "\u{1a}";

pub struct Screen {
    terminal: Terminal,
    drawn: vt100::Parser,
    /// The device that the terminal is.
    device: String,
}

fn size(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

/// How a terminal is set up for a test.
#[derive(Clone, Copy)]
pub struct Setting {
    pub columns: u16,
    pub rows: u16,
    pub term: &'static str,
    pub lang: &'static str,
}

pub const USUAL: Setting =
    Setting { columns: 80, rows: 40, term: "xterm-256color", lang: "C.UTF-8" };

impl Screen {
    /// A shell on a terminal runs `line`. It says the exit code of what ran, and whether the
    /// terminal still shows what is typed.
    pub fn start(home: &Home, setting: Setting, line: &str) -> Self {
        Self::with_store(home, &home.path().join(".agentic-provision"), setting, line)
    }

    /// The same, with sessions kept where a test's other commands keep them.
    pub fn beside(home: &Home, setting: Setting, line: &str) -> Self {
        Self::with_store(home, home.path(), setting, line)
    }

    fn with_store(home: &Home, store: &Path, setting: Setting, line: &str) -> Self {
        let mut command = Command::new("env");
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.path())
            .env("AGENTIC_PROVISION_HOME", store)
            .env("SHELL", "/bin/bash")
            .env("TERM", setting.term)
            .env("LANG", setting.lang);
        Self::of(command, setting, line)
    }

    /// The same on another machine: `command` ends where words can follow.
    pub fn of(command: Command, setting: Setting, line: &str) -> Self {
        let Setting { columns, rows, .. } = setting;
        let whole = format!(
            "trap : INT QUIT; stty cols {columns} rows {rows}; echo \"$(tty) on\"; {line}; code=$?; \
             echo \"exit code $code\"; stty -a | grep -qw -- -echo && echo 'no echo' || echo 'echo is on'; \
             stty -a | grep -qw -- -icanon && echo 'no lines' || echo 'lines are on'"
        );
        let terminal = Terminal::start(command, &whole);
        let drawn = vt100::Parser::new(size(rows), size(columns), SCROLLBACK);
        let mut screen = Self { terminal, drawn, device: String::new() };
        // The size is set before anything is drawn.
        screen.waits("a terminal", |text| text.starts_with("/dev/pts/") && text.contains(" on"));
        let text = screen.text();
        let (device, _) = text.split_once(" on").unwrap();
        device.clone_into(&mut screen.device);
        screen
    }

    /// Waits until `text` stands on the screen.
    pub fn sees(&mut self, text: &str) -> &mut Self {
        self.waits(text, |screen| screen.contains(text))
    }

    /// Waits until the last thing on the screen is a question that waits for a key: what is typed
    /// before it is drawn may not count.
    pub fn ready(&mut self) -> &mut Self {
        self.waits("a question", |text| {
            // In a narrow window its keys take several lines.
            let keys = |line: &str| {
                line.contains("a letter") || line.contains("Enter") || line.starts_with("Letter")
            };
            text.lines().rev().take(4).any(keys)
        })
    }

    /// Waits until what is on the screen is as wanted.
    pub fn waits(&mut self, what: &str, is_wanted: impl Fn(&str) -> bool) -> &mut Self {
        let since = Instant::now();
        while !is_wanted(&self.text()) {
            let rest = PATIENCE.saturating_sub(since.elapsed());
            match self.terminal.next_piece(rest) {
                Some(piece) => self.drawn.process(&piece),
                None => panic!("waited in vain for {what:?} on:\n{}", self.text()),
            }
        }
        self
    }

    pub fn types(&mut self, keys: &str) -> &mut Self {
        self.terminal.type_in(keys);
        self
    }

    /// All there is, what has gone off the top first.
    pub fn text(&mut self) -> String {
        let screen = self.drawn.screen_mut();
        let (rows, columns) = screen.size();
        let (rows, columns) = (usize::from(rows.get()), columns.get());
        screen.set_scrollback(usize::MAX);
        let mut above = screen.scrollback();
        let mut lines: Vec<String> = Vec::new();
        while above > 0 {
            screen.set_scrollback(above);
            let take = above.min(rows);
            lines.extend(screen.rows(0, columns).take(take));
            above -= take;
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, columns));
        lines
            .iter()
            .map(|line| line.trim_end())
            .collect::<Vec<_>>()
            .join("\n")
            .trim_end()
            .to_owned()
    }

    pub fn shows_cursor(&self) -> bool {
        !self.drawn.screen().hide_cursor()
    }

    /// Another size, as when somebody pulls at the window.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.drawn.screen_mut().set_size(size(rows), size(columns));
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let words = ["-F", &self.device, "cols", &columns, "rows", &rows];
        let status = Command::new("stty").args(words).status().unwrap();
        assert!(status.success());
    }

    /// The window is closed.
    pub fn close(self) {
        self.terminal.close();
    }

    /// What was on the screen when all was over. The terminal must be as it was before.
    pub fn ends(mut self, code: i32) -> String {
        self.sees("lines are on");
        let text = self.text();
        assert!(text.contains(&format!("exit code {code}\n")), "not {code}:\n{text}");
        assert!(text.contains("echo is on"), "{text}");
        assert!(self.shows_cursor(), "the cursor is hidden:\n{text}");
        text
    }
}
