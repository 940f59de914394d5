//! One journal line: an event as bytes, tied to the line before it.
//!
//! `{"seq":…,"timestamp":…,"event":…, its fields ,"chain":"…"}`, with `"batch":[first,last]`
//! before `event` for lines that were written together, where `chain` is the SHA-256 of
//! the previous line's chain (64 digits, nothing for the first line) followed by this line's bytes
//! before `,"chain"`. Change one byte anywhere, and no later chain fits.

use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::Position;
use crate::model::{Digest, Event, EventKind, Timestamp};

const BEFORE_CHAIN: &[u8] = br#","chain":""#;
const AFTER_CHAIN: &[u8] = br#""}"#;
/// How long the end of every line is, from `,"chain"` on.
pub(super) const SEAL: usize = BEFORE_CHAIN.len() + Digest::LENGTH + AFTER_CHAIN.len();

/// Why bytes are not the journal line that belongs where they stand.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error("it does not end in a chain")]
    NoChain,
    #[error("its chain does not fit: it, or a line before it, was changed")]
    Broken,
    #[error("it is not followed by a new line")]
    Unended,
    #[error("its `seq` is {found}, where {expected} belongs")]
    Seq { expected: u64, found: String },
    #[error("its time is missing or unreadable")]
    Time,
    #[error("it is not an event this program knows: {0}")]
    Unknown(#[source] serde_json::Error),
}

impl LineError {
    /// Whether an interrupted write could have left such a line. One whose chain fits was written
    /// whole, whatever it says.
    pub(super) fn may_be_unfinished(&self) -> bool {
        match self {
            Self::NoChain | Self::Broken => true,
            Self::Unended | Self::Seq { .. } | Self::Time | Self::Unknown(_) => false,
        }
    }
}

