//! A session driven by a written list of events, for tests of the record: the real store, the
//! real disk, and nobody to ask.
//!
//! A script is a line of JSON for each step. Event number N of the script is line N of the
//! journal, so a script that was cut short goes on where the journal ends.

use std::io::{self, BufRead};

use serde::Deserialize;

use super::{Clock, clock::pause, machine};
use crate::{
    model::{Agent, Event, EventKind, ExpandedFrom, Session, SessionCreated, SessionId, VERSION},
    store::{Pen, Recorder, Store, StoreError},
};

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Step {
    Control(Control),
    Event(EventKind),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Control {
    /// The first event of a new session, on this machine.
    Create {
        objective: Option<String>,
        expanded_from: Option<ExpandedFrom>,
    },
    /// The first event of a session whose document has no journal.
    Import {},
    /// Several events with one sync.
    Batch(Vec<EventKind>),
    Settle {},
    SleepMs(u64),
    /// Holds the session until standard input ends.
    AwaitInput {},
}

#[derive(Debug)]
pub struct Script(Vec<Step>);

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("line {line} of the script is not a step")]
    Line { line: usize, source: serde_json::Error },
    #[error("the script cannot be read")]
    Read(#[from] io::Error),
    #[error("the script does not begin with `create` or `import`")]
    NoBeginning,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Script {
    pub fn read(text: impl BufRead) -> Result<Self, ScriptError> {
        let mut steps = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line?;
            if !line.trim().is_empty() {
                let step = serde_json::from_str(&line)
                    .map_err(|source| ScriptError::Line { line: number + 1, source })?;
                steps.push(step);
            }
        }
        Ok(Self(steps))
    }
}

/// Runs what `script` says beyond the session's journal; `tell` is told of each event once it is
/// durable.
pub fn run_script(
    store: &Store,
    clock: &Clock,
    id: &SessionId,
    pen: &Pen,
    script: Script,
    tell: &mut dyn FnMut(&Event) -> io::Result<()>,
) -> Result<Session, ScriptError> {
    let mut steps = script.0.into_iter();
    let first = steps.next().ok_or(ScriptError::NoBeginning)?;
    let mut recorder = begin(store, clock, id, pen, first)?;
    let known = recorder.session().revision();
    for event in store.journal(id)?.map(|scan| scan.events).unwrap_or_default() {
        tell(&event)?;
    }
    let mut number = 1;
    for step in steps {
        match step {
            Step::Event(kind) => {
                number += 1;
                if number > known {
                    record(&mut recorder, clock, vec![kind], tell)?;
                }
            }
            Step::Control(Control::Batch(kinds)) => {
                let skip = usize::try_from(known.saturating_sub(number)).unwrap_or(usize::MAX);
                number += kinds.len() as u64;
                record(&mut recorder, clock, kinds.into_iter().skip(skip).collect(), tell)?;
            }
            Step::Control(Control::Settle {}) => recorder.settle()?,
            Step::Control(Control::SleepMs(millis)) => {
                pause(std::time::Duration::from_millis(millis));
                if recorder.due_in(&clock.now()).is_some_and(|due| due.is_zero()) {
                    recorder.settle()?;
                }
            }
            Step::Control(Control::AwaitInput {}) => {
                io::copy(&mut io::stdin(), &mut io::sink())?;
            }
            Step::Control(Control::Create { .. } | Control::Import {}) => {}
        }
    }
    Ok(recorder.close()?)
}

fn begin(
    store: &Store,
    clock: &Clock,
    id: &SessionId,
    pen: &Pen,
    first: Step,
) -> Result<Recorder, ScriptError> {
    let Step::Control(control @ (Control::Create { .. } | Control::Import {})) = first else {
        return Err(ScriptError::NoBeginning);
    };
    match store.open_record(id, pen, &clock.now()) {
        Err(StoreError::Unknown(_)) => {}
        opened => return Ok(opened?),
    }
    let Control::Create { objective, expanded_from } = control else {
        return Err(StoreError::Unknown(id.to_string()).into());
    };
    let created = SessionCreated {
        format: VERSION.into(),
        session_id: id.clone(),
        machine: machine(),
        agent: Agent::unattended(),
        objective,
        branch: None,
        starting_commit: None,
        expanded_from,
    };
    let first = EventKind::SessionCreated(Box::new(created));
    Ok(store.create(id, pen, first, &clock.now())?.0)
}

fn record(
    recorder: &mut Recorder,
    clock: &Clock,
    kinds: Vec<EventKind>,
    tell: &mut dyn FnMut(&Event) -> io::Result<()>,
) -> Result<(), ScriptError> {
    for event in recorder.record(kinds, &clock.now())? {
        tell(&event)?;
    }
    tracing::trace!(step = "acknowledged");
    Ok(())
}
