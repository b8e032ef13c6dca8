use proptest::prelude::*;

use super::*;

fn id(text: &str) -> BlockId {
    BlockId::new(text).unwrap()
}

fn after(before: &str, name: &str, body: &str) -> String {
    String::from_utf8(put(Some(before.as_bytes()), &id(name), body).unwrap()).unwrap()
}

fn without(before: &[u8], name: &str) -> Vec<u8> {
    match remove(before, Some(&id(name))) {
        Remains::Same => before.to_vec(),
        Remains::Bytes(bytes) => bytes,
        Remains::Nothing => Vec::new(),
    }
}

#[test]
fn a_block_comes_at_the_end_in_the_files_own_line_ends() {
    let lf = "<!-- ostler:begin a -->\nx\ny\n<!-- ostler:end a -->";
    let crlf = lf.replace('\n', "\r\n");
    let table = [
        ("", format!("{lf}\n")),
        ("text\n", format!("text\n{lf}\n")),
        ("text", format!("text\n{lf}")),
        ("text\r\n", format!("text\r\n{crlf}\r\n")),
        ("one\r\ntwo", format!("one\r\ntwo\r\n{crlf}")),
        ("one\r", format!("one\r\n{lf}")),
        ("\u{feff}", format!("\u{feff}\n{lf}")),
    ];
    for (before, expected) in table {
        assert_eq!(after(before, "a", "x\ny\n"), expected, "{before:?}");
    }
}

#[test]
fn what_was_written_on_behind_a_block_stays() {
    let both = after(&after("no line end", "a", "x"), "b", "y");
    let longer = format!("{both}more\n");
    assert_eq!(ids(longer.as_bytes()), ["a", "b"]);
    assert_eq!(without(&without(longer.as_bytes(), "b"), "a"), b"no line endmore\n");
    assert_eq!(without(&without(longer.as_bytes(), "a"), "b"), b"no line endmore\n");
    assert_eq!(ids(after(&longer, "b", "z").as_bytes()), ["a", "b"]);
}

#[test]
fn a_block_is_replaced_where_it_is() {
    let before = "top\n<!-- ostler:begin a -->\r\nold\r\n<!-- ostler:end a -->\r\nbottom";
    let expected = "top\n<!-- ostler:begin a -->\r\nnew\r\nlines\r\n<!-- ostler:end a -->\r\nbottom";
    assert_eq!(after(before, "a", "new\nlines"), expected);
    assert_eq!(after(expected, "a", "new\nlines"), expected);
    let twice = format!("{expected}\n{expected}\n");
    assert_eq!(ids(after(&twice, "a", "one").as_bytes()), ["a"]);
    assert_eq!(without(twice.as_bytes(), "a"), b"top\nbottom\ntop\nbottom\n");
}

#[test]
fn a_file_that_ostler_made_goes_with_its_last_block() {
    let one = put(None, &id("a"), "x").unwrap();
    let two = put(Some(&one), &id("b"), "y").unwrap();
    assert_eq!(ids(&two), ["a", "b"]);
    for (first, last) in [("a", "b"), ("b", "a")] {
        let left = without(&two, first);
        assert_eq!(ids(&left), [last]);
        assert_eq!(remove(&left, Some(&id(last))), Remains::Nothing);
    }
    assert_eq!(remove(&two, None), Remains::Nothing);
    // What a person wrote into it stays, and nothing else.
    let edited = [&two[..], b"mine\n"].concat();
    assert_eq!(remove(&edited, None), Remains::Bytes(b"mine\n".to_vec()));
    // An empty file of a person's stays.
    let empty = put(Some(b""), &id("a"), "x").unwrap();
    assert_eq!(remove(&empty, Some(&id("a"))), Remains::Bytes(Vec::new()));
}

#[test]
fn lines_that_do_not_fit_together_are_somebodys_text() {
    let table = [
        "<!-- ostler:begin a -->\nnever ended\n",
        "<!-- ostler:begin a -->",
        "<!-- ostler:end a -->\n<!-- ostler:begin a -->\n",
        "<!-- ostler:begin a -->\n<!-- ostler:end b -->\n",
        "<!-- ostler:begin a -->\n<!-- ostler:begin b -->\n<!-- ostler:end a -->\n",
        " <!-- ostler:begin a -->\n<!-- ostler:end a -->\n",
        "> <!-- ostler:begin a -->\n<!-- ostler:end a --> x\n",
        "<!-- ostler:begin a --> \n<!-- ostler:end a -->\n",
        "<!-- ostler:begin a\tb -->\n<!-- ostler:end a\tb -->\n",
    ];
    for text in table {
        assert_eq!(ids(text.as_bytes()), Vec::<String>::new(), "{text:?}");
        assert_eq!(remove(text.as_bytes(), None), Remains::Same);
        let with = after(text, "a", "body");
        assert_eq!(without(with.as_bytes(), "a"), text.as_bytes(), "{text:?}");
    }
}

