//! What comes out of the stream besides the picture.

use ostler_screen::{ProgramState, ProgramStatus, PromptMark, Screen, Signal, Size};

fn signals(bytes: &[u8]) -> Vec<Signal> {
    Screen::new(Size { cols: 40, rows: 10 }, 0).feed(bytes)
}

/// Lists the replies as `at:bytes` with `^` for ESC.
fn replies(bytes: &[u8]) -> Vec<String> {
    let reply = |signal| match signal {
        Signal::Reply { at, bytes } => {
            format!("{at}:{}", String::from_utf8(bytes).unwrap().replace('\x1b', "^"))
        }
        other => format!("{other:?}"),
    };
    signals(bytes).into_iter().map(reply).collect()
}

#[test]
fn signals_come_in_the_order_of_the_stream() {
    let status =
        ProgramStatus { state: ProgramState::Working, app: None, kind: None, message: None, id: None };
    assert_eq!(
        signals(b"\x07a\x1b]2;one\x1b\\b\x07\x1b]7501;state=working\x07\x1b[5nc\x1b]133;C\x07\x1b[1\x07m"),
        [
            Signal::Bell,
            Signal::Title("one".into()),
            Signal::Bell,
            Signal::ProgramStatus(status),
            Signal::Reply { at: 38, bytes: b"\x1b[0n".to_vec() },
            Signal::PromptMark(PromptMark::OutputStart),
            Signal::Bell,
        ]
    );
}

#[test]
fn a_bell_that_ends_a_sequence_is_silent() {
    assert_eq!(signals(b"\x1b]0;t\x07"), [Signal::Title("t".into())]);
    assert_eq!(signals(b"\x1b]52;c;AAAA\x07\x1bPq#0\x07\x1b\\"), []);
}

#[test]
fn questions_get_their_fixed_answers() {
    for (question, answer) in [
        (&b"\x1b[c"[..], "3:^[?62;22c"),
        (b"\x1b[0c", "4:^[?62;22c"),
        (b"\x1b[>c", "4:^[>0;10;1c"),
        (b"\x1b[5n", "4:^[0n"),
        (b"abc\r\n\x1b[4Cd\x1b[6nmore", "14:^[2;6R"),
        (b"\x1b[3;5r\x1b[?6h\x1b[2;2H\x1b[6n", "21:^[2;2R"),
        (b"\x1b[>q", concat!("4:^P>|ostler(", env!("CARGO_PKG_VERSION"), ")^\\")),
        (b"\x1b[>0q", concat!("5:^P>|ostler(", env!("CARGO_PKG_VERSION"), ")^\\")),
        (b"\x1b[?u", "4:^[?0u"),
        (b"\x1b[>5u\x1b[=2;2u\x1b[?u", "16:^[?7u"),
        (b"\x1b]10;?\x1b\\x", "8:^]10;rgb:d0d0/d0d0/d0d0^\\"),
        (b"\x1b]11;?\x07x", "7:^]11;rgb:1010/1010/1010\x07"),
        (b"\x1b[?2026$p", "9:^[?2026;2$y"),
        (b"\x1b[?2004h\x1b[?2004$p", "17:^[?2004;1$y"),
        (b"\x1b[?9999$p", "9:^[?9999;0$y"),
        (b"\x1b]7501;?\x1b\\", "10:^]7501;?^\\"),
    ] {
        assert_eq!(replies(question), [answer], "{question:?}");
    }
}

#[test]
fn other_questions_stay_unanswered() {
    for question in [
        &b"\x1b[1c"[..],
        b"\x1b[=c",
        b"\x1b[?6n",
        b"\x1b[4 q",
        b"\x1b[u",
        b"\x1b[!p",
        b"\x1b]4;1;?\x07",
        b"\x1b]52;c;?\x07",
        b"\x1b[21t",
        b"\x1bP+q544e\x1b\\",
        b"\x1bP$qm\x1b\\",
        b"\x05",
        b"\x1bZ",
    ] {
        assert!(replies(question).is_empty(), "{question:?}");
    }
}

#[test]
fn a_split_question_is_answered_where_it_ends() {
    let mut screen = Screen::new(Size { cols: 40, rows: 10 }, 0);
    assert_eq!(screen.feed(b"ab\x1b["), []);
    assert_eq!(screen.feed(b"6nxyz"), [Signal::Reply { at: 2, bytes: b"\x1b[1;3R".to_vec() }]);
    assert_eq!(screen.text(), "abxyz");
}

#[test]
fn titles_are_clean_short_and_come_back() {
    let mut screen = Screen::new(Size { cols: 40, rows: 10 }, 0);
    screen.feed("\x1b]0;a\x01\u{85}b\n c\u{9b}\x07".as_bytes());
    assert_eq!(screen.title(), Some("ab  c"));
    screen.feed(&[b"\x1b[22;0t\x1b]2;", "é".repeat(1000).as_bytes(), b"\x07"].concat());
    assert_eq!(screen.title().map(|title| title.chars().count()), Some(256));
    assert_eq!(screen.feed(b"\x1b[23;0t"), [Signal::Title("ab  c".into())]);
    screen.feed(b"\x1b]2;\x07");
    assert_eq!(screen.title(), None);
}

#[test]
fn oversized_sequences_are_nothing() {
    let mut screen = Screen::new(Size { cols: 40, rows: 10 }, 0);
    let bytes =
        [b"a\x1b]2;", &[b'x'; 5000][..], b"\x07b\x1b]7501;state=idle:x=", &[b'x'; 5000], b"\x07c"].concat();
    assert_eq!(screen.feed(&bytes), []);
    assert_eq!((screen.text().as_str(), screen.title()), ("abc", None));
}
