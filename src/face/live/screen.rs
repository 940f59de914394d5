//! What is drawn while a run goes on, and what is printed above it for good.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::{SigId, consts::SIGCONT, flag, low_level};

use super::{
    left::{Pace, Under},
    lines::Lines,
    tail::Tail,
};
use crate::{
    engine::{Durations, Told},
    face::{
        Look, durations, goodbye,
        paint::Paint,
        plan_text, resuming_text,
        terminal::{Mode, Terminal},
        visible,
    },
    model::{CommandFinished, CommandVerdict, Event, EventKind, Plan, ResumeAction, TaskId},
};

/// How many times a second it is drawn at most.
const DRAWS_PER_SECOND: u8 = 10;

/// What is on the screen while a run goes on.
#[derive(Debug)]
pub struct Live {
    terminal: Terminal,
    bars: MultiProgress,
    overall: Option<ProgressBar>,
    lines: Lines<Bar>,
    pace: Pace,
    settled: HashSet<TaskId>,
    /// While there is something to draw, nothing that is typed gets in between.
    unechoed: Option<Mode>,
    /// Set when we were stopped and go on: what is on the screen is not ours.
    continued: Arc<AtomicBool>,
    listening: Option<SigId>,
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(id) = self.listening.take() {
            low_level::unregister(id);
        }
    }
}

/// What draws a line.
#[derive(Debug)]
struct Bar {
    bar: ProgressBar,
    /// Whether there is room for it.
    is_drawn: bool,
}

impl Live {
    pub fn new(terminal: Terminal) -> Self {
        Self {
            terminal,
            bars: new_bars(),
            overall: None,
            lines: Lines::new(),
            pace: Pace::default(),
            settled: HashSet::new(),
            unechoed: None,
            continued: Arc::default(),
            listening: None,
        }
    }

    /// Somebody else has written on the screen: what was drawn is left as it is.
    fn start_below(&mut self) {
        self.unechoed = None;
        self.bars = new_bars();
        for line in self.lines.iter().filter(|line| line.bar.is_drawn) {
            self.bars.add(line.bar.bar.clone());
        }
        if let Some(overall) = &mut self.overall {
            *overall = self.bars.add(overall.clone());
        }
    }

    /// How long tasks took before: what is left is told by that.
    pub fn knows(&mut self, known: Durations) {
        self.pace.knows(known);
    }

    /// Leaves the screen to somebody else. It is drawn again when there is something new.
    pub fn hide(&mut self) {
        // A screen that is gone needs no tidying.
        let _ = self.bars.clear();
        self.unechoed = None;
    }

    /// Takes the bars away: what stays is what was printed.
    pub fn end(&mut self) {
        let lines = self.lines.clear();
        self.take_away(lines);
        self.pace.rest();
        if let Some(overall) = self.overall.take() {
            overall.finish_and_clear();
        }
        self.hide();
    }

    pub fn show(&mut self, told: &Told<'_>) {
        match told {
            Told::Event(event) => self.event(event),
            Told::Begins { settled, plan } => self.begin(settled, plan),
            Told::Resumes(context) => self.print(resuming_text(context).trim_end()),
            Told::TakenUp { task_id, command } => {
                let what = format!("{} (begun by an earlier run)", visible(command));
                self.start(std::slice::from_ref(task_id), &what, false);
            }
            Told::Waits { task_id, what } => self.start(std::slice::from_ref(*task_id), what, true),
            Told::Output { task_id, skipped, bytes } => self.output(task_id, *skipped, bytes),
            Told::TerminalLent(true) => self.hide(),
            Told::Tick | Told::TerminalLent(false) => self.tick(),
            Told::Plan(plan) => self.print(&plan_text(plan, true)),
            Told::Repaired(ended) => {
                self.end();
                self.print(&goodbye(ended));
            }
            Told::Note(note) => {
                const MARK: &str = "note: ";
                let text = self.terminal.wrapped(note, MARK.len());
                self.print(&format!("{MARK}{}", text.trim_start()));
            }
        }
    }

    fn look(&self) -> Look {
        self.terminal.look()
    }

    fn paint(&self) -> Paint {
        Paint(self.look())
    }

    /// Above the bars, for good. The text is safe to show.
    fn print(&mut self, text: &str) {
        for line in text.lines() {
            // What cannot be shown on this screen is on record.
            let _ = self.bars.println(self.terminal.showable(line));
        }
    }

