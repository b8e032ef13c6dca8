//! What holds for any bytes a program may write.

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::{Config, test::TermSize};
use alacritty_terminal::vte::ansi::Processor;
use ostler_screen::{Screen, Signal, Size};
use proptest::prelude::*;

use crate::painter::{Viewer, clipped};
use crate::restore::copy;

/// A piece of what programs write: text, sequences that make sense, sequences that do not, and noise.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        "[ -~]{1,12}",
        "[é漢字🦀e\u{301}\u{200d}─]{1,6}",
        "(\r\n|\n|\t|\u{8}|\r|\u{e}|\u{f}|\u{7}){1,3}"
    ];
    let csi = ("[?>=<]?", prop::collection::vec(0u16..130, 0..4), "[ $!]?", "[@-~]");
    let csi = csi.prop_map(|(marker, params, intermediate, action)| {
        let params: Vec<_> = params.iter().map(u16::to_string).collect();
        format!("\x1b[{marker}{}{intermediate}{action}", params.join(";"))
    });
    let mode = prop::sample::select(vec![1, 3, 4, 6, 7, 20, 25, 1000, 1002, 1003, 1006, 1049, 2004, 2026]);
    let mode = (mode, "[hl]").prop_map(|(mode, action)| format!("\x1b[?{mode}{action}"));
    let region = (0u16..9, 0u16..12).prop_map(|(top, bottom)| format!("\x1b[{top};{bottom}r"));
    let escape = prop_oneof![
        "\x1b[()*+#]?[0-~]",
        "\x1b[78cDEHM=>]",
        "\x1b\\][0-9]{1,4};[ -~]{0,9}(\x07|\x1b\\\\|\x18)",
        "\x1b[PX^_][ -~]{0,9}(\x1b\\\\|\x18)"
    ];
    let noise = prop::collection::vec(any::<u8>(), 1..8);
    prop_oneof![
        4 => text.prop_map(String::into_bytes),
        4 => csi.prop_map(String::into_bytes),
        2 => mode.prop_map(String::into_bytes),
        1 => region.prop_map(String::into_bytes),
        2 => escape.prop_map(String::into_bytes),
        1 => noise,
    ]
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

fn size() -> impl Strategy<Value = Size> {
    (2u16..24, 1u16..9).prop_map(|(cols, rows)| Size { cols, rows })
}

/// Replies without their place, which depends on the pieces.
fn placeless(signals: Vec<Signal>) -> Vec<Signal> {
    let forget = |signal| match signal {
        Signal::Reply { bytes, .. } => Signal::Reply { at: 0, bytes },
        other => other,
    };
    signals.into_iter().map(forget).collect()
}

/// The characters that alacritty shows for the same bytes, without this crate in between.
fn reference(size: Size, bytes: &[u8]) -> Vec<String> {
    let config = Config { scrolling_history: 0, ..Config::default() };
    let mut term = Term::new(config, &TermSize::new(size.cols.into(), size.rows.into()), VoidListener);
    let mut processor: Processor = Processor::new();
    processor.advance(&mut term, bytes);
    processor.stop_sync(&mut term);
    let row = |row| {
        let cells = (0..term.columns()).map(|column| &term.grid()[Line(row)][Column(column)]);
        let cells = cells.filter(|cell| !cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::WIDE_CHAR));
        cells.map(|cell| cell.c).filter(|c| !c.is_whitespace()).collect()
    };
    (0..size.rows.into()).map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_do_not_matter(size in size(), bytes in stream(), cuts in prop::collection::vec(1usize..9, 1..60)) {
        let mut whole = Screen::new(size, 5);
        let signals = whole.feed(&bytes);
        for signal in &signals {
            if let Signal::Reply { at, .. } = signal {
                prop_assert!((1..=bytes.len()).contains(at));
            }
        }
        let mut pieces = Screen::new(size, 5);
        let (mut rest, mut piecewise) = (&bytes[..], Vec::new());
        for cut in cuts.iter().cycle() {
            let (now, later) = rest.split_at((*cut).min(rest.len()));
            piecewise.extend(pieces.feed(now));
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(pieces.snapshot(), whole.snapshot());
        prop_assert_eq!(pieces.history_text(), whole.history_text());
        prop_assert_eq!(pieces.first_line(), whole.first_line());
        prop_assert_eq!(placeless(piecewise), placeless(signals));
    }

    #[test]
    fn noise_does_no_harm(size in size(), bytes in prop::collection::vec(any::<u8>(), 0..400), other in size()) {
        let mut screen = Screen::new(size, 0);
        screen.feed(&bytes);
        screen.resize(other);
        screen.feed(&bytes);
        prop_assert!(!screen.text().chars().any(|c| c.is_control() && c != '\n'));
    }

    #[test]
    fn text_never_steers_a_terminal(size in size(), bytes in stream()) {
        let mut screen = Screen::new(size, 0);
        screen.feed(&bytes);
        let title = screen.title().unwrap_or_default();
        prop_assert!(!title.chars().any(char::is_control));
        prop_assert!(screen.rows().iter().all(|row| !row.text.chars().any(char::is_control)));
    }

    #[test]
    fn a_copy_is_the_same(size in size(), bytes in stream(), other in size(), more in stream()) {
        let mut screen = Screen::new(size, 0);
        screen.feed(&bytes);
        screen.resize(other);
        screen.feed(&more);
        let copy = copy(&screen);
        let (mut copied, mut original) = (copy.snapshot(), screen.snapshot());
        for row in copied.rows.iter_mut().chain(&mut original.rows) {
            // A wrap into nothing, left behind by scrolling, cannot be drawn.
            row.wrapped = false;
        }
        prop_assert_eq!(copied, original);
    }

    #[test]
    fn a_viewer_sees_the_same(size in size(), viewers in size(), streams in prop::collection::vec((stream(), size()), 1..4)) {
        let mut screen = Screen::new(size, 0);
        let mut viewer = Viewer::new(viewers);
        for (bytes, other) in streams {
            screen.feed(&bytes);
            prop_assert_eq!(viewer.show(&screen).text(), clipped(&screen, viewers));
            screen.resize(other);
            prop_assert_eq!(viewer.show(&screen).text(), clipped(&screen, viewers));
        }
    }

    #[test]
    fn the_emulator_sees_the_program_as_it_is(size in size(), bytes in stream()) {
        // These differ on purpose: strings end at ST only, REP is bounded, and what is joined takes no column.
        prop_assume!(!bytes.contains(&0x9c) && !bytes.contains(&b'b'));
        prop_assume!(!String::from_utf8_lossy(&bytes).contains('\u{200d}'));
        // What a sequence does, it does when it is complete.
        let bytes = [&bytes[..], b"\x18"].concat();
        let mut screen = Screen::new(size, 0);
        screen.feed(&bytes);
        let wide = |c: &char| unicode_width::UnicodeWidthChar::width(*c) == Some(1);
        let rows: Vec<String> =
            screen.rows().iter().map(|row| row.text.chars().filter(wide).filter(|c| !c.is_whitespace()).collect()).collect();
        prop_assert_eq!(rows, reference(size, &bytes));
    }
}
