//! When a limit ends, from what an agent says about it.
//!
//! # Theory of operation
//!
//! Providers say when to come back in words for people, in headers and in fields of JSON, and agents print all of
//! that: `resets 7pm (America/Los_Angeles)`, `try again in 2 hours 5 minutes`, `"resets_at":1775317531`. The text is
//! split into words, numbers and marks. Behind every word that announces a time (`resets`, `again`, `retry`, …) a
//! length of time, a moment or a number of seconds is looked for, and the first one found counts. A text without such
//! a word may be the time alone, as screen rules cut it out.
//!
//! A time that has passed, or is more than [`MAX_AHEAD`] away, is none: a wrong guess would keep a provider out for
//! days. Zones are looked up in the database that is built in, so that nothing is read from the system.

mod moment;
mod span;
mod tokens;

use std::time::Duration;

use jiff::tz::TimeZone;

use self::moment::moment;
use self::span::span;
use self::tokens::{Cursor, Token, lower, split};
use crate::Wall;

/// Limits that end later are not believed: the longest known ones last a week.
pub const MAX_AHEAD: Duration = Duration::from_hours(8 * 24);

/// The moment at which a limit ends, as a text says it. Times without a zone are in `zone`.
pub fn reset_time(text: &str, now: Wall, zone: &TimeZone) -> Option<Wall> {
    let text = lower(text);
    let tokens = split(&text);
    let reader = Reader { now, zone };
    let announced = (0..tokens.len())
        .filter(|at| matches!(tokens[*at], Token::Word(word) if announces(word)))
        .find_map(|at| reader.behind(&tokens[at + 1..]));
    announced.or_else(|| reader.alone(&tokens)).or_else(|| {
        // Some print nothing but a bar and the seconds since 1970.
        tokens.iter().find_map(|token| reader.since_1970(*token))
    })
}

/// Words behind which the time stands.
fn announces(word: &str) -> bool {
    matches!(
        word,
        "reset"
            | "resets"
            | "retry"
            | "retrydelay"
            | "retryafter"
            | "again"
            | "available"
            | "until"
            | "wait"
            | "renews"
            | "refreshes"
            | "restored"
    )
}

/// Words that may stand between the announcement and the time.
fn is_filler(word: &str) -> bool {
    matches!(
        word,
        "a" | "about"
            | "account"
            | "after"
            | "again"
            | "approximately"
            | "around"
            | "at"
            | "be"
            | "by"
            | "delay"
            | "for"
            | "in"
            | "is"
            | "limit"
            | "on"
            | "quota"
            | "the"
            | "time"
            | "timestamp"
            | "until"
            | "usage"
            | "will"
            | "your"
    )
}

struct Reader<'a> {
    now: Wall,
    zone: &'a TimeZone,
}

impl Reader<'_> {
    /// A time behind an announcement.
    fn behind(&self, tokens: &[Token<'_>]) -> Option<Wall> {
        let mut cursor = Cursor::new(tokens);
        // Headers and fields say the unit first: `retry-after-ms: 1200`, `resets_in_seconds: 60`.
        let mut unit = None;
        let mut after = false;
        loop {
            if let Some((found, _)) = self.time(cursor) {
                return self.sane(found);
            }
            match cursor.next()? {
                Token::Word(word) if span::unit(word).is_some() => unit = span::unit(word),
                Token::Word(word) if is_filler(word) => after |= word == "after",
                Token::Mark(':' | '=' | '"' | '\'' | '_' | '-' | '~' | '(') => {}
                Token::Number(digits) => {
                    let unit = unit.or(after.then_some(1.0))?;
                    let ahead = Duration::try_from_secs_f64(digits.parse::<f64>().ok()? * unit).ok()?;
                    return self.sane(self.now.plus(ahead));
                }
                Token::Word(_) | Token::Mark(_) => return None,
            }
        }
    }

    /// A text that is a time and no more, up to the next mark.
    fn alone(&self, tokens: &[Token<'_>]) -> Option<Wall> {
        let mut cursor = Cursor::new(tokens);
        while cursor.word(|word| is_filler(word).then_some(())).is_some() {}
        let (found, rest) = self.time(cursor)?;
        match rest.peek() {
            None | Some(Token::Mark(_)) => self.sane(found),
            Some(Token::Word(_) | Token::Number(_)) => None,
        }
    }

    /// A length of time or a moment at this place, and the place behind it.
    fn time<'t, 'a>(&self, cursor: Cursor<'t, 'a>) -> Option<(Wall, Cursor<'t, 'a>)> {
        let mut ahead = cursor;
        if let Some(span) = ahead.attempt(span) {
            return Some((self.now.plus(span), ahead));
        }
        if let Some(found) = cursor.peek().and_then(|token| self.since_1970(token)) {
            ahead.next();
            return Some((found, ahead));
        }
        let now = jiff::Timestamp::from_millisecond(i64::try_from(self.now.0).ok()?).ok()?;
        let found = ahead.attempt(|cursor| moment(cursor, now, self.zone))?;
        Some((Wall(u64::try_from(found.as_millisecond()).ok()?), ahead))
    }

    /// Seconds or milliseconds since 1970, near enough to the present to be meant so.
    fn since_1970(&self, token: Token<'_>) -> Option<Wall> {
        let Token::Number(digits) = token else { return None };
        let number: u64 = digits.split('.').next()?.parse().ok()?;
        let moment = match digits.split('.').next()?.len() {
            10 => Wall(number.checked_mul(1_000)?),
            13 => Wall(number),
            _ => return None,
        };
        self.sane(moment)
    }

    fn sane(&self, moment: Wall) -> Option<Wall> {
        (moment > self.now && moment.since(self.now) <= MAX_AHEAD).then_some(moment)
    }
}

#[cfg(test)]
mod tests;
