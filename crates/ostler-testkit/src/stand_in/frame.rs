//! A drawn screen, before it becomes escape sequences.

use unicode_width::UnicodeWidthChar as _;

/// Size of the terminal in cells.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Size {
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

/// How a piece of a row looks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Style {
    /// As the terminal draws by default.
    Plain,
    /// Faint, for text that is not the user's.
    Dim,
    /// Bold.
    Bold,
    /// The chosen row of a dialog, and the spinner.
    Accent,
    /// An error.
    Alarm,
}

/// One row of the screen.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Row {
    /// Its pieces from left to right.
    pub spans: Vec<(Style, String)>,
}

impl Row {
    /// Appends a piece. Control characters become visible marks, so that no text can drive the terminal.
    #[must_use]
    pub fn with(mut self, style: Style, text: &str) -> Self {
        let text = text.chars().map(|c| if c.is_control() { '·' } else { c }).collect();
        self.spans.push((style, text));
        self
    }

    /// The text without its styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Cuts the row to `cols` columns.
    pub(super) fn crop(&mut self, cols: usize) {
        let mut room = cols;
        for (_, text) in &mut self.spans {
            let fits = text.char_indices().find_map(|(at, character)| {
                let width = character.width().unwrap_or(0);
                if width > room {
                    room = 0;
                    return Some(at);
                }
                room -= width;
                None
            });
            if let Some(at) = fits {
                text.truncate(at);
            }
        }
    }
}

/// A whole screen.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Frame {
    /// The rows from the top; rows below the last are blank.
    pub rows: Vec<Row>,
    /// Row and column (from zero) of the visible cursor.
    pub cursor: Option<(usize, usize)>,
}

impl Frame {
    /// The text of all rows.
    pub fn text(&self) -> String {
        self.rows.iter().map(|row| row.text() + "\n").collect()
    }
}

/// Counts the columns of `text`.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(1)).sum()
}

/// Breaks `text` into lines of at most `cols` columns, at spaces where there are any.
pub(super) fn wrap(text: &str, cols: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let line = line.replace('\t', "    ");
        let mut current = String::new();
        let mut used = 0;
        for word in line.split_inclusive(' ') {
            let bare = width(word.trim_end());
            if used > 0 && used + bare > cols {
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            for character in word.chars() {
                let wide = character.width().unwrap_or(1);
                if used + wide > cols && used > 0 {
                    // A space at the end of a full line needs no room.
                    if character == ' ' {
                        continue;
                    }
                    lines.push(std::mem::take(&mut current));
                    used = 0;
                }
                current.push(character);
                used += wide;
            }
        }
        lines.push(current);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_by_columns() {
        let table: &[(&str, usize, &[&str])] = &[
            ("", 5, &[""]),
            ("a b", 5, &["a b"]),
            ("hello world", 7, &["hello ", "world"]),
            ("four full", 4, &["four", "full"]),
            ("abcdefgh", 3, &["abc", "def", "gh"]),
            ("日本語", 4, &["日本", "語"]),
            ("one\n\ntwo", 9, &["one", "", "two"]),
        ];
        for (text, cols, lines) in table {
            assert_eq!(wrap(text, *cols), *lines, "{text:?} in {cols}");
        }
    }

    #[test]
    fn rows_are_harmless_and_fit() {
        let mut row = Row::default().with(Style::Plain, "ab\x1b[2J").with(Style::Dim, "日本");
        row.crop(7);
        assert_eq!(row.text(), "ab·[2J");
    }
}
