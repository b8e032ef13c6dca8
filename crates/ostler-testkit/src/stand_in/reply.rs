//! Control sequences on the input that are not keys: what a terminal answers to queries.

use serde::Serialize;

use super::decode::Key;

/// What a terminal answered to a query.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Reply {
    /// Which query it answers.
    pub kind: ReplyKind,
    /// The body of the sequence, escaped to printable ASCII.
    pub body: String,
}

/// Which query a terminal answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplyKind {
    /// DA1 (`CSI c`).
    DeviceAttributes,
    /// Cursor position (`CSI 6n`).
    CursorPosition,
    /// Keyboard flags (`CSI ? u`).
    KeyboardFlags,
    /// Name and version of the terminal (`CSI > q`).
    TerminalVersion,
    /// A colour (`OSC 10` and `OSC 11`).
    Colour,
    /// Program status (`OSC 7501`).
    ProgramStatus,
    /// Any other report.
    Other,
}

/// Which kind of string sequence is being read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum StringKind {
    /// Operating system command.
    Osc,
    /// Device control string.
    Dcs,
    /// Application, privacy or start-of-string messages.
    Other,
}

/// Interprets a complete `CSI` sequence; `None` for one that means nothing here.
pub(super) fn csi(params: &[u8], last: u8) -> Option<Key> {
    let report = |kind| Some(Key::Reply(Reply { kind, body: escape(params, Some(last)) }));
    match (params.first(), last) {
        (Some(b'?' | b'>'), b'c') => report(ReplyKind::DeviceAttributes),
        (Some(b'?'), b'u') => report(ReplyKind::KeyboardFlags),
        (Some(b'0'..=b'9'), b'R') => report(ReplyKind::CursorPosition),
        (Some(b'?' | b'>' | b'='), _) | (_, b't' | b'n') => report(ReplyKind::Other),
        (_, b'A') => Some(Key::Up),
        (_, b'B') => Some(Key::Down),
        (_, b'C') => Some(Key::Right),
        (_, b'D') => Some(Key::Left),
        (_, b'u') => kitty(params),
        // Among them focus and mouse reports.
        _ => None,
    }
}

/// Interprets a complete string sequence.
pub(super) fn string(kind: StringKind, body: &[u8]) -> Key {
    let number = body.split(|&byte| byte == b';').next().unwrap_or_default();
    let kind = match (kind, number) {
        (StringKind::Osc, b"10" | b"11") => ReplyKind::Colour,
        (StringKind::Osc, b"7501") => ReplyKind::ProgramStatus,
        (StringKind::Dcs, _) if body.starts_with(b">|") => ReplyKind::TerminalVersion,
        _ => ReplyKind::Other,
    };
    Key::Reply(Reply { kind, body: escape(body, None) })
}

/// Interprets `CSI code ; modifiers : event u`.
fn kitty(params: &[u8]) -> Option<Key> {
    const SHIFT: u32 = 1;
    const CTRL: u32 = 4;
    let text = std::str::from_utf8(params).ok()?;
    let mut fields = text.split(';');
    let code: u32 = fields.next()?.split(':').next()?.parse().ok()?;
    let mut flags = fields.next().unwrap_or("1").split(':');
    let modifiers = flags.next()?.parse().unwrap_or(1_u32).saturating_sub(1);
    let released = flags.next() == Some("3");
    match (code, modifiers & CTRL != 0) {
        _ if released => None,
        (13, false) if modifiers == 0 => Some(Key::Enter),
        (13, _) => Some(Key::Newline),
        (27, _) => Some(Key::Escape),
        (9, _) => Some(Key::Tab),
        (8 | 127, _) => Some(Key::Backspace),
        (99, true) => Some(Key::Interrupt),
        (100, true) => Some(Key::EndOfInput),
        (117, true) => Some(Key::KillLine),
        (_, false) if modifiers & !SHIFT == 0 => char::from_u32(code)
            .filter(|character| !character.is_control())
            .map(|character| Key::Text(character.to_string())),
        _ => None,
    }
}

fn escape(body: &[u8], last: Option<u8>) -> String {
    body.iter()
        .chain(last.as_ref())
        .flat_map(|&byte| std::ascii::escape_default(byte))
        .map(char::from)
        .collect()
}
