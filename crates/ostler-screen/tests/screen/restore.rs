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
