//! Where prompts play: the loop that draws what a prompt looks like, reads keys, and ends it when
//! it is answered or not wanted. Knows no particular prompt.

use std::{io, sync::atomic::AtomicBool, thread, time::Duration};

use rustix::process::{Signal, getpgid, getpgrp, getppid, getsid, kill_current_process_group};

use super::{
    input::{self, Read, Signals},
    key::{Key, Keys},
    layout::{Row, Size},
    mode::{self, Mode, Wish},
    prompt::{Left, Look, Reply},
    screen::{Frame, Screen},
};

/// What a key did to a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step<T> {
    Stay,
    Done(T),
    Back,
    /// Ctrl-D where nothing was typed.
    End,
}

/// A prompt, as a pure machine: keys in, rows out.
pub(super) trait Prompt {
    type Answer;

    fn shows_cursor(&self) -> bool {
        false
    }

    /// Whether only what is typed from now on counts: something that must be seen by nobody, or that
    /// sets something in motion, must be meant for this very prompt.
    fn wants_fresh_keys(&self) -> bool {
        false
    }

    /// What it looks like. Where the terminal is too low for that, it is `crowded`: as little as
    /// possible may be in the rows that are drawn again and again.
    fn frame(&self, size: Size, crowded: bool, look: Look) -> Frame;

    fn press(&mut self, key: Key) -> Step<Self::Answer>;

    /// The line that stays.
    fn transcript(&self, answer: &Self::Answer, width: usize, look: Look) -> Option<Row>;
}

/// Asks until there is an answer or a reason to leave.
pub(super) fn run<P: Prompt>(
    mut prompt: P,
    look: Look,
    cancelled: &AtomicBool,
) -> io::Result<Reply<P::Answer>> {
    // Listening comes first: no signal may find the terminal ours and nobody there to give it back.
    let signals = Signals::listen()?;
    let wish = Wish::Keys { shows_cursor: prompt.shows_cursor() };
    let mode = Mode::enter(wish, prompt.wants_fresh_keys())?;
    let mut stage = Stage { look, signals, mode, screen: Screen::default(), crowded: false };
    let reply = stage.play(&mut prompt, cancelled);
    let mut last = stage.screen.erase(mode::size().columns);
    if let Ok(Reply::Answer(answer)) = &reply
        && let Some(row) = prompt.transcript(answer, mode::size().width(), look)
    {
        last.push_str(&row.text);
        last.push_str("\r\n");
    }
    mode::write(&last);
    reply
}

struct Stage {
    look: Look,
    signals: Signals,
    mode: Mode,
    screen: Screen,
    /// Once what does not fit has been written, it stays.
    crowded: bool,
}

impl Stage {
    fn play<P: Prompt>(
        &mut self,
        prompt: &mut P,
        cancelled: &AtomicBool,
    ) -> io::Result<Reply<P::Answer>> {
        let mut keys = Keys::default();
        let mut is_stale = true;
        loop {
            if let Some(left) = self.signals.left(cancelled) {
                return Ok(Reply::Left(left));
            }
            if self.signals.has_continued() {
                self.mode.again()?;
                self.screen.forget();
                is_stale = true;
            }
            is_stale |= self.signals.has_resized();
            // What was pasted or typed ahead is taken in first.
            if is_stale && !input::has_more() {
                self.draw(prompt);
                is_stale = false;
            }
            let mut byte = [0];
            let key = match input::read(&mut byte)? {
                Read::Nothing => keys.silence(),
                Read::Bytes(_) => keys.push(byte[0]),
                Read::Ended { .. } => return Ok(Reply::Left(Left::HungUp)),
            };
            let Some(key) = key else { continue };
            is_stale = true;
            match key {
                Key::Control('c') => return Ok(Reply::Left(Left::Interrupted)),
                Key::Control('\\') => return Ok(Reply::Left(Left::Terminated)),
                Key::Control('z') => self.suspend()?,
                _ => match prompt.press(key) {
                    Step::Stay => {}
                    Step::Done(answer) => return Ok(Reply::Answer(answer)),
                    Step::Back => return Ok(Reply::Back),
                    Step::End => return Ok(Reply::Left(Left::EndOfInput)),
                },
            }
        }
    }

    fn draw<P: Prompt>(&mut self, prompt: &P) {
        let size = mode::size();
        let mut frame = prompt.frame(size, self.crowded, self.look);
        if !self.crowded && frame.rows.len() > size.rows {
            self.crowded = true;
            frame = prompt.frame(size, true, self.look);
        }
        frame.rows.truncate(size.rows);
        mode::write(&self.screen.draw(&frame, size.columns));
    }

    /// Ctrl-Z: everything of this job stops, and the shell has the terminal as it was.
    fn suspend(&mut self) -> io::Result<()> {
        mode::write(&self.screen.below());
        self.mode.leave();
        // Where nobody could continue us the system does not stop us.
        let _ = kill_current_process_group(Signal::TSTP);
        if !self.is_continued_soon() && has_shell() {
            // Somebody listens to that one, and did not stop us.
            let _ = kill_current_process_group(Signal::STOP);
            self.is_continued_soon();
        }
        self.mode.again()
    }

    /// Being stopped takes a moment where there are several threads.
    fn is_continued_soon(&self) -> bool {
        for _ in 0..10 {
            if self.signals.is_continued() {
                return true;
            }
            thread::sleep(Duration::from_millis(50));
        }
        self.signals.is_continued()
    }
}

/// Whether whoever started us is there, and controls jobs: only they would continue us.
fn has_shell() -> bool {
    let Some(parent) = getppid() else { return false };
    let same_session = getsid(Some(parent)).is_ok_and(|theirs| getsid(None) == Ok(theirs));
    same_session && getpgid(Some(parent)).is_ok_and(|theirs| theirs != getpgrp())
}
