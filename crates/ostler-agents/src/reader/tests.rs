use super::*;
use crate::Preset;
use ostler_screen::Size;
use proptest::prelude::*;

fn book(preset: &str) -> Arc<RuleBook> {
    let preset: Preset = toml::from_str(preset).unwrap();
    Arc::new(RuleBook::new(&preset, None, None).unwrap())
}

/// A screen of 20 columns with this on it, rows from the top.
fn screen(rows: u16, output: &str) -> Screen {
    let mut screen = Screen::new(Size::clamped(20, rows), 0);
    screen.feed(output.as_bytes());
    screen
}

fn ids(reader: &Reader) -> Vec<&str> {
    reader.reading().findings.iter().map(|finding| &*finding.rule).collect()
}

/// The ids of the rules that hold on a screen.
fn found(preset: &str, screen: &mut Screen) -> Vec<String> {
    let mut reader = Reader::new(book(preset));
    reader.look(screen);
    ids(&reader).into_iter().map(Into::into).collect()
}

/// Whether a rule with this condition holds.
fn holds(composer: &str, condition: &str, screen: &mut Screen) -> bool {
    let preset = format!("composer = {{ {composer} }}\n[rules.it]\nstate = 'idle'\nwhen = {{ {condition} }}");
    !found(&preset, screen).is_empty()
}

/// Six rows that are written among blank ones; a composer in a frame, the cursor in it.
const FRAMED: &str = "head\r\n\r\ntext\r\nlast\r\n\r\n----\r\n> ab\r\n  cd\r\n====\r\nhint\r\n\r\n\x1b[7;5H";
const FRAME: &str = "row = '^> ?', above = '^----', below = '^===='";

#[test]
fn every_region_has_its_rows_and_no_others() {
    let table: &[(&str, &[&str])] = &[
        ("screen", &["head", "text", "last", "----", "> ab", "  cd", "====", "hint"]),
        ("top 1", &["head"]),
        ("top 2", &["head", "text"]),
        ("top 500", &["head", "text", "last", "----", "> ab", "  cd", "====", "hint"]),
        ("bottom 1", &["hint"]),
        ("bottom 3", &["  cd", "====", "hint"]),
        ("status", &["hint"]),
        ("cursor", &["> ab"]),
        ("above-cursor", &["----"]),
        ("below-cursor", &["  cd"]),
        ("composer", &["> ab", "  cd"]),
        ("above 1", &["last"]),
        ("above 2", &["text", "last"]),
        ("above 9", &["head", "text", "last"]),
        ("below", &["hint"]),
        ("dialog", &[]),
        ("title", &["name"]),
    ];
    let all = ["head", "text", "last", "----", "> ab", "  cd", "====", "hint", "name"];
    let mut screen = screen(14, &format!("{FRAMED}\x1b]2;name\x07"));
    for (region, expected) in table {
        for row in all {
            let condition = format!("in = '{region}', row = '^{row}$'");
            assert_eq!(holds(FRAME, &condition, &mut screen), expected.contains(&row), "{row} in {region}");
        }
    }
}

#[test]
fn regions_around_a_composer_are_empty_without_one() {
    let mut screen = screen(6, "a\r\nb\r\nc");
    for (region, row, expected) in [
        ("composer", "", false),
        ("above 5", "", false),
        ("below", "", false),
        ("dialog", "^a", true),
        ("dialog", "^c", true),
    ] {
        assert_eq!(
            holds(FRAME, &format!("in = '{region}', row = '{row}'"), &mut screen),
            expected,
            "{region}"
        );
    }
}

#[test]
fn a_dialog_is_the_end_of_a_long_screen() {
    let rows: Vec<String> = (0..60).map(|row| format!("row {row}\r\n")).collect();
    let mut screen = screen(61, &rows.concat());
    assert!(holds("", "in = 'dialog', row = '^row 20$'", &mut screen));
    assert!(!holds("", "in = 'dialog', row = '^row 19$'", &mut screen));
}

