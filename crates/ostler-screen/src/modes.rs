//! What the program asked of its terminal.

use alacritty_terminal::term::TermMode;
use alacritty_terminal::vte::ansi;
use serde::Serialize;

/// The terminal modes a program has set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Modes {
    /// The program draws on the alternate screen.
    pub alternate_screen: bool,
    /// Pasted text is to be framed, so that the program can tell it from typing.
    pub bracketed_paste: bool,
    /// The program is in the middle of a frame: the screen is not to be judged yet.
    pub synchronized: bool,
    /// Cursor keys send application sequences.
    pub application_cursor: bool,
    /// The keypad sends application sequences.
    pub application_keypad: bool,
    /// The program wants to know when the terminal gains or loses focus.
    pub focus_events: bool,
    /// Which mouse events the program wants.
    pub mouse: MouseTracking,
    /// How mouse events are written.
    pub mouse_encoding: MouseEncoding,
    /// The wheel moves the cursor on the alternate screen.
    pub alternate_scroll: bool,
    /// Flags of the kitty keyboard protocol in force.
    pub kitty_keyboard: u8,
    /// Text beyond the last column goes on in the next row.
    pub line_wrap: bool,
    /// New characters push the rest of the row to the right.
    pub insert: bool,
    /// Row addresses count from the top of the scroll region.
    pub origin: bool,
    /// A line feed also returns to the first column.
    pub newline: bool,
}

/// Which mouse events a program wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MouseTracking {
    /// None.
    #[default]
    Off,
    /// Buttons (mode 1000).
    Click,
    /// Buttons, and motion while one is held (mode 1002).
    Drag,
    /// Buttons and all motion (mode 1003).
    Motion,
}

/// How mouse events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MouseEncoding {
    /// Single bytes, up to column 223.
    #[default]
    Legacy,
    /// Characters (mode 1005).
    Utf8,
    /// Numbers (mode 1006).
    Sgr,
}

/// Where the cursor is and how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Cursor {
    /// Row from the top, from 0.
    pub row: u16,
    /// Column, from 0.
    pub col: u16,
    /// The program shows it.
    pub visible: bool,
    /// Its shape.
    pub shape: CursorShape,
    /// It blinks.
    pub blinking: bool,
}

/// The shape of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CursorShape {
    /// A filled cell.
    #[default]
    Block,
    /// A line below the character.
    Underline,
    /// A line before the character.
    Beam,
}

impl Default for Modes {
    /// The modes of a terminal that was just opened.
    fn default() -> Self {
        Self::new(TermMode::default(), false, 0)
    }
}

impl Modes {
    pub(crate) fn new(mode: TermMode, synchronized: bool, kitty_keyboard: u8) -> Self {
        let has = |flag| mode.contains(flag);
        Self {
            alternate_screen: has(TermMode::ALT_SCREEN),
            bracketed_paste: has(TermMode::BRACKETED_PASTE),
            synchronized,
            application_cursor: has(TermMode::APP_CURSOR),
            application_keypad: has(TermMode::APP_KEYPAD),
            focus_events: has(TermMode::FOCUS_IN_OUT),
            mouse: if has(TermMode::MOUSE_MOTION) {
                MouseTracking::Motion
            } else if has(TermMode::MOUSE_DRAG) {
                MouseTracking::Drag
            } else if has(TermMode::MOUSE_REPORT_CLICK) {
                MouseTracking::Click
            } else {
                MouseTracking::Off
            },
            mouse_encoding: if has(TermMode::SGR_MOUSE) {
                MouseEncoding::Sgr
            } else if has(TermMode::UTF8_MOUSE) {
                MouseEncoding::Utf8
            } else {
                MouseEncoding::Legacy
            },
            alternate_scroll: has(TermMode::ALTERNATE_SCROLL),
            kitty_keyboard,
            line_wrap: has(TermMode::LINE_WRAP),
            insert: has(TermMode::INSERT),
            origin: has(TermMode::ORIGIN),
            newline: has(TermMode::LINE_FEED_NEW_LINE),
        }
    }

    /// Returns the private modes a viewer's terminal shares with the program, with their numbers.
    pub(crate) fn input_modes(&self) -> [(u16, bool); 9] {
        [
            (1, self.application_cursor),
            (1000, self.mouse == MouseTracking::Click),
            (1002, self.mouse == MouseTracking::Drag),
            (1003, self.mouse == MouseTracking::Motion),
            (1005, self.mouse_encoding == MouseEncoding::Utf8),
            (1006, self.mouse_encoding == MouseEncoding::Sgr),
            (1004, self.focus_events),
            (1007, self.alternate_scroll),
            (2004, self.bracketed_paste),
        ]
    }

    /// Returns whether the private mode `number` is set, or nothing if it is not known.
    pub(crate) fn private(&self, number: u16, cursor: Cursor) -> Option<bool> {
        match number {
            6 => Some(self.origin),
            7 => Some(self.line_wrap),
            12 => Some(cursor.blinking),
            25 => Some(cursor.visible),
            1049 => Some(self.alternate_screen),
            2026 => Some(self.synchronized),
            _ => self.input_modes().into_iter().find(|(known, _)| *known == number).map(|(_, set)| set),
        }
    }
}

impl CursorShape {
    pub(crate) fn from_ansi(shape: ansi::CursorShape) -> Self {
        match shape {
            ansi::CursorShape::Underline => Self::Underline,
            ansi::CursorShape::Beam => Self::Beam,
            ansi::CursorShape::Block | ansi::CursorShape::HollowBlock | ansi::CursorShape::Hidden => {
                Self::Block
            }
        }
    }
}

impl Cursor {
    /// Returns the parameter of DECSCUSR that makes the cursor look like this one.
    pub(crate) fn style_code(self) -> u8 {
        let steady = match self.shape {
            CursorShape::Block => 2,
            CursorShape::Underline => 4,
            CursorShape::Beam => 6,
        };
        steady - u8::from(self.blinking)
    }
}
