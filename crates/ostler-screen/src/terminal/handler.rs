//! What alacritty's parser may do to the terminal.

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::Column;
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{
    Attr, CharsetIndex, ClearMode, CursorShape, CursorStyle, Handler, KeyboardModes,
    KeyboardModesApplyBehavior, LineClearMode, Mode, NamedPrivateMode, PrivateMode, StandardCharset,
    TabulationClearMode,
};
use unicode_normalization::char::is_combining_mark;
use unicode_width::UnicodeWidthChar;

use super::Terminal;
use crate::keyboard::Combine;
use crate::restore;
use crate::row::JOINER;

/// Zero-width characters kept per cell.
const MAX_MARKS: usize = 8;
/// Link two consonants of an Indic script to one sign.
const LINKERS: [char; 6] = ['\u{94d}', '\u{9cd}', '\u{acd}', '\u{b4d}', '\u{c4d}', '\u{d4d}'];
/// Makes an emoji of a sign that is one column wide.
const AS_EMOJI: char = '\u{fe0f}';

impl Terminal {
    /// Returns whether characters simply go where the cursor is.
    pub(crate) fn can_write_plain(&self) -> bool {
        let charset = self.term.grid().cursor.charsets[self.charset];
        charset == StandardCharset::Ascii && !self.term.mode().contains(TermMode::INSERT)
    }

    /// Writes printable ASCII into the cells at the cursor, up to the end of the row; returns how much.
    ///
    /// This is the everyday case of what alacritty does with a character, many at a time. Where anything else
    /// has to happen, such as wrapping or breaking a wide character, nothing is written.
    pub(crate) fn write_plain(&mut self, text: &[u8]) -> usize {
        if !self.can_write_plain() || self.term.grid().cursor.input_needs_wrap {
            return 0;
        }
        let grid = self.term.grid_mut();
        let (point, columns) = (grid.cursor.point, grid.columns());
        let Cell { fg, bg, flags, .. } = grid.cursor.template;
        let end = (point.column + text.len()).min(Column(columns));
        let mut written = 0;
        for (cell, byte) in grid[point.line][point.column..end].iter_mut().zip(text) {
            if cell.flags.intersects(Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER) {
                break;
            }
            (cell.c, cell.fg, cell.bg, cell.flags) = (char::from(*byte), fg, bg, flags);
            cell.extra = None;
            written += 1;
        }
        let cursor = &mut grid.cursor;
        cursor.input_needs_wrap = point.column + written == columns;
        cursor.point.column = (point.column + written).min(Column(columns - 1));
        if written > 0 {
            self.last = Some(char::from(text[written - 1]));
        }
        written
    }

    /// The column of the cell that the next zero-width character would join.
    fn column_before_cursor(&self) -> Column {
        let grid = self.term.grid();
        let cursor = &grid.cursor;
        let row = &grid[cursor.point.line];
        let mut column = cursor.point.column.0;
        if !cursor.input_needs_wrap {
            column = column.saturating_sub(1);
        }
        if row[Column(column)].flags.contains(Flags::WIDE_CHAR_SPACER) {
            column = column.saturating_sub(1);
        }
        Column(column)
    }

    fn cell_before_cursor(&self) -> &Cell {
        let grid = self.term.grid();
        &grid[grid.cursor.point.line][self.column_before_cursor()]
    }

    /// Whether a character becomes part of the one before it: a vowel sign, a linked consonant, a joined emoji, or the
    /// colour of its skin.
    ///
    /// Programs count such a sequence as one character, and draw what follows accordingly. A terminal that takes more
    /// columns for it breaks their frames; one that takes fewer does not.
    fn joins(&self, character: char) -> bool {
        let width = character.width().unwrap_or(0);
        let cursor = &self.term.grid().cursor;
        let first = cursor.point.column == Column(0) && !cursor.input_needs_wrap;
        if character < '\u{900}' || width == 0 || first {
            return false;
        }
        if is_combining_mark(character) {
            return true;
        }
        let cell = self.cell_before_cursor();
        let marks = cell.zerowidth().unwrap_or_default();
        let (last, wide) = (marks.last().copied(), cell.flags.contains(Flags::WIDE_CHAR));
        match width {
            1 => last.is_some_and(|last| LINKERS.contains(&last)) && character.is_alphabetic(),
            _ if !is_pictograph(character) => false,
            _ if last == Some(JOINER) => wide || marks.contains(&AS_EMOJI),
            _ => wide && matches!(character, '\u{1f3fb}'..='\u{1f3ff}'),
        }
    }

    /// Draws a character over the one before the cursor.
    fn join(&mut self, character: char) {
        let column = self.column_before_cursor();
        let grid = self.term.grid_mut();
        let line = grid.cursor.point.line;
        grid[line][column].push_zerowidth(character);
    }
}

