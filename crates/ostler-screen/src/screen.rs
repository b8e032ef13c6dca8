//! The screen of a program.

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::Line;
use alacritty_terminal::term::TermMode;
use memchr::{memchr, memchr_iter};
use serde::Serialize;

use crate::emulator::Emulator;
use crate::modes::{Cursor, CursorShape, Modes};
use crate::query::{Csi, Facts, answer_osc};
use crate::row::{self, Row, Wanted};
use crate::sequence::{Kind, Scan, Sequencer};
use crate::terminal::{Terminal, line};
use crate::{Signal, Size, osc, restore};

const BEL: u8 = 0x07;

/// Titles kept for `CSI 22 t`; older ones fall off the bottom.
const TITLE_DEPTH: usize = 8;

/// The terminal a program believes it is running in: bytes go in, rows and signals come out.
pub struct Screen {
    sequencer: Sequencer,
    emulator: Emulator,
    size: Size,
    title: Option<String>,
    saved_titles: Vec<Option<String>>,
}

/// Everything a screen shows, for serialisation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// Size of the terminal.
    pub size: Size,
    /// All rows from the top.
    pub rows: Vec<Row>,
    /// The cursor.
    pub cursor: Cursor,
    /// The terminal modes.
    pub modes: Modes,
    /// The window title, if the program set one.
    pub title: Option<String>,
}

impl Screen {
    /// Creates an empty screen that keeps up to `scrollback` rows that scrolled off its top.
    pub fn new(size: Size, scrollback: usize) -> Self {
        let size = size.clamp();
        Self {
            sequencer: Sequencer::default(),
            emulator: Emulator::new(size, scrollback),
            size,
            title: None,
            saved_titles: Vec::new(),
        }
    }

