//! Moments of the calendar and the clock: `7pm (America/Los_Angeles)`, `Oct 9, 3pm`, `2026-11-16T03:00:00Z`.

use std::time::Duration;

use jiff::civil::{Date, Time, Weekday, time};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use super::tokens::{Cursor, Token};

/// A time without a day that has just passed is not that of tomorrow: the words are old.
const JUST_PASSED: Duration = Duration::from_mins(30);

/// What is said of a moment.
#[derive(Debug, Default)]
struct Said {
    day: Option<Day>,
    time: Option<Time>,
    zone: Option<TimeZone>,
}

#[derive(Debug, Clone, Copy)]
enum Day {
    /// So many days from today.
    Ahead(i64),
    Weekday(Weekday),
    Dated {
        year: Option<i16>,
        month: i8,
        day: i8,
    },
}

/// Reads a moment, and finds the first one after `now` that fits.
pub(super) fn moment(
    cursor: &mut Cursor<'_, '_>,
    now: jiff::Timestamp,
    zone: &TimeZone,
) -> Option<jiff::Timestamp> {
    let said = said(cursor)?;
    let zone = said.zone.as_ref().unwrap_or(zone);
    let today = now.to_zoned(zone.clone()).date();
    let just_now = now.checked_sub(JUST_PASSED).ok()?;
    for day in days(said.day, today) {
        let moment = zone.to_ambiguous_timestamp(day.to_datetime(said.time.unwrap_or_default()));
        let first = moment.compatible().ok()?;
        // An hour that comes twice.
        let found = if first > now { first } else { moment.later().ok()? };
        if found > now {
            return Some(found);
        }
        if found > just_now {
            return None;
        }
    }
    None
}

/// The days that may be meant, in order.
fn days(day: Option<Day>, today: Date) -> Vec<Date> {
    let ahead = |days: i64| today.checked_add(jiff::Span::new().try_days(days).ok()?).ok();
    let days = match day {
        None => vec![ahead(0), ahead(1)],
        Some(Day::Ahead(days)) => vec![ahead(days)],
        Some(Day::Weekday(weekday)) => {
            (0..=7).map(ahead).filter(|day| day.is_some_and(|day| day.weekday() == weekday)).collect()
        }
        Some(Day::Dated { year: Some(year), month, day }) => vec![Date::new(year, month, day).ok()],
        Some(Day::Dated { year: None, month, day }) => [today.year(), today.year().saturating_add(1)]
            .map(|year| Date::new(year, month, day).ok())
            .to_vec(),
    };
    days.into_iter().flatten().collect()
}

/// Reads day, time and zone in any order, until something else comes.
fn said(cursor: &mut Cursor<'_, '_>) -> Option<Said> {
    let mut said = Said::default();
    loop {
        let mut ahead = *cursor;
        while ahead.mark(',') || ahead.word(|word| matches!(word, "at" | "on" | "t").then_some(())).is_some()
        {
        }
        if said.time.is_none()
            && let Some(time) = ahead.attempt(clock)
        {
            said.time = Some(time);
        } else if said.day.is_none()
            && let Some(day) = ahead.attempt(day)
        {
            said.day = Some(day);
        } else if said.time.is_some()
            && said.zone.is_none()
            && let Some(zone) = zone(&mut ahead)
        {
            said.zone = Some(zone?);
        } else {
            break;
        }
        *cursor = ahead;
    }
    (said.time.is_some() || said.day.is_some()).then_some(said)
}

/// `9:45 PM`, `7pm`, `21:55`, `03:00:00`, `noon`.
fn clock(cursor: &mut Cursor<'_, '_>) -> Option<Time> {
    let named = cursor.word(|word| match word {
        "noon" => Some(time(12, 0, 0, 0)),
        "midnight" => Some(Time::midnight()),
        _ => None,
    });
    if named.is_some() {
        return named;
    }
    let hour: i8 = cursor.whole()?;
    let minute = cursor.attempt(|cursor| cursor.mark(':').then(|| cursor.whole::<i8>())?);
    let second = cursor.attempt(|cursor| {
        minute?;
        match cursor.mark(':').then(|| cursor.next())?? {
            // A fraction of a second changes nothing.
            Token::Number(digits) => digits.split('.').next()?.parse::<i8>().ok(),
            Token::Word(_) | Token::Mark(_) => None,
        }
    });
    let hour = match cursor.attempt(half) {
        Some(Half::Am) => (1..=12).contains(&hour).then_some(hour % 12)?,
        Some(Half::Pm) => (1..=12).contains(&hour).then_some(hour % 12 + 12)?,
        // A number alone is no time.
        None => minute.map(|_| hour)?,
    };
    Time::new(hour, minute.unwrap_or_default(), second.unwrap_or_default(), 0).ok()
}

#[derive(Clone, Copy)]
enum Half {
    Am,
    Pm,
}

/// `am`, `PM`, `a.m.`.
fn half(cursor: &mut Cursor<'_, '_>) -> Option<Half> {
    let (half, dotted) = cursor.word(|word| match word {
        "am" => Some((Half::Am, false)),
        "pm" => Some((Half::Pm, false)),
        "a" => Some((Half::Am, true)),
        "p" => Some((Half::Pm, true)),
        _ => None,
    })?;
    if dotted {
        cursor.mark('.').then_some(())?;
        cursor.word(|word| (word == "m").then_some(()))?;
        cursor.mark('.');
    }
    Some(half)
}

