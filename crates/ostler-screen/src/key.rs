//! Keys to the bytes that terminals send for them.

use crate::Modes;

/// Kitty keyboard flag: keys that could be mistaken for something else are sent as sequences.
const DISAMBIGUATE: u8 = 1;
/// Kitty keyboard flag: the shifted character is sent along.
const ALTERNATES: u8 = 4;
/// Kitty keyboard flag: all keys are sent as sequences.
const REPORT_ALL: u8 = 8;
/// Kitty keyboard flag: the text a key makes is sent along.
const TEXT: u8 = 16;

/// A key on a keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// Shift-Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Insert.
    Insert,
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// Cursor left.
    Left,
    /// Cursor right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key, from 1; there is none above 35.
    Function(u8),
    /// A key that makes a character. Control characters are not keys and send nothing.
    Char(char),
}

/// The modifier keys held down with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modifiers {
    /// Shift.
    pub shift: bool,
    /// Alt.
    pub alt: bool,
    /// Control.
    pub ctrl: bool,
    /// Super, also called Windows or Command.
    pub super_: bool,
}

impl Modifiers {
    /// No modifier at all.
    pub const NONE: Self = Self { shift: false, alt: false, ctrl: false, super_: false };
    /// Only Control.
    pub const CTRL: Self = Self { ctrl: true, ..Self::NONE };
    /// Only Shift.
    pub const SHIFT: Self = Self { shift: true, ..Self::NONE };
    /// Only Alt.
    pub const ALT: Self = Self { alt: true, ..Self::NONE };

    /// Returns the number that stands for these modifiers in sequences: 1 for none.
    fn code(self) -> u8 {
        1 + u8::from(self.shift)
            + 2 * u8::from(self.alt)
            + 4 * u8::from(self.ctrl)
            + 8 * u8::from(self.super_)
    }

    /// Returns whether the key makes no text.
    fn is_command(self) -> bool {
        self.alt || self.ctrl || self.super_
    }
}

/// Returns the bytes that `key` sends to a program that has set `modes`; empty if there are none.
pub fn encode(key: Key, modifiers: Modifiers, modes: &Modes) -> Vec<u8> {
    if key == Key::BackTab {
        return encode(Key::Tab, Modifiers { shift: true, ..modifiers }, modes);
    }
    let kitty = modes.kitty_keyboard & (DISAMBIGUATE | REPORT_ALL) != 0;
    match key {
        Key::Char(character) if character.is_control() => Vec::new(),
        Key::Char(character) if kitty => kitty_character(character, modifiers, modes.kitty_keyboard),
        Key::Char(character) => legacy_character(character, modifiers),
        Key::Enter => kitty_or_byte(b'\r', 13, key, modifiers, modes),
        Key::Escape => kitty_or_byte(0x1b, 27, key, modifiers, modes),
        Key::Backspace => kitty_or_byte(0x7f, 127, key, modifiers, modes),
        Key::Tab | Key::BackTab => kitty_or_byte(b'\t', 9, key, modifiers, modes),
        Key::Up => letter(b'A', modifiers, modes.application_cursor && !kitty),
        Key::Down => letter(b'B', modifiers, modes.application_cursor && !kitty),
        Key::Right => letter(b'C', modifiers, modes.application_cursor && !kitty),
        Key::Left => letter(b'D', modifiers, modes.application_cursor && !kitty),
        Key::Home => letter(b'H', modifiers, modes.application_cursor && !kitty),
        Key::End => letter(b'F', modifiers, modes.application_cursor && !kitty),
        Key::Insert => tilde(2, modifiers),
        Key::Delete => tilde(3, modifiers),
        Key::PageUp => tilde(5, modifiers),
        Key::PageDown => tilde(6, modifiers),
        Key::Function(number) => function(number, modifiers, kitty),
    }
}

/// Encodes Enter, Escape, Tab and Backspace: one byte, or a sequence where the program can tell them apart.
fn kitty_or_byte(byte: u8, code: u32, key: Key, modifiers: Modifiers, modes: &Modes) -> Vec<u8> {
    let flags = modes.kitty_keyboard;
    let ambiguous = key == Key::Escape || modifiers != Modifiers::NONE;
    if flags & REPORT_ALL != 0 || (flags & DISAMBIGUATE != 0 && ambiguous) {
        return csi_u(&code.to_string(), modifiers, None);
    }
    let bytes = match (key, modifiers) {
        (Key::Tab, Modifiers { shift: true, .. }) => b"\x1b[Z".to_vec(),
        (Key::Backspace, Modifiers { ctrl: true, .. }) => vec![0x08],
        _ => vec![byte],
    };
    with_alt(bytes, modifiers)
}

