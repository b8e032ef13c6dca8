use ostler_screen::Size;

use super::*;
use crate::{Preset, Reader};
use std::sync::Arc;

const PRESET: &str = r"
[composer]
row = '^❯'
above = '^─{10,}'
below = '^─{10,}'
";

/// The sight of a text in a composer with these rows.
fn sight(text: &str, rows: &[&str], earlier: &[&str]) -> ComposerView {
    let earlier: Vec<Body> = earlier.iter().map(|text| Body::new(text)).collect();
    look(rows, |screen, book, composer, mark| Body::new(text).sight(screen, book, composer, mark, &earlier))
}

/// The text after it was seen in a composer with these rows.
fn noted(text: &str, rows: &[&str]) -> Body {
    let body = Body::new(text);
    let mark = look(rows, |screen, book, composer, mark| body.mark_in(screen, book, composer, mark));
    body.marked(mark)
}

fn look<T>(rows: &[&str], see: impl FnOnce(&Screen, &RuleBook, &Composer, Option<&Placeholder>) -> T) -> T {
    let preset: Preset = toml::from_str(PRESET).unwrap();
    let book = Arc::new(RuleBook::new(&preset, None, None).unwrap());
    let mut screen = Screen::new(Size::clamped(40, 20), 0);
    let frame = "─".repeat(40);
    let drawn = format!("hello\r\n{frame}\r\n❯ {}\r\n{frame}\r\n? for help", rows.join("\r\n  "));
    screen.feed(drawn.as_bytes());
    let mut reader = Reader::new(book.clone());
    reader.look(&mut screen);
    let mark =
        Placeholder::new(r"\[Pasted text #\d+( \+(?P<lines>\d+) lines)?\]|\[Pasted (?P<chars>\d+) chars\]");
    see(&screen, &book, reader.composer().unwrap(), mark.as_ref())
}

#[test]
fn a_text_is_recognised_however_it_is_laid_out() {
    for (text, rows) in [
        ("fix the bug", &["fix the bug"][..]),
        ("fix the\n\n\tbug", &["fix the", "", "    bug"]),
        ("a long line that is wrapped somewhere", &["a long line that is wra", "pped somewhere"]),
        ("cafe\u{301} │ ok", &["café | ok"]),
        ("!?", &["!?"]),
        ("!?", &["!?             │"]),
        ("🦀", &["🦀"]),
        // Programs and terminals measure joined letters differently.
        ("हिन्दी ไทย and latin", &["हिन्दไทย and latin"]),
        ("हिन्दी ไทย", &["हिन्दไทย"]),
        ("👩‍👩‍👧 🇩🇪 ✅", &["👩 🇩🇪 ✅"]),
    ] {
        assert_eq!(sight(text, rows, &[]), ComposerView::Ours, "{text:?}");
    }
}

#[test]
fn a_text_with_other_signs_or_line_breaks_is_garbled() {
    for (text, rows) in [
        ("rm -rf ./build/../tmp", &["rm rf buildtmp"][..]),
        ("look at foo(a", &["look at foo(a)"]),
        ("first line\nsecond", &["first line second"]),
        ("one two, three", &["one two three,"]),
        ("a, b │ c", &["a b | c"]),
        ("delete --dry-run=1 │ x", &["delete dryrun1 │ x"]),
    ] {
        assert_eq!(sight(text, rows, &[]), ComposerView::Garbled, "{text:?}");
    }
    for (text, rows) in [
        ("first line\nsecond", &["first", "line", "second"][..]),
        ("\n> quoted\n- done\n", &["", "> quoted", "- done", ""]),
        ("a │ b - c", &["a | b - c"]),
        ("日本語、テスト。 (ok)", &["日本語、テスト。 (ok)"]),
        // Frames, scroll bars, cursors, and marks for wrapped rows and line breaks.
        ("run it (now)", &["| run it (now)  |"]),
        ("run it;", &["run it;_"]),
        ("run it;", &["run it;|"]),
        ("first (1)\nsecond (2)", &["| first (1) #", "| second (2) :"]),
        ("first (1)\n> second", &["::: first (1)", "::: > second"]),
        ("a long (wrapped) line", &["a long (wra\\", "pped) line"]),
        ("first\nsecond", &["first⏎second"]),
    ] {
        assert_eq!(sight(text, rows, &[]), ComposerView::Ours, "{text:?}");
    }
    // Where there is room, nothing has left.
    let lost = sight("please do not delete the database", &["e database", "", "", "", "", ""], &[]);
    assert_eq!(lost, ComposerView::Part);
    // Of a tall one the beginning has left.
    let text = (0..20).map(|number| format!("- line {number};")).collect::<Vec<_>>().join("\n");
    let end: Vec<String> = (10..20).map(|number| format!("- line {number};")).collect();
    let end: Vec<&str> = end.iter().map(String::as_str).collect();
    assert_eq!(sight(&text, &end, &[]), ComposerView::Ours);
    let only_end = |rows: &[&str]| {
        look(rows, |screen, book, composer, _| Body::new(&text).shows_only_end(screen, book, composer))
    };
    let every: Vec<&str> = text.lines().take(12).collect();
    assert!(only_end(&end) && !only_end(&every));
    let garbled: Vec<&str> = end.iter().map(|row| row.trim_end_matches(';')).collect();
    assert_eq!(sight(&text, &garbled, &[]), ComposerView::Garbled);
}

