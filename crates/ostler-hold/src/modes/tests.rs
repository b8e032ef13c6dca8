use std::fs;
use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use ostler_screen::asciicast::{EventKind, Recording};
use ostler_screen::{Screen, Size};

use super::*;

/// Sequences that set modes, and others that look as if they did.
const PIECES: [&str; 52] = [
    "\x1b[?2004h",
    "\x1b[?2004l",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b[?47h",
    "\x1b[?1h",
    "\x1b[?1;25l",
    "\x1b[?25h",
    "\x1b[?1000h",
    "\x1b[?1000l",
    "\x1b[?1002;1006h",
    "\x1b[?1003;1005h",
    "\x1b[?1006l",
    "\x1b[?1003;1002l",
    "\x1b[?1004h",
    "\x1b[?1007l",
    "\x1b[?2026h",
    "\x1b[?2026l",
    "\x1b[?6;7l",
    "\x1b[?6h",
    "\x1b[4;20h",
    "\x1b[4l",
    "\x1b[2004h",
    "\x1b=",
    "\x1b>",
    "\x1bc",
    "\x1b(0",
    "\x1b(c",
    "\x1b[!p",
    "\x1b[>1u",
    "\x1b[>u",
    "\x1b[<u",
    "\x1b[<3u",
    "\x1b[=5;2u",
    "\x1b[=4;3u",
    "\x1b[=257u",
    "\x1b[?1:2;2004:1h",
    "\x1b[?2004$p",
    "\x1b[?2004 h",
    "\x1b[>2004h",
    "\x1b[1?2004h",
    "\x1b[?\x08200\x7f4h",
    "\x1b]0;\x1b[?2004h",
    "\x1b]0;title\x07",
    "\x1bPq#[?2004h\x07\x1b\\",
    "\x1b_G?2004h\x1b\\",
    "\x1b[?20\x1804h",
    "\x1b",
    "\x1b[?",
    "text ",
    "é漢\u{1f600}",
    "\x1b[1;31mred\x1b[m\r\n\x1b[2J\x1b[H",
];

fn scanned(bytes: &[u8]) -> Scanner {
    let mut scanner = Scanner::default();
    scanner.feed(bytes);
    scanner
}

fn screen() -> Screen {
    Screen::new(Size { cols: 20, rows: 5 }, 0)
}

/// What the screen makes of the sequences that the scanner gives for `bytes`.
fn seeded(bytes: &[u8]) -> Screen {
    let mut screen = screen();
    drop(screen.feed(&scanned(bytes).modes().to_sequences()));
    screen
}

/// Compares modes and the visibility of the cursor.
fn assert_agrees(bytes: &[u8]) {
    let mut fed = screen();
    drop(fed.feed(bytes));
    let seeded = seeded(bytes);
    assert_eq!(seeded.modes(), fed.modes(), "{}", bytes.escape_ascii());
    assert_eq!(seeded.cursor().visible, fed.cursor().visible, "{}", bytes.escape_ascii());
}

#[test]
fn what_programs_switch_on_is_known() {
    for (bytes, sequences) in [
        ("", ""),
        ("plain text", ""),
        ("\x1b[?2004h", "\x1b[?2004h"),
        ("\x1b[?25l\x1b[?1049h\x1b[?2004h", "\x1b[?1049h\x1b[?25l\x1b[?2004h"),
        ("\x1b[>1u\x1b[?1049h\x1b[>1u\x1b[>3u", "\x1b[>1u\x1b[?1049h\x1b[>1u\x1b[>3u"),
        ("\x1b[?1000;1002;1003;1006h\x1b=", "\x1b[?1003h\x1b[?1006h\x1b="),
        ("\x1b[?2004h\x1b=\x1b[>1u\x1bc", ""),
        ("\x1b]0;a title", "\x1b]-"),
        ("\x1bPsixel", "\x1b_"),
    ] {
        let told = scanned(bytes.as_bytes()).modes().to_sequences();
        assert_eq!(told.escape_ascii().to_string(), sequences.as_bytes().escape_ascii().to_string());
    }
}

#[test]
fn pieces_may_end_anywhere() {
    let stream = PIECES.concat();
    let stream = stream.as_bytes();
    let whole = scanned(stream).modes();
    for split in 0..stream.len() {
        let mut scanner = scanned(&stream[..split]);
        scanner.feed(&stream[split..]);
        assert_eq!(scanner.modes(), whole, "split at {split}");
        assert_agrees(&stream[..split]);
    }
}

#[test]
fn it_agrees_with_the_screen_on_mixtures() {
    let mut lots = fastrand::Rng::with_seed(7);
    for _ in 0..4000 {
        let mut bytes: Vec<u8> =
            (0..lots.usize(1..12)).flat_map(|_| PIECES[lots.usize(..PIECES.len())].bytes()).collect();
        if lots.bool() {
            let at = lots.usize(..bytes.len());
            bytes[at] = lots.u8(..);
        }
        assert_agrees(&bytes);
    }
}

#[test]
fn it_agrees_with_the_screen_on_recordings() {
    let (mut paste, mut keyboard) = (false, false);
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings"))];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "gz") {
                let mut cast = String::new();
                GzDecoder::new(fs::File::open(&path).unwrap()).read_to_string(&mut cast).unwrap();
                let recording = Recording::parse(&cast).unwrap();
                let (mut scanner, mut fed) = (Scanner::default(), screen());
                for event in recording.events {
                    let EventKind::Output(bytes) = event.kind else { continue };
                    scanner.feed(bytes.as_bytes());
                    drop(fed.feed(bytes.as_bytes()));
                    let mut seeded = screen();
                    drop(seeded.feed(&scanner.modes().to_sequences()));
                    assert_eq!(seeded.modes(), fed.modes(), "{}", path.display());
                    paste |= fed.modes().bracketed_paste;
                    keyboard |= fed.modes().kitty_keyboard != 0;
                }
            }
        }
    }
    assert!(paste && keyboard, "recordings of nothing");
}

