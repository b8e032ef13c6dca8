//! Rows of the screen as text and styled runs.

use alacritty_terminal::grid;
use alacritty_terminal::term::cell::{Cell, Flags};
use serde::Serialize;

use crate::style::Style;

/// Joins two emoji to one.
pub(crate) const JOINER: char = '\u{200d}';

/// One row of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Row {
    /// The characters of the row without trailing blanks. Free of control characters.
    ///
    /// A wide character is one character here and two columns in [`Row::spans`].
    pub text: String,
    /// The runs that do not look plain, left to right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
    /// The line goes on in the next row because it was too long, not because it was ended.
    pub wrapped: bool,
}

/// A run of cells in one row with the same style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Span {
    /// First column, from 0.
    pub start: u16,
    /// Column behind the last one.
    pub end: u16,
    /// How the run looks.
    #[serde(flatten)]
    pub style: Style,
}

/// A character in its place.
///
/// The emulator can leave half of a wide character behind when the other half is erased. Such halves are
/// blanks here, so that whatever is drawn from glyphs reads back as the same glyphs.
#[derive(Clone, Copy)]
pub(crate) struct Glyph<'a> {
    /// First column, from 0.
    pub(crate) column: u16,
    /// Columns it takes: 1 or 2.
    pub(crate) width: u16,
    pub(crate) character: char,
    /// Zero-width characters drawn over it.
    pub(crate) marks: &'a [char],
    pub(crate) style: Style,
}

impl Glyph<'_> {
    pub(crate) fn is_blank(&self) -> bool {
        self.character == ' ' && self.marks.is_empty()
    }

    pub(crate) fn is_plain_blank(&self) -> bool {
        self.is_blank() && self.style == Style::default()
    }

    pub(crate) fn push_text(&self, out: &mut Vec<u8>) {
        let mut buffer = [0; 4];
        for character in std::iter::once(&self.character).chain(self.marks) {
            out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        }
    }
}

/// What is drawn over the character of a cell. A joiner at the end has joined nothing, and would join whatever is
/// drawn next.
fn marks(cell: &Cell) -> &[char] {
    let marks = cell.zerowidth().unwrap_or_default();
    let end = marks.iter().rposition(|mark| *mark != JOINER).map_or(0, |last| last + 1);
    &marks[..end]
}

/// Returns the glyphs of a row from left to right, covering every column once.
pub(crate) fn glyphs(row: &grid::Row<Cell>) -> impl Iterator<Item = Glyph<'_>> {
    let cells = &row[..];
    let is_spacer =
        |index: usize| cells.get(index).is_some_and(|c| c.flags.contains(Flags::WIDE_CHAR_SPACER));
    let mut next = 0;
    std::iter::from_fn(move || {
        let index = next;
        let cell = cells.get(index)?;
        let wide = cell.flags.contains(Flags::WIDE_CHAR);
        let whole = wide && is_spacer(index + 1);
        // Tabs are kept in cells as such.
        let broken = wide != whole || is_spacer(index) || cell.c.is_control();
        next += if whole { 2 } else { 1 };
        Some(Glyph {
            column: u16::try_from(index).unwrap_or(u16::MAX),
            width: if whole { 2 } else { 1 },
            character: if broken { ' ' } else { cell.c },
            marks: if broken { &[] } else { marks(cell) },
            style: Style::of(cell),
        })
    })
}

/// Returns whether the line in `row` goes on in the row below.
pub(crate) fn is_wrapped(row: &grid::Row<Cell>) -> bool {
    row.last().is_some_and(|cell| cell.flags.contains(Flags::WRAPLINE))
}

/// Returns the text of a row without trailing blanks.
pub(crate) fn text(row: &grid::Row<Cell>) -> String {
    let mut text = String::new();
    read(row, &mut text, Wanted::All);
    text
}

/// Which characters of a row are read; the others are blanks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    All,
    /// Those that are not faint.
    Solid,
}

/// Writes the text of a row without trailing blanks into `text`.
pub(crate) fn read(row: &grid::Row<Cell>, text: &mut String, wanted: Wanted) {
    let is_simple = |cell: &Cell| {
        !cell.flags.intersects(Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER)
            && !cell.c.is_control()
            && cell.zerowidth().is_none()
    };
    // A cursor that a program draws itself, by reverse colours, stands on the first character of what it suggests.
    let hides = |faint: bool, cursor: bool, before_faint: bool| {
        wanted == Wanted::Solid && (faint || cursor && before_faint)
    };
    let cells = &row[..];
    let written = cells.iter().rposition(|cell| cell.c != ' ' || !is_simple(cell)).map_or(0, |last| last + 1);
    let cells = &cells[..written];
    text.clear();
    // Most rows hold nothing but characters of one column, and screens are read often.
    if cells.iter().all(is_simple) {
        let has = |index: usize, flag: Flags| cells.get(index).is_some_and(|cell| cell.flags.contains(flag));
        text.extend(cells.iter().enumerate().map(|(index, cell)| {
            let cursor = has(index, Flags::INVERSE);
            if hides(has(index, Flags::DIM), cursor, has(index + 1, Flags::DIM)) { ' ' } else { cell.c }
        }));
    } else {
        let mut glyphs = glyphs(row).peekable();
        while let Some(glyph) = glyphs.next() {
            let before_faint = glyphs.peek().is_some_and(|next| next.style.dim);
            if hides(glyph.style.dim, glyph.style.reverse, before_faint) {
                text.push(' ');
            } else {
                text.push(glyph.character);
                text.extend(glyph.marks);
            }
        }
    }
    text.truncate(text.trim_end_matches(' ').len());
}

impl Row {
    pub(crate) fn new(row: &grid::Row<Cell>) -> Self {
        let mut spans: Vec<Span> = Vec::new();
        for glyph in glyphs(row).filter(|glyph| glyph.style != Style::default()) {
            let (start, end) = (glyph.column, glyph.column + glyph.width);
            match spans.last_mut() {
                Some(last) if last.end == start && last.style == glyph.style => last.end = end,
                _ => spans.push(Span { start, end, style: glyph.style }),
            }
        }
        Self { text: text(row), spans, wrapped: is_wrapped(row) }
    }
}
