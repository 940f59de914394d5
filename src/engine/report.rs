//! All there is to tell of a session, gathered for one page: where it stands, every attempt of every
//! command with what it wrote, and what the session belongs to.

use super::{
    Chain, Clock, Context, Execution, RunError, Surroundings, chain,
    examine::liveliness,
    executions::{executions, on_paper, output_of},
    standing::standing,
};
use crate::{
    exec::{Ends, read_ends},
    flow::{Expiry, Live},
    model::{Document, Plan, SessionId, Timestamp},
    store::Store,
};

/// How much of the output of one attempt is shown: its beginning and its end.
const HEAD: u64 = 8 * 1024;
const TAIL: u64 = 24 * 1024;
/// How much of all output is shown. What failed comes first.
const ALL: u64 = 4 * 1024 * 1024;

/// Makes a page of what was gathered. The faces know how; whoever wires the program hands one in.
pub type Reporter = fn(&SessionReport) -> String;

/// Everything that a report tells.
#[derive(Clone, Debug)]
pub struct SessionReport {
    pub session: Document,
    pub context: Context,
    pub plan: Option<Plan>,
    /// In the order they began.
    pub attempts: Vec<Attempted>,
    /// The sessions that go back to the same first one, if there are others.
    pub chain: Option<Chain>,
    pub made_at: Timestamp,
}

/// An attempt, and what is shown of its output.
#[derive(Clone, Debug)]
pub struct Attempted {
    pub execution: Execution,
    pub output: Output,
}

/// What an attempt wrote, as far as there is room for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// It wrote nothing, or nothing is kept.
    Nothing,
    Kept {
        head: String,
        /// How many bytes lie between the two.
        left_out: u64,
        tail: String,
    },
    /// There is no room for it here.
    Elsewhere {
        bytes: u64,
    },
    Unreadable(String),
}

/// Gathers all there is to tell of a session.
pub fn report(store: &Store, clock: &Clock, id: &SessionId) -> Result<SessionReport, RunError> {
    let session = store.load(id)?.session;
    let seen = liveliness(store, &session, clock)?;
    let family = chain(store, id).ok();
    gather(store, clock, session.document().clone(), seen, family)
}

/// The same for a session that is complete, by the one who holds it.
pub(super) fn report_of_complete(
    around: &Surroundings,
    session: Document,
) -> Result<SessionReport, RunError> {
    // Nobody can have added to it yet, and to look at all sessions takes its time.
    let adds_to_others = !session.expansion_history.is_empty();
    let chain = || chain(&around.store, &session.meta.id).ok();
    let family = adds_to_others.then(chain).flatten();
    gather(&around.store, &around.clock, session, (Live::Nobody, Expiry::None), family)
}

fn gather(
    store: &Store,
    clock: &Clock,
    session: Document,
    seen: (Live, Expiry),
    family: Option<Chain>,
) -> Result<SessionReport, RunError> {
    let id = session.meta.id.clone();
    let context = standing(store, &session, clock, seen)?;
    let mut known = executions(store, &id, None)?;
    if known.is_empty() {
        // A session of another program has no journal to tell more than its document.
        known = on_paper(&session);
    }
    let attempts = with_output(store, &id, known);
    Ok(SessionReport {
        plan: store.plan_of(&session).ok().flatten(),
        session,
        context,
        attempts,
        chain: family.filter(|chain| chain.links.len() > 1),
        made_at: clock.now().wall,
    })
}

/// Reads what they wrote, those that failed first, until there is no more room.
fn with_output(store: &Store, id: &SessionId, executions: Vec<Execution>) -> Vec<Attempted> {
    let mut room = ALL;
    let mut outputs: Vec<Option<Output>> = vec![None; executions.len()];
    for wants_failed in [true, false] {
        for (execution, output) in executions.iter().zip(&mut outputs) {
            if (execution.succeeded == Some(true)) != wants_failed {
                *output = Some(read(store, id, execution, &mut room));
            }
        }
    }
    let outputs = outputs.into_iter().map(|output| output.unwrap_or(Output::Nothing));
    let both = executions.into_iter().zip(outputs);
    both.map(|(execution, output)| Attempted { execution, output }).collect()
}

fn read(store: &Store, id: &SessionId, execution: &Execution, room: &mut u64) -> Output {
    if execution.place.is_empty() {
        return Output::Nothing;
    }
    let place = output_of(store, id, execution);
    let (head, tail) = (HEAD.min(*room / 4), TAIL.min(*room - *room / 4));
    let Ends { head, left_out, tail } = match read_ends(store.fs(), &place, head, tail) {
        Ok(ends) => ends,
        Err(error) => return Output::Unreadable(error.to_string()),
    };
    let shown = (head.len() + tail.len()) as u64;
    match (shown, left_out) {
        (0, 0) => Output::Nothing,
        (0, bytes) => Output::Elsewhere { bytes },
        _ => {
            *room = room.saturating_sub(shown);
            let (head, tail, cut) = between_lines(&head, &tail, left_out);
            Output::Kept { head, left_out: left_out + cut, tail }
        }
    }
}

/// Both ends as text, cut between lines where something is missing; and how much more that leaves
/// out.
fn between_lines(head: &[u8], tail: &[u8], left_out: u64) -> (String, String, u64) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if left_out == 0 {
        // They are one piece, and may meet within a character.
        return (text(&[head, tail].concat()), String::new(), 0);
    }
    let is_break = |byte: &u8| *byte == b'\n';
    let kept = head.iter().rposition(is_break).map_or(head.len(), |at| at + 1);
    let from = tail.iter().position(is_break).map_or(0, |at| at + 1);
    let from = if from == tail.len() { 0 } else { from };
    let cut = (head.len() - kept + from) as u64;
    (text(&head[..kept]), text(&tail[from..]), cut)
}

#[cfg(test)]
mod tests {
    use super::between_lines;

    #[test]
    fn what_is_missing_is_missing_by_lines() {
        let (head, tail, cut) = between_lines(b"one\ntw", b"ee\nfour\n", 10);
        assert_eq!((head.as_str(), tail.as_str(), cut), ("one\n", "four\n", 5));
    }

    #[test]
    fn a_line_that_is_longer_than_all_that_is_shown_is_cut_all_the_same() {
        let (head, tail, cut) = between_lines(b"aaa", b"bbb", 10);
        assert_eq!((head.as_str(), tail.as_str(), cut), ("aaa", "bbb", 0));
        let (_, tail, _) = between_lines(b"aaa", b"bbb\n", 10);
        assert_eq!(tail, "bbb\n");
    }

    #[test]
    fn what_is_whole_is_not_cut() {
        let (head, tail, cut) =
            between_lines("é".as_bytes().split_at(1).0, &"é".as_bytes()[1..], 0);
        assert_eq!((head.as_str(), tail.as_str(), cut), ("é", "", 0));
    }
}