fn legacy_character(character: char, modifiers: Modifiers) -> Vec<u8> {
    let control = control_byte(character).filter(|_| modifiers.ctrl);
    let bytes =
        control.map_or_else(|| shifted(character, modifiers).to_string().into_bytes(), |byte| vec![byte]);
    with_alt(bytes, modifiers)
}

/// Returns the control character that Control makes of a key.
fn control_byte(character: char) -> Option<u8> {
    match character {
        ' ' => Some(0),
        '/' => Some(0x1f),
        '?' => Some(0x7f),
        '@'..='_' | 'a'..='z' => u8::try_from(character).ok().map(|byte| byte & 0x1f),
        _ => None,
    }
}

/// Returns the character that Shift makes of a key, as far as that does not depend on the keyboard.
fn shifted(character: char, modifiers: Modifiers) -> char {
    let mut upper = character.to_uppercase();
    match (modifiers.shift, upper.next(), upper.next()) {
        (true, Some(single), None) => single,
        _ => character,
    }
}

fn with_alt(mut bytes: Vec<u8>, modifiers: Modifiers) -> Vec<u8> {
    if modifiers.alt {
        bytes.insert(0, 0x1b);
    }
    bytes
}

fn kitty_character(character: char, modifiers: Modifiers, flags: u8) -> Vec<u8> {
    let text = shifted(character, modifiers);
    if flags & REPORT_ALL == 0 && !modifiers.is_command() {
        return text.to_string().into_bytes();
    }
    // The protocol names keys by what they make unshifted.
    let mut lower = text.to_lowercase();
    let base = lower.next().filter(|_| lower.next().is_none()).unwrap_or(text);
    let modifiers = Modifiers { shift: modifiers.shift || base != text, ..modifiers };
    let key = if flags & ALTERNATES != 0 && base != text {
        format!("{}:{}", u32::from(base), u32::from(text))
    } else {
        u32::from(base).to_string()
    };
    let with_text = flags & (REPORT_ALL | TEXT) == REPORT_ALL | TEXT && !modifiers.is_command();
    csi_u(&key, modifiers, with_text.then_some(text))
}

fn csi_u(key: &str, modifiers: Modifiers, text: Option<char>) -> Vec<u8> {
    match (modifiers.code(), text) {
        (1, None) => format!("\x1b[{key}u"),
        (code, None) => format!("\x1b[{key};{code}u"),
        (1, Some(text)) => format!("\x1b[{key};;{}u", u32::from(text)),
        (code, Some(text)) => format!("\x1b[{key};{code};{}u", u32::from(text)),
    }
    .into_bytes()
}

fn letter(letter: u8, modifiers: Modifiers, application: bool) -> Vec<u8> {
    let letter = char::from(letter);
    match modifiers.code() {
        1 if application => format!("\x1bO{letter}"),
        1 => format!("\x1b[{letter}"),
        code => format!("\x1b[1;{code}{letter}"),
    }
    .into_bytes()
}

fn tilde(number: u8, modifiers: Modifiers) -> Vec<u8> {
    match modifiers.code() {
        1 => format!("\x1b[{number}~"),
        code => format!("\x1b[{number};{code}~"),
    }
    .into_bytes()
}

fn function(number: u8, modifiers: Modifiers, kitty: bool) -> Vec<u8> {
    /// Numbers of F5 to F20 in `CSI n ~` sequences.
    const TILDE: [u8; 16] = [15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34];
    match number {
        // `CSI R` is the answer to a cursor position query.
        3 if kitty => tilde(13, modifiers),
        1..=4 => letter(b'P' + number - 1, modifiers, !kitty),
        13..=35 if kitty => csi_u(&(57_376 + u32::from(number) - 13).to_string(), modifiers, None),
        5..=20 => tilde(TILDE[usize::from(number) - 5], modifiers),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