fn day(cursor: &mut Cursor<'_, '_>) -> Option<Day> {
    let near = |word: &str| match word {
        "today" => Some(Day::Ahead(0)),
        "tomorrow" => Some(Day::Ahead(1)),
        _ => weekday(word).map(Day::Weekday),
    };
    if let Some(day) = cursor.word(near) {
        // The date may follow, and says more.
        return Some(
            cursor
                .attempt(|cursor| {
                    cursor.mark(',');
                    dated(cursor)
                })
                .unwrap_or(day),
        );
    }
    dated(cursor)
}

/// `Oct 9th, 2026`, `9 October`, `2026-10-09`.
fn dated(cursor: &mut Cursor<'_, '_>) -> Option<Day> {
    if let Some(month) = cursor.word(month) {
        cursor.mark('.');
        let day = day_of_month(cursor)?;
        let year = cursor.attempt(|cursor| {
            cursor.mark(',');
            year(cursor)
        });
        return Some(Day::Dated { year, month, day });
    }
    if let Some(year) = cursor.attempt(year) {
        let mut next = || cursor.mark('-').then(|| cursor.whole::<i8>())?;
        let (month, day) = (next()?, next()?);
        return Some(Day::Dated { year: Some(year), month, day });
    }
    let day = day_of_month(cursor)?;
    let month = cursor.word(month)?;
    cursor.mark('.');
    Some(Day::Dated { year: cursor.attempt(year), month, day })
}

fn day_of_month(cursor: &mut Cursor<'_, '_>) -> Option<i8> {
    let day = cursor.whole()?;
    cursor.word(|word| matches!(word, "st" | "nd" | "rd" | "th").then_some(()));
    Some(day)
}

/// Four digits.
fn year(cursor: &mut Cursor<'_, '_>) -> Option<i16> {
    match cursor.next()? {
        Token::Number(digits) if digits.len() == 4 => digits.parse().ok(),
        _ => None,
    }
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "mon" | "monday" => Weekday::Monday,
        "tue" | "tues" | "tuesday" => Weekday::Tuesday,
        "wed" | "wednesday" => Weekday::Wednesday,
        "thu" | "thur" | "thurs" | "thursday" => Weekday::Thursday,
        "fri" | "friday" => Weekday::Friday,
        "sat" | "saturday" => Weekday::Saturday,
        "sun" | "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let is = |name: &&str| *name == word || name[..3] == *word || (word == "sept" && name.starts_with(word));
    (1..).zip(MONTHS).find(|(_, name)| is(name)).map(|(number, _)| number)
}

/// Reads a zone, in brackets or not. The inner answer is none for a zone that does not exist.
#[expect(clippy::option_option, reason = "no zone and a wrong one are different things")]
fn zone(cursor: &mut Cursor<'_, '_>) -> Option<Option<TimeZone>> {
    if let Some(offset) = cursor.attempt(|cursor| offset(cursor, false)) {
        return Some(Some(offset));
    }
    let bracket = cursor.mark('(');
    let mut ahead = *cursor;
    let mut name = String::new();
    while let Some(token) = ahead.peek() {
        match token {
            Token::Word(word) | Token::Number(word) => name.push_str(word),
            Token::Mark(mark @ ('/' | '_')) => name.push(mark),
            // As in Etc/GMT+5; behind UTC it is the offset.
            Token::Mark(mark @ ('-' | '+')) if name.contains('/') => name.push(mark),
            Token::Mark(_) => break,
        }
        ahead.next();
        // Without brackets a word alone ends the name, unless a mark joins it to the next.
        if !bracket
            && matches!(token, Token::Word(_))
            && !matches!(ahead.peek(), Some(Token::Mark('/' | '_')))
        {
            break;
        }
    }
    let found = match (short(&name), name.contains('/')) {
        (Some(zone), _) => zone,
        (None, true) => TimeZoneDatabase::bundled().get(&name).ok(),
        // Words in brackets that name no zone, such as "(local time)", or whatever comes next in the sentence.
        (None, false) => return None,
    };
    *cursor = ahead;
    let is_utc = matches!(name.as_str(), "utc" | "gmt");
    let offset = cursor.attempt(|cursor| is_utc.then(|| offset(cursor, true))?);
    if bracket {
        cursor.mark(')');
    }
    Some(offset.or(found))
}

/// Zones that go by a few letters. The inner answer is never none.
#[expect(clippy::option_option, reason = "as for zones with long names")]
fn short(name: &str) -> Option<Option<TimeZone>> {
    let long = match name {
        "z" | "utc" | "gmt" => return Some(Some(TimeZone::UTC)),
        "pt" | "pst" | "pdt" => "America/Los_Angeles",
        "mt" | "mst" | "mdt" => "America/Denver",
        "ct" | "cst" | "cdt" => "America/Chicago",
        "et" | "est" | "edt" => "America/New_York",
        "cet" | "cest" => "Europe/Paris",
        _ => return None,
    };
    Some(TimeZoneDatabase::bundled().get(long).ok())
}

/// `+02:00`, `+0530`, and `-7` where nothing else can be meant.
fn offset(cursor: &mut Cursor<'_, '_>, hours_alone: bool) -> Option<TimeZone> {
    let sign = match cursor.next()? {
        Token::Mark('+') => 1,
        Token::Mark('-' | '−') => -1,
        _ => return None,
    };
    let Some(Token::Number(digits)) = cursor.next() else { return None };
    let number: i32 = digits.parse().ok()?;
    let (hours, minutes) = match digits.len() {
        1 | 2 => {
            let minutes = cursor.attempt(|cursor| cursor.mark(':').then(|| cursor.whole::<i32>())?);
            (number, minutes.or(hours_alone.then_some(0))?)
        }
        4 => (number / 100, number % 100),
        _ => return None,
    };
    let seconds = (hours * 60 + minutes) * 60;
    Offset::from_seconds(sign * seconds).ok().map(TimeZone::fixed)
}
