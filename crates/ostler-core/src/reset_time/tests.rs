use super::*;
use jiff::tz::TimeZoneDatabase;
use proptest::prelude::*;

fn zone(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).unwrap()
}

fn at(text: &str) -> Wall {
    let moment: jiff::Timestamp = text.parse().unwrap();
    Wall(u64::try_from(moment.as_millisecond()).unwrap())
}

/// What is found in a text, at a moment, in a default zone.
fn found(text: &str, now: &str, default: &str) -> Option<String> {
    let found = reset_time(text, at(now), &zone(default))?;
    Some(jiff::Timestamp::from_millisecond(i64::try_from(found.0).unwrap()).unwrap().to_string())
}

/// A Monday; noon in UTC is four in the morning in Los Angeles.
const NOW: &str = "2026-11-16T12:00:00Z";

#[test]
fn what_agents_print_is_understood() {
    let table = [
        // Words for people.
        ("resets 7pm (America/Los_Angeles)", "2026-11-17T03:00:00Z"),
        ("You've hit your limit · resets 3am (America/Los_Angeles)", "2026-11-17T11:00:00Z"),
        ("5-hour limit reached ∙ resets 7:30pm (Europe/Berlin)", "2026-11-16T18:30:00Z"),
        ("Your limit will reset at 1pm (Etc/UTC).", "2026-11-16T13:00:00Z"),
        ("resets Nov 20, 3pm", "2026-11-20T15:00:00Z"),
        ("resets Nov 20, 10:59am (America/New_York)", "2026-11-20T15:59:00Z"),
        ("resets Nov 20 at 3pm", "2026-11-20T15:00:00Z"),
        ("resets on November 20", "2026-11-20T00:00:00Z"),
        ("resets Monday 1:30pm (Asia/Calcutta)", "2026-11-23T08:00:00Z"),
        ("resets Mon 9pm", "2026-11-16T21:00:00Z"),
        ("resets Thu, Nov 19 at 1:30 p.m.", "2026-11-19T13:30:00Z"),
        ("resets tomorrow at noon", "2026-11-17T12:00:00Z"),
        ("resets at midnight PT", "2026-11-17T08:00:00Z"),
        (
            "visit https://a.example/usage to purchase more credits or try again at 9:45 PM.",
            "2026-11-16T21:45:00Z",
        ),
        ("try again at Nov 20th, 2026 9:45 PM.", "2026-11-20T21:45:00Z"),
        ("It will reset at 21:55 on 18 Nov", "2026-11-18T21:55:00Z"),
        ("available again at 14:00 UTC+1", "2026-11-16T13:00:00Z"),
        ("available again at 20:00 (GMT-3)", "2026-11-16T23:00:00Z"),
        // Lengths of time.
        ("try again in 2 hours 5 minutes.", "2026-11-16T14:05:00Z"),
        ("or try again in 5 days 22 hours 11 minutes.", "2026-11-22T10:11:00Z"),
        ("Please try again in 2.5s.", "2026-11-16T12:00:02.5Z"),
        ("Please try again in 1m30.5s. Visit", "2026-11-16T12:01:30.5Z"),
        ("Please try again in 20ms", "2026-11-16T12:00:00.02Z"),
        ("Your quota will reset after 12h34m16s.", "2026-11-17T00:34:16Z"),
        ("resets in 1 day, 2 hours and 3 minutes", "2026-11-17T14:03:00Z"),
        ("Try again in about an hour", "2026-11-16T13:00:00Z"),
        ("wait 45 seconds", "2026-11-16T12:00:45Z"),
        ("Retry after 30 seconds", "2026-11-16T12:00:30Z"),
        // Headers and fields.
        ("retry-after: 120", "2026-11-16T12:02:00Z"),
        ("Retry-After: Mon, 16 Nov 2026 13:14:15 GMT", "2026-11-16T13:14:15Z"),
        ("retry-after-ms: 1500", "2026-11-16T12:00:01.5Z"),
        (r#"{"type":"usage_limit_reached","resets_in_seconds":602705}"#, "2026-11-23T11:25:05Z"),
        (r#"{"plan_type":"free","resets_at":1794916800}"#, "2026-11-17T12:00:00Z"),
        (r#""retryDelay": "34s""#, "2026-11-16T12:00:34Z"),
        ("usage limit reached|1794916800", "2026-11-17T12:00:00Z"),
        ("usage limit reached|1794916800000", "2026-11-17T12:00:00Z"),
        ("resets at 2026-11-17T03:00:00Z", "2026-11-17T03:00:00Z"),
        ("resets at 2026-11-17T03:00:00.123+02:00", "2026-11-17T01:00:00Z"),
        ("resets at 2026-11-17 03:00 (America/New_York)", "2026-11-17T08:00:00Z"),
        ("resets on 2026-11-17", "2026-11-17T00:00:00Z"),
        // Cut out by a rule.
        ("7pm (America/Los_Angeles)", "2026-11-17T03:00:00Z"),
        ("7pm (America/Los_Angeles) · /upgrade for more", "2026-11-17T03:00:00Z"),
        ("9:45 PM", "2026-11-16T21:45:00Z"),
        ("Nov 20, 3pm", "2026-11-20T15:00:00Z"),
        ("2 hours 5 minutes", "2026-11-16T14:05:00Z"),
        // The first one that can be read counts.
        ("Please try again later. Your quota resets at 1pm.", "2026-11-16T13:00:00Z"),
    ];
    for (text, expected) in table {
        assert_eq!(found(text, NOW, "UTC").as_deref(), Some(expected), "{text:?}");
    }
}

#[test]
fn what_is_no_time_is_none() {
    let table = [
        "",
        "resets",
        "try again later",
        "try again in a moment",
        "try again in a few minutes",
        "resets 7",
        "resets 13pm",
        "resets 25:00",
        "resets 7pm (Mars/Olympus)",
        "retry 3 of 10",
        "5-hour limit reached",
        "5 hour limit reached",
        "429 Too Many Requests",
        "reset your password",
        "attempt 1/10",
        "the tests ran for 2 hours 5 minutes",
        // Passed, or too far away.
        "resets at 2026-11-16T11:00:00Z",
        "resets at 2026-12-16T03:00:00Z",
        "resets Oct 9, 3pm",
        "resets_at: 1794000000",
        "try again in 9 days",
        "try again in 99999999999999999999 days",
        "retry-after: 0",
        "order 1794000000 of 9999999999",
    ];
    for text in table {
        assert_eq!(found(text, NOW, "UTC"), None, "{text:?}");
    }
    assert!(found("try again in 8 days", NOW, "UTC").is_some());
}

#[test]
fn a_time_that_has_just_passed_is_not_that_of_tomorrow() {
    assert_eq!(found("resets 12pm", "2026-11-16T12:00:00Z", "UTC"), None);
    assert_eq!(found("resets 12pm", "2026-11-16T12:29:59Z", "UTC"), None);
    assert_eq!(found("resets 12pm", "2026-11-16T12:31:00Z", "UTC").unwrap(), "2026-11-17T12:00:00Z");
    assert_eq!(found("resets Mon 12pm", "2026-11-16T12:31:00Z", "UTC").unwrap(), "2026-11-23T12:00:00Z");
}

#[test]
fn the_year_may_end_in_between() {
    assert_eq!(found("resets Jan 2, 3pm", "2026-12-31T12:00:00Z", "UTC").unwrap(), "2027-01-02T15:00:00Z");
    assert_eq!(found("resets 1am", "2026-12-31T23:30:00Z", "UTC").unwrap(), "2027-01-01T01:00:00Z");
}

#[test]
fn clocks_that_are_put_forward_or_back_are_no_trouble() {
    let table = [
        // New York puts its clocks back at 2 on November 1: 1:30 comes twice, at 5:30 and at 6:30 UTC.
        ("resets 1:30am (America/New_York)", "2026-11-01T04:00:00Z", Some("2026-11-01T05:30:00Z")),
        ("resets 1:30am (America/New_York)", "2026-11-01T05:45:00Z", Some("2026-11-01T06:30:00Z")),
        ("resets 3am (America/New_York)", "2026-11-01T05:45:00Z", Some("2026-11-01T08:00:00Z")),
        // And forward at 2 on March 8: half past two does not exist, and counts as half past three.
        ("resets 2:30am (America/New_York)", "2026-03-08T05:00:00Z", Some("2026-03-08T07:30:00Z")),
        ("resets 7pm (America/New_York)", "2026-03-08T05:00:00Z", Some("2026-03-08T23:00:00Z")),
        // A day later is 23 or 25 hours later.
        ("resets tomorrow 1am (Europe/Berlin)", "2026-03-28T00:00:00Z", Some("2026-03-29T00:00:00Z")),
        ("resets tomorrow 4am (Europe/Berlin)", "2026-03-28T03:00:00Z", Some("2026-03-29T02:00:00Z")),
        ("resets tomorrow 4am (Europe/Berlin)", "2026-10-24T02:00:00Z", Some("2026-10-25T03:00:00Z")),
        // An hour is an hour.
        ("try again in 24 hours", "2026-10-24T12:00:00Z", Some("2026-10-25T12:00:00Z")),
    ];
    for (text, now, expected) in table {
        assert_eq!(found(text, now, "UTC").as_deref(), expected, "{text:?} at {now}");
    }
}

#[test]
fn a_time_without_a_zone_is_in_the_default_one() {
    let table = [
        ("try again at 9:45 PM", "America/Los_Angeles", "2026-11-17T05:45:00Z"),
        ("try again at 9:45 PM (local time)", "Asia/Tokyo", "2026-11-16T12:45:00Z"),
        ("resets 7pm (Europe/Berlin)", "Asia/Tokyo", "2026-11-16T18:00:00Z"),
        ("resets Nov 17", "Asia/Tokyo", "2026-11-16T15:00:00Z"),
    ];
    for (text, default, expected) in table {
        assert_eq!(found(text, NOW, default).as_deref(), Some(expected), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_text_gives_nothing_or_a_time_that_makes_sense(
        text in prop_oneof![
            any::<String>(),
            "(resets|try again|retry-after|until)[ :]{1,2}(at|in|on)? ?[0-9:. apmhsTZ+,-]{0,20}( \\([A-Za-z/_]{0,20}\\))?",
            prop::collection::vec(prop::sample::select(vec![
                "resets ", "again ", "at ", "in ", "7", "12", "2026", "-", ":", ".", "pm ", "hours ", "Oct ", "mon ", "tomorrow ",
                "utc", "+", "(", "America/New_York", ")", ", ", "1794916800", "t", "z", "é",
            ]), 0..12).prop_map(|parts| parts.concat()),
        ],
        now in 0u64..4_000_000_000_000,
    ) {
        let now = Wall(now);
        if let Some(found) = reset_time(&text, now, &TimeZone::UTC) {
            prop_assert!(found > now);
            prop_assert!(found.since(now) <= MAX_AHEAD);
        }
    }

    #[test]
    fn a_clock_time_is_found_within_a_day(hour in 1i8..=12, minute in 0i8..60, pm in any::<bool>(), offset in 0u64..86_400) {
        let now = Wall(at(NOW).0 + offset * 1_000);
        let half = if pm { "PM" } else { "am" };
        let text = format!("resets {hour}:{minute:02} {half}");
        if let Some(found) = reset_time(&text, now, &TimeZone::UTC) {
            prop_assert!(found.since(now) <= Duration::from_hours(24));
            let hour24 = u64::try_from(hour).unwrap() % 12 + if pm { 12 } else { 0 };
            prop_assert_eq!(found.0 / 60_000 % 1_440, hour24 * 60 + u64::try_from(minute).unwrap());
        }
    }
}
