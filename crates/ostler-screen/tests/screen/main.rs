//! The crate as its users see it.
#![allow(clippy::unwrap_used, reason = "helpers outside #[test] functions")]

mod painter;
mod properties;
mod restore;
mod signals;

use ostler_screen::{Color, Row, Screen, Size, Span, Style};

/// Feeds bytes to a fresh screen.
fn screen(cols: u16, rows: u16, bytes: impl AsRef<[u8]>) -> Screen {
    let mut screen = Screen::new(Size { cols, rows }, 0);
    screen.feed(bytes.as_ref());
    screen
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn text_is_what_a_person_sees() {
    for (bytes, expected) in [
        (&b""[..], ""),
        (b"hello  \r\nworld\r\n\r\n", "hello\nworld"),
        (b"\r\n\r\nthird", "\n\nthird"),
        (b"abc\x1b[2Dx", "axc"),
        (b"a\tb", "a       b"),
        ("wide 漢字!".as_bytes(), "wide 漢字!"),
        ("e\u{301}|".as_bytes(), "e\u{301}|"),
        (b"\x1b(0lqk\x1b(B", "┌─┐"),
        (b"x\x1b[3b", "xxxx"),
        // Escape sequences in 8 bits are not sequences, and leave no trace in the text.
        (b"a\xc2\x9b31mb\x9b", "a31mb"),
        ("right\u{202e}left\u{2066}\u{e0041}".as_bytes(), "rightleft"),
    ] {
        assert_eq!(screen(20, 5, bytes).text(), expected, "{bytes:?}");
    }
}

#[test]
fn joined_emoji_are_one_character_of_two_columns() {
    for text in ["👩\u{200d}👩\u{200d}👧\u{200d}👦", "👨🏽\u{200d}💻", "👍🏽", "漢"] {
        let screen = screen(20, 2, format!("{text}x\x1b[1;4Hy"));
        assert_eq!(screen.text(), format!("{text}xy"), "{text:?}");
    }
    // A narrow sign that was made an emoji is not wider than programs take it to be.
    assert_eq!(screen(6, 1, "🏳\u{fe0f}\u{200d}🌈abcd").text(), "🏳\u{fe0f}\u{200d}🌈abcd");
    // A vowel sign stands with its letter, and linked letters are one.
    assert_eq!(screen(20, 2, "हिन्दी\x1b[1;3Hx").text(), "हिन्दीx");
    // Nothing joins a character that the cursor was moved away from.
    assert_eq!(screen(20, 2, "👩\u{200d}\x1b[1;9H👧x").text(), "👩      👧x");
}

#[test]
fn rows_name_their_colours() {
    let screen = screen(12, 2, "a\x1b[1;31mbold\x1b[0;48;2;1;2;3m漢\x1b[0;2;38;5;200mdim");
    let span = |start, end, style| Span { start, end, style };
    let plain = Style::default();
    assert_eq!(
        screen.row(0),
        Row {
            text: "abold漢dim".into(),
            spans: vec![
                span(1, 5, Style { bold: true, fg: Some(Color::Indexed(1)), ..plain }),
                span(5, 7, Style { bg: Some(Color::Rgb(1, 2, 3)), ..plain }),
                span(7, 10, Style { dim: true, fg: Some(Color::Indexed(200)), ..plain }),
            ],
            wrapped: false,
        }
    );
    assert_eq!(screen.row(99), Row::default());
}

#[test]
fn wrapped_rows_are_marked() {
    let screen = screen(5, 3, "abcdefg\r\nh");
    let rows: Vec<_> = screen.rows().into_iter().map(|row| (row.text, row.wrapped)).collect();
    assert_eq!(rows, [("abcde".to_owned(), true), ("fg".to_owned(), false), ("h".to_owned(), false)]);
}

#[test]
fn modes_follow_the_program() {
    let mut screen = screen(10, 2, "");
    let before = screen.modes();
    screen.feed(
        b"\x1b[?1049h\x1b[?2004h\x1b[?2026h\x1b[?1h\x1b=\x1b[?1004h\x1b[?1003h\x1b[?1006h\x1b[>5u\x1b[4h",
    );
    insta::assert_snapshot!(json(&screen.modes()), @r#"
    {
      "alternate_screen": true,
      "bracketed_paste": true,
      "synchronized": true,
      "application_cursor": true,
      "application_keypad": true,
      "focus_events": true,
      "mouse": "motion",
      "mouse_encoding": "sgr",
      "alternate_scroll": true,
      "kitty_keyboard": 5,
      "line_wrap": true,
      "insert": true,
      "origin": false,
      "newline": false
    }
    "#);
    // Keyboard flags belong to the screen they were set on.
    screen.feed(b"\x1b[?1049l");
    assert_eq!(screen.modes().kitty_keyboard, 0);
    screen.feed(b"\x1bc");
    assert_eq!(screen.modes(), before);
}

#[test]
fn synchronized_updates_are_drawn_at_once() {
    let mut screen = screen(10, 2, "\x1b[?2026hhalf");
    assert!(screen.modes().synchronized);
    assert_eq!(screen.text(), "half");
    screen.feed(b" done\x1b[?2026l");
    assert!(!screen.modes().synchronized);
    assert_eq!(screen.text(), "half done");
}

#[test]
fn a_snapshot_is_everything() {
    let screen = screen(10, 2, "\x1b]0;t\x07a\x1b[31mb\x1b[?25l\x1b[5 q");
    insta::assert_snapshot!(json(&screen.snapshot().rows), @r#"
    [
      {
        "text": "ab",
        "spans": [
          {
            "start": 1,
            "end": 2,
            "fg": 1
          }
        ],
        "wrapped": false
      },
      {
        "text": "",
        "wrapped": false
      }
    ]
    "#);
    insta::assert_snapshot!(json(&screen.snapshot().cursor), @r#"
    {
      "row": 0,
      "col": 2,
      "visible": false,
      "shape": "beam",
      "blinking": true
    }
    "#);
    assert_eq!(screen.snapshot().title.as_deref(), Some("t"));
}

#[test]
fn history_keeps_the_newest_lines_and_their_numbers() {
    let mut screen = Screen::new(Size { cols: 20, rows: 4 }, 10);
    for number in 0..100 {
        screen.feed(format!("line {number}\r\n").as_bytes());
    }
    assert_eq!((screen.first_line(), screen.top_line()), (87, 97));
    let history = screen.history_text();
    assert_eq!(history.len(), 14);
    assert_eq!((history[0].as_str(), history[12].as_str(), history[13].as_str()), ("line 87", "line 99", ""));
    // Clearing the history does not turn the count back.
    screen.feed(b"\x1b[3J");
    assert_eq!((screen.first_line(), screen.top_line()), (97, 97));
    assert_eq!(screen.history_text()[0], "line 97");
    // A screenful in four bytes is counted as well.
    screen.feed(&b"\x1b[9S".repeat(1000));
    assert_eq!(screen.top_line(), 97 + 4000);
}

#[test]
fn any_size_can_be_asked_for() {
    let mut screen = Screen::new(Size { cols: 0, rows: 0 }, 0);
    assert_eq!(screen.size(), Size { cols: 2, rows: 1 });
    screen.feed("漢字 and more\r\nlines".as_bytes());
    for (cols, rows) in [(1, 1), (u16::MAX, u16::MAX), (1, 1), (80, 24), (0, 0)] {
        screen.resize(Size { cols, rows });
        screen.feed("x漢\r\n".as_bytes());
        assert_eq!(screen.rows().len(), usize::from(screen.size().rows));
    }
}

#[test]
fn long_lines_stay_within_the_screen() {
    let mut screen = screen(80, 24, vec![b'x'; 100_000]);
    assert_eq!(screen.text().len(), 24 * 80 + 23);
    screen.feed(&[b"\r\n".to_vec(), "é".repeat(100_000).into_bytes()].concat());
    assert_eq!(screen.text().chars().count(), 24 * 80 + 23);
}

#[test]
fn marks_are_kept_within_bounds() {
    let mut screen = screen(80, 24, "e");
    screen.feed("\u{301}".repeat(100_000).as_bytes());
    assert_eq!(screen.text().chars().count(), 1 + 8);
}

#[test]
fn pushing_keyboard_flags_forever_is_harmless() {
    let mut screen = screen(80, 24, "");
    screen.feed(&b"\x1b[>1u".repeat(10_000));
    assert_eq!(screen.modes().kitty_keyboard, 1);
}

#[test]
fn printing_needs_only_colours() {
    let screen = screen(10, 4, "\x1b[1mtitle\x1b[m\r\n\r\n plain\x1b[44m \x1b[m");
    let ansi = String::from_utf8(screen.to_ansi()).unwrap();
    assert_eq!(ansi.replace('\x1b', "^"), "^[0;1mtitle^[0m\n\n plain^[0;44m ^[0m");
}