#[test]
fn tiny_and_empty_screens_hold_nothing() {
    for rows in [1, 2, 3] {
        let mut blank = screen(rows, "");
        for region in
            ["screen", "top 5", "bottom 5", "status", "cursor", "composer", "above 5", "below", "dialog"]
        {
            assert!(!holds(FRAME, &format!("in = '{region}', row = ''"), &mut blank), "{region} of {rows}");
        }
        // A title that was never set is an empty one.
        assert!(holds(FRAME, "in = 'title', row = '^$'", &mut blank));
        assert!(!holds(FRAME, "composer = true", &mut blank));
        assert!(holds("row = '^>'", "composer = true", &mut screen(rows, "> x")));
    }
    assert!(!holds(FRAME, "composer = true", &mut screen(1, "> x")), "there is no room for a frame");
}

#[test]
fn blanks_of_other_kinds_are_text() {
    // A no-break space behind a prompt is neither a blank row nor the end of the text.
    assert!(holds("", r"in = 'status', row = '^❯\s$'", &mut screen(3, "❯\u{a0}")));
}

#[test]
fn a_resize_is_seen_as_a_new_screen() {
    let mut reader =
        Reader::new(book("[rules.it]\nstate = 'idle'\nwhen = { in = 'bottom 1', row = 'tail' }"));
    let mut screen = screen(5, "a\r\nb\r\ntail");
    assert!(reader.look(&mut screen));
    for rows in [3, 1, 9, 4] {
        screen.resize(Size::clamped(20, rows));
        reader.look(&mut screen);
        assert_eq!(ids(&reader), ["it"], "{rows} rows");
    }
    screen.resize(Size::clamped(2, 4));
    assert!(reader.look(&mut screen));
    assert_eq!(ids(&reader), [""; 0]);
}

/// Where the composer is, and whether something is written in it.
fn composer(spec: &str, screen: &mut Screen) -> Option<(Range<usize>, Range<usize>, bool)> {
    let mut reader = Reader::new(book(&format!("composer = {{ {spec} }}")));
    reader.look(screen);
    reader.composer().map(|composer| (composer.rows.clone(), composer.framed.clone(), composer.draft))
}

#[test]
fn a_composer_is_found_in_its_frame() {
    assert_eq!(composer(FRAME, &mut screen(14, FRAMED)), Some((6..8, 5..9, true)));
    let empty = "----\r\n>\r\n====";
    assert_eq!(composer(FRAME, &mut screen(5, empty)), Some((1..2, 0..3, false)));
    for broken in ["> ab\r\n====", "----\r\n\r\n> ab\r\n====", "----\r\n> ab\r\n", "----\r\nab\r\n===="] {
        assert_eq!(composer(FRAME, &mut screen(6, broken)), None, "{broken:?}");
    }
}

#[test]
fn a_blank_row_above_the_cursor_does_not_end_a_composer_without_a_frame() {
    let open = "row = '^>', more = '^  ', has_cursor = true";
    let drawn = "said\r\n\r\n>\r\n  one\r\n\r\n  two\r\n\r\n  a footer\x1b[6;6H";
    assert_eq!(composer(open, &mut screen(9, drawn)), Some((2..6, 2..6, true)));
    assert_eq!(composer("row = '^>', has_cursor = true", &mut screen(9, drawn)), None);
    // Something else lies between, or a dialog hides the cursor.
    assert_eq!(composer(open, &mut screen(9, &drawn.replace("  one", "one"))), None);
    assert_eq!(composer(open, &mut screen(9, &format!("{drawn}\x1b[?25l"))), None);
}

#[test]
fn what_quotes_a_composer_above_is_not_it() {
    let quoted = "----\r\n> old\r\n====\r\ntext\r\n----\r\n>\r\n====";
    assert_eq!(composer(FRAME, &mut screen(9, quoted)), Some((5..6, 4..7, false)));
    assert_eq!(composer("row = '^>'", &mut screen(9, "> old\r\n\r\n> new")), Some((2..3, 2..3, true)));
}

#[test]
fn a_frame_from_edge_to_edge_is_not_mistaken_for_what_is_written() {
    let edge = "-".repeat(20);
    let drawn = format!("{edge}\r\none\r\n----\r\ntwo\r\n----\r\n{edge}\r\nfooter");
    let spec = "row = '^', above = '^-{4}', below = '^-{4}'";
    assert_eq!(composer(spec, &mut screen(9, &drawn)), Some((3..4, 2..5, true)));
    assert_eq!(composer(&format!("{spec}, wide = true"), &mut screen(9, &drawn)), Some((1..5, 0..6, true)));
}

