//! Lengths of time in task files.

use std::fmt;
use std::time::Duration;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How long a task may take: seconds, or text such as `90m` or `1h 30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeBudget(pub Duration);

const WANT: &str = "seconds, or text such as \"90m\" or \"1h 30m\"";

impl Serialize for TimeBudget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0.as_secs())
    }
}

impl<'de> Deserialize<'de> for TimeBudget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TimeVisitor)
    }
}

struct TimeVisitor;

impl TimeVisitor {
    fn of_secs<E: Error>(secs: u64) -> Result<TimeBudget, E> {
        if secs == 0 {
            return Err(E::custom("no time at all; leave it out for no limit"));
        }
        Ok(TimeBudget(Duration::from_secs(secs)))
    }
}

impl Visitor<'_> for TimeVisitor {
    type Value = TimeBudget;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WANT)
    }

    fn visit_u64<E: Error>(self, secs: u64) -> Result<TimeBudget, E> {
        Self::of_secs(secs)
    }

    fn visit_i64<E: Error>(self, secs: i64) -> Result<TimeBudget, E> {
        Self::of_secs(u64::try_from(secs).map_err(|_| E::custom(format!("less than no time; write {WANT}")))?)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TimeBudget, E> {
        let span: jiff::SignedDuration =
            text.parse().map_err(|_| E::custom(format!("{text:?} is no length of time; write {WANT}")))?;
        self.visit_i64(span.as_secs())
    }
}