/// Returns whether a character draws nothing and only misleads: text direction, line separators, invisible tags.
fn is_deceptive(character: char) -> bool {
    matches!(character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn is_pictograph(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Forwards handler methods to alacritty unchanged.
macro_rules! forward {
    ($($method:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $method(&mut self, $($argument: $type),*) { self.term.$method($($argument),*) })*
    };
}

impl Handler for Terminal {
    forward! {
        set_cursor_style(style: Option<CursorStyle>);
        set_cursor_shape(shape: CursorShape);
        goto(line: i32, col: usize);
        goto_line(line: i32);
        goto_col(col: usize);
        insert_blank(count: usize);
        move_up(rows: usize);
        move_down(rows: usize);
        move_forward(cols: usize);
        move_backward(cols: usize);
        move_down_and_cr(rows: usize);
        move_up_and_cr(rows: usize);
        put_tab(count: u16);
        backspace();
        carriage_return();
        linefeed();
        newline();
        set_horizontal_tabstop();
        scroll_up(rows: usize);
        scroll_down(rows: usize);
        insert_blank_lines(count: usize);
        delete_lines(count: usize);
        erase_chars(count: usize);
        delete_chars(count: usize);
        move_backward_tabs(count: u16);
        move_forward_tabs(count: u16);
        save_cursor_position();
        restore_cursor_position();
        clear_line(mode: LineClearMode);
        clear_tabs(mode: TabulationClearMode);
        set_tabs(interval: u16);
        reverse_index();
        set_mode(mode: Mode);
        unset_mode(mode: Mode);
        set_keypad_application_mode();
        unset_keypad_application_mode();
        configure_charset(index: CharsetIndex, charset: StandardCharset);
        decaln();
    }

    #[inline]
    fn input(&mut self, character: char) {
        // Below the first combining mark nothing has zero width.
        if character >= '\u{300}' {
            let joins = self.joins(character);
            let is_mark = joins || character.width() == Some(0);
            let marks = || self.cell_before_cursor().zerowidth().map_or(0, <[char]>::len);
            if is_deceptive(character) || (is_mark && marks() >= MAX_MARKS) {
                return;
            }
            if joins {
                return self.join(character);
            }
        }
        self.last = Some(character);
        self.term.input(character);
    }

    fn terminal_attribute(&mut self, attribute: Attr) {
        // An underline's colour would cost an allocation per cell and is never shown.
        if !matches!(attribute, Attr::UnderlineColor(_)) {
            self.term.terminal_attribute(attribute);
        }
    }

    fn set_active_charset(&mut self, index: CharsetIndex) {
        self.charset = index;
        self.term.set_active_charset(index);
    }

    fn clear_screen(&mut self, mode: ClearMode) {
        if matches!(mode, ClearMode::Saved) {
            self.dropped += self.term.history_size() as u64;
        }
        self.term.clear_screen(mode);
    }

    fn reset_state(&mut self) {
        if self.is_alternate() {
            self.term.swap_alt();
        }
        self.dropped += self.term.history_size() as u64;
        self.term.reset_state();
        self.reset_region();
        self.charset = CharsetIndex::default();
        self.synchronized = false;
        self.keyboard = Default::default();
        self.main_below = Vec::new();
    }

    fn set_scrolling_region(&mut self, top: usize, bottom: Option<usize>) {
        let rows = self.term.screen_lines();
        let bottom = bottom.unwrap_or(rows);
        if top < bottom {
            let row = |row: usize| u16::try_from(row.min(rows)).unwrap_or(u16::MAX);
            self.region = (row(top.saturating_sub(1)), row(bottom));
        }
        self.term.set_scrolling_region(top, Some(bottom));
    }

    fn set_private_mode(&mut self, mode: PrivateMode) {
        match mode {
            PrivateMode::Named(NamedPrivateMode::SyncUpdate) => self.synchronized = true,
            PrivateMode::Named(NamedPrivateMode::SwapScreenAndSetRestoreCursor) if !self.is_alternate() => {
                self.trim_history();
                self.main_below = restore::contents(self.term.grid());
            }
            PrivateMode::Named(NamedPrivateMode::ColumnMode) => self.reset_region(),
            _ => {}
        }
        self.term.set_private_mode(mode);
    }

    fn unset_private_mode(&mut self, mode: PrivateMode) {
        match mode {
            PrivateMode::Named(NamedPrivateMode::SyncUpdate) => self.synchronized = false,
            PrivateMode::Named(NamedPrivateMode::SwapScreenAndSetRestoreCursor) => {
                self.main_below = Vec::new();
            }
            PrivateMode::Named(NamedPrivateMode::ColumnMode) => self.reset_region(),
            _ => {}
        }
        self.term.unset_private_mode(mode);
    }

    fn push_keyboard_mode(&mut self, mode: KeyboardModes) {
        self.keyboard_mut().push(mode.bits());
    }

    fn pop_keyboard_modes(&mut self, count: u16) {
        self.keyboard_mut().pop(count);
    }

    fn set_keyboard_mode(&mut self, mode: KeyboardModes, behavior: KeyboardModesApplyBehavior) {
        let combine = match behavior {
            KeyboardModesApplyBehavior::Replace => Combine::Replace,
            KeyboardModesApplyBehavior::Union => Combine::Add,
            KeyboardModesApplyBehavior::Difference => Combine::Remove,
        };
        self.keyboard_mut().set(mode.bits(), combine);
    }
}