#[test]
fn every_line_may_stand_behind_a_prompt() {
    let preset: Preset = toml::from_str("composer = { row = '^([a-z]+)?> ?', has_cursor = true }").unwrap();
    let book = Arc::new(RuleBook::new(&preset, None, None).unwrap());
    let mut screen = Screen::new(Size::clamped(40, 20), 0);
    screen.feed("hello\r\n\r\ndiff> ^Ifix\r\ndiff> \r\ndiff> the bug".as_bytes());
    let mut reader = Reader::new(book.clone());
    reader.look(&mut screen);
    let sight = |text: &str| Body::new(text).sight(&screen, &book, reader.composer().unwrap(), None, &[]);
    assert_eq!(sight("\tfix\n\nthe bug"), ComposerView::Ours);
    assert_eq!(sight("fix the bug"), ComposerView::Foreign, "it has no tab");
}

#[test]
fn nothing_a_part_and_something_else_are_told_apart() {
    assert_eq!(sight("fix the bug", &[""], &[]), ComposerView::Empty);
    assert_eq!(
        sight("fix the bug", &["\x1b[2mTry something\x1b[0m"], &[]),
        ComposerView::Empty,
        "faint text"
    );
    assert_eq!(sight("fix the bug", &["fix th"], &[]), ComposerView::Part);
    assert_eq!(sight("fix the bug", &["xfix the bug"], &[]), ComposerView::Foreign);
    assert_eq!(
        sight("fix the bug", &["fix the bugfix the bug"], &[]),
        ComposerView::Foreign,
        "twice is not ours"
    );
    assert_eq!(sight("fix the bug", &["something"], &["something"]), ComposerView::Earlier);
    assert_eq!(
        sight("fix the bug", &["in the parser"], &["look in the parser first"]),
        ComposerView::Earlier,
        "a part of it"
    );
    assert_eq!(
        sight("fix the bug", &["parser"], &["look in the parser first"]),
        ComposerView::Foreign,
        "too short to tell"
    );
    assert_eq!(
        sight("fix the bug", &["in the parsers"], &["look in the parser first"]),
        ComposerView::Foreign
    );
    assert_eq!(sight("हिन्दी ไทย", &["ไทย"], &[]), ComposerView::Part);
    assert_eq!(sight("हिन्दी", &["हिन्दी latin"], &[]), ComposerView::Foreign);
}

#[test]
fn a_mark_stands_for_a_text_of_its_size() {
    let text = "word ".repeat(60) + &"\nline".repeat(26);
    assert_eq!(sight(&text, &["[Pasted text #1 +26 lines]"], &[]), ComposerView::Ours);
    assert_eq!(sight(&text, &["[Pasted text #1 +27 lines]"], &[]), ComposerView::Ours, "lines, not breaks");
    assert_eq!(sight(&text, &["[Pasted text #1 +29 lines]"], &[]), ComposerView::Foreign);
    assert_eq!(
        sight(&text, &["[Pasted text #1 +25 lines]"], &[]),
        ComposerView::Foreign,
        "a line is missing"
    );
    assert_eq!(sight(&text, &["[Pasted text #1 +26 lines] more"], &[]), ComposerView::Foreign);
    let padded = format!("\n\n{text}");
    for (lines, sight_of) in [
        (28, ComposerView::Ours),
        (27, ComposerView::Ours),
        (26, ComposerView::Ours),
        (25, ComposerView::Foreign),
    ] {
        let mark = format!("[Pasted text #1 +{lines} lines]");
        assert_eq!(sight(&padded, &[&mark], &[]), sight_of, "blank lines before it, {lines}");
    }
    assert_eq!(sight(&text, &["[Pasted text #1]"], &[]), ComposerView::Ours);
    assert_eq!(sight("short", &["[Pasted text #1]"], &[]), ComposerView::Foreign);
    let count = text.chars().count();
    assert_eq!(sight(&text, &[&format!("[Pasted {count} chars]")], &[]), ComposerView::Ours);
    assert_eq!(sight(&text, &[&format!("[Pasted {} chars]", count + 1)], &[]), ComposerView::Foreign);
}

