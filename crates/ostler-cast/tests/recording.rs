//! Writing and reading together.
#![cfg(feature = "read")]
#![allow(clippy::unwrap_used, reason = "helpers outside #[test] functions")]

use std::time::Duration;

use ostler_cast::{CastError, Encoder, Event, EventKind, Header, Recording, header_line};
use proptest::prelude::*;

const HEADER: &str = "{\"version\":2,\"width\":80,\"height\":24}\n";

fn parse(body: &str) -> Result<Recording, CastError> {
    Recording::parse(&format!("{HEADER}{body}"))
}

fn kinds(body: &str) -> Vec<EventKind> {
    parse(body).unwrap().events.into_iter().map(|event| event.kind).collect()
}

fn output_text(recording: &Recording) -> String {
    let text = |event: &Event| match &event.kind {
        EventKind::Output(text) => text.clone(),
        _ => String::new(),
    };
    recording.events.iter().map(text).collect()
}

#[test]
fn a_header_survives_the_round_trip() {
    let header = Header {
        width: 120,
        height: 40,
        timestamp: Some(1_763_000_000),
        title: Some("tab\tand \"quote\"".into()),
        command: Some("codex".into()),
        term: Some("xterm-256color".into()),
        agent: Some("agent".into()),
        agent_version: Some("1.2.3".into()),
    };
    let recording = Recording::parse(&header_line(&header)).unwrap();
    assert_eq!((recording.header, recording.events, recording.truncated), (header, vec![], false));
}

#[test]
fn reads_every_kind_of_event_and_skips_blank_lines() {
    let body = "[0.5, \"o\", \"\\u001b[1mhi\"]\n\n[1, \"i\", \"y\"]\n[2, \"r\", \"100x30\"]\n  \n\
                [3, \"m\", \"here\"]\n[4.25, \"x\", \"0\"]\n";
    let recording = parse(body).unwrap();
    let times: Vec<u128> = recording.events.iter().map(|event| event.at.as_millis()).collect();
    assert_eq!(times, [500, 1000, 2000, 3000, 4250]);
    assert_eq!(
        kinds(body),
        [
            EventKind::Output("\x1b[1mhi".into()),
            EventKind::Input("y".into()),
            EventKind::Resize { cols: 100, rows: 30 },
            EventKind::Marker("here".into()),
            EventKind::Other { code: "x".into(), data: "0".into() },
        ]
    );
}

#[test]
fn a_cut_last_line_is_reported_not_refused() {
    let recording = parse("[0.5, \"o\", \"a\"]\n[0.6, \"o\", \"b").unwrap();
    assert!(recording.truncated);
    assert_eq!(recording.events.len(), 1);
    assert!(!parse("[0.5, \"o\", \"a\"]").unwrap().truncated);
}

#[test]
fn errors_name_the_line() {
    for (text, expected) in [
        ("", "the recording is empty"),
        ("{\"version\":3}\n", "asciicast version 3 is not supported, only version 2"),
        (
            "{\"version\":2,\"width\":1,\"height\":1}\n[0,\"r\",\"80\"]\n",
            "line 2 is not an asciicast event: \"80\" is not a size like 80x24",
        ),
        (
            "{\"version\":2,\"width\":1,\"height\":1}\n\n[-1,\"o\",\"\"]\n",
            "line 3 is not an asciicast event: -1 is not a time",
        ),
    ] {
        assert_eq!(Recording::parse(text).unwrap_err().to_string(), expected);
    }
    assert!(
        Recording::parse("nonsense\n")
            .unwrap_err()
            .to_string()
            .starts_with("line 1 is not an asciicast header")
    );
    assert!(parse("[0.1]\n[0.2, \"o\", \"\"]\n").unwrap_err().to_string().starts_with("line 2 "));
}

fn record(bytes: &[u8], splits: &[usize]) -> Recording {
    let mut file = HEADER.as_bytes().to_vec();
    let (mut encoder, mut rest, mut at) = (Encoder::new(), bytes, Duration::ZERO);
    for split in splits {
        let (now, later) = rest.split_at((*split).min(rest.len()));
        encoder.output(at, now, &mut file);
        rest = later;
        at += Duration::from_micros(1234);
    }
    encoder.output(at, rest, &mut file);
    encoder.finish(at, &mut file);
    Recording::parse(std::str::from_utf8(&file).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_survives_any_split(text in "\\PC{0,40}|[\\x00-\\x1f\"\\\\é─🦀]{0,40}", splits in prop::collection::vec(0usize..6, 0..30)) {
        prop_assert_eq!(output_text(&record(text.as_bytes(), &splits)), text);
    }

    #[test]
    fn any_bytes_read_as_their_lossy_text(bytes in prop::collection::vec(any::<u8>(), 0..60), splits in prop::collection::vec(0usize..6, 0..30)) {
        prop_assert_eq!(output_text(&record(&bytes, &splits)), String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn reading_never_panics(text in "\\PC{0,80}") {
        let _ = Recording::parse(&text);
        let _ = parse(&text);
    }
}