#[test]
fn the_cursor_decides_where_it_must_be_in_it() {
    let spec = format!("{FRAME}, has_cursor = true");
    let two = "----\r\n> one\r\n====\r\n----\r\n> two\r\n====";
    assert_eq!(composer(&spec, &mut screen(8, &format!("{two}\x1b[5;1H"))), Some((4..5, 3..6, true)));
    assert_eq!(composer(&spec, &mut screen(8, &format!("{two}\x1b[2;1H"))), Some((1..2, 0..3, true)));
    assert_eq!(composer(&spec, &mut screen(8, &format!("{two}\x1b[8;1H"))), None);
    for (text, hint) in [
        ("> \x1b[2mask\x1b[m\x1b[3G", true),
        ("> \x1b[2mask\x1b[m |\x1b[3G", true),
        ("> ask\x1b[3G", false),
        ("> \x1b[2mask\x1b[m it\x1b[3G", false),
        ("> ", false),
    ] {
        assert_eq!(holds(FRAME, "cursor_hint = true", &mut screen(14, text)), hint, "{text:?}");
    }
    for (text, apart) in [
        ("> ", true),
        (">", false),
        ("> a", false),
        (">   ", false),
        ("", false),
        ("\u{1f916} ", true),
        ("a \x1b[9C|\x1b[10D", true),
    ] {
        assert_eq!(holds(FRAME, "cursor_apart = true", &mut screen(14, text)), apart, "{text:?}");
    }
    assert!(holds(FRAME, "cursor_in_composer = true", &mut screen(14, FRAMED)));
    assert!(holds(FRAME, "cursor_in_composer = false", &mut screen(14, &format!("{FRAMED}\x1b[1;1H"))));
}

#[test]
fn a_row_of_a_dialog_without_a_cursor_is_no_composer() {
    let dialog = "Trust?\r\n  1. no\r\n> 2. yes";
    assert_eq!(composer("row = '^>', has_cursor = true", &mut screen(9, dialog)), Some((2..3, 2..3, true)));
    assert_eq!(composer("row = '^>', shows_cursor = true", &mut screen(9, dialog)), Some((2..3, 2..3, true)));
    let hidden = format!("{dialog}\x1b[?25l");
    assert_eq!(composer("row = '^>', has_cursor = true", &mut screen(9, &hidden)), Some((2..3, 2..3, true)));
    assert_eq!(composer("row = '^>', shows_cursor = true", &mut screen(9, &hidden)), None);
    let drawing = format!("{hidden}\x1b[?2026h");
    assert!(composer("row = '^>', shows_cursor = true", &mut screen(9, &drawing)).is_some());
}

#[test]
fn a_composer_without_a_frame_ends_with_a_blank_row() {
    assert_eq!(
        composer("row = '^>'", &mut screen(6, "x\r\n> a\r\n  b\r\n\r\nhint")),
        Some((1..3, 1..3, true))
    );
    // Every row has the prompt before it.
    assert_eq!(
        composer("row = '^>'", &mut screen(6, "x\r\n> a\r\n> b\r\n\r\nhint")),
        Some((1..3, 1..3, true))
    );
    assert_eq!(composer("row = '^>'", &mut screen(3, "> a\r\n> b\r\n> c")), Some((0..3, 0..3, true)));
}

#[test]
fn faint_text_frames_and_what_means_empty_are_no_draft() {
    let faint = "----\r\n> \x1b[2mTry me\x1b[0m\r\n====";
    assert_eq!(composer(FRAME, &mut screen(4, faint)), Some((1..2, 0..3, false)));
    let half = "----\r\n> a\x1b[2mbout\x1b[0m\r\n====";
    assert_eq!(composer(FRAME, &mut screen(4, half)), Some((1..2, 0..3, true)));
    // The cursor that the program draws stands on the first letter of what it suggests; on a letter that was written it
    // is followed by what was written.
    let suggested = "----\r\n> \x1b[7mT\x1b[27;2mry me\x1b[0m\r\n====";
    assert_eq!(composer(FRAME, &mut screen(4, suggested)), Some((1..2, 0..3, false)));
    let written = "----\r\n> \x1b[7mT\x1b[27mry me\x1b[0m\r\n====";
    assert_eq!(composer(FRAME, &mut screen(4, written)), Some((1..2, 0..3, true)));
    let boxed = "────\r\n│ > │\r\n────";
    assert_eq!(
        composer("row = '^│ > ?', above = '^─', below = '^─'", &mut screen(4, boxed)),
        Some((1..2, 0..3, false))
    );
    let hinted = format!("{FRAME}, empty = '^> Type here$'");
    assert_eq!(composer(&hinted, &mut screen(4, "----\r\n> Type here\r\n====")), Some((1..2, 0..3, false)));
    assert_eq!(
        composer(&hinted, &mut screen(4, "----\r\n> Type here now\r\n====")),
        Some((1..2, 0..3, true))
    );
    // The second row alone is written in.
    assert_eq!(composer(FRAME, &mut screen(5, "----\r\n>\r\n  x\r\n====")), Some((1..3, 0..4, true)));
}