#[test]
fn endless_sequences_set_nothing_and_cost_nothing() {
    for (before, filler, after, set) in [
        ("\x1b[?2004", ";1", "h", false),
        ("\x1b[?", "0", "2004h", false),
        ("\x1b[?2004h\x1b[?", "9", "l", true),
        ("\x1b[", "\x00", "?2004h", false),
        ("\x1b", "\x00", "[?2004h", false),
        ("\x1b]", "\x1b[?2004h", "", true),
        ("\x1b]", "[?2004h", "", false),
        ("\x1b_", "\x07[?2004h", "", false),
    ] {
        let mut scanner = scanned(before.as_bytes());
        let mut fed = screen();
        drop(fed.feed(before.as_bytes()));
        for _ in 0..10_000 {
            scanner.feed(filler.as_bytes());
            drop(fed.feed(filler.as_bytes()));
        }
        scanner.feed(after.as_bytes());
        drop(fed.feed(after.as_bytes()));
        assert_eq!(fed.modes().bracketed_paste, set, "{before:?}");
        assert_eq!(scanner.modes().flags & (1 << 12) != 0, set, "{before:?}");
    }
    assert!(size_of::<Scanner>() <= 64, "{}", size_of::<Scanner>());
}

#[test]
fn limits_are_those_of_the_screen() {
    for separators in [30, 31, 32, 33] {
        assert_agrees(format!("\x1b[?2004{}h", ";1".repeat(separators)).as_bytes());
        assert_agrees(format!("\x1b[?2004{}h", ":1".repeat(separators)).as_bytes());
    }
    for zeros in 500..520 {
        assert_agrees(format!("\x1b[?{}2004h", "0".repeat(zeros)).as_bytes());
    }
    assert_agrees("\x1b[>1u".repeat(KEYBOARD_DEPTH).as_bytes());
    let (pushed, popped) = ("\x1b[>1u\x1b[>2u".repeat(20), "\x1b[<u".repeat(3));
    assert_agrees((pushed + &popped).as_bytes());
}

#[test]
fn a_string_that_is_under_way_is_not_drawn() {
    for (begin, end) in
        [("\x1b]0;a tit", "le\x07"), ("\x1b]52;c;", "AAAA\x1b\\"), ("\x1bPq", "#0!\x07a\x1b\\")]
    {
        let mut screen = seeded(begin.as_bytes());
        assert_eq!(screen.feed(end.as_bytes()), []);
        drop(screen.feed(b"text"));
        assert_eq!(screen.text(), "text");
    }
}

#[test]
fn the_end_of_what_is_under_way_is_found() {
    for (before, after, rest) in [
        ("text", "text", 0),
        ("\x1b", "[?2004htext", 7),
        ("\x1b[?20", "04htext", 3),
        ("\x1b]0;ti", "tle\x07text", 4),
        ("\x1b]0;ti", "tle\x1b\\text", 5),
        ("\x1b[1", "\x1b[?2004htext", 8),
    ] {
        assert_eq!(scanned(before.as_bytes()).finish(after.as_bytes()), rest, "{before:?}");
    }
    assert_eq!(Scanner::default().finish(b"\x9f\x98\x80a"), 3);
    // These are no rest of a character, and not all of them can be skipped.
    assert_eq!(Scanner::default().finish(&[0x80; 10]), 3);
}

#[test]
fn modes_survive_the_header() {
    let modes = scanned(b"\x1b[?2004h\x1b[?1049h\x1b[>1u\x1b[>5u\x1b]0;").modes();
    assert_eq!(Modes::from_bytes(modes.to_bytes()), Some(modes));
    assert_eq!(Modes::from_bytes([0; Modes::LEN]), None);
    let odd = Modes::from_bytes([0xff; Modes::LEN]).unwrap();
    drop(odd.to_sequences());
}
