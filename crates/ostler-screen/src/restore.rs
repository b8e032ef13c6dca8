//! The screen as bytes that draw it again.

use alacritty_terminal::grid::{self, Dimensions, Grid};
use alacritty_terminal::index::Line;
use alacritty_terminal::term::cell::Cell;
use alacritty_terminal::vte::ansi::{CharsetIndex, StandardCharset};

use crate::row::{Glyph, glyphs, is_wrapped};
use crate::style::Style;
use crate::terminal::Terminal;
use crate::{Cursor, Modes};

fn visible(grid: &Grid<Cell>) -> impl Iterator<Item = &grid::Row<Cell>> {
    (0..i32::try_from(grid.screen_lines()).unwrap_or(i32::MAX)).map(|line| &grid[Line(line)])
}

/// Appends glyphs with the SGR sequences between them; `style` is the one in force before and after.
fn push_glyphs<'a>(glyphs: impl Iterator<Item = Glyph<'a>>, style: &mut Style, out: &mut Vec<u8>) {
    for glyph in glyphs {
        if glyph.style != *style {
            glyph.style.push_sgr(out);
            *style = glyph.style;
        }
        glyph.push_text(out);
    }
}

/// Returns the glyphs of a row up to the last one that shows something.
pub(crate) fn inked(row: &grid::Row<Cell>) -> Vec<Glyph<'_>> {
    let mut all: Vec<_> = glyphs(row).collect();
    let inked = all.iter().rposition(|glyph| !glyph.is_plain_blank()).map_or(0, |last| last + 1);
    all.truncate(inked);
    all
}

/// Renders the rows with nothing but SGR, one line each, for printing in a terminal.
pub(crate) fn lines(grid: &Grid<Cell>) -> Vec<u8> {
    let mut out = Vec::new();
    let rows: Vec<_> = visible(grid).map(inked).collect();
    let shown = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
    for (index, row) in rows.into_iter().take(shown).enumerate() {
        if index > 0 {
            out.push(b'\n');
        }
        let mut style = Style::default();
        push_glyphs(row.into_iter(), &mut style, &mut out);
        if style != Style::default() {
            Style::default().push_sgr(&mut out);
        }
    }
    out
}

/// Renders one screen, with its cursor, for a terminal that was just opened.
pub(crate) fn contents(grid: &Grid<Cell>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut style = Style::default();
    let mut continued = false;
    for (number, row) in (1..).zip(visible(grid)) {
        let wraps = is_wrapped(row);
        let glyphs: Vec<_> = if wraps { glyphs(row).collect() } else { inked(row) };
        // A row that its predecessor wraps into is reached by printing: only that marks the wrap.
        if continued && glyphs.is_empty() {
            let blank = Glyph { column: 0, width: 1, character: ' ', marks: &[], style: Style::default() };
            push_glyphs([blank].into_iter(), &mut style, &mut out);
        } else if !continued && !glyphs.is_empty() {
            out.extend_from_slice(format!("\x1b[{number}H").as_bytes());
        }
        push_glyphs(glyphs.into_iter(), &mut style, &mut out);
        continued = wraps;
    }
    push_cursor(grid, &grid.cursor, 0, &mut out);
    out
}

/// Puts the cursor where `cursor` is, with its colours and pending wrap; `top` is the row addressed as first.
fn push_cursor(grid: &Grid<Cell>, cursor: &grid::Cursor<Cell>, top: i32, out: &mut Vec<u8>) {
    let (line, column) = (cursor.point.line.0, cursor.point.column.0);
    let last = (column + 1 == grid.columns()).then(|| glyphs(&grid[cursor.point.line]).last()).flatten();
    let pending = last.filter(|_| cursor.input_needs_wrap);
    let column = pending.map_or(column, |glyph| glyph.column.into());
    out.extend_from_slice(format!("\x1b[{};{}H", line - top + 1, column + 1).as_bytes());
    if let Some(glyph) = pending {
        glyph.style.push_sgr(out);
        glyph.push_text(out);
    }
    Style::of(&cursor.template).push_sgr(out);
    for (index, code) in [
        (CharsetIndex::G0, b'('),
        (CharsetIndex::G1, b')'),
        (CharsetIndex::G2, b'*'),
        (CharsetIndex::G3, b'+'),
    ] {
        if cursor.charsets[index] == StandardCharset::SpecialCharacterAndLineDrawing {
            out.extend_from_slice(&[0x1b, code, b'0']);
        }
    }
}