#[test]
fn a_draft_that_turns_solid_is_seen() {
    let mut reader = Reader::new(book(&format!("composer = {{ {FRAME} }}")));
    let mut screen = screen(4, "----\r\n> \x1b[2mTry\x1b[0m\r\n====");
    reader.look(&mut screen);
    assert_eq!(reader.reading().draft, Some(false));
    screen.feed(b"\x1b[2;3HTry");
    assert!(reader.look(&mut screen));
    assert_eq!(reader.reading().draft, Some(true));
    assert!(!reader.look(&mut screen), "nothing was drawn");
}

#[test]
fn all_any_and_not() {
    let a = "{ in = 'screen', row = '^a' }";
    let b = "{ in = 'screen', row = '^b' }";
    let c = "{ in = 'screen', row = '^c' }";
    let table = [
        (format!("all = [{a}, {b}]"), true),
        (format!("all = [{a}, {c}]"), false),
        (format!("any = [{c}, {b}]"), true),
        (format!("any = [{c}]"), false),
        (format!("not = [{c}]"), true),
        (format!("not = [{c}, {a}]"), false),
        (format!("all = [{a}], any = [{b}, {c}], not = [{c}]"), true),
        (format!("all = [{a}], any = [{b}], not = [{b}]"), false),
        (format!("any = [{{ all = [{a}, {c}] }}, {{ not = [{c}] }}]"), true),
        (format!("in = 'top 1', row = '^a', not = [{c}]"), true),
        (format!("in = 'top 1', row = '^b', not = [{c}]"), false),
        ("cursor_visible = true".into(), true),
        ("cursor_visible = false".into(), false),
        ("bracketed_paste = false".into(), true),
        ("alternate_screen = true".into(), false),
        ("draft = false".into(), false),
        ("draft = true".into(), false),
        ("composer = false".into(), true),
    ];
    for (condition, expected) in table {
        assert_eq!(holds("", &condition, &mut screen(3, "a\r\nb")), expected, "{condition}");
    }
    let mut changed = screen(3, "\x1b[?25l\x1b[?2004h\x1b[?1049h");
    for condition in ["cursor_visible = false", "bracketed_paste = true", "alternate_screen = true"] {
        assert!(holds("", condition, &mut changed), "{condition}");
    }
}

#[test]
fn two_conditions_hold_in_different_rows() {
    // `row` is about one row; `all` may take several.
    assert!(!holds("", "in = 'screen', row = 'a.*b'", &mut screen(3, "a\r\nb")));
}

#[test]
fn what_a_limit_tells_of_its_end_is_kept_up_to_date() {
    let preset = "[rules.it]\nstate = 'limited'\nwhen = { in = 'screen', row = 'resets (at )?(?<until>.*)' }";
    let mut reader = Reader::new(book(preset));
    let mut screen = screen(3, "limit, resets 5pm ");
    assert!(reader.look(&mut screen));
    assert_eq!(reader.reading().findings[0].until.as_deref(), Some("5pm"));
    screen.feed(b"\rlimit, resets 6pm");
    assert!(reader.look(&mut screen));
    assert_eq!(reader.reading().findings[0].until.as_deref(), Some("6pm"));
    screen.feed(b"\r\x1b[Klimit, resets");
    assert!(reader.look(&mut screen));
    assert_eq!(ids(&reader), [""; 0]);
    let titled = preset.replace("screen", "title");
    let mut reader = Reader::new(book(&titled));
    for until in ["5pm", "6pm"] {
        screen.feed(format!("\x1b]2;resets at {until}\x07").as_bytes());
        assert!(reader.look(&mut screen));
        assert_eq!(reader.reading().findings[0].until.as_deref(), Some(until));
    }
}

