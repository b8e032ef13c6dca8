//! The emulator: which of its abilities programs may use, and within what bounds.

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::{Dimensions, Grid};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, TermMode};
use alacritty_terminal::vte::ansi::{
    Attr, CharsetIndex, ClearMode, CursorShape, CursorStyle, Handler, KeyboardModes,
    KeyboardModesApplyBehavior, LineClearMode, Mode, NamedPrivateMode, PrivateMode, StandardCharset,
    TabulationClearMode,
};
use unicode_width::UnicodeWidthChar;

use crate::keyboard::{Combine, KeyboardFlags};
use crate::{Size, restore};

/// Zero-width characters kept per cell.
const MAX_MARKS: usize = 8;

/// History rows above the wanted ones, so that those that fall out can be counted.
pub(crate) const HISTORY_SLACK: usize = 1000;

/// alacritty's terminal behind a handler that forwards only what changes the picture.
///
/// Everything else alacritty would act on (titles, clipboard, colour table, its own replies and keyboard
/// stack) ends here: this crate does it in its own bounded way, or nobody does.
pub(crate) struct Terminal {
    term: Term<VoidListener>,
    /// History rows to keep.
    scrollback: usize,
    /// History rows that fell out.
    dropped: u64,
    /// Last character drawn, for REP.
    last: Option<char>,
    /// First row of the scroll region, and the one behind its last.
    region: (u16, u16),
    charset: CharsetIndex,
    synchronized: bool,
    /// Keyboard flags of the main and the alternate screen.
    keyboard: [KeyboardFlags; 2],
    /// While the alternate screen is active: the bytes that draw the main one.
    main_below: Vec<u8>,
}

impl Dimensions for Size {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        self.rows.into()
    }

    fn columns(&self) -> usize {
        self.cols.into()
    }
}

impl Terminal {
    pub(crate) fn new(size: Size, scrollback: usize) -> Self {
        let slack = if scrollback > 0 { HISTORY_SLACK } else { 0 };
        let config = Config { scrolling_history: scrollback.saturating_add(slack), ..Config::default() };
        Self {
            term: Term::new(config, &size, VoidListener),
            scrollback,
            dropped: 0,
            last: None,
            region: (0, size.rows),
            charset: CharsetIndex::default(),
            synchronized: false,
            keyboard: Default::default(),
            main_below: Vec::new(),
        }
    }

    /// The screen the program draws on now.
    pub(crate) fn grid(&self) -> &Grid<Cell> {
        self.term.grid()
    }

    pub(crate) fn mode(&self) -> TermMode {
        *self.term.mode()
    }

    pub(crate) fn cursor_style(&self) -> CursorStyle {
        self.term.cursor_style()
    }

    pub(crate) fn synchronized(&self) -> bool {
        self.synchronized
    }

    pub(crate) fn region(&self) -> (u16, u16) {
        self.region
    }

    pub(crate) fn charset(&self) -> CharsetIndex {
        self.charset
    }

    pub(crate) fn main_below(&self) -> &[u8] {
        &self.main_below
    }

    pub(crate) fn main_keyboard(&self) -> &KeyboardFlags {
        &self.keyboard[0]
    }

    pub(crate) fn keyboard(&self) -> &KeyboardFlags {
        &self.keyboard[usize::from(self.is_alternate())]
    }

    fn keyboard_mut(&mut self) -> &mut KeyboardFlags {
        &mut self.keyboard[usize::from(self.is_alternate())]
    }

    fn is_alternate(&self) -> bool {
        self.term.mode().contains(TermMode::ALT_SCREEN)
    }

    /// History rows that are no longer kept.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn resize(&mut self, size: Size) {
        let old = (self.term.columns(), self.term.screen_lines());
        if old == (size.columns(), size.screen_lines()) {
            return;
        }
        self.term.resize(size);
        self.region = (0, size.rows);
        self.free_spare_rows();
        self.trim_history();
    }

    /// Frees the thousand spare rows that alacritty adds to each screen when it grows.
    ///
    /// The screen that is not active can only be reached by swapping, and swapping wipes the alternate one.
    fn free_spare_rows(&mut self) {
        self.term.grid_mut().truncate();
        if self.is_alternate() {
            let alternate = self.term.grid().clone();
            self.term.swap_alt();
            self.term.grid_mut().truncate();
            self.main_below = restore::contents(self.term.grid());
            self.term.swap_alt();
            *self.term.grid_mut() = alternate;
        } else {
            let saved_cursor = self.term.grid().saved_cursor.clone();
            self.term.swap_alt();
            self.term.grid_mut().truncate();
            self.term.swap_alt();
            self.term.grid_mut().saved_cursor = saved_cursor;
        }
    }

    /// Drops the history rows beyond the wanted ones and counts them.
    pub(crate) fn trim_history(&mut self) {
        let excess = self.term.history_size().saturating_sub(self.scrollback);
        if excess > 0 && !self.is_alternate() {
            self.dropped += excess as u64;
            let grid = self.term.grid_mut();
            grid.update_history(self.scrollback);
            grid.update_history(self.scrollback.saturating_add(HISTORY_SLACK));
        }
    }

    /// Draws the last character again (REP). More than a screenful would only cost time.
    pub(crate) fn repeat(&mut self, count: u16) {
        let Some(character) = self.last else { return };
        for _ in 0..usize::from(count).min(self.term.columns() * self.term.screen_lines()) {
            self.input(character);
        }
    }

    /// Counts the zero-width characters in the cell that the next one would join.
    fn marks_before_cursor(&self) -> usize {
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
        row[Column(column)].zerowidth().map_or(0, <[char]>::len)
    }

    fn reset_region(&mut self) {
        self.region = (0, u16::try_from(self.term.screen_lines()).unwrap_or(u16::MAX));
    }
}

/// Returns whether a character draws nothing and only misleads: text direction, line separators, invisible tags.
fn is_deceptive(character: char) -> bool {
    matches!(character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
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
            let is_mark = character.width() == Some(0);
            if is_deceptive(character) || (is_mark && self.marks_before_cursor() >= MAX_MARKS) {
                return;
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

/// Returns the line of a grid that shows as `row` of the screen.
pub(crate) fn line(row: u16) -> Line {
    Line(row.into())
}
