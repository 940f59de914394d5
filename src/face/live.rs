//! A run on a screen that can be redrawn: a line for each command that runs, with its last line of
//! output, a bar for all of it, and a quiet line for each task that is done.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::{SigId, consts::SIGCONT, flag, low_level};

use super::{
    Look, durations, goodbye,
    paint::Paint,
    progress,
    terminal::{Terminal, Unechoed},
    visible,
};
use crate::{
    engine::{Durations, Told},
    model::{CommandVerdict, Event, EventKind, Plan, ResumeAction, TaskId},
};

/// How many times a second it is drawn at most.
const DRAWS_PER_SECOND: u8 = 10;
/// How many of the last lines of a command that failed are shown.
const LAST_LINES: usize = 10;
/// The most that is kept of a line that has not come to its end.
const LONGEST_LINE: usize = 4096;

/// What is on the screen while a run goes on.
#[derive(Debug)]
pub struct Live {
    terminal: Terminal,
    bars: MultiProgress,
    overall: Option<ProgressBar>,
    running: Option<Running>,
    /// How long tasks took before.
    known: Durations,
    /// What is left to do, and how long each may take.
    open: HashMap<TaskId, Option<Duration>>,
    settled: u64,
    total: u64,
    begun: HashMap<TaskId, Duration>,
    /// While there is something to draw, nothing that is typed gets in between.
    unechoed: Option<Unechoed>,
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

#[derive(Debug)]
struct Running {
    task_id: TaskId,
    bar: ProgressBar,
    /// Output that has not come to the end of its line.
    unfinished: Vec<u8>,
    last_lines: Vec<String>,
    took: Duration,
}

impl Live {
    pub fn new(terminal: Terminal) -> Self {
        Self {
            terminal,
            bars: new_bars(),
            overall: None,
            running: None,
            known: HashMap::new(),
            open: HashMap::new(),
            settled: 0,
            total: 0,
            begun: HashMap::new(),
            unechoed: None,
            continued: Arc::default(),
            listening: None,
        }
    }

    /// Somebody else has written on the screen: what was drawn is left as it is.
    fn start_below(&mut self) {
        self.unechoed = None;
        self.bars = new_bars();
        if let Some(running) = &mut self.running {
            running.bar = self.bars.add(running.bar.clone());
        }
        if let Some(overall) = &mut self.overall {
            *overall = self.bars.add(overall.clone());
        }
    }

    /// How long tasks took before: what is left is told by that.
    pub fn knows(&mut self, known: Durations) {
        self.known = known;
    }

    /// Leaves the screen to somebody else. It is drawn again when there is something new.
    pub fn hide(&mut self) {
        // A screen that is gone needs no tidying.
        let _ = self.bars.clear();
        self.unechoed = None;
    }

    /// Takes the bars away: what stays is what was printed.
    pub fn end(&mut self) {
        if let Some(running) = self.running.take() {
            running.bar.finish_and_clear();
        }
        if let Some(overall) = self.overall.take() {
            overall.finish_and_clear();
        }
        self.hide();
    }