    fn begin(&mut self, settled: &HashSet<TaskId>, plan: &Plan) {
        self.end();
        if self.listening.is_none() {
            self.listening = flag::register(SIGCONT, Arc::clone(&self.continued)).ok();
        }
        self.settled.clone_from(settled);
        self.pace.begin(plan, settled);
        let overall = self.bars.add(ProgressBar::new(plan.tasks.len() as u64));
        overall.set_style(self.bar_style());
        overall.set_position(self.settled.len() as u64);
        self.overall = Some(overall);
        self.tick();
    }

    fn bar_style(&self) -> ProgressStyle {
        let template = "{wide_bar} {pos}/{len} {msg}";
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        style.progress_chars(if self.look().unicode { "━━╌" } else { "##-" })
    }

    fn line_style(&self) -> ProgressStyle {
        let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed} {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        style.tick_chars(if self.look().unicode {
            "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ "
        } else {
            "-\\|/ "
        })
    }

    fn tick(&mut self) {
        if self.terminal.is_lent() {
            self.continued.store(true, Ordering::Relaxed);
            return;
        }
        if self.continued.swap(false, Ordering::Relaxed) {
            self.start_below();
        }
        if self.unechoed.is_none() && self.overall.is_some() {
            self.unechoed = self.terminal.unechoed();
        }
        for line in self.lines.iter() {
            line.bar.bar.tick();
        }
        let left = self.left();
        if let Some(overall) = &self.overall {
            overall.set_message(left);
            overall.set_position(self.settled.len() as u64);
            overall.tick();
        }
    }

    /// How long it may still take, as far as that can be told.
    fn left(&self) -> String {
        let lines = self.lines.iter().map(|line| {
            let elapsed = if line.waits { Duration::ZERO } else { line.bar.bar.elapsed() };
            Under { tasks: line.tasks(), elapsed }
        });
        match self.pace.left(lines) {
            Some(left) if left >= Duration::from_secs(2) => {
                format!("{} left", durations::about(left))
            }
            _ => String::new(),
        }
    }

    /// Shows on one line what begins for these tasks, or what they wait for.
    fn start(&mut self, tasks: &[TaskId], what: &str, waits: bool) {
        let style = self.line_style();
        let gone = self.lines.begin(tasks, || {
            // It gets its place on the screen when it is known whether there is one.
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
            bar.set_style(style);
            Bar { bar, is_drawn: false }
        });
        if let Some(line) = tasks.first().and_then(|first| self.lines.of(first)) {
            line.waits = waits;
            line.tail = Tail::default();
            line.bar.bar.reset_elapsed();
            line.bar.bar.set_message(self.terminal.showable(what).into_owned());
        }
        self.take_away(gone);
        if !waits {
            self.pace.runs(self.lines.running());
        }
        self.arrange();
        self.tick();
    }

    /// Takes a task from the screen, and its line if that shows nobody else.
    fn stop(&mut self, task_id: &TaskId) {
        let gone = self.lines.leave(task_id);
        self.take_away(gone);
        self.arrange();
    }

    fn take_away(&self, gone: Vec<Bar>) {
        for Bar { bar, .. } in gone {
            bar.finish_and_clear();
            self.bars.remove(&bar);
        }
    }

    /// Names each line, and gives a place to those that there is room for.
    fn arrange(&mut self) {
        let mut below = self.overall.clone();
        for (line, is_drawn) in self.lines.drawn() {
            let label = visible(&line.label()).into_owned();
            let Bar { bar, is_drawn: was_drawn } = &mut line.bar;
            if bar.prefix() != label {
                bar.set_prefix(label);
            }
            match (is_drawn, *was_drawn) {
                (true, false) => {
                    let _ = match &below {
                        Some(below) => self.bars.insert_before(below, bar.clone()),
                        None => self.bars.add(bar.clone()),
                    };
                }
                (false, true) => self.bars.remove(bar),
                _ => {}
            }
            *was_drawn = is_drawn;
            if is_drawn {
                below = Some(bar.clone());
            }
        }
    }

    fn output(&mut self, task_id: &TaskId, skipped: u64, bytes: &[u8]) {
        let Some(line) = self.lines.of(task_id) else { return };
        if let Some(shown) = line.tail.push(skipped, bytes) {
            line.bar.bar.set_message(self.terminal.showable(&shown).into_owned());
        }
    }