#[test]
fn the_end_of_a_limit_may_stand_in_the_rows_below() {
    let preset = "[rules.it]\nstate = 'limited'\nwhen = { in = 'screen', row = '^limit(.*resets at (?<until>[^.]+))?' }";
    let until = |columns: u16, rows: &str| {
        let mut screen = Screen::new(Size::clamped(columns, 9), 0);
        screen.feed(rows.as_bytes());
        let mut reader = Reader::new(book(preset));
        assert!(reader.look(&mut screen));
        reader.reading().findings[0].until.clone()
    };
    // Broken by the program, between words, with and without an edge that it leaves free.
    assert_eq!(until(24, "limit, resets at 2:01\r\nPM. Or pay.").as_deref(), Some("2:01 PM"));
    assert_eq!(until(26, "limit, resets at 2:01\r\n  PM. Or pay.").as_deref(), Some("2:01 PM"));
    assert_eq!(until(10, "limit, it\r\nresets\r\nat Nov 9\r\n2:01 PM").as_deref(), Some("Nov 9 2:01 PM"));
    // Broken by the terminal.
    assert_eq!(until(19, "limit, resets at 2:01 PM").as_deref(), Some("2:01 PM"));
    // Not broken at all: what follows is something else.
    assert_eq!(until(60, "limit, resets at 2:01\r\nPM").as_deref(), Some("2:01"));
    assert_eq!(until(24, "limit, resets at 2:01\r\n\r\nPM").as_deref(), Some("2:01"));
    assert_eq!(until(60, "limit\r\nresets at 5pm"), None);
}

#[test]
fn the_rows_below_a_limit_are_read_again_when_they_change() {
    let preset = "[rules.it]\nstate = 'limited'\nwhen = { in = 'screen', row = 'resets at (?<until>.+)' }";
    let mut reader = Reader::new(book(preset));
    let mut screen = Screen::new(Size::clamped(24, 3), 0);
    screen.feed(b"limit, resets at 2:01\r\nAM");
    assert!(reader.look(&mut screen));
    screen.feed(b"\rPM");
    assert!(reader.look(&mut screen));
    assert_eq!(reader.reading().findings[0].until.as_deref(), Some("2:01 PM"));
}

#[test]
fn general_rules_count_where_the_agents_own_say_nothing() {
    let rule = |id: &str, more: &str, row: &str| {
        format!("[rules.{id}]\nstate = 'idle'\n{more}\nwhen = {{ in = 'screen', row = '{row}' }}\n")
    };
    let own: Preset = toml::from_str(&(rule("low", "", "a") + &rule("high", "priority = 5", "b"))).unwrap();
    let shared: Preset = toml::from_str(
        &(rule("shared", "general = true\npriority = 9", "c")
            + &rule("low", "general = true", "c")
            + &rule("not-shared", "", "c")),
    )
    .unwrap();
    let book = Arc::new(RuleBook::new(&own, Some(&shared), None).unwrap());
    assert_eq!(book.rule_ids().collect::<Vec<_>>(), ["high", "low", "shared"]);
    for (text, expected) in [
        ("a", &["low"][..]),
        ("a\r\nb", &["high", "low"]),
        ("c", &["shared"]),
        ("b\r\nc", &["high"]),
        ("x", &[]),
    ] {
        let mut reader = Reader::new(book.clone());
        reader.look(&mut screen(4, text));
        assert_eq!(ids(&reader), expected, "{text:?}");
        assert!(
            reader.reading().findings.iter().all(|finding| finding.general == (&*finding.rule == "shared"))
        );
    }
    // For a program without rules of its own they are no more than general either.
    let alone: Preset = toml::from_str(&rule("shared", "general = true", "c")).unwrap();
    let mut reader = Reader::new(Arc::new(RuleBook::new(&alone, Some(&alone), None).unwrap()));
    reader.look(&mut screen(4, "c"));
    assert!(ids(&reader) == ["shared"] && reader.reading().findings[0].general);
}