#[test]
fn a_mark_that_was_left_behind_is_known_again() {
    let text = "word ".repeat(60) + &"\nline".repeat(6);
    let mark = "[Pasted text #28 +6 lines]";
    let before = [noted(&text, &[mark])];
    let see = |body: &Body, rows: &[&str]| {
        look(rows, |screen, book, composer, mark| body.sight(screen, book, composer, mark, &before))
    };
    assert_eq!(see(&Body::new("short"), &[mark]), ComposerView::Earlier);
    assert_eq!(see(&Body::new(&text), &[mark]), ComposerView::Earlier, "the next one is as long");
    assert_eq!(see(&before[0], &[mark]), ComposerView::Ours);
    assert_eq!(see(&Body::new("short"), &["[Pasted text #29 +6 lines]"]), ComposerView::Foreign);
    assert_eq!(see(&Body::new("short"), &[&format!("{mark} and more")]), ComposerView::Foreign);
    assert_eq!(see(&noted("short", &["short"]), &["short"]), ComposerView::Ours);
}

#[test]
fn the_end_of_a_tall_text_is_enough() {
    let lines: Vec<String> = (0..30).map(|number| format!("line {number}")).collect();
    let text = lines.join("\n");
    let shown: Vec<&str> = lines[20..].iter().map(String::as_str).collect();
    assert_eq!(sight(&text, &shown, &[]), ComposerView::Ours);
    let head: Vec<&str> = lines[..10].iter().map(String::as_str).collect();
    assert_eq!(sight(&text, &head, &[]), ComposerView::Part);
}

#[test]
fn a_few_letters_are_echoed_in_rows_of_their_own() {
    let mut screen = Screen::new(Size::clamped(40, 10), 0);
    screen.feed(b"> a[31mb\r\n\r\n  c    d\r\n* ok: a[31mb c d\r\n> a[31mb\r\n  c e\r\n> cd");
    assert_eq!(Body::new("a[31mb\n\nc\td").echoes(&screen, 10), 1);
    assert_eq!(Body::new("cd").echoes(&screen, 10), 2);
    assert_eq!(Body::new("d").echoes(&screen, 10), 0);
    assert_eq!(Body::new("").echoes(&screen, 10), 0);
}

#[test]
fn echoes_are_counted() {
    let mut screen = Screen::new(Size::clamped(40, 10), 0);
    screen.feed(b"> go on, please\r\n\r\n> go on, please\r\nreply\r\n");
    assert_eq!(Body::new("go").echoes(&screen, 10), 0, "it could be part of anything");
    let body = Body::new("go on, please");
    assert_eq!((body.echoes(&screen, 10), body.echoes(&screen, 2), body.echoes(&screen, 0)), (2, 1, 0));
    screen.feed(b"I will go on with it, and tell when it is done\r\n");
    assert_eq!(body.echoes(&screen, 10), 2, "a few letters count in a row of their own");
    assert_eq!(Body::new("tell when it is done").echoes(&screen, 10), 1);
}

#[test]
fn where_no_composer_is_known_the_cursor_shows_it() {
    let mut screen = Screen::new(Size::clamped(40, 10), 0);
    screen.feed(b"$ make te");
    assert_eq!(Body::new("make test").sight_at_cursor(&screen, None), ComposerView::Hidden);
    screen.feed(b"st");
    assert_eq!(Body::new("make test").sight_at_cursor(&screen, None), ComposerView::Ours);
    screen.feed(b"\r\n");
    assert_eq!(
        Body::new("make test").sight_at_cursor(&screen, None),
        ComposerView::Hidden,
        "the cursor has left"
    );
    let mut screen = Screen::new(Size::clamped(40, 10), 0);
    screen.feed(b"$ ");
    let prompt = Prompt::at_cursor(&screen);
    screen.feed(b"make test");
    assert_eq!(Body::new("make test").sight_at_cursor(&screen, Some(&prompt)), ComposerView::Ours);
    screen.feed(b"\r\n");
    assert_eq!(Body::new("make test").sight_at_cursor(&screen, Some(&prompt)), ComposerView::Hidden);
    screen.feed(b"ok\r\n$ ");
    assert_eq!(Body::new("make test").sight_at_cursor(&screen, Some(&prompt)), ComposerView::Empty);
    let mut screen = Screen::new(Size::clamped(20, 10), 0);
    screen.feed(b"$ rm -rf ./build/../tmp/a.txt");
    assert_eq!(
        Body::new("rm -rf ./build/../tmp/a.txt").sight_at_cursor(&screen, None),
        ComposerView::Ours,
        "wrapped"
    );
    let mut screen = Screen::new(Size::clamped(40, 10), 0);
    screen.feed(b"> look at foo()\x1b[2m and run\x1b[22m\x1b[1;16H\x1b[30C[+]\x1b[1;16H");
    assert_eq!(Body::new("look at foo()").sight_at_cursor(&screen, None), ComposerView::Hidden, "as it was");
    for shown in ["$ rm rf buildtmp", "$ rm -rf ./build/../tmp)"] {
        let mut screen = Screen::new(Size::clamped(40, 10), 0);
        screen.feed(shown.as_bytes());
        assert_eq!(Body::new("rm -rf ./build/../tmp").sight_at_cursor(&screen, None), ComposerView::Garbled);
    }
}