    fn settle(&mut self, task_id: &TaskId, sign: &str, text: &str) {
        let took = self.pace.settle(task_id);
        self.stop(task_id);
        self.settled.insert(task_id.clone());
        let took = took.map_or_else(String::new, |took| format!("  {}", durations::took(took)));
        let room = self.terminal.width().saturating_sub(2 + took.chars().count());
        let text = self.terminal.cut(text, room);
        let line = format!("{sign} {text}{}", self.paint().dim(&took));
        self.print(&line);
        self.tick();
    }

    fn event(&mut self, event: &Event) {
        let paint = self.paint();
        match &event.kind {
            EventKind::SessionCreated(created) => {
                let line = paint.dim(&format!("session {}", created.session_id));
                self.print(&line);
            }
            EventKind::TaskStarted { task_id } => {
                self.start(std::slice::from_ref(task_id), "", false);
            }
            EventKind::CommandStarted(started) => {
                let again = if started.attempt > 1 {
                    format!(" (try {})", started.attempt)
                } else {
                    String::new()
                };
                let first = started.command.trim().lines().next().unwrap_or_default();
                self.start(&started.task_ids, &format!("$ {}{again}", visible(first)), false);
            }
            EventKind::CommandFinished(finished) => {
                self.finish(finished);
                if finished.status == CommandVerdict::Failure
                    && finished.resume == Some(ResumeAction::Retry)
                {
                    let error = finished.error.as_deref().unwrap_or("failed");
                    let text = format!("{}: {}", finished.task_id, visible(error));
                    let text = self.terminal.wrapped(&text, 2);
                    self.print(&format!("{} {}", paint.failed(), text.trim_start()));
                }
            }
            EventKind::TaskCompleted { task_id, result } => {
                let version = result.get("version").and_then(|version| version.as_str());
                let version = version.map_or_else(String::new, |v| format!(" {}", visible(v)));
                let there = result.get("already_installed").is_some_and(|there| there == true);
                if there {
                    let text = format!("{task_id}{version} already there");
                    self.settle(task_id, &paint.there(), &text);
                } else {
                    self.settle(task_id, &paint.done(), &format!("{task_id}{version}"));
                }
            }
            EventKind::TaskFailed { task_id, error, failure_context } => {
                self.failed(task_id, error, &failure_context.error_type);
                let advice = &failure_context.suggested_resolution;
                let advice = self.terminal.wrapped(advice, 2);
                self.print(&advice);
            }
            EventKind::TaskSkipped { task_id, reason, .. } => {
                let text = format!("{task_id} skipped: {}", visible(reason));
                self.settle(task_id, &paint.passed(), &text);
            }
            EventKind::ShellBlockWritten(written) if written.error.is_none() => {
                let what = if written.changed { "added to" } else { "is in" };
                self.print(&format!("  {} {what} {}", written.task_id, visible(&written.file)));
            }
            // What was settled is to be done after all, once it is its turn.
            EventKind::TaskReset { task_id, .. } if self.settled.remove(task_id) => {
                self.pace.reopen(task_id);
                self.tick();
            }
            EventKind::TaskReset { task_id, reason } => {
                let text = format!("{task_id}: {}", visible(reason));
                self.start(std::slice::from_ref(task_id), &text, true);
            }
            _ => {}
        }
    }

    fn finish(&mut self, finished: &CommandFinished) {
        let took = Duration::from_millis(finished.duration_ms);
        let Some(line) = self.lines.of(&finished.task_id) else { return };
        // Nothing of it runs until somebody has said what is to become of it.
        line.waits = finished.is_unknown() && finished.resume == Some(ResumeAction::Choose);
        self.pace.add(line.tasks(), took);
    }

    fn failed(&mut self, task_id: &TaskId, error: &str, class: &str) {
        let paint = self.paint();
        let lines = self.lines.of(task_id).map(|line| line.tail.take_lines());
        self.pace.forget(task_id);
        self.stop(task_id);
        let what = format!("{task_id} failed ({}): {}", visible(class), visible(error));
        let what = self.terminal.wrapped(&what, 2);
        self.print(&format!("{} {}", paint.failed(), paint.bold(what.trim_start().trim_end())));
        let room = self.terminal.width().saturating_sub(4);
        for line in lines.unwrap_or_default() {
            let line = self.terminal.cut(&line, room);
            self.print(&paint.dim(&format!("  | {line}")));
        }
    }
}

fn new_bars() -> MultiProgress {
    let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
    MultiProgress::with_draw_target(target)
}