/// Writes the line of the event that follows `before`, with its new line, to `buffer`.
pub(super) fn encode(
    buffer: &mut Vec<u8>,
    before: &Position,
    batch: Option<(u64, u64)>,
    kind: EventKind,
    timestamp: &Timestamp,
) -> Event {
    let seq = before.seq.saturating_add(1);
    let start = buffer.len();
    buffer.extend_from_slice(format!(r#"{{"seq":{seq},"timestamp":"{timestamp}","#).as_bytes());
    if let Some((first, last)) = batch {
        buffer.extend_from_slice(format!(r#""batch":[{first},{last}],"#).as_bytes());
    }
    // The model's types have string keys and no failing serializers: this cannot fail.
    let body = serde_json::to_vec(&kind).unwrap_or_default();
    buffer.extend_from_slice(body.get(1..body.len().saturating_sub(1)).unwrap_or_default());
    let chain = chain(before.chain.as_ref(), &buffer[start..]);
    buffer.extend_from_slice(BEFORE_CHAIN);
    buffer.extend_from_slice(chain.as_str().as_bytes());
    buffer.extend_from_slice(AFTER_CHAIN);
    buffer.push(b'\n');
    let end = before.offset.saturating_add((buffer.len() - start) as u64);
    Event { seq, timestamp: timestamp.clone(), batch, kind, chain, end }
}

/// Returns the event of a line (without its new line) that must follow `before`.
pub(super) fn decode(line: &[u8], before: &Position) -> Result<Event, LineError> {
    let seq = before.seq.saturating_add(1);
    let (sealed, written) = unseal(line).ok_or(LineError::NoChain)?;
    let chain = chain(before.chain.as_ref(), sealed);
    if chain != written {
        return Err(LineError::Broken);
    }
    let mut fields: Map<String, Value> =
        serde_json::from_slice(line).map_err(LineError::Unknown)?;
    fields.shift_remove("chain");
    match fields.shift_remove("seq") {
        Some(found) if found.as_u64() == Some(seq) => {}
        found => {
            let found = found.map_or("missing".into(), |value| value.to_string());
            return Err(LineError::Seq { expected: seq, found });
        }
    }
    let timestamp = fields
        .shift_remove("timestamp")
        .and_then(|value| value.as_str()?.parse().ok())
        .ok_or(LineError::Time)?;
    let batch = match fields.shift_remove("batch") {
        Some(batch) => Some(serde_json::from_value(batch).map_err(LineError::Unknown)?),
        None => None,
    };
    let kind = serde_json::from_value(Value::Object(fields)).map_err(LineError::Unknown)?;
    let end = before.offset.saturating_add(line.len() as u64 + 1);
    Ok(Event { seq, timestamp, batch, kind, chain, end })
}

/// Whether a line that cannot be verified, because one before it is lost, says of itself that it
/// was written together with line `lost`.
pub(super) fn is_of_batch(line: &[u8], lost: u64) -> bool {
    #[derive(Deserialize)]
    struct Claims {
        seq: u64,
        batch: (u64, u64),
    }
    let claims: Option<Claims> = serde_json::from_slice(line).ok();
    unseal(line).is_some()
        && claims.is_some_and(|Claims { seq, batch: (first, last) }| {
            (first..=last).contains(&seq) && (first..=last).contains(&lost)
        })
}

/// What the chain covers, and the chain.
pub(super) fn unseal(line: &[u8]) -> Option<(&[u8], Digest)> {
    let (sealed, seal) = line.split_at_checked(line.len().checked_sub(SEAL)?)?;
    let digits = seal.strip_prefix(BEFORE_CHAIN)?.strip_suffix(AFTER_CHAIN)?;
    Some((sealed, std::str::from_utf8(digits).ok()?.parse().ok()?))
}

/// Every place where a line could end: behind something that looks like a chain.
pub(super) fn ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let seals = bytes.windows(SEAL).enumerate();
    seals.filter(|(_, seal)| unseal(seal).is_some()).map(|(start, _)| start + SEAL)
}

fn chain(previous: Option<&Digest>, sealed: &[u8]) -> Digest {
    let mut sum = Sha256::new();
    if let Some(previous) = previous {
        sum.update(previous.as_str().as_bytes());
    }
    sum.update(sealed);
    Digest::of(sum.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::{LineError, Position, decode, encode};
    use crate::model::{EventKind, Timestamp};

    fn line(seq: u64) -> Vec<u8> {
        let mut buffer = Vec::new();
        let at = Timestamp::clamped(1_770_042_652_007);
        let before = Position { seq: seq - 1, ..Position::default() };
        let kind = EventKind::ErrorRecorded { error: "no \"net\"".into() };
        encode(&mut buffer, &before, None, kind, &at);
        assert_eq!(buffer.pop(), Some(b'\n'));
        buffer
    }

    #[test]
    fn a_line_has_the_published_order_and_reads_back() {
        let line = line(1);
        let text = String::from_utf8(line.clone()).unwrap();
        assert!(text.starts_with(
            r#"{"seq":1,"timestamp":"2026-02-02T14:30:52.007Z","event":"error_recorded","error":"no \"net\"","chain":""#
        ));
        let event = decode(&line, &Position::default()).unwrap();
        assert_eq!(event.kind, EventKind::ErrorRecorded { error: "no \"net\"".into() });
    }

    #[test]
    fn no_single_byte_can_change_unseen() {
        let line = line(1);
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut changed = line.clone();
                changed[at] ^= 1 << bit;
                assert!(decode(&changed, &Position::default()).is_err(), "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_line_in_another_place_is_refused() {
        let start = Position::default();
        assert!(matches!(decode(&line(2), &start), Err(LineError::Seq { .. })));
        let other = super::chain(None, b"another line");
        let elsewhere = Position { chain: Some(other), ..start };
        assert!(matches!(decode(&line(1), &elsewhere), Err(LineError::Broken)));
    }

    #[test]
    fn an_event_of_the_future_is_refused_not_skipped() {
        let mut sealed =
            br#"{"seq":1,"timestamp":"2026-02-02T14:30:52.007Z","event":"warped""#.to_vec();
        let chain = super::chain(None, &sealed);
        sealed.extend_from_slice(format!(r#","chain":"{chain}"}}"#).as_bytes());
        let error = decode(&sealed, &Position::default()).unwrap_err();
        assert!(error.to_string().contains("unknown variant `warped`"), "{error}");
    }
}
