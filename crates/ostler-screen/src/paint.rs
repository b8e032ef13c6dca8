//! Shows a screen in a viewer's terminal.

use crate::restore::{inked, push_private_mode};
use crate::style::Style;
use crate::terminal::line;
use crate::{Cursor, Modes, Screen, Size};

/// Paints a [`Screen`] into a real terminal, sending only what changed since the last frame.
///
/// The screen's top left corner is the viewer's. What does not fit is cut off, what is beyond the screen stays
/// blank. Modes that matter for input are mirrored, so that the viewer's terminal sends what the program
/// expects.
#[derive(Debug)]
pub struct Painter {
    viewer: Size,
    /// What the viewer sees; nothing before the first frame.
    painted: Option<Frame>,
}

/// What a frame showed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Frame {
    /// The bytes that draw each row of the viewer.
    rows: Vec<Vec<u8>>,
    cursor: Cursor,
    modes: Modes,
    title: Option<String>,
}

impl Painter {
    /// Creates a painter for a terminal of the viewer's size.
    pub fn new(viewer: Size) -> Self {
        Self { viewer: viewer.clamp(), painted: None }
    }

    /// Takes note of the viewer's new size. The next frame is painted in full.
    pub fn resize(&mut self, viewer: Size) {
        self.viewer = viewer.clamp();
        if let Some(painted) = &mut self.painted {
            painted.rows.clear();
        }
    }

    /// Returns the bytes that prepare the viewer's terminal; to be sent before the first frame.
    pub fn enter(&mut self) -> Vec<u8> {
        self.painted = None;
        // Remember the title, own screen, nothing in force but what frames set. Without wrapping, a character
        // that the viewer draws wider than expected cannot push the rest down.
        b"\x1b[22;2t\x1b[?1049h\x1b[>0u\x1b[?7l\x1b[m\x1b[2J\x1b[H".to_vec()
    }

    /// Returns the bytes that give the viewer's terminal back as it was before [`Painter::enter`].
    pub fn leave(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let unset = Modes::default();
        let modes = self.painted.as_ref().map_or(unset, |painted| painted.modes);
        push_input_modes(&unset, &modes, &mut out);
        if modes.application_keypad {
            out.extend_from_slice(b"\x1b>");
        }
        out.extend_from_slice(b"\x1b[<u\x1b[m\x1b[0 q\x1b[?25h\x1b[?7h\x1b[?1049l\x1b[23;2t");
        out
    }

    /// Returns the bytes that bring the viewer's terminal from the last frame to this one; none if it shows it.
    pub fn frame(&mut self, screen: &Screen) -> Vec<u8> {
        let frame = self.render(screen);
        if self.painted.as_ref() == Some(&frame) {
            return Vec::new();
        }
        let mut out = b"\x1b[?2026h".to_vec();
        let (fresh_modes, painted) = (Modes::default(), self.painted.as_ref());
        push_input_modes(&frame.modes, painted.map_or(&fresh_modes, |painted| &painted.modes), &mut out);
        push_keypad(frame.modes, painted.map(|painted| painted.modes), &mut out);
        if let Some(title) = frame.title.as_ref().filter(|_| painted.is_none_or(|p| p.title != frame.title)) {
            out.extend_from_slice(format!("\x1b]2;{title}\x1b\\").as_bytes());
        }
        push_rows(&frame.rows, painted.map_or(&[], |painted| &painted.rows), &mut out);
        push_cursor(frame.cursor, painted.map(|painted| painted.cursor), &mut out);
        out.extend_from_slice(b"\x1b[?2026l");
        self.painted = Some(frame);
        out
    }

    fn render(&self, screen: &Screen) -> Frame {
        let mut cursor = screen.cursor();
        cursor.visible &= cursor.row < self.viewer.rows && cursor.col < self.viewer.cols;
        cursor.row = cursor.row.min(self.viewer.rows - 1);
        cursor.col = cursor.col.min(self.viewer.cols - 1);
        let render =
            |row| if row < screen.size().rows { self.render_row(screen, row) } else { b"\x1b[K".to_vec() };
        Frame {
            rows: (0..self.viewer.rows).map(render).collect(),
            cursor,
            modes: screen.modes(),
            title: screen.title().map(str::to_owned),
        }
    }

    /// Renders one row for a cursor in its first column and plain style; leaves the style plain.
    fn render_row(&self, screen: &Screen, row: u16) -> Vec<u8> {
        let mut out = Vec::new();
        let mut style = Style::default();
        let mut end = 0;
        for glyph in inked(&screen.terminal().grid()[line(row)]) {
            if glyph.column >= self.viewer.cols {
                break;
            }
            if glyph.style != style {
                glyph.style.push_sgr(&mut out);
                style = glyph.style;
            }
            end = glyph.column + glyph.width;
            if end > self.viewer.cols {
                // Half of a wide character does not fit.
                out.push(b' ');
            } else {
                glyph.push_text(&mut out);
            }
            // Terminals disagree about how wide such characters are.
            if (glyph.width > 1 || !glyph.marks.is_empty()) && end < self.viewer.cols {
                out.extend_from_slice(format!("\x1b[{}G", end + 1).as_bytes());
            }
        }
        if style != Style::default() {
            Style::default().push_sgr(&mut out);
        }
        // Behind the last column, erasing would take the last character.
        if end < self.viewer.cols {
            out.extend_from_slice(b"\x1b[K");
        }
        out
    }
}

fn push_rows(rows: &[Vec<u8>], painted: &[Vec<u8>], out: &mut Vec<u8>) {
    if painted.is_empty() {
        out.extend_from_slice(b"\x1b[m\x1b[2J");
    }
    for (index, row) in rows.iter().enumerate().filter(|(index, row)| painted.get(*index) != Some(row)) {
        out.extend_from_slice(format!("\x1b[{}H", index + 1).as_bytes());
        out.extend_from_slice(row);
    }
}

fn push_input_modes(modes: &Modes, before: &Modes, out: &mut Vec<u8>) {
    let changes = modes.input_modes().into_iter().zip(before.input_modes());
    // What goes must go first: unsetting one mouse mode can unset another.
    let mut changes: Vec<_> = changes.filter(|((_, set), (_, before))| set != before).collect();
    changes.sort_by_key(|((_, set), _)| *set);
    for ((number, set), (_, before)) in changes {
        push_private_mode(number, set, before, out);
    }
    if modes.kitty_keyboard != before.kitty_keyboard {
        out.extend_from_slice(format!("\x1b[={}u", modes.kitty_keyboard).as_bytes());
    }
}

fn push_keypad(modes: Modes, before: Option<Modes>, out: &mut Vec<u8>) {
    if modes.application_keypad != before.is_some_and(|before| before.application_keypad) {
        out.extend_from_slice(if modes.application_keypad { b"\x1b=" } else { b"\x1b>" });
    }
}

fn push_cursor(cursor: Cursor, painted: Option<Cursor>, out: &mut Vec<u8>) {
    if painted.is_none_or(|painted| painted.style_code() != cursor.style_code()) {
        out.extend_from_slice(format!("\x1b[{} q", cursor.style_code()).as_bytes());
    }
    out.extend_from_slice(format!("\x1b[{};{}H", cursor.row + 1, cursor.col + 1).as_bytes());
    push_private_mode(25, cursor.visible, painted.is_none_or(|painted| painted.visible), out);
}
