use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::FileExt;

use proptest::prelude::*;

use super::*;

struct Grown {
    dir: tempfile::TempDir,
    file: File,
}

impl Grown {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = OpenOptions::new().append(true).create(true).open(dir.path().join("f")).unwrap();
        Self { dir, file }
    }

    fn opened(&self) -> File {
        File::open(self.dir.path().join("f")).unwrap()
    }
}

/// Reads all there is; `!` is a line that was too long, `<` a new beginning.
fn drain(tail: &mut Tail) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let progress = tail.step(|line| {
            lines.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                Line::TooLong => "!".into(),
            });
        });
        match progress.unwrap() {
            Progress::End => return lines,
            Progress::More => {}
            Progress::Rewritten => lines.push("<".into()),
        }
    }
}

#[test]
fn half_lines_wait_for_their_end() {
    let mut grown = Grown::new();
    let mut tail = Tail::new(grown.opened()).unwrap();
    for (bytes, expected) in [
        (&b""[..], &[][..]),
        (b"one\ntw", &["one"]),
        (b"", &[]),
        (b"o \xe2\x82", &[]),
        (b"\xac\n\nfour\n", &["two \u{20ac}", "", "four"]),
    ] {
        grown.file.write_all(bytes).unwrap();
        assert_eq!(drain(&mut tail), expected);
    }
}

#[test]
fn a_file_that_is_cut_or_written_anew_is_read_again() {
    let mut grown = Grown::new();
    grown.file.write_all(b"one\ntwo\nthr").unwrap();
    let mut tail = Tail::new(grown.opened()).unwrap();
    assert_eq!(drain(&mut tail), ["one", "two"]);
    grown.file.set_len(4).unwrap();
    assert_eq!(drain(&mut tail), ["<", "one"]);
    grown.file.set_len(0).unwrap();
    grown.file.write_all(b"another and longer\n").unwrap();
    assert_eq!(drain(&mut tail), ["<", "another and longer"]);
    grown.file.set_len(0).unwrap();
    assert_eq!(drain(&mut tail), ["<"]);
}

#[test]
fn a_place_is_found_again_only_in_the_same_file() {
    let mut grown = Grown::new();
    grown.file.write_all(b"one\ntwo\nthr").unwrap();
    let mut tail = Tail::new(grown.opened()).unwrap();
    assert_eq!(drain(&mut tail), ["one", "two"]);
    let kept: Position = serde_json::from_str(&serde_json::to_string(&tail.position()).unwrap()).unwrap();
    assert_eq!(kept.offset, 8);
    grown.file.write_all(b"ee\n").unwrap();
    assert_eq!(drain(&mut Tail::resume(grown.opened(), kept).unwrap().unwrap()), ["three"]);
    grown.file.set_len(0).unwrap();
    assert!(Tail::resume(grown.opened(), kept).unwrap().is_none());
    grown.file.write_all(b"quite another\nbeginning\n").unwrap();
    assert!(Tail::resume(grown.opened(), kept).unwrap().is_none());
    assert!(Tail::resume(grown.opened(), Position { offset: 3, ..kept }).unwrap().is_none());
}

#[test]
fn a_line_of_100_megabytes_is_passed_over_in_little_memory() {
    let mut grown = Grown::new();
    grown.file.write_all(b"before\n").unwrap();
    let hole = 7 + 100 * 1024 * 1024;
    // A hole reads as zeros, and takes no disk.
    grown.file.set_len(hole).unwrap();
    let mut tail = Tail::new(grown.opened()).unwrap();
    let mut steps = 0;
    let mut lines = 0;
    while tail.step(|_| lines += 1).unwrap() == Progress::More {
        assert!(tail.partial.capacity() <= 2 * (MAX_LINE + CHUNK));
        steps += 1;
    }
    assert!(steps >= 25, "one step reads a bounded piece");
    assert_eq!(lines, 1);
    assert_eq!(tail.partial.capacity(), 0);
    // In the middle of it, a new reader goes on with skipping.
    let mut tail = Tail::resume(grown.opened(), tail.position()).unwrap().unwrap();
    grown.file.write_all(b"end of it\nafter\n").unwrap();
    assert_eq!(drain(&mut tail), ["!", "after"]);
}

#[test]
fn the_last_line_of_a_finished_file_needs_no_end() {
    let grown = Grown::new();
    grown.file.write_at(b"one\ntwo", 0).unwrap();
    let mut tail = Tail::new(grown.opened()).unwrap();
    assert_eq!(drain(&mut tail), ["one"]);
    let mut last: Vec<u8> = Vec::new();
    tail.finish(|line| last.extend(if let Line::Whole(line) = line { line } else { &[] }));
    assert_eq!(last, b"two");
}

proptest! {
    #[test]
    fn any_split_into_writes_gives_the_same_lines(
        text in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..400),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        restart in any::<bool>(),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut grown = Grown::new();
        let mut tail = Tail::new(grown.opened()).unwrap();
        let mut lines = Vec::new();
        for pair in cuts.windows(2) {
            grown.file.write_all(&text[pair[0]..pair[1]]).unwrap();
            lines.extend(drain(&mut tail));
            if restart {
                tail = Tail::resume(grown.opened(), tail.position()).unwrap().unwrap();
            }
        }
        let mut expected: Vec<String> = text.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        expected.pop();
        prop_assert_eq!(lines, expected);
    }
}
