//! How a character looks.

use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi;
use serde::{Serialize, Serializer};

/// A colour that a program chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Color {
    /// A colour of the viewer's palette: 0–15 are the named ones.
    Indexed(u8),
    /// An exact colour: red, green, blue.
    Rgb(u8, u8, u8),
}

/// The attributes and colours of a run of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Style {
    /// Text colour, if not the terminal's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fg: Option<Color>,
    /// Background colour, if not the terminal's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bg: Option<Color>,
    /// Bold.
    #[serde(skip_serializing_if = "is_off")]
    pub bold: bool,
    /// Dim; agents write hints and placeholders this way.
    #[serde(skip_serializing_if = "is_off")]
    pub dim: bool,
    /// Italic.
    #[serde(skip_serializing_if = "is_off")]
    pub italic: bool,
    /// Underlined in any of the ways terminals know.
    #[serde(skip_serializing_if = "is_off")]
    pub underline: bool,
    /// Text and background colour swapped.
    #[serde(skip_serializing_if = "is_off")]
    pub reverse: bool,
    /// Not shown at all.
    #[serde(skip_serializing_if = "is_off")]
    pub hidden: bool,
    /// Struck out.
    #[serde(skip_serializing_if = "is_off")]
    pub strikeout: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_off(attribute: &bool) -> bool {
    !attribute
}

impl Serialize for Color {
    /// Writes a palette colour as its number, an exact one as `"#rrggbb"`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Indexed(index) => serializer.serialize_u8(index),
            Self::Rgb(r, g, b) => serializer.collect_str(&format_args!("#{r:02x}{g:02x}{b:02x}")),
        }
    }
}

impl Color {
    fn from_ansi(color: ansi::Color) -> Option<Self> {
        match color {
            // Beyond the sixteen come the terminal's own foreground, background and their shades.
            ansi::Color::Named(name) => u8::try_from(name as usize).ok().map(Self::Indexed),
            ansi::Color::Indexed(index) => Some(Self::Indexed(index)),
            ansi::Color::Spec(rgb) => Some(Self::Rgb(rgb.r, rgb.g, rgb.b)),
        }
    }

    /// Appends the SGR parameters for this colour; `base` is 30 for text, 40 for background.
    fn push_sgr(self, base: u8, out: &mut Vec<u8>) {
        let text = match self {
            Self::Indexed(index @ 0..8) => format!(";{}", base + index),
            Self::Indexed(index @ 8..16) => format!(";{}", base + 60 + index - 8),
            Self::Indexed(index) => format!(";{};5;{index}", base + 8),
            Self::Rgb(r, g, b) => format!(";{};2;{r};{g};{b}", base + 8),
        };
        out.extend_from_slice(text.as_bytes());
    }
}

impl Style {
    pub(crate) fn of(cell: &Cell) -> Self {
        let has = |flag| cell.flags.intersects(flag);
        Self {
            fg: Color::from_ansi(cell.fg),
            bg: Color::from_ansi(cell.bg),
            bold: has(Flags::BOLD),
            dim: has(Flags::DIM),
            italic: has(Flags::ITALIC),
            underline: has(Flags::ALL_UNDERLINES),
            reverse: has(Flags::INVERSE),
            hidden: has(Flags::HIDDEN),
            strikeout: has(Flags::STRIKEOUT),
        }
    }

    /// Appends the SGR sequence that sets exactly this style.
    pub(crate) fn push_sgr(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[0");
        let attributes = [
            (self.bold, b'1'),
            (self.dim, b'2'),
            (self.italic, b'3'),
            (self.underline, b'4'),
            (self.reverse, b'7'),
            (self.hidden, b'8'),
            (self.strikeout, b'9'),
        ];
        for (_, code) in attributes.iter().filter(|(on, _)| *on) {
            out.extend_from_slice(&[b';', *code]);
        }
        if let Some(color) = self.fg {
            color.push_sgr(30, out);
        }
        if let Some(color) = self.bg {
            color.push_sgr(40, out);
        }
        out.push(b'm');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sgr_names_every_attribute_and_kind_of_colour() {
        let sgr = |style: Style| {
            let mut out = Vec::new();
            style.push_sgr(&mut out);
            String::from_utf8(out).unwrap().replace('\x1b', "^")
        };
        let plain = Style::default();
        assert_eq!(sgr(plain), "^[0m");
        assert_eq!(sgr(Style { bold: true, reverse: true, strikeout: true, ..plain }), "^[0;1;7;9m");
        for (color, fg, bg) in [
            (Color::Indexed(1), "31", "41"),
            (Color::Indexed(8), "90", "100"),
            (Color::Indexed(15), "97", "107"),
            (Color::Indexed(16), "38;5;16", "48;5;16"),
            (Color::Rgb(1, 2, 255), "38;2;1;2;255", "48;2;1;2;255"),
        ] {
            assert_eq!(sgr(Style { fg: Some(color), ..plain }), format!("^[0;{fg}m"));
            assert_eq!(sgr(Style { bg: Some(color), ..plain }), format!("^[0;{bg}m"));
        }
    }
}
