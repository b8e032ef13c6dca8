//! Lengths of time: `2 hours 5 minutes`, `12h34m16s`, `2.5s`, `an hour`.

use std::time::Duration;

use super::tokens::{Cursor, Token};

/// Reads a length of time.
pub(super) fn span(cursor: &mut Cursor<'_, '_>) -> Option<Duration> {
    let mut total = cursor.attempt(part)?;
    loop {
        let more = cursor.attempt(|cursor| {
            cursor.mark(',');
            cursor.word(|word| (word == "and").then_some(()));
            part(cursor)
        });
        match more {
            Some(more) => total = total.checked_add(more)?,
            None => return Some(total),
        }
    }
}

fn part(cursor: &mut Cursor<'_, '_>) -> Option<Duration> {
    let count = match cursor.next()? {
        Token::Number(digits) => digits.parse::<f64>().ok()?,
        Token::Word("a" | "an" | "one") => 1.0,
        Token::Word(_) | Token::Mark(_) => return None,
    };
    let unit = cursor.word(unit)?;
    Duration::try_from_secs_f64(count * unit).ok()
}

/// Seconds in a unit.
pub(super) fn unit(word: &str) -> Option<f64> {
    Some(match word {
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "week" | "weeks" => 604_800.0,
        _ => return None,
    })
}