#[test]
fn rows_beside_the_cursor_end_with_the_screen() {
    for (output, above, below) in
        [("a\r\nb\x1b[1;1H", false, true), ("a\r\nb", true, false), ("\x1b[2;1H", false, false)]
    {
        let mut screen = screen(2, output);
        assert_eq!(holds("row = 'x'", "in = 'above-cursor', row = '.'", &mut screen), above, "{output:?}");
        assert_eq!(holds("row = 'x'", "in = 'below-cursor', row = '.'", &mut screen), below, "{output:?}");
    }
}

/// What a general sign of work says of itself, look by look.
fn motion(looks: &[&str]) -> Vec<Option<bool>> {
    let rules = "[rules.work]\nstate = 'working'\ngeneral = true\nwhen = { any = [{ in = 'title', row = 'Working' }, { in = 'screen', row = 'Working' }] }";
    let mut reader = Reader::new(book(rules));
    let mut screen = screen(4, "");
    let mut look = |output: &&str| {
        screen.feed(output.as_bytes());
        reader.look(&mut screen);
        reader.reading().findings.first().map(|finding| finding.moving)
    };
    looks.iter().map(&mut look).collect()
}

#[test]
fn a_sign_of_work_that_changes_in_its_place_moves() {
    let (still, moves) = (Some(false), Some(true));
    assert_eq!(motion(&["\x1b[H| Working 1s", "\x1b[H/", "", "\x1b[2K"]), [still, moves, moves, None]);
    assert_eq!(motion(&["\x1b]2;| Working\x07", "\x1b]2;/ Working\x07"]), [still, moves]);
    // It went, and came anew.
    assert_eq!(motion(&["\x1b[H| Working", "\x1b[2K", "\x1b[H/ Working"]), [still, None, still]);
    // It moved along with what is above it.
    assert_eq!(motion(&["\x1b[H| Working 1s", "\x1b[L\x1b[2;1H/"]), [still, moves]);
    // Written bit by bit, then scrolled.
    assert_eq!(motion(&["| Working", " (1s", ")", "\r\n\r\n", "\r\n"]), [still; 5]);
    // What is quoted does not move with what it stood beside.
    assert_eq!(
        motion(&["\x1b[4H| Working 1s", "\x1b[H* Working (2s)\x1b[4H/", "\x1b[2K"]),
        [still, moves, still]
    );
}

#[test]
fn a_failure_is_told_from_another_that_says_the_same() {
    let rules = "[rules.failed]\nstate = 'error'\nwhen = { in = 'bottom 3', row = '^Error' }";
    let mut reader = Reader::new(book(rules));
    let mut screen = screen(4, "Error 1\r\n");
    let mut print = |output: &str| {
        screen.feed(output.as_bytes());
        reader.look(&mut screen);
        reader.reading().findings.first().map(|finding| finding.print)
    };
    let first = print("");
    assert!(first.is_some());
    assert_eq!(print("then\r\n"), first);
    assert_eq!(print("and more\r\nthen"), None);
    let again = print("\r\nError 1");
    assert_eq!(again, first, "the same row in another place");
    let both = print("\r\nError 1");
    assert!(both.is_some() && both != first);
    assert!(![first, both].contains(&print("\rError 2")));
}

