//! A screen drawn again from its own bytes.

use ostler_screen::{Screen, Size};

/// Draws a copy of the screen on a fresh one.
pub(crate) fn copy(screen: &Screen) -> Screen {
    let mut copy = Screen::new(screen.size(), 0);
    copy.feed(&screen.to_restore());
    copy
}

#[test]
fn a_copy_is_the_same_and_goes_on_the_same() {
    for bytes in [
        "",
        "plain\r\ntext",
        "\x1b[1;31;44mred\x1b[m \x1b[7mreverse   \x1b[m\r\n\x1b[38;2;1;2;3mtrue\x1b[48;5;99mcolour",
        "a line that is wrapped twice because it is long enough\r\nnext",
        "漢字漢字漢字漢字漢字漢字漢字漢字 wide",
        "exactly twenty cols!",
        "exactly 20 columns漢",
        "\x1b[3;5r\x1b[?6h\x1b[2;3Hin region",
        "\x1b[?1h\x1b=\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?1004h\x1b[>1u\x1b[>9u\x1b[?25l\x1b[3 q\x1b[?7l\x1b[4h",
        "\x1b]2;a title\x07",
        "\x1b(0lqqk\x0e",
        "\x1b[2;2H\x1b[32m\x1b7\x1b[5;5H\x1b[mx",
        "shell$ \x1b[44m\x1b[?1049h\x1b[2Jalternate\x1b[>3u\x1b[5;1H\x1b[m\x1b[Kbottom",
        "\x1b[?2026hhalf a frame",
        "\x1b[41m\x1b[2J\x1b[m\x1b[3;3Hon red",
    ] {
        let mut original = super::screen(20, 6, bytes);
        let mut copy = copy(&original);
        assert_eq!(copy.snapshot(), original.snapshot(), "{bytes:?}");
        // What cannot be seen shows in what happens next.
        for next in ["qx漢y\r\nz", "\x1b8w", "\x1b[<u\n\n\n", "\x1b[?1049lback"] {
            original.feed(next.as_bytes());
            copy.feed(next.as_bytes());
            assert_eq!(copy.snapshot(), original.snapshot(), "{bytes:?} and then {next:?}");
        }
    }
}

/// A daemon may be killed at any byte of the output, and a viewer may come at any.
#[test]
fn a_copy_made_in_the_middle_of_a_sequence_goes_on_the_same() {
    let stream = "text\x1b[1;31mred\x1b[10;5H\x1b[2;3Hhére 漢字 \u{1f600}\x1b]0;a tïtle\x07\x1b[?2004h\x1b[?25l\
                  \x1b]2;another\x1b\\\x1bPq#0;2;0;0;0~-\x1b\\\x1b_Gi=1;AAAA\x1b\\\x1b(0lqk\x1b(B\x1b[38;2;1;2;3mrgb\x1b[m\
                  \x1b[?1049h\x1b[2J\x1b[Halternate\x1b[>1u\x1b7\x1b[3;4r\x1b[4;1H\x1b8\x1b[?1049l\x1b[12\x18cut\x1b[3\x1b[4m\
                  under\x1b[0m\x1b]9;4;1;50\x07\x1b[6n\x1b[c done";
    let bytes = [stream.as_bytes(), b"\xe6\xbc\x1b[m\xff\xf0\x9fx\xe6\xbc\xa2 end"].concat();
    let mut whole = Screen::new(Size { cols: 50, rows: 6 }, 0);
    drop(whole.feed(&bytes));
    for split in 0..=bytes.len() {
        let mut first = Screen::new(whole.size(), 0);
        drop(first.feed(&bytes[..split]));
        let mut copy = copy(&first);
        assert_eq!(copy.snapshot(), first.snapshot(), "at {split}");
        // What is said and asked is heard by both, at the same place.
        assert_eq!(copy.feed(&bytes[split..]), first.feed(&bytes[split..]), "at {split}");
        assert_eq!(copy.snapshot(), whole.snapshot(), "at {split}");
    }
}

#[test]
fn a_copy_made_in_an_endless_sequence_is_bounded() {
    for (begin, end) in [
        ("\x1b[", "m"),
        ("\x1b(", "B"),
        ("\x1b", "[1m"),
        ("\x1b]0;", "\x07"),
        ("\x1bP", "\x1b\\"),
        ("\x1b_", "\x1b\\"),
    ] {
        for filler in ["1", "\0"] {
            // Both are left out where one of them would end the sequence.
            if filler == "1" && matches!(begin, "\x1b(" | "\x1b") {
                continue;
            }
            let bytes = format!("a{begin}{}", filler.repeat(100_000));
            let mut original = super::screen(20, 6, &bytes);
            assert!(original.to_restore().len() < 8192, "{begin:?}");
            let mut copy = copy(&original);
            for next in [end, "b", "\x1b[31mred"] {
                assert_eq!(copy.feed(next.as_bytes()), original.feed(next.as_bytes()), "{begin:?}");
                assert_eq!(copy.snapshot(), original.snapshot(), "{begin:?} and then {next:?}");
            }
        }
    }
}

#[test]
fn a_cursor_outside_its_region_is_restored() {
    let original = super::screen(20, 6, "\x1b[3;5r\x1b[1;1H\x1b7\x1b[?6h\x1b8outside");
    assert_eq!(copy(&original).snapshot(), original.snapshot());
}

#[test]
fn the_main_screen_below_survives_a_resize() {
    let mut original = super::screen(20, 4, "shell$ run\x1b[?1049h\x1b[Halternate");
    original.resize(Size { cols: 30, rows: 8 });
    original.resize(Size { cols: 12, rows: 5 });
    let mut copy = copy(&original);
    assert_eq!(copy.snapshot(), original.snapshot());
    assert_eq!(original.text(), "alternate");
    for screen in [&mut original, &mut copy] {
        screen.feed(b"\x1b[?1049l");
        assert_eq!(screen.text(), "shell$ run");
    }
}