/// Renders everything a fresh terminal of the same size needs to become this one.
pub(crate) fn terminal(terminal: &Terminal, modes: &Modes, cursor: Cursor, title: Option<&str>) -> Vec<u8> {
    let grid = terminal.grid();
    let mut out = Vec::new();
    if modes.alternate_screen {
        out.extend_from_slice(terminal.main_below());
        terminal.main_keyboard().push_restore(&mut out);
        // The alternate screen takes over colours (also for its blanks) and charsets: begin with none.
        out.extend_from_slice(b"\x1b[?1049h\x1b[m\x1b[2J\x1b(B\x1b)B\x1b*B\x1b+B");
    }
    out.extend_from_slice(&contents(grid));
    terminal.keyboard().push_restore(&mut out);
    let (top, bottom) = terminal.region();
    if (usize::from(top), usize::from(bottom)) != (0, grid.screen_lines()) {
        // A region of fewer than two rows only comes about by reaching below the screen.
        out.extend_from_slice(format!("\x1b[{};{}r", top + 1, bottom.max(top + 2)).as_bytes());
    }
    push_saved_and_current_cursor(grid, modes, top, bottom, &mut out);
    push_modes(modes, cursor, &mut out);
    if terminal.charset() == CharsetIndex::G1 {
        out.push(0x0e);
    }
    if let Some(title) = title {
        out.extend_from_slice(format!("\x1b]2;{title}\x1b\\").as_bytes());
    }
    out
}

fn push_saved_and_current_cursor(grid: &Grid<Cell>, modes: &Modes, top: u16, bottom: u16, out: &mut Vec<u8>) {
    let row = grid.cursor.point.line.0;
    let reachable = !modes.origin || (i32::from(top)..i32::from(bottom)).contains(&row);
    let first = if reachable { &grid.saved_cursor } else { &grid.cursor };
    let plain_charsets: &[u8] = b"\x1b(B\x1b)B\x1b*B\x1b+B";
    out.extend_from_slice(plain_charsets);
    push_cursor(grid, first, 0, out);
    out.extend_from_slice(b"\x1b7");
    out.extend_from_slice(plain_charsets);
    if modes.origin {
        out.extend_from_slice(b"\x1b[?6h");
    }
    if reachable {
        push_cursor(grid, &grid.cursor, if modes.origin { top.into() } else { 0 }, out);
    } else {
        // Addresses cannot leave the scroll region now; the saved cursor is given up to get there.
        out.extend_from_slice(b"\x1b8");
    }
}

fn push_modes(modes: &Modes, cursor: Cursor, out: &mut Vec<u8>) {
    let fresh = Modes::default();
    for ((number, set), (_, before)) in modes.input_modes().into_iter().zip(fresh.input_modes()) {
        push_private_mode(number, set, before, out);
    }
    push_private_mode(7, modes.line_wrap, fresh.line_wrap, out);
    push_private_mode(25, cursor.visible, true, out);
    push_private_mode(2026, modes.synchronized, false, out);
    for (set, sequence) in
        [(modes.application_keypad, "\x1b="), (modes.insert, "\x1b[4h"), (modes.newline, "\x1b[20h")]
    {
        if set {
            out.extend_from_slice(sequence.as_bytes());
        }
    }
    out.extend_from_slice(format!("\x1b[{} q", cursor.style_code()).as_bytes());
}

/// Appends the change of a private mode, if it is one.
pub(crate) fn push_private_mode(number: u16, set: bool, before: bool, out: &mut Vec<u8>) {
    if set != before {
        out.extend_from_slice(format!("\x1b[?{number}{}", if set { 'h' } else { 'l' }).as_bytes());
    }
}
