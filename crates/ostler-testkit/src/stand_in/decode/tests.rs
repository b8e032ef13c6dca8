use super::super::reply::ReplyKind;
use super::*;

fn text(text: &str) -> Key {
    Key::Text(text.into())
}

fn kinds(keys: &[Key]) -> Vec<ReplyKind> {
    keys.iter()
        .map(|key| match key {
            Key::Reply(reply) => reply.kind,
            other => panic!("not a reply: {other:?}"),
        })
        .collect()
}

#[test]
fn bytes_become_keys() {
    let table: &[(&[u8], &[Key])] = &[
        (b"hi\r", &[text("hi"), Key::Enter]),
        (b"a\nb", &[text("a"), Key::Newline, text("b")]),
        (
            b"\x03\x15\x7f\x08\x04",
            &[Key::Interrupt, Key::KillLine, Key::Backspace, Key::Backspace, Key::EndOfInput],
        ),
        (b"\x1b[A\x1b[B\x1bOA\x1b[1;2B", &[Key::Up, Key::Down, Key::Up, Key::Down]),
        (b"\x1b[13u\x1b[13;1u\x1b[13;1:1u\x1b[13;1:3u", &[Key::Enter, Key::Enter, Key::Enter]),
        (b"\x1b[13;2u\x1b\r", &[Key::Newline, Key::Newline]),
        (b"\x1b[99;5u\x1b[117;5u\x1b[27u", &[Key::Interrupt, Key::KillLine, Key::Escape]),
        (b"\x1b[I\x1b[O\x1b[<0;1;1M\x1b[201~x", &[text("x")]),
        (b"\x1b[200~a\r\nb\rc\x1b[201~\r", &[Key::Paste("a\nb\nc".into()), Key::Enter]),
        (b"\x1b[200~\x1b[A\x03\x1b[201~", &[Key::Paste("\x1b[A\x03".into())]),
        (b"\xff\r", &[text("\u{fffd}"), Key::Enter]),
    ];
    for (bytes, keys) in table {
        assert_eq!(Decoder::default().feed(bytes), *keys, "{}", bytes.escape_ascii());
    }
}

#[test]
fn every_split_gives_the_same_input() {
    let bytes =
        "né\u{1f40e}\x1b[200~eins\nzwei é\x1b[201~\r\x1b[B\x1b[13u\x1b]11;rgb:0/0/0\x1b\\z".as_bytes();
    let whole = joined(Decoder::default().feed(bytes));
    for first in 0..bytes.len() {
        for second in first..bytes.len() {
            let mut decoder = Decoder::default();
            let mut keys = decoder.feed(&bytes[..first]);
            keys.extend(decoder.feed(&bytes[first..second]));
            keys.extend(decoder.feed(&bytes[second..]));
            assert_eq!(joined(keys), whole, "split at {first} and {second}");
        }
    }
}

/// Merges neighbouring runs of text, which depend on the reads.
fn joined(keys: Vec<Key>) -> Vec<Key> {
    let mut merged: Vec<Key> = Vec::new();
    for key in keys {
        match (merged.last_mut(), key) {
            (Some(Key::Text(before)), Key::Text(more)) => before.push_str(&more),
            (_, key) => merged.push(key),
        }
    }
    merged
}

#[test]
fn replies_are_never_text() {
    let bytes = b"\x1b[?62;22c\x1b[12;40R\x1b[?0u\x1bP>|term 1.0\x1b\\\x1b]11;rgb:0/0/0\x07\x1b]7501;?\x1b\\";
    let keys = Decoder::default().feed(bytes);
    assert_eq!(
        kinds(&keys),
        [
            ReplyKind::DeviceAttributes,
            ReplyKind::CursorPosition,
            ReplyKind::KeyboardFlags,
            ReplyKind::TerminalVersion,
            ReplyKind::Colour,
            ReplyKind::ProgramStatus,
        ]
    );
}

#[test]
fn a_lone_escape_waits_for_its_time() {
    let mut decoder = Decoder::default();
    assert_eq!(decoder.feed(b"\x1b"), []);
    assert!(decoder.has_lone_escape());
    assert_eq!(decoder.expire_escape(), Some(Key::Escape));
    assert_eq!(decoder.expire_escape(), None);
    assert_eq!(decoder.feed(b"a"), [text("a")]);
}

#[test]
fn a_large_body_in_small_reads_arrives_whole() {
    let body = "ab~\x1b[20 ".repeat(150_000 / 8);
    let mut decoder = Decoder::default();
    let mut keys = decoder.feed(b"\x1b[200~");
    for chunk in body.as_bytes().chunks(7) {
        keys.extend(decoder.feed(chunk));
    }
    keys.extend(decoder.feed(b"\x1b[201~"));
    assert_eq!(keys, [Key::Paste(body)]);
}