/// Something a program may write.
fn token() -> impl Strategy<Value = String> {
    let fixed = |tokens: &[&'static str]| proptest::sample::select(tokens.to_vec()).prop_map(str::to_owned);
    prop_oneof![
        4 => fixed(&["> ", "----", "====", "abc", "resets 5pm", "resets 6pm", "❯\u{a0}", "日本", "e\u{301}", " "]),
        3 => fixed(&["\r\n", "\n", "\r", "\x08", "\t", "\x1bM", "\x1bD", "\x1bE", "\x1bc"]),
        2 => fixed(&["\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[J", "\x1b[1J", "\x1b[2J", "\x1b[3J", "\x1b[H"]),
        2 => fixed(&["\x1b[L", "\x1b[2M", "\x1b[P", "\x1b[3@", "\x1b[4X", "\x1b[S", "\x1b[T", "\x1b[5b", "\x1b[2;4r", "\x1b[r"]),
        2 => fixed(&["\x1b[2m", "\x1b[0m", "\x1b[?25l", "\x1b[?25h", "\x1b[?2004h", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?2026h", "\x1b[?2026l", "\x1b[?6h", "\x1b[4h", "\x1b[?7l", "\x1b#8"]),
        1 => fixed(&["\x1b]2;resets 7pm\x07", "\x1b]2;\x1b\\", "\x1b7", "\x1b8", "\x1b[22t", "\x1b[23t", "\x1b[!p", "\x1b[", "\x1b]0;", "\x1bP"]),
        2 => (1..8_u16, 1..14_u16).prop_map(|(row, col)| format!("\x1b[{row};{col}H")),
        1 => "\\PC{0,6}".prop_map(|text| text),
    ]
}

/// A step of a screen's life.
#[derive(Debug, Clone)]
enum Step {
    Feed(Vec<u8>),
    Resize(u16, u16),
    Look,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let cut = |(tokens, cut): (Vec<String>, usize)| {
        let bytes = tokens.concat().into_bytes();
        let cut = cut.min(bytes.len());
        [Step::Feed(bytes[..cut].to_vec()), Step::Feed(bytes[cut..].to_vec())]
    };
    let feed =
        (proptest::collection::vec(token(), 1..6), 0..20_usize).prop_map(cut).prop_map(|[a, b]| vec![a, b]);
    let step = prop_oneof![
        6 => feed,
        3 => Just(vec![Step::Look]),
        1 => (1..14_u16, 1..8_u16).prop_map(|(cols, rows)| vec![Step::Resize(cols, rows)]),
    ];
    proptest::collection::vec(step, 1..30).prop_map(|steps| steps.concat())
}

const RULES: &str = "
    composer = { row = '^> ?', above = '^----', below = '^====' }
    [rules.limit]
    state = 'limited'
    when = { in = 'screen', row = 'resets (?<until>.*)' }
    [rules.title]
    state = 'limited'
    when = { in = 'title', row = 'resets (?<until>.*)' }
    [rules.idle]
    state = 'idle'
    when = { composer = true, draft = false, cursor_in_composer = true }
    [rules.top]
    state = 'working'
    when = { in = 'top 2', row = 'abc', not = [{ in = 'status', row = '日' }] }
    [rules.above]
    state = 'working'
    when = { in = 'above 1', row = 'abc', cursor_visible = true }
    [rules.below]
    state = 'watching'
    when = { in = 'below', row = 'abc', bracketed_paste = false }
    [rules.dialog]
    state = 'blocked'
    when = { in = 'dialog', row = '❯', alternate_screen = true }
    [rules.cursor]
    state = 'error'
    when = { in = 'cursor', row = '\\S' }
    [rules.bottom]
    state = 'blocked'
    when = { in = 'bottom 2', row = '====' }";

proptest! {
    /// Only what was drawn is matched again, and that makes no difference.
    #[test]
    fn looking_now_and_then_is_as_good_as_looking_afresh(steps in steps(), framed in any::<bool>()) {
        let rules = if framed { RULES.to_owned() } else { RULES.replace(", above = '^----', below = '^===='", "") };
        let book = book(&rules);
        let mut reader = Reader::new(book.clone());
        let mut screen = Screen::new(Size::clamped(12, 6), 0);
        for step in steps.iter().chain([&Step::Look]) {
            match step {
                Step::Feed(bytes) => {
                    screen.feed(bytes);
                }
                Step::Resize(cols, rows) => screen.resize(Size::clamped(*cols, *rows)),
                Step::Look => {
                    let before = reader.reading().clone();
                    let differs = reader.look(&mut screen);
                    prop_assert_eq!(differs, reader.reading() != &before);
                    let mut fresh = Reader::new(book.clone());
                    fresh.look(&mut screen);
                    prop_assert_eq!(reader.composer(), fresh.composer(), "{}", screen.text());
                    prop_assert_eq!(reader.reading(), fresh.reading(), "{}", screen.text());
                }
            }
        }
    }
}

#[test]
fn a_dialog_begins_where_its_rule_saw_it_last() {
    let preset = "[rules.it]\nstate = 'blocked'\nwhen = { all = [{ in = 'dialog', row = 'Sure\\?' }, { in = 'dialog', row = '> ' }] }";
    let mut screen = screen(9, "Sure?\r\n> quoted\r\ntext\r\nSure?\r\n> Yes\r\n  No");
    let mut reader = Reader::new(book(preset));
    reader.look(&mut screen);
    assert_eq!((reader.begins("it"), reader.begins("other")), (Some(3), None));
}