    /// Takes in output of the program and returns the signals in it, in order.
    ///
    /// Characters and sequences may be split anywhere between calls.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Signal> {
        let mut signals = Vec::new();
        let mut seen = self.emulator.finish_character(bytes);
        let mut bell = memchr(BEL, bytes);
        loop {
            let Scan { text_end, sequence, resume } = self.sequencer.next(bytes, seen);
            let text = &bytes[seen..text_end];
            if bell.is_some_and(|bell| bell < text_end) {
                signals.extend(memchr_iter(BEL, text).map(|_| Signal::Bell));
                bell = memchr(BEL, &bytes[text_end..]).map(|bell| text_end + bell);
            }
            let Some(sequence) = sequence else {
                self.emulator.draw_last(text, text_end == bytes.len());
                return signals;
            };
            self.emulator.draw_text(text);
            seen = resume;
            signals.extend((0..sequence.bells).map(|_| Signal::Bell));
            match sequence.kind {
                Kind::Control => match Csi::parse(sequence.bytes) {
                    None => self.emulator.draw_sequence(sequence.bytes),
                    Some(Csi { action: b'b', marker: 0, intermediate: 0, first }) => {
                        self.emulator.repeat(first.unwrap_or(1).max(1));
                    }
                    Some(csi) => {
                        self.emulator.draw_sequence(sequence.bytes);
                        signals.extend(self.csi(csi, seen));
                    }
                },
                Kind::Cut => self.emulator.draw_cut(sequence.bytes),
                Kind::Osc { bell } => {
                    let payload = sequence.bytes[2..].to_vec();
                    signals.extend(self.osc(&payload, bell, seen));
                }
                Kind::Dropped => {}
            }
        }
    }

    fn osc(&mut self, payload: &[u8], bell: bool, at: usize) -> Option<Signal> {
        if let Some(bytes) = answer_osc(payload, bell) {
            return Some(Signal::Reply { at, bytes });
        }
        let signal = osc::parse(payload)?;
        if let Signal::Title(title) = &signal {
            self.title = Some(title.clone()).filter(|title| !title.is_empty());
        }
        Some(signal)
    }

    fn csi(&mut self, csi: Csi, at: usize) -> Option<Signal> {
        match csi {
            Csi { marker: 0, first: Some(22), intermediate: 0, action: b't' } => {
                if self.saved_titles.len() == TITLE_DEPTH {
                    self.saved_titles.remove(0);
                }
                self.saved_titles.push(self.title.clone());
                None
            }
            Csi { marker: 0, first: Some(23), intermediate: 0, action: b't' } => {
                self.title = self.saved_titles.pop()?;
                Some(Signal::Title(self.title.clone().unwrap_or_default()))
            }
            _ => {
                let facts = || Facts {
                    modes: self.modes(),
                    cursor: self.cursor(),
                    region_top: self.terminal().region().0,
                };
                csi.answer(facts).map(|bytes| Signal::Reply { at, bytes })
            }
        }
    }

    /// Changes the size, reflowing the main screen as terminals do.
    pub fn resize(&mut self, size: Size) {
        self.size = size.clamp();
        self.emulator.resize(self.size);
    }

    /// Returns the size.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns one row of the screen, from 0 at the top; an empty one below the screen.
    pub fn row(&self, row: u16) -> Row {
        if row < self.size.rows { Row::new(&self.terminal().grid()[line(row)]) } else { Row::default() }
    }

    /// Writes the characters of one row, without trailing blanks, into `text`.
    pub fn read_row(&self, row: u16, text: &mut String) {
        self.read(row, text, Wanted::All);
    }

    /// The same without faint characters: hints and suggestions that nobody wrote.
    pub fn read_solid_row(&self, row: u16, text: &mut String) {
        self.read(row, text, Wanted::Solid);
    }

    fn read(&self, row: u16, text: &mut String, wanted: Wanted) {
        text.clear();
        if row < self.size.rows {
            row::read(&self.terminal().grid()[line(row)], text, wanted);
        }
    }

    /// Adds the rows that were drawn since the last call to `rows`. Rows that look the same may be among them.
    pub fn drain_changes(&mut self, rows: &mut Vec<u16>) {
        self.emulator.terminal_mut().drain_changes(rows);
    }

    /// Returns all rows of the screen from the top.
    pub fn rows(&self) -> Vec<Row> {
        (0..self.size.rows).map(|row| self.row(row)).collect()
    }

    /// Returns the text of the screen: rows without trailing blanks, without the empty rows at the end.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in 0..self.size.rows {
            text += &row::text(&self.terminal().grid()[line(row)]);
            text.push('\n');
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    /// Returns the text of the rows that scrolled off and of those on the screen, oldest first.
    ///
    /// The first of them has the number [`Screen::first_line`]. The alternate screen has no history.
    pub fn history_text(&self) -> Vec<String> {
        let grid = self.terminal().grid();
        (grid.topmost_line().0..=grid.bottommost_line().0)
            .map(|number| row::text(&grid[Line(number)]))
            .collect()
    }

    /// Returns the number of the oldest line that is kept: how many lines of history came before it.
    ///
    /// A line keeps its number while it scrolls, so a reader can tell new lines from those it has seen. Only a
    /// screen with scrollback counts, and a change of width renumbers lines that it reflows.
    pub fn first_line(&self) -> u64 {
        self.terminal().dropped()
    }

    /// Returns the number of the line in the top row of the screen; see [`Screen::first_line`].
    pub fn top_line(&self) -> u64 {
        self.first_line() + self.terminal().grid().history_size() as u64
    }

    /// Returns the cursor.
    pub fn cursor(&self) -> Cursor {
        let point = self.terminal().grid().cursor.point;
        let style = self.terminal().cursor_style();
        Cursor {
            row: u16::try_from(point.line.0).unwrap_or(0),
            col: u16::try_from(point.column.0).unwrap_or(0),
            visible: self.terminal().mode().contains(TermMode::SHOW_CURSOR),
            shape: CursorShape::from_ansi(style.shape),
            blinking: style.blinking,
        }
    }

    /// Returns how many blank columns lie between the cursor and what stands before it in its row, if anything does.
    pub fn blanks_before_cursor(&self) -> Option<u16> {
        let cursor = self.cursor();
        let before = row::glyphs(&self.terminal().grid()[line(cursor.row)])
            .take_while(|glyph| glyph.column < cursor.col)
            .filter(|glyph| !glyph.is_blank());
        before.last().map(|glyph| cursor.col.saturating_sub(glyph.column + glyph.width))
    }

    /// Returns whether what stands at the cursor and behind it, apart from frames, is faint: a hint, and no text.
    pub fn is_faint_behind_cursor(&self) -> bool {
        let cursor = self.cursor();
        let is_frame = |character| character == '|' || ('\u{2500}'..='\u{259f}').contains(&character);
        let behind = row::glyphs(&self.terminal().grid()[line(cursor.row)])
            .filter(|glyph| glyph.column >= cursor.col && !glyph.is_blank() && !is_frame(glyph.character));
        let mut faint = behind.map(|glyph| glyph.style.dim).peekable();
        faint.peek().is_some() && faint.all(|faint| faint)
    }

    /// Returns the modes the program has set.
    pub fn modes(&self) -> Modes {
        let keyboard = self.terminal().keyboard().current();
        Modes::new(self.terminal().mode(), self.terminal().synchronized(), keyboard)
    }

    /// Returns the window title, if the program set one. Free of control characters.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns everything the screen shows.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            size: self.size,
            rows: self.rows(),
            cursor: self.cursor(),
            modes: self.modes(),
            title: self.title.clone(),
        }
    }

    /// Returns the rows with their colours and attributes, one line each, for printing in a terminal.
    pub fn to_ansi(&self) -> Vec<u8> {
        restore::lines(self.terminal().grid())
    }

    /// Returns bytes that turn a fresh screen of the same size into this one.
    ///
    /// Covers rows, cursor, modes, scroll region, keyboard flags, title, and the main screen below an active
    /// alternate screen. History and tab stops are not restored. Where the output so far ends in the middle of a
    /// sequence or character, so do these bytes: what comes next has to go on from there.
    pub fn to_restore(&self) -> Vec<u8> {
        let mut bytes = restore::terminal(self.terminal(), &self.modes(), self.cursor(), self.title());
        self.sequencer.push_unfinished(&mut bytes);
        bytes.extend_from_slice(self.emulator.begun());
        bytes
    }

    /// Returns the terminal for drawing it elsewhere.
    pub(crate) fn terminal(&self) -> &Terminal {
        self.emulator.terminal()
    }
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("size", &self.size).field("title", &self.title).finish_non_exhaustive()
    }
}
