//! A screen seen through a viewer's terminal.

use ostler_screen::{Painter, Screen, Signal, Size};
use unicode_width::UnicodeWidthChar;

/// A viewer's terminal, which is a screen as well.
pub(crate) struct Viewer {
    painter: Painter,
    terminal: Screen,
}

impl Viewer {
    pub(crate) fn new(size: Size) -> Self {
        let mut viewer = Self { painter: Painter::new(size), terminal: Screen::new(size, 0) };
        let enter = viewer.painter.enter();
        viewer.terminal.feed(&enter);
        viewer
    }

    pub(crate) fn show(&mut self, screen: &Screen) -> &Screen {
        let frame = self.painter.frame(screen);
        let signals = self.terminal.feed(&frame);
        assert!(signals.iter().all(|signal| matches!(signal, Signal::Title(_))), "{signals:?}");
        &self.terminal
    }

    pub(crate) fn resize(&mut self, size: Size) {
        self.painter.resize(size);
        self.terminal.resize(size);
    }
}

/// Cuts the text of a screen to a viewer's size.
pub(crate) fn clipped(screen: &Screen, viewer: Size) -> String {
    let cut = |text: &str| {
        let (mut columns, mut base, mut joiner) = (0, 0, false);
        let fits = |c: &char| {
            let width = c.width().unwrap_or(0);
            // A joined emoji takes no columns.
            if !(joiner && base == 2 && *c == '🦀') {
                columns += width;
                base = if width > 0 { width } else { base };
            }
            joiner = *c == '\u{200d}';
            columns <= usize::from(viewer.cols)
        };
        text.chars().take_while(fits).collect::<String>().trim_end_matches(' ').to_owned()
    };
    let rows: Vec<_> = screen.rows().iter().take(viewer.rows.into()).map(|row| cut(&row.text)).collect();
    rows.join("\n").trim_end_matches('\n').to_owned()
}

#[test]
fn frames_carry_only_what_changed() {
    let mut screen = super::screen(20, 3, "one\r\ntwo\r\nthree");
    let mut painter = Painter::new(Size { cols: 20, rows: 3 });
    assert!(!painter.frame(&screen).is_empty());
    assert!(painter.frame(&screen).is_empty());
    screen.feed(b"\x1b[2;1H\x1b[32mTWO");
    let frame = String::from_utf8(painter.frame(&screen)).unwrap().replace('\x1b', "^");
    assert_eq!(frame, "^[?2026h^[2H^[0;32mTWO^[0m^[K^[2;4H^[?2026l");
}

#[test]
fn colours_cursor_modes_and_title_arrive() {
    let bytes = "\x1b]2;a title\x07\x1b[1;38;2;9;8;7mtext\x1b[m 漢\x1b[?25l\x1b[?2004h\x1b[?1003h\x1b[?1006h\x1b[?1h\x1b=\x1b[>5u\x1b[6 q";
    let size = Size { cols: 20, rows: 3 };
    let mut screen = super::screen(20, 3, bytes);
    let mut viewer = Viewer::new(size);
    for next in ["", "\x1b[?25h\x1b[?1003l\x1b[?1002h\x1b[<u", "\x1b[?1002l\x1b[?2004l\x1b>"] {
        screen.feed(next.as_bytes());
        let shown = viewer.show(&screen).snapshot();
        let source = screen.snapshot();
        assert_eq!((&shown.rows, shown.cursor, &shown.title), (&source.rows, source.cursor, &source.title));
        let modes = ostler_screen::Modes { alternate_screen: true, line_wrap: false, ..source.modes };
        assert_eq!(shown.modes, modes);
    }
}

#[test]
fn what_does_not_fit_is_cut_and_what_is_beyond_stays_blank() {
    let mut screen = super::screen(10, 4, "0123456789\r\n01234漢字\r\nthree\r\nfour");
    let mut viewer = Viewer::new(Size { cols: 6, rows: 3 });
    assert_eq!(viewer.show(&screen).text(), "012345\n01234\nthree");
    assert!(!viewer.show(&screen).cursor().visible, "the cursor is out of sight");
    viewer.resize(Size { cols: 30, rows: 6 });
    assert_eq!(viewer.show(&screen).text(), screen.text());
    // The session shrinks: what it no longer covers is blank.
    screen.resize(Size { cols: 4, rows: 2 });
    assert_eq!(viewer.show(&screen).text(), screen.text());
}

#[test]
fn leaving_undoes_everything() {
    let size = Size { cols: 20, rows: 3 };
    let mut viewer =
        Viewer { painter: Painter::new(size), terminal: super::screen(20, 3, "\x1b]2;mine\x07$ attach") };
    let before = viewer.terminal.snapshot();
    let enter = viewer.painter.enter();
    viewer.terminal.feed(&enter);
    let bytes = "\x1b]2;other\x07\x1b[31mtext\x1b[?25l\x1b[?2004h\x1b[?1003h\x1b[?1006h\x1b[?1004h\x1b[?1007l\x1b[?1h\x1b=\x1b[>5u";
    viewer.show(&super::screen(20, 3, bytes));
    assert_ne!(viewer.terminal.snapshot(), before);
    let leave = viewer.painter.leave();
    viewer.terminal.feed(&leave);
    assert_eq!(viewer.terminal.snapshot(), before);
}
