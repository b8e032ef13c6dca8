//! Frames to escape sequences: only the rows that changed are written.

use std::fmt::Write as _;

use super::frame::{Frame, Row, Size, Style};

/// Remembers what is on the terminal.
#[derive(Debug, Default)]
pub struct Painter {
    size: Option<Size>,
    rows: Vec<Row>,
    cursor: Option<(usize, usize)>,
}

impl Painter {
    /// Returns what turns the terminal's screen into `frame`; nothing if it already shows it.
    pub fn paint(&mut self, frame: &Frame, size: Size) -> String {
        let mut out = String::new();
        if self.size != Some(size) {
            if self.size.is_some() {
                out.push_str("\x1b[2J");
            }
            *self = Self { size: Some(size), ..Self::default() };
        }
        let blank = Row::default();
        for at in 0..frame.rows.len().max(self.rows.len()) {
            let row = frame.rows.get(at).unwrap_or(&blank);
            if self.rows.get(at).unwrap_or(&blank) != row {
                // Erased first: erasing after a full row would take its last column.
                out.push_str(&position(at, 0));
                out.push_str("\x1b[2K");
                row.spans.iter().for_each(|(style, text)| span(&mut out, *style, text));
            }
        }
        if !out.is_empty() || self.cursor != frame.cursor {
            out.insert_str(0, "\x1b[?25l");
            if let Some((row, col)) = frame.cursor {
                out.push_str(&position(row, col));
                out.push_str("\x1b[?25h");
            }
        }
        self.rows.clone_from(&frame.rows);
        self.cursor = frame.cursor;
        out
    }
}

fn position(row: usize, col: usize) -> String {
    format!("\x1b[{};{}H", row + 1, col + 1)
}

fn span(out: &mut String, style: Style, text: &str) {
    let code = match style {
        Style::Plain => return out.push_str(text),
        Style::Dim => "2",
        Style::Bold => "1",
        Style::Accent => "36",
        Style::Alarm => "31",
    };
    // Writing to a string cannot fail.
    let _ = write!(out, "\x1b[{code}m{text}\x1b[0m");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_rows_are_written() {
        let size = Size { cols: 20, rows: 5 };
        let mut painter = Painter::default();
        let mut frame = Frame { rows: vec![Row::default().with(Style::Plain, "a"); 2], cursor: Some((1, 1)) };
        assert!(painter.paint(&frame, size).contains("\x1b[1;1H\x1b[2Ka"));
        assert_eq!(painter.paint(&frame, size), "");
        frame.rows[1] = Row::default().with(Style::Dim, "b");
        assert_eq!(painter.paint(&frame, size), "\x1b[?25l\x1b[2;1H\x1b[2K\x1b[2mb\x1b[0m\x1b[2;2H\x1b[?25h");
        assert!(painter.paint(&frame, Size { cols: 21, rows: 5 }).contains("\x1b[2J"));
    }
}