#[test]
fn text_cannot_leave_its_block() {
    let body =
        "x\n<!-- ostler:end a -->\n<!-- ostler:begin b -->\ny\x1b[2J\r\nhi @/etc/passwd\n@import a@b.c";
    let text = after("user\n", "a", body);
    assert_eq!(ids(text.as_bytes()), ["a"]);
    assert_eq!(without(text.as_bytes(), "a"), b"user\n");
    assert!(!text.contains('\x1b') && !text.contains('\r'), "{text:?}");
    assert!(text.contains("hi \\@/etc/passwd\n\\@import a@b.c\n"), "{text:?}");
}

#[test]
fn what_cannot_be_a_block_is_refused() {
    for wrong in ["", "a b", "a\n", "-->", "é", &"x".repeat(65)] {
        assert!(matches!(BlockId::new(wrong), Err(BlockError::Id(_))), "{wrong:?}");
    }
    let long = "x".repeat(MAX_BODY + 1);
    assert_eq!(put(None, &id("a"), &long), Err(BlockError::TooLong(MAX_BODY + 1)));
    assert_eq!(put(Some(b"\xff\xfea\0"), &id("a"), "x"), Err(BlockError::Utf16));
}

/// Bytes that are likely to be mistaken for something.
fn tricky() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: [&[u8]; 11] = [
        b"\n",
        b"\r\n",
        b"\r",
        b"text",
        b"\xff\x00",
        b"\xef\xbb\xbf",
        b"<!-- ostler:begin a -->",
        b"<!-- ostler:end a -->",
        b"<!-- ostler:begin b -->\n",
        b"<!-- ostler:end b -->\n",
        b"<!-- ostler:begin c -->\nc\n<!-- ostler:end c -->\n",
    ];
    let piece = prop::sample::select(&PIECES[..]);
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn any_file() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![tricky(), prop::collection::vec(any::<u8>(), 0..200)]
        .prop_filter("UTF-16 is refused", |file| {
            !file.starts_with(b"\xff\xfe") && !file.starts_with(b"\xfe\xff")
        })
}

fn any_body() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), tricky().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())]
}

fn has(file: &[u8], name: &str) -> bool {
    ids(file).iter().any(|found| found == name)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn putting_and_removing_changes_nothing(file in any_file(), body in any_body()) {
        prop_assume!(!has(&file, "a"));
        let with = put(Some(&file), &id("a"), &body).unwrap();
        prop_assert!(has(&with, "a"));
        prop_assert!(with.starts_with(&file));
        prop_assert_eq!(without(&with, "a"), file);
    }

    #[test]
    fn putting_again_replaces(file in any_file(), one in any_body(), two in any_body()) {
        prop_assume!(!has(&file, "a"));
        let first = put(Some(&file), &id("a"), &one).unwrap();
        let again = put(Some(&first), &id("a"), &two).unwrap();
        prop_assert_eq!(&again, &put(Some(&file), &id("a"), &two).unwrap());
    }

    #[test]
    fn two_sessions_do_not_disturb_each_other(
        file in any_file(), one in any_body(), two in any_body(), three in any_body(), first_goes_first in any::<bool>(),
    ) {
        prop_assume!(!has(&file, "a") && !has(&file, "b"));
        let with = put(Some(&file), &id("a"), &one).unwrap();
        let with = put(Some(&with), &id("b"), &two).unwrap();
        let with = put(Some(&with), &id("a"), &three).unwrap();
        prop_assert!(has(&with, "a") && has(&with, "b"));
        let (first, last) = if first_goes_first { ("a", "b") } else { ("b", "a") };
        let left = without(&with, first);
        prop_assert!(!has(&left, first) && has(&left, last));
        prop_assert_eq!(without(&left, last), file);
    }

    #[test]
    fn only_whole_blocks_are_ever_taken(file in any_file()) {
        if let Remains::Bytes(left) = remove(&file, None) {
            prop_assert!(left.len() < file.len());
        }
    }
}
