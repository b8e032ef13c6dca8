//! The emulator: which of its abilities programs may use, and within what bounds.

mod handler;

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::{Dimensions, Grid};
use alacritty_terminal::index::Line;
use alacritty_terminal::term::cell::Cell;
use alacritty_terminal::term::{Config, TermDamage, TermMode};
use alacritty_terminal::vte::ansi::{CharsetIndex, CursorStyle, Handler};

use crate::keyboard::KeyboardFlags;
use crate::{Size, restore};

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

    /// Adds the rows that were drawn since the last call to `rows`.
    pub(crate) fn drain_changes(&mut self, rows: &mut Vec<u16>) {
        match self.term.damage() {
            TermDamage::Full => {
                let all = 0..self.term.screen_lines();
                rows.extend(all.filter_map(|row| u16::try_from(row).ok()));
            }
            TermDamage::Partial(lines) => {
                rows.extend(lines.filter_map(|line| u16::try_from(line.line).ok()));
            }
        }
        self.term.reset_damage();
    }

    /// Draws the last character again (REP). More than a screenful would only cost time.
    pub(crate) fn repeat(&mut self, count: u16) {
        let Some(character) = self.last else { return };
        for _ in 0..usize::from(count).min(self.term.columns() * self.term.screen_lines()) {
            self.input(character);
        }
    }

    fn reset_region(&mut self) {
        self.region = (0, u16::try_from(self.term.screen_lines()).unwrap_or(u16::MAX));
    }
}

/// Returns the line of a grid that shows as `row` of the screen.
pub(crate) fn line(row: u16) -> Line {
    Line(row.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the rows that a screen's storage holds, spare ones included: only its debug output tells.
    fn stored_rows(terminal: &Terminal) -> usize {
        format!("{:?}", terminal.grid()).matches("Row {").count()
    }

    #[test]
    fn a_resized_terminal_keeps_no_spare_rows() {
        let mut terminal = Terminal::new(Size { cols: 20, rows: 10 }, 0);
        for alternate in [false, true, false, true] {
            for (cols, rows) in [(10, 40), (30, 5), (20, 60), (20, 12)] {
                terminal.resize(Size { cols, rows });
                assert_eq!(terminal.is_alternate(), alternate);
                assert_eq!(stored_rows(&terminal), usize::from(rows));
                // The other screen. Nothing is drawn, so swapping there and back loses nothing.
                terminal.term.swap_alt();
                assert_eq!(stored_rows(&terminal), usize::from(rows));
                terminal.term.swap_alt();
            }
            terminal.term.swap_alt();
        }
    }

    #[test]
    fn output_does_not_make_a_terminal_without_history_grow() {
        let mut terminal = Terminal::new(Size { cols: 20, rows: 10 }, 0);
        for _ in 0..5000 {
            terminal.linefeed();
            terminal.input('x');
        }
        assert_eq!(stored_rows(&terminal), 10);
    }
}
