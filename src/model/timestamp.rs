//! A moment in UTC with millisecond precision, read and written as RFC 3339.
//!
//! We write `2026-02-02T14:30:52.000Z`. A moment that was read in another spelling keeps it, so
//! saving a document never rewrites the times somebody else put there.

use std::{cmp::Ordering, fmt, str::FromStr};

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

#[derive(Clone, Debug)]
pub struct Timestamp {
    millis: i64,
    /// The text this moment was read from, where it is not how we would write it.
    spelling: Option<Box<str>>,
}

impl Timestamp {
    /// The first and the last millisecond that RFC 3339 can say: the years 0 and 9999.
    const RANGE: (i64, i64) = (-62_167_219_200_000, 253_402_300_799_999);

    /// The moment `millis` milliseconds after 1970, or the nearest one RFC 3339 can say.
    pub fn clamped(millis: i64) -> Self {
        let (first, last) = Self::RANGE;
        Self { millis: millis.clamp(first, last), spelling: None }
    }

    pub fn millis(&self) -> i64 {
        self.millis
    }

    /// Milliseconds from `earlier` to this moment; zero when the order is reversed.
    pub fn millis_since(&self, earlier: &Self) -> u64 {
        u64::try_from(self.millis.saturating_sub(earlier.millis)).unwrap_or(0)
    }

    /// `20260202-143052`, the part of a session id that says when.
    pub fn compact(&self) -> String {
        self.moment().format("%Y%m%d-%H%M%S").to_string()
    }

    /// `2026-02-02 14:30:52`, for people.
    pub fn readable(&self) -> String {
        self.moment().format("%Y-%m-%d %H:%M:%S").to_string()
    }

    fn moment(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.millis).unwrap_or_default()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.spelling {
            Some(text) => f.write_str(text),
            None => f.write_str(&self.moment().to_rfc3339_opts(SecondsFormat::Millis, true)),
        }
    }
}

impl FromStr for Timestamp {
    type Err = chrono::ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let millis = DateTime::parse_from_rfc3339(text)?.timestamp_millis();
        let plain = Self::clamped(millis);
        let spelling = (plain.to_string() != text).then(|| text.into());
        Ok(Self { spelling, ..plain })
    }
}

// Two spellings of one moment are the same moment: equality, order and hash see only that.
impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.millis == other.millis
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        self.millis.cmp(&other.millis)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| {
            de::Error::custom(format_args!("`{text}` is not an RFC 3339 time with a zone"))
        })
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn ours_has_milliseconds_and_a_z() {
        let moment = Timestamp::clamped(1_770_042_652_007);
        assert_eq!(moment.to_string(), "2026-02-02T14:30:52.007Z");
        assert_eq!(moment.compact(), "20260202-143052");
    }

    #[test]
    fn anothers_spelling_survives_and_means_the_same_moment() {
        for text in ["2026-02-02T14:30:52Z", "2026-02-02T15:30:52.000000+01:00"] {
            let moment: Timestamp = text.parse().unwrap();
            assert_eq!(moment.to_string(), text);
            assert_eq!(moment, Timestamp::clamped(1_770_042_652_000));
        }
    }

    #[test]
    fn a_time_without_a_zone_is_refused() {
        assert!("2026-02-02T14:30:52".parse::<Timestamp>().is_err());
    }

    #[test]
    fn the_ends_of_the_calendar_can_be_written() {
        assert_eq!(Timestamp::clamped(i64::MIN).to_string(), "0000-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::clamped(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn no_duration_is_negative() {
        let early = Timestamp::clamped(5);
        let late = Timestamp::clamped(9);
        assert_eq!(late.millis_since(&early), 4);
        assert_eq!(early.millis_since(&late), 0);
    }
}