    pub fn show(&mut self, told: &Told<'_>) {
        match told {
            Told::Event(event) => self.event(event),
            Told::Begins { settled, total, plan } => self.begin(*settled, *total, plan),
            Told::Resumes(context) => self.print(super::resuming_text(context).trim_end()),
            Told::TakenUp { task_id, command } => {
                self.start(task_id, &format!("{} (begun by an earlier run)", visible(command)));
            }
            Told::Output { skipped, bytes, .. } => self.output(*skipped, bytes),
            Told::TerminalLent(true) => self.hide(),
            Told::Tick | Told::TerminalLent(false) => self.tick(),
            Told::Plan(plan) => self.print(&super::plan_text(plan, true)),
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

    fn begin(&mut self, settled: usize, total: usize, plan: &Plan) {
        self.end();
        if self.listening.is_none() {
            self.listening = flag::register(SIGCONT, Arc::clone(&self.continued)).ok();
        }
        (self.settled, self.total) = (settled as u64, total as u64);
        let tasks = plan.tasks.iter();
        self.open = tasks
            .map(|task| {
                let quick = task.found.is_some() || task.upkeep;
                let known = self.known.get(&task.id).copied();
                (task.id.clone(), if quick { Some(Duration::ZERO) } else { known })
            })
            .collect();
        let overall = self.bars.add(ProgressBar::new(self.total));
        overall.set_style(self.bar_style());
        overall.set_position(self.settled);
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
        if let Some(running) = &self.running {
            running.bar.tick();
        }
        let left = self.left();
        if let Some(overall) = &self.overall {
            overall.set_message(left);
            overall.set_position(self.settled);
            overall.tick();
        }
    }

    /// How long it may still take, as far as that can be told.
    fn left(&self) -> String {
        let average = self.average();
        let mut sum = Duration::ZERO;
        for (id, known) in &self.open {
            let Some(whole) = known.or(average) else { return String::new() };
            let running = self.running.as_ref().filter(|running| running.task_id == *id);
            let done = running.map_or(Duration::ZERO, |running| running.bar.elapsed());
            sum += whole.saturating_sub(done);
        }
        if sum < Duration::from_secs(2) {
            String::new()
        } else {
            format!("{} left", durations::about(sum))
        }
    }

    /// How long a task took in this run, where at least two are known.
    fn average(&self) -> Option<Duration> {
        let count = u32::try_from(self.begun.len()).ok().filter(|count| *count >= 2)?;
        Some(self.begun.values().sum::<Duration>() / count)
    }

    fn start(&mut self, task_id: &TaskId, what: &str) {
        let is_same = self.running.as_ref().is_some_and(|running| running.task_id == *task_id);
        if !is_same {
            self.stop();
            let bar = match &self.overall {
                Some(overall) => self.bars.insert_before(overall, ProgressBar::new_spinner()),
                None => self.bars.add(ProgressBar::new_spinner()),
            };
            bar.set_style(self.line_style());
            bar.set_prefix(visible(task_id.as_str()).into_owned());
            self.running = Some(Running {
                task_id: task_id.clone(),
                bar,
                unfinished: Vec::new(),
                last_lines: Vec::new(),
                took: Duration::ZERO,
            });
        }
        if let Some(running) = &mut self.running {
            running.unfinished.clear();
            running.last_lines.clear();
            running.bar.reset_elapsed();
            running.bar.set_message(self.terminal.showable(what).into_owned());
        }
        self.tick();
    }

    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.bar.finish_and_clear();
            self.bars.remove(&running.bar);
        }
    }

    fn output(&mut self, skipped: u64, bytes: &[u8]) {
        let Some(running) = &mut self.running else { return };
        if skipped > 0 {
            running.unfinished.clear();
        }
        running.unfinished.extend_from_slice(bytes);
        let mut last = None;
        if let Some(end) = running.unfinished.iter().rposition(|byte| *byte == b'\n') {
            let rest = running.unfinished.split_off(end + 1);
            let whole = std::mem::replace(&mut running.unfinished, rest);
            // Only the last of them are ever shown, however many there are.
            let lines = whole.rsplit(|byte| *byte == b'\n').map(progress::shown);
            let mut lines: Vec<_> =
                lines.filter(|line| !line.trim().is_empty()).take(LAST_LINES).collect();
            last = lines.first().cloned();
            lines.reverse();
            running.last_lines.extend(lines);
        }
        let extra = running.last_lines.len().saturating_sub(LAST_LINES);
        running.last_lines.drain(..extra);
        if running.unfinished.len() > LONGEST_LINE {
            let cut = running.unfinished.len() - LONGEST_LINE;
            running.unfinished.drain(..cut);
        }
        // A line under way says more than the one before it: a percentage that counts up.
        let unfinished = progress::shown(&running.unfinished);
        let shown = Some(unfinished).filter(|line| !line.trim().is_empty()).or(last);
        if let Some(shown) = shown {
            running.bar.set_message(self.terminal.showable(&shown).into_owned());
        }
    }

    fn settle(&mut self, task_id: &TaskId, sign: &str, text: &str) {
        let took = self.running.as_ref().filter(|running| running.task_id == *task_id);
        let took = took.map(|running| running.took).filter(|took| !took.is_zero());
        self.stop();
        self.settled += 1;
        self.open.remove(task_id);
        if let Some(took) = took {
            self.begun.insert(task_id.clone(), took);
        }
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
            EventKind::TaskStarted { task_id } => self.start(task_id, ""),
            EventKind::CommandStarted(started) => {
                let again = if started.attempt > 1 {
                    format!(" (try {})", started.attempt)
                } else {
                    String::new()
                };
                let first = started.command.trim().lines().next().unwrap_or_default();
                self.start(&started.task_id, &format!("$ {}{again}", visible(first)));
            }
            EventKind::CommandFinished(finished) => {
                let took = Duration::from_millis(finished.duration_ms);
                if let Some(running) = &mut self.running {
                    running.took += took;
                }
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
            EventKind::TaskReset { task_id, reason } => {
                let text = format!("{task_id}: {}", visible(reason));
                self.start(task_id, &text);
            }
            _ => {}
        }
    }

    fn failed(&mut self, task_id: &TaskId, error: &str, class: &str) {
        let paint = self.paint();
        let lines = self.running.as_mut().map(|running| std::mem::take(&mut running.last_lines));
        self.stop();
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
